"""Reductions that leave NaN out (A.nanmin, A.nanmax, np.nansum(A) and their kin), and which values occur at all."""

import numpy as np

from ._core import Tensor
from ._create import asarray
from ._members import method
from ._operators import put
from ._served import serves
from ._stored import for_numpy, map_values, stored
from .errors import TensorError, Unsupported


def _without(t, value):
    """The tensor with `value` instead of NaN."""
    if for_numpy(t).dtype.kind not in "fc":
        return t
    return asarray(map_values(lambda v: np.where(v != v, np.asarray(value, v.dtype), v), t))


def _of_dtype(found, t):
    """A result of the dtypes that NumPy lacks, computed in float32, in the tensor's: of torch, as other reductions."""
    return found if isinstance(t.dtype, np.dtype) else asarray(np.asarray(found)).to(dtype=t.dtype).to_dense()


def _only_nan(t, axis, keepdims):
    return asarray(t != t).all(axis, keepdims)


@serves(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    """np.nansum."""
    return _without(asarray(a), 0).sum(axis, bool(keepdims), dtype=dtype, out=out)


@serves(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    """np.nanprod."""
    return _without(asarray(a), 1).prod(axis, dtype, out, bool(keepdims))


@serves(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    """np.nanmean; NaN of slices of NaN alone."""
    t = asarray(a)
    if for_numpy(t).dtype.kind not in "fc":
        return t.mean(axis, bool(keepdims), dtype=dtype, out=out)
    if dtype is None and not isinstance(t.dtype, np.dtype):
        return _of_dtype(nanmean(for_numpy(t), axis, None, out, keepdims), t)
    count = asarray(t == t).sum(axis, bool(keepdims))
    total = _without(t, 0).sum(axis, bool(keepdims), dtype=dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (total / count).astype(total.dtype)
    return found if out is None else put(out, found)


def _extreme(name, worst):
    def f(self, axis=None, out=None, *, keepdims=False):
        given = asarray(self)
        t = for_numpy(given)
        found = getattr(_without(t, worst), name)(axis, keepdims)
        if t.dtype.kind == "f":
            found = np.where(_only_nan(t, axis, keepdims), np.asarray(np.nan, found.dtype), found)[()]
        return _of_dtype(found, given) if out is None else put(out, found)

    word = "largest" if name == "max" else "least"
    f.__name__ = f"nan{name}"
    f.__doc__ = f"""The {word} element over all axes, one, or several, absent ones included and NaN left out: a dense array.

    NaN where a slice has nothing else. keepdims : the axes stay, of extent 1; out : an array to write into, returned

        A.nan{name}(axis=1)

    ExpressionError: no such axis.
    """
    method(f)
    return f


def _of(f):
    return lambda a, axis=None, out=None, keepdims=False: f(a, axis, out, keepdims=bool(keepdims))


serves(np.nanmax)(_of(_extreme("max", -np.inf)))
serves(np.nanmin)(_of(_extreme("min", np.inf)))


def _argument(name, worst):
    def f(a, axis=None, out=None, *, keepdims=False):
        t = asarray(a)
        if for_numpy(t).dtype.kind == "f" and np.any(_only_nan(t, axis, False)):
            raise TensorError(f"nan{name} of NaN alone", expected="a number in each slice", got=f"axis {axis}")
        return getattr(_without(t, worst), name)(axis, out, keepdims=keepdims)

    return f


serves(np.nanargmax)(_argument("argmax", -np.inf))
serves(np.nanargmin)(_argument("argmin", np.inf))


def unique(t, counts=False, equal_nan=True):
    """np.unique: the values that occur, absent ones included, ascending; with counts=True how often, too."""
    t = asarray(t)
    found = stored(t)[1]
    absent = int(t.size) - len(found)
    fill = np.asarray(for_numpy(t).fill, found.dtype)
    rest = fill.reshape(1) if absent else found[:0]
    if absent > 1 and fill != fill and not equal_nan:
        rest = np.repeat(rest, absent)
    values, where, many = np.unique(
        np.concatenate([found, rest]), return_inverse=True, return_counts=True, equal_nan=equal_nan
    )
    if absent and len(rest) == 1:
        many[np.ravel(where)[-1]] += absent - 1
    return (values, many) if counts else values


@serves(np.unique)
def _unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):
    if return_index or return_inverse or axis is not None:
        raise Unsupported(
            "np.unique of a tensor with places or an axis",
            expected="return_counts= alone",
            fix="np.unique(A.to_dense())",
        )
    return unique(ar, return_counts, equal_nan)


@serves(np.isin)
def _isin(element, test_elements, *args, **options):
    among = unique(test_elements) if isinstance(test_elements, Tensor) else test_elements
    return map_values(lambda v: np.isin(v, among, *args, **options), asarray(element))
