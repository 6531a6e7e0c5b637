"""NumPy's own functions of tensors (__array_ufunc__, __array_function__), against the same of their dense arrays."""

import numpy as np
import pytest
from named import dense, filled, pairs, same

import strata as st
from strata import _ufuncs

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
INTEGERS = "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm invert bitwise_count bitwise_not".split()
ONLY_REAL = "ldexp float_power heaviside nextafter copysign".split()


def close(got, want):
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            close(g, w)
        return
    got, want = np.asarray(dense(got)), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-14)


def operands(f, seed):
    dtype = "int16" if f.__name__ in INTEGERS else "float64"
    for A, a in pairs(seed, dtype=dtype) + (filled(seed) if dtype == "float64" else []):
        yield (abs(A), abs(a)) if "shift" in f.__name__ else (A, a)


@pytest.mark.parametrize("f", [f for f in _ufuncs.OTHERS if f.nin == 1], ids=lambda f: f.__name__)
def test_of_one(f):
    for A, a in operands(f, 1):
        got, want = f(A), f(a)
        close(got, want)
        if A.format.num_parts == 1 and not A.format.is_all_dense and isinstance(got, st.Tensor):
            assert got.format == A.format and got.nse == A.nse


@pytest.mark.parametrize("f", [f for f in _ufuncs.OTHERS if f.nin == 2 and f is not np.fmod], ids=lambda f: f.__name__)
def test_of_two(f):
    for (A, a), (B, b) in zip(operands(f, 1), reversed(list(operands(f, 2)))):
        if f is np.ldexp:
            B, b = st.asarray(b.astype("int32"), format="CSR" if B.fill == 0 else None), b.astype("int32")
        close(f(A, B), f(a, b))
        close(f(A, b), f(a, b))
        close(f(a, B), f(a, b))
        close(f(A, b[0]), f(a, b[0]))
        close(f(A, 3), f(a, 3))
        if f is not np.ldexp:
            close(f(2, B), f(2, b))


def test_those_that_leave_zero_alone_stay_sparse():
    A = pairs()[0][0]
    for name in "expm1 log1p arcsin arctan arcsinh sinh trunc rint floor ceil cbrt deg2rad".split():
        assert getattr(np, name)(A).fill == 0
    assert np.cosh(A).fill == 1 and np.isfinite(A).fill and np.reciprocal(A).fill == np.inf
    whole = pairs(dtype="int16")[0][0]
    assert isinstance(whole & np.ones(6, "int16"), st.Tensor) and isinstance(whole << np.ones(6, "int16"), st.Tensor)
    nan = st.from_dense(np.array([[np.nan, 1, 0]]), "CSR")
    assert np.isnan(nan).to_dense().tolist() == [[True, False, False]]


def test_an_absent_numerator_stays_absent():
    for (A, a), (B, b) in zip(pairs(1)[:-1], reversed(pairs(2)[:-1])):
        for divisor, want in ((B, b), (b, b), (b[0], b[0]), (3, 3), (0, 0)):
            close(np.fmod(A, divisor), np.where(a == 0, 0, np.fmod(a, want)))
            assert np.fmod(A, divisor).fill == 0


def test_narrow_dtypes():
    t = st.eye(3, dtype="bfloat16") * 2
    assert np.expm1(t).dtype == "bfloat16" and np.isnan(t).dtype == np.bool_


@pytest.mark.parametrize("dtype", ["bool", "int16"])
def test_operators(dtype):
    for (A, a), (B, b) in zip(pairs(1, dtype=dtype), reversed(pairs(2, dtype=dtype))):
        same(A & B, a & b)
        same(A | B, a | b)
        same(A ^ B, a ^ b)
        same(~A, ~a)
        same(a | B, a | b)
        same(A & b[0], a & b[0])
        if dtype == "bool":
            same(A & True, a & True)
        else:
            same(A | 5, a | 5)
            same(6 & A, 6 & a)
            same(A << 2, a << 2)
            same(A >> 1, a >> 1)
            for got, want in zip(divmod(A, 3), divmod(a, 3)):
                same(got, want)


def test_powers():
    for (A, a), (B, b) in zip(pairs(1) + filled(1), reversed(pairs(2) + filled(2))):
        for e in (0, -1, 1.5, 2.5, 17, np.float32(2.5), 1j, b, b[0]):
            close(A**e, a**e)
        close(A**B, a**b)
        close(2.0**A, 2.0**a)
        close(np.power(b, A), b**a)
    assert (pairs()[0][0] ** 1.5).fill == 0
    with pytest.raises(ValueError, match="negative integer powers"):
        st.eye(3, dtype=int) ** -1


def test_reduce():
    for A, a in pairs():
        for f in (np.add, np.multiply, np.maximum, np.minimum, np.logical_or, np.logical_and):
            for axis in (0, 1, None, (0, 1)):
                same(f.reduce(A, axis=axis), f.reduce(a, axis=axis))
            same(f.reduce(A), f.reduce(a))


CALLS = {
    "sum": lambda x, y: (np.sum(x), np.sum(x, axis=0, dtype="float32"), np.sum(x, 1, keepdims=True)),
    "prod": lambda x, y: (np.prod(x, axis=0), np.prod(x)),
    "mean": lambda x, y: (np.mean(x, axis=1), np.mean(x)),
    "var": lambda x, y: (np.var(x, axis=1), np.std(x, ddof=1)),
    "max": lambda x, y: (np.max(x, axis=0), np.amin(x), np.min(x, axis=(0, 1), keepdims=True)),
    "argmax": lambda x, y: (np.argmax(x, axis=1), np.argmin(x), np.argmax(x, axis=0, keepdims=True)),
    "any": lambda x, y: (np.any(x, axis=0), np.all(x)),
    "count": lambda x, y: (np.count_nonzero(x), np.count_nonzero(x, axis=1)),
    "dot": lambda x, y: (np.dot(x, y.T), np.matmul(x, y.T), np.inner(x, y)),
    "dot of arrays": lambda x, y: (np.dot(x, np.ones(6)), np.dot(np.ones(7), x), np.dot(x, 2.0)),
    "tensordot": lambda x, y: (np.tensordot(x, y), np.tensordot(x, y, ([1], [1])), np.tensordot(x, y.T, 1)),
    "einsum": lambda x, y: (np.einsum("ij,kj->ik", x, y), np.einsum("ij,ij->j", x, y), np.einsum(x, [0, 1], [1, 0])),
    "outer": lambda x, y: (np.outer(x[0], y[1]),),
    "kron": lambda x, y: (np.kron(x, y),),
    "concatenate": lambda x, y: (np.concatenate([x, y]), np.concatenate((x, y), axis=1), np.vstack([x, y])),
    "stack": lambda x, y: (np.stack([x, y], axis=-1), np.hstack([x, y])),
    "where": lambda x, y: (np.where(x > 0, x, y), np.where(x > 0, 1.0, 0.0)),
    "transpose": lambda x, y: (np.transpose(x), np.transpose(x, (1, 0)), np.swapaxes(x, 0, 1), np.moveaxis(x, 0, 1)),
    "reshape": lambda x, y: (np.reshape(x, (6, 7)), np.reshape(x, -1), np.ravel(x), np.expand_dims(x, 1)),
    "squeeze": lambda x, y: (np.squeeze(x[:1]), np.squeeze(x[:, :1], axis=1)),
    "diagonal": lambda x, y: (np.diagonal(x), np.diagonal(x, 1), np.trace(x)),
    "round": lambda x, y: (np.round(x, 1), np.around(x), np.clip(x, -1, 2), np.nan_to_num(x)),
    "allclose": lambda x, y: (np.allclose(x, y), np.allclose(x, x), np.isclose(x, y)),
    "take": lambda x, y: (np.take(x, [2, 0], axis=1), np.flip(x), np.flip(x, 0)),
    "triangles": lambda x, y: (np.tril(x), np.triu(x, 1)),
    "like": lambda x, y: (np.zeros_like(x), np.ones_like(x, dtype=int), np.full_like(x, 7)),
    "diag": lambda x, y: (np.diag(x), np.diag(x, -1), np.diag(x[0]), np.diag(x[1], 2)),
    "broadcast": lambda x, y: (
        np.broadcast_to(x, (2, 7, 6)),
        np.broadcast_to(x[0], (3, 6)),
        np.broadcast_to(x[:1], (4, 6)),
    ),
    "norm": lambda x, y: (np.linalg.norm(x),),
    "asked": lambda x, y: (np.shape(x), np.ndim(x), np.size(x), np.size(x, 0), np.iscomplexobj(x), np.copy(x)),
    "parts": lambda x, y: (np.real(x), np.imag(x)),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    f = CALLS[name]
    for (A, a), (B, b) in zip(pairs(1), reversed(pairs(2))):
        for got, want in zip(f(A, B), f(a, b), strict=True):
            same(got, want, rtol=1e-13)


def test_of_zeros_only():
    for A, a in pairs():
        for got, want in zip(np.nonzero(A), np.nonzero(a), strict=True):
            same(got, want)
        same(np.argwhere(A), np.argwhere(a))
        same(np.flatnonzero(A), np.flatnonzero(a))
        assert np.result_type(A, np.float32) == np.float64


def test_into_arrays():
    for A, a in pairs():
        out = np.empty((14, 6))
        assert np.concatenate([A, A], out=out) is out
        same(out, np.vstack([a, a]))
        out = np.empty(7)
        assert np.sum(A, axis=1, out=out) is out and np.dot(A, np.ones(6), out=out) is out
        same(out, a.sum(1))


def test_norm():
    for A, a in pairs() + pairs(dtype="int16") + pairs(dtype="complex128") + filled():
        for ord in (None, "fro", 1, -1, np.inf, -np.inf):
            same(st.norm(A, ord), np.linalg.norm(a, ord), rtol=1e-14)
            same(st.norm(A, ord, keepdims=True), np.linalg.norm(a, ord, keepdims=True), rtol=1e-14)
        for ord in (None, 0, 1, 2, 3, 2.5, np.inf, -np.inf):
            for axis in (0, 1):
                same(st.norm(A, ord, axis), np.linalg.norm(a, ord, axis), rtol=1e-13)
        same(st.norm(A[0], 1), np.linalg.norm(a[0], 1), rtol=1e-14)
    with pytest.raises(st.Unsupported, match="svds"):
        st.norm(A, 2)
    for wrong in ("x", 7):
        with pytest.raises(st.ExpressionError, match="no such norm"):
            st.norm(A, wrong)


def test_others_say_how_to_go_on():
    for f in (np.median, np.cumsum, np.sort, np.linalg.svd):
        with pytest.raises((TypeError, AttributeError), match="to_dense|cumsum|sort"):
            f(pairs()[0][0])
