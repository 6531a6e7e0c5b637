"""Elements by a condition: st.where, allclose, topk."""

import operator

import numpy as np

from ._core import Tensor
from ._create import asarray
from ._groups import largest_of
from ._members import method
from ._merge import as_array, at, broadcast_shape, elementwise, fill_of, is_sparse, operand, union
from ._stored import axes_of, for_numpy, format_like, linear, stored, tensor, unravel
from .errors import TensorError


def where(condition, x=None, y=None):
    """x where the condition is true, y elsewhere, as np.where; of the condition alone, where it is true.

        where(A > 1, A, 0)
        rows, columns = where(A > 1)

    Broadcasts. The result stores what its operands store and has where(fills) as its fill. A dense x (or y) beside a
    condition that is False (or True) where absent is read at its places only; otherwise a dense operand makes it dense.
    TensorError: shapes that do not go together.
    """
    if x is None and y is None:
        c = operand(condition)
        return c.nonzero() if isinstance(c, Tensor) else np.nonzero(c)
    c, x, y = operand(condition), operand(x), operand(y)
    is_dense = lambda v: not is_sparse(v) and (isinstance(v, Tensor) or np.ndim(v) > 0)
    if not any(map(is_dense, (c, x, y))):
        return elementwise(np.where, c, x, y)
    if not is_sparse(c) or is_dense(x if c.fill else y):
        return np.where(*map(as_array, (c, x, y)))
    # The dense one of x and y counts only where the condition stores something.
    shape = broadcast_shape(c, x, y)
    rest = x if c.fill else y
    key = union([c] + [rest] * is_sparse(rest), shape)
    values = np.where(*(at(v, key, shape) for v in (c, x, y)))
    fill = np.asarray(fill_of(rest), values.dtype)
    return tensor(unravel(key, shape), values, shape, format_like(c, len(shape)), fill, ordered=True)


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Is |a - b| <= atol + rtol * |b| everywhere, absent elements included? Any formats; broadcasts, as np.allclose.

        allclose(A, A + 1e-12)

    TensorError: shapes that do not go together.
    """
    close = elementwise(lambda x, y: np.isclose(x, y, rtol, atol, equal_nan), a, b)
    if not isinstance(close, Tensor):
        return bool(np.all(close))
    values = stored(close)[1]
    return bool(values.all()) and (bool(close.fill) or len(values) == close.size)


def topk(a, k, axis=-1, *, largest=True):
    """a.topk(k, axis, largest=largest), also of an array: the k largest stored elements along an axis, at their places.

        topk(A, 2, axis=0)

    TensorError: k is negative.
    """
    return asarray(a).topk(k, axis, largest=largest)


def _topk(self, k, axis=-1, *, largest=True):
    """The k largest (or smallest) stored elements along an axis, at their places: a tensor that stores these alone.

    axis : one, or None for the k largest of all. Of equal ones the first stays; NaN is larger than all.
    The format is the tensor's own where it holds any pattern, otherwise CSR or COO; the fill stays.

        A.topk(1)

    Absent elements are not looked at, as in sparse_dot_topn and scikit-learn. TensorError: k is negative.
    """
    if operator.index(k) < 0:
        raise TensorError("k is a number of elements", expected="0 or more", got=str(k))
    if getattr(for_numpy(self).dtype, "kind", "f") == "c":
        raise TensorError("complex numbers have no order", expected="a real tensor", got=str(self.dtype))
    axes = axes_of(axis, self.ndim)
    coords, values = stored(self)
    kept = [d for d in range(self.ndim) if d not in axes]
    group = np.broadcast_to(linear([coords[d] for d in kept], [self.shape[d] for d in kept]), values.shape)
    chosen = largest_of(group, values, k, largest)
    found = [c[chosen] for c in coords]
    return tensor(found, values[chosen], self.shape, format_like(self, self.ndim), self.fill, self.dtype, ordered=True)


_topk.__name__ = "topk"
method(_topk)
