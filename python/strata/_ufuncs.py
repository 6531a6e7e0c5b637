"""NumPy's functions of elements on tensors: np.exp(A), np.maximum(A, B), and arrays on the left of an operator."""

import numpy as np

from ._core import Tensor
from ._operators import binary, power, put, unary
from .errors import Unsupported

_TEXTS = {
    np.negative: "-{}",
    np.absolute: "abs({})",
    np.square: "{0} * {0}",
    np.conjugate: "conj({})",
    np.logical_not: "{} == 0",
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.floor_divide: "{} // {}",
    np.remainder: "{} % {}",
    np.maximum: "max({}, {})",
    np.minimum: "min({}, {})",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.logical_and: "({} != 0) * ({} != 0)",
    np.logical_or: "({} != 0) + ({} != 0)",
    np.logical_xor: "({} != 0) != ({} != 0)",
} | {f: f.__name__ + "({})" for f in (np.sign, np.sqrt, np.exp, np.log, np.sin, np.cos, np.tan, np.tanh)}

_CALLS = {
    np.positive: lambda a: a,
    np.power: lambda a, b: power(a, b) if isinstance(a, Tensor) else NotImplemented,
    np.matmul: lambda a, b: a @ b if isinstance(a, Tensor) else b.__rmatmul__(a),
    # Whole tensors, as == does: an array on the left of it ends here.
    np.equal: lambda a, b: isinstance(a, Tensor) and isinstance(b, Tensor) and a.equal(b),
    np.not_equal: lambda a, b: not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.equal(b)),
}


def _refuse(ufunc, method, options):
    part = f".{method}" if method != "__call__" else ""
    what = f"np.{ufunc.__name__}{part}" + "".join(f" with {k}=" for k in options)
    raise Unsupported(
        f"{what} of a sparse tensor",
        expected="a call of " + ", ".join(sorted(f.__name__ for f in [*_TEXTS, *_CALLS])),
        got=what,
        fix="write t.sum(axis) and the like, an expression for strata.evaluate, or t.to_dense()",
    )


def _array_ufunc(self, ufunc, method, *inputs, out=None, **options):
    """A function of NumPy on tensors: an expression of its own, as an operator is. Unsupported."""
    if method != "__call__" or options or (ufunc not in _TEXTS and ufunc not in _CALLS):
        _refuse(ufunc, method, options)
    if out is not None and not isinstance(out[0], np.ndarray):
        _refuse(ufunc, method, {"out": out})
    if ufunc in _CALLS:
        result = _CALLS[ufunc](*inputs)
    else:
        result = (unary if ufunc.nin == 1 else binary)(_TEXTS[ufunc], *inputs)
    return result if out is None or result is NotImplemented else put(out[0], result)


Tensor.__array_ufunc__ = _array_ufunc
