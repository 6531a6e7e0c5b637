"""Which gradient a tensor gets whose elements a sparsifier chose: masks themselves have none."""

import dataclasses

import torch
from torch.autograd import Function

from ..errors import ArgumentError


@dataclasses.dataclass(frozen=True)
class Gradient:
    """The gradient of what was sparsified: that of the kept elements times `kept`, that of the others times `pruned` (0: they get
    none, and it need not be computed; 1: straight through), and for the others their own value times `decay` (SR-STE).

        assert stt.Gradient(pruned=1.0, decay=2e-4).needs_dense
    """

    kept: float = 1.0
    pruned: float = 0.0
    decay: float = 0.0

    @property
    def needs_dense(self):
        """Does it ask for the gradient of elements that are not stored?"""
        return self.pruned != 0 or self.decay != 0


def as_gradient(given):
    """The Gradient of "stored", "ste" (straight through), a pair of scales (kept, pruned), or itself. ArgumentError."""
    if isinstance(given, Gradient):
        return given
    if given == "stored":
        return Gradient()
    if given == "ste":
        return Gradient(1.0, 1.0)
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return Gradient(*given)
    raise ArgumentError(
        "grad= of another kind",
        expected='"stored", "ste", (scale of the kept, scale of the pruned) or stt.Gradient',
        got=repr(given),
    )


class _Masked(Function):
    """`result`, which is x where it was kept; its gradient goes to x."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, result, mask, gradient):
        return result.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, _, mask, ctx.gradient = inputs
        ctx.save_for_backward(x if ctx.gradient.decay else None, mask)

    @staticmethod
    def backward(ctx, g):
        (x, mask), how = ctx.saved_tensors, ctx.gradient
        of_x = g if how.kept == how.pruned == 1 else g * torch.where(mask, how.kept, how.pruned).to(g.dtype)
        return (of_x + how.decay * torch.where(mask, 0, x) if how.decay else of_x), None, None, None


def masked(x, result, mask, gradient):
    """`result`, whose gradient goes to x as `gradient` says. All dense, of one shape."""
    return _Masked.apply(x, result, mask, gradient)


class _Valued(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(gathered, values, kept):
        return values.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.kept = inputs[2]

    @staticmethod
    def backward(ctx, g):
        return g if ctx.kept == 1 else g * ctx.kept, None, None


def valued(gathered, values, kept):
    """`values`, whose gradient goes to what was gathered, times `kept`."""
    return _Valued.apply(gathered, values, kept)
