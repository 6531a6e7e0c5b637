"""The names of the Python array API standard over tensors: what `A.__array_namespace__()` gives.

    xp = A.__array_namespace__()
    xp.sum(xp.exp(A), axis=1)

Functions take tensors, arrays and numbers, and give tensors: sparse ones where NumPy's functions of tensors do, dense ones
otherwise (reductions). What would have to look at all elements in order (sort, cumulative_sum, searchsorted), and what has
no function of tensors, is left out; tests/array_api_exceptions.txt says what else differs, and why.
"""

import builtins
import collections
import functools

import numpy as np

from . import _arrange, _nan
from ._core import Tensor
from ._create import asarray as _asarray, eye as _eye, full as _full
from ._join import concatenate as _concatenate, stack as _stack, tril as _tril, triu as _triu
from ._merge import broadcast_shape
from ._products import tensordot as _tensordot, vecdot as _vecdot
from ._select import where as _where
from ._shapes import expand_dims as _expand_dims
from .errors import DTypeError, IndexError, TensorError, Unsupported
from .interop import from_dlpack as _from_dlpack

__array_api_version__ = "2024.12"

e, inf, nan, newaxis, pi = np.e, np.inf, np.nan, None, np.pi

_DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
for _name in _DTYPES:
    globals()[_name] = np.dtype(_name)
_DEFAULTS = {name: np.dtype(name) for name in ("float64", "complex128", "int64")}


def _tensor(x):
    """A result as a tensor, over the same memory."""
    if isinstance(x, Tensor):
        return x
    return _asarray(x if type(x).__module__.partition(".")[0] == "torch" else np.asarray(x))


def _given(*xs):
    """Operands as tensors, where they are no numbers of Python's."""
    return [x if isinstance(x, (builtins.bool, int, float, complex)) else _asarray(x) for x in xs]


def _on(device):
    if device is not None and str(device) != "cpu":
        raise Unsupported(f"there is no device '{device}' here", expected="'cpu'", got=str(device))


# --- creation


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """st.asarray: over the same memory unless copy=True. ValueError where copy=False cannot be."""
    _on(device)
    if isinstance(obj, (list, tuple)):
        obj = np.asarray(_plain(obj), dtype)
    elif isinstance(obj, (builtins.bool, int, float, complex)):
        obj = np.asarray(obj, dtype)
    found = _asarray(obj, dtype)
    if copy is False and not isinstance(obj, Tensor) and hasattr(obj, "dtype") and found.dtype != obj.dtype:
        raise TensorError("another dtype is a copy", expected=str(obj.dtype), got=str(dtype), fix="copy=None")
    return found.copy() if copy else found


def _plain(x):
    """Nested lists, in which tensors of no dimensions are numbers."""
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x]
    return x.to_dense() if isinstance(x, Tensor) else x


def from_dlpack(x, /, *, device=None, copy=None):
    """A dense tensor over the memory of an object with __dlpack__; a tensor itself."""
    _on(device)
    found = x if isinstance(x, Tensor) else _from_dlpack(x)
    return found.copy() if copy else found


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """np.arange, as a dense tensor."""
    _on(device)
    start, stop = (0, start) if stop is None else (start, stop)
    if step != 0 and (stop - start) / step <= 0:
        return _tensor(np.empty(0, dtype if dtype is not None else np.result_type(*map(type, (start, stop, step)))))
    return _tensor(np.arange(start, stop, step, dtype))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """np.linspace, as a dense tensor."""
    _on(device)
    return _tensor(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def meshgrid(*arrays, indexing="xy"):
    """np.meshgrid, as dense tensors."""
    return list(map(_tensor, np.meshgrid(*map(_array, arrays), indexing=indexing)))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """st.eye: CSR."""
    _on(device)
    return _eye(n_rows, n_cols, k, float if dtype is None else dtype)


def full(shape, fill_value, *, dtype=None, device=None):
    """st.full: nothing is stored."""
    _on(device)
    return _full(shape, fill_value, dtype)


def zeros(shape, *, dtype=None, device=None):
    """st.zeros: nothing is stored."""
    return full(shape, 0, dtype=float if dtype is None else dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """st.ones: nothing is stored, and the fill is 1."""
    return full(shape, 1, dtype=float if dtype is None else dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """st.zeros."""
    return zeros(shape, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """st.full of the shape and dtype of x."""
    return full(x.shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """st.zeros of the shape and dtype of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """st.ones of the shape and dtype of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """st.zeros of the shape and dtype of x."""
    return full_like(x, 0, dtype=dtype, device=device)


def tril(x, /, *, k=0):
    """st.tril."""
    return _tril(x, k)


def triu(x, /, *, k=0):
    """st.triu."""
    return _triu(x, k)


# --- dtypes


def astype(x, dtype, /, *, copy=True, device=None):
    """x.astype(dtype)."""
    _on(device)
    return _asarray(x).astype(dtype)


def _dtypes(xs):
    return [getattr(x, "dtype", x) for x in xs]


def can_cast(from_, to, /):
    """np.can_cast, of dtypes and tensors."""
    return np.can_cast(*_dtypes((from_, to)))


def result_type(*arrays_and_dtypes):
    """np.result_type, of dtypes, tensors and numbers."""
    return np.result_type(*_dtypes(arrays_and_dtypes))


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def isdtype(dtype, kind):
    """Is it this dtype, or of this kind ("bool", "integral", "real floating", "numeric", ...), or of one of several?
    DTypeError."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise DTypeError("there is no such kind of dtype", expected=", ".join(_KINDS), got=repr(kind))
        return np.dtype(dtype).kind in _KINDS[kind]
    return np.dtype(dtype) == np.dtype(kind)


_FinfoObject = collections.namedtuple("_FinfoObject", "bits eps max min smallest_normal dtype")
_IinfoObject = collections.namedtuple("_IinfoObject", "bits max min dtype")


def finfo(type, /):
    """Limits of a dtype of floats, as numbers of Python's; of a complex one those of its parts."""
    found = np.finfo(getattr(type, "dtype", type))
    numbers = (float(x) for x in (found.eps, found.max, found.min, found.smallest_normal))
    return _FinfoObject(int(found.bits), *numbers, np.dtype(found.dtype))


def iinfo(type, /):
    """Limits of a dtype of integers."""
    dtype = np.dtype(getattr(type, "dtype", type))
    found = np.iinfo(dtype)
    return _IinfoObject(int(found.bits), int(found.max), int(found.min), dtype)


# --- functions of elements


def _unary(name, of):
    ufunc = getattr(np, of)

    def f(x, /):
        return _tensor(ufunc(*_given(x)))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"np.{of} of each element and of the fill."
    return f


def _binary(name, of):
    ufunc = getattr(np, of)

    def f(x1, x2, /):
        return _tensor(ufunc(*_given(x1, x2)))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"np.{of} element by element; broadcasts."
    return f


_ELEMENTS = {
    _unary: {
        **dict(acos="arccos", acosh="arccosh", asin="arcsin", asinh="arcsinh", atan="arctan", atanh="arctanh"),
        **dict(bitwise_invert="invert", abs="absolute", real="real", imag="imag"),
        **{
            f: f
            for f in "ceil conj cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p log2 logical_not negative "
            "positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc".split()
        },
    },
    _binary: {
        **dict(atan2="arctan2", bitwise_left_shift="left_shift", bitwise_right_shift="right_shift", pow="power"),
        **{
            f: f
            for f in "add bitwise_and bitwise_or bitwise_xor copysign divide equal floor_divide greater greater_equal hypot "
            "less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal "
            "remainder subtract".split()
        },
    },
}
for _make, _names in _ELEMENTS.items():
    for _name, _of in _names.items():
        globals()[_name] = _make(_name, _of)


def clip(x, /, min=None, max=None):
    """Each element within min and max, numbers or tensors, in the dtype of x."""
    found = _asarray(x)
    for bound, ufunc in ((min, np.maximum), (max, np.minimum)):
        if bound is not None:
            (bound,) = _given(bound)
            found = _tensor(ufunc(found, bound.astype(x.dtype) if isinstance(bound, Tensor) else bound))
    return found


# --- indices and places


def take(x, indices, /, *, axis=None):
    """x.take(indices, axis)."""
    x = _asarray(x)
    if axis is None and x.ndim != 1:
        raise TensorError("an axis is needed", expected="axis=, or a vector", got=f"shape {x.shape}")
    return _tensor(x.take(_array(indices), 0 if axis is None else axis))


def _array(x):
    return x.to_dense() if isinstance(x, Tensor) else np.asarray(x)


def take_along_axis(x, indices, /, *, axis=-1):
    """np.take_along_axis: a dense tensor."""
    return _tensor(_arrange.take_along_axis(_asarray(x), indices, axis))


def broadcast_arrays(*arrays):
    """Tensors of one shape, as a list."""
    shape = broadcast_shape(*arrays)
    return [broadcast_to(x, shape) for x in arrays]


def broadcast_shapes(*shapes):
    """The shape that these have together."""
    return np.broadcast_shapes(*shapes)


def broadcast_to(x, /, shape):
    """The elements repeated along new dimensions, and along those of extent 1."""
    return _tensor(np.broadcast_to(_asarray(x), shape))


def concat(arrays, /, *, axis=0):
    """st.concatenate; axis=None: of the raveled ones."""
    if axis is None:
        return _concatenate([_asarray(x).ravel() for x in arrays])
    return _concatenate(arrays, axis)


def expand_dims(x, /, axis=0):
    """A dimension of extent 1. IndexError: no such axis."""
    x = _asarray(x)
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError("there is no such axis", expected=f"{-x.ndim - 1} to {x.ndim}", got=str(axis))
    return _expand_dims(x, axis)


def flip(x, /, *, axis=None):
    """The elements of these axes (of all) in reverse."""
    return _tensor(_arrange.flip(_asarray(x), axis)) if x.ndim else _asarray(x)


def matrix_transpose(x, /):
    """x.mT."""
    return _asarray(x).mT


def moveaxis(x, source, destination, /):
    """np.moveaxis."""
    return _arrange.moveaxis(_asarray(x), source, destination)


def permute_dims(x, /, axes):
    """x.transpose(*axes)."""
    return _asarray(x).transpose(*axes)


def repeat(x, repeats, /, *, axis=None):
    """x.repeat(repeats, axis)."""
    return _tensor(_asarray(x).repeat(repeats if isinstance(repeats, int) else _array(repeats), axis))


def reshape(x, /, shape, *, copy=None):
    """x.reshape(shape)."""
    found = _asarray(x).reshape(tuple(shape))
    return found.copy() if copy else found


def roll(x, /, shift, *, axis=None):
    """np.roll."""
    return _arrange.roll(_asarray(x), shift, axis)


def squeeze(x, /, axis):
    """x.squeeze(axis)."""
    return _asarray(x).squeeze(axis)


def stack(arrays, /, *, axis=0):
    """st.stack."""
    return _stack(arrays, axis)


def tile(x, repetitions, /):
    """np.tile."""
    return _arrange.tile(_asarray(x), repetitions)


def unstack(x, /, *, axis=0):
    """The slices of an axis, as a tuple."""
    return tuple(map(_tensor, _arrange.unstack(_asarray(x), axis)))


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """np.diff."""
    return _tensor(_arrange.diff(_asarray(x), n, axis, prepend, append))


def where(condition, x1, x2, /):
    """st.where."""
    return _tensor(_where(*_given(condition, x1, x2)))


def nonzero(x, /):
    """x.nonzero(), as a tuple of dense tensors. Unsupported for a fill other than 0."""
    x = _asarray(x)
    if x.ndim == 0:
        raise TensorError("nonzero needs a dimension", expected="one or more", got="none")
    return tuple(map(_tensor, x.nonzero()))


def unique_values(x, /):
    """The values that occur, ascending: a dense tensor."""
    return _tensor(_nan.unique(x, equal_nan=False))


def unique_counts(x, /):
    """(values, counts): which occur, ascending, and how often."""
    return _UniqueCountsResult(*map(_tensor, _nan.unique(x, True, False)))


_UniqueCountsResult = collections.namedtuple("_UniqueCountsResult", "values counts")

# --- products


def matmul(x1, x2, /):
    """x1 @ x2."""
    x1, x2 = _asarray(x1), _asarray(x2)
    return _tensor(x1 @ x2)


def tensordot(x1, x2, /, *, axes=2):
    """np.tensordot."""
    return _tensor(_tensordot(_asarray(x1), _asarray(x2), axes))


def vecdot(x1, x2, /, *, axis=-1):
    """The sum of conj(x1) * x2 over an axis."""
    return _tensor(_vecdot(x1, x2, axis))


# --- reductions: dense tensors


def _reduction(name):
    @functools.wraps(getattr(Tensor, name))
    def f(x, /, *, axis=None, keepdims=False):
        return _tensor(getattr(_asarray(x), name)(axis=axis, keepdims=keepdims))

    del f.__wrapped__
    return f


for _name in "max min mean any all argmax argmin count_nonzero".split():
    globals()[_name] = _reduction(_name)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """x.sum(axis): integers in int64 or uint64 unless told."""
    return _tensor(_asarray(x).sum(axis=axis, dtype=dtype, keepdims=keepdims))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """x.prod(axis): integers in int64 or uint64 unless told."""
    return _tensor(_asarray(x).prod(axis=axis, dtype=dtype, keepdims=keepdims))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """x.var(axis, ddof=correction)."""
    return _tensor(_asarray(x).var(axis=axis, ddof=correction, keepdims=keepdims))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """x.std(axis, ddof=correction)."""
    return _tensor(_asarray(x).std(axis=axis, ddof=correction, keepdims=keepdims))


# --- what there is


class _Info:
    """What __array_namespace_info__() gives."""

    def capabilities(self):
        """Shapes that depend on data: yes. Lazy evaluation is none."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """'cpu'."""
        return "cpu"

    def devices(self):
        """['cpu']."""
        return ["cpu"]

    def default_dtypes(self, *, device=None):
        """Of floats, complex numbers, integers and indices: 64 bits."""
        _on(device)
        return {
            "real floating": _DEFAULTS["float64"],
            "complex floating": _DEFAULTS["complex128"],
            "integral": _DEFAULTS["int64"],
            "indexing": _DEFAULTS["int64"],
        }

    def dtypes(self, *, device=None, kind=None):
        """{name: dtype} of these kinds."""
        _on(device)
        return {n: np.dtype(n) for n in _DTYPES if kind is None or isdtype(np.dtype(n), kind)}


def __array_namespace_info__():
    """Capabilities, devices and dtypes, as the standard asks for them."""
    return _Info()


__all__ = sorted(
    {
        *_DTYPES,
        *(n for names in _ELEMENTS.values() for n in names),
        *("max min mean any all argmax argmin count_nonzero e inf nan newaxis pi __array_namespace_info__").split(),
        *(n for n, f in list(globals().items()) if getattr(f, "__module__", "") == __name__ and n[0] != "_"),
    }
)
del _name, _names, _of, _make
