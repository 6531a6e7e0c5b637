"""An operation and what a sparsifier keeps of its result, in one go: the result is never there whole.

The operation is computed stretch by stretch, and what is kept of each is stored. Where gradients are wanted, the kept elements are
computed once more, from the operands' elements at their places, so that the backward pass costs what is stored."""

import torch
import torch.nn.functional as F

from . import _ops
from ._broadcast import broadcast_shapes
from ._elements import KEEP_ZERO, named
from ._gradients import valued
from ._sparsified import Sparsified
from ._sparsifiers import Sparsifier
from ._streams import Stretches, stored

#: element by element, of operands that broadcast; the same whenever it is computed
_ELEMENTWISE = set(
    named(
        *(name for name in KEEP_ZERO if name not in ("dropout", "conj_physical", "resolve_conj", "resolve_neg")),
        *"add subtract sub mul multiply div divide true_divide maximum minimum fmax fmin pow float_power atan2 fmod remainder".split(),
        *"exp exp2 log log2 log10 cos cosh acos rsqrt reciprocal sigmoid logsigmoid softplus clamp clip hardtanh hardsigmoid".split(),
        *"lerp addcmul addcdiv where hypot copysign heaviside".split(),
    )
)
_PRODUCTS = {F.linear, *named("mm", "matmul")}


def fused(op, args, kwargs, sparsifier, format, gradient):
    """What the sparsifier keeps of op(*args, **kwargs), as a Sparsified; None where the two cannot be fused."""
    if sparsifier.kind == "materializing" or gradient.needs_dense or type(sparsifier).prune is not Sparsifier.prune:
        return None
    source = _source(op, args, kwargs)
    if source is None or len(source.shape) < 2:
        return None
    with torch.no_grad():
        t = stored(sparsifier.stream(source), source.shape, source.dtype, format)
    tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
    if not torch.is_grad_enabled() or not any(x.requires_grad for x in tensors):
        return Sparsified(t.values(), t.pattern)
    if op in _PRODUCTS:
        again = _product_at(op, args, kwargs, t.pattern)
    else:
        at = lambda x: t.pattern.gather(x.expand(source.shape)) if isinstance(x, torch.Tensor) else x  # noqa: E731
        again = op(*map(at, args), **{name: at(x) for name, x in kwargs.items()})
    return Sparsified(valued(again, t.values(), gradient.kept), t.pattern)


def _source(op, args, kwargs):
    """The result of op in stretches, with its dtype, or None."""
    operands = [*args, *kwargs.values()]
    tensors = [x for x in operands if isinstance(x, torch.Tensor)]
    plain = (torch.Tensor, torch.nn.Parameter)
    if not tensors or not all(
        type(x) in plain and x.layout == torch.strided and x.device.type == "cpu" for x in tensors
    ):
        return None
    if kwargs.get("out") is not None or kwargs.get("inplace"):
        return None
    if op in _PRODUCTS:
        return _rows(op, args, kwargs)
    if op not in _ELEMENTWISE:
        return None
    shape = broadcast_shapes(*(x.shape for x in tensors))

    def part(a, b):
        cut = lambda x: x.expand(shape)[a:b] if isinstance(x, torch.Tensor) else x  # noqa: E731
        return op(*map(cut, args), **{name: cut(x) for name, x in kwargs.items()})

    if not shape or not shape.numel():
        return None
    source = Stretches(shape, part)
    source.dtype = part(0, 0).dtype
    return source


def _rows(op, args, kwargs):
    """A product by rows of its first operand."""
    if set(kwargs) - {"bias"} or len(args) < 2:
        return None
    x, *others = (*args, *kwargs.values())
    if x.dim() != 2 or others[0].dim() != 2 or not x.numel():
        return None
    columns = others[0].shape[0] if op is F.linear else others[0].shape[1]
    source = Stretches((x.shape[0], columns), lambda a, b: op(x[a:b], *others))
    source.dtype = x.dtype
    return source


def _product_at(op, args, kwargs, pattern):
    x, w, *bias = (*args, *kwargs.values())
    values = _ops.sampled(x, w if op is F.linear else w.t(), pattern)
    if not bias or bias[0] is None:
        return values
    return values + pattern.gather(bias[0].expand(pattern.shape))
