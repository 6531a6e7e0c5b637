"""Functions of several operands, element by element, that no expression has: NumPy's, on the union of what is stored."""

import numpy as np

from ._core import Tensor
from ._stored import for_numpy, format_like, linear, map_values, stored, tensor, unravel
from .errors import TensorError
from .interop import from_package, package_of


def operand(x):
    """A tensor, a number (typed or Python's, which is weak), or an array; NotImplemented for what is none."""
    if isinstance(x, Tensor):
        return for_numpy(x)[()] if x.ndim == 0 else x
    if package_of(x) == "scipy":
        return from_package(x)
    if isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
        return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x
    try:
        x = np.asarray(x)
    except Exception:
        return NotImplemented
    return x if x.dtype.kind in "biufc" else NotImplemented


def is_sparse(x):
    """Does it have elements that are absent?"""
    return isinstance(x, Tensor) and not x.format.is_all_dense


def as_array(x):
    """A dense operand as an array, a number as it is."""
    return for_numpy(x).to_dense() if isinstance(x, Tensor) else x


def broadcast_shape(*operands):
    """The shape that they have together. TensorError."""
    shapes = [np.shape(x) if not isinstance(x, Tensor) else x.shape for x in operands]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise TensorError(
            "these shapes do not go together", expected="equal extents, or 1", got=" and ".join(map(str, shapes))
        ) from None


def spread(t, shape):
    """(coordinates, values) of what a tensor stores, repeated along the dimensions that it lacks or has once."""
    coords, values = stored(t)
    lead = len(shape) - t.ndim
    coords = [None] * lead + [c if n == w else None for c, n, w in zip(coords, t.shape, shape[lead:])]
    for d, n in enumerate(shape):
        if coords[d] is None:
            count = len(values)
            coords = [c if c is None else np.repeat(c, n) for c in coords]
            values = np.repeat(values, n)
            coords[d] = np.tile(np.arange(n, dtype=np.int64), count)
    return coords, values


def at(x, key, shape):
    """The elements of an operand at sorted linear indices of the broadcast shape."""
    if is_sparse(x):
        coords, values = spread(x, shape)
        own = np.broadcast_to(linear(coords, shape), values.shape)
        order = None if x.shape == tuple(shape) else np.argsort(own, kind="stable")
        own, values = (own, values) if order is None else (own[order], values[order])
        if len(own) == len(key) and np.array_equal(own, key):
            return values
        out = np.full(len(key), for_numpy(x).fill, values.dtype)
        place = np.minimum(np.searchsorted(own, key), max(len(own) - 1, 0))
        hit = own[place] == key if len(own) else np.zeros(len(key), bool)
        out[hit] = values[place[hit]]
        return out
    x = as_array(x)
    return x if np.ndim(x) == 0 else np.broadcast_to(x, shape)[unravel(key, shape)]


def union(tensors, shape):
    """Sorted linear indices of all that these tensors store."""
    keys = [linear(spread(t, shape)[0], shape) for t in tensors]
    if all(len(k) == len(keys[0]) and np.array_equal(k, keys[0]) for k in keys) and all(
        t.shape == tuple(shape) for t in tensors
    ):
        return keys[0]
    return np.unique(np.concatenate(keys))


def fill_of(x):
    """The fill of a sparse operand, and a number itself."""
    return np.asarray(for_numpy(x).fill, for_numpy(x).dtype)[()] if is_sparse(x) else x


def elementwise(f, *operands, absorbing=None, format=None):
    """f of operands element by element, with f a function of arrays such as a ufunc.

    Stored is what any sparse operand stores, the fill is f of the fills. With a dense operand the result is dense, unless
    `absorbing` names a sparse operand (its position) that makes the result 0 where it is absent: then its pattern stays.
    NotImplemented where one is no operand.
    """
    operands = [operand(x) for x in operands]
    if any(x is NotImplemented for x in operands):
        return NotImplemented
    sparse = [x for x in operands if is_sparse(x)]
    shape = broadcast_shape(*operands)
    if not sparse:
        return f(*map(as_array, operands))
    numbers = all(is_sparse(x) or np.ndim(x) == 0 for x in operands)
    if len(sparse) == 1 and numbers and absorbing is None:
        k = next(k for k, x in enumerate(operands) if is_sparse(x))
        return map_values(lambda v: f(*operands[:k], v, *operands[k + 1 :]), sparse[0])
    if not numbers and absorbing is None:
        return f(*(as_array(x) for x in operands))
    if absorbing is not None:
        sparse = [operands[absorbing]]
    key = union(sparse, shape)
    with np.errstate(all="ignore"):
        values = f(*(at(x, key, shape) for x in operands))
        fill = f(*map(fill_of, operands)) if absorbing is None else 0
    if isinstance(values, tuple):
        return tuple(_made(v, key, shape, x, sparse[0], format) for v, x in zip(values, fill))
    return _made(values, key, shape, fill, sparse[0], format)


def _made(values, key, shape, fill, first, format):
    fill = np.asarray(fill, values.dtype)
    fill = fill + 0 if fill.dtype.kind in "fc" and fill == 0 else fill  # absent elements have no sign
    return tensor(unravel(key, shape), values, shape, format or format_like(first, len(shape)), fill, ordered=True)
