"""Between stored values and the dense tensor, as two linear operators, each the other's adjoint, of any derivative and under any
transform:

    scatter  the dense tensor with these values
    gather   the values that a dense tensor has at the slots
"""

import torch
from torch.autograd.function import _SingleLevelFunction

from . import _ops
from ._pattern import pattern_of

_SCATTER = "scatter_v2(Tensor values, Tensor[] index, str layout, SymInt size) -> Tensor"
_GATHER = "gather_v2(Tensor dense, Tensor[] index, str layout, SymInt size) -> Tensor"
_calls = torch.ops.strata


def scatter(values, pattern):
    return _calls.scatter_v2(values, list(pattern.index), pattern.layout, values.shape[0])


class _Linear(_SingleLevelFunction):
    """`to_dense`: is it scatter? `size`: the number of values."""

    @staticmethod
    def forward(ctx, x, index, layout, size, to_dense):
        ctx.save_for_backward(*index)
        ctx.save_for_forward(*index)
        ctx.how = layout, size, to_dense
        op, raw = (_calls.scatter_v2, _calls._scatter_v2) if to_dense else (_calls.gather_v2, _calls._gather_v2)
        return _ops._below(op, raw, x, index, layout, size)

    @staticmethod
    def backward(ctx, g):
        layout, size, to_dense = ctx.how
        adjoint = _calls.gather_v2 if to_dense else _calls.scatter_v2
        return adjoint(g, list(ctx.saved_tensors), layout, size), None, None, None, None

    @staticmethod
    def jvp(ctx, of_x, *_):
        layout, size, to_dense = ctx.how
        return (_calls.scatter_v2 if to_dense else _calls.gather_v2)(of_x, list(ctx.saved_tensors), layout, size)


_apply = _Linear.apply


def _scatter_autograd(values, index, layout, size):
    return _ops._recorded(_apply, values, index, layout, size, True)


def _gather_autograd(dense, index, layout, size):
    return _ops._recorded(_apply, dense, index, layout, size, False)


def _scatter_kernel(values, index, layout, size):
    return pattern_of(layout, index).scatter(values)


def _gather_kernel(dense, index, layout, size):
    return pattern_of(layout, index).gather(dense)


def _scatter_fake(values, index, layout, size):
    return values.new_empty(_ops._shape_of(layout))


def _gather_fake(dense, index, layout, size):
    return dense.new_empty(size)


def _scatter_vmap(info, in_dims, x, index, layout, size):
    return _ops._each(info, in_dims[:1], lambda x: _calls.scatter_v2(x, index, layout, size), x)


def _gather_vmap(info, in_dims, x, index, layout, size):
    return _ops._each(info, in_dims[:1], lambda x: _calls.gather_v2(x, index, layout, size), x)


_ops.register(_SCATTER, _scatter_kernel, _scatter_fake, _scatter_autograd, _scatter_vmap)
_ops.register(_GATHER, _gather_kernel, _gather_fake, _gather_autograd, _gather_vmap)
