"""NumPy's functions on tensors, against the same on their dense arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = ["CSR", "COO", "CSC", "BSR(2, 2)", "DIA", "(i, j) -> (i: dense, j: bitmap)", "CSR + COO"]


def tensors(seed=0, dtype=np.float64, shape=(7, 6)):
    rng = np.random.default_rng(seed)
    dense = (rng.integers(-4, 5, shape) * (rng.random(shape) < 0.5)).astype(dtype)
    yield from ((st.from_dense(dense, f), dense) for f in FORMATS)


def numbers(x):
    return x.to_dense() if isinstance(x, st.Tensor) else x


def same(got, want):
    assert numbers(got).dtype == want.dtype
    np.testing.assert_allclose(numbers(got), want, rtol=1e-12)


@pytest.mark.parametrize(
    "name", "negative positive absolute square sign sqrt exp log sin cos tan tanh conjugate logical_not".split()
)
@pytest.mark.filterwarnings("ignore:invalid value|divide by zero")
def test_of_one(name):
    f = getattr(np, name)
    for A, a in tensors(1):
        a, A = (np.abs(a), abs(A)) if name in ("sqrt", "log") else (a, A)
        same(f(A), f(a))


@pytest.mark.parametrize(
    "name",
    "add subtract multiply maximum minimum less less_equal greater greater_equal logical_and logical_or logical_xor".split(),
)
def test_of_two(name):
    f = getattr(np, name)
    for (A, a), (B, b) in zip(tensors(2), reversed(list(tensors(3)))):
        d = np.random.default_rng(4).random(a.shape)
        for got, want in (
            (f(A, B), f(a, b)),
            (f(A, d), f(a, d)),
            (f(d, A), f(d, a)),
            (f(A, 2.0), f(a, 2.0)),
            (f(np.float64(-1), A), f(-1.0, a)),
        ):
            same(got, want)
        same(f(d[0], A), f(d[0], a))


def test_quotients():
    for A, a in tensors(5, np.int64):
        d = np.random.default_rng(6).integers(1, 5, a.shape)
        for f in (np.divide, np.floor_divide, np.remainder):
            same(f(A, d), f(a, d))
            same(f(A, 3), f(a, 3))
        same(np.power(A, 3), a**3)
        same(A ** np.int64(2), a**2)


def test_arrays_on_the_left():
    for A, a in tensors(7):
        d = np.random.default_rng(8).random(a.shape)
        same(d + A, d + a)
        same(d.T @ A, d.T @ a)
        same(np.matmul(A, d.T), a @ d.T)
        same(d > A, d > a)
        same(np.float32(3) * A, np.float32(3) * a)
        same(d == A, d == a)
        same(d != A, d != a)
        same(A == d, a == d)
        same(np.equal(A, A), np.equal(a, a))
        same(np.not_equal(A, A), np.not_equal(a, a))


def test_into_an_array():
    for A, a in tensors(9):
        d = np.random.default_rng(10).random(a.shape)
        into, kept = d, d.copy()
        into += A
        assert into is d
        same(d, kept + a)
        assert np.exp(A, out=d) is d
        same(d, np.exp(a))
        whole = np.zeros(a.shape, np.int64)
        with pytest.raises(TypeError, match="same_kind"):
            whole += A
        assert not whole.any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32, np.bool_])
def test_reductions(dtype):
    for A, a in tensors(11, dtype):
        for axis in (None, 0, 1, (0, 1), -1):
            for f in (np.sum, np.max, np.min, np.any, np.all, np.mean):
                got, want = f(A, axis=axis), f(a, axis=axis)
                assert np.asarray(got).dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=1e-3 if dtype == np.float16 else 1e-6)
        same(np.sum(A, axis=0, dtype=np.float64), np.sum(a, axis=0, dtype=np.float64))
        same(np.mean(A, axis=1, keepdims=True), np.mean(a, axis=1, keepdims=True))
        out = np.zeros(6)
        assert np.mean(A, axis=0, out=out, dtype=np.float64) is out
        np.testing.assert_allclose(out, a.mean(axis=0, dtype=np.float64))


def test_sums_of_many_small_floats_do_not_overflow_their_mean():
    a = np.full((300, 300), 1000, np.float16)
    assert np.mean(st.from_dense(a, "CSR")) == np.mean(a) == 1000


def test_mean_of_nothing():
    with pytest.warns(RuntimeWarning):
        assert np.isnan(st.from_dense(np.zeros((0, 3)), "CSR").mean())


def test_patterns_stay():
    A = st.from_scipy(sp.random(1000, 1000, density=0.001, format="csr", random_state=0))
    for B in (np.sin(A), np.maximum(A, 0), np.square(A), 2 * A):
        assert B.format == A.format and B.nse == A.nse


def test_what_is_refused():
    A = st.from_dense(np.eye(3), "CSR")
    for call in (
        lambda: np.subtract.reduce(A),
        lambda: np.add.reduce(A, where=np.eye(3) > 0),
        lambda: np.add.accumulate(A),
        lambda: np.add.outer(A, A),
        lambda: np.exp(A, where=np.eye(3) > 0),
        lambda: np.add(A, A, out=A),
    ):
        with pytest.raises(st.Unsupported, match="of a sparse tensor"):
            call()
    with pytest.raises(TypeError):
        np.add(A, object())
