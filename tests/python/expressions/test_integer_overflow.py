"""Integers that overflow wrap as NumPy's do, whichever engine computes them and however many operands are sparse."""

import numpy as np
import pytest

import strata as st

DTYPES = ["int8", "int32", "int64", "uint64"]
FORMATS = ["CSR", "CSC", "COO", "BSR(2, 3)"]
PAIRS = [("CSR", "CSR"), ("CSR", "CSC"), ("COO", "BSR(2, 3)"), ("DIAI", "delta(2)")]
ELEMENTWISE = ["A + B", "A - B", "A * B", "A * B * A - B", "-A", "abs(A)", "A * 100 + B * 27", "(A + B) * (A - B)"]
MIXED = [("int8", "uint8"), ("int8", "int16"), ("uint8", "int32"), ("int32", "uint32"), ("uint32", "uint64")]


@pytest.fixture(params=["auto", "kernels", "vendor", "jit", "interpreter"], autouse=True)
def engine(request, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", request.param)


def extremes(shape, dtype, seed, density=0.4):
    """Numbers from the whole range of a dtype, its ends among them, and zeros."""
    rng = np.random.default_rng([seed, *shape])
    ends = np.iinfo(dtype)
    a = rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)
    rare = rng.random(shape)
    a = np.where(rare < 0.1, np.array(ends.min, dtype), np.where(rare > 0.9, np.array(ends.max, dtype), a))
    return np.where(rng.random(shape) < density, a, np.array(0, dtype))


def same(got, want):
    got = np.asarray(got.to_dense() if isinstance(got, st.Tensor) else got)
    assert got.dtype == want.dtype and np.array_equal(got, want)


def overflows(exact, dtype):
    """Does a result, computed with Python's integers, leave the dtype?"""
    ends = np.iinfo(dtype)
    return any(not ends.min <= x <= ends.max for x in np.ravel(exact))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_one_sparse_operand(format, dtype):
    a, x, y = extremes((23, 31), dtype, 1), extremes((31, 5), dtype, 2, 0.9), extremes((23, 5), dtype, 3, 0.9)
    assert overflows(a.astype(object) @ x.astype(object), dtype)
    A = st.from_dense(a, format)
    same(A @ x, a @ x)
    same(A @ x[:, 0], a @ x[:, 0])
    same(y.T @ A, y.T @ a)
    same(st.matmul(A, x, y.copy(), alpha=3, beta=5), np.array(3, dtype) * (a @ x) + np.array(5, dtype) * y)
    same(st.einsum("ij,jr,ir->ir", A, x, y), np.einsum("ij,jr,ir->ir", a, x, y))
    same(st.einsum("ij,ij->", A, a), np.einsum("ij,ij->", a, a))
    same(st.einsum("ij->j", A), np.einsum("ij->j", a))
    want = (a @ x) * y - a.sum(1, dtype=dtype)[:, None] + y
    same(st.evaluate("C(i,r) = A(i,j) * X(j,r) * Y(i,r) - A(i,j) + Y(i,r)", A=A, X=x, Y=y), want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", ["CSF", "COO"])
def test_three_dimensions(format, dtype):
    a, x, y = extremes((5, 7, 9), dtype, 4), extremes((7, 8), dtype, 5, 0.9), extremes((9, 8), dtype, 6, 0.9)
    A = st.from_dense(a, format)
    want = np.einsum("ijk,jr,kr->ir", a, x, y)
    assert overflows(np.einsum("ijk,jr,kr->ir", *(v.astype(object) for v in (a, x, y))), dtype)
    same(st.einsum("ijk,jr,kr->ir", A, x, y), want)
    same(st.einsum("ijk,kr->ijr", A, y), a @ y)
    same(st.einsum("ijk->", A), np.einsum("ijk->", a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("formats", PAIRS, ids=str)
def test_two_sparse_operands(formats, dtype):
    a, b = extremes((19, 19), dtype, 7), extremes((19, 19), dtype, 8)
    A, B = (st.from_dense(v, f) for v, f in zip((a, b), formats, strict=True))
    assert overflows(a.astype(object) @ b.astype(object), dtype) and overflows(a.astype(object) + b, dtype)
    same(A @ B, a @ b)
    same(st.einsum("ij,jk->ik", A, B), a @ b)
    same(st.einsum("ij,ij->i", A, B), np.einsum("ij,ij->i", a, b))
    same(st.evaluate("s = A(i,j) * B(i,j)", A=A, B=B), np.einsum("ij,ij->", a, b))
    same(st.evaluate("C(i,j) = A(i,k) * B(k,j) - B(i,j)", A=A, B=B), a @ b - b)
    same(st.evaluate("C(i,k) = A(i,j) * B(j,k) * A(i,k)", A=A, B=B), (a @ b) * a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("text", ELEMENTWISE)
def test_elementwise(text, dtype):
    a, b = extremes((13, 17), dtype, 9), extremes((13, 17), dtype, 10)
    named = {"A": st.from_dense(a, "CSR"), "B": st.from_dense(b, "COO")}
    named = {k: v for k, v in named.items() if k in text}
    want = eval(text, {"A": a, "B": b, "abs": np.abs})
    exact = eval(text, {"A": a.astype(object), "B": b.astype(object), "abs": np.abs})
    assert overflows(exact, dtype) or text == "abs(A)" and dtype.startswith("u")
    same(st.evaluate("C(i,j) = " + text.replace("A", "A(i,j)").replace("B", "B(i,j)"), **named), want)
    if text in ("A + B", "A - B", "A * B", "-A", "abs(A)"):
        same(eval(text, {**named, "abs": abs}), want)


@pytest.mark.parametrize("pair", MIXED, ids=str)
def test_two_dtypes_wrap_in_their_common_one(pair):
    a, b = extremes((19, 19), pair[0], 11), extremes((19, 19), pair[1], 12)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    common = np.result_type(a, b)
    assert overflows(np.einsum("ij,jk,ik->ik", *(v.astype(object) for v in (a, b, b))), common) or common == "int64"
    for got, want in ((A @ b, a @ b), (A @ B, a @ b), (A * B, a * b), (A - B, a - b)):
        same(got, want)
    same(st.einsum("ij,jk,ik->ik", A, B, b), np.einsum("ij,jk,ik->ik", a, b, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_of_a_tensor_are_as_wide_as_numpys(dtype):
    a = extremes((40, 50), dtype, 13, 1.0)
    A = st.from_dense(a, "CSR")
    same(A.sum(), a.sum())
    same(A.sum(0), a.sum(0))
    same(A.sum(1), a.sum(1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_duplicates_are_added_up(dtype):
    most = np.iinfo(dtype).max
    values = np.array([most, most, 3, most], dtype)
    want = np.zeros((2, 2), dtype)
    np.add.at(want, ([0, 0, 0, 1], [1, 1, 1, 0]), values)
    same(st.from_coo([[0, 0, 0, 1], [1, 1, 1, 0]], values, (2, 2), "CSR"), want)


def test_long_sums():
    """Sums of many, where vectors, threads and a remainder each take their share."""
    for dtype in ("int8", "int32", "int64", "uint64"):
        a, x = extremes((3, 10_007), dtype, 14, 0.9), extremes((10_007, 17), dtype, 15, 1.0)
        for format in ("CSR", "COO"):
            A = st.from_dense(a, format)
            same(A @ x, a @ x)
            same(A @ x[:, 3], a @ x[:, 3])
            same(st.einsum("ij->", A), np.einsum("ij->", a))
