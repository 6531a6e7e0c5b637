"""st.spmm: a sparse matrix times a dense one, with the sum, mean, largest or least of the products."""

import numpy as np

from . import _core
from ._create import asarray
from .errors import ExpressionError, TensorError


def spmm(A, X, reduce="sum"):
    """C(i,k) = the sum, mean, max or min over the stored A(i,j) of A(i,j) * X(j,k), as graph networks aggregate.

        spmm(A, x[:, None], reduce="mean")

    A : a matrix of fill 0; fill-in does not count, a stored zero does; X : a dense matrix
    reduce : "sum" (A @ X), "mean" (divided by the stored elements of the row), "max", "min"

    A dense array; 0 in rows of A that store nothing. TensorError: ranks, extents, a fill; ExpressionError: reduce=.
    """
    A, X = asarray(A), np.asarray(X)
    if reduce not in ("sum", "mean", "max", "min"):
        raise ExpressionError("spmm has no such reduce=", expected="'sum', 'mean', 'max' or 'min'", got=repr(reduce))
    if A.ndim != 2 or X.ndim != 2 or A.shape[1] != X.shape[0]:
        raise TensorError("spmm takes two matrices", expected="m x n and n x k", got=f"{A.shape} and {X.shape}")
    if A.fill != 0:
        raise TensorError("absent elements take no part", expected="a tensor of fill 0", got=f"fill {A.fill}")
    if reduce == "sum":
        return A @ X
    if A.format.can_hold_fill or not A.format.is_unique:
        A = A.to("CSR")
    stored = np.bincount(A.coords[0], minlength=A.shape[0])[:, None]
    if reduce == "mean":
        return A @ X / np.maximum(stored, 1).astype(np.result_type(A.dtype, X.dtype, np.float16))
    sign = 1 if reduce == "max" else -1
    found = _core.evaluate(
        "C(i,k) = A(i,j) * X(j,k)", {"A": A if sign == 1 else -A, "X": X}, semiring="max-times", format="dense"
    )
    return np.where(stored > 0, sign * found, found.dtype.type(0))
