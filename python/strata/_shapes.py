"""Other shapes and diagonals of tensors, as NumPy's and SciPy's arrays have them."""

import operator

import numpy as np

from . import _core
from ._core import Format, Tensor
from ._members import method
from ._stored import axes_of, coordinates, for_numpy, format_like, linear, size_of, stored, tensor, unravel
from .errors import ExpressionError, TensorError


def _shape_of(t, shape):
    if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
        shape = tuple(shape[0])
    shape, size = [operator.index(n) for n in shape], size_of(t.shape)
    if shape.count(-1) == 1:
        k, rest = shape.index(-1), size_of([n for n in shape if n != -1])
        shape[k] = size // rest if rest else 0
    if any(n < 0 for n in shape) or size_of(shape) != size:
        raise TensorError(
            "this shape does not hold the tensor's elements", expected=f"{size} of them", got=str(tuple(shape))
        )
    return tuple(shape)


@method
def reshape(self, *shape, order="C", format=None):
    """The same elements in row-major order (order="F": column-major) under another shape; one extent may be -1.

    format : of the result; otherwise CSR of two dimensions, a dense tensor of a dense one, and COO

        A.reshape(1, 9)
        A.reshape((-1, 1))

    The fill stays. TensorError where the sizes differ.
    """
    shape = _shape_of(self, shape)
    if order not in ("C", "F"):
        raise TensorError("order= is a letter", expected="'C' or 'F'", got=repr(order))
    if shape == self.shape and format is None and order == "C":
        return self
    if order == "F":
        found = self.transpose().reshape(shape[::-1]).transpose()
        return found.to(format=format or _own(self, len(shape)))
    if self.format.is_all_dense and self.format.num_parts == 1 and format is None:
        return _core.from_array(np.reshape(for_numpy(self).to_dense(), shape)).to(dtype=self.dtype)
    coords, values = stored(self)
    coords = unravel(np.broadcast_to(linear(coords, self.shape), values.shape), shape)
    return tensor(coords, values, shape, format or _own(self, len(shape)), self.fill, self.dtype, ordered=True)


def _own(t, rank):
    """Blocks and diagonals would break apart in another shape."""
    if t.format.is_all_dense:
        return Format("dense", rank)
    return Format("CSR") if rank == 2 else coordinates(rank)


@method
def ravel(self, order="C"):
    """All elements in row-major order (order="F": column-major), as a sparse vector.

        A.ravel()

    As reshape(-1).
    """
    return self.reshape(-1, order=order)


flatten = ravel
Tensor.flatten = ravel


@method
def squeeze(self, axis=None):
    """Without the dimensions of extent 1, or those of them that `axis` names (one or several).

        A[:1].squeeze()

    Formats as of reshape. TensorError where a named one is longer.
    """
    axes = [d for d, n in enumerate(self.shape) if n == 1] if axis is None else axes_of(axis, self.ndim)
    for d in axes:
        if self.shape[d] != 1:
            raise TensorError("only extents of 1 go", expected=f"extent 1 of axis {d}", got=str(self.shape[d]))
    return self.reshape(tuple(n for d, n in enumerate(self.shape) if d not in axes))


def expand_dims(t, axis):
    """np.expand_dims."""
    given = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    axes, shape = axes_of(given, t.ndim + len(given)), list(t.shape)
    for d in sorted(axes):
        shape.insert(d, 1)
    return t.reshape(tuple(shape))


@method
def swapaxes(self, axis1, axis2):
    """The tensor with two dimensions swapped; nothing moves.

        A.swapaxes(0, 1)

    ExpressionError: no such axis.
    """
    axes = list(range(self.ndim))
    (a,), (b,) = axes_of(axis1, self.ndim), axes_of(axis2, self.ndim)
    axes[a], axes[b] = axes[b], axes[a]
    return self.transpose(*axes)


def _diagonal_axes(t, axis1, axis2):
    if t.ndim < 2:
        raise TensorError("a diagonal needs two dimensions", expected="a matrix", got=f"shape {t.shape}")
    (a,), (b,) = axes_of(axis1, t.ndim), axes_of(axis2, t.ndim)
    if a == b:
        raise ExpressionError("an axis is named twice", expected="two axes", got=str(axis1))
    return a, b


def diagonal_length(shape, k):
    """Elements on diagonal k of a matrix."""
    m, n = shape
    return max(0, min(m + min(k, 0), n - max(k, 0)))


@method
def diagonal(self, offset=0, axis1=0, axis2=1):
    """The elements with axis2's coordinate = axis1's + offset: of a matrix a dense array; of more dimensions a tensor
    whose last dimension runs along the diagonals, as NumPy's.

        A.diagonal()
        A.diagonal(-1)

    The fill stands where nothing is stored. TensorError for a vector.
    """
    a, b = _diagonal_axes(self, axis1, axis2)
    k, length = operator.index(offset), diagonal_length((self.shape[a], self.shape[b]), operator.index(offset))
    coords, values = stored(self)
    on = coords[b] - coords[a] == k
    along = coords[a][on] + min(k, 0)
    others = [d for d in range(self.ndim) if d not in (a, b)]
    if not others:
        out = np.full(length, self.fill, values.dtype) if self.fill != 0 else np.zeros(length, values.dtype)
        out[along] = values[on]
        return out
    shape = [self.shape[d] for d in others] + [length]
    found = tensor([coords[d][on] for d in others] + [along], values[on], shape, None, self.fill, self.dtype)
    return found.to(format=_own(self, len(shape)))


@method
def trace(self, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """The sum of a diagonal: a number of a matrix, of more dimensions a dense array.

        A.trace()

    TensorError for a vector.
    """
    found = self.diagonal(offset, axis1, axis2)
    found = found.sum(-1, dtype=dtype)
    if out is not None:
        np.copyto(out, found, casting="same_kind")
        return out
    return found


@method
def setdiag(self, values, k=0):
    """A new tensor with these elements on diagonal k: one number, or one a place (a shorter list fills the first ones).

        A.setdiag(1.0)
        A.setdiag([1, 2], k=1)

    The format stays where it holds any pattern, otherwise CSR; the dtype stays. (SciPy's changes the matrix and gives
    nothing.) TensorError: not a matrix, or more values than places.
    """
    if self.ndim != 2:
        raise TensorError("setdiag is for a matrix", expected="two dimensions", got=f"shape {self.shape}")
    k, fresh, length = operator.index(k), np.asarray(values), diagonal_length(self.shape, operator.index(k))
    if fresh.ndim > 1 or (fresh.ndim == 1 and len(fresh) > length):
        raise TensorError(
            "the values do not fit the diagonal", expected=f"a number, or up to {length}", got=f"shape {fresh.shape}"
        )
    length = length if fresh.ndim == 0 else len(fresh)
    (rows, columns), old = stored(self)
    keep = (columns - rows != k) | (np.minimum(rows, columns) >= length)
    along = np.arange(length, dtype=np.int64)
    coords = (
        np.concatenate([rows[keep], along - min(k, 0)]),
        np.concatenate([columns[keep], along + max(k, 0)]),
    )
    merged = np.concatenate([old[keep], np.broadcast_to(fresh, length).astype(old.dtype)])
    return tensor(coords, merged, self.shape, format_like(self, 2), self.fill, self.dtype)
