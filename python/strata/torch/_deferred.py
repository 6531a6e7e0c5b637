"""A tensor that is computed when somebody reads it. Until then it can become part of a larger computation, which may need less of
it than all."""

import torch
from torch.autograd import Function
from torch.utils._pytree import tree_map_only

from ..errors import Unsupported
from ._frames import as_written
from ._tensor import _ASKS_ABOUT_IT


class Deferred(torch.Tensor):
    """What `how.compute()` gives, of a known shape and dtype. `how.operands` are the tensors that it is made of: their gradients,
    and their versions, which must not change before the value is read."""

    @staticmethod
    def __new__(cls, how, shape, dtype):
        self = _Node.apply(how, shape, dtype, *how.operands)
        self._how, self._value, self._grad_enabled = how, None, torch.is_grad_enabled()
        self._versions = [_version(x) for x in how.operands]
        return self

    def __init__(self, *_):
        pass

    @property
    def how(self):
        """How it would be computed; None where it has been. Unsupported where an operand has been changed in place since."""
        if self._how is not None and self._versions != [_version(x) for x in self._how.operands]:
            raise Unsupported(
                "an operand changed in place before its result was read",
                expected="a result that is read before its operands change",
                got=f"{type(self._how).__name__} of {', '.join(str(tuple(x.shape)) for x in self._how.operands)}",
                fix="read it where it is made: y = y.clone()",
            )
        return self._how

    def value(self):
        """The tensor itself, computed once. Unsupported as of `how`."""
        if self._value is None:
            with torch.set_grad_enabled(self._grad_enabled):
                self._value = self.how.compute()
            self._how = None
        return self._value

    @classmethod
    @as_written
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in _ASKED:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        args, kwargs = values_of((args, kwargs or {}))
        return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = values_of((args, kwargs or {}))
        return func(*args, **kwargs)

    def __repr__(self, *, tensor_contents=None):
        return repr(self.value())

    def __reduce_ex__(self, protocol):
        return self.value().__reduce_ex__(protocol)

    def __deepcopy__(self, memo):
        return self.value().__deepcopy__(memo)

    __hash__ = torch.Tensor.__hash__


#: what is known before
_ASKED = _ASKS_ABOUT_IT | {torch.Tensor.requires_grad.__get__}


def values_of(tree):
    """The same arguments with values in the place of what is deferred."""
    return tree_map_only(Deferred, Deferred.value, tree)


def _version(x):
    return 0 if x.is_inference() else x._version


class _Node(Function):
    """The place of a deferred tensor in a graph, for code that takes the tensor itself, unread (another autograd.Function)."""

    @staticmethod
    def forward(ctx, how, shape, dtype, *operands):
        ctx.how = how
        ctx.save_for_backward(*operands)
        device = operands[0].device
        return torch.Tensor._make_wrapper_subclass(Deferred, shape, dtype=dtype, device=device)

    @staticmethod
    def backward(ctx, g):
        operands, needs, again = ctx.saved_tensors, ctx.needs_input_grad[3:], torch.is_grad_enabled()
        with torch.enable_grad():
            y = ctx.how.compute()
        wanted = [x for x, need in zip(operands, needs) if need]
        found = iter(torch.autograd.grad(y, wanted, g, create_graph=again, allow_unused=True))
        return None, None, None, *(next(found) if need else None for need in needs)
