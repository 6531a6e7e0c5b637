"""Elements at other places: np.roll, repeat, tile, rot90, delete, pad, unstack, diff, take_along_axis of tensors.

Results stay sparse and keep the fill; shapes and dtypes are NumPy's.
"""

import operator

import numpy as np

from . import _core
from ._core import Tensor
from ._create import asarray
from ._indexing import _in_range, gather
from ._join import concatenate
from ._members import method
from ._served import serves
from ._shapes import expand_dims
from ._stored import axes_of, format_like, stored, tensor
from .errors import TensorError, Unsupported


def _along(d, key):
    return (slice(None),) * d + (key,)


@method
def take(self, indices, axis=None):
    """The elements at these coordinates of an axis, as np.take; of the raveled tensor without one. A tensor; it keeps the
    fill.

        A.take([2, 0], axis=1)

    indices : integers of any shape, negative ones from the end. IndexError, ExpressionError: no such axis.
    """
    if axis is None:
        return self.ravel()[indices]
    return self[_along(axes_of(axis, self.ndim)[0], indices)]


@method
def repeat(self, repeats, axis=None):
    """Each slice of an axis so many times (one number, or one a slice), as np.repeat; without an axis of the raveled tensor.

    A.repeat(2, axis=0)

    ExpressionError: no such axis; ValueError: as many numbers as slices are needed, none negative.
    """
    t, axis = (self.ravel(), 0) if axis is None else (self, axis)
    (d,) = axes_of(axis, t.ndim)
    return t[_along(d, np.repeat(np.arange(t.shape[d]), repeats))]


@serves(np.tile)
def tile(A, reps):
    """np.tile."""
    t = asarray(A)
    reps = [operator.index(r) for r in np.atleast_1d(reps).tolist()]
    t = t.reshape((1,) * (len(reps) - t.ndim) + tuple(t.shape))
    reps = [1] * (t.ndim - len(reps)) + reps
    for d, r in enumerate(reps):
        if r != 1:
            t = t[_along(d, np.tile(np.arange(t.shape[d]), r))]
    return t


@serves(np.roll)
def roll(a, shift, axis=None):
    """np.roll."""
    t = asarray(a)
    if axis is None:
        return roll(t.ravel(), sum(np.atleast_1d(shift).tolist()), 0).reshape(t.shape)
    shifts = np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis))
    coords, values = stored(t)
    coords = list(coords)
    for s, x in zip(*(x.tolist() for x in shifts)):
        (d,) = axes_of(x, t.ndim)
        coords[d] = (coords[d] + s) % max(t.shape[d], 1)
    return tensor(coords, values, t.shape, format_like(t, t.ndim), t.fill, t.dtype)


@serves(np.flip)
def flip(m, axis=None):
    """np.flip."""
    t = asarray(m)
    axes = axes_of(axis, t.ndim)
    return t[tuple(slice(None, None, -1 if d in axes else 1) for d in range(t.ndim))]


@serves(np.fliplr)
def _fliplr(m):
    return flip(m, 1)


@serves(np.flipud)
def _flipud(m):
    return flip(m, 0)


@serves(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    """np.rot90."""
    t = asarray(m)
    a, b = axes_of(axes, t.ndim)
    k %= 4
    if k in (0, 2):
        return t if k == 0 else flip(t, (a, b))
    return flip(t, b).swapaxes(a, b) if k == 1 else flip(t.swapaxes(a, b), b)


@serves(np.delete)
def delete(arr, obj, axis=None):
    """np.delete."""
    t = asarray(arr)
    t, axis = (t.ravel(), 0) if axis is None else (t, axis)
    (d,) = axes_of(axis, t.ndim)
    return t[_along(d, np.delete(np.arange(t.shape[d]), obj))]


def pad(a, pad_width):
    """The tensor with its fill around it, as np.pad with constant_values=A.fill.

        pad(A, 1)
        pad(A, ((0, 2), (1, 1)))

    pad_width : a number, a pair, or a pair a dimension: coordinates in front and behind
    Format : the tensor's own where that holds any pattern. TensorError: a negative width, other numbers of them.
    """
    t = asarray(a)
    try:
        widths = np.broadcast_to(np.asarray(pad_width, dtype=object), (t.ndim, 2)).tolist()
    except ValueError:
        raise TensorError("pad takes two widths a dimension", expected=f"{t.ndim} pairs", got=str(pad_width)) from None
    return _core.pad(t, [before for before, _ in widths], [after for _, after in widths])


@serves(np.pad)
def _pad(array, pad_width, mode="constant", **options):
    t = asarray(array)
    value = options.pop("constant_values", 0)
    same = np.ndim(value) == 0 and (value == t.fill or (value != value and t.fill != t.fill))
    if mode != "constant" or options or not same:
        raise Unsupported(
            "a tensor is padded with its fill alone",
            expected=f"mode='constant', constant_values={t.fill}",
            got=f"mode={mode!r}, constant_values={value!r}",
            fix="np.concatenate([A, B], axis)",
        )
    return pad(t, pad_width)


@serves(np.moveaxis)
def moveaxis(a, source, destination):
    """np.moveaxis."""
    t = asarray(a)
    source, destination = axes_of(source, t.ndim), axes_of(destination, t.ndim)
    order = [d for d in range(t.ndim) if d not in source]
    for to, d in sorted(zip(destination, source)):
        order.insert(to, d)
    return t.transpose(*order)


@serves(np.rollaxis)
def _rollaxis(a, axis, start=0):
    return moveaxis(a, axis, start - (axis % a.ndim < start) if start >= 0 else start)


def unstack(t, axis=0):
    """np.unstack: the slices of an axis, as a tuple."""
    if t.ndim == 0:
        raise TensorError("unstack needs a dimension", expected="one or more", got="none")
    return tuple(moveaxis(t, axis, 0))


@serves(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """np.diff."""
    t, prepend, append = asarray(a), *(None if x is np._NoValue else x for x in (prepend, append))
    (d,) = axes_of(axis, t.ndim)
    if operator.index(n) < 0:
        raise TensorError("the order of a difference is negative", expected="0 or more", got=str(n))
    if n == 0:
        return t
    ends = []
    for x in (prepend, append):
        x = None if x is None else asarray(x)
        one = None if x is None else tuple(1 if k == d else e for k, e in enumerate(t.shape))
        ends.append(x if x is None or x.ndim else asarray(np.broadcast_to(x.to_dense(), one)))
    if any(x is not None for x in ends):
        t = concatenate([x for x in (ends[0], t, ends[1]) if x is not None], d)
    for _ in range(n):
        upper, lower = t[_along(d, slice(1, None))], t[_along(d, slice(None, -1))]
        t = asarray(upper != lower if t.dtype == np.bool_ else upper - lower)
    return t


@serves(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    """np.take_along_axis: an array."""
    t = asarray(arr)
    indices = indices.to_dense() if isinstance(indices, Tensor) else np.asarray(indices)
    if axis is None:
        t, axis = t.ravel(), 0
    (d,) = axes_of(axis, t.ndim)
    if indices.ndim != t.ndim:
        raise TensorError("indices have the tensor's rank", expected=str(t.ndim), got=str(indices.ndim))
    along = lambda n, k: np.arange(n).reshape([-1 if e == k else 1 for e in range(t.ndim)])
    coords = [_in_range(indices, n, k) if k == d else along(n, k) for k, n in enumerate(t.shape)]
    return gather(t, np.broadcast_arrays(*coords))


def at_least(t, rank):
    """A tensor with this many dimensions or more, as NumPy's."""
    t = asarray(t)
    if t.ndim >= rank:
        return t
    if rank == 3 and t.ndim:
        return expand_dims(t if t.ndim == 2 else t.reshape(1, -1), 2)
    return t.reshape((1,) * (rank - t.ndim) + tuple(t.shape))


def _of_rank(rank):
    def f(*arys):
        found = tuple(at_least(a, rank) for a in arys)
        return found[0] if len(found) == 1 else found

    return f


for _rank in (1, 2, 3):
    serves(getattr(np, f"atleast_{_rank}d"))(_of_rank(_rank))
del _rank


@serves(np.append)
def _append(arr, values, axis=None):
    if axis is None:
        arr, values, axis = asarray(arr).ravel(), asarray(values).ravel(), 0
    return concatenate([arr, values], axis)


@serves(np.column_stack)
def _column_stack(tup):
    return concatenate([asarray(t) if np.ndim(t) > 1 else asarray(t).reshape(-1, 1) for t in tup], 1)


@serves(np.dstack)
def _dstack(tup):
    return concatenate([at_least(t, 3) for t in tup], 2)


@serves(np.repeat)
def _repeat(a, repeats, axis=None):
    return asarray(a).repeat(repeats, axis)


@serves(np.take)
def _take(a, indices, axis=None, out=None, mode="raise"):
    if out is not None or mode != "raise":
        raise Unsupported("np.take with out= or mode=", expected="a tensor, indices and an axis")
    return asarray(a).take(indices, axis)
