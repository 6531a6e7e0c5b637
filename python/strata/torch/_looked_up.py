"""Rows of a sparse matrix by their numbers, dense, as a linear operator of the values and its adjoint: embeddings in graphs."""

import torch
from torch.autograd.function import _SingleLevelFunction

from . import _ops
from ._embedding import gradients_of_rows, rows_of
from ._pattern import pattern_of

_ROWS = "rows_v1(Tensor values, Tensor[] index, str layout, Tensor numbers) -> Tensor"
_BACK = "rows_back_v1(Tensor g, Tensor[] index, str layout, Tensor numbers, SymInt size) -> Tensor"
_calls = torch.ops.strata


def rows(values, pattern, numbers):
    """The rows of these numbers, a vector of int64: dense, (numbers, columns). IndexError when it runs."""
    return _calls.rows_v1(values, list(pattern.index), pattern.layout, numbers)


def _call(x, index, layout, numbers, size, back):
    if back:
        return _calls.rows_back_v1(x, index, layout, numbers, size)
    return _calls.rows_v1(x, index, layout, numbers)


class _Linear(_SingleLevelFunction):
    """`back`: is it the adjoint? `size`: the number of values."""

    @staticmethod
    def forward(ctx, x, numbers, index, layout, size, back):
        ctx.save_for_backward(numbers, *index)
        ctx.save_for_forward(numbers, *index)
        ctx.how = layout, size, back
        if back:
            return _ops._below(_calls.rows_back_v1, _calls._rows_back_v1, x, index, layout, numbers, size)
        return _ops._below(_calls.rows_v1, _calls._rows_v1, x, index, layout, numbers)

    @staticmethod
    def backward(ctx, g):
        (numbers, *index), (layout, size, back) = ctx.saved_tensors, ctx.how
        return _call(g, index, layout, numbers, size, not back), None, None, None, None, None

    @staticmethod
    def jvp(ctx, of_x, *_):
        (numbers, *index), (layout, size, back) = ctx.saved_tensors, ctx.how
        return _call(of_x, index, layout, numbers, size, back)


_apply = _Linear.apply


def _rows_autograd(values, index, layout, numbers):
    return _ops._recorded(_apply, values, numbers, index, layout, values.shape[0], False)


def _back_autograd(g, index, layout, numbers, size):
    return _ops._recorded(_apply, g, numbers, index, layout, size, True)


def _rows_kernel(values, index, layout, numbers):
    return rows_of(_ops._plainly(values), pattern_of(layout, index), numbers)


def _back_kernel(g, index, layout, numbers, size):
    return gradients_of_rows(_ops._plainly(g), pattern_of(layout, index), numbers)


def _rows_fake(values, index, layout, numbers):
    return values.new_empty((numbers.shape[0], _ops._shape_of(layout)[1]))


def _back_fake(g, index, layout, numbers, size):
    return g.new_empty(size)


def _rows_vmap(info, in_dims, values, index, layout, numbers):
    f = lambda values, numbers: _calls.rows_v1(values, index, layout, numbers)  # noqa: E731
    return _ops._each(info, (in_dims[0], in_dims[3]), f, values, numbers)


def _back_vmap(info, in_dims, g, index, layout, numbers, size):
    f = lambda g, numbers: _calls.rows_back_v1(g, index, layout, numbers, size)  # noqa: E731
    return _ops._each(info, (in_dims[0], in_dims[3]), f, g, numbers)


_ops.register(_ROWS, _rows_kernel, _rows_fake, _rows_autograd, _rows_vmap)
_ops.register(_BACK, _back_kernel, _back_fake, _back_autograd, _back_vmap)
