"""A[...] and the functions that pick elements, with the keys and the shapes of torch."""

import contextlib
import functools
import hashlib
import operator

import numpy as np
import torch

from ..errors import IndexError
from ._broadcast import broadcast_shapes
from ._elements import elements, named
from ._matrix import implements, is_sparse
from ._pattern import lasting
from ._shapes import axis, broadcast, on_meta, rearranged

_T = torch.Tensor


@implements(_T.__getitem__)
def getitem(x, key):
    """Rows, parts and lists of a sparse tensor are sparse, in the format that the library gives them. One element, elements
    that lists pair up, and those of a mask of the tensor's own shape are dense."""
    items = _items(x.shape, key if isinstance(key, tuple) else (key,))
    if items is None:
        return NotImplemented
    if not is_sparse(x):  # a sparse mask of a dense tensor
        return x[tuple(items)]
    shape = tuple(on_meta(_T.__getitem__, x, tuple(items)).shape)
    items = _spread(items, x.dim())
    lists = [i for i in items if isinstance(i, _T)]
    if len(lists) == x.dim() > 1 and x.pattern.once:
        return _paired(x, lists).reshape(shape)
    return rearranged(lambda t: _picked(t, items, shape), x, key=_key(items, lists), twice=bool(lists))


def _paired(x, lists):
    """The elements that lists of all dimensions name together; dense."""
    flat = 0
    with lasting():
        for d, (item, extent) in enumerate(zip(lists, x.shape)):
            flat = flat * extent + torch.from_numpy(_in_range(item, extent, d))
        flat = flat.reshape(-1)
    return elements(x, flat)


def _items(shape, key):
    """The parts of a key, masks as the coordinates of what is true; None where only torch knows what is meant. IndexError."""
    key = [torch.as_tensor(k) if isinstance(k, np.ndarray) or _is_list(k) else k for k in key]
    items, d = [], 0
    for item in key:
        if item is None or item is Ellipsis or isinstance(item, slice):
            items.append(item)
            d += len(shape) - sum(map(_extent, key)) if item is Ellipsis else _extent(item)
        elif _is_strange(item):
            return None
        elif not isinstance(item, _T) or item.dim() == 0:
            items.append(operator.index(item))
            d += 1
        elif item.dtype == torch.bool:
            if item.shape != shape[d : d + item.dim()]:
                raise IndexError(
                    "the mask does not fit the tensor",
                    expected=f"shape {tuple(shape[d : d + item.dim()])} from dimension {d} on",
                    got=f"shape {tuple(item.shape)}",
                )
            items += torch.nonzero(item, as_tuple=True)
            d += item.dim()
        else:
            items.append((item.to_dense() if is_sparse(item) else item).long())
            d += 1
    return items


def _is_list(k):
    return isinstance(k, list) and all(isinstance(n, (bool, int, np.integer)) for n in k)


def _is_strange(item):
    """True, lists in lists, masks of uint8 or without dimensions, floats."""
    if not isinstance(item, _T):
        return isinstance(item, (bool, list))
    if item.dim() == 0 and item.dtype == torch.bool or item.dtype == torch.uint8:
        return True
    return item.numel() > 0 and (item.is_floating_point() or item.is_complex())


def _extent(item):
    """How many dimensions of the tensor this part of a key speaks of."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, _T) and item.dtype == torch.bool else 1


def _spread(items, rank):
    """One item for each dimension, besides None."""
    whole = [slice(None)] * (rank - sum(map(_extent, items)))
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    return items[:at] + whole + items[at + 1 :]


def _key(items, lists):
    """What tells keys apart: of lists a digest."""
    with lasting() if lists else contextlib.nullcontext():
        return "items", tuple(map(_told, items))


def _told(item):
    if isinstance(item, slice):
        return item.start, item.stop, item.step
    if isinstance(item, _T):
        array = np.ascontiguousarray(item.numpy())
        return "list", array.shape, hashlib.blake2b(array, digest_size=32).digest()
    return item


def _picked(t, items, shape):
    """t[items], an st.Tensor: first numbers and slices, then all lists at once, last the new dimensions."""
    basic = tuple(slice(None) if isinstance(i, _T) else i for i in items if i is not None)
    lists = [i for i in items if not isinstance(i, int)]
    spread = [k for k, i in enumerate(lists) if isinstance(i, _T)]
    adjacent = spread == list(range(spread[0], spread[-1] + 1)) if spread else True
    lists = [i for i in lists if i is not None]
    at = [d for d, i in enumerate(lists) if isinstance(i, _T)]
    if any(i != slice(None) for i in basic):
        t = t[basic]
    if at:
        coords = [_in_range(lists[d], t.shape[d], d) for d in at]
        t = _at_lists(t, at, np.broadcast_arrays(*coords), adjacent)
    return t if t.shape == shape else t.reshape(shape)


def _at_lists(t, at, coords, adjacent):
    if len(at) == t.ndim > 1:
        return t[tuple(coords)]
    if len(at) == 1:
        return t[(slice(None),) * at[0] + (coords[0].ravel(),)]
    rest = [d for d in range(t.ndim) if d not in at]
    rows = np.ravel_multi_index([c.ravel() for c in coords], [t.shape[d] for d in at])
    t = t.transpose(*at, *rest)
    t = t.reshape(int(np.prod(t.shape[: len(at)])), *t.shape[len(at) :])[rows]
    return np.moveaxis(t, 0, at[0]) if adjacent else t


def _in_range(item, extent, d):
    """A list as an array that counts from the front. IndexError."""
    at = item.numpy()
    if at.size and (at.min() < -extent or at.max() >= extent):
        raise IndexError(
            f"an index of dimension {d} is out of range",
            expected=f"{-extent} to {extent - 1}",
            got=str(at.min() if at.min() < -extent else at.max()),
        )
    return np.where(at < 0, at + extent, at) if at.size and at.min() < 0 else at


def _implements(*names):
    """f(x, ...), of a sparse x, with torch's check of the arguments."""

    def note(f):
        def g(func, x, *args, out=None, sparse_grad=False, **kwargs):
            if not is_sparse(x) or out is not None:
                return NotImplemented
            on_meta(func, x, *map(_shape_alone, args), **{k: _shape_alone(v) for k, v in kwargs.items()})
            return f(x, *args, **kwargs)

        for func in named(*names):
            implements(func)(functools.partial(g, func))
        return f

    return note


def _shape_alone(x):
    return x.to("meta") if isinstance(x, _T) else x


@_implements("index_select")
def index_select(x, dim, index):
    return x[(slice(None),) * axis(x, dim) + (index.reshape(-1),)]


@_implements("take")
def take(x, index):
    """Dense."""
    flat = torch.from_numpy(_in_range(index, x.numel(), 0))
    return elements(x, flat.reshape(-1)).reshape(index.shape)


@_implements("gather")
def gather(x, dim, index):
    """Dense."""
    dim, flat = axis(x, dim), torch.zeros_like(index)
    if index.numel() and index.min() < 0:
        raise IndexError("gather counts from the front", expected="0 or more", got=str(int(index.min())))
    _in_range(index, x.shape[dim], dim)
    for d, extent in enumerate(x.shape):
        along = torch.arange(index.shape[d]).reshape([-1 if e == d else 1 for e in range(x.dim())])
        flat = flat * extent + (index if d == dim else along)
    return elements(x, flat.reshape(-1)).reshape(index.shape)


@_implements("take_along_dim")
def take_along_dim(x, indices, dim=None):
    """Dense."""
    if dim is None:
        return gather(x.reshape(-1), 0, indices.reshape(-1))
    dim, shape = axis(x, dim), broadcast_shapes(_but(x.shape, dim), _but(indices.shape, dim))
    x = broadcast(x, (*shape[:dim], x.shape[dim], *shape[dim + 1 :]))
    return gather(x, dim, indices.expand(*shape[:dim], indices.shape[dim], *shape[dim + 1 :]))


def _but(shape, dim):
    return (*shape[:dim], 1, *shape[dim + 1 :])


@implements(torch.masked_select, _T.masked_select)
def masked_select(x, mask, *, out=None):
    """Dense, as torch has it."""
    if out is not None or not is_sparse(x):
        return NotImplemented
    shape = broadcast_shapes(x.shape, mask.shape)
    x, mask = broadcast(x, shape), mask if mask.shape == shape else mask.expand(shape)
    return elements(x, _true(mask))


def _true(x):
    """The row-major numbers of the elements that are not 0, in order."""
    if not is_sparse(x):
        return torch.nonzero(x.reshape(-1)).reshape(-1)
    return x.pattern.places()[1][x.pattern.in_range(x.values()) != 0].sort().values


@implements(torch.nonzero, _T.nonzero, torch.argwhere, _T.argwhere)
def nonzero(x, *, as_tuple=False, out=None):
    """The coordinates of what is not 0: an int64 matrix (elements, dimensions), or with `as_tuple` a vector each dimension."""
    if out is not None or not x.pattern.once:
        return NotImplemented
    coords = torch.unravel_index(_true(x), x.shape)
    return coords if as_tuple else torch.stack(coords, 1)
