"""matmul, matmul whose planning is done once, and matmul of which only the largest elements of each row are kept."""

import operator

import numpy as np

from . import _core
from ._calls import told
from ._core import Format, Tensor
from ._create import asarray
from ._groups import largest_of_rows
from ._stored import for_numpy
from .errors import TensorError

#: whose callers learn in our form what is wrong with their call
_product = told(_core.matmul)

#: products of which the elements are chosen at a time: 2 MB of values, which stay in a cache
_PRODUCTS = 1 << 18


def matmul(
    a,
    b,
    c=None,
    *,
    alpha=1,
    beta=None,
    transpose_a=False,
    transpose_b=False,
    conjugate_a=False,
    conjugate_b=False,
    dtype=None,
    compute_dtype=None,
    topk=None,
    threshold=None,
):
    """alpha * op(a) @ op(b) + beta * c, with NumPy's rules for ranks.

        matmul(A, x)
        matmul(A, A, topk=2, threshold=0.5)            # the two largest elements above 0.5 of each row

    a, b : sparse tensors, NumPy arrays, torch tensors
    c : array to write into (then beta = 1 unless given), returned; otherwise a fresh array of the package of the dense operand
    transpose_*, conjugate_* : what op() does
    dtype : of the fresh result; compute_dtype: to accumulate in
    topk, threshold : of two sparse matrices: of each row of the product only the topk largest elements, and only those above
        threshold, as sparse_dot_topn; the result is CSR, and never more than a few rows of the whole product are in memory.
        Absent elements do not count; of equal ones the first stays

    TensorError, DTypeError, Unsupported.
    """
    options = {
        "alpha": alpha,
        "transpose_a": transpose_a,
        "transpose_b": transpose_b,
        "conjugate_a": conjugate_a,
        "conjugate_b": conjugate_b,
        "dtype": dtype,
        "compute_dtype": compute_dtype,
    }
    if topk is None and threshold is None:
        return _product(a, b, c, beta=beta, **options)
    if c is not None or beta is not None:
        raise TensorError("the largest elements of a product are a fresh tensor", expected="no c=", got="c=, or beta=")
    return _largest(a, b, topk, threshold, options)


def _largest(a, b, k, threshold, options):
    if k is not None and operator.index(k) < 0:
        raise TensorError("topk is a number of elements", expected="0 or more", got=str(k))
    a, b = _matrix(a, options.pop("transpose_a")), _matrix(b, options.pop("transpose_b"))
    if a.shape[1] != b.shape[0]:
        raise TensorError("these shapes do not go together", expected="m x n and n x k", got=f"{a.shape} and {b.shape}")
    parts = []
    for rows in _row_blocks(a, b):
        product = _core.matmul(rows, b, **options)
        parts.append(_chosen(product, k, threshold))
    pos = np.zeros(a.shape[0] + 1, np.int64)
    np.cumsum(np.concatenate([counts for counts, _, _ in parts]), out=pos[1:])
    crd, values = (np.concatenate([part[n] for part in parts]) for n in (1, 2))
    pos = pos.astype(np.int32) if pos[-1] <= np.iinfo(np.int32).max else pos
    found = Tensor("CSR", (a.shape[0], b.shape[1]), pos={1: pos}, crd={1: crd}, values=values, check=False)
    return found if isinstance(product.dtype, np.dtype) else found.to(dtype=product.dtype)


def _matrix(x, transposed):
    t = asarray(x)
    if t.ndim != 2 or t.format.is_all_dense or t.fill != 0:
        raise TensorError(
            "topk= and threshold= are for two sparse matrices of fill 0",
            expected="a sparse matrix",
            got=f"a dense tensor of shape {t.shape}" if t.format.is_all_dense else f"shape {t.shape}, fill {t.fill}",
            fix="t.topk(k, axis=1) of the product",
        )
    t = t.T if transposed else t
    return t if t.format == Format("CSR") else t.to("CSR")


def _row_blocks(a, b):
    """Rows of a whose products are few enough, one row at least."""
    work = np.concatenate([[0], np.cumsum(np.diff(b.pos(1))[a.crd(1)[: int(a.pos(1)[-1])]])])[a.pos(1)]
    start = 0
    while True:
        end = max(int(np.searchsorted(work, work[start] + _PRODUCTS, side="right")) - 1, start + 1)
        yield a[start:end]
        if end >= a.shape[0]:
            return
        start = end


def _chosen(c, k, threshold):
    """(elements of each row, columns, values) of what stays."""
    c = for_numpy(c if c.format == Format("CSR") else c.to("CSR"))
    count = int(c.pos(1)[-1])
    columns, values = c.crd(1)[:count], c.values[:count]
    pos = c.pos(1)
    if values.dtype.kind == "c":
        raise TensorError("complex numbers have no order", expected="a real product", got=str(values.dtype))
    if threshold is not None:
        kept = np.flatnonzero(values > threshold)
        pos, columns, values = np.searchsorted(kept, pos), columns[kept], values[kept]
    if k is not None:
        kept = largest_of_rows(pos, values, k)
        pos, columns, values = np.searchsorted(kept, pos), columns[kept], values[kept]
    return np.diff(pos), columns, values


class Matmul:
    """c = alpha * op(a) @ op(b) + beta * c, planned once and executed as often as wanted.

        with Matmul(a, b, c, beta=1.0) as mm:
            mm.plan()
            mm.execute()

    a, b : sparse tensors, NumPy arrays or torch tensors
    c : array to write into, returned by execute(); without it each execute() returns a fresh array, or a sparse tensor where
        a and b are sparse
    alpha, beta : numbers; beta is 1 with c unless given
    transpose_a, transpose_b, conjugate_a, conjugate_b : what op() does
    dtype, compute_dtype : of a fresh result; to accumulate in

    PlanError where the calls come in a wrong order, TensorError, DTypeError, Unsupported.
    """

    def __init__(
        self,
        a,
        b,
        c=None,
        *,
        alpha=1,
        beta=None,
        transpose_a=False,
        transpose_b=False,
        conjugate_a=False,
        conjugate_b=False,
        dtype=None,
        compute_dtype=None,
    ):
        self._product = _core.PlannedProduct(
            a, b, c, alpha, beta, transpose_a, transpose_b, conjugate_a, conjugate_b, dtype, compute_dtype
        )

    def plan(self):
        """Chooses a kernel; returns the Plan, which can explain() itself."""
        return self._product.plan()

    def execute(self):
        """Runs the plan; returns c, or a fresh array. PlanError before plan()."""
        return self._product.execute()

    def reset_operands(self, a=None, b=None, c=None, *, alpha=None, beta=None):
        """Other operands of the same formats, dtypes and shapes; what is stored may differ. PlanError where they do
        not match the plan."""
        self._product.reset_operands(a, b, c, alpha, beta)

    def release_operands(self):
        """Operands may not be used any more until reset_operands() names all of them again."""
        self._product.release_operands()

    def free(self):
        """Lets go of operands and plan. Every later call is a PlanError."""
        self._product.free()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.free()
