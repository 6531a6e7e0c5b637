"""spmm: a sparse matrix times a dense one, with the sum, mean, largest or least of the products; and torch.sparse's names."""

import torch

import strata as st

from ..errors import ExpressionError, TensorError
from . import _ops
from ._contract import contract, plain
from ._einsum import alike
from ._frames import as_written
from ._matrix import addmm, implements, is_sparse, matmul
from ._pattern import Once
from ._reductions import log_softmax, softmax, total
from ._tensor import Tensor

_library = torch.library.Library("strata", "FRAGMENT")
_library.define("winners_v1(Tensor values, Tensor pos, Tensor crd, Tensor x, bool least) -> Tensor")


def spmm(A, X, reduce="sum"):
    """C(i, k) = the sum, mean, max or min over the stored A(i, j) of A(i, j) * X(j, k), as graph networks aggregate.

        stt.spmm(stt.from_torch(torch.eye(3)), torch.randn(3, 2), reduce="mean")

    A: an stt.Tensor (m, n), of which every element of the pattern counts, zeros too; X: a dense tensor (n, k) of its dtype.
    With dimensions in front, batches and heads, which broadcast, the sum: weights of an attention times its values.
    reduce: "sum" (A @ X), "mean" (divided by the stored elements of the row), "max", "min". Rows that store nothing are 0.
    Differentiable any number of times; of equal products the one of the lowest column takes the gradient, as in torch.

    A dense (m, k). TensorError: ranks or extents; DTypeError; ExpressionError: reduce=."""
    if reduce not in ("sum", "mean", "max", "min"):
        raise ExpressionError("spmm has no such reduce=", expected="'sum', 'mean', 'max' or 'min'", got=repr(reduce))
    if is_sparse(A) and not is_sparse(X) and reduce == "sum" and A.dim() > 2 and X.dim() > 1:
        return matmul(A, X)
    if not is_sparse(A) or is_sparse(X) or A.dim() != 2 or X.dim() != 2 or A.shape[1] != X.shape[0]:
        raise TensorError(
            "spmm takes a sparse matrix and a dense one",
            expected="m x n and n x k",
            got=f"{type(A).__name__} {tuple(A.shape)} and {type(X).__name__} {tuple(X.shape)}",
        )
    if reduce == "sum":
        return matmul(A, X)
    rows = A.pattern.derived("rows of a graph", _Rows)
    if reduce == "mean":
        y = matmul(A, X)
        divisors = rows.divisors(y.dtype)
        return (
            y.div_(divisors) if divisors.dtype == y.dtype else y / divisors
        )  # new memory costs more than the division
    values, X = alike(rows.values(A), X)
    if not len(values):
        return X.new_zeros(A.shape[0], X.shape[1])
    if plain(values, X) and not (torch.is_grad_enabled() and (values.requires_grad or X.requires_grad)):
        y = _extreme(*_exact(values, X), rows.pos, rows.crd, reduce == "min")
        return y.to(X.dtype).index_fill_(0, rows.empty, 0)
    at = torch.ops.strata.winners_v1(values.detach(), rows.pos, rows.crd, X.detach(), reduce == "min")
    chosen = at.clamp(min=0)
    return torch.where(at < 0, 0, values[chosen] * X.gather(0, rows.crd[chosen]))


class _Rows(Once):
    """The stored elements of a matrix as CSR: `pos`, `crd`, the `lengths` of rows; what parts of a sum both store is one element."""

    def __init__(self, pattern):
        _, flat = pattern.places()
        flat, self._place = torch.unique(flat, return_inverse=True)
        if torch.equal(self._place, torch.arange(len(flat))):
            self._place = None  # they stand in this order
        rows, columns = pattern.shape
        self.crd = flat % max(columns, 1)
        self.lengths = torch.bincount(flat // max(columns, 1), minlength=rows)
        self.pos = torch.cat([flat.new_zeros(1), self.lengths.cumsum(0)])
        self.empty = (self.lengths == 0).nonzero()[:, 0]

    def divisors(self, dtype):
        """The lengths as a column, 1 for empty rows, in the dtype of what they divide."""
        return self.known("_find_divisors", dtype)

    def _find_divisors(self, dtype):
        column = self.lengths.clamp(min=1)[:, None]
        return column.to(dtype) if dtype.is_floating_point or dtype.is_complex else column

    def values(self, x):
        found = x.pattern.in_range(x.values())
        return found if self._place is None else found.new_zeros(len(self.crd)).index_add(0, self._place, found)


def _exact(*tensors):
    """In a dtype in which two equal products are the same number."""
    wide = torch.float64 if tensors[0].dtype == torch.float64 else torch.float32
    return [_ops._plainly(x).to(wide if x.is_floating_point() else torch.int64) for x in tensors]


def _extreme(values, x, pos, crd, least):
    """The largest or least product of each row."""
    a = _csr(-values if least else values, pos, crd, x)
    y = st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=a, X=x, semiring="max-times", format="dense")
    return -y if least else y


def _csr(values, pos, crd, x):
    return st.Tensor("CSR", (len(pos) - 1, len(x)), pos={1: pos}, crd={1: crd}, values=values, check=False)


#: so many elements of a row one sum tells apart: the n-th adds 4**-n, and the first one decides the exponent
_AT_ONCE = 500


def _winners(values, pos, crd, x, least):
    """The position of the element that makes the extreme product, the first one of equals; -1 in empty rows."""
    values, x = _exact(values, x)
    y = _extreme(values, x, pos, crd, least)
    tests = ["(A(i,j) * X(j,k) == Y(i,k))"]
    if y.isnan().any():  # which equals nothing
        tests.append("(A(i,j) * X(j,k) != A(i,j) * X(j,k)) * (Y(i,k) != Y(i,k))")
    lengths = pos.diff()
    rank = torch.arange(len(crd)) - pos[:-1].repeat_interleave(lengths)
    weight = 0.25 ** torch.arange(_AT_ONCE, dtype=torch.float64)
    at = torch.full(y.shape, -1)
    for first in range(int(rank.max()) // _AT_ONCE * _AT_ONCE, -1, -_AT_ONCE):
        here = ((rank >= first) & (rank < first + _AT_ONCE)).nonzero()[:, 0]
        ends = torch.cat([pos[:1], (lengths - first).clamp(0, _AT_ONCE).cumsum(0)])
        of_a, of_n = (_csr(each, ends, crd[here], x) for each in (values[here], weight[rank[here] - first]))
        named = {"A": of_a, "N": of_n, "X": x, "Y": y}
        found = sum(st.evaluate(f"S(i,k) = N(i,j) * {test}", named) for test in tests)
        nth = (1 - torch.frexp(found).exponent) // 2
        at = torch.where(found > 0, pos[:-1, None] + first + nth, at)
    return at


def _each_winners(info, in_dims, values, pos, crd, x, least):
    f = lambda values, x: torch.ops.strata.winners_v1(values, pos, crd, x, least)  # noqa: E731
    return _ops._each(info, (in_dims[0], in_dims[3]), f, values, x)


_library.impl("winners_v1", as_written(_winners), "CPU")
torch.library.register_fake(
    "strata::winners_v1",
    lambda values, pos, crd, x, least: x.new_empty((len(pos) - 1, x.shape[1]), dtype=torch.int64),
    lib=_library,
)
torch.library.register_vmap("strata::winners_v1", _each_winners, lib=_library)


# torch.sparse's own names


@implements(torch.sparse.mm)
def sparse_mm(a, b, reduce="sum"):
    """torch.sparse.mm; of two sparse ones sparse."""
    if reduce == "sum":
        return matmul(a, b)
    return spmm(a, b, {"amax": "max", "amin": "min"}.get(reduce, reduce))


implements(torch.sparse.addmm)(addmm)
implements(torch.sparse.softmax)(softmax)
implements(torch.sparse.log_softmax)(log_softmax)
implements(torch._sparse_sum)(total)


@implements(torch.sparse.sampled_addmm)
def sampled_addmm(c, a, b, *, beta=1, alpha=1, out=None):
    """alpha * (a @ b) + beta * c at the elements of the sparse c; a and b are dense, matrices or batches of them."""
    if out is not None or not is_sparse(c) or is_sparse(a) or is_sparse(b):
        return NotImplemented
    batch = "abcdefgh"[: c.dim() - 2]
    values, a, b = alike(c.values(), a, b)
    found = contract(f"{batch}ij,{batch}jk->{batch}ik", (a, b), (None, None), c.pattern)
    return Tensor(found * alpha if beta == 0 else found * alpha + values * beta, c.pattern)
