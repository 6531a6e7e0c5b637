"""Comparisons, choices and limits, element by element: sparse where they make 0, or False, of absent elements."""

import functools

import torch

from ._broadcast import broadcast_shapes
from ._elements import at, broadcast, combined, densely, elementwise, is_dense, moved, named
from ._matrix import implements, is_sparse
from ._tensor import Tensor

_T = torch.Tensor

#: functions of one element, or of one of each operand
BY_ELEMENT = (
    "eq ne not_equal lt less le less_equal gt greater ge greater_equal isclose __eq__ __ne__ __lt__ __le__ __gt__ __ge__ "
    "logical_or logical_xor logical_not bitwise_or bitwise_xor bitwise_not __or__ __xor__ "
    "__ror__ __rxor__ __invert__ bitwise_left_shift bitwise_right_shift isnan isinf isposinf isneginf isfinite isreal "
    "signbit maximum minimum fmax fmin clamp clip clamp_min clamp_max threshold fmod remainder __mod__ __rmod__ floor_divide "
    "__floordiv__ __rfloordiv__ atan2 arctan2 hypot copysign nextafter heaviside xlogy gcd lcm ldexp lerp float_power "
    "addcmul addcdiv xlog1py hardtanh"
).split()


def _by_element(func, *args, out=None, inplace=False, **kwargs):
    if out is not None or inplace:
        return NotImplemented
    n, keys = len(args), list(kwargs)
    return elementwise(lambda *xs: func(*xs[:n], **dict(zip(keys, xs[n:]))), *args, *kwargs.values())


for _f in named(*BY_ELEMENT):
    implements(_f)(functools.partial(_by_element, _f))


def _both(func, a, b, *, out=None):
    """False where one is, as a product is 0: sparse beside a dense tensor too."""
    sparse, other = (a, b) if is_sparse(a) else (b, a)
    if out is not None or not is_dense(other) or sparse.shape != broadcast_shapes(a.shape, b.shape):
        return _by_element(func, a, b, out=out)
    return Tensor(func(at(a, sparse.pattern), at(b, sparse.pattern)), sparse.pattern)


for _f in named("logical_and", "bitwise_and", "__and__", "__rand__"):
    implements(_f)(functools.partial(_both, _f))


@implements(torch.where)
def where(condition, input=None, other=None, *, out=None):
    """Sparse where absent elements of the condition, or of both choices, give 0; of the condition alone: its coordinates."""
    if input is None and other is None:
        return torch.nonzero(condition, as_tuple=True)
    return NotImplemented if out is not None else _chosen(torch.where, condition, input, other)


implements(_T.where)(lambda x, condition, y: where(condition, x, y))


@implements(torch.masked_fill, _T.masked_fill)
def masked_fill(x, mask, value):
    """Sparse where the mask is, or where the value is 0."""
    return _chosen(lambda c, a, b: b.masked_fill(c, a), mask, value, x)


def _chosen(choose, condition, a, b):
    """choose(condition, a, b): elements of `a` where the condition is true, of `b` elsewhere."""
    telling = [condition, b] if is_sparse(condition) else [a, b]  # they tell which elements may differ from 0
    sparse = [x for x in telling if is_sparse(x)]
    if not sparse or not all(map(_keeps_zero, telling)) or not all(x.pattern.once and x.dim() for x in sparse):
        return elementwise(choose, condition, a, b)
    shape = broadcast_shapes(*(x.shape for x in (condition, a, b) if isinstance(x, _T)))
    condition, a, b = (torch.broadcast_to(x, shape) if is_sparse(x) else x for x in (condition, a, b))
    pattern = combined("+", *(torch.broadcast_to(x, shape) for x in sparse))
    if pattern is None:
        return densely(choose, (condition, a, b))
    return Tensor(choose(*(at(x, pattern) for x in (condition, a, b))), pattern)


def _keeps_zero(x):
    return is_sparse(x) or not is_dense(x) and not (isinstance(x, _T) and x.requires_grad) and x == 0


@implements(torch.equal, _T.equal)
def equal(a, b):
    return a.shape == b.shape and _of_both(torch.equal, a, b)


@implements(torch.allclose, _T.allclose)
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return _of_both(lambda a, b: torch.allclose(a, b, rtol, atol, equal_nan), a, b)


def _of_both(holds, a, b):
    """holds(a, b), which is true of absent elements; so the stored ones are looked at alone."""
    if not (is_sparse(a) and is_sparse(b)):
        return elementwise(holds, a, b)
    if not (a.pattern.once and b.pattern.once and a.dim() and b.dim()):
        return NotImplemented
    a, b = broadcast(a, b)
    pattern = combined("+", a, b)
    if pattern is None:
        return densely(holds, (a, b))
    return holds(*(pattern.in_range(moved(x, pattern)) for x in (a, b)))
