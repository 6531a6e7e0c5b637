"""Arithmetic on tensors: each operator is an expression of its own, evaluated at once; st.evaluate fuses many."""

import math

import numpy as np

from . import _core
from ._core import Tensor
from ._merge import elementwise
from .errors import DTypeError, ExpressionError
from .interop import package_of

_NUMBERS = (bool, int, float, complex)


def _indices(rank):
    return [f"i{d}" for d in range(rank)]


def _access(name, indices):
    return f"{name}({','.join(indices)})" if indices else name


def _result(indices, value, operands, **options):
    return _core.evaluate(f"{_access('R', indices)} = {value}", operands, **options)


def _number(x):
    """A Python number as it stands in an expression, where it takes the dtype of what it meets."""
    if type(x) is complex:
        return f"({x.real!r} + {x.imag!r}j)" if x.real else f"({x.imag!r}j)"
    if type(x) is int and x.bit_length() > 1024:
        raise DTypeError("an integer is too large for any dtype", expected="at most 1024 bits", got=f"{x.bit_length()}")
    text = repr(x)
    return f"({text})" if text.startswith("-") else text


def _term(name, x, indices, operands):
    """The text of an operand, which joins `operands` unless it is a Python number."""
    if type(x) in _NUMBERS:
        return _number(x)
    operands[name] = x
    return _access(name, indices[len(indices) - x.ndim :])


def _operand(x):
    """What takes part, or None where it cannot."""
    if isinstance(x, Tensor) or type(x) in _NUMBERS:
        return x
    if isinstance(x, (float, complex, np.generic, list, tuple)):
        return np.asarray(x)
    if hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__"):
        rank = getattr(x, "ndim", None)
        if type(rank) is int and 0 <= rank <= 32:
            return x
    return _core.to_operand(x) if package_of(x) in ("scipy", "strata") else None


def binary(text, a, b):
    """The elements of both in `text`, '{} + {}' for example; NotImplemented where one is no operand."""
    a, b = _operand(a), _operand(b)
    if a is None or b is None:
        return NotImplemented
    indices = _indices(max(getattr(x, "ndim", 0) for x in (a, b)))
    operands = {}
    left, right = _term("A", a, indices, operands), _term("B", b, indices, operands)
    return _result(indices, text.format(left, right), operands)


def _define(name, operator, reflected=None):
    text = f"{{}} {operator} {{}}"
    setattr(Tensor, name, lambda a, b: binary(text, a, b))
    if reflected:
        setattr(Tensor, reflected, lambda a, b: binary(text, b, a))


for _name, _operator in dict(add="+", sub="-", mul="*", truediv="/", floordiv="//", mod="%").items():
    _define(f"__{_name}__", _operator, f"__r{_name}__")
for _name, _operator in dict(eq="==", ne="!=", lt="<", le="<=", gt=">", ge=">=").items():
    _define(f"__{_name}__", _operator)


def unary(text, a):
    """The elements of `a` in `text`, '-{}' for example."""
    indices = _indices(a.ndim)
    return _result(indices, text.format(_access("A", indices)), {"A": a})


Tensor.__neg__ = lambda self: unary("-{}", self)
Tensor.__abs__ = lambda self: unary("abs({})", self)
Tensor.__pos__ = lambda self: self


def power(self, exponent):
    """Small whole powers as products, the root as sqrt, others by NumPy; a typed exponent, and a float of integers, widen the dtype as NumPy does."""
    typed = isinstance(exponent, (np.generic, np.ndarray)) and exponent.ndim == 0
    number = exponent.item() if typed else exponent
    if isinstance(number, (int, float)):
        indices, operands = _indices(self.ndim), {"A": self}
        one = _term("B", np.ones((), exponent.dtype) if typed else type(number)(1), indices, operands)
        base = _access("A", indices)
        if number in range(1, 17):
            return _result(
                indices, " * ".join([one] * (typed or type(number) is float) + [base] * int(number)), operands
            )
        if number == 0.5:
            return _result(indices, f"sqrt({one} * {base})", operands)
    return elementwise(np.power, self, exponent)


Tensor.__pow__ = power


def _axes(axis, rank):
    if axis is None:
        return list(range(rank))
    given = [axis] if isinstance(axis, (int, np.integer)) else list(axis)
    for a in given:
        if not -rank <= a < rank:
            raise ExpressionError("there is no such axis", expected=f"{-rank} to {rank - 1}", got=str(a))
    axes = [int(a) % rank for a in given]
    if len(set(axes)) < len(axes):
        raise ExpressionError("an axis is named twice", expected="each once", got=str(axis))
    return axes


def _reduction(name, doc):
    def f(self, axis=None, keepdims=False, *, dtype=None, out=None):
        indices = _indices(self.ndim)
        axes = _axes(axis, self.ndim)
        value = _access("A", indices)
        for d in axes:
            value = f"{name}({indices[d]}, {value})"
        kept = [i for d, i in enumerate(indices) if d not in axes]
        a = self if dtype is None else self.to(dtype=dtype)
        if not axes and name in ("any", "all"):
            value = f"{value} != 0"
        elif not axes and name == "sum" and dtype is None and getattr(self.dtype, "kind", "f") in "biu":
            a = self.to(dtype=np.sum(np.empty(0, self.dtype)).dtype)  # as NumPy widens, where nothing is added up
        asked = None if name in ("any", "all") else dtype
        found = _result(kept, value, {"A": a}, format="dense" if kept else None, dtype=asked)
        if keepdims:
            found = np.reshape(found, [1 if d in axes else n for d, n in enumerate(self.shape)])
        return found if out is None else put(out, found)

    f.__name__ = name
    f.__doc__ = f"{doc} over all axes, one, or several: a dense array, as NumPy's of to_dense(). ExpressionError."
    return f


def put(out, found):
    """Into an array of the caller's, which is returned."""
    np.copyto(out, found.to_dense() if isinstance(found, Tensor) else found, casting="same_kind")
    return out


for _name, _doc in dict(
    sum="The sum", max="The largest element", min="The least element", any="Is an element not 0", all="Is no element 0"
).items():
    setattr(Tensor, _name, _reduction(_name, _doc))


def _mean(self, axis=None, keepdims=False, *, dtype=None, out=None):
    """The mean over all axes, one, or several, missing elements included: a dense array. ExpressionError."""
    if dtype is None and self.dtype == np.float16:  # summed wider, as NumPy does
        wide, result = np.float32, np.float16
    elif dtype is None and getattr(self.dtype, "kind", "f") in "biu":
        wide = result = np.float64
    else:
        wide, result = dtype, dtype if dtype is not None or not isinstance(self.dtype, np.dtype) else self.dtype
    count = math.prod(self.shape[d] for d in _axes(axis, self.ndim))
    found = self.sum(axis, keepdims, dtype=wide) / count
    if hasattr(
        found, "astype"
    ):  # integers too, whose quotient is a float; not torch's, for the dtypes that NumPy lacks
        found = found if result is None else found.astype(_core.dtype_name(result))
    return found if out is None else put(out, found)


Tensor.mean = _mean
del _name, _operator, _doc
