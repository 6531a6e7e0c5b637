"""Attention as one operator and its gradient as another: what torch.compile and torch.export see of stt.attention. Batches and heads
are dimensions of its operands, so that one graph serves all of them; patterns of masks are found while it runs."""

import math

import torch
from torch.autograd.function import _SingleLevelFunction

from ..errors import Unsupported
from . import _ops
from ._attention_function import How, backward, composed, computed_in, forward, gradients
from ._attention_inputs import (
    Found,
    alike_pattern,
    bias_at,
    bias_gradient,
    causal_pattern,
    from_row,
    hidden_keys,
    mask_pattern,
)
from ._attention_rows import by_rows
from ._contract import plain
from ._pattern import pattern_of

# As in _ops: a new formula needs a new name. `layout`: that of a pattern whose arrays are `index`, or one of _MAKERS, of `index`.
_HOW = "Tensor? bias, Tensor? padding, Tensor? seed, Tensor[] index, str layout, SymInt start, float? scale, float dropout_p"
_SCHEMA = f"attention_v1(Tensor q, Tensor k, Tensor v, {_HOW}) -> (Tensor, Tensor, Tensor)"
_GRADIENT = (
    "attention_gradient_v1(Tensor g, Tensor y, Tensor one, Tensor top, Tensor q, Tensor k, Tensor v, "
    f"{_HOW}, bool[] needs) -> (Tensor, Tensor, Tensor, Tensor)"
)
_MAKERS = {
    "mask": lambda shape, mask: mask_pattern(mask),
    "alike": lambda shape, of_q, of_k: alike_pattern(of_q, of_k, shape),
}
_MAKERS.update({f"{name}, causal": lambda *args, _f=f: causal_pattern(_f(*args)) for name, f in _MAKERS.items()})


def in_graph(q, k, v, pattern, bias, padding, dropout_p, scale, start):
    """What _attention.attention() says, of operands that have all dimensions in front."""
    if bias is not None:
        bias = bias if isinstance(bias, torch.Tensor) else bias.to_dense()
    seed = torch.randint(1 << 62, ()) if dropout_p else None
    found = isinstance(pattern, Found)
    index, layout = (pattern.tensors, pattern.maker) if found else (pattern.index, pattern.layout)
    start = -1 if start is None else start
    y, _, _ = _op(q, k, v, bias, padding, seed, list(index), layout, start, scale, dropout_p)
    return y.to(q.dtype)


def _prepared(q, k, v, bias, padding, seed, index, layout, start, scale, dropout_p):
    """((q, k, v, bias), the first three and the bias at the pattern as the kernels want them, How, which of the keys these are)"""
    lead, (queries, keys), columns = q.shape[:-2], (q.shape[-2], k.shape[-2]), None
    if layout in _MAKERS:
        pattern = _MAKERS[layout]((*lead, queries, keys), *index)
    else:
        pattern = pattern_of(layout, index)
    if start >= 0:
        pattern, k, v, bias, padding, columns = from_row(pattern, start, k, v, bias, padding, queries)
    rows = by_rows(pattern)
    values, at = bias_at(bias, pattern, rows, lead)
    scale = 1 / math.sqrt(q.shape[-1] or 1) if scale is None else scale
    hidden = hidden_keys(padding, lead, k.shape[-2])
    how = How(rows, lead, scale, at, hidden, dropout_p, 0 if seed is None else int(seed))
    products = [x.reshape(lead.numel(), *x.shape[-2:]) for x in (q, k, v)]
    return (q, k, v, bias), (*products, values), how, columns


def _kernel(q, k, v, bias, padding, seed, *rest):
    q, k, v, bias, padding = (x if x is None else _ops._plainly(x) for x in (q, k, v, bias, padding))
    _, tensors, how, _ = _prepared(q, k, v, bias, padding, seed, *rest)
    return tuple(x.reshape(*q.shape[:-1], x.shape[-1]) for x in forward(*tensors, how))


def _gradient_kernel(g, y, one, top, q, k, v, bias, padding, seed, index, layout, start, scale, dropout_p, needs):
    given = g, q, k, v, bias, padding = [x if x is None else _ops._plainly(x) for x in (g, q, k, v, bias, padding)]
    used, tensors, how, columns = _prepared(q, k, v, bias, padding, seed, index, layout, start, scale, dropout_p)
    y, one, top, g = (x.reshape(-1, *x.shape[-2:]) for x in (y, one, top, g))
    found = backward(how, tensors, (y, one, top), g, needs)
    if found[3] is not None:
        found[3] = bias_gradient(found[3], used[3].shape, how.rows, how.lead)
    found = [x if x is None else x.reshape(like.shape) for x, like in zip(found, used)]
    if columns is not None:
        for n, dim in ((1, -2), (2, -2), (3, -1)):
            if found[n] is not None:
                found[n] = torch.zeros_like(given[1 + n]).index_copy_(dim, columns, found[n])
    return tuple(q.new_empty(0) if x is None else x for x in found)


def _fake(q, k, v, *_):
    one = q.new_empty((*q.shape[:-1], 1), dtype=computed_in(q.dtype))
    return one.new_empty((*q.shape[:-1], v.shape[-1])), one, torch.empty_like(one)


def _gradient_fake(g, y, one, top, q, k, v, bias, *rest):
    like = zip((q, k, v, q if bias is None else bias), rest[-1])
    return tuple(x.new_empty(x.shape if needed else (0,)) for x, needed in like)


class _AttentionOp(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, how, q, k, v, bias, padding, seed, *index):
        found = _ops._below(_op, _raw, q, k, v, bias, padding, seed, list(index), *how)
        ctx.how = how
        ctx.save_for_backward(q, k, v, bias, padding, seed, *index, *found)
        ctx.mark_non_differentiable(*found[1:])
        return found

    @staticmethod
    def backward(ctx, g, *_):
        (*inputs, y, one, top), needs = ctx.saved_tensors, list(ctx.needs_input_grad[1:5])
        inputs, index = inputs[:6], inputs[6:]
        if torch.is_grad_enabled() and plain(g, *(x for x in inputs if x is not None)):
            found = _again(inputs, index, ctx.how, needs, g)
        else:
            found = _gradient(g, y, one, top, *inputs, index, *ctx.how, needs)
        return None, *(x if need else None for x, need in zip(found, needs)), None, None, *[None] * len(index)


def _again(inputs, index, how, needs, g):
    """The gradients by operators that are differentiable once more."""
    q, k, v, bias, padding, seed = inputs
    _, tensors, prepared, _ = _prepared(q, k, v, bias, padding, seed, index, *how)
    return gradients(composed(*tensors, prepared).reshape(g.shape), (q, k, v, bias), needs, g)


class _GradientOp(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, count, needs, how, *tensors):
        (*operands, seed), index = tensors[:count], tensors[count:]
        return _ops._below(_gradient, _raw_gradient, *operands, seed, list(index), *how, needs)

    @staticmethod
    def backward(ctx, *_):
        raise Unsupported(
            "the gradient of an attention in a graph has no gradient",
            expected="first derivatives under torch.compile",
            got="second ones",
            fix="the function itself, not compiled",
        )


_apply, _apply_gradient = _AttentionOp.apply, _GradientOp.apply


def _with_autograd(q, k, v, bias, padding, seed, index, *how):
    return _ops._recorded(_apply, how, q, k, v, bias, padding, seed, *index)


def _gradient_with_autograd(g, y, one, top, q, k, v, bias, padding, seed, index, *how_and_needs):
    operands = g, y, one, top, q, k, v, bias, padding, seed
    *how, needs = how_and_needs
    return _ops._recorded(_apply_gradient, len(operands), needs, how, *operands, *index)


def _each(op):
    """A call for each of a batch."""

    def vmap(info, in_dims, *arguments):
        pick = lambda x, d, n: (  # noqa: E731
            x
            if d is None
            else [pick(*pair, n) for pair in zip(x, d)]
            if isinstance(x, (list, tuple))
            else x.select(d, n)
        )
        found = [op(*(pick(x, d, n) for x, d in zip(arguments, in_dims))) for n in range(info.batch_size)]
        found = tuple(map(torch.stack, zip(*found)))
        return found, (0,) * len(found)

    return vmap


_ops.register(_SCHEMA, _kernel, _fake, _with_autograd, _each(lambda *a: _op(*a)))
_ops.register(_GRADIENT, _gradient_kernel, _gradient_fake, _gradient_with_autograd, _each(lambda *a: _gradient(*a)))
_op, _raw = torch.ops.strata.attention_v1, torch.ops.strata._attention_v1
_gradient, _raw_gradient = torch.ops.strata.attention_gradient_v1, torch.ops.strata._attention_gradient_v1
