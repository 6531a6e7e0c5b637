"""dtype= is what is computed in: operands are cast first, as NumPy does; compute_dtype= overrides."""

import numpy as np
import pytest

import strata as st

FORMATS = [
    "CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "(i, j) -> (i: dense, j: bitmap)",
    "BSR(4, 4) + COO", "dense",
]  # fmt: skip
WIDER = [("int8", "int64"), ("uint8", "int32"), ("bool", "int64"), ("float16", "float32"), ("float32", "complex128")]
WIDER += [("int64", "float32"), ("float64", "float32"), ("int64", "int8"), ("bool", "float64"), ("uint8", "uint16")]


@pytest.fixture(params=["auto", "interpreter", "kernels"])
def engine(request, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", request.param)


def array(shape, dtype, seed=0):
    """Values whose products leave the small dtypes."""
    rng = np.random.default_rng(seed)
    largest = {"bool": 1, "int8": 100, "uint8": 200, "float16": 300}.get(dtype, 120)
    return np.where(rng.random(shape) < 0.5, rng.integers(largest // 2 + (largest < 2), largest + 1, shape), 0).astype(
        dtype
    )


def same(got, want, rtol=1e-6):
    got = got.to_dense() if isinstance(got, st.Tensor) else np.asarray(got)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=rtol)


@pytest.mark.parametrize("f", FORMATS)
@pytest.mark.parametrize("own, asked", WIDER)
def test_products(f, own, asked, engine):
    a, b, x = array((6, 5), own, 1), array((5, 4), own, 2), array(5, own, 3)
    A, B = st.from_dense(a, f), st.from_dense(b, f)
    wa, wb, wx = (v.astype(asked) for v in (a, b, x))
    same(st.matmul(A, B, dtype=asked), wa @ wb)
    same(st.matmul(A, b, dtype=asked), wa @ wb)
    same(st.matmul(A, x, dtype=asked), wa @ wx)
    same(st.einsum("ij,jk->ik", A, B, dtype=asked), wa @ wb)
    same(st.einsum("ij,jk->k", A, b, dtype=asked), np.einsum("ij,jk->k", wa, wb))
    same(st.einsum("ij->j", A, dtype=asked), wa.sum(0, dtype=asked))
    same(st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=A, B=B, dtype=asked, format="COO"), wa @ wb)
    mm = st.Matmul(A, b, dtype=asked)
    mm.plan()
    same(mm.execute(), wa @ wb)


@pytest.mark.parametrize("f", FORMATS)
@pytest.mark.parametrize("own, asked", WIDER)
def test_elements(f, own, asked, engine):
    a, b = array((6, 5), own, 4), array((6, 5), own, 5)
    A = st.from_dense(a, f)
    wa, wb = a.astype(asked), b.astype(asked)
    one = np.ones((), asked)
    for B in (b, st.from_dense(b, "CSR"), st.from_dense(b, f)):
        same(st.evaluate("R(i,j) = A(i,j) * B(i,j)", A=A, B=B, dtype=asked), wa * wb)
        same(st.evaluate("R(i,j) = A(i,j) + B(i,j) + A(i,j)", A=A, B=B, dtype=asked), wa + wb + wa)
        same(st.evaluate("R(i,j) = max(A(i,j), B(i,j))", A=A, B=B, dtype=asked) if asked != "complex128" else wa, 
             np.maximum(wa, wb) if asked != "complex128" else wa)  # fmt: skip
    same(st.evaluate("R(i,j) = A(i,j) * A(i,j)", A=A, dtype=asked), wa * wa)
    same(st.evaluate("R(i,j) = A(i,j) - 10", A=A, dtype=asked), wa - 10 * one)
    same(st.evaluate("R(i,j) = A(i,j) * B(i,j)", A=A, B=b, dtype=asked, mask=st.from_dense(b > 0, "CSR")),
         np.where(b > 0, wa * wb, 0 * one))  # fmt: skip
    same(st.evaluate("R(i) = sum(j, A(i,j) * B(i,j))", A=A, B=b, dtype=asked), (wa * wb).sum(1, dtype=asked))


@pytest.mark.parametrize("f", FORMATS)
def test_chains_and_samples(f, engine):
    a, u, v = array((6, 5), "uint8", 6), array((6, 3), "uint8", 7), array((5, 3), "uint8", 8)
    A = st.from_dense(a, f)
    wa, wu, wv = (x.astype("int64") for x in (a, u, v))
    same(st.einsum("ij,ik,jk->ij", A, u, v, dtype="int64"), wa * (wu @ wv.T))
    same(st.einsum("ij,jk,ik->i", A, v, u, dtype="int64"), np.einsum("ij,jk,ik->i", wa, wv, wu))
    mask = st.from_dense(a > 0, "CSR")
    same(st.einsum("ik,jk->ij", u, v, dtype="int64", mask=mask), np.where(a > 0, wu @ wv.T, 0))
    S = st.from_dense(u, "CSR")
    same(st.evaluate("R(i,k) = A(i,j) * V(j,l) * U(i,l) * U(i,k)", A=A, V=v, U=S, dtype="int64"),
         np.einsum("ij,jl,il,ik->ik", wa, wv, wu, wu))  # fmt: skip
    same(st.evaluate("R(i,j) = A(i,j) * exp(sum(k, U(i,k) * V(j,k)) * 0.0001)", A=A, U=u, V=v, dtype="float64"),
         wa * np.exp((wu @ wv.T) * 0.0001))  # fmt: skip


def test_the_lines_of_the_report():
    hundred = st.from_dense(np.array([[100, 0], [0, 1]], "int8"), "CSR")
    same(st.evaluate("R(i,j) = A(i,j) * A(i,j)", A=hundred, dtype="int64"), np.array([[10000, 0], [0, 1]]))
    half = st.from_dense(np.array([[300, 0]], "float16"), "CSR")
    same(st.evaluate("R(i,j) = A(i,j) * A(i,j)", A=half, dtype="float32"), np.array([[90000, 0]], "float32"))
    small = np.array([[3, 0]], "uint8")
    for f in FORMATS:
        A = st.from_dense(small, f)
        same(st.evaluate("R(i,j) = A(i,j) - 10", A=A, dtype="int64"), small.astype("int64") - 10)
    B = st.from_dense(np.ones((3, 3), bool), "CSR")
    same(st.matmul(B, B, dtype="int64"), np.full((3, 3), 3))


def test_the_result_is_rounded_once():
    """Sums of float16 in float32, which 2049 ones need."""
    a = np.ones((1, 4098), "float16")
    for f in ("CSR", "COO", "dense"):
        for x in (a[0], st.from_dense(a.T, "CSC")):
            got = st.matmul(st.from_dense(a, f), x, dtype="float16")
            same(got, np.full((1,) if x is a[0] or not isinstance(x, st.Tensor) else (1, 1), 4098, "float16"))
    wide = st.from_dense(np.array([[70000.0, 1.0]]), "CSR")  # is infinite before it meets the other
    assert np.isinf(st.matmul(wide, np.array([1e-3, 1]), dtype="float16"))[0]


def test_compute_dtype_overrides(engine):
    a = array((6, 5), "int8", 9)
    wide = (a.astype("int64") @ a.T.astype("int64")).astype("int8")
    for f in FORMATS:
        A = st.from_dense(a, f)
        for B in (a.T.copy(), st.from_dense(a.T, f)):
            same(st.matmul(A, B, compute_dtype="int64"), wide)
    x = np.full((1, 64), 300, "float16")
    for f in ("CSR", "COO", "BSR(2, 2)"):
        A, B = st.from_dense(x, f), st.from_dense(x.T * 0 + np.float16(0.5), f)
        same(st.matmul(A, B, compute_dtype="float64"), np.full((1, 1), 9600, "float16"))
        same(st.matmul(A, B, dtype="float64", compute_dtype="float32"), np.full((1, 1), 9600.0))
    big = np.array([[2.0**60, 1, -(2.0**60)]])
    A = st.from_dense(big.astype("float32"), "CSR")
    ones = st.from_dense(np.ones((3, 1), "float32"), "CSC")
    same(st.matmul(A, ones, compute_dtype="float64"), np.full((1, 1), 1, "float32") * 0 + (big.sum()).astype("float32"))


def test_what_may_be_cast():
    A = st.from_dense(np.array([[1.5, 0], [0, 2]]), "CSR")
    signed = st.from_dense(np.array([[1, 0], [0, -2]]), "CSR")
    for call in (
        lambda: st.evaluate("R(i,j) = A(i,j) * A(i,j)", A=A, dtype="int64"),
        lambda: st.matmul(A, A, dtype="int64"),
        lambda: st.matmul(A, np.ones(2), dtype="int64"),
        lambda: st.einsum("ij,j->i", A, np.ones(2), dtype="bool"),
        lambda: st.evaluate("R(i,j) = A(i,j) + 1", A=signed, dtype="uint64"),
        lambda: st.evaluate("R(i,j) = A(i,j) / 2", A=signed, dtype="int64"),
        lambda: st.evaluate("R(i,j) = A(i,j) * 0.5", A=signed, dtype="int64"),
        lambda: st.evaluate("R(i,j) = A(i,j) * 1j", A=A, dtype="float64"),
        lambda: st.Matmul(A, np.ones(2), dtype="int64").plan(),
        lambda: st.plan("ij,j->i", A, np.ones(2), dtype="int64"),
    ):
        with pytest.raises(st.DTypeError):
            call()


def test_what_is_compared_stays():
    """A comparison gives truth values in whatever dtype it is made: these are cast, and added up."""
    a = np.array([[1.5, 0, -2], [0, 2, 3]])
    for f in FORMATS:
        A = st.from_dense(a, f)
        same(st.evaluate("c(i) = sum(j, A(i,j) > 1)", A=A, dtype="int32"), (a > 1).sum(1, dtype="int32"))
        same(st.evaluate("R(i,j) = A(i,j) > 1", A=A, dtype="bool"), a > 1)
        same(st.evaluate("R(i,j) = A(i,j) > 1", A=A, dtype="float32"), (a > 1).astype("float32"))
        same(st.evaluate("c(i) = any(j, A(i,j))", A=A, dtype="int8"), a.any(1).astype("int8"))


def test_reductions():
    a = array((6, 5), "uint8", 10)
    for f in FORMATS[:-1]:
        A = st.from_dense(a, f)
        for dtype in ("int32", "uint8", "float32", "int64"):
            for axis in (None, 0, 1):
                same(A.sum(axis=axis, dtype=dtype), a.sum(axis=axis, dtype=dtype))
                same(A.mean(axis=axis, dtype=dtype), np.asarray(a.mean(axis=axis, dtype=dtype)))
        assert A.sum(dtype="int32").dtype == np.int32 and A.mean(dtype="float32").dtype == np.float32


def test_into_memory():
    a = array((6, 5), "int8", 11)
    A, out = st.from_dense(a, "CSR"), np.zeros((6, 6))
    want = a.astype("int32") @ a.T.astype("int32")
    st.einsum("ij,kj->ik", A, a, out=out, dtype="int32")
    assert np.array_equal(out, want)
    st.evaluate("R(i,k) = A(i,j) * B(k,j)", A=A, B=st.from_dense(a, "COO"), out=out, dtype="int32")
    assert np.array_equal(out, want)


@pytest.mark.parametrize(
    "own, asked", [("uint8", "int64"), ("bool", "int64"), ("int8", "float32"), ("float64", "float32")]
)
@pytest.mark.parametrize("f", FORMATS)
def test_from_coo_adds_in_the_dtype_asked_for(f, own, asked):
    values = np.array([200, 200, 1, 100], "int64").astype(own)
    at = np.array([[0, 0, 1, 0], [1, 1, 0, 1]])
    dense = np.zeros((2, 3), asked)
    np.add.at(dense, tuple(at), values.astype(asked))
    for index in ("int32", "int64", "uint16"):
        same(st.from_coo(list(at.astype(index)), values, (2, 3), f, dtype=asked), dense)
    same(st.from_coo(list(at), values.tolist(), (2, 3), f, dtype=asked), dense)


def test_from_coo_of_large_integers():
    large = [2**63 + 1, 1, 3]
    t = st.from_coo(([0, 0, 1], [0, 1, 1]), large, (2, 2), "COO", dtype="uint64")
    assert np.array_equal(t.to_dense(), np.array([[2**63 + 1, 1], [0, 3]], "uint64"))
    with pytest.raises(st.DTypeError, match="fit"):
        st.from_coo(([0], [0]), [300], (2, 2), "COO", dtype="uint8")
