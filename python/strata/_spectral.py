"""Eigenvalues, singular values and the exponential: SciPy's methods over our products."""

import numpy as np

from . import _core
from ._core import Tensor
from ._create import asarray, eye
from ._krylov import is_operator, preconditioner
from ._solve import Factorization, real_of, solved_in
from .errors import TensorError, Unsupported


def _linalg():
    try:
        import scipy.sparse.linalg
    except ImportError:
        raise Unsupported("eigenvalues are SciPy's, which is not there", fix="pip install scipy") from None
    return scipy.sparse.linalg


def _scipy_operator(A):
    """A scipy LinearOperator that multiplies by planned kernels."""
    linalg = _linalg()
    if is_operator(A) and not isinstance(A, _core.Operator):
        return linalg.aslinearoperator(A)
    if isinstance(A, _core.Operator):
        each = lambda f: lambda x: f(np.ravel(x))
        return linalg.LinearOperator(A.shape, each(A.matvec), each(A.rmatvec), dtype=A.dtype)
    A = asarray(A)
    op = _core.operator_of(A)
    dtype = solved_in(A)
    return linalg.LinearOperator(
        A.shape,
        matvec=lambda x: op.matvec(np.ravel(x)) if x.dtype.kind != "c" or dtype.kind == "c" else A @ np.ravel(x),
        rmatvec=lambda x: op.rmatvec(np.ravel(x)),
        matmat=lambda X: _core.matmul(A, np.ascontiguousarray(X)),
        dtype=dtype,
    )


def _hermitian(op):
    """The operator, if y^H A x is (A y)^H x for vectors chosen at random, which costs two products. TensorError."""
    m, n = op.shape
    if m == n and n > 0:
        real = real_of(op.dtype)
        x, y = np.random.default_rng(0).standard_normal((2, n)).astype(real)
        there, back = (op.matvec(v).astype(np.result_type(op.dtype, np.float64)) for v in (x, y))
        apart = abs(np.vdot(y, there) - np.vdot(back, x))
        if apart > (1e-8 if real.itemsize > 4 else 1e-5) * np.linalg.norm(there) * np.linalg.norm(y):
            raise TensorError(
                "eigsh is for Hermitian matrices, and this is none",
                expected="y^H A x = (A y)^H x",
                got=f"a difference of {apart:.3g} for vectors chosen at random",
                fix="st.eigs(A, k)",
            )
    return op


def _shifted_inverse(A, sigma):
    """(A - sigma)^-1, factorized here."""
    if is_operator(A):
        return None  # SciPy iterates
    A = asarray(A)
    dtype = np.result_type(solved_in(A), np.asarray(sigma).dtype.type(0)) if np.iscomplexobj(sigma) else solved_in(A)
    shift = eye(A.shape[0], dtype=dtype) * np.asarray(sigma, dtype)[()]
    f = Factorization((A.to(dtype=dtype) if A.format.is_all_dense else A.to("CSR", dtype=dtype)) - shift, "auto", dtype)
    return _linalg().LinearOperator(A.shape, matvec=lambda x: f.solve(np.ravel(x)), dtype=dtype)


def eigsh(A, k=6, M=None, sigma=None, which="LM", *, method="arpack", X=None, **options):
    """k eigenvalues and eigenvectors of a Hermitian matrix: scipy.sparse.linalg.eigsh (ARPACK) over our products.

        values, vectors = eigsh(diags(np.arange(1.0, 31.0), shape=(30, 30)), 3)
        values, vectors = eigsh(diags(np.arange(1.0, 31.0), shape=(30, 30)), 3, sigma=0.5)      # those nearest to 0.5

    A : a matrix in any format, or a LinearOperator
    sigma : eigenvalues near it, by a factorization of A - sigma
    method : "lobpcg" uses scipy.sparse.linalg.lobpcg instead, from the block X (random unless given), with M as its preconditioner (or its name)
    options : SciPy's own (v0, ncv, maxiter, tol, ...)

    TensorError: the matrix is not Hermitian. Unsupported: SciPy is not there.
    """
    if method == "lobpcg":
        return _lobpcg(A, k, M, which, X, options)
    if method != "arpack":
        raise TensorError("eigenvalues have two methods", expected="arpack or lobpcg", got=repr(method))
    if sigma is not None and M is None and options.get("mode", "normal") == "normal" and "OPinv" not in options:
        options["OPinv"] = _shifted_inverse(A, sigma)
    return _linalg().eigsh(_hermitian(_scipy_operator(A)), k, M, sigma, which, **options)


def _lobpcg(A, k, M, which, X, options):
    op = _hermitian(_scipy_operator(A))
    if X is None:
        X = np.random.default_rng(0).standard_normal((op.shape[0], k)).astype(op.dtype)
    if isinstance(M, str):
        M = preconditioner(A, M)
    if M is not None and not callable(M):
        M = _scipy_operator(M)
    return _linalg().lobpcg(op, X, M=M, largest=which not in ("SM", "SA"), **options)


def eigs(A, k=6, M=None, sigma=None, which="LM", **options):
    """k eigenvalues and eigenvectors of a square matrix: scipy.sparse.linalg.eigs (ARPACK) over our products.

        values, vectors = eigs(diags(np.arange(1.0, 31.0), shape=(30, 30)), 3)

    Arguments as of eigsh.
    """
    if sigma is not None and M is None and "OPinv" not in options:
        if np.iscomplexobj(sigma) and not is_operator(A):
            A = asarray(A)
            A = A.to(dtype=np.result_type(solved_in(A), np.complex64))
        options["OPinv"] = _shifted_inverse(A, sigma)
    return _linalg().eigs(_scipy_operator(A), k, M, sigma, which, **options)


def svds(A, k=6, **options):
    """k singular values and vectors: scipy.sparse.linalg.svds over our products.

        u, s, vt = svds(diags(np.arange(1.0, 31.0), shape=(30, 30)), 3)

    A : a matrix in any format, or a LinearOperator; options : SciPy's own (which, solver, v0, return_singular_vectors, ...)

    Unsupported: SciPy is not there.
    """
    return _linalg().svds(_scipy_operator(A), k, **options)


def expm_multiply(A, B, start=None, stop=None, num=None, endpoint=None, traceA=None):
    """exp(A) @ B without exp(A): scipy.sparse.linalg.expm_multiply over our products. With start, stop and num: of
    exp(t A) at as many times t.

        expm_multiply(-0.1 * eye(3), x)

    A : a square matrix in any format, or a LinearOperator (then traceA saves SciPy an estimate)

    Unsupported: SciPy is not there.
    """
    if traceA is None and not is_operator(A):
        A = asarray(A)
        traceA = A.diagonal().sum()
        traceA = traceA.item() if hasattr(traceA, "item") else traceA
    B = np.asarray(B.to_dense() if isinstance(B, Tensor) else B)
    return _linalg().expm_multiply(_scipy_operator(A), B, start, stop, num, endpoint, traceA=traceA)
