"""Stored elements as arrays, and tensors of such arrays: what the names of SciPy and NumPy are composed of.

Everything here works on whole arrays: a conversion to coordinates in the core, NumPy on what it gives, a conversion back.
"""

import math

import numpy as np

from . import _core
from ._core import Format, Tensor
from .errors import ExpressionError, TensorError


def axes_of(axis, rank):
    """Axes as a list of distinct dimensions; all of them for None. ExpressionError."""
    if axis is None:
        return list(range(rank))
    given = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    for a in given:
        if not -rank <= a < rank:
            raise ExpressionError("there is no such axis", expected=f"{-rank} to {rank - 1}", got=str(a))
    axes = [int(a) % rank for a in given]
    if len(set(axes)) < len(axes):
        raise ExpressionError("an axis is named twice", expected="each once", got=str(axis))
    return axes


def for_numpy(t):
    """The tensor in a dtype that NumPy has: bfloat16 and float8 as float32, which holds each of their values."""
    return t if isinstance(t.dtype, np.dtype) else t.to(dtype="float32")


def coordinates(rank):
    """The format of coordinates in row-major order."""
    return Format("COO", rank) if rank else Format("() -> ()")


def stored(t):
    """(coordinates, values) of the stored elements in row-major order, each once: an int64 array a dimension, and one of
    values. Slots that a format fills in by itself are left out."""
    t = for_numpy(t)
    if t.ndim == 0:
        return (), np.asarray(t[()], t.dtype).reshape(1)
    t = t.to(coordinates(t.ndim))
    count = int(t.pos(0)[-1])
    return tuple(t.crd(d)[:count].astype(np.int64, copy=False) for d in range(t.ndim)), t.values[:count]


def tensor(coords, values, shape, format=None, fill=0, dtype=None, ordered=False):
    """A tensor of these elements, in any order; duplicates are added (of fill 0 only). `format`: COO unless told.
    `ordered`: they are in row-major order and each there once."""
    shape, rank = tuple(int(n) for n in shape), len(shape)
    values = np.asarray(values)
    fill = np.asarray(fill, values.dtype)
    if rank == 0:
        found = Tensor("() -> ()", (), values=values[:1].copy() if len(values) else fill.reshape(1))
    else:
        found = (
            _listed(coords, values, shape, fill)
            if ordered
            else _core.from_coo(coords, values, shape, coordinates(rank))
        )
        if fill != 0 and not ordered:
            found = _listed([found.crd(k) for k in range(rank)], found.values, shape, fill)
    found = found if dtype is None or dtype == found.dtype else found.to(dtype=dtype)
    return found if format is None or rank == 0 else found.to(format=format)


def _listed(coords, values, shape, fill):
    """COO over these arrays, whose indices are int32 where they fit."""
    small = max((len(values), *shape)) <= np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    crd = {d: np.ascontiguousarray(c, dtype=index) for d, c in enumerate(coords)}
    pos = {0: np.array([0, len(values)], index)}
    values = np.ascontiguousarray(values)
    return Tensor(coordinates(len(shape)), shape, pos=pos, crd=crd, values=values, fill=fill[()], check=False)


def with_fill(t, fill):
    """The same arrays in coordinates with another fill: what is stored stays stored."""
    if t.ndim == 0:
        return t
    pos, crd = {0: t._raw(0, "pos")}, {d: t._raw(d, "crd") for d in range(t.ndim)}
    return Tensor(t.format, t.shape, pos=pos, crd=crd, values=t._raw(0, "values"), fill=fill, check=False)


def holds_any_pattern(format):
    """Can a format hold whatever elements come, sorted and each once?"""
    return (
        format.num_parts == 1
        and format.is_unique
        and format.is_ordered
        and all(level.kind not in ("structured", "padded", "batch") for level in format.levels)
    )


def format_like(t, rank):
    """The format of something made of `t`: its own where that holds any pattern of this rank, otherwise CSR or COO."""
    if t.format.is_all_dense:
        return Format("dense", rank)
    if rank == t.ndim and holds_any_pattern(t.format):
        return t.format
    return Format("CSR") if rank == 2 else coordinates(rank)


def size_of(shape):
    """Number of elements, which a linear index must be able to count. TensorError."""
    size = math.prod(int(n) for n in shape)
    if size >= 2**63:
        raise TensorError(
            "this shape has more elements than a linear index counts", expected="fewer than 2**63", got=str(shape)
        )
    return size


def linear(coords, shape):
    """Row-major linear indices; zeros for no dimensions (then a scalar 0)."""
    size_of(shape)
    key = np.int64(0)
    for c, n in zip(coords, shape):
        key = key * np.int64(n) + c
    return key


def unravel(key, shape):
    """The coordinates of row-major linear indices."""
    out = []
    for n in reversed(shape):
        key, c = np.divmod(key, max(int(n), 1))
        out.append(c)
    return tuple(reversed(out))


def map_values(f, t):
    """f of each element by f of the stored ones and of the fill: the same pattern. Of an all-dense tensor an array."""
    if t.format.is_all_dense and t.ndim:
        return f(for_numpy(t).to_dense())
    if t.ndim == 0:
        return f(for_numpy(t)[()])
    if t.format.num_parts > 1 or not t.format.is_unique:
        t = t.to("CSR" if t.ndim == 2 else coordinates(t.ndim))  # what is stored twice is added before f sees it
    narrow = None if isinstance(t.dtype, np.dtype) else t.dtype
    t = for_numpy(t)
    with np.errstate(all="ignore"):  # slots outside the tensor may hold anything
        values, fill = f(t.values), f(np.asarray(t.fill, t.dtype)[()])
    if isinstance(values, tuple):
        return tuple(_with_values(t, v, x, narrow) for v, x in zip(values, fill))
    return _with_values(t, values, fill, narrow)


def _with_values(t, values, fill, narrow):
    levels = list(enumerate(t.format.levels))
    pos = {k: t._raw(k, "pos") for k, v in levels if v.has_pos}
    crd = {k: t._raw(k, "crd") for k, v in levels if v.has_crd}
    fill = np.asarray(fill, values.dtype).reshape(1)
    fill = fill + 0 if fill.dtype.kind in "fc" and fill[0] == 0 else fill  # absent elements have no sign
    memory = _core.memory(np.ascontiguousarray(values)), _core.memory(fill)
    found = _core.rebuild(str(t.format), t.shape, pos, crd, *memory)
    return found.to(dtype=narrow) if narrow is not None and found.dtype == np.float32 else found
