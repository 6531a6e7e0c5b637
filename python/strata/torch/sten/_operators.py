"""Operators whose outputs are sparse, each through the four steps of its format."""

import torch
from torch.autograd import Function
from torch.utils import _pytree as pytree

from ...errors import ArgumentError
from .._fused import fused
from .._layouts import format_of, is_dense_layout, registered
from .._sparsifiers import KeepAll, instance
from .._sparsify import gradient_of, sparsify
from .._tensor import Tensor
from ._layouts import stored_as


def sparsified_op(orig_op, out_fmt, grad_out_fmt=None):
    """orig_op, whose outputs are sparse as `out_fmt` says: for each output (inline sparsifier, layout in between, external
    sparsifier, layout of the output). `grad_out_fmt`: the same for the gradient of each output, which is then that of all its
    elements; None: the gradient of what is stored.

        fmt = (stt.Threshold(0.5), "CSR", stt.KeepAll(), "CSR")
        sparse_add = stt.sten.sparsified_op(orig_op=torch.add, out_fmt=[fmt])
        assert sparse_add(torch.eye(3), torch.eye(3)).nse == 3

    An inline sparsifier that is streaming or blocking is fused with operators that work element by element, and with products: their
    dense result is never there. Within torch.compile outputs are dense tensors with zeros, and the compiler fuses."""
    out_fmt = checked(out_fmt, "out_fmt")
    grad_out_fmt = None if grad_out_fmt is None else checked(grad_out_fmt, "grad_out_fmt")
    if grad_out_fmt is not None and len(grad_out_fmt) != len(out_fmt):
        raise ArgumentError(
            "each output has a gradient", expected=f"{len(out_fmt)} formats in grad_out_fmt", got=str(len(grad_out_fmt))
        )

    def op(*args, **kwargs):
        if len(out_fmt) == 1 and (grad_out_fmt is None or not torch.is_grad_enabled()):
            y = _fused(orig_op, args, kwargs, out_fmt[0])
            if y is not None:
                return y
        outputs, tree = pytree.tree_flatten(orig_op(*args, **kwargs))
        if len(outputs) != len(out_fmt):
            raise ArgumentError(
                "a format for each output", expected=f"{len(outputs)} four-tuples in out_fmt", got=str(len(out_fmt))
            )
        grads = grad_out_fmt or [None] * len(out_fmt)
        return pytree.tree_unflatten([formatted(y, f, g) for y, f, g in zip(outputs, out_fmt, grads)], tree)

    op.__name__ = f"sparse_{getattr(orig_op, '__name__', 'op')}"
    return op


def checked(formats, name):
    formats = tuple(formats)
    for f in formats:
        if not isinstance(f, (tuple, list)) or len(f) != 4:
            raise ArgumentError(
                f"a format in {name} is four things",
                expected="(inline sparsifier, temporary layout, external sparsifier, layout)",
                got=repr(f),
            )
    return tuple((instance(i), t, instance(e), o) for i, t, e, o in formats)


def _fused(orig_op, args, kwargs, fmt):
    inline, temporary, external, out = fmt
    if torch.compiler.is_compiling() or is_dense_layout(temporary) or registered(inline, None, temporary, 2):
        return None
    if not hasattr(inline, "kind") or format_of(temporary, 2) is None:
        return None
    rank = max((x.dim() for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), default=0)
    y = fused(orig_op, args, kwargs, inline, stored_as(temporary, inline, rank), gradient_of(inline, None))
    return None if y is None else converted(y, external, out, None)


def formatted(y, fmt, grad_fmt=None):
    """A tensor through the four steps of a format; its gradient through those of another."""
    if not isinstance(y, torch.Tensor):
        return y
    inline, temporary, external, out = fmt
    grad = None
    if grad_fmt is not None:
        grad = "ste"
        if y.requires_grad and not _keeps_all(grad_fmt):
            y = _WithGradient.apply(y.to_dense() if isinstance(y, Tensor) else y, grad_fmt)
    return converted(converted(y, inline, temporary, grad), external, out, grad)


def converted(x, sparsifier, layout, grad):
    if torch.compiler.is_compiling():
        layout = torch.Tensor
    if (
        isinstance(sparsifier, KeepAll)
        and is_dense_layout(layout)
        and not registered(sparsifier, None, layout, x.dim())
    ):
        return x.to_dense() if isinstance(x, Tensor) else x
    there = getattr(layout, "from_sparsifier", False) and isinstance(x, layout)
    y = sparsify(x, sparsifier, x.format if there else stored_as(layout, sparsifier, x.dim()), grad=grad)
    return y.to_dense() if isinstance(y, Tensor) and is_dense_layout(layout) else y


def _keeps_all(fmt):
    inline, temporary, external, out = fmt
    builtin = lambda layout: is_dense_layout(layout) or hasattr(layout, "__strata_format__")  # noqa: E731
    return all(isinstance(s, KeepAll) for s in (inline, external)) and builtin(temporary) and builtin(out)


class _WithGradient(Function):
    """x, whose gradient goes through a format."""

    @staticmethod
    def forward(ctx, x, fmt):
        ctx.fmt = fmt
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = formatted(g, ctx.fmt)
        return (g.to_dense() if isinstance(g, Tensor) else g), None
