"""Nothing is told as solved that is not: what info says is compared with the residual computed here."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from systems import DTYPES, FORMATS, system, values

import strata as st

SQUARE = ["cg", "minres", "bicgstab", "gmres"]
ITERATIONS = [*SQUARE, "lsqr", "lsmr"]


def options(method, tolerance):
    return dict(rtol=tolerance) if method in SQUARE else dict(atol=tolerance, btol=tolerance)


def with_condition(condition, hermitian, n=40, dtype="float64"):
    rng = np.random.default_rng(1)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    p = q if hermitian else np.linalg.qr(rng.standard_normal((n, n)))[0]
    a = (q * np.logspace(0, -np.log10(condition), n)) @ p.T
    return ((a + a.T) / 2 if hermitian else a).astype(dtype)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("condition", [1e8, 1e14, 1e18])
@pytest.mark.parametrize("hermitian", [False, True])
def test_ill_conditioned_directly(condition, hermitian, format):
    """A solution satisfies its equation to the last digits, or there is none: whatever the condition."""
    a = with_condition(condition, hermitian)
    b = np.random.default_rng(2).standard_normal(40)
    try:
        x, info = st.solve(st.from_dense(a, format), b, info=True)
    except st.SingularError:
        assert condition > 1e12
        return
    residual = np.linalg.norm(b - a @ x)
    assert info.residual == pytest.approx(residual, rel=0.3, abs=1e-13 * np.linalg.norm(x))
    assert residual <= 1e-14 * (np.linalg.norm(a) * np.linalg.norm(x) + np.linalg.norm(b))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("condition", [1e3, 1e8, 1e15])
@pytest.mark.parametrize("method", ITERATIONS)
def test_ill_conditioned_by_iteration(method, condition, dtype):
    a = with_condition(condition, method in ("cg", "minres"), dtype=dtype)
    b = values(np.random.default_rng(2), 40, dtype)
    for tolerance in (1e-4, 1e-9, 1e-16):
        try:
            x, info = getattr(st, method)(a, b, check=False, maxiter=400, **options(method, tolerance))
        except st.IndefiniteError:  # to rounding it may be
            assert method == "cg" and condition > 1e5
            continue
        r = b - a.astype("float64") @ x
        if method in SQUARE:
            slack = 1 + 1e-3 if dtype == "float64" else 1.3
            assert not info.converged or np.linalg.norm(r) <= tolerance * slack * np.linalg.norm(b)
        elif info.converged:  # the two tests of the papers, whose |A| is an estimate, here at most twice too large
            epsilon = max(tolerance, 4 * np.finfo(dtype).eps)
            scale = np.linalg.norm(a)
            small = np.linalg.norm(r) <= 2 * epsilon * (np.linalg.norm(b) + scale * np.linalg.norm(x))
            assert small or np.linalg.norm(a.T @ r) <= 20 * epsilon * scale * np.linalg.norm(r)
        assert info.relative == pytest.approx(
            np.linalg.norm(r) / np.linalg.norm(b), rel=0.3, abs=1e-6 if dtype == "float32" else 1e-14
        )
        assert info.converged or info.stopped


@pytest.mark.parametrize("method", ["auto", "lu", "qr", *ITERATIONS])
@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e300])
def test_right_hand_sides_whose_squares_leave_the_range(method, size):
    a = system("positive")
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(40)
    f = (
        (lambda b: st.solve(A, b, method=method, info=True))
        if method in ("auto", "lu", "qr")
        else (lambda b: getattr(st, method)(A, b, **options(method, 1e-10)))
    )
    x, info = f(b)
    big, other = f(b * size)
    assert np.allclose(big / size, x, rtol=1e-7) and other.converged
    assert other.relative < 1e-7 and other.residual <= 1e-7 * size * 10
    if method in SQUARE:
        seen = []
        x, info = getattr(st, method)(A, size * b, x0=0.9 * big, rtol=1e-8, callback=seen.append)
        assert np.allclose(x / size, big / size, rtol=1e-5)
        assert method == "gmres" or np.allclose(seen[-1] / size, x / size)
        absolute = getattr(st, method)(A, size * b, rtol=0, atol=1e-3 * size)[1]
        assert absolute.residual <= 1e-3 * size


def test_a_solution_that_overflows_is_none():
    tiny = st.eye(3) * 1e-200
    for method in ("auto", "lu", *SQUARE):
        with pytest.raises(st.SolveError):
            st.solve(tiny, np.full(3, 1e200), method=method)


@pytest.mark.parametrize("method", ITERATIONS)
def test_zeros(method):
    f = getattr(st, method)
    A = st.from_scipy(system("positive"))
    x, info = f(A, np.zeros(40))
    assert (x == 0).all() and info.converged and info.iterations == 0 and info.residual == 0
    nothing = st.zeros((40, 40), format="CSR")
    x, info = f(nothing, np.zeros(40))
    assert (x == 0).all() and info.converged
    if method in SQUARE:
        with pytest.raises(st.SolveError):
            f(nothing, np.ones(40))
    else:  # least squares: nothing is better than 0
        x, info = f(nothing, np.ones(40))
        assert (x == 0).all() and info.converged and info.residual == pytest.approx(np.sqrt(40))
    # A matrix that holds NaN solves nothing, not even 0.
    bad = st.from_dense(np.diag([1.0, np.nan, 1]), "CSR")
    with pytest.raises(st.SolveError):
        f(bad, np.zeros(3))
    with pytest.raises(st.SolveError, match="finite"):
        f(A, np.full(40, np.inf))
    with pytest.raises(st.ConvergenceError, match="0 iterations"):
        f(A, np.ones(40), maxiter=0)


@pytest.mark.parametrize("method", ITERATIONS)
def test_empty_and_one(method):
    f = getattr(st, method)
    for format in ("CSR", "dense", "COO"):
        x, info = f(st.from_dense(np.zeros((0, 0)), format), np.zeros(0))
        assert x.shape == (0,) and info.converged
        x, info = f(st.from_dense(np.full((1, 1), 4.0), format), np.array([2.0]), **options(method, 1e-12))
        assert x[0] == pytest.approx(0.5)


@pytest.mark.parametrize("method", ITERATIONS)
@pytest.mark.parametrize("dtype", ["int8", "int64", "bool", "float16"])
def test_integers_and_halves(method, dtype):
    a = np.eye(12, dtype=dtype)
    a[3, 4] = a[4, 3] = 0
    if dtype not in ("bool",):
        a = (a * 4 + np.eye(12, k=1, dtype=dtype) + np.eye(12, k=-1, dtype=dtype)).astype(dtype)
    b = np.arange(12).astype("int32")
    x, info = getattr(st, method)(st.from_dense(a, "CSR"), b, **options(method, 1e-6))
    assert x.dtype == "float64" and np.allclose(a.astype(float) @ x, b, atol=1e-3)


@pytest.mark.parametrize("format", FORMATS)
def test_sparse_right_hand_sides_by_iteration(format):
    a = system("positive")
    dense = np.where(np.random.default_rng(0).random((40, 3)) < 0.2, 1.0, 0)
    A = st.from_scipy(a)
    x, info = st.cg(A, st.from_dense(dense, format), rtol=1e-10)
    assert np.allclose(a @ x, dense) and len(info.columns) == 3
    x, info = st.cg(A, st.from_dense(dense[:, 0], "COO(1)"), rtol=1e-10)
    assert np.allclose(a @ x, dense[:, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("widths", [(1, 1), (2, 3), (0, 4), (5, 0), (20, 15)])
@pytest.mark.parametrize("format", ["DIA", "CSR", "dense"])
def test_bands_beside_lapack(widths, dtype, format):
    """gbsv's answers, with exchanges of rows: nothing on the diagonal is large."""
    n, (lower, upper) = 60, widths
    rng = np.random.default_rng(3)
    dense = np.zeros((n, n), dtype)
    for k in range(-lower, upper + 1):
        dense += np.diag(values(rng, n - abs(k), dtype), k)
    b = values(rng, (n, 2), dtype)
    if not (lower and upper):
        dense += 20 * np.eye(n, dtype=dtype)
    ab = np.zeros((lower + upper + 1, n), dtype)
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            ab[upper + i - j, j] = dense[i, j]
    want = scipy.linalg.solve_banded((lower, upper), ab.astype("complex128"), b)
    x, info = st.solve(st.from_dense(dense, format), b, method="banded", info=True)
    assert np.linalg.norm(x - want) <= (2e-2 if np.finfo(dtype).eps > 1e-10 else 1e-8) * np.linalg.norm(want)
    assert "banded" in info.method or "tridiagonal" in info.method


@pytest.mark.parametrize("turn", [{}, {"transpose": True}, {"adjoint": True}])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("widths", [(1, 1), (3, 2)])
def test_bands_whose_pivots_have_no_reciprocal(widths, dtype, turn):
    """Rows scaled by powers of two from 2^-1060 to 2^1020: reciprocals of their pivots overflow, or are subnormal."""
    n, (lower, upper) = 40, widths
    rng = np.random.default_rng(5)
    dense = sum(np.diag(values(rng, n - abs(k), dtype), k) for k in range(-lower, upper + 1)) + 9 * np.eye(n)
    x = values(rng, n, dtype)
    for power in (-1024, -1000, 0, 1000, 1018):
        scaled = dense * 2.0**power if power > -1024 else dense * 2.0**-1000 * 2.0**-24
        turned = dense.T if turn else dense
        b = (turned.conj() if turn.get("adjoint") else turned) @ x
        b = b * 2.0**power if power > -1024 else b * 2.0**-1000 * 2.0**-24
        got = st.solve(st.from_dense(scaled, "DIA"), b, method="banded", **turn)
        np.testing.assert_allclose(got, x, rtol=1e-11 if power > -1024 else 1e-6)


@pytest.mark.parametrize("format", ["(b, i, j) -> (b: dense, j - i: compressed, i: range)", "COO", "dense"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_of_tridiagonals_beside_lapack(format, dtype):
    rng = np.random.default_rng(4)
    dense = np.zeros((20, 17, 17), dtype)
    for k in range(20):
        for d in (-1, 0, 1):
            dense[k] += np.diag(values(rng, 17 - abs(d), dtype), d)
    b = values(rng, (20, 17), dtype)
    A = st.from_dense(dense, format)
    x, info = st.solve(A, b, info=True)
    want = np.stack([np.linalg.solve(m.astype("complex128"), v) for m, v in zip(dense, b)])
    assert np.linalg.norm(x - want) <= (2e-2 if np.finfo(dtype).eps > 1e-10 else 1e-8) * np.linalg.norm(want)
    assert "tridiagonal" in info.method and "20 matrices" in info.method
    # One that is singular is no reason to believe the others.
    dense[7, :, 3] = 0
    with pytest.raises(st.SingularError):
        st.solve(st.from_dense(dense, format), b)


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("lower", [False, True])
def test_substitution_in_triangles_of_any_depth(n, lower):
    """Rows that wait for one other, for all others, and for none."""
    rng = np.random.default_rng(n)
    shapes = {
        "random": sp.random_array((n, n), density=min(1.0, 3 / n), rng=rng),
        "chain": sp.diags_array(np.ones(n - 1), offsets=-1, shape=(n, n)),
        "two levels": sp.coo_array(
            (np.ones(n // 2), (np.arange(1, n, 2)[: n // 2], np.arange(0, n - 1, 2)[: n // 2])), (n, n)
        ),
        "nothing": sp.coo_array((n, n)),
        "full": sp.coo_array(rng.standard_normal((n, n)) / n),
    }
    for name, a in shapes.items():
        t = sp.tril(a, -1) if lower else sp.triu(a if name != "chain" else a.T, 1)
        full = (sp.csr_array(t) + sp.diags_array(2 + rng.random(n))).toarray()
        b = rng.standard_normal((n, 2))
        A = st.from_dense(full, "CSR")
        for trans, how in ((0, {}), (1, dict(transpose=True)), (2, dict(adjoint=True))):
            want = scipy.linalg.solve_triangular(full, b, trans, lower)
            assert np.allclose(st.triangular_solve(A, b, lower=lower, **how), want, rtol=1e-9), (name, trans)


def test_large_triangles_keep_their_bits():
    n = 70000
    rng = np.random.default_rng(0)
    rows = np.arange(n // 2, n)
    a = sp.csr_array(
        (rng.standard_normal(3 * rows.size) / 4, (np.repeat(rows, 3), rng.integers(0, n // 2, 3 * rows.size))), (n, n)
    )
    a = sp.csr_array(a + a.T + sp.diags_array(np.full(n, 4.0)))
    b = rng.standard_normal(n)
    A = st.from_scipy(a)
    low = sp.csr_array(sp.tril(a))
    import scipy.sparse.linalg as linalg

    want = linalg.spsolve_triangular(low, b, lower=True)
    before, found = st.settings.threads, []
    try:
        for threads in (1, 2, 5):
            st.settings.threads = threads
            M = st.preconditioner(A, "ilu0")
            found.append((st.triangular_solve(st.from_scipy(low), b), M.matvec(b), st.cg(A, b, M="ic0")[0]))
    finally:
        st.settings.threads = before
    assert np.allclose(found[0][0], want)
    for other in found[1:]:
        assert all((x == y).all() for x, y in zip(found[0], other))


def test_ilu_of_a_pattern_that_is_not_symmetric():
    """L U agrees with the matrix in its own pattern, whatever order its rows are taken in."""
    rng = np.random.default_rng(5)
    a = sp.csr_array(sp.random_array((60, 60), density=0.04, rng=rng) + 3 * sp.eye_array(60))
    M = st.preconditioner(st.from_scipy(a), "ilu0")
    product = np.linalg.inv(np.column_stack([M.matvec(e) for e in np.eye(60)]))
    pattern = a.toarray() != 0
    assert np.allclose(product[pattern], a.toarray()[pattern])
