"""Linear systems, directly: solve, Solve, lu, cholesky, qr, triangular_solve."""

import numpy as np

from . import _core
from ._core import Tensor
from ._create import asarray
from .errors import PlanError, TensorError

#: what scipy.linalg.solve calls assume_a, and the method that it means
_ASSUMED = {
    "general": "lu",
    "gen": "lu",
    "diagonal": "diagonal",
    "lower triangular": "lower",
    "upper triangular": "upper",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
    "symmetric": "ldlt",
    "sym": "ldlt",
    "hermitian": "ldlt",
    "her": "ldlt",
    "positive definite": "cholesky",
    "pos": "cholesky",
}
ITERATIVE = ("cg", "minres", "bicgstab", "gmres", "lsqr", "lsmr")


class SolveInfo(int):
    """How good a solution is, and how it was found. As a number it is 0 where it converged (SciPy's info), else the
    iterations made.

        x, info = cg(eye(3), np.ones(3))
        info.converged, info.iterations, info.residual

    method : in words
    iterations : of the method, or of iterative refinement
    residual, relative : |b - A x|, computed from x (the largest of all right-hand sides), and the same over |b|
    normal : |A^H (b - A x)| of least squares
    converged : is it as small as it was asked to be? stopped : if not, why it ended
    columns : these facts of each right-hand side, where there are several
    """

    def __new__(cls, method, iterations, residual, relative, normal, converged, stopped, columns=()):
        self = super().__new__(cls, 0 if converged else max(iterations, 1))
        self.method, self.iterations, self.residual, self.relative = method, iterations, residual, relative
        self.normal, self.converged, self.stopped, self.columns = normal, converged, stopped, columns
        return self

    def __getnewargs__(self):
        return (
            self.method,
            self.iterations,
            self.residual,
            self.relative,
            self.normal,
            self.converged,
            self.stopped,
            self.columns,
        )

    def __repr__(self):
        count = "1 iteration" if self.iterations == 1 else f"{self.iterations} iterations"
        end = "" if self.converged else f", not converged: {self.stopped}"
        return f"SolveInfo({self.method}: {count}, |b - A x| / |b| = {self.relative:.3g}{end})"

    __str__ = __repr__


def real_of(dtype):
    """float32 of complex64."""
    return np.empty(0, dtype).real.dtype


def solved_in(x):
    """The dtype that a tensor is solved in."""
    dtype = x.dtype
    if not isinstance(dtype, np.dtype):
        return np.dtype("float32")  # bfloat16, float8
    if dtype.kind == "c":
        return dtype
    if dtype.kind == "f":
        return dtype if dtype.itemsize >= 4 else np.dtype("float32")
    return np.dtype("float64")


def common_dtype(a, b):
    """Of a system of these tensors; a real matrix stays real beside a complex right-hand side."""
    dtype = np.result_type(solved_in(a), solved_in(b))
    return real_of(dtype) if dtype.kind == "c" and solved_in(a).kind != "c" else dtype


def method_of(method, assume):
    """The core's word for the method; PlanError."""
    if assume is None:
        return method
    if method != "auto":
        raise PlanError("method= and assume= say the same", expected="one of them", got=f"{method!r}, {assume!r}")
    if assume not in _ASSUMED:
        raise PlanError("this is no structure of a matrix", expected=", ".join(_ASSUMED), got=repr(assume))
    return _ASSUMED[assume]


def library_of(library):
    """The core's word for who factorizes; what it does not know is its error."""
    return "eigen" if library is None else str(library)


def _turn(transpose, adjoint):
    return 2 if adjoint else int(bool(transpose))


def solve(a, b, *, method="auto", assume=None, library=None, transpose=False, adjoint=False, info=False):
    """The solution of a x = b; of least squares where a has more rows than columns, the smallest one where it has fewer.

        solve(eye(3), x)
        solve(diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(3, 3)), x, assume="pos")

    a : a matrix in any format, or a batch of them (leading dimensions); a dense array too
    b : one right-hand side or several (columns), dense or sparse, NumPy's or torch's
    method : "auto" looks at the structure; "diagonal", "lower", "upper", "tridiagonal", "banded", "cholesky", "ldlt", "lu",
        "qr"; or an iteration, "cg", "minres", "bicgstab", "gmres", "lsqr", "lsmr", to their own tolerances
    assume : the same in the words of scipy.linalg.solve: "pos", "sym", "her", "gen", "banded", "lower triangular", ...
    library : who factorizes a sparse matrix: None is Eigen, built in; "pardiso" (MKL), "cholmod", "umfpack" (SuiteSparse) are
        looked for when they are named
    transpose, adjoint : solves with the transpose, the conjugate transpose
    info : True also returns a SolveInfo

    The solution is dense, in the package of b. It was put into the equation: one that does not solve it is an error. Integers
    are solved in float64, float16 in float32.

    SingularError, IndefiniteError, SolveError, TensorError, Unsupported (it says how to get a library that is not there).
    """
    if method in ITERATIVE:
        from . import _krylov

        if library is not None:
            raise PlanError("an iteration factorizes nothing", got=f"method={method!r}, library={library!r}")

        if transpose or adjoint:
            a = asarray(a).T if transpose and not adjoint else asarray(a).H
        x, facts = getattr(_krylov, method)(a, b)
        return (x, facts) if info else x
    a, right = _matrix(a), b if isinstance(b, Tensor) else _core.to_operand(b)
    f = _core.Factorization(a, method_of(method, assume), dtype=common_dtype(a, right), library=library_of(library))
    f.factorize()
    x, facts = f.solve(b, _turn(transpose, adjoint))
    return (x, SolveInfo(*facts)) if info else x


def _matrix(a):
    return a if isinstance(a, Tensor) else _core.to_operand(a)


def triangular_solve(a, b, *, lower=True, transpose=False, adjoint=False, unit_diagonal=False):
    """The solution of a x = b by substitution, reading one triangle of a.

        triangular_solve(eye(3), x)
        triangular_solve(eye(3), x, lower=False, unit_diagonal=True)

    lower : which triangle is read; the other may hold anything
    transpose, adjoint : solves with the (conjugate) transpose of that triangle
    unit_diagonal : the diagonal is 1, whatever is stored

    SingularError: a 0 on the diagonal. TensorError.
    """
    a, right = _matrix(a), b if isinstance(b, Tensor) else _core.to_operand(b)
    f = _core.Factorization(a, "lower" if lower else "upper", bool(unit_diagonal), common_dtype(a, right))
    f.factorize()
    return f.solve(b, _turn(transpose, adjoint))[0]


class Factorization:
    """A factorized matrix, from lu(), cholesky() or qr().

        f = lu(2.0 * eye(3))
        f.solve(x), f.logdet()
        assert allclose(f.L @ f.U, (2.0 * eye(3))[f.rows][:, f.columns])

    L, U : of LU, a[rows][:, columns] = L U; other libraries than Eigen do not show their factors
    L : of Cholesky, a[rows][:, rows] = L L^H
    R : of QR, a[:, columns] = Q R; Q is not kept as a matrix
    rows, columns : permutations, as arrays
    """

    def __init__(self, a, method, dtype=None, library=None):
        self._f = _core.Factorization(_matrix(a), method, dtype=dtype, library=library_of(library))
        self._f.factorize()
        self._factors = None

    def solve(self, b, *, transpose=False, adjoint=False, info=False):
        """The solution for one right-hand side or several; info=True also returns a SolveInfo."""
        x, facts = self._f.solve(b, _turn(transpose, adjoint))
        return (x, SolveInfo(*facts)) if info else x

    def logdet(self):
        """(sign, logarithm of the absolute value) of the determinant, as np.linalg.slogdet; a complex sign has length 1.
        Unsupported: QR."""
        real, imaginary, log = self._f.logdet()
        return (complex(real, imaginary) if self.dtype.kind == "c" else real), log

    def reset_values(self, a):
        """Factorizes other values of the same shape; the order of elimination is kept where the same places are stored."""
        self._f.refactorize(_matrix(a))
        self._factors = None

    @property
    def shape(self):
        """Of the matrix."""
        return self._f.shape

    @property
    def dtype(self):
        """That it was factorized in."""
        return self._f.dtype

    @property
    def method(self):
        """How, in words."""
        return self._f.method

    def _factor(self, name):
        if self._factors is None:
            self._factors = self._f.factors()
        if name not in self._factors:
            has = ", ".join(self._factors) or "no factors that can be seen"
            raise AttributeError(f"this is a {self.method}: it has {has}")
        return self._factors[name]

    L = property(lambda self: self._factor("L"), doc="The lower triangle.")
    U = property(lambda self: self._factor("U"), doc="The upper triangle of LU.")
    R = property(lambda self: self._factor("R"), doc="The triangle of QR.")
    rows = property(lambda self: self._factor("rows"), doc="The order of the rows.")
    columns = property(lambda self: self._factor("columns"), doc="The order of the columns.")

    def __repr__(self):
        rows, columns = self.shape
        return f"Factorization({self.method}; {rows} x {columns}, {self.dtype})"


def lu(a, *, dtype=None, library=None):
    """LU of a square matrix with partial pivoting, columns ordered by COLAMD where it is sparse.

        f = lu(eye(3))
        f.solve(x)

    dtype : to compute in: that of a unless told, float64 of integers
    library : None (Eigen), "pardiso" or "umfpack", as of solve()

    SingularError, TensorError, Unsupported.
    """
    return Factorization(a, "lu", dtype, library)


def cholesky(a, *, dtype=None, library=None):
    """Cholesky of a Hermitian positive definite matrix, of which the lower triangle is read; ordered by minimum degree where
    it is sparse.

        f = cholesky(eye(3))
        f.solve(x), f.logdet()

    dtype : to compute in: that of a unless told, float64 of integers
    library : None (Eigen), "pardiso" or "cholmod", as of solve()

    IndefiniteError, TensorError, Unsupported.
    """
    return Factorization(a, "cholesky", dtype, library)


def qr(a, *, dtype=None):
    """QR of a matrix of full rank: solve() gives least squares where there are more rows than columns, the smallest solution
    where there are fewer.

        f = qr(eye(4, 3))
        f.solve(np.ones(4))

    dtype : to compute in: that of a unless told, float64 of integers

    SingularError: the rank is not full. TensorError.
    """
    return Factorization(a, "qr", dtype)


class Solve:
    """a x = b, looked at once, factorized when values change, solved as often as wanted.

        with Solve(eye(3), x) as s:
            s.plan()
            s.factorize()
            s.execute()
            s.reset_operands(b=2 * x)
            s.execute()

    a, b, method, assume, library, transpose, adjoint : as of solve(), without iterations

    PlanError where the calls come in a wrong order; SingularError, IndefiniteError, SolveError, TensorError.
    """

    def __init__(self, a, b=None, *, method="auto", assume=None, library=None, transpose=False, adjoint=False):
        self._method, self._turned = method_of(method, assume), _turn(transpose, adjoint)
        self._library = library_of(library)
        self._a, self._b = _matrix(a), b
        self._dtype = solved_in(self._a) if b is None else common_dtype(self._a, _matrix(b))
        self._f = self._facts = None
        self._freed = False

    def _alive(self):
        if self._freed:
            raise PlanError("this Solve was freed", fix="make a new one")

    def plan(self):
        """Looks at the structure and chooses a method, whose name is returned."""
        self._alive()
        self._f = _core.Factorization(self._a, self._method, dtype=self._dtype, library=self._library)
        return self._f.kind

    def factorize(self):
        """Factorizes the values that the matrix has now. PlanError before plan()."""
        self._alive()
        if self._f is None:
            raise PlanError("nothing is planned yet", expected="plan(), then factorize(), then execute()")
        self._f.factorize()

    def execute(self):
        """The solution, a fresh array. PlanError before factorize()."""
        f = self._f
        if f is None or self._b is None:
            self._alive()
            missing = "right-hand side" if f is not None else "plan"
            raise PlanError(f"there is no {missing} yet", expected="plan(), factorize(), execute(), and b")
        x, self._facts = f.solve(self._b, self._turned)
        return x

    def reset_operands(self, a=None, b=None):
        """Another matrix of the same shape, which then is to be factorized, or another right-hand side. Where the matrix
        stores the same places, the order of elimination is kept."""
        self._alive()
        if a is not None:
            a = _matrix(a)
            if a.shape != self._a.shape:
                raise PlanError(
                    "another matrix has the shape of the first", expected=str(self._a.shape), got=str(a.shape)
                )
            if self._f is not None:
                self._f.reset(a)
            self._a = a
        if b is not None:
            self._b = b

    def reset_values(self, values):
        """Other values in the places that the matrix stores, in the order of a.values; then it is to be factorized."""
        self._alive()
        values = np.asarray(values)
        if self._a.format.is_all_dense:
            if values.shape != self._a.shape:
                raise TensorError(
                    "these are values of another shape", expected=str(self._a.shape), got=str(values.shape)
                )
            self.reset_operands(values)
        else:
            self.reset_operands(self._a.with_values(values))

    @property
    def info(self):
        """A SolveInfo of the last execute(); None before it."""
        return None if self._facts is None else SolveInfo(*self._facts)

    @property
    def method(self):
        """How it is solved, in words; None before plan()."""
        return None if self._f is None else self._f.method

    @property
    def analyses(self):
        """How many times the structure was looked at: 1 as long as matrices store the same places."""
        return 0 if self._f is None else self._f.analyses

    def logdet(self):
        """(sign, logarithm of the absolute value) of the determinant. PlanError before factorize()."""
        self._alive()
        if self._f is None:
            raise PlanError("nothing is planned yet", expected="plan(), then factorize(), then logdet()")
        real, imaginary, log = self._f.logdet()
        return (complex(real, imaginary) if self._f.dtype.kind == "c" else real), log

    def free(self):
        """Lets go of operands and factors. Every later call is a PlanError."""
        self._a = self._b = self._f = None
        self._freed = True

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.free()
