"""strata.array_api, the Python array API standard's names over tensors, against NumPy's own of the same names."""

import re

import numpy as np
import pytest
from named import array, same

import strata as st
from strata import array_api

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not hasattr(np, "isdtype"), reason="NumPy has the standard's names from 2.0 on"),
]

#: x, y floats, p positive ones below 1, i, j integers, b, d truth values, c complex numbers, o places, f a dtype
CALLS = """
xp.abs(x)  xp.acos(p)  xp.acosh(p + 1)  xp.add(x, y)  xp.add(x, 1)  xp.all(x)  xp.all(b, axis=0)  xp.any(x, axis=1, keepdims=True)
xp.arange(4)  xp.arange(1, 6, 2)  xp.arange(3.0, 0, -1)  xp.arange(5, 2)  xp.argmax(x)  xp.argmin(x, axis=0)  xp.asarray(x)
xp.asarray([[1, 0], [0, 2]])  xp.asarray(2.5)  xp.asarray([True])  xp.asarray(x, copy=True)  xp.asin(p)  xp.asinh(x)
xp.astype(x, xp.float32)  xp.atan(x)  xp.atan2(x, y)  xp.atanh(p)  xp.bitwise_and(i, j)  xp.bitwise_invert(i)
xp.bitwise_left_shift(abs(i), 2)  xp.bitwise_or(i, j)  xp.bitwise_right_shift(i, 1)  xp.bitwise_xor(b, d)  xp.bool
xp.broadcast_arrays(x, y[0])  xp.broadcast_shapes((3, 1), (4,))  xp.broadcast_to(x[0], (3, 6))  xp.can_cast(x, xp.float32)
xp.can_cast(xp.int8, xp.int16)  xp.ceil(x / 2)  xp.clip(x, -1, 2)  xp.clip(x, max=y)  xp.clip(i, min=0)  xp.complex64  xp.complex128
xp.concat([x, y])  xp.concat([x, y], axis=None)  xp.conj(c)  xp.copysign(x, y)  xp.cos(x)  xp.cosh(p)  xp.count_nonzero(x, axis=0)
xp.count_nonzero(x)  xp.diff(x)  xp.diff(x, axis=0, n=2)  xp.diff(x, prepend=y)  xp.divide(x, p)  xp.e  xp.empty((2, 3)).shape
xp.empty_like(x).shape  xp.equal(x, y)  xp.exp(x)  xp.expand_dims(x, axis=1)  xp.expm1(p)  xp.eye(3, 4, k=1)
xp.eye(2, dtype=xp.int8)  xp.flip(x)  xp.flip(x, axis=1)  xp.float32  xp.float64  xp.floor(x / 2)  xp.floor_divide(x, p)
xp.from_dlpack(z)  xp.full((2, 3), 7)  xp.full((2,), 1.5, dtype=xp.float32)  xp.full_like(x, 4)  xp.greater(x, y)
xp.greater_equal(x, y)  xp.hypot(x, y)  xp.imag(c)  xp.inf  xp.int8  xp.int16  xp.int32  xp.int64  xp.isdtype(f, 'real floating')
xp.isdtype(f, ('integral', 'bool'))  xp.isdtype(f, 'numeric')  xp.isdtype(f, xp.float64)  xp.isfinite(1 / x)  xp.isinf(1 / x)
xp.isnan(x)  xp.less(x, y)  xp.less_equal(x, y)  xp.linspace(0, 1, 5)  xp.linspace(0, 1, 4, endpoint=False)  xp.log(p)
xp.log10(p)  xp.log1p(p)  xp.log2(p)  xp.logaddexp(x, y)  xp.logical_and(b, d)  xp.logical_not(b)  xp.logical_or(b, d)
xp.logical_xor(b, d)  xp.matmul(x, y.T)  xp.matrix_transpose(x)  xp.max(x, axis=1)  xp.maximum(x, y)  xp.mean(x, axis=0)
xp.meshgrid(z[0], z[1])  xp.min(x)  xp.minimum(x, y)  xp.moveaxis(x, 0, 1)  xp.multiply(x, y)  xp.nan  xp.negative(x)  xp.newaxis
xp.nextafter(x, y)  xp.nonzero(x)  xp.not_equal(x, y)  xp.ones((2, 3))  xp.ones_like(i)  xp.permute_dims(x, (1, 0))  xp.pi
xp.positive(x)  xp.pow(x, 2)  xp.pow(p, x)  xp.prod(x, axis=0)  xp.prod(i, axis=1)  xp.real(c)  xp.reciprocal(p)
xp.remainder(x, p)  xp.repeat(x, 2, axis=0)  xp.repeat(x, 2)  xp.reshape(x, (6, 7))  xp.result_type(x, i)
xp.result_type(xp.int8, xp.uint8)  xp.roll(x, 2)  xp.roll(x, (1, -1), axis=(0, 1))  xp.round(x / 3)  xp.sign(x)  xp.sign(c)
xp.signbit(x)  xp.sin(x)  xp.sinh(p)  xp.sqrt(p)  xp.square(x)  xp.squeeze(x[:1], axis=0)  xp.stack([x, y], axis=1)
xp.std(x, axis=0, correction=1)  xp.subtract(x, y)  xp.sum(x)  xp.sum(i, axis=0)  xp.sum(i, dtype=xp.int32)
xp.take(x, xp.asarray([2, 0]), axis=1)  xp.take_along_axis(x, o, axis=0)  xp.tan(p)  xp.tanh(x)  xp.tensordot(x, y)
xp.tensordot(x, y.T, axes=1)  xp.tile(x, (2, 1))  xp.tril(x, k=1)  xp.triu(x)  xp.trunc(x / 2)  xp.uint8  xp.uint16  xp.uint32
xp.uint64  xp.unique_counts(x)  xp.unique_values(x)  xp.unstack(x)  xp.unstack(x, axis=1)  xp.var(x)  xp.vecdot(c, c)
xp.vecdot(x, y, axis=0)  xp.where(b, x, y)  xp.where(b, x, 0)  xp.zeros((2, 0))  xp.zeros((2, 3), dtype=xp.int8)  xp.zeros_like(x)
xp.finfo(xp.float32).bits  xp.finfo(xp.complex64).dtype  xp.finfo(xp.float64).smallest_normal  xp.iinfo(xp.int8).max
xp.iinfo(xp.uint16).bits  xp.isdtype(xp.nonzero(x)[0].dtype, 'signed integer')  len(xp.__array_namespace_info__().dtypes(kind='integral'))
""".split("\n")
CALLS = [call for line in CALLS if line for call in re.split(r"\s{2,}", line)]


def test_each_name_is_called():
    assert set(array_api.__all__) == set(re.findall(r"\bxp\.(\w+)", " ".join(CALLS)))


def arrays():
    x, i = array(1), array(3, dtype="int16")
    return {
        "x": x,
        "y": array(2),
        "p": (array(4) + 6) / 12,
        "i": i,
        "j": array(5, dtype="int16"),
        "b": x > 0,
        "d": array(2) > 1,
        "c": array(6, dtype="complex128"),
    }


def compare(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            compare(g, w)
    elif isinstance(want, (type, np.dtype)):
        assert got == want
    elif want is None or isinstance(want, (bool, int, float)):
        assert got == want or want != want
    else:
        assert isinstance(got, st.Tensor)
        same(got, want, rtol=1e-13)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("format", ["CSR", "COO", "dense"])
def test_as_numpy(call, format):
    dense = arrays()
    more = {"f": np.dtype("float64"), "o": np.argsort(dense["y"], axis=0), "z": np.arange(6.0).reshape(2, 3)}
    tensors = {k: st.from_dense(a, format) for k, a in dense.items()}
    if not all(hasattr(np, name) for name in re.findall(r"\bxp\.(\w+)", call)):
        pytest.skip("this NumPy lacks it")
    got = eval(call, {"xp": array_api, **tensors, **more})
    compare(got, eval(call, {"xp": np, **dense, **more}))


def test_what_is_sparse_stays_so():
    A = st.from_dense(array(1), "CSR")
    xp = A.__array_namespace__(api_version="2024.12")
    assert xp is array_api and xp.__array_api_version__ == "2024.12"
    for t in (
        xp.sin(A),
        xp.add(A, A),
        xp.multiply(A, 2),
        xp.roll(A, 1, axis=0),
        xp.concat([A, A]),
        xp.where(A > 0, A, 0),
    ):
        assert t.format == st.formats.CSR
    assert xp.zeros((2**20, 2**20)).nse == 0 and xp.ones((3, 3)).fill == 1 and xp.exp(A).nse == A.nse
    with pytest.raises(st.Unsupported, match="no such version"):
        A.__array_namespace__(api_version="1999.01")
    assert A.to_device("cpu") is A and A.device == "cpu"
    with pytest.raises(st.Unsupported, match="no device"):
        A.to_device("cuda")
    with pytest.raises(st.Unsupported, match="no device"):
        xp.zeros(3, device="cuda")


def test_info():
    info = array_api.__array_namespace_info__()
    assert info.default_device() == "cpu" and info.devices() == ["cpu"]
    assert info.default_dtypes()["indexing"] == np.int64 and info.capabilities()["boolean indexing"]
    assert list(info.dtypes(kind="complex floating")) == ["complex64", "complex128"]


def test_dlpack():
    a = np.arange(6.0).reshape(2, 3)
    t = array_api.asarray(a)
    assert np.shares_memory(np.from_dlpack(t), a) and t.__dlpack_device__() == (1, 0)
    assert array_api.from_dlpack(t) is t and np.shares_memory(array_api.from_dlpack(a).to_numpy(), a)
    with pytest.raises(BufferError, match="a sparse tensor has no DLPack"):
        np.from_dlpack(st.eye(3))


def test_refused():
    with pytest.raises(st.DTypeError, match="no such kind"):
        array_api.isdtype(np.dtype("int8"), "number")
    with pytest.raises(st.TensorError, match="another dtype is a copy"):
        array_api.asarray(np.ones(3), dtype="float32", copy=False)
    with pytest.raises(st.TensorError, match="an axis is needed"):
        array_api.take(st.eye(3), [0])
    with pytest.raises(IndexError, match="no such axis"):
        array_api.expand_dims(st.eye(3), 3)
    with pytest.raises(st.TensorError, match="vecdot sums over"):
        array_api.vecdot(st.eye(3)[:, :1], st.eye(3))
    with pytest.raises(AttributeError):
        array_api.sort
