"""A dense array with its dimensions in another order is copied in tiles: every element, bit by bit."""

import numpy as np
import pytest

import strata as st


def counted(shape, dtype):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "int32", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 5), (3, 4), (16, 16), (65, 130), (257, 31), (0, 4)])
def test_matrices(shape, dtype):
    x = counted(shape, dtype)
    for given in (x, x[::-1], x[:, ::2], np.asfortranarray(x), np.broadcast_to(x[:1], shape)):
        got = st.einsum("ij->ji", given)
        assert got.dtype == x.dtype and np.array_equal(got, given.T)


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_three_dimensions(order):
    x = counted((33, 5, 70), np.float32)
    for given in (x, x.transpose(2, 0, 1), x[:, :, ::-3]):
        assert np.array_equal(st.einsum(f"ijk->{order}", given), np.einsum(f"ijk->{order}", given))


def test_bits_survive():
    x = np.array([[-0.0, np.nan, np.inf], [0.0, -np.nan, 5e-324]])
    assert np.array_equal(st.einsum("ij->ji", x).view(np.int64), x.T.copy().view(np.int64))


def test_scaled_and_added():
    x, out = counted((40, 50), np.float64), np.ones((50, 40))
    plan = st.plan("ij->ji", x)
    assert plan.kernel_name == "dense_copy" and "the same elements in another order" in str(plan.explain())
    assert np.array_equal(plan.run(x, out=out, alpha=2, beta=3), 2 * x.T + 3)


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_a_product_is_added_to_its_output(rows):
    """Dense times sparse is computed the other way round, also into memory with strides."""
    rng = np.random.default_rng(rows)
    x, A = rng.random((rows, 20)), rng.random((20, 30)) * (rng.random((20, 30)) < 0.3)
    for c in (np.ones((rows, 30)), np.ones((30, rows)).T, np.ones((2 * rows, 60))[::2, ::-2]):
        got = st.matmul(x, st.from_dense(A, "CSR"), c, alpha=2, beta=0.5)
        assert got is c and np.allclose(c, 2 * x @ A + 0.5)
    with pytest.raises(st.ExpressionError, match="inner extents"):
        st.matmul(x[:, :7], st.from_dense(A, "CSR"), np.ones((rows, 30)))
    with pytest.raises(st.PlanError, match="another shape"):
        st.matmul(x, st.from_dense(A, "CSR"), np.ones((rows, 29)))


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "BSR(2, 2)"])
def test_two_sparse_matrices_are_added_to_an_output(format):
    """Turning helps dense times sparse alone: here either side could be turned without end."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (8, 8)) * (rng.random((8, 8)) < 0.5) for _ in range(2))
    A, B = st.from_dense(a.astype(float), format), st.from_dense(b.astype(float), "CSR")
    for x, y, want in ((A, B, a @ b), (B, A, b @ a)):
        out = np.ones((8, 8))
        assert st.matmul(x, y, out, alpha=2, beta=3) is out
        np.testing.assert_array_equal(out, 2 * want + 3)
