"""Operators that no expression has: ~ & | ^ << >>, divmod, and numbers to the power of a tensor."""

import numpy as np

from ._core import Tensor
from ._merge import elementwise, is_sparse
from ._operators import binary, unary

#: With fill 0, or False, the result is absent where the first operand is, whatever stands on the right: so for fmod as
#: for %, where NumPy has nan for 0 % 0.
ABSORBING = {np.bitwise_and, np.left_shift, np.right_shift, np.fmod, np.ldexp}
_OF_TRUTH = {
    np.bitwise_and: "({} != 0) * ({} != 0)",
    np.bitwise_or: "({} != 0) + ({} != 0)",
    np.bitwise_xor: "({} != 0) != ({} != 0)",
}


def apply(ufunc, *operands):
    """A ufunc of NumPy on tensors, arrays and numbers: the fill is what it makes of the fills."""
    if ufunc is np.invert and operands[0].dtype == np.bool_:
        return unary("{} == 0", operands[0])
    if ufunc in _OF_TRUTH and all(isinstance(x, Tensor) and x.dtype == np.bool_ for x in operands):
        return binary(_OF_TRUTH[ufunc], *operands)
    sides = (0, 1) if ufunc is np.bitwise_and else (0,)
    if ufunc is not np.fmod and sum(np.ndim(x) > 0 for x in operands if not isinstance(x, Tensor)) == 0:
        sides = ()  # the fills say it
    absorbing = next(
        (k for k in sides if ufunc in ABSORBING and is_sparse(operands[k]) and operands[k].fill == 0), None
    )
    return elementwise(ufunc, *operands, absorbing=absorbing)


def _define(name, ufunc):
    def f(self, other):
        return apply(ufunc, self, other)

    def reflected(self, other):
        return apply(ufunc, other, self)

    setattr(Tensor, f"__{name}__", f)
    setattr(Tensor, f"__r{name}__", reflected)


for _name, _ufunc in dict(
    and_=np.bitwise_and, or_=np.bitwise_or, xor=np.bitwise_xor, lshift=np.left_shift, rshift=np.right_shift
).items():
    _define(_name.rstrip("_"), _ufunc)
Tensor.__invert__ = lambda self: apply(np.invert, self)
Tensor.__divmod__ = lambda self, other: (self // other, self % other)
Tensor.__rdivmod__ = lambda self, other: (other // self, other % self)
Tensor.__rpow__ = lambda self, base: apply(np.power, base, self)
del _name, _ufunc
