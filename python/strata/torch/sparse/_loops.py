"""A weight with verbs of its own: how the loops of its product are arranged, and what becomes of its gradient."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

import strata as st

from ...errors import Unsupported
from .. import _ops
from .._contract import plain
from .._matrix import is_sparse
from .._tensor import Tensor

_T = torch.Tensor
#: the products that a schedule of loops is for: text with b (rows of the input), i (inputs), o (outputs)
LINEAR, RIGHT = "Y(b,o) = X(b,i) * W(o,i)", "Y(b,o) = X(b,i) * W(i,o)"


class Weight(Tensor):
    """An stt.Tensor that knows its Reading."""

    _reading = _leaf = None

    @property
    def grad(self):
        """The gradient of the stored elements, in the format that grad_format() says."""
        grad = self._leaf.grad
        if grad is None:
            return None
        grad = Tensor(grad, self._pattern)
        return grad if self._reading.grad_format is None else grad.to(self._reading.grad_format, zeros="keep")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is F.linear and _is_looped(args[1] if len(args) > 1 else kwargs.get("weight")):
            y = linear(*args, **kwargs)
            if y is not None:
                return y
        elif func in _RIGHT and len(args) == 2 and not kwargs and _is_looped(args[1]):
            y = _looped(args[0], args[1], RIGHT)
            if y is not None:
                return y
        elif func in _ADDED and len(args) == 3 and not kwargs and _is_looped(args[2]):
            y = _looped(args[1], args[2], RIGHT)
            if y is not None:
                return args[0] + y
        return super().__torch_function__(func, types, args, kwargs)


_RIGHT = (torch.matmul, _T.matmul, _T.__matmul__, torch.mm, _T.mm)
_ADDED = (torch.addmm, _T.addmm)


def _is_looped(x):
    return type(x) is Weight and x._reading.loops


def linear(x, weight, bias=None):
    """F.linear by the weight's own loops, or None."""
    y = _looped(x, weight, LINEAR)
    return y if y is None or bias is None else y + bias


def _looped(x, weight, text):
    """The product, by the weight's own loops; None in calls that only operators serve. Differentiable as ever."""
    values = weight.values()
    if is_sparse(x) or x.dtype != values.dtype or not plain(x, values) or torch.is_autocast_enabled("cpu"):
        return None
    inner = weight.shape[1 if text is LINEAR else 0]
    flat = x.reshape(-1, inner)
    named = {"X": flat.detach(), "W": weight.pattern.with_values(values)}
    y = torch.as_tensor(st.evaluate(text, named, format="dense", schedule=st.Schedule(weight._reading.loops)))
    if torch.is_grad_enabled() and (values.requires_grad or x.requires_grad):
        y = _ops._apply_mm(values, flat, None, weight.pattern, text is LINEAR, True, (y,))
    return y.reshape(*x.shape[:-1], y.shape[-1])


class Reading:
    """What a module reads in the place of a weight: f(weight).

    call : a Chosen, which finds the pattern anew in each forward, of a dense weight. loops: text of an st.Schedule.
    grad_sparsifier : what it keeps of the gradient stays, the rest is 0. grad_format: of the gradient of a sparse weight."""

    def __init__(self, call=None, loops="", grad_sparsifier=None, grad_format=None):
        self.call, self.loops = call, loops
        self.grad_sparsifier, self.grad_format = grad_sparsifier, grad_format

    def unchosen(self):
        """What stays to be done with the weight where it is chosen no longer."""
        return Reading(None, "", self.grad_sparsifier) if self.grad_sparsifier is not None else None

    def __call__(self, weight):
        if self.call is not None:
            weight = self.call(weight)
        if not is_sparse(weight):
            return weight if self.grad_sparsifier is None else masked_gradient(weight, self.grad_sparsifier)
        if not self.loops and self.grad_sparsifier is None and self.grad_format is None:
            return weight
        values = weight.values()
        if self.grad_sparsifier is not None:
            values = _Masked.apply(values, weight.pattern, self.grad_sparsifier)
        read = Weight(values, weight.pattern)
        read._reading, read._leaf = self, weight.values()
        return read


def masked_gradient(x, sparsifier):
    """x, whose gradient is 0 where the sparsifier keeps nothing of it."""
    return _Masked.apply(x, None, sparsifier)


class _Masked(Function):
    @staticmethod
    def forward(ctx, x, pattern, sparsifier):
        ctx.how = pattern, sparsifier
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        pattern, sparsifier = ctx.how
        dense = g if pattern is None else pattern.scatter(g)
        stays = sparsifier(dense.detach())
        return torch.where(stays if pattern is None else pattern.gather(stays.to(g.dtype)) != 0, g, 0), None, None


def check_loops(weight, text, product):
    """ScheduleError where these loops are none for LINEAR or RIGHT of this weight. Unsupported for other than matrices."""
    if weight.dim() != 2:
        raise Unsupported(
            "loops are arranged for products of matrices", expected="a weight of 2 dimensions", got=str(weight.dim())
        )
    named = {"X": torch.zeros(1, weight.shape[product is LINEAR], dtype=weight.dtype), "W": weight.detach().strata}
    st.evaluate(product, named, format="dense", schedule=st.Schedule(text))
