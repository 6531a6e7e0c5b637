"""Work on elements: numbers, dense and sparse operands, functions that keep zero, and what only renames dimensions."""

import functools

import torch
import torch.nn.functional as F

import strata as st

from ._broadcast import broadcast_shapes
from ._matrix import implements, is_sparse
from ._pattern import Pattern
from ._tensor import Tensor

_T = torch.Tensor


def named(*names):
    """The functions of these names in torch, torch.Tensor, torch.nn.functional and torch.special."""
    found = []
    for name in names:
        for place in (torch, _T, F, torch.special):
            f = getattr(place, name, None)
            if f is not None and f not in found:
                found.append(f)
    return found


#: f(0) == 0, element by element
KEEP_ZERO = (
    "abs absolute neg negative positive sign sgn sin tan asin arcsin atan arctan sinh tanh asinh arcsinh atanh arctanh sqrt "
    "square expm1 log1p erf erfinv floor ceil round trunc fix frac relu relu6 leaky_relu elu selu celu gelu silu mish "
    "hardswish tanhshrink softsign softshrink hardshrink deg2rad rad2deg nan_to_num dropout "
    "angle conj_physical resolve_conj resolve_neg i1 i1e bessel_j1 modified_bessel_i1 entr"
).split()


def _on_values(f):
    def g(x, *args, **kwargs):
        if not is_sparse(x) or kwargs.get("out") is not None or kwargs.get("inplace") or not x.pattern.once:
            return NotImplemented
        return Tensor(f(x.values(), *args, **kwargs), x.pattern)

    return g


for _name in KEEP_ZERO:
    for _f in named(_name):
        implements(_f)(_on_values(_f))
implements(_T.__neg__)(lambda x: Tensor(-x.values(), x.pattern))
implements(_T.__abs__)(_on_values(torch.abs))
for _name in (
    "detach",
    "clone",
    "contiguous",
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "bool",
    "byte",
    "char",
    "cfloat",
    "cdouble",
    "chalf",
    "conj",
    "cpu",
):
    implements(getattr(_T, _name))(
        lambda x, *args, _f=getattr(_T, _name), **kwargs: Tensor(_f(x.values(), *args, **kwargs), x.pattern)
    )
implements(torch.clone)(lambda x, **kwargs: Tensor(torch.clone(x.values(), **kwargs), x.pattern))
implements(torch.detach)(lambda x: Tensor(x.values().detach(), x.pattern))
implements(_T.type)(
    lambda x, dtype=None, **k: NotImplemented if dtype is None else Tensor(x.values().type(dtype), x.pattern)
)
implements(_T.type_as)(
    lambda x, other: Tensor(x.values().to(other.dtype), x.pattern) if is_sparse(x) else NotImplemented
)


def _is_number(x):
    return isinstance(x, (int, float, complex, bool)) or (
        isinstance(x, torch.Tensor) and not is_sparse(x) and x.dim() == 0
    )


def slots_of(pattern, flat):
    """(at, there): the slots that store the elements with these row-major numbers, and whether there are such."""
    slot, stored = pattern.places()
    if not len(stored):
        return torch.zeros_like(flat), torch.zeros(len(flat), dtype=torch.bool)
    if pattern.shape.numel() <= _TABLE * len(flat):
        table = torch.zeros(pattern.shape.numel(), dtype=torch.int32)
        table.scatter_(0, stored, torch.arange(1, len(stored) + 1, dtype=torch.int32))
        found = table.index_select(0, flat).long()
        there = found > 0
        found.sub_(1).clamp_(min=0)
    else:
        order, ascending = pattern.derived("in row-major order", _in_order)
        found = torch.searchsorted(ascending, flat).clamp(max=len(stored) - 1)
        there = ascending[found] == flat
        found = found if order is None else order[found]
    return found if slot is None else slot[found], there


#: with fewer elements for each that is sought, all of them are numbered; otherwise each is sought among those stored
_TABLE = 16


def _in_order(pattern):
    """(which of the stored elements come one after the other, their row-major numbers); None where they stand so."""
    stored = pattern.places()[1]
    if bool((stored.diff() > 0).all()):
        return None, stored
    stored, order = stored.sort()
    return order, stored


def moved(x, pattern):
    """x's values at the slots of another pattern, 0 where x stores nothing."""
    if x.pattern == pattern:
        return x.values()
    flat = pattern.places()[1]
    found = x.pattern.remembered("slots", lambda: slots_of(x.pattern, flat), pattern)
    return pattern.at_slots(_of_slots(x, *found))


def elements(x, flat):
    """The elements with these row-major numbers, 1-D and dense: 0 where x stores nothing."""
    return _of_slots(x, *slots_of(x.pattern, flat))


def _of_slots(x, at, there):
    values = x.values()
    found = values.index_select(0, at) if len(values) else values.new_zeros(len(at))
    return torch.where(there, found, values.new_zeros(()))


def at(x, pattern):
    """An operand's values at the slots of a pattern; numbers and the like stay what they are."""
    if is_sparse(x):
        return moved(x, pattern)
    return pattern.gather(x.expand(pattern.shape)) if is_dense(x) else x


def is_dense(x):
    """Has x elements of its own, all of them?"""
    return isinstance(x, torch.Tensor) and not is_sparse(x) and x.dim() > 0


def broadcast(*tensors):
    """Sparse tensors in the shape that they have together."""
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return [x if x.shape == shape else torch.broadcast_to(x, shape) for x in tensors]


def combined(sign, first, *others):
    """The pattern of the sum ("+") or of the product ("*") of tensors of one shape; None where that is every element."""
    pattern = first.pattern
    for x in others:
        if x.pattern == pattern:
            continue
        (pattern,) = pattern.remembered(sign, functools.partial(_combined, sign, pattern, x.pattern), x.pattern)
        if pattern is None:
            break
    return pattern


def _combined(sign, one, two):
    one, two = one.ones_of(torch.float32), two.ones_of(torch.float32)
    found = one + two if sign == "+" else one * two
    return (Pattern(found) if isinstance(found, st.Tensor) else None,)


def densely(f, operands):
    """f of all elements, where a result of all elements is due."""
    return f(*(x.to_dense() if is_sparse(x) else x for x in operands))


def elementwise(f, *operands):
    """f(*operands), element by element, where it makes 0 of absent elements: sparse, in the union of the patterns. Beside a
    dense tensor: dense. Otherwise NotImplemented."""
    if any(map(is_dense, operands)):
        return densely(f, operands)
    sparse = [x for x in operands if is_sparse(x)]
    if not all(x.pattern.once and x.dim() for x in sparse):
        return NotImplemented
    absent = f(*(torch.zeros(1, dtype=x.dtype) if is_sparse(x) else x for x in operands))
    if not isinstance(absent, torch.Tensor) or absent.requires_grad or bool(absent != 0):
        return NotImplemented
    shape = broadcast_shapes(*(x.shape for x in sparse))
    operands = [torch.broadcast_to(x, shape) if is_sparse(x) and x.shape != shape else x for x in operands]
    pattern = combined("+", *filter(is_sparse, operands))
    if pattern is None:
        return densely(f, operands)
    return Tensor(f(*(at(x, pattern) for x in operands)), pattern)


@implements(torch.mul, torch.multiply, _T.mul, _T.multiply, _T.__mul__, _T.__rmul__)
def mul(a, b, *, out=None):
    if out is not None:
        return NotImplemented
    if not is_sparse(a):
        a, b = b, a
    if _is_number(b):
        return Tensor(a.values() * b, a.pattern)
    if is_sparse(b):
        if not (a.pattern.once and b.pattern.once and a.dim() and b.dim()):
            return NotImplemented
        a, b = broadcast(a, b)
        pattern = combined("*", a, b)
        return densely(torch.mul, (a, b)) if pattern is None else Tensor(at(a, pattern) * at(b, pattern), pattern)
    if b.dim() > a.dim() or broadcast_shapes(a.shape, b.shape) != a.shape:
        if not (a.pattern.once and a.dim()):
            return NotImplemented
        a = torch.broadcast_to(a, broadcast_shapes(a.shape, b.shape))
    return Tensor(a.values() * at(b, a.pattern), a.pattern)


@implements(torch.div, torch.divide, torch.true_divide, _T.div, _T.divide, _T.true_divide, _T.__truediv__)
def div(a, b, *, rounding_mode=None, out=None):
    """An absent numerator stays absent, whatever divides it."""
    if out is not None or not is_sparse(a) or not a.pattern.once:
        return NotImplemented
    if not _is_number(b):
        if not a.dim() or is_sparse(b) and not b.pattern.once:
            return NotImplemented
        shape = broadcast_shapes(a.shape, b.shape)
        a, b = torch.broadcast_to(a, shape), torch.broadcast_to(b, shape)
    return Tensor(torch.div(a.values(), at(b, a.pattern), rounding_mode=rounding_mode), a.pattern)


@implements(torch.add, _T.add, _T.__add__, _T.__radd__)
def add(a, b, *, alpha=1, out=None):
    """Of two sparse tensors: sparse, in the union of their patterns. With a dense one: dense."""
    if out is not None:
        return NotImplemented
    if is_sparse(a) and is_sparse(b) and a.pattern == b.pattern:  # of sums, too, whose parts overlap
        return Tensor(torch.add(a.values(), b.values(), alpha=alpha), a.pattern)
    return elementwise(lambda a, b: torch.add(a, b, alpha=alpha), a, b)


@implements(torch.sub, torch.subtract, _T.sub, _T.subtract, _T.__sub__)
def sub(a, b, *, alpha=1, out=None):
    return NotImplemented if out is not None else add(a, b, alpha=-alpha)


@implements(_T.__rsub__, torch.rsub)
def rsub(a, b, *, alpha=1):
    return sub(b, a, alpha=alpha)


@implements(torch.pow, _T.pow, _T.__pow__)
def power(a, exponent):
    if not is_sparse(a) or not isinstance(exponent, (int, float)) or exponent <= 0 or not a.pattern.once:
        return NotImplemented
    return Tensor(a.values() ** exponent, a.pattern)


def permuted(x, *perm):
    return Tensor(x.values(), x.pattern.transpose(*perm))


@implements(torch.t, _T.t, _T.T.__get__)
def t(x):
    return permuted(x) if x.dim() > 1 else x


@implements(torch.adjoint, _T.adjoint, _T.H.__get__, _T.mH.__get__)
def adjoint(x):
    return transpose(x, -1, -2).conj()


@implements(_T.mT.__get__)
def matrix_transpose(x):
    return transpose(x, -1, -2)


@implements(torch.transpose, _T.transpose, torch.swapaxes, _T.swapaxes, torch.swapdims, _T.swapdims)
def transpose(x, dim0, dim1):
    perm = list(range(x.dim()))
    perm[dim0], perm[dim1] = perm[dim1], perm[dim0]
    return permuted(x, *perm)


@implements(torch.permute, _T.permute)
def permute(x, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    return permuted(x, *(d % x.dim() for d in dims))


for _f in (torch.zeros_like, torch.empty_like):
    implements(_f)(lambda x, *, _f=_f, **kwargs: Tensor(_f(x.values(), **kwargs), x.pattern))
# What is asked of a tensor's shape, dtype and device alone is dense.
for _f in (torch.ones_like, torch.full_like, torch.rand_like, torch.randn_like, torch.randint_like):
    implements(_f)(lambda x, *args, _f=_f, **k: _f(x.values().new_empty(1).expand(x.shape), *args, **k))
for _f in (_T.new_zeros, _T.new_ones, _T.new_empty, _T.new_full, _T.new_tensor):
    implements(_f)(lambda x, *args, _f=_f, **k: _f(x.values(), *args, **k))


@implements(_T.backward)
def backward(x, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Of the values; the gradient is a Tensor of the same pattern."""
    gradient = gradient.values() if is_sparse(gradient) else gradient
    inputs = None if inputs is None else [i.values() if is_sparse(i) else i for i in inputs]
    return x.values().backward(gradient, retain_graph, create_graph, inputs)
