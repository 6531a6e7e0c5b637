"""python-graphblas: Matrix and Vector. It gives and takes copies: what is inside belongs to GraphBLAS."""

import numpy as np

from .. import _core
from .._core import Tensor
from ..errors import Unsupported, warn
from .scipy import _borrow

#: GraphBLAS's layouts: the levels, and what it calls the arrays of coordinates (outer ones first)
_LAYOUTS = {
    "csr": ("(i, j) -> (i: dense, j: compressed{})", None, "col_indices"),
    "csc": ("(i, j) -> (j: dense, i: compressed{})", None, "row_indices"),
    "hypercsr": ("(i, j) -> (i: compressed, j: compressed{})", "rows", "col_indices"),
    "hypercsc": ("(i, j) -> (j: compressed, i: compressed{})", "cols", "row_indices"),
}


def _values(parts, n):
    """One value stands for all where the matrix has one."""
    return np.broadcast_to(parts["values"], n) if parts["is_iso"] else parts["values"][:n]


def from_graphblas(x):
    """A Matrix as CSR, CSC, DCSR or DCSC, as it is held (others as CSR), a Vector as a sparse one: copied, with a
    CopyWarning. Absent elements have the fill 0."""
    warn("a matrix of python-graphblas was copied: its arrays belong to GraphBLAS")
    if type(x).__name__ == "Vector":
        parts = x.ss.export("sparse", sort=True)
        crd = parts["indices"].view(np.int64)
        pos = np.array([0, len(crd)])
        return Tensor("SparseVector", x.shape, pos={0: pos}, crd={0: crd}, values=_values(parts, len(crd)))
    layout = x.ss.format if x.ss.format in _LAYOUTS else "csr"
    template, outer, inner = _LAYOUTS[layout]
    parts = x.ss.export(layout)
    pos, crd = {1: parts["indptr"].view(np.int64)}, {1: parts[inner].view(np.int64)}
    n = int(pos[1][-1])
    crd[1] = crd[1][:n]
    if outer:
        pos[0], crd[0] = np.array([0, len(parts[outer])]), parts[outer].view(np.int64)
    extent = x.ncols if inner == "col_indices" else x.nrows
    scan = lambda: _core.scan_segments(pos[1], crd[1], extent)
    return _borrow(template, x.shape, pos, crd, _values(parts, n), scan)


def to_graphblas(t):
    """The tensor as a Matrix or a Vector of python-graphblas, which has no element where the tensor stores none: a copy.
    Unsupported without the package, for a fill other than 0, and of more than two dimensions."""
    try:
        import graphblas as gb
    except ImportError:
        raise Unsupported(
            "python-graphblas is needed here and is not installed",
            fix="pip install python-graphblas suitesparse-graphblas",
        ) from None
    if t.ndim not in (1, 2):
        raise Unsupported("GraphBLAS has vectors and matrices", expected="one or two dimensions", got=str(t.ndim))
    if t.fill != 0:
        raise Unsupported(
            "GraphBLAS has no fill", expected="a tensor of fill 0", got=f"fill {t.fill}", fix="use to_dense()"
        )
    coo = t.to("SparseVector" if t.ndim == 1 else "COO")
    n = coo.nse
    lists = [coo._array("crd", k)[:n].astype("uint64") for k in range(t.ndim)]
    values = np.ascontiguousarray(coo._array("values")[:n])
    if t.ndim == 1:
        return gb.Vector.from_coo(*lists, values, size=t.shape[0])
    return gb.Matrix.from_coo(*lists, values, nrows=t.shape[0], ncols=t.shape[1])
