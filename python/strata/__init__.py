"""Strata: a universal sparse tensor.

import strata as st
A = st.from_scipy(a).to("BSR(3, 3)")   # any storage, described in one line
y = A @ x                              # the algorithm is written once
print(A)                               # what is stored
print(st.plan("ij,j->i", A, x).explain())
"""

from typing import TYPE_CHECKING

from . import (  # noqa: F401  attach arithmetic and verbs to Tensor
    _absent,
    _array_function,
    _bits,
    _indexing,
    _linear_operator,
    _members,
    _namespace,
    _operators,
    _printing,
    _reductions,
    _shapes,
    _tensor,
    _ufuncs,
    formats,
    split,
)
from ._accelerate import Acceleration, accelerate_scipy
from ._advice import Advice, advise
from ._arrange import pad
from ._build import Assembly, Builder
from ._calls import tell as _tell, tell_methods as _tell_methods
from ._core import (
    DType,
    Format,
    Plan,
    Schedule,
    Semiring,
    Tensor,
    TensorType,
    describe_structure,
    equal,
    from_dense,
    register_format,
    register_kernel,
    register_level,
    settings,
    unregister_kernel,
)
from ._create import asarray, diags, eye, from_coo, full, ones, ones_like, random, zeros, zeros_like
from ._evaluate import einsum, evaluate, explain, show
from ._files import (
    load,
    read,
    read_frostt,
    read_matrix_market,
    save,
    write,
    write_frostt,
    write_matrix_market,
)
from ._join import block_diag, bmat, concatenate, hstack, kron, stack, tril, triu, vstack
from ._krylov import bicgstab, cg, gmres, lsmr, lsqr, minres, preconditioner
from ._matmul import Matmul, matmul
from ._norm import norm
from ._pictures import Picture, draw_conversion, spy
from ._plan import plan
from ._select import allclose, topk, where
from ._solve import Factorization, Solve, SolveInfo, cholesky, lu, qr, solve, triangular_solve
from ._spectral import eigs, eigsh, expm_multiply, svds
from ._spmm import spmm
from .errors import (
    ArgumentError,
    ConvergenceError,
    CopyWarning,
    DTypeError,
    Error,
    ExpressionError,
    FileError,
    FormatError,
    IndefiniteError,
    IndexError,
    InternalError,
    PlanError,
    RuntimeFailure,
    ScheduleError,
    SingularError,
    SolveError,
    TensorError,
    Unsupported,
)
from .interop import from_dlpack, from_package, to_package
from .interop.cupy import from_cupy
from .interop.numpy import from_numpy
from .interop.scipy import from_scipy
from .interop.torch import from_torch

__version__ = "0.1.0"

__all__ = [
    "Acceleration",
    "Advice",
    "ArgumentError",
    "Assembly",
    "Builder",
    "ConvergenceError",
    "CopyWarning",
    "DType",
    "DTypeError",
    "Error",
    "ExpressionError",
    "Factorization",
    "FileError",
    "Format",
    "FormatError",
    "IndefiniteError",
    "IndexError",
    "InternalError",
    "Matmul",
    "Picture",
    "Plan",
    "PlanError",
    "RuntimeFailure",
    "Schedule",
    "ScheduleError",
    "Semiring",
    "SingularError",
    "Solve",
    "SolveError",
    "SolveInfo",
    "Tensor",
    "TensorType",
    "TensorError",
    "Unsupported",
    "accelerate_scipy",
    "advise",
    "allclose",
    "asarray",
    "bicgstab",
    "block_diag",
    "bmat",
    "cg",
    "cholesky",
    "concatenate",
    "describe_structure",
    "diags",
    "draw_conversion",
    "eigs",
    "eigsh",
    "einsum",
    "equal",
    "evaluate",
    "explain",
    "expm_multiply",
    "eye",
    "formats",
    "from_coo",
    "from_cupy",
    "from_dense",
    "from_dlpack",
    "from_numpy",
    "from_package",
    "from_scipy",
    "from_torch",
    "full",
    "gmres",
    "hstack",
    "kron",
    "load",
    "lsmr",
    "lsqr",
    "lu",
    "matmul",
    "minres",
    "norm",
    "ones",
    "ones_like",
    "pad",
    "plan",
    "preconditioner",
    "qr",
    "random",
    "read",
    "read_frostt",
    "read_matrix_market",
    "register_format",
    "register_kernel",
    "register_level",
    "save",
    "settings",
    "show",
    "solve",
    "split",
    "spmm",
    "spy",
    "stack",
    "svds",
    "to_package",
    "topk",
    "triangular_solve",
    "tril",
    "triu",
    "unregister_kernel",
    "vstack",
    "where",
    "write",
    "write_frostt",
    "write_matrix_market",
    "zeros",
    "zeros_like",
]

_tell(globals())
_tell_methods()


if not TYPE_CHECKING:  # a checker would take any name for one of ours

    def __getattr__(name):
        raise _absent.of_package(name, __all__)
