"""Strata: a universal sparse tensor.

import strata as st
A = st.from_scipy(a).to("BSR(3, 3)")   # any storage, described in one line
y = A @ x                              # the algorithm is written once
print(A)                               # what is stored
print(st.plan("ij,j->i", A, x).explain())
"""

from . import _operators, _tensor, _ufuncs, formats, split  # noqa: F401  attach arithmetic and verbs to Tensor
from ._core import (
    DType,
    Format,
    Plan,
    Schedule,
    Semiring,
    Tensor,
    describe_structure,
    equal,
    from_coo,
    from_dense,
    matmul,
    read_matrix_market,
    register_format,
    register_kernel,
    settings,
    unregister_kernel,
    write_matrix_market,
)
from ._evaluate import einsum, evaluate, explain, show
from ._io import read, write
from ._matmul import Matmul
from ._plan import plan
from .errors import (
    CopyWarning,
    DTypeError,
    Error,
    ExpressionError,
    FileError,
    FormatError,
    IndexError,
    InternalError,
    PlanError,
    RuntimeFailure,
    ScheduleError,
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
    "CopyWarning",
    "DType",
    "DTypeError",
    "Error",
    "ExpressionError",
    "FileError",
    "Format",
    "FormatError",
    "IndexError",
    "InternalError",
    "Matmul",
    "Plan",
    "PlanError",
    "RuntimeFailure",
    "Schedule",
    "ScheduleError",
    "Semiring",
    "Tensor",
    "TensorError",
    "Unsupported",
    "describe_structure",
    "einsum",
    "equal",
    "evaluate",
    "explain",
    "formats",
    "from_coo",
    "from_cupy",
    "from_dense",
    "from_dlpack",
    "from_numpy",
    "from_package",
    "from_scipy",
    "from_torch",
    "matmul",
    "plan",
    "read",
    "read_matrix_market",
    "register_format",
    "register_kernel",
    "settings",
    "show",
    "split",
    "to_package",
    "unregister_kernel",
    "write",
    "write_matrix_market",
]
