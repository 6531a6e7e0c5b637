"""What callers of an attention give: queries, keys and values, patterns of any kind, biases and paddings, checked and in one form."""

import functools
import inspect
import math

import numpy as np
import torch

from ..errors import ArgumentError, DTypeError, TensorError, Unsupported
from ._attention_rows import by_rows, index_type, rows_pattern, unwrapped
from ._broadcast import broadcast_shapes
from ._einsum import alike
from ._elements import elements
from ._matrix import is_sparse
from ._pattern import Pattern, lasting
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
    if isinstance(pattern, (Pattern, Found)):
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
    return Found("mask", pattern.shape, pattern) if torch.compiler.is_compiling() else mask_pattern(pattern)


class Found:
    """A pattern that does not exist before a graph of torch.compile runs: what it is made of, `tensors`, and by which of MAKERS."""

    def __init__(self, maker, shape, *tensors):
        self.maker, self.shape, self.tensors = maker, shape, tensors

    def causal(self):
        """Of its pairs those whose key is not after the query."""
        return self if self.maker.endswith("causal") else Found(f"{self.maker}, causal", self.shape, *self.tensors)


@functools.lru_cache(maxsize=64)
def _made(cls, heads):
    """An instance of a class that was handed over: with the number of heads where its constructor asks for it."""
    return cls(num_heads=heads) if "num_heads" in inspect.signature(cls).parameters else cls()


def mask_pattern(mask):
    """The Pattern of a dense boolean mask, in CSR, matrix after matrix."""
    mask = unwrapped(mask)
    rows, columns = mask.shape[:-1].numel(), mask.shape[-1]
    with lasting():
        flat = torch.from_numpy(np.flatnonzero(mask.numpy()))  # several times as fast as nonzero()
        starts = torch.arange(rows + 1) * columns
        pos = torch.searchsorted(flat, starts)
        crd = flat - starts[:-1].repeat_interleave(pos.diff(), output_size=len(flat))
    return rows_pattern(pos, crd.to(index_type(columns)), mask.shape)


def causal_pattern(pattern):
    """The pairs (query, key) of a pattern whose key is not after the query."""
    rows = by_rows(pattern)
    there = rows.crd <= torch.arange(len(rows.pos) - 1).repeat_interleave(rows.pos.diff()) % max(rows.queries, 1)
    before = torch.cat([rows.pos.new_zeros(1), there.cumsum(0)])
    return rows_pattern(before[rows.pos], rows.crd[there], pattern.shape)


def alike_pattern(of_q, of_k, shape=None):
    """The Pattern of the pairs of queries and keys with the same number; of several matrices of them, one after the other."""
    shape = (len(of_q), len(of_k)) if shape is None else shape
    of_q, of_k = (x.reshape(-1, x.shape[-1]) for x in (of_q, of_k))
    (n, _), keys = of_q.shape, of_k.shape[1]
    several = int(max(of_q.max(), of_k.max())) + 1 if of_q.numel() and of_k.numel() else 1
    of_q, of_k = ((x + torch.arange(n)[:, None] * several).reshape(-1) for x in (of_q, of_k))
    order = of_k.argsort(stable=True)
    sizes = torch.bincount(of_k, minlength=n * several)
    starts = sizes.cumsum(0) - sizes
    count = sizes[of_q]
    pos = torch.cat([count.new_zeros(1), count.cumsum(0)])
    at = torch.arange(int(pos[-1])) + (starts[of_q] - pos[:-1]).repeat_interleave(count)
    return rows_pattern(pos, (order[at] % max(keys, 1)).to(index_type(keys)), shape)


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


def lead_of(q, k, v, heads, bias):
    shapes = [x.shape[:-2] for x in (q, k, v)] + [heads]
    if bias is not None and bias.dim() > 2:
        shapes.append(bias.shape[:-2])
    try:
        return broadcast_shapes(*shapes)
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
        bias = where_true(bias)
    if is_sparse(bias) and bias.pattern == pattern and rows.once:
        return rows.values(bias.values()), [rows.starts[p] for p in rows.which(lead)]
    places, at = _bias_places(bias.shape, rows, lead)
    flat = None if is_sparse(bias) else bias.reshape(-1)
    found = [elements(bias, place) if flat is None else flat[place] for place in places]
    return torch.cat(found) if found else bias.new_zeros(0), at


def bias_gradient(g, shape, rows, lead):
    """The gradient of a dense bias of this shape, from that of its values at the elements of a pattern."""
    total, used = g.new_zeros(math.prod(shape)), 0
    for place in _bias_places(shape, rows, lead)[0]:
        total.index_add_(0, place, g[used : used + len(place)])
        used += len(place)
    return total.reshape(shape)


def _bias_places(shape, rows, lead):
    """(for each pair of a pattern and a bias the row-major numbers of the bias's elements at those of the pattern, where they start for
    each product)"""
    own = (1, 1, *shape)[-2:]
    if any(have not in (1, want) for have, want in zip(own, (rows.queries, rows.keys))):
        raise TensorError(
            "the bias does not fit", expected=f"(..., {rows.queries}, {rows.keys})", got=str(tuple(shape))
        )
    places, at, known, used = [], [], {}, 0
    for pair in zip(rows.which(lead), rows.which(lead, shape[:-2])):
        if pair not in known:
            known[pair] = used
            row, column = (x * (extent > 1) for x, extent in zip(rows.places(pair[0]), own))
            places.append((pair[1] * own[0] + row) * own[1] + column)
            used += len(places[-1])
        at.append(known[pair])
    return places, at


def where_true(mask):
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


def from_row(pattern, start, k, v, bias, padding, queries):
    """(the rows of a pattern from `start` on, k, v, bias, padding, columns): with the keys alone that these rows look at, which stand in
    `columns`; None where they are most of those that are there so far."""
    rows, keys = by_rows(pattern), k.shape[-2]
    if start < 0 or start + queries > rows.queries or keys > rows.keys:
        raise TensorError(
            "the pattern has no such rows",
            expected=f"start + queries up to {rows.queries}, keys up to {rows.keys}",
            got=f"{start} + {queries}, {keys} keys",
        )
    fits = all(x is None or not is_sparse(x) and x.shape[-1:] == (keys,) for x in (bias, padding))
    key = start, queries, keys, fits
    found = rows.decoded
    if found is None or found[0] != key:  # the layers of a model ask for the same rows
        with lasting():
            found = rows.decoded = key, _rows_from(rows, *key)
    pattern, columns = found[1]
    if columns is not None:
        k, v = (x.index_select(-2, columns) for x in (k, v))
        bias, padding = (x if x is None else x.index_select(-1, columns) for x in (bias, padding))
    return pattern, k, v, bias, padding, columns


def _rows_from(rows, start, queries, keys, may_leave_out):
    first = torch.arange(rows.lead.numel())[:, None] * rows.queries + start
    numbers = (first + torch.arange(queries)).reshape(-1)
    before = rows.pos[numbers]
    lengths = rows.pos[numbers + 1] - before
    ends = lengths.cumsum(0)
    crd = rows.crd[torch.arange(int(lengths.sum())) + (before - ends + lengths).repeat_interleave(lengths)]
    there = crd < keys
    pos = torch.cat([ends.new_zeros(1), there.cumsum(0)])[torch.cat([ends.new_zeros(1), ends])]
    crd, columns = crd[there], None
    if may_leave_out:
        columns = torch.unique(crd).to(torch.int64)
        columns = None if 2 * len(columns) > keys else columns
    if columns is not None:
        crd, keys = torch.searchsorted(columns, crd.to(torch.int64)).to(crd.dtype), len(columns)
    return rows_pattern(pos, crd, (*rows.lead, queries, keys)), columns
