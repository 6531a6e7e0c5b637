"""Iterations beside SciPy's."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as linalg
from systems import DTYPES, FORMATS, poisson, system, values

import strata as st

SQUARE = ["cg", "minres", "bicgstab", "gmres"]
WHICH = {"cg": "positive", "minres": "indefinite", "bicgstab": "positive", "gmres": "saddle"}


def true_residual(a, x, b):
    return np.linalg.norm(b - a @ x) / np.linalg.norm(b)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("method", [*SQUARE, "lsqr", "lsmr"])
def test_all_formats(method, format):
    a = system(WHICH.get(method, "general"))
    A, b = st.from_scipy(a).to(format), np.random.default_rng(0).standard_normal(40)
    if method in SQUARE:
        x, info = getattr(st, method)(A, b, rtol=1e-10)
    else:
        x, info = getattr(st, method)(A, b, atol=1e-13, btol=1e-13)
    assert info.converged and info == 0 and info.iterations > 0
    assert true_residual(a, x, b) < 1e-9
    assert info.relative == pytest.approx(true_residual(a, x, b), rel=1e-2, abs=1e-14)
    assert method in info.method.lower() and st.Format(format).name in info.method
    assert np.allclose(x, np.linalg.solve(a.toarray(), b), atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("method", [*SQUARE, "lsqr", "lsmr"])
def test_all_dtypes(method, dtype):
    a = system(WHICH.get(method, "general"), dtype)
    b = values(np.random.default_rng(0), 40, dtype)
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-10
    options = dict(rtol=tolerance) if method in SQUARE else dict(atol=tolerance, btol=tolerance)
    x, info = getattr(st, method)(st.from_scipy(a), b, **options)
    assert x.dtype == dtype and info.converged
    assert true_residual(a.astype("complex128"), x, b) < (1e-3 if tolerance > 1e-5 else 1e-8)


@pytest.mark.parametrize("method", SQUARE)
def test_as_many_iterations_as_scipy(method):
    a = poisson(40, 41)
    b = np.random.default_rng(0).standard_normal(a.shape[0])
    counted = []
    options = dict(callback_type="pr_norm", restart=30, maxiter=100) if method == "gmres" else {}
    reference, failed = getattr(linalg, method)(a, b, rtol=1e-8, callback=counted.append, **options)
    x, info = getattr(st, method)(st.from_scipy(a), b, rtol=1e-8)
    assert not failed and np.linalg.norm(x - reference) < 1e-4 * np.linalg.norm(reference)
    if method in ("cg", "gmres"):  # the others stop by another measure, or wander
        assert abs(info.iterations - len(counted)) <= 0.03 * len(counted) + 2


@pytest.mark.parametrize("method", SQUARE)
def test_operators(method):
    a = system(WHICH[method])
    b = np.random.default_rng(0).standard_normal(40)
    f = getattr(st, method)
    want = f(st.from_scipy(a), b, rtol=1e-9)[0]
    calls = []

    def product(x):
        calls.append(x.shape)
        return a @ x

    operators = [a, a.toarray(), linalg.aslinearoperator(a), product, lambda x: np.asarray(a @ x).reshape(-1, 1)]
    operators.append(linalg.LinearOperator(a.shape, matvec=product, dtype=float))
    for operator in operators:
        x, info = f(operator, b, rtol=1e-9)
        assert np.allclose(x, want, atol=1e-6) and info.converged
    assert calls


@pytest.mark.parametrize("method", ["lsqr", "lsmr"])
@pytest.mark.parametrize("shape", [(60, 25), (25, 60)])
@pytest.mark.parametrize("damp", [0.0, 0.7])
def test_least_squares(method, shape, damp):
    rng = np.random.default_rng(0)
    a = sp.csr_array(sp.random_array(shape, density=0.2, rng=rng) + sp.eye_array(*shape))
    b = rng.standard_normal(shape[0])
    f = getattr(st, method)
    full = np.vstack([a.toarray(), damp * np.eye(shape[1])]) if damp else a.toarray()
    want = np.linalg.lstsq(full, np.r_[b, np.zeros(shape[1])] if damp else b, rcond=None)[0]
    for operator in (st.from_scipy(a), linalg.aslinearoperator(a)):
        x, info = f(operator, b, damp, atol=1e-12, btol=1e-12)
        assert np.allclose(x, want, atol=1e-7) and info.converged
        assert info.residual == pytest.approx(np.linalg.norm(b - a @ x), abs=1e-9)
        assert info.normal == pytest.approx(np.linalg.norm(a.T @ (b - a @ x) - damp**2 * x), abs=1e-9)
    start = want + 0.1 * rng.standard_normal(shape[1])
    if damp or shape[0] > shape[1]:  # otherwise there are many solutions
        assert np.allclose(f(st.from_scipy(a), b, damp, atol=1e-12, btol=1e-12, x0=start)[0], want, atol=1e-7)
    reference = getattr(linalg, method)(a, b, damp, atol=1e-12, btol=1e-12)[0]
    assert np.allclose(x, reference, atol=1e-6)
    with pytest.raises(st.TensorError, match="adjoint"):
        f(lambda x: a @ x, b)


PRECONDITIONERS = ["jacobi", "block-jacobi(4)", "block-jacobi", "ilu0", "ic0"]


@pytest.mark.parametrize("name", PRECONDITIONERS)
@pytest.mark.parametrize("method", SQUARE)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_preconditioners(method, name, dtype):
    a = poisson(15, 16, dtype)
    if dtype == "complex128":  # Hermitian, with phases
        phase = sp.diags_array(np.exp(1j * np.arange(240)))
        a = sp.csr_array(phase @ a @ phase.conj())
    scale = sp.diags_array(np.random.default_rng(1).uniform(0.5, 2, 240))
    a = sp.csr_array(scale @ a @ scale)
    b = values(np.random.default_rng(0), 240, dtype)
    f = getattr(st, method)
    plain = f(st.from_scipy(a), b, rtol=1e-8)[1]
    for format in ("CSR", "DIA", "dense"):
        A = st.from_scipy(a).to(format)
        x, info = f(A, b, rtol=1e-8, M=name)
        assert true_residual(a, x, b) <= 1e-8 and info.iterations < plain.iterations
    assert name.partition("0")[0].partition("(")[0][:3].lower() in info.method.lower()
    M = st.preconditioner(st.from_scipy(a), name)
    assert f(st.from_scipy(a), b, rtol=1e-8, M=M)[1].iterations == pytest.approx(info.iterations, abs=1)
    assert M.shape == (240, 240) and M.dtype == dtype


def test_what_preconditioners_are():
    a = sp.csr_array(poisson(6, 7) + sp.diags_array(np.linspace(0, 1, 42)))
    A, r = st.from_scipy(a), np.random.default_rng(0).standard_normal(42)
    assert np.allclose(st.preconditioner(A, "jacobi").matvec(r), r / a.diagonal())
    blocks = sp.block_diag([a[k : k + 5, k : k + 5] for k in range(0, 42, 5)])
    assert np.allclose(blocks @ st.preconditioner(A, "block-jacobi", size=5).matvec(r), r)
    unsymmetric = sp.csr_array(a + sp.triu(a, 1) * 0.3)
    for matrix, name in ((a, "ilu0"), (unsymmetric, "ilu0"), (a, "ic0")):
        # Columns of the inverse: L U agrees with the matrix in its own pattern.
        M = st.preconditioner(st.from_scipy(matrix), name)
        inverse = np.column_stack([M.matvec(e) for e in np.eye(42)])
        product = np.linalg.inv(inverse)
        pattern = matrix.toarray() != 0
        assert np.allclose(product[pattern], matrix.toarray()[pattern])
        assert not np.allclose(product, matrix.toarray())
    # Of a tridiagonal matrix nothing is left out.
    t = system("tridiagonal")
    assert np.allclose(t @ st.preconditioner(st.from_scipy(t), "ilu0").matvec(np.ones(40)), 1)


def test_block_jacobi_pivots():
    block = np.array([[0.0, 2], [3, 0]])
    a = st.from_dense(np.kron(np.eye(3), block), "CSR")
    M = st.preconditioner(a, "block-jacobi(2)")
    assert np.allclose(np.kron(np.eye(3), block) @ M.matvec(np.arange(6.0)), np.arange(6.0))
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((23, 23))
    assert np.allclose(dense @ st.preconditioner(dense, "block-jacobi(40)").matvec(np.ones(23)), 1)


def test_other_preconditioners():
    a = poisson(20, 21)
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(420)
    few = lambda M: st.cg(A, b, rtol=1e-8, M=M)[1].iterations
    ilu = linalg.spilu(a.tocsc(), drop_tol=1e-3)
    operator = linalg.LinearOperator(a.shape, ilu.solve)
    plain = few(None)
    assert few(operator) < plain / 2 and few(ilu.solve) < plain / 2
    assert few(st.cholesky(A)) <= 2
    assert few(sp.diags_array(1 / a.diagonal())) <= plain
    assert few(st.diags(1 / a.diagonal())) <= plain
    pytest.importorskip("pyamg")
    assert few("amg") < 20 and "AMG" in st.cg(A, b, M="amg")[1].method


def test_preconditioners_that_cannot_be():
    A, b = st.eye(4), np.ones(4)
    hole = st.from_dense(np.diag([1.0, 0, 1, 1]) + np.eye(4, k=1), "CSR")
    for name in ("jacobi", "ilu0", "block-jacobi(2)"):
        with pytest.raises(st.SingularError, match="row"):
            st.cg(hole, b, M=name)
    with pytest.raises(st.IndefiniteError, match="row 1"):
        st.preconditioner(st.from_dense(np.diag([1.0, -1, 1]), "CSR"), "ic0")
    with pytest.raises(st.TensorError, match="jacobi, block-jacobi, ilu0, ic0 or amg"):
        st.cg(A, b, M="ssor")
    with pytest.raises(st.TensorError, match="needs the matrix"):
        st.cg(lambda x: x, b, M="jacobi")
    with pytest.raises(st.TensorError, match="does not go with the matrix"):
        st.cg(A, b, M=st.preconditioner(st.eye(5), "jacobi"))
    with pytest.raises(st.Unsupported, match="preconditioner"):
        st._core.krylov(
            "lsqr", st._core.operator_of(A), b, None, 1e-6, 0, 1e-6, -1, 30, 0.0, st.preconditioner(A, "jacobi"), None
        )


def test_what_did_not_converge_is_told():
    a = poisson(30, 30)
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(900)
    for method in (*SQUARE, "lsqr", "lsmr"):
        f = getattr(st, method)
        options = dict(rtol=1e-10) if method in SQUARE else dict(atol=1e-12, btol=1e-12)
        with pytest.raises(st.ConvergenceError, match="5 iterations were not enough") as e:
            f(A, b, maxiter=5, **options)
        assert e.value.info.iterations == 5 and not e.value.info.converged
        assert true_residual(a, e.value.x, b) == pytest.approx(e.value.info.relative)
        assert "after 5 iterations" in str(e.value) and isinstance(e.value, st.SolveError)
        x, info = f(A, b, maxiter=5, check=False, **options)
        assert info == 5 and not info.converged and "not converged" in repr(info)
        with pytest.raises(st.ConvergenceError):
            f(A, np.c_[b, 0 * b], maxiter=5, **options)


@pytest.mark.parametrize("method", SQUARE)
def test_nothing_is_believed(method):
    """Beyond what rounding allows nothing converges, whatever the recurrences say."""
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.standard_normal((60, 60)))
    a = (q * np.logspace(0, -9, 60)) @ q.T
    a = (a + a.T) / 2
    x, info = getattr(st, method)(a, rng.standard_normal(60), rtol=1e-15, check=False, maxiter=3000)
    assert not info.converged or true_residual(a, x, np.ones(60)) > 0
    b = rng.standard_normal(60)
    x, info = getattr(st, method)(a, b, rtol=1e-15, check=False, maxiter=3000)
    assert info.relative == pytest.approx(true_residual(a, x, b), rel=0.5)
    assert info.converged == (info.relative <= 1e-15)


def test_singular_and_indefinite():
    a = system("indefinite")
    with pytest.raises(st.IndefiniteError, match="not positive definite, in iteration"):
        st.cg(st.from_scipy(a), np.ones(40))
    singular = st.from_dense(np.diag([1.0, 2, 0, 3]), "CSR")
    for method in SQUARE:
        with pytest.raises(st.SolveError):
            getattr(st, method)(singular, np.ones(4))
    # Where it can be solved it is.
    for method in SQUARE:
        x, info = getattr(st, method)(singular, np.array([1.0, 1, 0, 1]), rtol=1e-12)
        assert info.converged and np.allclose(x, [1, 0.5, 0, 1 / 3])
    for method in ("lsqr", "lsmr"):
        x, info = getattr(st, method)(singular, np.ones(4))
        assert info.converged and np.allclose(x, [1, 0.5, 0, 1 / 3]) and info.residual == pytest.approx(1)


def test_not_finite():
    for method in (*SQUARE, "lsqr", "lsmr"):
        with pytest.raises(st.SolveError, match="finite"):
            getattr(st, method)(st.eye(3), np.array([1, np.nan, 1]))
        with pytest.raises(st.SolveError):
            getattr(st, method)(st.from_dense(np.diag([1.0, np.nan, 1]), "CSR"), np.ones(3))


def test_tolerances_and_starts():
    a = poisson(20, 20)
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(400)
    want = linalg.spsolve(a.tocsc(), b)
    for method in SQUARE:
        f = getattr(st, method)
        loose, tight = f(A, b, rtol=1e-2)[1], f(A, b, rtol=1e-10)[1]
        assert loose.iterations < tight.iterations and loose.relative <= 1e-2
        absolute = f(A, b, rtol=0, atol=0.5)
        assert absolute[1].residual <= 0.5 and np.linalg.norm(b - a @ absolute[0]) <= 0.5
        x, info = f(A, b, x0=want)
        assert info.iterations == 0 and info.converged and np.allclose(x, want)
        near = want + 1e-3 * np.random.default_rng(1).standard_normal(400)
        start = near.copy()
        assert f(A, b, near, rtol=1e-4)[1].iterations < f(A, b, rtol=1e-4)[1].iterations
        assert (near == start).all()
        x, info = f(A, 0 * b)
        assert info.converged and info.iterations == 0 and (x == 0).all()
        x, info = f(A, 0 * b, want, rtol=0, atol=1e-8)
        assert np.linalg.norm(x) < 1e-6
    for restart in (1, 5, 1000):
        x, info = st.gmres(A, b, restart=restart, rtol=1e-3)
        assert info.converged


def test_several_right_hand_sides():
    a = poisson(12, 12)
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal((144, 3))
    x, info = st.cg(A, b, rtol=1e-10)
    assert np.allclose(a @ x, b) and len(info.columns) == 3
    assert info.iterations == max(c.iterations for c in info.columns)
    assert st.cg(A, b, x, rtol=1e-8)[1].iterations == 0
    assert st.cg(A, np.zeros((144, 0)))[0].shape == (144, 0)
    assert np.allclose(st.cg(A, st.from_dense(b, "CSR"), rtol=1e-10)[0], x)
    assert np.allclose(st.lsqr(A, b, atol=1e-12, btol=1e-12)[0], x)


def test_callbacks():
    a = poisson(12, 12)
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(144)
    for method in (*SQUARE, "lsqr", "lsmr"):
        seen, told = [], []
        f = getattr(st, method)
        x, info = f(A, b, callback=seen.append, progress=lambda k, r: told.append((k, r)))
        assert len(seen) == len(told) == info.iterations and [k for k, _ in told] == list(range(1, info.iterations + 1))
        if method != "gmres":
            assert np.allclose(seen[-1], x)
            assert told[0][1] == pytest.approx(np.linalg.norm(b - a @ seen[0]), rel=1e-6)
            assert told[-1][1] == pytest.approx(np.linalg.norm(b - a @ seen[-1]), rel=1e-3)
        assert told[-1][1] < told[0][1]

    class Enough(Exception):
        pass

    def stop(x):
        raise Enough

    for f in (lambda: st.cg(A, b, callback=stop), lambda: st.cg(stop, b), lambda: st.gmres(A, b, M=stop)):
        with pytest.raises(Enough):
            f()
    with pytest.raises(st.TensorError, match="another shape"):
        st.cg(lambda x: x[:3], b)
    with pytest.raises(st.DTypeError, match="complex"):
        st.cg(lambda x: 1j * x, b)


def test_solve_by_an_iteration():
    a = system("positive")
    x, info = st.solve(st.from_scipy(a), np.ones(40), method="cg", info=True)
    assert info.iterations > 0 and np.allclose(a @ x, 1, atol=1e-4)
    upper = system("upper", "complex128")
    x = st.solve(st.from_scipy(upper), np.ones(40), method="gmres", adjoint=True)
    assert np.allclose(upper.conj().T @ x, 1, atol=1e-3)


def test_mistakes():
    A = st.eye(4, 5)
    for method in SQUARE:
        with pytest.raises(st.TensorError, match="square"):
            getattr(st, method)(A, np.ones(4))
        with pytest.raises(st.TensorError, match="right-hand side"):
            getattr(st, method)(st.eye(4), np.ones(5))
        with pytest.raises(st.TensorError, match="start"):
            getattr(st, method)(st.eye(4), np.ones(4), np.ones(3))
    with pytest.raises(st.TensorError, match="two dimensions"):
        st.cg(np.ones((2, 2, 2)), np.ones(2))


def test_ctrl_c():
    """In half a second, within the product of a matrix and within a preconditioner."""
    import subprocess
    import sys

    code = """
import os, signal, threading, time
import numpy as np
import strata as st
signal.signal(signal.SIGINT, signal.default_int_handler)
line = st.diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(700, 700))
A = st.kron(st.eye(700), line) + st.kron(line, st.eye(700))
n = 490000
b = np.ones(n)
for f in (lambda: st.cg(A, b, rtol=1e-14), lambda: st.gmres(A, b, rtol=1e-14), lambda: st.bicgstab(A, b, rtol=1e-14, M='ilu0') ,
          lambda: st.lsmr(A, b, atol=1e-15, btol=1e-15), lambda: st.cg(lambda x: A @ x, b, rtol=1e-14)):
    when = []
    def interrupt():
        time.sleep(0.3)
        when.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        f()
        print("too fast")
    except KeyboardInterrupt:
        print("late" if time.monotonic() - when[0] > 0.5 else "in time")
    except st.SolveError as e:
        print(e)
    thread.join()
"""
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, p.stderr
    assert p.stdout == "in time\n" * 5


def test_gallery():
    gallery = pytest.importorskip("pyamg").gallery
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method, M in (
            ("airfoil", "cg", "ic0"),
            ("bar", "cg", "block-jacobi(3)"),
            ("knot", "minres", None),
            ("recirc_flow", "gmres", "ilu0"),
            ("recirc_flow", "bicgstab", "ilu0"),
        ):
            a = sp.csr_array(gallery.load_example(name)["A"])
            b = a @ np.random.default_rng(0).standard_normal(a.shape[0])
            A = st.from_scipy(a)
            x, info = getattr(st, method)(A, b, M=M, rtol=1e-6, maxiter=5000)
            assert true_residual(a, x, b) <= 1e-6, (name, method)
            assert info.relative == pytest.approx(true_residual(a, x, b), rel=1e-3)
