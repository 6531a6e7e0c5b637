"""Attention in which each query looks at the keys that a pattern stores: scores, softmax and the weighted sum of values, matrix by
matrix and rows by rows, so that no more scores exist at a time than a task has. Kept for the gradient are one or two numbers for
each query."""

import dataclasses
import functools
import inspect
import math

import torch
import torch.nn.functional as F
from torch.autograd import Function

import strata as st

from ..errors import ArgumentError, DTypeError, TensorError, Unsupported
from . import _kernels, _ops
from ._attention_rows import by_rows, index_type, rows_pattern
from ._contract import plain
from ._einsum import alike
from ._elements import elements
from ._matrix import implements, is_sparse
from ._pattern import Pattern
from ._tensor import from_torch


def attention(q, k, v, pattern, bias=None, key_padding_mask=None, dropout_p=0.0, scale=None, *, start=None):
    """softmax(scale * q @ k.T + bias) @ v, where each query looks at the keys that the pattern stores, and at no others.

        q, k, v = (torch.randn(2, 4, 256, 16) for _ in range(3))  # batch, heads, length, features
        y = stt.attention(q, k, v, stt.patterns.local(256, distance=32))

    q : (..., L, E), k : (..., S, E), v : (..., S, D), dense, of one dtype. The dimensions in front broadcast: batch, heads.
    pattern : (L, S), or with dimensions in front, (heads, L, S), of any format: a Pattern; a boolean mask (True: looked at), dense
        or an stt.Tensor; an stt.Tensor of numbers, whose stored elements count; a SparsityConfig; or a sparsifier that finds it
        from q, k and v: an object with pattern(x, q=, k=, v=), where x is None, or a function. A class is called first.
    bias : added to the scores: dense (broadcast to (..., L, S)) or an stt.Tensor; False in a boolean one hides the key.
    key_padding_mask : (batch, S), for q of (batch, ..., L, E): True hides a key; numbers are added to its scores.
    dropout_p : the share of weights that are dropped, as torch's generator says; scale : 1 / sqrt(E) where none is given.
    start : with a cache of keys: q holds the rows of the pattern from here on, k and v the keys that there are so far.

    A query that looks at nothing gives zeros, and has no gradient. Differentiable any number of times in q, k, v and bias. Scores
    in float32, for float64 in float64; at most 2,097,152 of them (or a row) exist at a time. TensorError, DTypeError, ArgumentError.
    """
    q, k, v = _operands(q, k, v)
    pattern = resolved(pattern, q, k, v)
    if start is not None:
        pattern = _from_row(pattern, start, q.shape[-2], k.shape[-2])
    if pattern.shape[-2:] != (q.shape[-2], k.shape[-2]):
        raise TensorError(
            "the pattern does not fit queries and keys",
            expected=f"(..., {q.shape[-2]}, {k.shape[-2]})",
            got=str(tuple(pattern.shape)),
            fix="start= where a cache holds the keys so far",
        )
    if not 0 <= dropout_p <= 1:
        raise ArgumentError("dropout_p is a share of the weights", expected="0 to 1", got=str(dropout_p))
    rows = by_rows(pattern)
    bare = bias is None and key_padding_mask is None and not dropout_p
    if rows.full and bare and not rows.lead and q.shape[:-2] == k.shape[:-2] == v.shape[:-2] and pattern.shape.numel():
        with torch._C.DisableTorchFunctionSubclass():
            return F.scaled_dot_product_attention(q, k, v, scale=scale)
    lead = _lead(q, k, v, rows, bias)
    scale = 1 / math.sqrt(q.shape[-1] or 1) if scale is None else scale
    if key_padding_mask is not None and key_padding_mask.is_floating_point() and key_padding_mask.requires_grad:
        bias, key_padding_mask = _sum(bias, _of_keys(key_padding_mask, lead, k.shape[-2])), None
    values, at = _bias(bias, pattern, rows, lead)
    how = _How(rows, lead, scale, at, _hidden(key_padding_mask, lead, k.shape[-2]), dropout_p, _seed(dropout_p))
    q, k, v = (x.expand(*lead, *x.shape[-2:]).reshape(lead.numel(), *x.shape[-2:]) for x in (q, k, v))
    tensors = (q, k, v) if values is None else (q, k, v, values)
    y = _apply(q, k, v, values, how) if plain(*tensors) else _composed(q, k, v, values, how)
    return y.reshape(*lead, *y.shape[-2:])


@dataclasses.dataclass
class _How:
    """What is the same for all tasks of a call. at: where the biases of each product start; hidden: a number for each product and
    key that is added to the scores."""

    rows: object
    lead: torch.Size
    scale: float
    at: list
    hidden: object
    dropout_p: float
    seed: int

    def tasks(self):
        return self.rows.tasks(self.lead)

    def added(self, task, bias):
        """What is added to the scores of a task, or None."""
        found = None
        if bias is not None:
            pieces = [bias[at + task.before :] for at in self.at[task.start : task.start + task.count]]
            if task.count == 1:
                found = pieces[0][: task.pattern.num_values]
            else:
                which = self.rows.which(self.lead)[task.start : task.start + task.count]
                starts = self.rows.starts
                found = torch.cat([x[: starts[p + 1] - starts[p]] for x, p in zip(pieces, which)])
        if self.hidden is not None:
            of_keys = _part(self.hidden[..., None], task, False)[:, 0].index_select(0, task.crd)
            found = of_keys if found is None else found + of_keys
        return found

    def add_bias_gradient(self, task, total, g):
        """The other way."""
        which, starts, used = self.rows.which(self.lead), self.rows.starts, 0
        for n in range(task.start, task.start + task.count):
            size = task.pattern.num_values if task.count == 1 else starts[which[n] + 1] - starts[which[n]]
            at = self.at[n] + task.before
            total[at : at + size] += g[used : used + size]
            used += size

    def kept(self, n, task, dtype):
        """For each weight of the n-th task what dropout multiplies it by, or None."""
        if not self.dropout_p:
            return None
        draw = torch.Generator().manual_seed(self.seed + n)
        kept = torch.rand(task.pattern.num_values, generator=draw) >= self.dropout_p
        return kept.to(dtype) / (1 - self.dropout_p) if self.dropout_p < 1 else kept.to(dtype)


def _part(x, task, of_queries):
    """The rows of a task, of all its matrices, as one matrix."""
    if task.count == 1:
        return x[task.start, task.first : task.last] if of_queries else x[task.start, task.low : task.high]
    return x[task.start : task.start + task.count].reshape(task.count * x.shape[1], x.shape[-1])


class _Attention(Function):
    """By kernels, task by task. The gradient computes exp(score - top) again; `one` is what the sums of a row are multiplied by.

    Within the loops torch has nothing large to do: its threads spin for a while after each operation, on the cores that ours want next."""

    @staticmethod
    def forward(ctx, q, k, v, bias, how):
        c = _computed_in(q.dtype)
        qs, kc, vc = ((q * how.scale).to(c).contiguous(), *(x.to(c).contiguous() for x in (k, v)))
        added = None if bias is None else bias.to(c)
        one, found = qs.new_empty(*q.shape[:-1], 1), []
        top = None if _are_small(qs, kc, added, how.hidden) else torch.empty_like(one)
        for n, task in enumerate(how.tasks()):
            p = task.pattern
            scores = _scores(p, _part(qs, task, True), _part(kc, task, False), how.added(task, added))
            if top is not None:
                largest = torch.as_tensor(st.evaluate("m(i) = S(i,j)", S=p.with_values(scores), semiring="max-plus"))
                _part(top, task, True)[:, 0] = torch.where(largest == -math.inf, 0, largest)
            weights = _exponentials(p, scores, top, task)
            total = torch.as_tensor(st.evaluate("z(i) = W(i,j)", W=p.with_values(weights)))
            _part(one, task, True)[:, 0] = torch.where(total == 0, 0, 1 / total)
            kept = how.kept(n, task, c)
            weights = weights if kept is None else weights * kept
            found.append(_kernels.mm(p, weights, _part(vc, task, False), False, False))
        y = _put_together(found, one, v.shape[-1]).mul_(one)
        ctx.how = how
        ctx.save_for_backward(q, k, v, bias, y, one, top)
        return y.to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        q, k, v, bias, y, one, top = ctx.saved_tensors
        how, needs = ctx.how, ctx.needs_input_grad
        if torch.is_grad_enabled():
            return *_again(how, (q, k, v, bias), needs, g), None
        c = y.dtype
        qs, kc, vc = ((q * how.scale).to(c).contiguous(), *(x.to(c).contiguous() for x in (k, v)))
        added = None if bias is None else bias.to(c)
        of_q, of_k, of_v = [], _OfKeys(kc), _OfKeys(vc)
        of_bias = torch.zeros_like(added) if needs[3] else None
        gc = (g.to(c) * one).contiguous()
        mean = (gc * y).sum(-1, keepdim=True)
        for n, task in enumerate(how.tasks()):
            p = task.pattern
            qt, gt = _part(qs, task, True), _part(gc, task, True)
            kt, vt = _part(kc, task, False), _part(vc, task, False)
            weights = _exponentials(p, _scores(p, qt, kt, how.added(task, added)), top, task)
            kept = how.kept(n, task, c)
            if needs[2]:
                dropped = weights if kept is None else weights * kept
                of_v.add(task, _kernels.mm(p, dropped, gt, True, False))
            if not any(needs[i] for i in (0, 1, 3)):
                continue
            of_weights = _kernels.sampled(p, gt, vt)
            of_weights = of_weights if kept is None else of_weights * kept
            of_scores = _less_mean(p, weights, of_weights, _part(mean, task, True)[:, 0])
            if needs[0]:
                of_q.append(_kernels.mm(p, of_scores, kt, False, False))
            if needs[1]:
                of_k.add(task, _kernels.mm(p, of_scores, qt, True, False))
            if needs[3]:
                how.add_bias_gradient(task, of_bias, of_scores)
        of_q = _put_together(of_q, one, q.shape[-1]).mul_(how.scale) if needs[0] else None
        of_k, of_v = (x.all() if need else None for x, need in zip((of_k, of_v), needs[1:]))
        found = zip((of_q, of_k, of_v, of_bias), (q, k, v, bias))
        return *(None if x is None else x.to(like.dtype) for x, like in found), None


_apply = super(Function, _Attention).apply


def _put_together(found, one, features):
    """What all tasks found for their queries, one after another."""
    y = torch.cat(found) if found else one.new_zeros(0)
    return y.reshape(*one.shape[:-1], features)


class _OfKeys:
    """A gradient of keys or values, task by task: several tasks may cut one matrix."""

    def __init__(self, like):
        self.like, self.found, self.last = like, [], None

    def add(self, task, g):
        keys = self.like.shape[1]
        if task.count > 1 or len(g) == keys and self.last != task.start:
            self.found.append(g)
        else:
            if self.last != task.start:
                self.found.append(g.new_zeros(keys, g.shape[1]))
            self.found[-1][task.low : task.high] += g
        self.last = task.start

    def all(self):
        return torch.cat(self.found).reshape(self.like.shape) if self.found else torch.zeros_like(self.like)


def _computed_in(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


def _scores(p, q, k, added):
    scores = _kernels.sampled(p, q, k)
    return scores if added is None else scores + added


def _exponentials(p, scores, top, task):
    """exp(score - the number of its row in `top`), or of the score alone."""
    ones = p.ones_of(scores.dtype)
    if top is None:
        return p.values_of(st.evaluate("W(i,j) = P(i,j) * exp(S(i,j))", P=ones, S=p.with_values(scores)))
    found = st.evaluate(
        "W(i,j) = P(i,j) * exp(S(i,j) - m(i))",
        P=ones,
        S=p.with_values(scores),
        m=_part(top, task, True)[:, 0].contiguous(),
    )
    return p.values_of(found)


def _less_mean(p, weights, of_weights, mean):
    """What the softmax makes of a gradient: weight * (gradient - the mean of its row)."""
    text = "D(i,j) = W(i,j) * (G(i,j) - m(i))"
    w, g = (p.with_values(x) for x in (weights, of_weights))
    return p.values_of(st.evaluate(text, W=w, G=g, m=mean.contiguous()))


#: exponentials of scores up to this size neither overflow nor vanish, so that the largest of each row need not be looked for
_SMALL = 40


def _are_small(q, k, bias, hidden):
    """Is no score large, by the lengths of queries and keys? (-inf has no weight, whatever else is there.)"""
    if not q.numel() or not k.numel():
        return True
    bound = torch.linalg.vector_norm(q, dim=-1).max() * torch.linalg.vector_norm(k, dim=-1).max()
    for added in (bias, hidden):
        if added is not None and added.numel():
            bound = bound + torch.where(added == -math.inf, 0, added).abs().max()
    return bool(bound <= _SMALL)


def _composed(q, k, v, bias, how):
    """The same of operators that have every derivative and that every transform knows."""
    c = _computed_in(q.dtype)
    qs, kc, vc = ((q * how.scale).to(c), k.to(c), v.to(c))
    added, found = None if bias is None else bias.to(c), []
    for n, task in enumerate(how.tasks()):
        p, row, size = task.pattern, task.row(), task.count * (task.last - task.first)
        scores = _ops.sampled(_part(qs, task, True), _part(kc, task, False), p)
        more = how.added(task, added)
        scores = scores if more is None else scores + more
        weights, total = exponentials(scores, row, size)
        kept = how.kept(n, task, c)
        sums = _ops.mm(weights if kept is None else weights * kept, p, _part(vc, task, False))
        found.append(sums / total[:, None])
    y = torch.cat(found) if found else qs.new_zeros(0)
    return y.reshape(*q.shape[:-1], v.shape[-1]).to(q.dtype)


def exponentials(scores, row, rows):
    """(exp(score - the largest of its row), the sum of each row, 1 where that is 0), by torch. Scores of -inf have no weight."""
    fixed = scores.detach()
    top = fixed.new_full((rows,), -math.inf).scatter_reduce(0, row, fixed, "amax")
    weights = (scores - torch.where(top == -math.inf, 0, top).index_select(0, row)).exp()
    total = weights.new_zeros(rows).index_add(0, row, weights)
    return weights, torch.where(total == 0, 1, total)


def row_softmax(values, pattern):
    """The softmax of each row of a pattern of two or more dimensions, in its own order; a row of -inf becomes zeros. Differentiable
    any number of times."""
    rows = by_rows(pattern)
    count = len(rows.pos) - 1
    row = torch.arange(count).repeat_interleave(rows.pos.diff(), output_size=len(rows.crd))
    weights, total = exponentials(rows.values(values), row, count)
    weights = weights / total.index_select(0, row)
    return weights if rows.slot is None else torch.zeros_like(values).index_put((rows.slot,), weights)


def _again(how, tensors, needs, g):
    """The gradients of _composed, themselves differentiable."""
    y = _composed(*tensors, how)
    wanted = [x for x, need in zip(tensors, needs) if need]
    found = iter(torch.autograd.grad(y, wanted, g, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needs[:4]]


# What callers give


def _operands(q, k, v):
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


def _lead(q, k, v, rows, bias):
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


def _bias(bias, pattern, rows, lead):
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
    biases = torch.arange(bias.shape[:-2].numel()).reshape(bias.shape[:-2]).expand(lead).reshape(-1).tolist()
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


def _sum(bias, more):
    return more if bias is None else bias + more


def _of_keys(mask, lead, keys):
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


def _hidden(mask, lead, keys):
    """A number for each product and key, (products, S), or None."""
    if mask is None:
        return None
    of_keys = _of_keys(mask.detach(), lead, keys)
    if of_keys.dtype == torch.bool:
        of_keys = torch.where(of_keys, -math.inf, 0.0)
    return of_keys.to(torch.float32).expand(*lead, 1, keys).reshape(lead.numel(), keys)


def _seed(dropout_p):
    return int(torch.randint(1 << 62, ())) if dropout_p else 0


def _from_row(pattern, start, queries, keys):
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


@implements(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """torch's own, of a sparse mask: of truth values, or of numbers that are added to the scores of the stored elements."""
    if not is_sparse(attn_mask) or any(map(is_sparse, (query, key, value))):
        return NotImplemented
    if is_causal:
        raise ArgumentError("a mask and is_causal= exclude each other", got="both")
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    bias = None if attn_mask.dtype == torch.bool else attn_mask
    return attention(query, key, value, attn_mask, bias, None, dropout_p, scale)
