"""Products with any number of columns: the last ones fill no vector, and what stands beside them is nobody's."""

import numpy as np
import pytest
import scipy.sparse

import strata as st

FORMATS = ["CSR", "COO", "DIA", "bitmap", "BSR(2, 2)", "BSR(3, 5)", "BSR(16, 16)", "BSR(4, 4) + COO", "CSC"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("format", FORMATS)
def test_every_number_of_columns(format, dtype):
    rng = np.random.default_rng(0)
    dense = (rng.integers(-4, 5, (37, 41)) * (rng.random((37, 41)) < 0.4)).astype(dtype)
    dense[5] = 0
    A = st.from_dense(dense, format)
    for columns in range(1, 36):
        wide = rng.integers(-4, 5, (41, columns + 3)).astype(dtype)
        wide[:, 0] = wide[:, -2:] = np.nan  # beside the operand
        X = wide[:, 1:-2]
        out = np.full((37, columns + 3), 7, dtype)
        got = st.matmul(A, X, out[:, 1:-2], beta=0)
        np.testing.assert_array_equal(out[:, 1:-2], dense @ X)
        np.testing.assert_array_equal(got, dense @ X)
        assert (out[:, 0] == 7).all() and (out[:, -2:] == 7).all()
        np.testing.assert_array_equal(A @ X, dense @ X)


def test_rows_of_many_elements():
    """Their sums are made in pieces."""
    rng = np.random.default_rng(1)
    dense = rng.integers(-2, 3, (3, 9000)).astype(np.float32)
    A = st.from_dense(dense, "CSR")
    for columns in (2, 7, 15, 19, 65, 71):
        X = rng.integers(-2, 3, (9000, columns)).astype(np.float32)
        np.testing.assert_array_equal(A @ X, dense @ X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_lie_far_apart(dtype):
    """In no order over more memory than caches hold: they are prefetched, the last ones too."""
    rng = np.random.default_rng(2)
    matrix = scipy.sparse.random_array((200, 400_000), density=4e-5, format="csr", rng=rng)
    matrix.data = rng.integers(-4, 5, matrix.nnz).astype(np.float64)
    matrix = matrix.astype(dtype)
    A = st.from_scipy(matrix)
    for columns in (2, 3, 4, 7, 8, 12, 16, 20, 31):
        X = rng.integers(-4, 5, (400_000, columns)).astype(dtype)
        out = np.ones((200, columns), dtype)
        st.matmul(A, X, out, alpha=2, beta=3)
        np.testing.assert_array_equal(out, 2 * (matrix @ X) + 3)
