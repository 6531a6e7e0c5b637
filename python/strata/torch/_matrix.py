"""Products of matrices: torch's names for them, with sparse operands on either side."""

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

import strata as st

from ..errors import DTypeError, TensorError
from . import _ops
from ._pattern import Pattern
from ._tensor import FUNCTIONS, Tensor


def is_sparse(x):
    return isinstance(x, Tensor)


def implements(*functions):
    def note(f):
        for g in functions:
            FUNCTIONS[g] = f
        return f

    return note


def _alike(values, x):
    """Under autocast both in its dtype; otherwise they must agree, as in torch."""
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        if values.is_floating_point() and x.is_floating_point() and values.dtype != torch.float64 != x.dtype:
            return values.to(dtype), x.to(dtype)
    if values.dtype != x.dtype:
        raise DTypeError(
            "the operands of a product need one dtype", expected=str(values.dtype), got=str(x.dtype), fix="x.to(dtype)"
        )
    return values, x


def product(values, pattern, x, transpose=False, left=False):
    """op(A) @ x, or x @ op(A) with `left`; x: a dense tensor of any rank, whose other dimensions are batches as in
    torch.matmul."""
    y = _ops.mm_at_once(values, pattern, x, None, transpose, left)
    if y is not None:
        return y
    values, x = _alike(values, x)
    rows, columns = reversed(pattern.shape) if transpose else pattern.shape
    inner, along = rows if left else columns, -1 if left or x.dim() == 1 else -2
    if x.dim() == 0 or x.shape[along] != inner:
        shape = (rows, columns)
        raise TensorError(
            "the shapes of a product do not fit",
            expected=f"{inner} in dimension {along}",
            got=f"{tuple(x.shape)} @ {shape}" if left else f"{shape} @ {tuple(x.shape)}",
        )
    if x.dim() <= 2:
        return _ops.mm(values, pattern, x, transpose, left)
    if left:
        return _ops.mm(values, pattern, x.reshape(-1, inner), transpose, True).reshape(*x.shape[:-1], columns)
    flat = x.movedim(-2, 0)
    y = _ops.mm(values, pattern, flat.reshape(inner, -1), transpose, False)
    return y.reshape(rows, *flat.shape[1:]).movedim(0, -2)


def linear(values, pattern, x, bias=None):
    """F.linear of a sparse weight: x @ W.T + bias. values: (slots,), pattern: of W (out, in), x: (..., in), bias: (out,)."""
    y = _ops.mm_at_once(values, pattern, x, bias, True, True)
    if y is not None:
        return y
    y = product(values, pattern, x, True, True)
    return y if bias is None else y + bias.to(y.dtype)


@implements(
    torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.mm, torch.Tensor.mm, torch.mv, torch.Tensor.mv
)
def matmul(a, b, *, out=None):
    if out is not None:
        return NotImplemented
    if is_sparse(a) and is_sparse(b):
        return _sparse_product(a, b) if a.dim() == b.dim() == 2 else NotImplemented
    if is_sparse(a):
        return product(a.values(), a.pattern, b) if a.dim() == 2 else NotImplemented
    return product(b.values(), b.pattern, a, left=True) if b.dim() == 2 else NotImplemented


@implements(torch.addmm, torch.Tensor.addmm, torch.addmv, torch.Tensor.addmv)
def addmm(c, a, b, *, beta=1, alpha=1, out=None):
    if out is not None:
        return NotImplemented
    y = matmul(a, b)
    if y is NotImplemented:
        return y
    y = y if alpha == 1 else alpha * y
    return y if beta == 0 else y + (c if beta == 1 else beta * c)  # with beta 0 what c holds is never read


@implements(F.linear)
def _linear(x, weight, bias=None):
    if is_sparse(weight):
        if is_sparse(x):
            y = matmul(x, weight.t())
            return y if bias is None else y + bias
        return linear(weight.values(), weight.pattern, x, bias)
    if x.dim() != 2:
        return NotImplemented
    y = product(x.values(), x.pattern, weight.t())
    return y if bias is None else y + bias


class _SparseProduct(Function):
    """The values of A @ B. The gradient of each operand lives at its own elements."""

    @staticmethod
    def forward(ctx, a, b, pa, pb, pc, c):
        ctx.save_for_backward(a, b)
        ctx.patterns = pa, pb, pc
        return c

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (a, b), (pa, pb, pc) = ctx.saved_tensors, ctx.patterns
        G, of_a, of_b = pc.with_values(g), None, None
        if ctx.needs_input_grad[0]:
            text = "R(i,j) = P(i,j) * G(i,k) * B(j,k)"
            of_a = pa.values_of(st.evaluate(text, P=pa.ones_of(g.dtype), G=G, B=pb.with_values(b)))
        if ctx.needs_input_grad[1]:
            text = "R(i,j) = P(i,j) * A(k,i) * G(k,j)"
            of_b = pb.values_of(st.evaluate(text, P=pb.ones_of(g.dtype), A=pa.with_values(a), G=G))
        return of_a, of_b, None, None, None, None


def _sparse_product(a, b):
    va, vb = _alike(a.values(), b.values())
    c = st.matmul(a.pattern.with_values(va), b.pattern.with_values(vb))
    if not isinstance(c, st.Tensor):  # of two tensors that store everything
        return matmul(a, b.to_dense())
    pattern = Pattern(c)
    values = pattern.values_of(c)
    if torch.is_grad_enabled() and (va.requires_grad or vb.requires_grad):
        values = _SparseProduct.apply(va, vb, a.pattern, b.pattern, pattern, values)
    return Tensor(values, pattern)
