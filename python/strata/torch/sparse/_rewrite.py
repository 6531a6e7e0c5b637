"""What attention is in a module's code: a call of scaled_dot_product_attention, or a product, a softmax and a product. Both are
seen while they run, by a mode; the first product and the softmax wait (Deferred) until it is clear what they are for."""

import operator
import types

import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from .._broadcast import broadcast_shapes
from .._deferred import Deferred, values_of
from .._frames import as_written
from .._traced import is_understood
from ..nn._attention import _over_our_products

_T = torch.Tensor


class Scores:
    """q @ k.T * scale + bias, not yet computed. `made`: how the code itself wrote it, step by step."""

    def __init__(self, q, k_turned, made, scale=1.0, bias=None):
        self.q, self.k_turned, self.made, self.scale, self.bias = q, k_turned, made, scale, bias
        self.operands = (q, k_turned, *(() if bias is None else (bias,)))

    def compute(self):
        with torch._C.DisableTorchFunction():  # or the mode would put it off again
            return self.made()


class Weights:
    """softmax of scores, then perhaps dropout."""

    def __init__(self, scores, attend, dropout_p=0.0):
        self.scores, self.attend, self.dropout_p = scores, attend, dropout_p
        self.operands = scores.operands

    def compute(self):
        """Somebody reads the weights themselves: as values that are the identity matrix see them."""
        keys = self.scores.k_turned.shape[-1]
        one = torch.eye(keys, dtype=self.scores.q.dtype).expand(*self.scores.k_turned.shape[:-2], keys, keys)
        return self.with_values(one)

    def with_values(self, v):
        s = self.scores
        bias = None if s.bias is None else torch.atleast_2d(s.bias)
        return self.attend(
            s.q, s.k_turned.transpose(-1, -2), v, bias=bias, dropout_p=self.dropout_p, scale=s.scale, is_causal=False
        )


class Waiting:
    """A Deferred while torch.compile looks on, whose graphs have no place for such a tensor: no tensor at all, but functions of torch
    take it, and it has those methods that stand between two products of an attention."""

    def __init__(self, how, shape, dtype):
        self.how, self.shape, self.dtype, self._value = how, torch.Size(shape), dtype, None

    def value(self):
        """The tensor itself."""
        if self._value is None:
            self._value, self.how = self.how.compute(), None
        return self._value

    def dim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def __getattr__(self, name):
        return getattr(self.value(), name)

    def softmax(self, dim, dtype=None):
        return torch.softmax(self, dim, dtype=dtype)

    def masked_fill(self, mask, value):
        return torch.masked_fill(self, mask, value)

    def to(self, *args, **kwargs):
        return torch.Tensor.to(self, *args, **kwargs)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        args, kwargs = _values_of((args, kwargs or {}))
        return func(*args, **kwargs)


for _name, _f in dict(matmul=torch.matmul, mul=torch.mul, div=torch.div, add=torch.add, bmm=torch.bmm).items():
    setattr(Waiting, _name, lambda a, b, _f=_f: _f(a, b))
for _name, _f in dict(matmul=torch.matmul, mul=torch.mul, truediv=torch.div, add=torch.add).items():
    setattr(Waiting, f"__{_name}__", lambda a, b, _f=_f: _f(a, b))
    setattr(Waiting, f"__r{_name}__", lambda a, b, _f=_f: _f(b, a))


def _values_of(tree):
    if type(tree) is Waiting:
        return tree.value()
    if type(tree) in (tuple, list):
        return type(tree)([_values_of(x) for x in tree])
    if type(tree) is dict:
        return {name: _values_of(x) for name, x in tree.items()}
    return values_of(tree)


class Attention(TorchFunctionMode):
    """While it is on, attention(q, k, v, bias=, dropout_p=, scale=, is_causal=) answers for what the code computes."""

    def __init__(self, attention):
        super().__init__()
        self._answer = attention
        self.off = 0  # within so many modules whose attention is another site
        self.seen = False  # was there an attention?

    @as_written
    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.off:
            return func(*args, **kwargs)
        if func is F.scaled_dot_product_attention:
            return self._attention_itself(*_values_of(args), **_values_of(kwargs))
        if func is F.multi_head_attention_forward:
            with self:
                return _over_our_products(*args, **kwargs)
        name = getattr(func, "__wrapped__", func).__name__  # in graphs torch 2.15 says "wrapped" of some
        if name in _REVERSED:
            func, args = _REVERSED[name], args[::-1]
        known = _STEPS.get(func)
        if known is not None:
            found = known(self, func, *args, **kwargs)
            if found is not NotImplemented:
                return found
        if torch.compiler.is_compiling() and name in _WRITTEN_IN_PYTHON and isinstance(args[0], _T):
            return getattr(args[0], name)(*args[1:], **kwargs)  # as torch.compile knows them
        return func(*args, **kwargs)

    def attention(self, *operands, **options):
        self.seen = True
        return self._answer(*operands, **options)

    def _attention_itself(
        self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ):
        if enable_gqa:
            key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.zeros(attn_mask.shape, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        return self.attention(query, key, value, bias=attn_mask, dropout_p=dropout_p, scale=scale, is_causal=is_causal)


class Uncompiled(Attention):
    """The same, where a graph of torch.compile breaks."""

    @torch.compiler.disable
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)


def _how(x, kind):
    return x.how if type(x) in (Deferred, Waiting) and isinstance(x.how, kind) else None


def _later(how, shape, dtype):
    if torch.compiler.is_compiling() and is_understood():
        return Waiting(how, shape, dtype)
    return Deferred(how, shape, dtype)


def _plain(*tensors):
    return all(type(x) in (torch.Tensor, torch.nn.Parameter) for x in tensors)


def _matmul(mode, func, a, b, *, out=None):
    """The first product waits; the second one, of weights with values, is attention."""
    weights = _how(a, Weights)
    if weights is not None and out is None:
        return weights.with_values(_values_of(b))
    if not _plain(a, b) or out is not None or a.dim() < 3 or a.dim() != b.dim() or not a.is_floating_point():
        return NotImplemented
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2] or a.dtype != b.dtype:
        return NotImplemented
    return _later(Scores(a, b, lambda: func(a, b)), (*a.shape[:-1], b.shape[-1]), a.dtype)


def _baddbmm(mode, func, c, a, b, *, beta=1, alpha=1, out=None):
    if beta != 1 or alpha != 1 or out is not None or not _plain(c, a, b):
        return NotImplemented
    return _later(Scores(a, b, lambda: func(c, a, b), bias=c), (*a.shape[:-1], b.shape[-1]), a.dtype)


def _scaled(by):
    def step(mode, func, x, number, *rest, **kwargs):
        if by is operator.mul and _how(x, Scores) is None:
            x, number = number, x
        scores = _how(x, Scores)
        if scores is None or rest or kwargs or not _is_number(number):
            return NotImplemented
        number = float(number)
        bias = None if scores.bias is None else by(scores.bias, number)
        made = lambda: by(scores.made(), number)  # noqa: E731
        return _again(x, Scores(scores.q, scores.k_turned, made, by(scores.scale, number), bias))

    return step


def _is_number(x):
    return isinstance(x, (int, float)) or (_plain(x) and x.dim() == 0 and not x.requires_grad)


def _add(mode, func, a, b, *, alpha=1, out=None):
    x, bias = (a, b) if type(a) in (Deferred, Waiting) else (b, a)
    scores = _how(x, Scores)
    if scores is None or alpha != 1 or out is not None or not _plain(bias) or not bias.is_floating_point():
        return NotImplemented
    if broadcast_shapes(x.shape, bias.shape) != x.shape:
        return NotImplemented
    both = bias if scores.bias is None else scores.bias + bias
    return _again(x, Scores(scores.q, scores.k_turned, lambda: scores.made() + bias, scores.scale, both))


def _masked_fill(mode, func, x, mask, value):
    scores = _how(x, Scores)
    value = float(value)
    if scores is None or value > -1e4:  # a number of its own, not "hidden"
        return NotImplemented
    hidden = torch.zeros(mask.shape, dtype=x.dtype).masked_fill(mask, -torch.inf)
    both = hidden if scores.bias is None else scores.bias + hidden
    made = lambda: scores.made().masked_fill(mask, value)  # noqa: E731
    return _again(x, Scores(scores.q, scores.k_turned, made, scores.scale, both))


def _softmax(mode, func, x, dim=None, _stacklevel=3, dtype=None):
    scores = _how(x, Scores)
    if scores is None or dim is None or dim % x.dim() != x.dim() - 1 or dtype not in (None, x.dtype):
        return NotImplemented
    return _again(x, Weights(scores, mode.attention))


def _dropout(mode, func, x, p=0.5, training=True, inplace=False):
    weights = _how(x, Weights)
    if weights is None or inplace or weights.dropout_p:
        return NotImplemented
    return x if not training or not p else _again(x, Weights(weights.scores, weights.attend, p))


def _same(mode, func, x, *args, **kwargs):
    """A conversion to the dtype that it has."""
    if type(x) not in (Deferred, Waiting) or kwargs.get("dtype", args[0] if args else None) not in (None, x.dtype):
        return NotImplemented
    return x


def _again(x, how):
    return type(x)(how, x.shape, x.dtype)


#: what torch.compile makes of `w @ x` and `w / x`, where x alone is a tensor
_REVERSED = {"__rmatmul__": torch.matmul, "__rtruediv__": torch.div, "__rdiv__": torch.div}
#: methods of torch.Tensor that are Python functions
_WRITTEN_IN_PYTHON = {name for name, f in vars(_T).items() if isinstance(f, types.FunctionType)}

_STEPS = {
    F.softmax: _softmax,
    torch.softmax: _softmax,
    _T.softmax: _softmax,
    F.dropout: _dropout,
    torch.dropout: _dropout,
    torch.baddbmm: _baddbmm,
    _T.masked_fill: _masked_fill,
    torch.masked_fill: _masked_fill,
    _T.to: _same,
    _T.contiguous: _same,
}
for _f in (torch.matmul, _T.matmul, _T.__matmul__, operator.matmul, torch.bmm, _T.bmm):
    _STEPS[_f] = _matmul
for _f in (torch.mul, _T.mul, _T.__mul__, _T.__rmul__, operator.mul):
    _STEPS[_f] = _scaled(operator.mul)
for _f in (torch.div, _T.div, _T.__truediv__, operator.truediv):
    _STEPS[_f] = _scaled(operator.truediv)
for _f in (torch.add, _T.add, _T.__add__, _T.__radd__, operator.add):
    _STEPS[_f] = _add
