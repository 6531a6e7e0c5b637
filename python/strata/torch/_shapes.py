"""Other shapes and orders of the same elements: reshape, flip, cat, split, diagonals and their kin.

The library's own operation runs on a tensor that holds the numbers of the slots. Where a number comes out, its value goes, and
gradients come back the same way.
"""

import functools

import numpy as np
import torch

import strata as st

from ._broadcast import broadcast_shapes
from ._elements import named, permuted
from ._matrix import implements, is_sparse
from ._pattern import Pattern, lasting
from ._tensor import Tensor


def rearranged(f, *tensors, key=None, twice=False):
    """f(*st.Tensors) moves, drops or repeats elements; here it does so with Tensors. Where f gives an array or a number, the
    result is dense. `key`: says what f does, so that the next call for these patterns finds what this one worked out; `twice`:
    a key that may never come again (see Pattern.remembered)."""
    if not all(x.pattern.once for x in tensors):
        return NotImplemented
    patterns = [x.pattern for x in tensors]
    plan = lambda: _plan(f, patterns)  # noqa: E731
    if key is None:
        with lasting():
            made, at, padded = plan()
    else:
        made, at, padded = patterns[0].remembered(key, plan, *patterns[1:], twice=twice)
    values = [x.values() for x in tensors]
    if padded:
        values.insert(0, values[0].new_zeros(1))
    found = (values[0] if len(values) == 1 else torch.cat(values)).index_select(0, at)
    return Tensor(found, made) if isinstance(made, Pattern) else found.reshape(made)


def _plan(f, patterns):
    """(the pattern of the result or the shape of a dense one, which value each of its slots takes, is a zero before them)"""
    numbered, start = [], 1
    for pattern in patterns:
        numbered.append(pattern.with_values(torch.arange(start, start + pattern.num_values)))
        start += pattern.num_values
    found = f(*numbered)
    if isinstance(found, st.Tensor) and found.ndim:
        found = found.copy()  # a part holds no memory of the whole
        made = Pattern(found)
        at = made.values_of(found)
    else:
        found = np.array(found.to_dense() if isinstance(found, st.Tensor) else found, dtype=np.int64)
        made, at = found.shape, torch.from_numpy(found.reshape(-1))
    padded = bool((at == 0).any())
    return made, at if padded else at - 1, padded


def on_meta(func, *args, **kwargs):
    """What torch makes of tensors of these shapes: it checks the arguments, and tells the shape of the result."""
    args, kwargs = torch.utils._pytree.tree_map(_without_data, (args, kwargs))
    with torch._C.DisableTorchFunctionSubclass():
        return func(*args, **kwargs)


def _without_data(x):
    return torch.empty(x.shape, dtype=x.dtype, device="meta") if is_sparse(x) else x


def _implements(*names):
    """f(func, x, *args, **kwargs), of a sparse x, for the functions of these names."""

    def note(f):
        def g(func, x, *args, **kwargs):
            if not is_sparse(x) or kwargs.get("out") is not None:
                return NotImplemented
            return f(func, x, *args, **kwargs)

        for func in named(*names):
            implements(func)(functools.partial(g, func))
        return f

    return note


@_implements(
    *("reshape", "view", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze", "reshape_as", "view_as"),
    *("atleast_1d", "atleast_2d", "atleast_3d", "view_copy", "squeeze_copy", "unsqueeze_copy"),
)
def _reshaped(func, x, *args, **kwargs):
    like = on_meta(func, x, *args, **kwargs)
    if not isinstance(like, torch.Tensor) or like.dtype != x.dtype:
        return NotImplemented
    shape = tuple(like.shape)
    return x if shape == x.shape else rearranged(lambda t: t.reshape(shape), x, key=("reshape", shape))


@_implements("expand", "expand_as", "expand_copy", "broadcast_to")
def _expanded(func, x, *args, **kwargs):
    return broadcast(x, on_meta(func, x, *args, **kwargs).shape)


def broadcast(x, shape):
    """A sparse tensor in a larger shape, its elements repeated."""
    shape = tuple(shape)
    return x if shape == x.shape else rearranged(lambda t: np.broadcast_to(t, shape), x, key=("broadcast", shape))


@implements(torch.broadcast_tensors)
def _broadcast_all(*tensors):
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return [torch.broadcast_to(x, shape) for x in tensors]


def sliced(x, dim, start, stop):
    """x[start:stop] along a dimension."""
    key = (slice(None),) * dim + (slice(start, stop),)
    return rearranged(lambda t: t[key], x, key=("slice", dim, start, stop))


@_implements(
    *("chunk", "split", "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit"),
    *("unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes"),
)
def _split(func, x, *args, **kwargs):
    pieces = on_meta(func, x, *args, **kwargs)
    dim = next((d for piece in pieces for d in range(x.dim()) if piece.shape[d] != x.shape[d]), 0)
    stride = torch.Size(x.shape[dim + 1 :]).numel()
    starts = [piece.storage_offset() // max(stride, 1) for piece in pieces]
    return _all(sliced(x, dim, start, start + piece.shape[dim]) for start, piece in zip(starts, pieces))


@_implements("unbind", "unbind_copy")
def _unbound(func, x, dim=0):
    dim = axis(x, dim)
    return _all(at_index(x, dim, i) for i in range(x.shape[dim]))


def _all(results):
    results = tuple(results)
    return NotImplemented if any(r is NotImplemented for r in results) else results


def axis(x, dim):
    """A dimension of x, counted from its front; torch's IndexError."""
    on_meta(torch.unbind, torch.empty((1,) * x.dim(), device="meta"), dim)
    return dim % x.dim()


def at_index(x, dim, i):
    """x at one place along a dimension, which goes."""
    return rearranged(lambda t: t[(slice(None),) * dim + (i,)], x, key=("select", dim, i))


@_implements("narrow", "narrow_copy")
def _narrow(func, x, dim, start, length):
    on_meta(func, x, dim, start, length)
    dim = axis(x, dim)
    start = int(start) % max(x.shape[dim], 1) if start < 0 else int(start)
    return sliced(x, dim, start, start + length)


@_implements("select", "select_copy")
def _select(func, x, dim, index):
    on_meta(func, x, dim, index)
    return at_index(x, axis(x, dim), int(index))


def _listed(numbers):
    """(2, 3) of f(x, 2, 3) and of f(x, (2, 3))."""
    return tuple(numbers[0]) if len(numbers) == 1 and not isinstance(numbers[0], int) else numbers


@_implements("flip")
def _flip(func, x, *args, dims=None):
    dims = _listed(args) if dims is None else tuple(dims)
    on_meta(func, x, dims)
    return rearranged(lambda t: np.flip(t, dims), x, key=("flip", dims))


implements(torch.fliplr, torch.Tensor.fliplr)(lambda x: torch.flip(x, (1,)))
implements(torch.flipud, torch.Tensor.flipud)(lambda x: torch.flip(x, (0,)))


@_implements("roll")
def _roll(func, x, shifts, dims=()):
    on_meta(func, x, shifts, dims)
    shifts, dims = (v if isinstance(v, int) else tuple(v) for v in (shifts, dims))
    if dims == ():  # of all elements in a row
        shifts, dims = shifts if isinstance(shifts, int) else shifts[0], None
    return rearranged(lambda t: np.roll(t, shifts, dims), x, key=("roll", shifts, dims))


@_implements("rot90")
def _rot90(func, x, k=1, dims=(0, 1)):
    on_meta(func, x, k, dims)
    a, b = dims
    flips = ((), (b,), (a, b), (a,))[k % 4]
    turned = torch.flip(x, flips) if flips else x
    return torch.transpose(turned, a, b) if k % 2 else turned


@_implements("repeat", "tile")
def _tiled(func, x, *args, dims=None, repeats=None):
    sizes = tuple(dims or repeats or _listed(args))
    on_meta(func, x, sizes)
    return rearranged(lambda t: np.tile(t, sizes), x, key=("tile", sizes))


@_implements("repeat_interleave")
def _repeated(func, x, repeats, dim=None, *, output_size=None):
    if dim is None:
        x, dim = x.reshape(-1), 0
    at = torch.arange(x.shape[axis(x, dim)]).repeat_interleave(torch.as_tensor(repeats))
    return torch.index_select(x, dim, at)


@_implements("tril", "triu")
def _triangle(func, x, diagonal=0):
    on_meta(func, x, diagonal)
    f = getattr(st, func.__name__)
    return rearranged(lambda t: f(t, diagonal), x, key=(func.__name__, diagonal))


@_implements("diagonal", "diagonal_copy")
def _diagonal(func, x, offset=0, dim1=0, dim2=1):
    """Of a matrix dense; of more dimensions sparse."""
    on_meta(func, x, offset, dim1, dim2)
    return rearranged(lambda t: t.diagonal(offset, dim1, dim2), x, key=("diagonal", offset, dim1, dim2))


@implements(torch.linalg.diagonal)
def _matrix_diagonal(x, *, offset=0, dim1=-2, dim2=-1):
    return torch.diagonal(x, offset, dim1, dim2)


@_implements("trace")
def _trace(func, x):
    on_meta(func, x)
    return torch.diagonal(x).sum()


@_implements("diag")
def _diag(func, x, diagonal=0):
    on_meta(func, x, diagonal)
    return torch.diagonal(x, diagonal) if x.dim() == 2 else torch.diagflat(x, diagonal)


@_implements("diagflat")
def _diagflat(func, x, offset=0):
    return rearranged(lambda t: np.diagflat(t, offset), x, key=("diagflat", offset))


@_implements("movedim", "moveaxis")
def _moved_axes(func, x, *args, **kwargs):
    told_apart = torch.empty([d + 2 for d in range(x.dim())], device="meta")
    return permuted(x, *(extent - 2 for extent in func(told_apart, *args, **kwargs).shape))


def _joined(*names):
    """f(tensors, ...), where all of them are sparse."""

    def note(f):
        def g(tensors, *args, out=None, **kwargs):
            tensors = tuple(tensors)
            return f(tensors, *args, **kwargs) if out is None and all(map(is_sparse, tensors)) else NotImplemented

        implements(*named(*names))(g)
        return g

    return note


@_joined("cat", "concat", "concatenate")
def cat(tensors, dim=0, *, axis=None):
    """In the format of the first where that holds any pattern, otherwise CSR or COO."""
    dim = dim if axis is None else axis
    on_meta(torch.cat, tensors, dim)
    return rearranged(lambda *ts: st.concatenate(ts, dim), *tensors, key=("cat", dim))


@_joined("stack")
def stack(tensors, dim=0):
    on_meta(torch.stack, tensors, dim)
    return cat([x.unsqueeze(dim) for x in tensors], dim)


@_joined("hstack")
def hstack(tensors):
    tensors = [torch.atleast_1d(x) for x in tensors]
    return cat(tensors, 0 if tensors[0].dim() == 1 else 1)


@_joined("vstack", "row_stack")
def vstack(tensors):
    return cat([torch.atleast_2d(x) for x in tensors], 0)


@_joined("dstack")
def dstack(tensors):
    return cat([torch.atleast_3d(x) for x in tensors], 2)


@_joined("column_stack")
def column_stack(tensors):
    return cat([x if x.dim() > 1 else x.reshape(-1, 1) for x in tensors], 1)


@implements(torch.block_diag)
def block_diag(*tensors):
    if not all(is_sparse(x) and x.dim() == 2 for x in tensors):
        return NotImplemented
    return rearranged(lambda *ts: st.block_diag(ts), *tensors, key="block_diag")
