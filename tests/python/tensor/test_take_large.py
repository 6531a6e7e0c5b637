"""Rows and columns by lists, where tables and searches serve: against SciPy, in every index and value type."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

DTYPES = ["bool", "int8", "float16", "float32", "float64", "complex64", "complex128"]


def matrix(rng, m, n, dtype, density=0.05):
    d = np.where(rng.random((m, n)) < density, rng.integers(1, 100, (m, n)), 0).astype(dtype)
    return d


def lists(rng, n):
    yield np.flatnonzero(rng.random(n) < 0.5)
    yield rng.random(n) < 0.3
    yield rng.permutation(n)[: n // 3]
    yield rng.integers(0, n, 2 * n)
    yield np.arange(n)[::-1]
    yield np.array([n - 1])
    yield np.array([], int)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "(i, j) -> (j : compressed(nonunique), i : singleton)"])
def test_against_numpy(format, dtype):
    rng = np.random.default_rng(0)
    for m, n, density in ((700, 300, 0.05), (40, 2000, 0.3), (5000, 3, 0.2)):
        d = matrix(rng, m, n, dtype, density)
        A = st.from_dense(d, format)
        for A in (A, A.to(pos_dtype="int64", crd_dtype="int64"), A.to(crd_dtype="uint16")):
            for k in lists(rng, m):
                got = A[k]
                got.validate()
                assert got.format == A.format and got.dtype == A.dtype
                assert np.array_equal(got.to_dense(), d[k])
            for k in lists(rng, n):
                got = A[:, k]
                got.validate()
                assert np.array_equal(got.to_dense(), d[:, k])


def test_shared_values():
    rng = np.random.default_rng(1)
    a = sp.random_array((200, 300), density=0.1, rng=rng).tocoo()
    coords = np.stack([a.row, a.col])
    for format in ("CSR", "COO"):
        A = st.from_coo(coords, np.ones(a.nnz), a.shape, format)
        k, c = rng.permutation(200)[:50], rng.permutation(300)[:90]
        d = A.to_dense()
        assert np.array_equal(A[k].to_dense(), d[k]) and np.array_equal(A[:, c].to_dense(), d[:, c])


@pytest.mark.parametrize("shape", [(300, 20), (90, 8, 7)])
def test_rows_of_coordinates(shape):
    rng = np.random.default_rng(2)
    d = np.where(rng.random(shape) < 0.3, rng.standard_normal(shape), 0)
    C = st.from_dense(d, f"COO({len(shape)})")
    for row in (0, 5, shape[0] - 1):
        assert np.array_equal(C[row].to_dense(), d[row])
    for part in (slice(3, 50), slice(0, 0), slice(70, None), slice(None, None, -1), slice(10, 60, 3)):
        C[part].validate()
        assert np.array_equal(C[part].to_dense(), d[part])
        assert np.array_equal(C[part, 2:5].to_dense(), d[part, 2:5])
    part = C[10:20]  # shares memory with what it is a part of
    assert np.shares_memory(part.values, C.values)
    empty = st.from_dense(np.zeros(shape), f"COO({len(shape)})")
    assert empty[[1, 0, 2]].nse == 0 and empty[4].nse == 0


def test_duplicates_stay_beside_each_other():
    text = "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))"
    A = st.Tensor(text, (4, 3), pos={0: [0, 5]}, crd={0: [0, 1, 1, 3, 3], 1: [2, 0, 0, 1, 2]}, values=[1.0, 2, 3, 4, 5])
    d = A.to_dense()
    for k in ([3, 1], [1, 1, 0], [2]):
        assert np.array_equal(A[k].to_dense(), d[k])
    assert np.array_equal(A[1].to_dense(), d[1])
