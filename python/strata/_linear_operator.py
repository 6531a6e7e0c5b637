"""SciPy's protocol of linear operators, by which scipy.sparse.linalg takes tensors: cg, gmres, eigsh, svds and others."""

from . import _core
from ._core import Tensor
from ._operators import unary


def _matvec(self, x):
    """self @ x."""
    return _core.matmul(self, x)


def _rmatvec(self, x):
    """The conjugate transpose times x, which is not stored."""
    return _core.matmul(self, x, transpose_a=True, conjugate_a=True)


def _adjoint(self):
    """The conjugate transpose: over the same memory where the values are real."""
    return unary("conj({})", self.T) if getattr(self.dtype, "kind", "f") == "c" else self.T


Tensor.matvec = Tensor.matmat = _matvec
Tensor.rmatvec = Tensor.rmatmat = _rmatvec
Tensor.H = property(_adjoint)
