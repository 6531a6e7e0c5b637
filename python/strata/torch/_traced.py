"""A sparse weight while torch.compile or torch.export look on: its products stay products, all else is computed on the dense
tensor, in the graph. What is traced are operators over the values and the index arrays, so that another pattern with as many
slots needs no other graph."""

import functools
import operator

import torch
import torch.nn.functional as F

from . import _embedding
from ._called import called
from ._convolution import RANKS, convolution
from ._looked_up import rows
from ._matrix import product
from ._register import NAMES
from ._scatter import scatter

_T = torch.Tensor


def is_understood():
    """Can graphs hold a Traced? To be asked while a graph is made. Its operands' order must survive: of `w @ x`, where w is no
    tensor, torch.compile makes x @ w, unless its table of reversed operators has one for `@`."""
    try:
        from torch._dynamo.variables.builtin import BUILTIN_TO_TENSOR_RFN_MAP as reversed_operators
    except ImportError:
        return False
    reversed_operators.setdefault(operator.matmul, _T.__rmatmul__)
    return True


is_understood._dynamo_marked_constant = True  # called while the graph is made, and no part of it


class Traced:
    """Values and a pattern in the place of an stt.Tensor, which has no place in a graph. No torch.Tensor itself, but functions of
    torch take it."""

    def __init__(self, values, pattern, turned=False):
        self._values, self.pattern, self.turned = values, pattern, turned  # turned: the transpose is meant

    def values(self):
        return self._values

    def to_dense(self):
        dense = scatter(self._values, self.pattern)
        return dense.t() if self.turned else dense

    def t(self):
        return Traced(self._values, self.pattern, not self.turned) if self.dim() == 2 else self.to_dense().t()

    @property
    def T(self):
        return self.t()

    @property
    def shape(self):
        return torch.Size(reversed(self.pattern.shape)) if self.turned else self.pattern.shape

    def dim(self):
        return len(self.pattern.shape)

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def device(self):
        return self._values.device

    @property
    def requires_grad(self):
        return self._values.requires_grad

    def __getattr__(self, name):
        func = getattr(_T, name, None)
        if func in NAMES:
            return lambda *args, **kwargs: Traced.__torch_function__(func, (), (self, *args), kwargs)
        return getattr(self.to_dense(), name)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.__name__ == "__rmatmul__":
            func, args = torch.matmul, args[::-1]
        elif func is operator.matmul:
            func = torch.matmul
        if func in NAMES:
            result = called(func, args, kwargs, _is_traced, func in PRODUCTS and func not in _LOOK_UPS)
            if result is not NotImplemented:
                return result
        if func in PRODUCTS:
            result = PRODUCTS[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        args = [_dense(x) for x in args]
        return func(*args, **{name: _dense(x) for name, x in kwargs.items()})


def _is_traced(x):
    return type(x) is Traced


def _dense(x):
    if type(x) in (list, tuple):
        return type(x)(map(_dense, x))
    return x.to_dense() if type(x) is Traced else x


def _matmul(a, b):
    if type(a) is Traced and type(b) is Traced or (a if type(a) is Traced else b).dim() != 2:
        return NotImplemented
    if type(a) is Traced:
        return product(a.values(), a.pattern, b, a.turned)
    return product(b.values(), b.pattern, a, b.turned, True)


def _addmm(c, a, b, *, beta=1, alpha=1):
    y = _matmul(a, b) if type(c) is not Traced else NotImplemented
    return y if y is NotImplemented else alpha * y if beta == 0 else beta * c + alpha * y


def _linear(x, weight, bias=None):
    y = _matmul(x, weight.t())
    return y if y is NotImplemented or bias is None else y + bias.to(y.dtype)


def _convolution(rank, input, weight, bias=None, *args, **kwargs):
    if type(weight) is not Traced or type(input) is Traced or type(bias) is Traced:
        return NotImplemented
    return convolution(rank, input, weight, bias, *args, **kwargs)


def _looks_up(input, weight, max_norm, scale_grad_by_freq):
    if type(weight) is not Traced or type(input) is Traced:
        return False
    _embedding.refuse_max_norm(max_norm)
    return weight.dim() == 2 and not weight.turned and not scale_grad_by_freq


def _embedded(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if not _looks_up(input, weight, max_norm, scale_grad_by_freq):
        return NotImplemented
    index = input.reshape(-1).long()
    return _embedding.shaped(rows(weight.values(), weight.pattern, index), index, input, weight, padding_idx)


def _embedded_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    if mode not in ("sum", "mean") or not _looks_up(input, weight, max_norm, scale_grad_by_freq):
        return NotImplemented
    bag, count = _embedding.bags(input, offsets, mode, per_sample_weights, include_last_offset)
    index = input.reshape(-1).long()
    y = rows(weight.values(), weight.pattern, index)
    if per_sample_weights is not None:
        y = y * per_sample_weights.reshape(-1, 1).to(y.dtype)
    if padding_idx is not None:
        kept = (index != _embedding.padding_row(padding_idx, weight))[:, None]
        y = torch.where(kept, y, 0)
    else:
        kept = torch.ones_like(index)[:, None]
    y = y.new_zeros(count, y.shape[1]).index_add(0, bag, y)
    return (
        y / kept.new_zeros(count, 1, dtype=torch.int64).index_add(0, bag, kept.long()).clamp(min=1)
        if mode == "mean"
        else y
    )


#: functions of torch that graphs have products for: func -> f(*args, **kwargs), which may return NotImplemented
_LOOK_UPS = {F.embedding: _embedded, F.embedding_bag: _embedded_bag}
PRODUCTS = {F.linear: _linear, **_LOOK_UPS}
for _f, _rank in RANKS.items():
    PRODUCTS[_f] = functools.partial(_convolution, _rank)
for _f in (torch.matmul, _T.matmul, _T.__matmul__, operator.matmul, torch.mm, _T.mm, torch.mv, _T.mv):
    PRODUCTS[_f] = _matmul
for _f in (torch.addmm, _T.addmm, torch.addmv, _T.addmv):
    PRODUCTS[_f] = _addmm

Traced.__matmul__, Traced.__rmatmul__ = (lambda a, b: torch.matmul(a, b)), (lambda a, b: torch.matmul(b, a))
for _name in "add sub mul truediv floordiv mod pow".split():
    _f = getattr(operator, _name)
    setattr(Traced, f"__{_name}__", lambda a, b, _f=_f: _f(a.to_dense(), _dense(b)))
    setattr(Traced, f"__r{_name}__", lambda a, b, _f=_f: _f(b, a.to_dense()))
for _name in "eq ne lt le gt ge".split():
    setattr(Traced, f"__{_name}__", lambda a, b, _f=getattr(operator, _name): _f(a.to_dense(), _dense(b)))
for _name in "neg pos abs invert".split():
    setattr(Traced, f"__{_name}__", lambda a, _f=getattr(operator, _name): _f(a.to_dense()))
Traced.__hash__ = object.__hash__
Traced.__getitem__ = lambda a, at: a.to_dense()[at]
Traced.__iter__ = lambda a: iter(a.to_dense())
Traced.__len__ = lambda a: a.shape[0]
