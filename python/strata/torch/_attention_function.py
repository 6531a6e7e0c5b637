"""An attention task by task: scores, softmax and the weighted sum of values, with their gradient; by kernels, or by operators that
have every derivative. No more scores exist at a time than a task has. Kept for the gradient are one or two numbers for each query."""

import dataclasses
import math

import torch
from torch.autograd.function import _SingleLevelFunction

import strata as st

from . import _kernels, _ops
from ._attention_rows import by_rows


@dataclasses.dataclass
class How:
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


class _Attention(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, q, k, v, bias, how):
        y, one, top = forward(q, k, v, bias, how)
        ctx.how = how
        ctx.save_for_backward(q, k, v, bias, y, one, top)
        return y.to(q.dtype)

    @staticmethod
    def backward(ctx, g):
        *tensors, y, one, top = ctx.saved_tensors
        needs = ctx.needs_input_grad[:4]
        if torch.is_grad_enabled():
            return *_again(ctx.how, tensors, needs, g), None
        return *backward(ctx.how, tensors, (y, one, top), g, needs), None


by_kernels = _Attention.apply


def forward(q, k, v, bias, how):
    """(y, one, top) in the dtype that is computed in: by one kernel for all rows, or with dropout task by task. `one`: what the sums of a
    row are multiplied by; `top`: the largest score of each row."""
    c = computed_in(q.dtype)
    added = None if bias is None else bias.to(c)
    if how.dropout_p:
        return _by_tasks(q, k, v, added, how, c)
    qc, kc, vc = (x.to(c).contiguous() for x in (q, k, v))
    return _kernels.attention(how.rows, how.lead, qc, kc, vc, how.scale, added, how.at, how.hidden)


def _by_tasks(q, k, v, added, how, c):
    """(result, what sums were multiplied by, the largest score of each row), with dropout."""
    qs, kc, vc = ((q * how.scale).to(c).contiguous(), *(x.to(c).contiguous() for x in (k, v)))
    one, found = qs.new_empty(*q.shape[:-1], 1), []
    top = torch.empty_like(one)
    for n, task in enumerate(how.tasks()):
        p = task.pattern
        scores = _scores(p, _part(qs, task, True), _part(kc, task, False), how.added(task, added))
        largest = torch.as_tensor(st.evaluate("m(i) = S(i,j)", S=p.with_values(scores), semiring="max-plus"))
        _part(top, task, True)[:, 0] = torch.where(largest == -math.inf, 0, largest)
        weights = _exponentials(p, scores, top, task)
        total = torch.as_tensor(st.evaluate("z(i) = W(i,j)", W=p.with_values(weights)))
        _part(one, task, True)[:, 0] = torch.where(total == 0, 0, 1 / total)
        found.append(_kernels.mm(p, weights * how.kept(n, task, c), _part(vc, task, False), False, False))
    return _put_together(found, one, v.shape[-1]).mul_(one), one, top


def backward(how, tensors, found, g, needs):
    """The gradients of q, k, v and the bias that are needed, None for others, task by task; exp(score - top) is computed again.

    Within the loop torch has nothing large to do: its threads spin for a while after each operation, on the cores that ours want next."""
    (q, k, v, bias), (y, one, top) = tensors, found
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
    return [None if x is None else x.to(like.dtype) for x, like in zip((of_q, of_k, of_v, of_bias), tensors)]


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


def computed_in(dtype):
    return torch.float64 if dtype == torch.float64 else torch.float32


def _scores(p, q, k, added):
    scores = _kernels.sampled(p, q, k)
    return scores if added is None else scores + added


def _exponentials(p, scores, top, task):
    """exp(score - the number of its row in `top`)."""
    found = st.evaluate(
        "W(i,j) = P(i,j) * exp(S(i,j) - m(i))",
        P=p.ones_of(scores.dtype),
        S=p.with_values(scores),
        m=_part(top, task, True)[:, 0].contiguous(),
    )
    return p.values_of(found)


def _less_mean(p, weights, of_weights, mean):
    """What the softmax makes of a gradient: weight * (gradient - the mean of its row)."""
    text = "D(i,j) = W(i,j) * (G(i,j) - m(i))"
    w, g = (p.with_values(x) for x in (weights, of_weights))
    return p.values_of(st.evaluate(text, W=w, G=g, m=mean.contiguous()))


def composed(q, k, v, bias, how):
    """The same of operators that have every derivative and that every transform knows."""
    c = computed_in(q.dtype)
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
    """The gradients of composed(), themselves differentiable."""
    return gradients(composed(*tensors, how), tensors, needs, g)


def gradients(y, inputs, needs, g):
    """Those that are needed, None for others; they can be differentiated once more."""
    wanted = [x for x, need in zip(inputs, needs) if need]
    found = iter(torch.autograd.grad(y, wanted, g, create_graph=True, allow_unused=True))
    return [next(found) if need else None for need in needs]
