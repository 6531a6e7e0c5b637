"""Sums in the slots of a pattern, several side by side: against NumPy, in every storage that is walked in place."""

import numpy as np
import pytest

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "ELL",
    "delta(4)",
    "BSR(2, 2)",
    "BSR(4, 4)",
    "BSR(3, 2)",
    "BSR(4, 16)",
    "BSR(5, 1)",
]
TERMS = [1, 7, 8, 16, 50, 64, 200, 512, 520]


def matrix(rng, shape, dtype, density=0.3):
    a = rng.standard_normal(shape) * (rng.random(shape) < density)
    a[2] = 0  # an empty row
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * a[::-1]
    return a.astype(dtype)


def dense(rng, shape, dtype):
    a = rng.standard_normal(shape)
    return (a + 1j * rng.standard_normal(shape) if np.issubdtype(dtype, np.complexfloating) else a).astype(dtype)


def close(ours, theirs, dtype, terms):
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(ours, theirs, rtol=eps * 64, atol=eps * 8 * terms)


def pattern(a):
    return np.where(a != 0, 1, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("format", FORMATS)
def test_functions_of_terms(format, terms, dtype):
    rng = np.random.default_rng(terms)
    a = matrix(rng, (23, 37), dtype)
    x, y, w = dense(rng, (23, terms), dtype), dense(rng, (37, terms), dtype), dense(rng, terms, dtype)
    A = st.from_dense(a, format)
    wide = [v.astype(np.float64) for v in (a, x, y, w)]
    products = wide[1][:, None] * wide[2][None]

    ours = st.evaluate("C(i,j) = relu(A(i,j) * X(i,k) * Y(j,k))", A=A, X=x, Y=y)
    close(ours.to_dense(), np.maximum(wide[0][..., None] * products, 0).sum(-1), dtype, terms)
    assert ours.format == A.format

    ours = st.evaluate("C(i,j) = A(i,j) * abs(X(i,k) - Y(j,k)) * w(k)", A=A, X=x, Y=y, w=w)
    close(ours.to_dense(), wide[0] * (abs(wide[1][:, None] - wide[2][None]) * wide[3]).sum(-1), dtype, terms)


@pytest.mark.parametrize("terms", [8, 64, 200])
@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR"])
def test_under_a_mask(format, terms):
    rng = np.random.default_rng(terms)
    a = matrix(rng, (40, 30), np.float64, 0.2)
    x, y = dense(rng, (40, terms), np.float64), dense(rng, (30, terms), np.float64)
    A = st.from_dense(a, format)
    sums = x[:, None] + y[None]
    ours = st.evaluate("C(i,j) = relu(X(i,k) + Y(j,k))", X=x, Y=y, mask=A, format=A.format)
    close(ours.to_dense(), pattern(a) * np.maximum(sums, 0).sum(-1), np.float64, terms)
    assert ours.nse == A.nse
    ours = st.evaluate("C(i,j) = max(k, X(i,k) + Y(j,k))", X=x, Y=y, mask=A, format=A.format)
    np.testing.assert_array_equal(ours.to_dense(), pattern(a) * sums.max(-1))
    ours = st.evaluate("C(i,j) = X(i,k) * Y(j,k)", X=x, Y=y, mask=A, format=A.format, semiring="min_plus")
    np.testing.assert_array_equal(ours.to_dense()[a != 0], sums.min(-1)[a != 0])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.int32, np.int64])
@pytest.mark.parametrize("format", ["CSR", "COO", "BSR(4, 4)"])
def test_other_dtypes(format, dtype):
    rng = np.random.default_rng(3)
    complex_ = np.issubdtype(dtype, np.complexfloating)
    draw = dense if complex_ else lambda r, shape, t: r.integers(-9, 9, shape).astype(t)
    a = (
        matrix(rng, (14, 19), dtype)
        if complex_
        else (draw(rng, (14, 19), dtype) * (rng.random((14, 19)) < 0.3)).astype(dtype)
    )
    x, y = draw(rng, (14, 24), dtype), draw(rng, (19, 24), dtype)
    A = st.from_dense(a, format)
    ours = st.evaluate("C(i,j) = A(i,j) * (X(i,k) + Y(j,k))", A=A, X=x, Y=y).to_dense()
    theirs = a * (x[:, None] + y[None]).sum(-1)
    close(ours, theirs, dtype, 24) if complex_ else np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("format", ["CSR", "COO", "BSR(4, 4)", "BSR(2, 3)"])
@pytest.mark.parametrize("terms", [8, 16, 64])
def test_what_is_stored_stays(format, terms):
    """Stored zeros have values too; infinities and NaN reach the slots they belong to, and no others."""
    rng = np.random.default_rng(terms)
    a = matrix(rng, (16, 18), np.float64)
    a[3, 4], a[5, 6] = np.nan, np.inf
    x, y = dense(rng, (16, terms), np.float64), dense(rng, (18, terms), np.float64)
    y[7, 0] = np.inf
    A = st.from_dense(a, format)
    ours = st.evaluate("C(i,j) = A(i,j) * abs(X(i,k) + Y(j,k))", A=A, X=x, Y=y).to_dense()
    with np.errstate(invalid="ignore"):
        theirs = a * abs(x[:, None] + y[None]).sum(-1)
    present = A.to("COO").to_dense() != 0
    np.testing.assert_allclose(ours[present], theirs[present], rtol=1e-12)
    assert not np.isnan(ours[(a == 0) & (np.arange(18) != 7)]).any()


def test_no_terms_at_all():
    a = st.from_dense(np.eye(5), "CSR")
    none = np.zeros((5, 0))
    ours = st.evaluate("C(i,j) = A(i,j) * relu(X(i,k) + Y(j,k))", A=a, X=none, Y=none)
    np.testing.assert_array_equal(ours.to_dense(), np.zeros((5, 5)))


def test_explain_says_so():
    rng = np.random.default_rng(0)
    a = st.from_dense(matrix(rng, (40, 40), np.float32), "CSR")
    x = dense(rng, (40, 64), np.float32)
    text = "C(i,j) = relu(A(i,j) * X(i,k) * Y(j,k))"
    rows = st.explain(text, A=a, X=x, Y=x)
    assert "4 slots together" in rows and "into the pattern of A" in rows
    assert "side by side" in st.explain(text, A=a.to("BSR(4, 4)"), X=x, Y=x)
    types = {"X": st.TensorType("dense", (10**6, 64), "float32"), "Y": st.TensorType("dense", (10**6, 64), "float32")}
    huge = st.explain(text, A=st.TensorType("CSR", (10**6, 10**6), "float32", nse=10**7), **types)
    assert "copy of Y to the start of a cache line" in huge and "a result of 71 MB" in huge
