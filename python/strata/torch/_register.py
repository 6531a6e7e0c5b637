"""Kernels and formats of one's own."""

import itertools

import torch
from torch.autograd import Function
from torch.utils._pytree import tree_flatten, tree_unflatten

from .. import register_format
from .._core import Format
from ..errors import ArgumentError, TensorError
from ._tensor import FUNCTIONS, Tensor, _on_dense

__all__ = ["register_format", "register_kernel", "unregister_kernel"]

#: function of torch -> the kernels that are asked before its own implementation, the latest first
KERNELS = {}
#: the same functions -> their names, and a number that changes with each registration: what graphs are made for
NAMES = {}


def register_kernel(op, format, forward, backward=None):
    """From here on `forward(*args, **kwargs)` computes calls of `op` whose sparse operands have this format.

        stt.register_kernel(torch.nn.functional.linear, "CSR", lambda x, weight, bias=None: NotImplemented)
        stt.unregister_kernel(torch.nn.functional.linear, "CSR")

    op : a function of torch, also by its other names (torch.matmul is `@` and mm too); nn.Linear calls F.linear.
    format : of the sparse operand, a name or st.Format; a list of them where there are several.
    forward : gets what op gets, without gradients, and returns a dense tensor or an stt.Tensor; or NotImplemented, and the
        operator's own implementation goes on.
    backward : backward(gradient, *args, **kwargs) -> the gradient of each tensor among the operands, in their order, or None; of a
        sparse one its values or an stt.Tensor. Without it the gradient is that of the operator's own implementation.

    A graph of torch.compile calls it as one operator: results are dense there, of the shape and dtype that op gives, and have one
    derivative. ArgumentError.
    """
    if not callable(op) or not callable(forward):
        raise ArgumentError(
            "a kernel is a function for a function of torch", expected="functions", got=f"{op}, {forward}"
        )
    unregister_kernel(op, format)
    for alias in _aliases(op):
        if alias not in KERNELS:
            KERNELS[alias] = []
            FUNCTIONS[alias] = _Asked(alias, FUNCTIONS.get(alias))
        KERNELS[alias].insert(0, (_formats(format), forward, backward))
        _name(alias)


def unregister_kernel(op, format):
    """Removes the kernel of this operator and format. False where there is none."""
    found = False
    for alias in _aliases(op):
        kernels = KERNELS.get(alias, [])
        left = [kernel for kernel in kernels if kernel[0] != _formats(format)]
        found |= len(left) < len(kernels)
        if left:
            KERNELS[alias] = left
            _name(alias)
        elif KERNELS.pop(alias, None) is not None:
            NAMES.pop(alias)
            own = FUNCTIONS.pop(alias).own
            if own is not None:
                FUNCTIONS[alias] = own
    return found


_changes = itertools.count()


def _name(func):
    NAMES[func] = f"{(torch.overrides.resolve_name(func) or repr(func)).replace(' ', '_')} {next(_changes)}"


def _formats(format):
    return [
        f if isinstance(f, Format) else Format(f) for f in (format if isinstance(format, (list, tuple)) else [format])
    ]


def _aliases(op):
    """Functions that mean the same have the same implementation."""
    own = lambda f: f.own if isinstance(f, _Asked) else f  # noqa: E731
    mine = own(FUNCTIONS.get(op))
    return [op] if mine is None else [f for f, known in FUNCTIONS.items() if own(known) is mine]


class _Asked:
    """An implementation in FUNCTIONS that asks registered kernels first."""

    def __init__(self, op, own):
        self.op, self.own = op, own

    def __call__(self, *args, **kwargs):
        leaves, tree = tree_flatten((args, kwargs))
        formats = [x.format for x in leaves if isinstance(x, Tensor)]
        for wanted, forward, backward in KERNELS[self.op]:
            if formats == wanted:
                result = _Call(self, forward, backward, leaves, tree).result()
                if result is not NotImplemented:
                    return result
        return self.own(*args, **kwargs) if self.own is not None else NotImplemented

    def as_ever(self, args, kwargs):
        """What op gives without registered kernels."""
        result = NotImplemented if self.own is None else self.own(*args, **kwargs)
        if result is NotImplemented:
            with torch._C.DisableTorchFunctionSubclass():
                result = _on_dense(self.op, args, kwargs)
        return result


class _Call:
    """One call of a kernel: its tensors apart from the rest, sparse ones by their values."""

    def __init__(self, asked, forward, backward, leaves, tree):
        self.asked, self.forward, self.backward = asked, forward, backward
        self.leaves, self.tree = leaves, tree
        self.at = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        self.pattern = None  # of a sparse result

    def result(self):
        tensors = [_apart(self.leaves[k]) for k in self.at]
        y = _Registered.apply(self, *tensors)
        return y if y is NotImplemented or self.pattern is None else Tensor(y, self.pattern)

    def operands(self, tensors):
        leaves = list(self.leaves)
        for k, x in zip(self.at, tensors):
            leaves[k] = Tensor(x, leaves[k].pattern) if isinstance(leaves[k], Tensor) else x
        return tree_unflatten(leaves, self.tree)


def _apart(x):
    return x.values() if isinstance(x, Tensor) else x


class _Registered(Function):
    @staticmethod
    def forward(ctx, call, *tensors):
        ctx.call = call
        ctx.save_for_backward(*tensors)
        args, kwargs = call.operands([x.detach() for x in tensors])
        y = call.forward(*args, **kwargs)
        if isinstance(y, Tensor):
            call.pattern = y.pattern
        return y if y is NotImplemented else _apart(y)

    @staticmethod
    def backward(ctx, g):
        call, tensors, needs = ctx.call, ctx.saved_tensors, ctx.needs_input_grad[1:]
        if call.backward is not None:
            args, kwargs = call.operands(tensors)
            found = call.backward(g if call.pattern is None else Tensor(g, call.pattern), *args, **kwargs)
            found = found if isinstance(found, (tuple, list)) else (found,)
            return None, *(None if x is None else _apart(x) for x in found)
        again = torch.is_grad_enabled()
        with torch.enable_grad():
            args, kwargs = call.operands(tensors)
            y = call.asked.as_ever(args, kwargs)
        if (y.pattern if isinstance(y, Tensor) else None) != call.pattern:
            raise TensorError(
                "a kernel whose result stores other elements than the operator's own needs its own gradient",
                expected=repr(y.pattern) if isinstance(y, Tensor) else "a dense result",
                got=repr(call.pattern or "a dense result"),
                fix="register_kernel(op, format, forward, backward)",
            )
        wanted = [x for x, need in zip(tensors, needs) if need]
        found = iter(torch.autograd.grad(_apart(y), wanted, g, create_graph=again, allow_unused=True))
        return None, *(next(found) if need else None for need in needs)
