"""Python's numbers are weak, as NumPy 2 has them: they take the dtype of what they meet."""

import operator

import numpy as np
import pytest

import strata as st

FORMATS = [
    "CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "(i, j) -> (i: dense, j: bitmap)",
    "BSR(4, 4) + COO", "dense",
]  # fmt: skip
DTYPES = ["float32", "float64", "float16", "complex64", "int8", "uint8", "int64", "uint64", "bool"]
NUMBERS = [True, False, 2, -1, 0.5, -0.0, float("inf"), float("-inf"), float("nan"), 2j, 1 - 2j, 300, 2**63, 2**64 + 1]
NUMBERS += [-(2**63), -(2**70)]
ARITHMETIC = [operator.add, operator.mul, operator.sub, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def dense(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


def array(dtype):
    a = np.array([[1, 0, 3, 0], [0, 5, 0, 0], [7, 0, 0, 2], [0, 0, 100, 1]])
    return a.astype(dtype) if dtype != "uint64" else a.astype(dtype) * np.uint64(2**57)


def attempt(f, *arguments):
    with np.errstate(all="ignore"):
        try:
            return f(*arguments)
        except (TypeError, OverflowError, ValueError):
            return None


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_arithmetic(dtype, number):
    a = array(dtype)
    for f in FORMATS:
        A = st.from_dense(a, f)
        for op in ARITHMETIC:
            for reflected in (False, True):
                if reflected and op is operator.truediv:
                    continue
                order = (lambda x: (number, x)) if reflected else (lambda x: (x, number))
                want = attempt(op, *order(a))
                got = attempt(op, *order(A))
                if want is None:
                    assert got is None, (f, op, got)
                    continue
                assert got is not None, (f, op, number)
                got = dense(got)
                assert got.dtype == want.dtype, (f, op, got.dtype, want.dtype)
                if op in (operator.mul, operator.truediv) and f != "dense":  # what is absent meets no infinity
                    want = np.where(a != 0, want, 0)
                    got = np.where(a != 0, got, 0)
                np.testing.assert_allclose(
                    got, want, rtol=1e-3 if want.dtype == "float16" else 1e-6, err_msg=f"{f} {op}"
                )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [n for n in NUMBERS if not isinstance(n, complex)], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_comparisons(dtype, number):
    a = array(dtype)
    for f in FORMATS:
        A = st.from_dense(a, f)
        for op in COMPARISONS[4:] if dtype == "complex64" else COMPARISONS:  # complex numbers have no order
            want = attempt(op, a, number)
            if want is None:
                continue
            assert np.array_equal(dense(op(A, number)), want), (f, op)
            assert np.array_equal(dense(op(number, A)), op(number, a)), (f, op)


def test_at_the_ends_of_the_dtypes():
    ends = np.iinfo("int64")
    a = np.array([[ends.max, 0, ends.min]])
    u = np.array([[2**64 - 1, 0, 2**63]], "uint64")
    for f in ("CSR", "COO", "dense", "DIA"):
        for x in (a, u):
            X = st.from_dense(x, f)
            for n in (2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -1, 10**30, -(10**30)):
                for op in COMPARISONS:
                    assert np.array_equal(dense(op(X, n)), op(x, n)), (f, n, op)
        assert np.array_equal(dense(st.from_dense(u, f) * 2**63), u * np.uint64(2**63))
        got = st.evaluate("R(i,j) = A(i,j) >= 18446744073709551615", A=st.from_dense(u, f))
        assert np.array_equal(dense(got), u >= 2**64 - 1)


def test_what_does_not_fit_is_refused():
    A = st.from_dense(np.array([[1, 0], [2, 3]], "uint8"), "CSR")
    for f in (lambda: A * -1, lambda: A + 256, lambda: A * 2**63, lambda: A - (-1), lambda: np.maximum(A, -1)):
        with pytest.raises(st.DTypeError, match="does not fit uint8"):
            f()
    with pytest.raises(st.DTypeError, match="does not fit uint8"):
        st.evaluate("R(i,j) = A(i,j) * (2 - 3)", A=A)
    with pytest.raises(st.DTypeError, match="1024 bits"):
        A * 10**400


def test_truth_values_stay():
    m = np.array([[True, False], [False, True]])
    for f in FORMATS:
        M = st.from_dense(m, f)
        for got, want in (
            (M + True, m + True),
            (M * True, m * True),
            (True * M, m),
            (M * False, m * False),
            (np.maximum(M, True), np.maximum(m, True)),
            (np.minimum(M, False), np.minimum(m, False)),
            (np.maximum(True, M), np.maximum(True, m)),
            (M + 1, m + 1),
            (M * 2.5, m * 2.5),
        ):
            assert dense(got).dtype == want.dtype and np.array_equal(dense(got), want)
    A = st.from_dense(np.array([[1, 0], [2, 3]], "uint8"), "CSR")
    assert (A * True).dtype == np.uint8 and (A + True).dtype == np.uint8


def test_a_truth_value_is_no_coordinate():
    A = st.from_dense(np.eye(3), "CSR")
    for f in (
        lambda: A[True],
        lambda: A[False, 0],
        lambda: A[0, np.True_],
        lambda: A.get((True, 0)),
        lambda: A[..., True],
    ):
        with pytest.raises(st.DTypeError, match="truth value"):
            f()
    assert np.array_equal(A[[True, False, True]].to_dense(), np.eye(3)[[True, False, True]])


def test_written_in_expressions():
    a = np.array([[1.0, 0], [-2, 3]], "float32")
    for f in ("CSR", "BSR(2, 2)", "dense"):
        A = st.from_dense(a, f)
        for text, want in (
            ("min(A(i,j), inf)", a),
            ("max(-inf, A(i,j))", a),
            ("A(i,j) * 2j", a * 2j),
            ("A(i,j) * (1 + 0.5j)", a * (1 + 0.5j)),
            ("(A(i,j) > 0) * True", a > 0),
            ("(A(i,j) > 0) + False", a > 0),
            ("A(i,j) < inf", a < np.inf),
            ("A(i,j) + nan", a + np.nan),
        ):
            got = dense(st.evaluate(f"R(i,j) = {text}", A=A))
            assert got.dtype == want.dtype and np.array_equal(got, want, equal_nan=True), text
    for text in ("inf", "-inf", "nan", "2.0j", "-2.5j", "True", "False", "9223372036854775808", "-0.0", "-9223372036854775808",
                 "18446744073709551616", "infj"):  # fmt: skip
        printed = st._core.print_assignment(f"R(i) = A(i) * {text}")
        assert printed == f"R(i) = A(i) * {text}" == st._core.print_assignment(printed)


def signs(x):
    return np.signbit(dense(x))


# (Where a format can hold fill-in, a zero is as good as absent, and has no sign.)
@pytest.mark.parametrize("f", [f for f in FORMATS if f == "dense" or not st.Format(f).can_hold_fill])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_sign_of_a_zero(f, dtype):
    a = np.array([[1, 2, -3, 4], [-5, 6, 7, -8], [1, -1, 1, 1], [2, 2, 2, -2]], dtype)
    A = st.from_dense(a, f)
    for number in (-0.0, 0.0, np.dtype(dtype).type(-0.0)):
        assert np.array_equal(signs(A * number), np.signbit(a * number)), number
        assert np.array_equal(signs(number * A), np.signbit(a * number)), number
    b = np.where(np.eye(4) > 0, -0.0, 0.0).astype(dtype)
    assert np.array_equal(signs(A * b), np.signbit(a * b))


def test_dense_zeros_keep_their_sign():
    a = np.array([[-0.0, 0.0], [1.0, -0.0]])
    for t in (st.from_dense(a, "dense"), st.from_dense(a.tolist(), "DenseLeft")):
        assert np.array_equal(np.signbit(t.to_dense()), np.signbit(a))
    b = np.array([[2.0, -1.0], [-0.0, -3.0]])
    for dtype in ("float64", "float32", "float16", "complex128"):
        x, y = a.astype(dtype), b.astype(dtype)
        for X in (st.from_dense(x, "dense"), x):
            assert np.array_equal(signs(np.real(dense(st.einsum("ij,ij->ij", X, y)))), np.signbit((x * y).real)), dtype
            if dtype == "complex128":
                continue
            for spec, operands, want in (  # (NumPy's einsum adds each product to a zero)
                ("ij,j->ij", (X, y[1]), x * y[1]),
                ("i,j->ij", (y[0], y[1]), np.outer(y[0], y[1])),
                ("ij,ji->ij", (X, y), x * y.T),
                ("ij,ij->ji", (X, y), (x * y).T),
                ("ii,i->i", (X, y[1]), np.diagonal(x) * y[1]),
                ("ij->ij", (X,), x),
                ("ij,ij,i->ij", (X, y, y[0]), x * y * y[0][:, None]),
            ):
                got = dense(st.einsum(spec, *operands))
                assert np.array_equal(got, want) and np.array_equal(signs(got), np.signbit(want)), (spec, dtype)
        d = st.from_dense(x, "dense")
        assert np.array_equal(signs(np.real(dense(d * y))), np.signbit((x * y).real))
        out = np.ones((2, 2), dtype)
        st.einsum("ij,ij->ij", d, y, out=out)
        assert np.array_equal(np.signbit(out.real), np.signbit((x * y).real))
