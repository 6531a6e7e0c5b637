"""Products of sizes that take ways of their own: results past the caches, dense operands walked by tiles."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def mesh(rows, per_row, seed, dtype):
    """Rows of elements near the diagonal, some of them empty."""
    r = np.random.default_rng(seed)
    row = np.sort(r.integers(0, rows, rows * per_row))
    column = np.clip(row + r.integers(-9, 10, row.size), 0, rows - 1)
    a = sp.csr_array((r.standard_normal(row.size).astype(dtype), (row, column)), (rows, rows))
    a.sum_duplicates()
    return a


@pytest.mark.parametrize("columns", [64, 61, 7])
@pytest.mark.parametrize("format", ["CSR", "BSR(2, 2)", "BSR(3, 3)", "BSR(4, 4)", "DIAI", "ELL"])
def test_results_larger_than_a_cache(format, columns, threads):
    """Wherever the result begins, nothing outside it is written and nothing of it is missed."""
    dtype = np.float64 if columns != 7 else np.float32
    rows = (33 << 20) // (columns * np.dtype(dtype).itemsize) + 1
    a = mesh(rows, 3, columns, dtype)
    x = np.random.default_rng(1).standard_normal((rows, columns)).astype(dtype)
    want = a @ x
    t = st.from_scipy(a).to(format)
    held = np.full(rows * columns + 64, 5, dtype)
    for lead in (0, 3):
        held[:] = 5
        y = held[lead : lead + rows * columns].reshape(rows, columns)
        st.matmul(t, x, y, beta=0)
        np.testing.assert_allclose(
            y, want, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-4 if dtype == np.float32 else 1e-10
        )
        assert (held[:lead] == 5).all() and (held[lead + rows * columns :] == 5).all()
    st.matmul(t, x, y, beta=1)
    np.testing.assert_allclose(
        y, 2 * want, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-3 if dtype == np.float32 else 1e-10
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("crd", ["int32", "uint16", "int64"])
@pytest.mark.parametrize(
    "shape, density, row_bytes", [((700, 9000), 0.08, 768), ((500, 2000), 0.6, 256), ((300, 2000), 0.3, 64)]
)
def test_long_rows_and_tiles_of_the_dense_operand(shape, density, row_bytes, crd, dtype, threads):
    """Tiles beyond and within the second level, and few columns: bitwise the same with any number of threads; alpha and beta count
    once."""
    r = np.random.default_rng(3)
    a = sp.random_array(shape, density=density, format="csr", dtype=dtype, rng=r)
    a[5:9] = 0
    a.eliminate_zeros()
    x = r.standard_normal((shape[1], 1 + row_bytes // np.dtype(dtype).itemsize)).astype(dtype)
    rtol = 1e-3 if dtype == np.float32 else 1e-10
    t = st.from_scipy(a).to("CSR", crd_dtype=crd)
    y = st.matmul(t, x)
    np.testing.assert_allclose(y, a @ x, rtol=rtol, atol=rtol)
    st.settings.threads = 7
    assert np.array_equal(st.matmul(t, x), y)
    z = np.ones_like(y)
    st.matmul(t, x, z, alpha=-2, beta=3)
    np.testing.assert_allclose(z, 3 - 2 * (a @ x), rtol=rtol, atol=10 * rtol)


def test_tiles_and_a_large_result():
    r = np.random.default_rng(5)
    each = 120
    crd = np.sort(r.integers(0, 9000 // each, (45_000, each)) + np.arange(each) * (9000 // each), axis=1).astype(
        np.int32
    )
    a = sp.csr_array((r.standard_normal(crd.size), crd.ravel(), np.arange(0, crd.size + 1, each)), (45_000, 9000))
    x = r.standard_normal((9000, 97))
    np.testing.assert_allclose(st.matmul(st.from_scipy(a), x), a @ x, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("columns, moved", [(16, True), (40, False)])
def test_rows_that_are_chosen_in_no_order(columns, moved, threads):
    """A dense operand in memory, 16 bytes into a cache line: copied where a line more is much of a row."""
    rows, each = 300_000, 9
    r = np.random.default_rng(6)
    crd = np.sort(r.integers(0, rows, (rows, each)), axis=1).astype(np.int32)
    a = sp.csr_array(
        (r.standard_normal(crd.size), crd.ravel(), np.arange(0, crd.size + 1, each, dtype=np.int32)), (rows, rows)
    )
    block = np.empty(rows * columns + 16)
    at = -block.ctypes.data % 64 // 8 + 2
    x = block[at : at + rows * columns].reshape(rows, columns)
    x[...] = r.standard_normal(x.shape)
    t = st.from_scipy(a)
    assert (f"at least {6 * rows} values of A are stored in no order" in st.plan("ij,jk->ik", t, x).explain()) == moved
    np.testing.assert_allclose(st.matmul(t, x), a @ x, rtol=1e-10, atol=1e-10)


def test_tiles_need_ascending_columns():
    """Rows in any order are right, whatever their size."""
    r = np.random.default_rng(4)
    a = sp.random_array((300, 9000), density=0.1, format="csr", rng=r)
    order = np.concatenate([p + r.permutation(q - p) for p, q in zip(a.indptr, a.indptr[1:])])
    crd, values = a.indices[order].astype(np.int32), a.data[order]
    t = st.from_scipy(sp.csr_array((values, crd, a.indptr), a.shape))
    x = r.standard_normal((9000, 96))
    np.testing.assert_allclose(st.matmul(t, x), a @ x, rtol=1e-10, atol=1e-10)
