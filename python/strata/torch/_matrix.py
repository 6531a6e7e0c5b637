"""Products of matrices: torch's names for them, with sparse operands on either side."""

import torch
import torch.nn.functional as F

from ..errors import TensorError
from . import _einsum, _ops
from ._attention_rows import by_rows, rows_pattern
from ._einsum import alike
from ._tensor import FUNCTIONS, Tensor


def is_sparse(x):
    return isinstance(x, Tensor)


def implements(*functions):
    def note(f):
        for g in functions:
            FUNCTIONS[g] = f
        return f

    return note


def product(values, pattern, x, transpose=False, left=False):
    """op(A) @ x, or x @ op(A) with `left`; x: a dense tensor of any rank, whose other dimensions are batches as in
    torch.matmul."""
    y = _ops.mm_at_once(values, pattern, x, None, transpose, left)
    if y is not None:
        return y
    values, x = alike(values, x)
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


@implements(torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__, torch.linalg.matmul)
@implements(torch.mm, torch.Tensor.mm, torch.mv, torch.Tensor.mv)
def matmul(a, b, *, out=None):
    """Of a sparse operand and a dense one: dense. Of two sparse ones: sparse where the library's einsum is. Batches broadcast."""
    if out is not None:
        return NotImplemented
    if not is_sparse(b) and a.dim() == 2:
        return product(a.values(), a.pattern, b)
    if not is_sparse(a) and b.dim() == 2:
        return product(b.values(), b.pattern, a, left=True)
    if not is_sparse(b) and a.dim() > 2 and 0 < b.dim() <= 2 and a.shape[-1] == b.shape[0] and a.pattern.once:
        rows = by_rows(a.pattern)
        y = product(rows.values(a.values()), a.pattern.derived("one matrix", _one_matrix), b)
        return y.reshape(*a.shape[:-1], *b.shape[1:])
    return _einsum.matmul(a, b)


def _one_matrix(pattern):
    """All rows of a tensor as those of one matrix."""
    rows = by_rows(pattern)
    return rows_pattern(rows.pos, rows.crd, (len(rows.pos) - 1, rows.keys))


@implements(torch.addmm, torch.Tensor.addmm, torch.addmv, torch.Tensor.addmv)
def addmm(c, a, b, *, beta=1, alpha=1, out=None, product=torch.matmul):
    if out is not None:
        return NotImplemented
    y = product(a, b)
    y = y if alpha == 1 else alpha * y
    return y if beta == 0 else y + (c if beta == 1 else beta * c)  # with beta 0 what c holds is never read


@implements(F.linear)
def _linear(x, weight, bias=None):
    if is_sparse(weight) and not is_sparse(x):
        return linear(weight.values(), weight.pattern, x, bias)
    y = torch.matmul(x, weight.t())
    return y if bias is None else y + bias
