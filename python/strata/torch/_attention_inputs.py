"""What callers of an attention give: queries, keys and values, patterns of any kind, biases and paddings, checked and in one form."""

import functools
import inspect
import math

import torch

from ..errors import ArgumentError, DTypeError, TensorError, Unsupported
from ._attention_rows import by_rows, index_type, rows_pattern
from ._einsum import alike
from ._elements import elements
from ._matrix import is_sparse
from ._pattern import Pattern
from ._tensor import from_torch


def operands_of(q, k, v):
    for x in (q, k, v):
        if is_sparse(x) or x.dim() < 2:
            raise TensorError("queries, keys and values are dense", expected="(..., length, features)", got=_shown(x))
    q, k, v = alike(q, k, v)
    if not q.is_floating_point():
        raise DTypeError("attention is of real numbers", expected="a floating dtype", got=str(q.dtype))
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise TensorError(
            "queries, keys and values do not fit",
            expected="(..., L, E), (..., S, E) and (..., S, D)",
            got=", ".join(map(_shown, (q, k, v))),
        )
    return q, k, v


def _shown(x):
    return f"{'sparse ' if is_sparse(x) else ''}{tuple(x.shape)}"


def resolved(pattern, q, k, v):
    """The Pattern that is meant at the site of an attention of q, k and v: see attention()."""
    if isinstance(pattern, type):
        pattern = _made(pattern, q.shape[-3] if q.dim() > 2 else 1)
    if isinstance(pattern, Pattern):
        return pattern
    if not isinstance(pattern, torch.Tensor):
        find = getattr(pattern, "pattern", pattern)
        if not callable(find):
            raise ArgumentError(
                "this is no pattern",
                expected="a Pattern, a boolean mask, a SparsityConfig, or a sparsifier with pattern(x, q=, k=, v=)",
                got=type(pattern).__name__,
            )
        with torch.no_grad():
            return resolved(find(None, q=q, k=k, v=v), q, k, v)
    if pattern.layout != torch.strided and not is_sparse(pattern):
        pattern = from_torch(pattern.detach())
    if is_sparse(pattern):
        return true_ones(pattern) if pattern.dtype == torch.bool else pattern.pattern
    if pattern.dtype != torch.bool:
        raise ArgumentError(
            "a dense pattern is a boolean mask",
            expected="torch.bool, True where a query looks",
            got=str(pattern.dtype),
            fix="mask != 0; numbers that are added to the scores are a bias=",
        )
    return mask_pattern(pattern)


@functools.lru_cache(maxsize=64)
def _made(cls, heads):
    """An instance of a class that was handed over: with the number of heads where its constructor asks for it."""
    return cls(num_heads=heads) if "num_heads" in inspect.signature(cls).parameters else cls()


def mask_pattern(mask):
    """The Pattern of a dense boolean mask, in CSR, matrix after matrix."""
    mask = mask.detach()
    pos = mask.new_zeros(mask.shape[:-1].numel() + 1, dtype=torch.int64)
    torch.cumsum(mask.sum(-1).reshape(-1), 0, out=pos[1:])
    crd = mask.nonzero()[:, -1].to(index_type(mask.shape[-1]))
    return rows_pattern(pos, crd, mask.shape)


def true_ones(mask):
    """The Pattern of the elements of a boolean stt.Tensor that are True."""
    values, rows = mask.values().detach(), by_rows(mask.pattern)
    if not rows.once:
        raise Unsupported("elements that several parts of a sum store cannot be told apart", fix='mask.to("CSR")')
    if values.all():
        return mask.pattern
    there = rows.values(values)
    before = torch.cat([rows.pos.new_zeros(1), there.cumsum(0)])
    return rows_pattern(before[rows.pos], rows.crd[there], mask.shape)


def lead_of(q, k, v, rows, bias):
    shapes = [x.shape[:-2] for x in (q, k, v)] + [rows.lead]
    if bias is not None and bias.dim() > 2:
        shapes.append(bias.shape[:-2])
    try:
        return torch.broadcast_shapes(*shapes)
    except RuntimeError:
        raise TensorError(
            "the dimensions in front do not fit",
            expected="batch and heads that broadcast, of queries, keys, values, pattern and bias",
            got=", ".join(str(tuple(shape)) for shape in shapes),
        ) from None


def bias_at(bias, pattern, rows, lead):
    """(its values at the elements of the pattern, 1-D, where those of each product start). Products that share a pattern and a bias
    share their values."""
    if bias is None:
        return None, None
    if bias.dtype == torch.bool:
        bias = _where_true(bias)
    if is_sparse(bias) and bias.pattern == pattern and rows.once:
        return rows.values(bias.values()), [rows.starts[p] for p in rows.which(lead)]
    own = bias.shape[-2:]
    if bias.dim() < 2 and not is_sparse(bias):
        bias = bias.expand(1, rows.keys)
        own = bias.shape
    if any(have not in (1, want) for have, want in zip(own, (rows.queries, rows.keys))):
        raise TensorError(
            "the bias does not fit", expected=f"(..., {rows.queries}, {rows.keys})", got=str(tuple(bias.shape))
        )
    biases = rows.which(lead, bias.shape[:-2])
    found, at, known, used = [], [], {}, 0
    for pair in zip(rows.which(lead), biases):
        if pair not in known:
            known[pair] = used
            found.append(_bias_of(bias, own, pair[1], *rows.places(pair[0])))
            used += len(found[-1])
        at.append(known[pair])
    return torch.cat(found) if found else bias.new_zeros(0), at


def _bias_of(bias, own, which, row, column):
    row, column = (x if extent > 1 else torch.zeros_like(x) for x, extent in zip((row, column), own))
    if is_sparse(bias):
        return elements(bias, (which * own[0] + row) * own[1] + column)
    return bias.reshape(bias.shape[:-2].numel(), *own)[which][row, column]


def _where_true(mask):
    if is_sparse(mask):
        raise Unsupported("a sparse bias of truth values hides nothing that it does not store", fix="pattern=mask")
    return torch.where(mask, 0.0, -math.inf)


def sum_of(bias, more):
    return more if bias is None else bias + more


def of_keys(mask, lead, keys):
    """(batch, S) as a bias of all heads and queries."""
    if mask.dim() == 1:
        mask = mask[None]
    if mask.dim() != 2 or mask.shape[1] != keys or (mask.shape[0] != 1 and (not lead or mask.shape[0] != lead[0])):
        raise TensorError(
            "the key_padding_mask does not fit",
            expected=f"({lead[0] if lead else 1}, {keys}): a row for each of the batch",
            got=str(tuple(mask.shape)),
        )
    return mask.reshape(mask.shape[0], *(1,) * len(lead), keys) if lead else mask


def hidden_keys(mask, lead, keys):
    """A number for each product and key, (products, S), or None."""
    if mask is None:
        return None
    found = of_keys(mask.detach(), lead, keys)
    if found.dtype == torch.bool:
        found = torch.where(found, -math.inf, 0.0)
    return found.to(torch.float32).expand(*lead, 1, keys).reshape(lead.numel(), keys)


def from_row(pattern, start, queries, keys):
    """The rows of a pattern from `start` on, as many as there are queries, without the keys that are not there yet."""
    rows = by_rows(pattern)
    if start < 0 or start + queries > rows.queries or keys > rows.keys:
        raise TensorError(
            "the pattern has no such rows",
            expected=f"start + queries up to {rows.queries}, keys up to {rows.keys}",
            got=f"{start} + {queries}, {keys} keys",
        )
    ends, crds = [torch.zeros(1, dtype=torch.int64)], []
    for matrix in range(rows.lead.numel()):
        pos = rows.pos[matrix * rows.queries + start : matrix * rows.queries + start + queries + 1]
        crd = rows.crd[int(pos[0]) : int(pos[-1])]
        there = crd < keys
        before = torch.cat([pos.new_zeros(1), there.cumsum(0)])
        ends.append(before[pos - pos[0]][1:] + ends[-1][-1])
        crds.append(crd[there])
    return rows_pattern(torch.cat(ends), torch.cat(crds), (*rows.lead, queries, keys))
