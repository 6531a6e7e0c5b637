"""Stored elements by the slice that a reduction makes one of: what no sum, max or min of the core can do."""

import math

import numpy as np

from ._stored import axes_of, for_numpy, linear, size_of, stored


class Groups:
    """The stored elements of a tensor in groups, one for each element of the result that has any.

    values, positions : of the elements, group by group; positions are linear indices over the reduced axes, ascending
    ids : the groups' linear indices in the result; starts, counts : where they begin, how many elements they have
    size : elements of each slice, absent ones included
    """

    def __init__(self, t, axis):
        axes = axes_of(axis, t.ndim)
        kept = [d for d in range(t.ndim) if d not in axes]
        self.shape = tuple(t.shape[d] for d in kept)
        self.kept_shape = tuple(1 if d in axes else n for d, n in enumerate(t.shape))
        self.size = math.prod(t.shape[d] for d in axes)
        self.results = size_of(self.shape)
        self.fill = np.asarray(for_numpy(t).fill, for_numpy(t).dtype)[()]
        coords, values = stored(t.transpose(*kept, *axes) if t.ndim else t)  # row-major: group after group
        of = lambda first, dims: np.broadcast_to(
            linear(coords[first : first + len(dims)], [t.shape[d] for d in dims]), values.shape
        )
        group, positions = of(0, kept), of(len(kept), axes)
        self.values, self.positions = values, positions
        self.starts = np.flatnonzero(np.diff(group, prepend=-1))
        self.counts = np.diff(self.starts, append=len(group))
        self.ids = group[self.starts]

    def reduce(self, ufunc, dtype=None):
        """ufunc over the elements of each group."""
        values = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return ufunc.reduceat(values, self.starts, dtype=dtype) if len(self.starts) else values[:0]

    def each(self, x):
        """One number a group for each of its elements."""
        return np.repeat(x, self.counts)

    def result(self, values, otherwise, keepdims):
        """An array of the result's shape: `otherwise` where a slice stores nothing; a number of no dimensions."""
        out = np.full(self.results, otherwise, values.dtype)
        out[self.ids] = values
        out = out.reshape(self.kept_shape if keepdims else self.shape)
        return out if out.ndim else out[()]


def largest_of(group, values, k, largest=True):
    """Places of the k largest (or smallest) values of each group (a number an element), ascending; of equal ones the first
    stays, and NaN is larger than all."""
    if len(values) and k and np.all(group[1:] >= group[:-1]) and not np.any(values != values):
        return _by_the_last(group, values, k, largest)
    rank = (
        np.argsort(values, kind="stable")
        if not largest
        else len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    )
    order = rank[np.argsort(group[rank], kind="stable")]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(order[within < k])


def _by_the_last(group, values, k, largest):
    """Of groups that lie one behind the other: all that are better than the last one that stays, and the first of its equals.

    Some 30 ns an element, where sorting takes 10 times as long.
    """
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    counts = np.diff(starts, append=len(values))
    full = np.flatnonzero(counts > k)
    if not len(full):
        return np.arange(len(values))
    last = _last_of(values, starts[full], counts[full], k, largest)
    chosen = np.ones(len(values), bool)
    inside = np.repeat(counts > k, counts)
    last = np.repeat(last, counts[full])
    crowd = values[inside]
    better, equal = (crowd > last) if largest else (crowd < last), crowd == last
    begins = np.concatenate([[0], np.cumsum(counts[full])[:-1]])
    room = k - np.add.reduceat(better, begins, dtype=np.int64)
    before = np.cumsum(equal) - equal
    chosen[inside] = better | (
        equal & (before - np.repeat(before[begins], counts[full]) < np.repeat(room, counts[full]))
    )
    return np.flatnonzero(chosen)


def _last_of(values, starts, counts, k, largest):
    """The k-th best value of each group, all of which have more: groups of about one length are selected from together."""
    out = np.empty(len(starts), values.dtype)
    kind = values.dtype.kind
    limits = (False, True) if kind == "b" else (-np.inf, np.inf) if kind == "f" else None
    worst = (limits or (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max))[0 if largest else 1]
    widths = np.ceil(np.log2(counts)).astype(int)
    for width in np.unique(widths):
        some = np.flatnonzero(widths == width)
        along = np.arange(1 << width)
        place = np.minimum(starts[some][:, None] + along, len(values) - 1)
        block = np.where(along < counts[some][:, None], values[place], np.asarray(worst, values.dtype))
        at = len(along) - k if largest else k - 1
        out[some] = np.partition(block, at, axis=1)[:, at]
    return out
