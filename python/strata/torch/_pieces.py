"""The pieces of an attention: scores at a pattern, the softmax of what is stored, and the product with the values (spmm); and
xFormers' names for them."""

import torch

from ..errors import ArgumentError, TensorError
from . import _reductions
from ._attention import attention
from ._attention_function import row_softmax
from ._attention_inputs import resolved
from ._attention_rows import by_rows, rows_pattern
from ._broadcast import broadcast_shapes
from ._contract import contract
from ._einsum import alike
from ._matrix import is_sparse
from ._tensor import Tensor, from_torch


def sddmm(a, b, pattern):
    """a @ b.T where the pattern stores something: scores of an attention, or of the edges of a graph.

        q, k, v = (torch.randn(4, 64, 16) for _ in range(3))
        scores = stt.sddmm(q, k, stt.patterns.local(64, distance=8))
        weights = stt.softmax(scores / 8)
        y = stt.spmm(weights, v)

    a : (..., m, k), b : (..., n, k), dense; pattern : whatever stt.attention takes, (m, n) or with dimensions in front; its values,
    where it has some, do not count. Differentiable any number of times.

    An stt.Tensor, (..., m, n). TensorError, DTypeError."""
    for x in (a, b):
        if is_sparse(x) or x.dim() < 2:
            raise TensorError(
                "sddmm multiplies dense matrices", expected="(..., rows, features)", got=str(tuple(x.shape))
            )
    pattern = resolved(pattern, a, b, b)
    a, b = alike(a, b)
    if pattern.shape[-2:] != (a.shape[-2], b.shape[-2]) or a.shape[-1] != b.shape[-1]:
        raise TensorError(
            "the shapes of a sampled product do not fit",
            expected="(..., m, k), (..., n, k) and a pattern (..., m, n)",
            got=f"{tuple(a.shape)}, {tuple(b.shape)} and {tuple(pattern.shape)}",
        )
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2], pattern.shape[:-2])
    pattern = expanded(pattern, lead)
    a, b = (x.expand(*lead, *x.shape[-2:]) for x in (a, b))
    letters = "abcdefgh"[: len(lead)]
    return Tensor(contract(f"{letters}ik,{letters}jk->{letters}ij", (a, b), (None, None), pattern), pattern)


def softmax(A, dim=-1):
    """torch.softmax over the stored elements: what is absent has no weight, rows that store nothing stay empty. In a row of -inf,
    of which torch makes NaN, everything is 0.

        weights = stt.softmax(stt.from_torch(torch.eye(4)))

    A : an stt.Tensor of any format and number of dimensions. An stt.Tensor of its pattern."""
    if not is_sparse(A):
        raise TensorError("this softmax is of a sparse tensor", expected="an stt.Tensor", got=type(A).__name__)
    if dim in (-1, A.dim() - 1) and A.dim() > 1 and A.pattern.once and A.is_floating_point():
        return Tensor(row_softmax(A.values(), A.pattern), A.pattern)
    return _reductions.softmax(A, dim)


def expanded(pattern, lead):
    """The pattern for each of `lead`, in CSR, matrix after matrix; itself where it has these dimensions already."""
    if pattern.shape[:-2] == tuple(lead):
        return pattern
    rows = by_rows(pattern)
    which = torch.tensor(rows.which(lead), dtype=torch.int64)
    lengths = rows.pos.diff().reshape(-1, rows.queries)[which].reshape(-1)
    pos = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    crd = [rows.crd[rows.starts[p] : rows.starts[p + 1]] for p in which.tolist()]
    return rows_pattern(pos, torch.cat(crd) if crd else rows.crd[:0], (*lead, rows.queries, rows.keys))


def sparse_dot_sdd(q, k, pattern):
    """xFormers' name for stt.sddmm.

        q, k = torch.randn(4, 64, 16), torch.randn(4, 64, 16)
        scores = stt.sparse_dot_sdd(q, k, stt.patterns.local(64, distance=8))

    Arguments and errors as there."""
    return sddmm(q, k, pattern)


def scaled_dot_product_attention(q, k, v, att_mask=None, dropout=None, block_size=16):
    """xFormers' attention: softmax(q @ k.T / sqrt(E) + mask) @ v.

        q, k, v = (torch.randn(4, 64, 16) for _ in range(3))
        mask = torch.rand(64, 64) < 0.1
        y = stt.scaled_dot_product_attention(q=q, k=k, v=v, att_mask=mask, dropout=torch.nn.Dropout(0.1))

    att_mask : truth values (True: looked at), dense, sparse or a Pattern; or numbers that are added: of a sparse one to the scores of
        its stored elements, which alone count, of a dense one to all, of which -inf are left out. None: everything is looked at.
    dropout : an nn.Dropout, or None. block_size : has no meaning here. ArgumentError, TensorError, DTypeError."""
    if dropout is not None and not isinstance(dropout, torch.nn.Dropout):
        raise ArgumentError("dropout= is a module", expected="nn.Dropout, or None", got=type(dropout).__name__)
    bias = None
    if att_mask is None:
        att_mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
    elif isinstance(att_mask, torch.Tensor) and att_mask.dtype != torch.bool:
        if is_sparse(att_mask) or att_mask.layout != torch.strided:
            bias = att_mask = from_torch(att_mask)
        else:
            bias, att_mask = att_mask, att_mask.detach() != -torch.inf
    p = dropout.p if dropout is not None and dropout.training else 0.0
    return attention(q, k, v, att_mask, bias, dropout_p=p)
