"""A sparse weight while torch.compile or torch.export look on: its products stay products, all else is computed on the dense
tensor, in the graph. What is traced are operators over the values and the index arrays, so that another pattern with as many
slots needs no other graph."""

import operator

import torch
import torch.nn.functional as F

from ._matrix import product
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
        return getattr(self.to_dense(), name)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.__name__ == "__rmatmul__":
            func, args = torch.matmul, args[::-1]
        if func in PRODUCTS:
            result = PRODUCTS[func](*args, **kwargs)
            if result is not NotImplemented:
                return result
        args = [_dense(x) for x in args]
        return func(*args, **{name: _dense(x) for name, x in kwargs.items()})


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


#: functions of torch that graphs have products for: func -> f(*args, **kwargs), which may return NotImplemented
PRODUCTS = {F.linear: _linear}
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
