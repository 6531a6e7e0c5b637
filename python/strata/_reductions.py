"""Reductions that the core has no word for: var, std, prod, argmin, argmax, and those over stored elements alone."""

import math

import numpy as np

from . import _core
from ._core import Tensor
from ._groups import Groups
from ._members import method
from ._stored import axes_of, for_numpy, map_values, size_of, stored, tensor
from .errors import DTypeError, TensorError

_STORED = {"min": np.minimum, "max": np.maximum, "sum": np.add}


def _given(found, out, dtype=None):
    found = found if dtype is None else np.asarray(found, dtype)[()]
    if out is None:
        return found
    np.copyto(out, found, casting="same_kind")
    return out


def _with_stored(name):
    whole = getattr(Tensor, name)

    def f(self, axis=None, keepdims=False, *, dtype=None, out=None, stored=False):
        if not stored:
            return whole(self, axis, keepdims, dtype=dtype, out=out)
        t = self if dtype is None else self.to(dtype=dtype)
        groups = Groups(t, axis)
        kind = groups.values.dtype.kind
        if name == "mean":
            total = groups.reduce(np.add, np.complex128 if kind == "c" else np.float64)
            found = (total / np.maximum(groups.counts, 1)).astype(groups.values.dtype if kind in "fc" else np.float64)
        else:
            wide = np.sum(groups.values[:0]).dtype if name == "sum" else None
            found = groups.reduce(_STORED[name], wide)
        return _given(groups.result(found, groups.fill, keepdims), out)

    f.__name__ = name
    f.__doc__ = f"""{whole.__doc__.partition(": a dense")[0]}: a dense array, as NumPy's of to_dense().

    axis : one or several, all of them for None; keepdims : they stay, of extent 1
    dtype : in which it is computed; out : an array to write into, returned
    stored : of the stored elements alone, without fill-in; the fill where there are none

        A.{name}(axis=1)
        A.{name}((0, 1), keepdims=True)
        A.{name}(axis=0, stored=True)

    ExpressionError: no such axis.
    """
    method(f)


for _name in ("sum", "mean", "min", "max"):
    _with_stored(_name)


def _variance(self, axis, keepdims, ddof):
    """In float64 about the mean of each slice, so that no digits go."""
    t = for_numpy(self)
    t = t.to(dtype="complex128" if t.dtype.kind == "c" else "float64")
    axes = axes_of(axis, t.ndim)
    if t.format.is_all_dense:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.var(t.to_dense(), axis=tuple(axes), ddof=min(ddof, size_of(t.shape)), keepdims=keepdims)
    fill, size = t.dtype.type(t.fill), math.prod(t.shape[d] for d in axes)
    if fill != 0 or t.format.num_parts > 1 or not t.format.is_unique:
        coords, values = stored(t)
        t = tensor(coords, values, t.shape, ordered=True)
    ones = t.with_values(np.ones(len(t.values)))
    counts = np.asarray(ones.sum(tuple(axes)))
    absent = size - counts
    mean = (t.sum(tuple(axes)) + np.where(absent > 0, absent * fill, 0)) / max(size, 1)
    index = [f"i{d}" for d in range(t.ndim)]
    kept = [i for d, i in enumerate(index) if d not in axes]
    left, m = (f"{name}({','.join(kept)})" if kept else name for name in "SM")
    gap = f"abs(A({','.join(index)}) - {m})"
    squares = f"P({','.join(index)}) * {gap} * {gap}"
    for d in axes:
        squares = f"sum({index[d]}, {squares})"
    operands = {"A": t, "P": ones, "M": mean}
    found = _core.evaluate(f"{left} = {squares}", operands, format="dense" if kept else None)
    found = found + np.where(absent > 0, absent * np.abs(fill - mean) ** 2, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(counts > 0, found, np.abs(fill - fill)) / np.float64(max(size - ddof, 0))
    return found.reshape([1 if d in axes else n for d, n in enumerate(self.shape)] if keepdims else found.shape)[()]


def _of_dtype(self, dtype):
    """NumPy's: real, float64 of integers."""
    own = for_numpy(self).dtype
    dtype = np.dtype(dtype) if dtype is not None else own if own.kind in "fc" else np.dtype(np.float64)
    return np.zeros(0, dtype).real.dtype


@method
def var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """The variance over all axes, one, or several, absent elements included: a dense array, as np.var of to_dense().

    ddof : what is taken off the number of elements; dtype : of the result (float64 of integers unless told)
    keepdims : the axes stay, of extent 1; out : an array to write into, returned

        A.var(axis=0)

    ExpressionError: no such axis.
    """
    return _given(_variance(self, axis, keepdims, ddof), out, _of_dtype(self, dtype))


@method
def std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    """The standard deviation, the root of var(), with the same arguments.

        A.std(axis=0, ddof=1)

    ExpressionError: no such axis.
    """
    return _given(np.sqrt(_variance(self, axis, keepdims, ddof)), out, _of_dtype(self, dtype))


@method
def prod(self, axis=None, dtype=None, out=None, keepdims=False):
    """The product over all axes, one, or several, absent elements included: a dense array, as np.prod of to_dense().

    dtype : in which it is computed (NumPy's unless told); keepdims : the axes stay; out : an array to write into

        A.prod(axis=1)

    ExpressionError: no such axis.
    """
    groups = Groups(self if dtype is None else self.to(dtype=dtype), axis)
    wide = np.prod(groups.values[:0]).dtype if dtype is None else groups.values.dtype
    fill = groups.fill.astype(wide)
    with np.errstate(over="ignore", invalid="ignore"):
        found = groups.reduce(np.multiply, wide) * _power(fill, groups.size - groups.counts)
        empty = _power(fill, np.asarray([groups.size]))[0]
    return _given(groups.result(found.astype(wide), empty, keepdims), out)


def _power(fill, counts):
    return np.power(fill, counts.astype(fill.dtype))


def _argument(name, ufunc):
    def f(self, axis=None, out=None, *, keepdims=False):
        t = for_numpy(self)
        if t.dtype.kind == "c":
            raise DTypeError("complex numbers have no order here", expected="a real tensor", got=str(t.dtype))
        groups = Groups(t, axis)
        if groups.size == 0 and groups.results:
            raise TensorError(f"{name} of nothing", expected="at least one element", got=f"shape {t.shape}")
        best = groups.reduce(ufunc)
        same = (groups.values == groups.each(best)) | (groups.values != groups.values)
        first = _first(groups, same, groups.positions)
        # An absent element wins where it is better, or as good and stands before.
        within = np.arange(len(groups.values)) - groups.each(groups.starts)
        absent = _first(groups, groups.positions != within, within)
        absent = np.where(absent == _NONE, groups.counts, absent)
        fill = groups.fill
        better = ufunc(best, fill) != best if fill == fill else np.full(len(best), True)
        better &= best == best
        tie = (best == fill) | ((best != best) & (fill != fill))
        better = (better | (tie & (absent < first))) & (absent < groups.size)
        found = groups.result(np.where(better, absent, first).astype(np.int64), 0, keepdims)
        return _given(found, out)

    word = "largest" if name == "argmax" else "least"
    f.__name__ = name
    f.__doc__ = f"""Where the first {word} element stands, absent ones included, as np.{name} of to_dense(): an int64 array.

    axis : one, several (then row-major positions over these axes), or None for the flat tensor
    keepdims : the axes stay, of extent 1; out : an array to write into. NaN counts as the {word}.

        A.{name}(axis=1)

    TensorError: nothing to choose from; DTypeError: complex numbers; ExpressionError: no such axis.
    """
    method(f)


_NONE = np.iinfo(np.int64).max


def _first(groups, chosen, positions):
    """The first of these positions in each group where `chosen`; _NONE where there is none."""
    if not len(groups.starts):
        return np.empty(0, np.int64)
    return np.minimum.reduceat(np.where(chosen, positions, _NONE), groups.starts)


_argument("argmax", np.maximum)
_argument("argmin", np.minimum)


@method
def clip(self, min=None, max=None):
    """Each element within min and max (numbers, arrays, tensors, or None), the fill too, as np.clip.

        A.clip(0, 1)

    A number keeps the pattern. TensorError: shapes that do not go together.
    """
    if np.ndim(min) == np.ndim(max) == 0 and (min is not None or max is not None):
        return map_values(lambda v: np.clip(v, min, max), self)
    found = self if min is None else np.maximum(self, min)
    return found if max is None else np.minimum(found, max)


@method
def round(self, decimals=0):
    """Each element rounded to that many decimals, halves to even, the fill too, as np.round; the pattern stays.

    A.round(2)
    """
    return map_values(lambda v: np.round(v, decimals), self)


del _name
