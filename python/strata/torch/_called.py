"""A call of a registered kernel as one operator of a graph: it makes sparse tensors of their arrays, and calls the function of torch
as uncompiled code does. Its gradient is that of such a call."""

import functools
import json

import torch
from torch.autograd.function import _SingleLevelFunction

from .._core import Format
from ..errors import TensorError, Unsupported
from . import _ops
from ._einsum import alike
from ._pattern import pattern_of
from ._register import KERNELS, NAMES
from ._tensor import Tensor

_CALLED = "called_v1(Tensor[] tensors, Tensor[] index, str call) -> Tensor"
_BACK = "called_back_v1(Tensor g, Tensor[] tensors, Tensor[] index, str call) -> Tensor[]"
_calls = torch.ops.strata


def called(func, args, kwargs, is_weight, is_product):
    """func(*args, **kwargs), dense, by a kernel that is registered for its operands; otherwise NotImplemented. is_weight(x): does x
    stand for a sparse weight in a graph? `is_product`: under autocast its operands get one dtype."""
    tensors, index, told = [], [], []
    for x in (*args, *kwargs.values()):
        if is_weight(x):
            tensors.append(x.values())
            index.extend(x.pattern.index)
            told.append(("sparse", x.pattern.layout, len(x.pattern.index), x.turned))
        elif isinstance(x, torch.Tensor):
            tensors.append(x)
            told.append(("dense",))
        elif isinstance(x, (list, tuple)) and any(isinstance(y, torch.Tensor) or is_weight(y) for y in x):
            return NotImplemented
        else:
            told.append(("is", x))
    call = _text_of(NAMES[func], tuple(kwargs), *told)
    if not call:
        return NotImplemented
    if is_product and torch.is_autocast_enabled("cpu"):
        tensors = list(alike(*tensors))
    return _calls.called_v1(tensors, index, call)


def _text_of(name, keywords, *told):
    """The call as text; empty where no kernel is registered for these formats, or where something has no text."""
    name = name.partition(" ")[0]
    formats = [_format_of(*how[1:]) for how in told if how[0] == "sparse"]
    if not any(formats == wanted for wanted, _, _ in KERNELS.get(_function(name), ())):
        return ""
    told = [(how[0], _dtype_told(how[1])) if how[0] == "is" else how for how in told]
    try:
        return json.dumps({"of": name, "keywords": keywords, "operands": told})
    except TypeError:
        return ""


_text_of._dynamo_marked_constant = True  # called while the graph is made, with what it knows, and no part of it


def _format_of(layout, _, turned):
    format = Format(layout.split(" ", 2)[2])
    return format.transpose() if turned else format


def _dtype_told(x):
    return {"dtype": str(x).partition(".")[2]} if isinstance(x, torch.dtype) else x


def _function(name):
    """The function of torch that a name means, of those that kernels are registered for. Unsupported."""
    for func, known in NAMES.items():
        if known.partition(" ")[0] == name:
            return func
    raise Unsupported(
        "a graph calls a kernel that nobody has registered",
        expected=f"a kernel of {name}",
        got="none",
        fix="stt.register_kernel, as where the graph was made",
    )


class _Call:
    """A call that was told as text."""

    def __init__(self, call):
        call = json.loads(call)
        self.name, self.keywords, self.told = call["of"], call["keywords"], call["operands"]
        self._fit = set()

    def __call__(self, tensors, index):
        """What it gives, dense. TensorError where that is not what the function itself gives."""
        index = iter(index)

        def sparse(values, layout, arrays, turned):
            x = Tensor(values, pattern_of(layout, [next(index) for _ in range(arrays)]))
            return x.t() if turned else x

        with torch._C._EnableTorchFunction():  # compiled graphs run without
            y = self._of(tensors, sparse)
        y = (y.to_dense() if isinstance(y, Tensor) else y).contiguous()
        self._check(tensors, y)
        return y

    def like(self, tensors):
        """A tensor of the result's shape and dtype, of tensors without elements."""

        def sparse(values, layout, _, turned):
            x = values.new_empty(_ops._shape_of(layout))
            return x.t() if turned else x

        return self._of(tensors, sparse).contiguous()

    def _of(self, tensors, sparse):
        tensors, operands = iter(tensors), []
        for kind, *how in self.told:
            if kind == "sparse":
                operands.append(sparse(next(tensors), *how))
            elif kind == "dense":
                operands.append(next(tensors))
            else:
                operands.append(getattr(torch, how[0]["dtype"]) if isinstance(how[0], dict) else how[0])
        first = len(operands) - len(self.keywords)
        return _function(self.name)(*operands[:first], **dict(zip(self.keywords, operands[first:])))

    def _check(self, tensors, y):
        key = tuple((x.shape, x.dtype) for x in (*tensors, y))
        if key in self._fit:
            return
        want = self.like([x.to("meta") for x in tensors])
        if (want.shape, want.dtype) != (y.shape, y.dtype):
            raise TensorError(
                f"a kernel of {self.name} gives something else than the function, which a graph counts on",
                expected=f"{tuple(want.shape)}, {want.dtype}",
                got=f"{tuple(y.shape)}, {y.dtype}",
            )
        self._fit.add(key)


_told_as = functools.lru_cache(maxsize=256)(_Call)


class _Recorded(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, call, count, *tensors):
        ctx.save_for_backward(*tensors)
        ctx.how = call, count
        return _ops._below(_calls.called_v1, _calls._called_v1, tensors[:count], tensors[count:], call)

    @staticmethod
    def backward(ctx, g):
        (call, count), tensors = ctx.how, ctx.saved_tensors
        found = _calls.called_back_v1(g, tensors[:count], tensors[count:], call)
        found = [x if need else None for x, need in zip(found, ctx.needs_input_grad[2:])]
        return None, None, *found, *[None] * (len(tensors) - count)


_apply = _Recorded.apply


def _autograd(tensors, index, call):
    return _ops._recorded(_apply, call, len(tensors), *tensors, *index)


def _kernel(tensors, index, call):
    with torch.no_grad():
        y = _told_as(call)(tensors, index)
    return y.clone() if any(x.data_ptr() == y.data_ptr() for x in tensors) else y


def _back_kernel(g, tensors, index, call):
    """By autograd, as if nothing were compiled."""
    given = [x.detach().requires_grad_(_has_gradients(x)) for x in tensors]
    with _unwatched(), torch.enable_grad():
        y = _told_as(call)(given, index)
        wanted = [x for x in given if x.requires_grad]
        found = iter(torch.autograd.grad(y, wanted, g, allow_unused=True) if y.requires_grad else [None] * len(wanted))
    found = [next(found) if x.requires_grad else x.new_empty(0) for x in given]
    row_major = dict(memory_format=torch.contiguous_format)
    return [x.new_zeros(x.shape) if of_x is None else of_x.clone(**row_major) for of_x, x in zip(found, given)]


def _back_autograd(g, tensors, index, call):
    """Once is all that a kernel of one's own is asked to be differentiated in a graph."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in (g, *tensors)):
        raise Unsupported(
            "kernels of one's own have one derivative in a graph", fix="do not compile what needs a second one"
        )
    return _calls._called_back_v1(g, tensors, index, call)


def _has_gradients(x):
    return x.is_floating_point() or x.is_complex()


def _unwatched():
    """Kernels of operators run where autograd does not listen; here it does again."""
    here = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    hidden = [
        torch._C.DispatchKey.AutogradCPU,
        torch._C.DispatchKey.AutogradOther,
        torch._C.DispatchKey.ADInplaceOrView,
    ]
    return torch._C._ForceDispatchKeyGuard(
        here[0], functools.reduce(lambda keys, key: keys.remove(key), hidden, here[1])
    )


def _fake(tensors, index, call):
    return _told_as(call).like(tensors)


def _back_fake(g, tensors, index, call):
    return [x.new_empty(x.shape if _has_gradients(x) else 0) for x in tensors]


def _vmap(info, in_dims, tensors, index, call):
    return _ops._each(info, in_dims[0], lambda *tensors: _calls.called_v1(list(tensors), index, call), *tensors)


def _back_vmap(info, in_dims, g, tensors, index, call):
    dims, found = (in_dims[0], *in_dims[1]), []
    for k in range(info.batch_size):
        g_k, *tensors_k = (x if d is None else x.select(d, k) for x, d in zip((g, *tensors), dims))
        found.append(_calls.called_back_v1(g_k, tensors_k, index, call))
    return [torch.stack(each) for each in zip(*found)], [0] * len(tensors)


_ops.register(_CALLED, _kernel, _fake, _autograd, _vmap)
_ops.register(_BACK, _back_kernel, _back_fake, _back_autograd, _back_vmap)
