"""Tensors made of several, and parts of one: st.concatenate, stack, kron, block_diag, bmat, tril, triu and their kin."""

import numpy as np

from . import _core
from ._core import Tensor
from ._create import asarray
from ._merge import is_sparse
from ._shapes import expand_dims
from ._stored import axes_of, coordinates, for_numpy, format_like, size_of, stored, tensor
from .errors import TensorError


def _together(tensors, what):
    """(tensors, their common fill, the dtype of the result)."""
    tensors = [asarray(t) for t in tensors]
    if not tensors:
        raise TensorError(f"{what} of nothing", expected="at least one tensor", got="an empty list")
    sparse = [t for t in tensors if is_sparse(t)]
    fill = sparse[0].fill if sparse else 0
    for t in sparse:
        if t.fill != fill and not (t.fill != t.fill and fill != fill):
            raise TensorError(f"{what} needs one fill", expected=str(fill), got=str(t.fill), fix="t.to_dense() of one")
    dtypes = [t.dtype for t in tensors]
    known = all(isinstance(d, np.dtype) for d in dtypes)
    dtype = (
        np.result_type(*dtypes)
        if known
        else dtypes[0]
        if all(d == dtypes[0] for d in dtypes)
        else np.result_type(*(for_numpy(t).dtype for t in tensors))
    )
    # What is dense loses the fill alone, so that absent means the same in all of them.
    tensors = [
        t
        if is_sparse(t) or fill == 0 or t.ndim == 0
        else _core.from_dense(t.to_dense(), coordinates(t.ndim), fill=fill)
        for t in tensors
    ]
    return tensors, fill, dtype


def _format(tensors, rank, format):
    return format or format_like(next((t for t in tensors if is_sparse(t)), tensors[0]), rank)


def concatenate(tensors, axis=0, *, dtype=None, format=None):
    """Tensors, arrays and SciPy's matrices behind each other along an axis, as np.concatenate.

        concatenate([A, A], axis=1)

    dtype : NumPy's promotion unless told; format : that of the first sparse one where it holds any pattern, otherwise CSR
    or COO. Stored elements stay stored; all must have one fill. TensorError: extents that differ elsewhere.
    """
    tensors, fill, promoted = _together(tensors, "concatenate")
    first = tensors[0]
    (axis,) = axes_of(axis, first.ndim)
    for t in tensors:
        if t.ndim != first.ndim or any(a != b for d, (a, b) in enumerate(zip(t.shape, first.shape)) if d != axis):
            raise TensorError(
                f"tensors that differ elsewhere than in axis {axis}", expected=str(first.shape), got=str(t.shape)
            )
    coords, values, start = [], [], 0
    work = np.result_type(*(for_numpy(t).dtype for t in tensors))
    for t in tensors:
        c, v = stored(t)
        coords.append([x + start if d == axis else x for d, x in enumerate(c)])
        values.append(v.astype(work, copy=False))
        start += t.shape[axis]
    shape = [start if d == axis else n for d, n in enumerate(first.shape)]
    coords = [np.concatenate(c) for c in zip(*coords)]
    dtype = promoted if dtype is None else dtype
    return tensor(
        coords, np.concatenate(values), shape, _format(tensors, len(shape), format), fill, dtype, ordered=axis == 0
    )


def stack(tensors, axis=0, *, dtype=None, format=None):
    """Tensors of one shape along a new axis, as np.stack.

        stack([A, A]).shape

    dtype, format, TensorError : as of concatenate().
    """
    tensors = [asarray(t) for t in tensors]
    if any(t.shape != tensors[0].shape for t in tensors):
        raise TensorError("stack needs one shape", expected=str(tensors[0].shape), got=str([t.shape for t in tensors]))
    return concatenate([expand_dims(t, axis) for t in tensors], axis, dtype=dtype, format=format)


def _at_least_2d(t):
    t = asarray(t)
    return t if t.ndim > 1 else t.reshape(1, -1)


def vstack(tensors, *, dtype=None, format=None):
    """Tensors below each other, as np.vstack; a vector is a row.

        vstack([A, A])

    dtype, format, TensorError : as of concatenate().
    """
    return concatenate([_at_least_2d(t) for t in tensors], 0, dtype=dtype, format=format)


def hstack(tensors, *, dtype=None, format=None):
    """Tensors beside each other, as np.hstack; vectors one behind the other.

        hstack([A, A])

    dtype, format, TensorError : as of concatenate().
    """
    tensors = [asarray(t) for t in tensors]
    return concatenate(tensors, 0 if tensors and tensors[0].ndim == 1 else 1, dtype=dtype, format=format)


def _block_row(blocks, widths, heights, i):
    row = []
    for j, block in enumerate(blocks):
        if block is None:
            block = Tensor(
                "COO", (heights[i], widths[j]), pos={0: [0, 0]}, crd={0: [], 1: []}, values=np.empty(0, bool)
            )
        row.append(block)
    return row


def bmat(blocks, *, dtype=None, format=None):
    """A matrix of blocks, as scipy.sparse.block_array: lists of rows, in which None stands for absent elements.

        bmat([[A, None], [None, A]])

    dtype, format : as of concatenate(). TensorError: blocks that do not fit, a row or column of None alone.
    """
    blocks = [[None if b is None else _at_least_2d(b) for b in row] for row in blocks]
    if not blocks or len({len(row) for row in blocks}) != 1 or not blocks[0]:
        raise TensorError("bmat needs rows of the same number of blocks", got=str([len(row) for row in blocks]))
    heights = [_extent(row, 0) for row in blocks]
    widths = [_extent(column, 1) for column in zip(*blocks)]
    some = next(b for row in blocks for b in row if b is not None)
    given = [b for row in blocks for b in row if b is not None]
    _, fill, promoted = _together(given, "bmat")
    if fill != 0 and len(given) < len(heights) * len(widths):
        raise TensorError("a block of None is of fill 0", expected="no None", got=f"fill {fill}")
    rows = [concatenate(_block_row(row, widths, heights, i), 1, format="COO") for i, row in enumerate(blocks)]
    return concatenate(rows, 0, dtype=promoted if dtype is None else dtype, format=_format([some, *given], 2, format))


def _extent(blocks, d):
    found = {b.shape[d] for b in blocks if b is not None}
    if len(found) != 1:
        raise TensorError(
            f"blocks of one {'column' if d else 'row'} have one {'width' if d else 'height'}",
            expected="at least one block, all alike",
            got=str(sorted(found)),
        )
    return found.pop()


def block_diag(blocks, *, dtype=None, format=None):
    """A matrix with these along its diagonal, as scipy.sparse.block_diag: matrices, arrays, numbers.

        block_diag([A, [[1.0, 2.0]], 3.0])

    dtype, format : as of concatenate(). TensorError: a fill other than 0.
    """
    blocks, fill, promoted = _together([np.atleast_2d(b) if np.ndim(b) == 0 else _at_least_2d(b) for b in blocks], "it")
    if fill != 0:
        raise TensorError("absent blocks are of fill 0", expected="fill 0", got=f"fill {fill}")
    rows = columns = 0
    coords, values = ([], []), []
    work = np.result_type(*(for_numpy(b).dtype for b in blocks))
    for b in blocks:
        (r, c), v = stored(b)
        coords[0].append(r + rows)
        coords[1].append(c + columns)
        values.append(v.astype(work, copy=False))
        rows, columns = rows + b.shape[0], columns + b.shape[1]
    format = format or ("CSR" if not any(is_sparse(b) for b in blocks) else _format(blocks, 2, None))
    dtype = promoted if dtype is None else dtype
    return tensor(
        [np.concatenate(c) for c in coords], np.concatenate(values), (rows, columns), format, 0, dtype, ordered=True
    )


def kron(a, b, *, format=None):
    """The Kronecker product, as np.kron: each element of `a` times all of `b`; of any ranks.

        kron(A, [[1, 0], [0, 1]])

    format : that of the first sparse one where it holds any pattern, otherwise CSR or COO. Fill 0. TensorError: another
    fill, or an extent beyond 64 bits.
    """
    (a, b), fill, _ = _together([a, b], "kron")
    if fill != 0:
        raise TensorError("a Kronecker product of absent elements is of fill 0", expected="fill 0", got=f"fill {fill}")
    rank = max(a.ndim, b.ndim)
    a, b = (t.reshape((1,) * (rank - t.ndim) + t.shape) for t in (a, b))
    shape = tuple(m * n for m, n in zip(a.shape, b.shape))
    size_of(shape)
    (ca, va), (cb, vb) = stored(a), stored(b)
    coords = [np.add.outer(c * n, d).ravel() for c, d, n in zip(ca, cb, b.shape)]
    return tensor(coords, np.multiply.outer(va, vb).ravel(), shape, _format([a, b], rank, format))


def _triangle(name, keep, side):
    def f(a, k=0, *, format=None):
        t = asarray(a)
        if t.ndim < 2:
            raise TensorError(f"{name} is for matrices", expected="two dimensions", got=f"shape {t.shape}")
        if t.fill != 0:
            raise TensorError(f"what {name} leaves out is 0", expected="a tensor of fill 0", got=f"fill {t.fill}")
        coords, values = stored(t)
        kept = keep(coords[-1] - coords[-2], k)
        found = [c[kept] for c in coords]
        return tensor(found, values[kept], t.shape, format or format_like(t, t.ndim), 0, t.dtype, ordered=True)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""The elements on diagonal k and {side} it, as np.{name}; of more dimensions in the last two.

        {name}(A)
        {name}(A, k=-1)

    format : the tensor's own where it holds any pattern, otherwise CSR or COO. TensorError: a vector, a fill other than 0.
    """
    return f


tril = _triangle("tril", lambda d, k: d <= k, "below")
triu = _triangle("triu", lambda d, k: d >= k, "above")
