"""Sparse times sparse: the fast product of matrices beside SciPy's, NumPy's and the general path's."""

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 3)", "DIA", "DCSR", "delta(3)", "ELL", "bitmap", "BSR(2, 2) + COO"]


def matrix(rng, rows, columns, dtype, density=0.4):
    dense = rng.integers(-4, 5, (rows, columns)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        dense += 1j * rng.integers(-3, 4, (rows, columns))
    dense[rng.random((rows, columns)) >= density] = 0
    return dense


@pytest.mark.parametrize("seed", range(60))
def test_random(seed):
    rng = np.random.default_rng(seed)
    dtype = rng.choice(["f8", "f4", "i4", "i8", "c8", "c16"])
    m, n, k = rng.integers(0, 30, 3)
    a, b = matrix(rng, m, n, dtype), matrix(rng, n, k, dtype)
    left, right = rng.choice(FORMATS, 2)
    A, B = st.from_dense(a, left), st.from_dense(b, right)
    C = A @ B
    C.validate()
    assert isinstance(C, st.Tensor) and C.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(C.to_numpy(), a @ b)
    np.testing.assert_array_equal(st.einsum("ij,jk->ki", A, B).to_numpy(), (a @ b).T)
    transposed = st.from_dense(np.ascontiguousarray(b.T), right)
    np.testing.assert_array_equal(st.einsum("ij,kj->ik", A, transposed).to_numpy(), a @ b)
    blocked = st.einsum("ij,jk->ik", A, B, format="BSR(2, 2)")
    assert blocked.format == st.Format("BSR(2, 2)")
    np.testing.assert_array_equal(blocked.to_numpy(), a @ b)


def test_the_pattern_is_the_general_paths():
    """Sums that cancel stay stored; what is absent annihilates NaN and Inf."""
    a = np.array([[1.0, 1, 0], [np.nan, 0, 0], [0, 0, np.inf]])
    b = np.array([[1.0, 0, 2], [-1, 0, 3], [0, 0, 0]])
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    fast, general = A @ B, st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    assert fast.equal(general, storage=True)
    assert fast.nse == 4 and fast[0, 0] == 0 and fast[2, 0] == 0
    assert np.isnan(fast[1, 0]) and fast[1, 1] == 0


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("columns", [40, 5000])  # dense rows are walked by bits, scattered ones sorted
def test_large(index, columns, settings):
    rng = np.random.default_rng(columns)
    a = sps.random(3000, 2000, 0.01, "csr", random_state=rng)
    b = sps.random(2000, columns, 0.01, "csr", random_state=rng)
    for m in (a, b):
        m.indices, m.indptr = m.indices.astype(index), m.indptr.astype(index)
    expected = a @ b
    expected.sort_indices()
    results = []
    for threads in (1, 2, 7):
        settings.threads = threads
        results.append(st.from_scipy(a) @ st.from_scipy(b))
    C = results[0].to_scipy()
    np.testing.assert_array_equal(C.indptr, expected.indptr)
    np.testing.assert_array_equal(C.indices, expected.indices)
    np.testing.assert_allclose(C.data, expected.data, rtol=1e-13)
    for other in results[1:]:
        assert other.equal(results[0], storage=True)


def test_huge_extents_follow_the_elements():
    n = 2**40
    at = np.array([5, n - 1])
    A = st.from_coo((at, at), np.array([2.0, 3.0]), (n, n), "COO")
    C = A @ A
    assert C.nse == 2 and C[n - 1, n - 1] == 9
