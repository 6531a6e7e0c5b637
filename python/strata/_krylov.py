"""Linear systems by iteration: cg, minres, bicgstab, gmres, lsqr, lsmr, and what makes them faster."""

import re
import sys
import time

import numpy as np

from . import _core
from ._core import Tensor
from ._create import asarray
from ._solve import Factorization, SolveInfo, solved_in
from .errors import ConvergenceError, DTypeError, TensorError, Unsupported

_KINDS = {
    "jacobi": "jacobi",
    "ilu0": "ilu0",
    "ilu": "ilu0",
    "ilu(0)": "ilu0",
    "ic0": "ic0",
    "ic": "ic0",
    "ic(0)": "ic0",
}


def is_operator(a):
    """Is it known by its products alone?"""
    if isinstance(a, (Tensor, np.ndarray, list, tuple)):
        return False
    return isinstance(a, _core.Operator) or (hasattr(a, "matvec") and hasattr(a, "shape"))


def _dtype_of(a):
    if isinstance(a, Tensor):
        return solved_in(a)
    if is_operator(a):
        dtype = getattr(a, "dtype", None)
        return np.dtype("float64") if dtype is None else solved_in(np.empty(0, dtype))
    return np.dtype("float32")  # of a function nothing is known: the right-hand side's


def _operator(a, n, dtype):
    """A core operator of this dtype. n : rows, for functions."""
    if isinstance(a, _core.Operator):
        if a.dtype != dtype:
            raise DTypeError("an operator of another dtype", expected=str(dtype), got=str(a.dtype))
        return a
    if is_operator(a):
        rows, columns = a.shape
        adjoint = getattr(a, "rmatvec", None)
        return _core.operator_of_calls(rows, columns, dtype, a.matvec, adjoint, type(a).__name__)
    if callable(a) and not isinstance(a, Tensor):
        return _core.operator_of_calls(n, n, dtype, a, None, "a function")
    return _core.operator_of(a, dtype)


def preconditioner(a, kind, *, size=4, dtype=None):
    """An approximate inverse of a matrix, for the M= of cg and its like.

        M = preconditioner(eye(3), "ilu0")
        x, info = gmres(eye(3), x, M=M)

    kind : "jacobi", "block-jacobi" (blocks of size x size), "ilu0", "ic0", or "amg" (algebraic multigrid, pyamg's)
    dtype : of the vectors: that of the matrix unless told

    SingularError, IndefiniteError: a pivot does not allow it. Unsupported: pyamg is not there.
    """
    a = asarray(a)
    dtype = solved_in(a) if dtype is None else np.dtype(dtype)
    sized = re.fullmatch(r"block-jacobi\((\d+)\)", kind)
    if kind == "block-jacobi" or sized:
        return _core.preconditioner("block-jacobi", a, int(sized[1]) if sized else int(size), dtype)
    if kind == "amg":
        return _amg(a, dtype)
    if kind not in _KINDS:
        raise TensorError(
            "no preconditioner of this name",
            expected="jacobi, block-jacobi, ilu0, ic0 or amg",
            got=repr(kind),
        )
    return _core.preconditioner(_KINDS[kind], a, 1, dtype)


def _amg(a, dtype):
    try:
        import pyamg
    except ImportError:
        raise Unsupported("algebraic multigrid is pyamg's, which is not there", fix="pip install pyamg") from None
    cycle = pyamg.smoothed_aggregation_solver(a.to_scipy().tocsr().astype(dtype)).aspreconditioner()
    return _core.operator_of_calls(*a.shape, dtype, cycle.matvec, None, "AMG")


def _preconditioner(given, a, n, dtype):
    if given is None or isinstance(given, _core.Operator):
        return given
    if isinstance(given, str):
        if is_operator(a) or (callable(a) and not isinstance(a, Tensor)):
            raise TensorError("a preconditioner by name needs the matrix", got=f"{type(a).__name__}, M={given!r}")
        return preconditioner(a, given, dtype=dtype)
    if isinstance(given, Factorization):
        return _core.operator_of_calls(n, n, dtype, given.solve, None, given.method)
    return _operator(given, n, dtype)


class _Watch:
    """Calls the caller's functions after an iteration."""

    def __init__(self, callback, progress):
        self.callback, self.progress = callback, progress
        self.last = time.monotonic()

    def __call__(self, iteration, residual, x):
        if self.callback is not None:
            self.callback(x.copy())
        if self.progress is True:
            if time.monotonic() - self.last > 1:
                self.last = time.monotonic()
                print(f"iteration {iteration}: |b - A x| = {residual:.3g}", file=sys.stderr)
        elif self.progress:
            self.progress(iteration, residual)


def _iterate(method, a, b, x0, M, callback, progress, check, maxiter, rtol, atol=0.0, btol=0.0, restart=30, damp=0.0):
    right = b if isinstance(b, Tensor) else _core.to_operand(b)
    dtype = np.result_type(_dtype_of(a), solved_in(right), *([] if x0 is None else [solved_in(_core.to_operand(x0))]))
    if right.ndim not in (1, 2):
        raise TensorError("a right-hand side is a vector, or several as columns", got=f"shape {right.shape}")
    op = _operator(a, right.shape[0], dtype)
    m = _preconditioner(M, a, right.shape[0], dtype)
    watch = _Watch(callback, progress) if callback is not None or progress else None
    limit = -1 if maxiter is None else int(maxiter)

    def one(side, start):
        x, facts = _core.krylov(method, op, side, start, rtol, atol, btol, limit, restart, damp, m, watch)
        return x, SolveInfo(*facts)

    if right.ndim == 1:
        x, info = one(b, x0)
    else:
        plain = right.to_dense() if isinstance(b, Tensor) or not hasattr(b, "shape") else b
        starts = None if x0 is None else np.asarray(x0)
        found = [one(plain[:, k], None if starts is None else starts[:, k]) for k in range(right.shape[1])]
        x, info = _joined(found, op.shape[1], plain, dtype, method)
    if check and not info.converged:
        error = ConvergenceError(
            f"{info.method} did not converge: {info.stopped}",
            expected=_wanted(method, rtol, atol, btol),
            got=f"|b - A x| / |b| = {info.relative:.3g} after {info.iterations} iterations",
            fix="a preconditioner (M=), more iterations (maxiter=), or check=False, which returns what there is",
        )
        error.x, error.info = x, info
        raise error
    return x, info


def _wanted(method, rtol, atol, btol):
    if method in ("lsqr", "lsmr"):
        return f"atol={rtol:g}, btol={btol:g}"
    return f"|b - A x| <= max({rtol:g} |b|, {atol:g})"


def _joined(found, rows, like, dtype, method):
    infos = [info for _, info in found]
    if not found:
        return np.zeros((rows, 0), dtype), SolveInfo(method, 0, 0.0, 0.0, 0.0, True, "")
    columns = [x for x, _ in found]
    if isinstance(columns[0], np.ndarray):
        x = np.stack(columns, axis=1)
    else:
        import torch

        x = torch.stack(columns, dim=1)
    bad = [info for info in infos if not info.converged]
    worst = max(infos, key=lambda info: info.relative)
    return x, SolveInfo(
        worst.method,
        max(info.iterations for info in infos),
        max(info.residual for info in infos),
        worst.relative,
        max(info.normal for info in infos),
        not bad,
        f"{bad[0].stopped} ({len(bad)} of {len(infos)} right-hand sides)" if bad else "",
        tuple(infos),
    )


def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, progress=None, check=True):
    """Conjugate gradients, for Hermitian positive definite matrices.

        x, info = cg(2.0 * eye(3), x)
        x, info = cg(2.0 * eye(3), x, M="jacobi", rtol=1e-10)

    A : a matrix in any format, a scipy LinearOperator, or a function that multiplies
    b : a right-hand side, or several as columns; x0 : where to start
    rtol, atol : until |b - A x| <= max(rtol |b|, atol), which is computed from x, not believed
    maxiter : iterations, 10 n unless told
    M : an approximate inverse: "jacobi", "block-jacobi(4)", "ilu0", "ic0", "amg", a matrix, LinearOperator or function, or what
        lu() and its like gave
    callback : called with x after each iteration; progress : called with (iteration, residual), or True to print
    check : False returns also what did not converge

    (x, SolveInfo), x in the package of b. ConvergenceError, whose x and info tell how far it came; IndefiniteError, TensorError.
    """
    return _iterate("cg", A, b, x0, M, callback, progress, check, maxiter, rtol, atol)


def minres(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, progress=None, check=True):
    """Minimal residuals, for Hermitian matrices, indefinite ones too. M is Hermitian and positive definite.

        x, info = minres(diags([1.0, -2.0, 3.0], shape=(3, 3)), x)

    Arguments and result as of cg.
    """
    return _iterate("minres", A, b, x0, M, callback, progress, check, maxiter, rtol, atol)


def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, progress=None, check=True):
    """Stabilized biconjugate gradients, for any square matrix, in little memory; two products an iteration.

        x, info = bicgstab(2.0 * eye(3), x, M="ilu0")

    Arguments and result as of cg.
    """
    return _iterate("bicgstab", A, b, x0, M, callback, progress, check, maxiter, rtol, atol)


def gmres(
    A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=30, maxiter=None, M=None, callback=None, progress=None, check=True
):
    """Restarted generalized minimal residuals, for any square matrix, preconditioned from the right.

        x, info = gmres(2.0 * eye(3), x, restart=10)

    restart : vectors that are kept before it starts anew; maxiter : products, not restarts
    callback : x is that of the last restart; progress is told of every iteration

    Other arguments and result as of cg.
    """
    return _iterate("gmres", A, b, x0, M, callback, progress, check, maxiter, rtol, atol, restart=int(restart))


def lsqr(A, b, damp=0.0, *, atol=1e-6, btol=1e-6, maxiter=None, x0=None, callback=None, progress=None, check=True):
    """Least squares, |b - A x|^2 + damp^2 |x|^2, for matrices of any shape; of several solutions the smallest, from x0 = 0.

        x, info = lsqr(eye(4, 3), np.ones(4))

    A : a matrix in any format, or a LinearOperator with rmatvec
    atol, btol : relative errors of A and b: until |r| <= btol |b| + atol |A| |x|, or |A^H r| <= atol |A| |r|
    Other arguments and result as of cg.
    """
    return _iterate("lsqr", A, b, x0, None, callback, progress, check, maxiter, atol, btol=btol, damp=float(damp))


def lsmr(A, b, damp=0.0, *, atol=1e-6, btol=1e-6, maxiter=None, x0=None, callback=None, progress=None, check=True):
    """Least squares as lsqr, by a method whose |A^H r| falls in every iteration: it can be ended earlier.

        x, info = lsmr(eye(4, 3), np.ones(4))

    Arguments and result as of lsqr.
    """
    return _iterate("lsmr", A, b, x0, None, callback, progress, check, maxiter, atol, btol=btol, damp=float(damp))
