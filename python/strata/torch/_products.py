"""The other products: of batches and of vectors, einsum, tensordot, outer and Kronecker products."""

import functools

import torch

import strata as st

from ..errors import TensorError
from . import _einsum
from ._einsum import alike
from ._matrix import addmm, implements, is_sparse, matmul
from ._pattern import Pattern
from ._tensor import Tensor, from_torch

_T = torch.Tensor
implements(torch.einsum)(_einsum.einsum)


@implements(torch.bmm, _T.bmm)
def bmm(a, b, *, out=None):
    """Of two batches of matrices."""
    if a.dim() != 3 or b.dim() != 3 or a.shape[0] != b.shape[0]:
        raise _do_not_fit("bmm takes two batches of matrices", "b x m x n and b x n x k", a, b)
    return matmul(a, b, out=out)


implements(torch.baddbmm, _T.baddbmm)(addmm)


@implements(torch.addbmm, _T.addbmm)
def addbmm(c, a, b, *, beta=1, alpha=1, out=None):
    """The sum of a batch of products, and c."""
    return addmm(c, a, b, beta=beta, alpha=alpha, out=out, product=lambda a, b: torch.einsum("bij,bjk->ik", a, b))


@implements(torch.dot, _T.dot)
def dot(a, b, *, out=None):
    """Of two vectors."""
    if a.dim() != 1 or a.shape != b.shape:
        raise _do_not_fit("dot takes two vectors", "n and n", a, b)
    return NotImplemented if out is not None else _einsum.einsum("i,i->", a, b)


@implements(torch.vdot, _T.vdot)
def vdot(a, b, *, out=None):
    """Of two vectors, the first one conjugated."""
    return dot(a.conj(), b, out=out)


@implements(torch.inner, _T.inner)
def inner(a, b, *, out=None):
    """Of all rows of a and all rows of b."""
    if a.dim() == 0 or b.dim() == 0:
        return torch.mul(a, b, out=out)
    return tensordot(a, b, dims=([-1], [-1]), out=out)


@implements(torch.linalg.vecdot)
def vecdot(a, b, *, dim=-1, out=None):
    """The sum of conj(a) * b over a dimension; the others broadcast."""
    if out is not None or dim % max(a.dim(), b.dim(), 1) != max(a.dim(), b.dim()) - 1:
        return NotImplemented
    return _einsum.einsum("...i,...i->...", a.conj(), b)


@implements(torch.tensordot)
def tensordot(a, b, dims=2, out=None):
    """Summed over the last `dims` dimensions of a and the first ones of b, or over pairs of lists."""
    if out is not None:
        return NotImplemented
    if isinstance(dims, int):
        dims = range(a.dim() - dims, a.dim()), range(dims)
    ours, theirs = (
        [d % max(x.dim(), 1) for d in ([given] if isinstance(given, int) else given)] for x, given in zip((a, b), dims)
    )
    if len(ours) != len(theirs):
        raise _do_not_fit("tensordot sums over pairs of dimensions", "as many of each", a, b)
    left = list(_einsum.LETTERS[: a.dim()])
    right = list(_einsum.LETTERS[a.dim() : a.dim() + b.dim()])
    for d, e in zip(ours, theirs):
        right[e] = left[d]
    result = [x for x in (*left, *right) if (x in left) != (x in right)]
    return _einsum.einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", a, b)


@implements(torch.linalg.multi_dot)
def multi_dot(tensors, *, out=None):
    """The product of several matrices, from left to right."""
    return NotImplemented if out is not None else functools.reduce(torch.matmul, tensors)


implements(_T.__rmatmul__)(lambda b, a: torch.matmul(a, b))


@implements(torch.outer, _T.outer, torch.ger, _T.ger)
def outer(a, b, *, out=None):
    """Of two vectors; dense."""
    if a.dim() != 1 or b.dim() != 1:
        raise _do_not_fit("outer takes two vectors", "m and n", a, b)
    return NotImplemented if out is not None else _einsum.einsum("i,j->ij", a, b)


@implements(torch.kron, _T.kron)
def kron(a, b, *, out=None):
    """Each element of a times all of b; sparse. A dense operand counts as one that stores everything."""
    a, b = (x if is_sparse(x) else from_torch(x, f"dense({x.dim()})") for x in (a, b))
    if out is not None or not (a.pattern.once and b.pattern.once):
        return NotImplemented
    values, pattern = 1, None
    for k, x in enumerate(alike(a.values(), b.values())):
        # Slots count from 1, so that 0 says that the result made this one up.
        numbered = [p.ones_of(torch.int64) for p in (a.pattern, b.pattern)]
        numbered[k] = (a, b)[k].pattern.with_values(torch.arange(1, len(x) + 1))
        found = st.kron(*numbered)
        pattern = pattern or Pattern(found)
        values = values * torch.cat([x.new_zeros(1), x])[pattern.values_of(found)]
    return Tensor(values, pattern)


def _do_not_fit(what, expected, a, b):
    return TensorError(what, expected=expected, got=f"{tuple(a.shape)} and {tuple(b.shape)}")
