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
    order = None if (group[1:] >= group[:-1]).all() else np.argsort(group, kind="stable")
    if order is not None:
        group, values = group[order], values[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    found = largest_of_rows(np.append(starts, len(values)), values, k, largest)
    return found if order is None else np.sort(order[found])


def largest_of_rows(pos, values, k, largest=True):
    """The same of rows that lie one behind the other: row r has the values pos[r] to pos[r + 1]."""
    if k == 0:
        return np.empty(0, np.int64)
    lanes = 1 << (4 * k).bit_length()
    if np.diff(pos).max(initial=0) < 8 * lanes:
        return _marked(pos, values, k, largest, lambda key, there: _foremost(key, there, k))
    # The largest of every so manieth element: the k-th of these is a bound, and few of all are above it.
    bound = lambda key: _kth(key.reshape(len(key), -1, lanes).max(axis=1), k)
    found = _marked(pos, values, 8 * lanes, largest, lambda key, there: (key >= bound(key)) & there)
    rest = _marked(np.searchsorted(found, pos), values[found], k, largest, lambda key, there: _foremost(key, there, k))
    return found[rest]


def _foremost(key, there, k):
    least = _kth(key, k)
    above = key > least
    level = (key == least) & there
    return above | level & (np.cumsum(level, axis=1) <= k - np.count_nonzero(above, axis=1)[:, None])


def _kth(key, k):
    return np.partition(key, -k, axis=1)[:, -k, None]


def _marked(pos, values, k, largest, mark):
    """The places that mark(key, there) is true for in rows of more than k elements, and all places of other rows.

    Rows of about one length are the rows of a matrix of integers in the order of the values, of which those `there` count.
    """
    counts = np.diff(pos)
    chosen = np.repeat(counts <= k, counts)
    widths = np.where(counts > k, 1 << np.frexp(counts - 1)[1].astype(np.int64), 0)
    for width in np.unique(widths[widths > 0]):
        rows = np.flatnonzero(widths == width)
        for some in np.array_split(rows, min(len(rows), -(-len(rows) * width // _TOGETHER))):
            column = np.arange(width)
            there = column < counts[some, None]
            place = np.minimum(pos[some, None] + column, len(values) - 1)
            key = _ascending(values[place])
            key = key if largest else ~key
            key[~there] = np.iinfo(key.dtype).min
            chosen[place[mark(key, there)]] = True
    return np.flatnonzero(chosen)


#: elements that lie in a cache, with all that is made of them
_TOGETHER = 1 << 16


def _ascending(values):
    """Integers of the same order as these numbers. Zeros of both signs are the same, and NaN is the largest."""
    if values.dtype.kind != "f":
        return values.view(np.uint8) if values.dtype == bool else values
    bits = (values + 0).view(f"i{values.dtype.itemsize}")
    most = np.iinfo(bits.dtype).max
    return np.where(values == values, bits ^ (bits >> (8 * bits.itemsize - 1) & most), most)
