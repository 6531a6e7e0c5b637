"""Matrices whose rows come in an order, or in none: dense operands are asked for accordingly, by kernels of their own."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def band(rows, r, columns=None):
    row = r.integers(0, rows, 7 * rows)
    return row, np.clip(row + r.integers(-9, 10, row.size), 0, (columns or rows) - 1)


def below(rows, r):
    """A band far below the diagonal; its first rows are empty."""
    row = r.integers(rows // 2, rows, 5 * rows)
    return row, row - rows // 2 + r.integers(0, 4, row.size) % np.maximum(1, rows - row)


def blocks(rows, r):
    corner = r.integers(0, rows // 4, (2, rows // 2)) * 4
    inner = np.arange(16)
    return (corner[0][:, None] + inner // 4).ravel(), (corner[1][:, None] + inner % 4).ravel()


def scattered(rows, r):
    return r.integers(0, rows, (2, 8 * rows))


def renumbered_mesh(rows, r):
    row, column = band(rows, r)
    order = np.argsort(np.arange(rows) % 50, kind="stable")
    return order[row], order[column]


ORDERS = [band, below, blocks, scattered, renumbered_mesh]


def matrix(order, rows, dtype, seed):
    r = np.random.default_rng(seed)
    row, column = order(rows, r)
    a = sp.csr_array((r.standard_normal(row.size).astype(dtype), (row, column)), (rows, rows))
    a.sum_duplicates()
    return a, r


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("columns, dtype", [(64, np.float32), (48, np.float64), (33, np.float32), (32, np.complex64)])
def test_products(order, columns, dtype, threads):
    rows = (9 << 20) // (columns * np.dtype(dtype).itemsize) // 4 * 4  # a result of more than 8 MB
    a, r = matrix(order, rows, dtype, 3)
    space = r.standard_normal(rows * columns + 16).astype(dtype)
    t, rtol = st.from_scipy(a), 1e-4 if np.dtype(dtype).itemsize == 4 or dtype == np.complex64 else 1e-10
    for lead in (0, 2):
        x = space[lead : lead + rows * columns].reshape(rows, columns)
        y = st.matmul(t, x)
        np.testing.assert_allclose(y, a @ x, rtol=rtol, atol=10 * rtol)
        held = np.full(rows * columns + 64, 5, dtype)
        z = held[lead : lead + rows * columns].reshape(rows, columns)
        st.matmul(t, x, z, beta=0)
        assert np.array_equal(z, y)
        assert (held[:lead] == 5).all() and (held[lead + rows * columns :] == 5).all()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("columns, dtype", [(64, np.float32), (20, np.float32), (64, np.float64), (200, np.float32)])
def test_products_in_a_pattern(order, columns, dtype, threads):
    rows = 22_000  # of the larger ones, more than 16 MB in some cases
    a, r = matrix(order, rows, dtype, 5)
    u, v = r.standard_normal((2, rows, columns)).astype(dtype)
    c = st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k)", A=st.from_scipy(a), U=u, V=v)
    row = np.repeat(np.arange(rows), np.diff(a.indptr))
    want = a.data * np.einsum("nk,nk->n", u[row].astype(np.float64), v[a.indices].astype(np.float64))
    got = c.to_scipy()
    assert np.array_equal(got.indptr, a.indptr) and np.array_equal(got.indices, a.indices)
    rtol = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(got.data, want, rtol=rtol, atol=100 * rtol)


def test_one_plan_serves_every_order(threads):
    """The order belongs to the data of a run, not to the plan."""
    rows = 6000
    matrices = [matrix(order, rows, np.float32, 7)[0] for order in ORDERS]
    r = np.random.default_rng(8)
    u, v = r.standard_normal((2, rows, 64)).astype(np.float32)
    for a in matrices + matrices[::-1]:
        c = st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k)", A=st.from_scipy(a), U=u, V=v).to_scipy()
        row = np.repeat(np.arange(rows), np.diff(a.indptr))
        np.testing.assert_allclose(c.data, a.data * np.einsum("nk,nk->n", u[row], v[a.indices]), rtol=1e-3, atol=1e-2)
