"""NumPy's functions of whole arrays on tensors: np.sum(A), np.concatenate([A, B]), np.einsum("ij,j->i", A, x)."""

import numpy as np

from ._core import Tensor, equal
from ._create import asarray, diags, full
from ._evaluate import einsum
from ._join import concatenate, hstack, kron, stack, tril, triu, vstack
from ._merge import broadcast_shape, elementwise, spread
from ._norm import norm
from ._select import allclose, where
from ._shapes import expand_dims
from ._stored import axes_of, for_numpy, format_like, map_values, tensor
from .errors import TensorError, Unsupported

#: What NumPy's function becomes: (function, arguments of the caller) -> result.
FUNCTIONS = {}


def _serves(*functions):
    def given(f):
        FUNCTIONS.update(dict.fromkeys(functions, f))
        return f

    return given


def _of_method(name):
    """np.f(a, ...) as a.f(...); NumPy says "no value" where it has no default."""

    def f(a, *args, **kwargs):
        given = {k: v for k, v in kwargs.items() if v is not np._NoValue and (k, v) != ("out", None)}
        return getattr(asarray(a), name)(*args, **given)

    return f


def _reduction(name):
    def f(a, axis=None, dtype=None, out=None, keepdims=False, **options):
        options = {k: v for k, v in options.items() if v is not np._NoValue}
        given = {"dtype": dtype} if dtype is not None else {}
        keepdims = keepdims is not np._NoValue and bool(keepdims)
        return getattr(asarray(a), name)(axis=axis, keepdims=keepdims, out=out, **given, **options)

    return f


for _name in ("sum", "prod", "mean", "var", "std"):
    FUNCTIONS[getattr(np, _name)] = _reduction(_name)
for _names in (("max", "amax"), ("min", "amin"), ("any",), ("all",)):
    for _name in _names:
        _of = lambda a, axis=None, out=None, keepdims=False, _f=_reduction(_names[0]), **k: _f(
            a, axis, None, out, keepdims, **k
        )
        FUNCTIONS[getattr(np, _name)] = _of
for _name in "argmax argmin count_nonzero nonzero ravel squeeze diagonal trace clip swapaxes".split():
    FUNCTIONS[getattr(np, _name)] = _of_method(_name)
FUNCTIONS |= {
    np.allclose: allclose,
    np.where: where,
    np.tril: lambda m, k=0: tril(m, k),
    np.triu: lambda m, k=0: triu(m, k),
    np.kron: lambda a, b: kron(a, b),
    np.expand_dims: lambda a, axis: expand_dims(asarray(a), axis),
    np.linalg.norm: norm,
    np.round: lambda a, decimals=0, out=None: asarray(a).round(decimals),
    np.around: lambda a, decimals=0, out=None: asarray(a).round(decimals),
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.copy: lambda a, order="K", subok=False: a.copy(),
    np.real: lambda val: val.real,
    np.imag: lambda val: val.imag,
    np.isclose: lambda a, b, rtol=1e-05, atol=1e-08, equal_nan=False: elementwise(
        lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), a, b
    ),
    np.argwhere: lambda a: np.stack(a.nonzero(), axis=-1),
    np.flatnonzero: lambda a: a.ravel().nonzero()[0],
    np.iscomplexobj: lambda x: for_numpy(x).dtype.kind == "c",
    np.isrealobj: lambda x: for_numpy(x).dtype.kind != "c",
}


@_serves(np.array_equal)
def _array_equal(a1, a2, equal_nan=False):
    if equal_nan:
        return asarray(a1).shape == asarray(a2).shape and allclose(a1, a2, 0, 0, True)
    return equal(a1, a2)


@_serves(np.size)
def _size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@_serves(np.nan_to_num)
def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    return map_values(lambda v: np.nan_to_num(v, nan=nan, posinf=posinf, neginf=neginf), x)


@_serves(np.reshape)
def _reshape(a, /, *shape, order="C", newshape=None, copy=None, **named):
    shape = shape or (named.get("shape", newshape),)
    return asarray(a).reshape(shape[0], order=shape[1] if len(shape) > 1 else order)


@_serves(np.transpose)
def _transpose(a, axes=None):
    return a.transpose() if axes is None else a.transpose(*axes)


@_serves(np.moveaxis)
def _moveaxis(a, source, destination):
    source, destination = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    order = [d for d in range(a.ndim) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return a.transpose(*order)


@_serves(np.take)
def _take(a, indices, axis=None, out=None, mode="raise"):
    if out is not None or mode != "raise":
        raise Unsupported("np.take with out= or mode=", expected="a tensor, indices and an axis")
    if axis is None:
        return a.ravel()[indices]
    return a[(slice(None),) * axes_of(axis, a.ndim)[0] + (indices,)]


@_serves(np.diag)
def _diag(v, k=0):
    return v.diagonal(k) if v.ndim != 1 else diags([v.to_dense()], [k])


@_serves(np.broadcast_to)
def _broadcast_to(array, shape, subok=False):
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if broadcast_shape(array, np.broadcast_to(True, shape)) != shape:
        raise TensorError("this shape does not hold the tensor", expected=f"{array.shape} at its end", got=str(shape))
    coords, values = spread(array, shape)
    return tensor(coords, values, shape, format_like(array, len(shape)), array.fill, array.dtype)


@_serves(np.flip)
def _flip(m, axis=None):
    axes = axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1 if d in axes else 1) for d in range(m.ndim))]


def _joined(f, has_axis=True):
    def call(tensors, axis=0, out=None, *, dtype=None, casting="same_kind"):
        found = f(tensors, axis, dtype=dtype) if has_axis else f(tensors, dtype=dtype)
        if out is None:
            return found
        np.copyto(out, found.to_dense(), casting=casting)
        return out

    return call


FUNCTIONS |= {
    np.concatenate: _joined(concatenate),
    np.stack: _joined(stack),
    np.vstack: _joined(vstack, False),
    np.hstack: _joined(hstack, False),
}


@_serves(np.zeros_like, np.ones_like, np.empty_like)
def _like(a, dtype=None, order="K", subok=True, shape=None, *, device=None, value=0):
    return full(a.shape if shape is None else shape, value, a.dtype if dtype is None else dtype)


FUNCTIONS[np.ones_like] = lambda a, *args, **kwargs: _like(a, *args, **kwargs, value=1)


@_serves(np.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, dtype, shape=shape, value=fill_value)


@_serves(np.dot)
def _dot(a, b, out=None):
    found = a.dot(b) if isinstance(a, Tensor) else asarray(a).dot(b)
    if out is None:
        return found
    np.copyto(out, found.to_dense() if isinstance(found, Tensor) else found, casting="same_kind")
    return out


@_serves(np.tensordot)
def _tensordot(a, b, axes=2):
    a, b = asarray(a), asarray(b)
    if isinstance(axes, (int, np.integer)):
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    left, right = axes_of(axes[0], a.ndim), axes_of(axes[1], b.ndim)
    first, second = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for d, e in zip(left, right):
        second[e] = first[d]
    kept = [i for d, i in enumerate(first) if d not in left] + [i for d, i in enumerate(second) if d not in right]
    return einsum(a, first, b, second, kept)


@_serves(np.outer)
def _outer(a, b, out=None):
    return einsum("i,j->ij", asarray(a).reshape(-1), asarray(b).reshape(-1))


@_serves(np.inner)
def _inner(a, b):
    return _tensordot(a, b, ([-1], [-1])) if np.ndim(a) and np.ndim(b) else a * b


@_serves(np.einsum)
def _einsum(*operands, out=None, dtype=None, order="K", casting="safe", optimize=False):
    return einsum(*operands, out=out, dtype=dtype)


@_serves(np.result_type)
def _result_type(*given):
    return np.result_type(*(for_numpy(x).dtype if isinstance(x, Tensor) else x for x in given))


@_serves(np.can_cast)
def _can_cast(from_, to, casting="safe"):
    return np.can_cast(for_numpy(from_).dtype if isinstance(from_, Tensor) else from_, to, casting)


def _array_function(self, function, types, args, kwargs):
    """A function of NumPy on tensors: what the library has of that name. Others do what they do with any object."""
    if function in FUNCTIONS:
        return FUNCTIONS[function](*args, **kwargs)
    plain = getattr(function, "_implementation", None)
    return NotImplemented if plain is None else plain(*args, **kwargs)


Tensor.__array_function__ = _array_function
del _name, _names, _of
