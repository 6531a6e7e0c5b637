"""Keys of NumPy's that are composed of others: masks, lists that are paired, np.ix_, None. The core calls select()."""

import numpy as np

from ._core import Tensor
from ._stored import for_numpy, linear, stored, tensor
from .errors import IndexError, Unsupported


def gather(t, coords):
    """The elements at these coordinates (int64 arrays of one shape, in range), as an array; the fill where absent."""
    shape = np.shape(coords[0])
    found, values = stored(t)
    keys, wanted = linear(found, t.shape), linear([np.ravel(c) for c in coords], t.shape)
    out = np.full(wanted.shape, for_numpy(t).fill, values.dtype)
    if len(keys):
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hit = keys[place] == wanted
        out[hit] = values[place[hit]]
    return out.reshape(shape)


def select(t, key):
    """t[key] for a key that has None, a tensor, an index of several dimensions, or two lists. IndexError, Unsupported."""
    items = list(key) if isinstance(key, tuple) else [key]
    if any(item is None for item in items):
        return _with_new_axes(t, items)
    items = [_list_of(t, item) for item in items]
    if len(items) == 1 and isinstance(items[0], tuple):
        return gather(t, items[0])  # a mask of the tensor's own shape
    if all(isinstance(item, (int, np.integer, slice)) or item is Ellipsis for item in items):
        return t[tuple(items)]  # a tensor that was one of them is an integer now
    return _with_lists(t, _spread(t, items))


def _list_of(t, item):
    """A mask as the coordinates of its true elements; lists as arrays."""
    if isinstance(item, Tensor) and item.format.is_all_dense and getattr(item.dtype, "kind", "f") in "iu":
        return item.to_dense() if item.ndim else int(item)
    if isinstance(item, Tensor):
        if item.dtype != np.bool_:
            raise Unsupported(
                "a tensor as an index holds truth values",
                expected="dtype bool, as A > 0 has, or a dense tensor of integers",
                got=str(item.dtype),
            )
        if item.fill:
            raise Unsupported(
                "this mask means nearly all elements",
                expected="a mask of fill False",
                got="fill True, as A < 1 has",
                fix="t.to_dense()[mask.to_dense()]",
            )
        if item.ndim < 2:
            return item.to_dense() if item.ndim != t.ndim else _mask(t, item.shape, item.nonzero())
        return _mask(t, item.shape, item.nonzero())
    if isinstance(item, (int, np.integer, slice)) or item is Ellipsis:
        return item
    item = np.asarray(item)
    if item.dtype == np.bool_ and item.ndim > 1:
        return _mask(t, item.shape, np.nonzero(item))
    return item.astype(np.int64) if item.size == 0 else item


def _mask(t, shape, coords):
    if shape != t.shape:
        raise IndexError("a mask does not fit the tensor", expected=f"shape {t.shape}", got=f"shape {shape}")
    return coords


def _spread(t, items):
    """One item a dimension: '...' and what is not named are whole."""
    if any(isinstance(item, tuple) for item in items):
        raise Unsupported(
            "a mask of the tensor's shape stands alone",
            expected="t[mask]",
            got=f"a mask beside {len(items) - 1} indices",
        )
    named = sum(item is not Ellipsis for item in items)
    if named > t.ndim or len(items) - named > 1:
        raise IndexError("there are more indices than dimensions", expected=str(t.ndim), got=str(named))
    whole = [slice(None)] * (t.ndim - named)
    at = next((k for k, item in enumerate(items) if item is Ellipsis), len(items))
    return items[:at] + whole + items[at + 1 :]


def _with_new_axes(t, items):
    rest = [item for item in items if item is not None]
    named = sum(item is not Ellipsis for item in rest)
    if not any(item is Ellipsis for item in rest):
        items = items + [Ellipsis]
    lists = sum(not isinstance(i, (int, np.integer, slice)) and i is not Ellipsis and i is not None for i in items)
    if lists > 1 or named > t.ndim:
        raise Unsupported(
            "None beside lists of coordinates",
            expected="None with integers, slices and one list",
            got=f"{lists} lists",
            fix="index first, then add dimensions: t[rows, columns][:, None]",
        )
    found = t[tuple(rest)] if rest else t
    if not isinstance(found, (Tensor, np.ndarray)):
        found = tensor((), np.asarray(found).reshape(1), ())
    shape, extents = [], iter(found.shape)
    for item in items:
        if item is None:
            shape.append(1)
        elif item is Ellipsis:
            shape += [next(extents) for _ in range(t.ndim - named)]
        elif not isinstance(item, (int, np.integer)):
            shape.append(next(extents))
    return found.reshape(tuple(shape))


def _with_lists(t, items):
    lists = {d: item for d, item in enumerate(items) if isinstance(item, np.ndarray) and item.ndim > 0}
    for d, item in list(lists.items()):
        if item.dtype == np.bool_:
            if len(item) != t.shape[d]:
                raise IndexError(
                    f"a list of truth values does not fit dimension {d}", expected=str(t.shape[d]), got=str(len(item))
                )
            lists[d] = np.flatnonzero(item)
    if len(lists) == 1:
        ((d, wanted),) = lists.items()
        before = sum(isinstance(item, slice) for item in items[:d])
        found = t[tuple(wanted.ravel() if k == d else item for k, item in enumerate(items))]
        return found.reshape(found.shape[:before] + wanted.shape + found.shape[before + 1 :])
    outer = _outer(list(lists.values()))
    if outer and all(isinstance(item, slice) or d in lists for d, item in enumerate(items)):
        found = t[tuple(slice(None) if d in lists else item for d, item in enumerate(items))]
        for d, wanted in zip(lists, outer):
            found = found[(slice(None),) * d + (wanted,)]
        return found
    if any(isinstance(item, slice) for item in items):
        raise Unsupported(
            "lists that are paired, beside a slice",
            expected="a list or an integer for each dimension, or np.ix_ for rows and columns",
            got=f"{len(lists)} lists for {t.ndim} dimensions",
            fix="take one list after the other: t[rows][:, columns]",
        )
    coords = [_in_range(np.asarray(lists.get(d, item)), n, d) for (d, item), n in zip(enumerate(items), t.shape)]
    try:
        return gather(t, np.broadcast_arrays(*coords))
    except ValueError:
        raise IndexError(
            "the lists cannot be paired",
            expected="one length",
            got=" and ".join(str(c.shape) for c in coords),
            fix="np.ix_(rows, columns) means all pairs",
        ) from None


def _outer(lists):
    """The lists of np.ix_: list k runs along dimension k alone."""
    rank = len(lists)
    if all(x.ndim == rank and x.size == x.shape[k] for k, x in enumerate(lists)) and rank > 1:
        return [x.ravel() for x in lists]
    return None


def _in_range(c, extent, d):
    if c.dtype.kind not in "iu":
        raise IndexError("a coordinate is not an integer", expected="integers", got=str(c.dtype))
    c = c.astype(np.int64)
    if c.size and (c.min() < -extent or c.max() >= extent):
        raise IndexError(f"a coordinate of dimension {d} is out of range", expected=f"{-extent} to {extent - 1}")
    return np.where(c < 0, c + extent, c)
