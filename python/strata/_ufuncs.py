"""NumPy's functions of elements on tensors: np.exp(A), np.maximum(A, B), and arrays on the left of an operator."""

import numpy as np

from ._bits import apply
from ._core import Tensor
from ._operators import binary, power, put, unary
from ._products import matvec, vecdot, vecmat
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
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
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
    np.power: lambda a, b: power(a, b) if isinstance(a, Tensor) else apply(np.power, a, b),
    np.matmul: lambda a, b: a @ b if isinstance(a, Tensor) else b.__rmatmul__(a),
} | {getattr(np, f.__name__): f for f in (vecdot, matvec, vecmat) if hasattr(np, f.__name__)}  # NumPy 2.0, 2.2


#: Others that work element by element: NumPy computes them on the stored elements and on the fill.
OTHERS = sorted(
    {
        f
        for f in vars(np).values()
        if isinstance(f, np.ufunc) and f.signature is None and f not in _TEXTS and f not in _CALLS and f is not np.isnat
    },
    key=lambda f: f.__name__,
)
_SERVED = {*_TEXTS, *_CALLS, *OTHERS}
#: ufunc.reduce by a method of the tensor
_REDUCTIONS = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.logical_or: "any",
    np.logical_and: "all",
}


def _refuse(ufunc, method, options):
    part = f".{method}" if method != "__call__" else ""
    what = f"np.{ufunc.__name__}{part}" + "".join(f" with {k}=" for k in options)
    raise Unsupported(
        f"{what} of a sparse tensor",
        expected="a call of a function of elements, or reduce of " + ", ".join(f.__name__ for f in _REDUCTIONS),
        got=what,
        fix="write t.sum(axis) and the like, an expression for strata.evaluate, or t.to_dense()",
    )


def _reduce(ufunc, t, axis=0, dtype=None, keepdims=False, **options):
    if options or not isinstance(t, Tensor):
        _refuse(ufunc, "reduce", options)
    options = {"dtype": dtype} if ufunc not in (np.logical_or, np.logical_and) else {}
    return getattr(t, _REDUCTIONS[ufunc])(axis, keepdims=keepdims, **options)


def _array_ufunc(self, ufunc, method, *inputs, out=None, **options):
    """A function of NumPy on tensors: an expression of its own, as an operator is, or NumPy on what is stored.
    Unsupported."""
    if method == "reduce" and ufunc in _REDUCTIONS and out is None:
        return _reduce(ufunc, *inputs, **options)
    if method != "__call__" or options or ufunc not in _SERVED:
        _refuse(ufunc, method, options)
    if out is not None and not all(isinstance(o, np.ndarray) for o in out):
        _refuse(ufunc, method, {"out": out})
    if ufunc is np.sign and getattr(inputs[0].dtype, "kind", "f") == "c":
        result = apply(ufunc, *inputs)  # x / abs(x), from NumPy 2 on
    elif ufunc in _CALLS:
        result = _CALLS[ufunc](*inputs)
    elif ufunc in _TEXTS:
        result = (unary if ufunc.nin == 1 else binary)(_TEXTS[ufunc], *inputs)
    else:
        result = apply(ufunc, *inputs)
    if out is None or result is NotImplemented:
        return result
    return put(out[0], result) if ufunc.nout == 1 else tuple(map(put, out, result))


Tensor.__array_ufunc__ = _array_ufunc
