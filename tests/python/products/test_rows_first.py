"""A matrix that is stored by what is summed, times many columns: by its rows, which it is converted to, as in place."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

ROWS, COLUMNS = 300, 200


def matrix(rng, dtype, stored=8000):
    a = np.zeros((ROWS, COLUMNS), dtype)
    at = rng.choice(a.size, stored, replace=False)
    a.flat[at] = rng.integers(-4, 5, stored).astype(dtype)  # some of them are stored zeros
    kept = np.zeros(a.shape, bool)
    kept.flat[at] = True
    r, c = np.nonzero(kept)
    return a, sp.csc_matrix((a[r, c], (r, c)), a.shape)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64", "int8"])
@pytest.mark.parametrize("columns", [8, 64, 129, 600])
def test_values(columns, dtype):
    rng = np.random.default_rng(columns)
    a, stored = matrix(rng, dtype)
    x, y = (rng.integers(-4, 5, shape).astype(dtype) for shape in ((COLUMNS, columns), (columns, ROWS)))
    A = st.from_scipy(stored)
    np.testing.assert_array_equal(np.asarray(A @ x), a @ x)
    np.testing.assert_array_equal(np.asarray(st.from_scipy(sp.csr_matrix(stored)).T @ y.T), a.T @ y.T)
    np.testing.assert_array_equal(np.asarray(y @ st.from_scipy(sp.csr_matrix(stored))), y @ a)


def test_what_is_stored_meets_infinities():
    rng = np.random.default_rng(0)
    a, stored = matrix(rng, "float64")
    x = rng.standard_normal((COLUMNS, 128))
    x[3], x[5, 7] = np.inf, np.nan
    with np.errstate(invalid="ignore"):
        theirs = stored @ x  # a stored zero times infinity is NaN there too
    np.testing.assert_allclose(np.asarray(st.from_scipy(stored) @ x), theirs, rtol=1e-12, atol=1e-12)
    assert np.isnan(theirs).any() and np.isfinite(theirs).any()


def test_scaled_and_added():
    rng = np.random.default_rng(1)
    a, stored = matrix(rng, "float64")
    x, c = rng.standard_normal((COLUMNS, 100)), rng.standard_normal((ROWS, 100))
    out = c.copy()
    st.einsum("ij,jk->ik", st.from_scipy(stored), x, out=out, alpha=2.0, beta=-0.5)
    np.testing.assert_allclose(out, 2 * (a @ x) - 0.5 * c, rtol=1e-12, atol=1e-12)


def test_explain_says_when():
    a = st.from_scipy(matrix(np.random.default_rng(2), "float64")[1])
    rows = "first A to (d0, d1) -> (d0 : dense, d1 : compressed)"
    assert rows in st.plan("ij,jk->ik", a, np.zeros((COLUMNS, 600))).explain()
    assert rows not in st.plan("ij,jk->ik", a, np.zeros((COLUMNS, 8))).explain()
