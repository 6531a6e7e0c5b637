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
    rank = (
        np.argsort(values, kind="stable")
        if not largest
        else len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    )
    order = rank[np.argsort(group[rank], kind="stable")]
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(order[within < k])
