"""Operators and reductions of tensors against NumPy's of the dense array."""

import operator

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 3)", "ELL", "DIA", "delta(2)", "CSR + COO"]
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
BINARY += [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


def dense(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


def array(rng, shape, dtype, density=0.5):
    return np.where(rng.random(shape) < density, rng.integers(1, 9, shape), 0).astype(dtype)


def absent(a, op, value):
    """As NumPy has it, but that an absent numerator stays absent (fill-in is stored: 0 / 0)."""
    if op not in (operator.truediv, operator.floordiv, operator.mod) or not isinstance(a, st.Tensor):
        return value
    stored = a.to("CSR", zeros="keep").to_scipy()
    here = np.zeros(value.shape, bool)
    here[np.repeat(np.arange(len(stored.indptr) - 1), np.diff(stored.indptr)), stored.indices] = True
    return np.where(here, value, value.dtype.type(0))


def same(got, want):
    assert dense(got).dtype == want.dtype
    np.testing.assert_allclose(dense(got), want, rtol=1e-6)


@pytest.mark.parametrize("f", FORMATS)
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_binary(f, op):
    rng = np.random.default_rng(1)
    x, y = array(rng, (4, 6), "float64"), array(rng, (4, 6), "float32")
    A, B = st.from_dense(x, f), st.from_dense(y, "CSR")
    with np.errstate(all="ignore"):
        same(op(A, B), absent(A, op, op(x, y)))
        same(op(B, A), absent(B, op, op(y, x)))
        for other in (y + 1, y[0] + 1, y[:, :1] + 1, np.float32(3), 3, 2.5, -2):
            same(op(A, other), absent(A, op, op(x, other)))
            same(op(other, A), op(other, x))
        same(op(B, 2), op(y, 2))  # a Python number takes the dtype of what it meets
        same(op(B, np.float64(2)), op(y, np.float64(2)))


def test_results_stay_sparse():
    torch = pytest.importorskip("torch")
    x = np.diag([1.0, -2, 3])
    A = st.from_dense(x, "CSR")
    for t in (A + A, A - A, 2 * A, A / 2, A * np.ones(3), -A, abs(A), A**3, A > 0, A**0.5):
        assert isinstance(t, st.Tensor) and t.format == st.Format("CSR") and t.nse == 3
    assert (A + 1).fill == 1 and (A + 1).nse == 3  # where nothing is stored it is 1
    assert isinstance(A + np.ones((3, 3)), np.ndarray)
    assert isinstance(A * torch.ones(3), st.Tensor) and isinstance(torch.ones(3) * A, st.Tensor)
    same(abs(A), abs(x))
    same(-A, -x)
    same(A**2, x**2)
    assert +A is A


@pytest.mark.parametrize("f", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
@pytest.mark.parametrize("name", ["sum", "max", "min", "any", "all"])
def test_reductions(f, dtype, name):
    x = (
        array(np.random.default_rng(2), (5, 7), dtype)
        if dtype == "bool"
        else -array(np.random.default_rng(2), (5, 7), dtype)
    )
    x[3] = 1
    t = st.from_dense(x, f)
    for axis in (None, 0, 1, -1, (0, 1), (1,)):
        want = np.asarray(getattr(x, name)(axis=axis))
        np.testing.assert_allclose(np.asarray(getattr(t, name)(axis=axis)), want)
        assert (
            np.asarray(getattr(t, name)(axis=axis, keepdims=True)).shape
            == getattr(x, name)(axis=axis, keepdims=True).shape
        )
    assert t.sum(axis=0).dtype == x.sum(axis=0).dtype


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    "exponent", [1, 3, 2.0, 16.0, 0.5, np.float32(2), np.int64(2), np.array(3.0), np.float64(0.5)], ids=repr
)
def test_powers(dtype, exponent):
    x = np.array([[0, 2, -3], [4, 0, 1]]).astype(dtype)
    with np.errstate(invalid="ignore"):
        want, got = x**exponent, st.from_dense(x, "CSR") ** exponent
    assert got.nse == 4 and got.dtype == st.from_dense(want, "CSR").dtype
    np.testing.assert_allclose(got.to_dense(), want, rtol=1e-6)


def test_refused():
    A = st.from_dense(np.eye(3), "CSR")
    with pytest.raises(TypeError):
        A + "x"
    with pytest.raises(TypeError):
        A < None
    for exponent in ("x", None, object()):
        with pytest.raises(TypeError):
            A**exponent
    with pytest.raises(st.ExpressionError, match="axis"):
        A.sum(axis=2)
    with pytest.raises(st.ExpressionError, match="twice"):
        A.sum(axis=(0, 0))
    with pytest.raises(st.ExpressionError, match="extents"):
        A + np.ones(4)
