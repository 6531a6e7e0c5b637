"""st.solve beside scipy.sparse.linalg and numpy.linalg: every structure, format and dtype."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as linalg
from systems import DTYPES, FORMATS, KINDS, RTOL, poisson, system, values

import strata as st

METHOD = {
    "general": "lu",
    "diagonal": "diagonal",
    "lower": "lower",
    "upper": "upper",
    "tridiagonal": "tridiagonal",
    "banded": "banded",
    "positive": "cholesky",
    "indefinite": "ldlt",
    "saddle": "lu",
}


def close(got, want, dtype):
    assert got.shape == want.shape
    assert np.linalg.norm(got - want) <= RTOL[np.dtype(dtype).name] * np.linalg.norm(want)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_structures_in_all_formats(kind, format):
    a = system(kind)
    rng = np.random.default_rng(1)
    b = rng.standard_normal((40, 3))
    A = st.from_scipy(a).to(format)
    x, info = st.solve(A, b[:, 0], info=True)
    close(x, linalg.spsolve(a.tocsc(), b[:, 0]), "float64")
    assert info.converged and info.relative < 1e-12 and info == 0
    assert info.residual == pytest.approx(np.linalg.norm(b[:, 0] - a @ x), abs=1e-13)
    for turned, matrix in ((dict(transpose=True), a.T), (dict(adjoint=True), a.T.conj())):
        close(st.solve(A, b, **turned), linalg.spsolve(matrix.tocsc(), b), "float64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_structures_in_all_dtypes(kind, dtype):
    a = system(kind, dtype)
    rng = np.random.default_rng(2)
    b = values(rng, (40, 2), dtype)
    A = st.from_scipy(a)
    want = np.linalg.solve(a.toarray().astype("complex128"), b)
    x = st.solve(A, b)
    assert x.dtype == dtype
    close(x, want, dtype)
    for turned, matrix in ((dict(transpose=True), a.T), (dict(adjoint=True), a.T.conj())):
        close(st.solve(A, b, **turned), np.linalg.solve(matrix.toarray().astype("complex128"), b), dtype)
    # The dense array has the same structure.
    close(st.solve(a.toarray(), b), want, dtype)
    for turned, matrix in ((dict(transpose=True), a.T), (dict(adjoint=True), a.T.conj())):
        close(st.solve(a.toarray(), b, **turned), np.linalg.solve(matrix.toarray().astype("complex128"), b), dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_the_structure_is_found(kind):
    a = system(kind)
    s = st.Solve(st.from_scipy(a), np.ones(40))
    assert s.plan() == ("ldlt" if kind == "saddle" else METHOD[kind])
    s.factorize()
    word = {"lower": "lower triangle", "upper": "upper triangle", "lu": "LU", "cholesky": "Cholesky", "ldlt": "L D L^H"}
    assert word.get(METHOD[kind], METHOD[kind]) in s.method and "CSR" in s.method


@pytest.mark.parametrize(
    "method,kinds",
    {
        "lu": KINDS,
        "qr": KINDS,
        "banded": ["banded", "tridiagonal", "diagonal", "lower"],
        "tridiagonal": ["tridiagonal", "diagonal"],
        "cholesky": ["positive"],
        "ldlt": ["positive", "indefinite"],
    }.items(),
)
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_methods_by_name(method, kinds, dense, dtype):
    rng = np.random.default_rng(3)
    for kind in kinds:
        a = system(kind, dtype)
        b = values(rng, 40, dtype)
        A = a.toarray() if dense else st.from_scipy(a)
        close(st.solve(A, b, method=method), np.linalg.solve(a.toarray(), b), dtype)
        close(st.solve(A, b, method=method, transpose=True), np.linalg.solve(a.T.toarray(), b), dtype)
        close(st.solve(A, b, method=method, adjoint=True), np.linalg.solve(a.T.conj().toarray(), b), dtype)


@pytest.mark.parametrize(
    "assume", ["diagonal", "tridiagonal", "lower triangular", "upper triangular", "pos", "her", "gen"]
)
@pytest.mark.parametrize("dense", [False, True])
def test_what_is_assumed_is_all_that_is_read(assume, dense):
    """As scipy.linalg.solve reads one triangle or band, whatever stands elsewhere."""
    a = system("positive", "complex128") + 0.01 * system("general", "complex128")
    full, b = a.toarray(), values(np.random.default_rng(4), 40, "complex128")
    np.fill_diagonal(full, full.diagonal().real)
    A = full if dense else st.from_dense(full, "CSR")
    low = np.tril(full)
    want = {
        "diagonal": np.diag(full.diagonal()),
        "tridiagonal": np.tril(np.triu(full, -1), 1),
        "lower triangular": low,
        "upper triangular": np.triu(full),
        "pos": low + np.tril(full, -1).conj().T,
        "her": low + np.tril(full, -1).conj().T,
        "gen": full,
    }[assume]
    close(st.solve(A, b, assume=assume), np.linalg.solve(want, b), "complex128")


def test_right_hand_sides():
    a = system("general")
    A, rng = st.from_scipy(a), np.random.default_rng(5)
    lu = linalg.splu(a.tocsc())
    for shape in ((40,), (40, 1), (40, 9), (40, 17), (40, 0)):
        b = rng.standard_normal(shape)
        close(st.solve(A, b), lu.solve(b) if b.size else b, "float64")
    b = rng.standard_normal((40, 30))
    want = lu.solve(b)
    close(st.solve(A, np.asfortranarray(b)), want, "float64")
    close(st.solve(A, b[:, ::-2]), want[:, ::-2], "float64")
    close(st.solve(A, b[::-1][::-1][:, 3]), want[:, 3], "float64")
    close(st.solve(A, list(b[:, 3])), want[:, 3], "float64")
    sparse = np.where(b > 1, b, 0)
    for B in (st.from_dense(sparse, "CSR"), st.from_dense(sparse, "COO"), sp.csr_array(sparse)):
        close(st.solve(A, B), lu.solve(sparse), "float64")
    close(st.solve(A, st.from_dense(b[:, 0], "dense")), want[:, 0], "float64")
    for bad in (np.ones(39), np.ones((39, 2)), np.ones((40, 2, 2)), np.float64(1)):
        with pytest.raises(st.TensorError, match="right-hand side"):
            st.solve(A, bad)


def test_dtypes_are_promoted():
    a = system("positive")
    n = a.shape[0]
    for da, db, want in (
        ("int64", "int32", "float64"),
        ("bool", "bool", "float64"),
        ("float32", "int8", "float64"),
        ("float32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float16", "float16", "float32"),
        ("float64", "complex64", "complex128"),
        ("complex64", "float32", "complex64"),
        ("complex64", "float64", "complex128"),
    ):
        m = (np.round(a.toarray()) + 30 * np.eye(n)).astype(da) if da != "bool" else np.eye(n, dtype=bool)[::-1]
        b = np.arange(n).astype(db)
        if db.startswith("complex"):
            b = b + 1j * b[::-1]
        x = st.solve(st.from_dense(m, "CSR"), b)
        assert x.dtype == want, (da, db)
        exact = np.linalg.solve(m.astype("complex128"), b.astype("complex128"))
        close(x, exact, np.float32 if want in ("float32", "complex64") else np.float64)
    x = st.solve(st.eye(3, dtype="bfloat16") * 2, np.ones(3, "float32"))
    assert x.dtype == "float32" and (x == 0.5).all()


def test_torch_comes_back_as_torch():
    torch = pytest.importorskip("torch")
    a = system("general")
    b = torch.arange(40.0, dtype=torch.float64)
    x = st.solve(st.from_scipy(a), b)
    assert isinstance(x, torch.Tensor) and torch.allclose(x, torch.linalg.solve(torch.from_numpy(a.toarray()), b))
    y = st.solve(torch.from_numpy(a.toarray()), torch.stack([b, 2 * b], 1))
    assert isinstance(y, torch.Tensor) and torch.allclose(y[:, 0], x) and torch.allclose(y[:, 1], 2 * x)
    z, info = st.cg(st.from_scipy(system("positive")), torch.stack([b, 2 * b], 1), rtol=1e-10)
    assert isinstance(z, torch.Tensor) and len(info.columns) == 2


@pytest.mark.parametrize("format", ["(b, i, j) -> (b: dense, i: dense, j: compressed)", "dense", "COO", "CSF"])
@pytest.mark.parametrize("kind", ["tridiagonal", "general", "positive", "lower"])
def test_batches(kind, format):
    stack = np.stack([system(kind, n=12, seed=k).toarray() for k in range(5)])
    rng = np.random.default_rng(6)
    A = st.from_dense(stack, format)
    b, B = rng.standard_normal((5, 12)), rng.standard_normal((5, 12, 2))
    close(st.solve(A, b), np.linalg.solve(stack, b[..., None])[..., 0], "float64")
    x, info = st.solve(A, B, info=True)
    close(x, np.linalg.solve(stack, B), "float64")
    assert "5 matrices" in info.method and (kind != "tridiagonal" or "tridiagonal" in info.method)
    close(st.solve(A, B, transpose=True), np.linalg.solve(stack.swapaxes(1, 2), B), "float64")
    pair = stack[:4].reshape(2, 2, 12, 12)
    close(
        st.solve(st.from_dense(pair, "COO"), B[:4].reshape(2, 2, 12, 2)),
        np.linalg.solve(pair, B[:4].reshape(2, 2, 12, 2)),
        "float64",
    )
    close(st.solve(stack, B), np.linalg.solve(stack, B), "float64")


def test_batched_tridiagonal_of_diagonals():
    """The blog's batched DIA, where three diagonals are all that is stored."""
    rng = np.random.default_rng(7)
    dense = np.zeros((6, 30, 30))
    for k in range(6):
        dense[k] = np.diag(rng.random(29), -1) + np.diag(4 + rng.random(30)) + np.diag(rng.random(29), 1)
    A = st.from_dense(dense, "(b, i, j) -> (b: dense, j - i: compressed, i: range)")
    b = rng.standard_normal((6, 30))
    x, info = st.solve(A, b, info=True)
    close(x, np.linalg.solve(dense, b[..., None])[..., 0], "float64")
    assert "tridiagonal" in info.method


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20), (30, 1), (1, 7)])
@pytest.mark.parametrize("format", ["CSR", "dense", "BSR(2, 3)"])
def test_least_squares(shape, format, dtype):
    rng = np.random.default_rng(8)
    a = np.where(rng.random(shape) < 0.5, values(rng, shape, dtype), 0).astype(dtype)
    k = min(shape)
    a[range(k), range(k)] += 3
    b = values(rng, (shape[0], 3), dtype)
    want = np.linalg.lstsq(a.astype("complex128"), b, rcond=None)[0]
    x, info = st.solve(st.from_dense(a, format), b, method="qr", info=True)
    close(x, want, dtype)
    assert info.residual == pytest.approx(np.linalg.norm(b - a @ x, axis=0).max(), rel=1e-3, abs=1e-4)
    if shape[0] != shape[1]:
        close(st.solve(st.from_dense(a, format), b), want, dtype)
    # The transpose of a tall matrix is a wide one.
    for turned, matrix in ((dict(transpose=True), a.T), (dict(adjoint=True), a.conj().T)):
        c = values(rng, shape[1], dtype)
        close(
            st.solve(st.from_dense(a, format), c, method="qr", **turned),
            np.linalg.lstsq(matrix.astype("complex128"), c, rcond=None)[0],
            dtype,
        )


def test_least_squares_of_small_residual():
    """What is left over may be as small as rounding without being taken for a failure."""
    rng = np.random.default_rng(9)
    a = sp.random_array((300, 80), density=0.1, rng=rng) + sp.eye_array(300, 80)
    x = rng.standard_normal(80)
    for noise in (0, 1e-14, 1e-10, 1e-5, 1):
        b = a @ x + noise * rng.standard_normal(300)
        close(st.solve(st.from_scipy(sp.csr_array(a)), b), np.linalg.lstsq(a.toarray(), b, rcond=None)[0], "float64")


def test_deficient_rank_is_told():
    a = np.ones((6, 3))
    a[:, 1] = np.arange(6)
    for format in ("CSR", "dense"):
        with pytest.raises(st.SingularError, match="rank 2, not 3"):
            st.solve(st.from_dense(a, format), np.ones(6))
    a[2] = 0
    a[:, 2] = 0
    for format in ("CSR", "dense"):
        with pytest.raises(st.SingularError, match="rank 2, not 3"):
            st.solve(st.from_dense(a, format), np.ones(6))


SINGULAR = {
    "empty row": (np.diag([1.0, 0, 2]) + np.diag([1.0, 1], 1) * [[1], [0], [1]], "structurally singular|pivot"),
    "zeros": (np.zeros((4, 4)), "pivot 1 of 4 is 0"),
    "two columns alike": (np.array([[1.0, 1, 2], [3, 3, 1], [2, 2, 7]]), "pivot|working precision"),
    "rounding": (np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]) / 7, "pivot|working precision"),
    "triangle": (np.tril(np.ones((5, 5))) - np.diag([0, 0, 1.0, 0, 0]), "pivot 3 of 5"),
    "tridiagonal": (np.array([[1.0, 1, 0], [1, 1, 0], [0, 1, 1]]), "pivot"),
}


@pytest.mark.parametrize("format", ["CSR", "dense", "DIA", "COO"])
@pytest.mark.parametrize("name", SINGULAR)
def test_singular(name, format):
    a, text = SINGULAR[name]
    with pytest.raises(st.SingularError, match=text) as e:
        st.solve(st.from_dense(a, format), np.ones(len(a)))
    assert isinstance(e.value, np.linalg.LinAlgError) and isinstance(e.value, st.SolveError)


def test_structural_singularity_has_its_rank():
    a = system("general", n=40).tolil()
    a[:, 7] = 0
    a[3, :] = 0
    a[5, :] = 0
    with pytest.raises(st.SingularError, match="at most 38 of 40 pivots"):
        st.solve(st.from_scipy(sp.csr_array(a)), np.ones(40), method="lu")


def test_singular_to_working_precision():
    """A Neumann problem: constants solve it, and rounding hides that from the pivots."""
    g = poisson(20, 20).tolil()
    for i in range(400):
        g[i, i] = 0
    laplace = sp.csr_array(sp.csgraph.laplacian(-sp.csr_matrix(g)))
    for method in ("auto", "lu"):
        with pytest.raises(st.SingularError, match="singular"):
            st.solve(st.from_scipy(laplace), np.ones(400), method=method)
    # Rows and columns of very different sizes are no such thing.
    scale = sp.diags_array(10.0 ** np.linspace(-12, 12, 40))
    a = system("general")
    x = np.random.default_rng(0).standard_normal(40)
    for m in (scale @ a, a @ scale):
        got, info = st.solve(st.from_scipy(sp.csr_array(m)), m @ x, info=True)
        assert info.relative < 1e-10
        if m is not None and np.allclose((scale @ a).toarray(), m.toarray()):
            close(got, x, "float64")


def test_indefinite_where_it_must_not_be():
    a = system("indefinite")
    for A in (st.from_scipy(a), a.toarray()):
        with pytest.raises(st.IndefiniteError, match="not positive definite"):
            st.solve(A, np.ones(40), assume="pos")
    with pytest.raises(st.IndefiniteError, match=r"pivot \d+ of 40 \(row \d+\) is -"):
        st.cholesky(st.from_scipy(a))
    with pytest.raises(st.SolveError, match="pivot|digits"):
        st.solve(st.from_scipy(system("saddle")), np.ones(40), assume="sym")


def test_what_is_not_finite_is_refused():
    a = system("general").toarray()
    a[3, 4] = np.nan
    for format in ("CSR", "dense", "DIA"):
        with pytest.raises(st.SolveError, match="row 3, column 4"):
            st.solve(st.from_dense(a, format), np.ones(40))
    with pytest.raises(st.SolveError, match="right-hand side"):
        st.solve(st.from_scipy(system("general")), np.r_[np.inf, np.ones(39)])


def test_ill_conditioned_but_not_singular():
    """Hilbert's matrix: the solution solves the equation, whatever its own digits are worth."""
    h = scipy.linalg.hilbert(10)
    for format in ("CSR", "dense"):
        x, info = st.solve(st.from_dense(h, format), h @ np.ones(10), info=True)
        assert info.relative < 1e-14 and np.abs(x - 1).max() < 1e-2


def test_mistakes_in_calls():
    A, b = st.eye(4), np.ones(4)
    for call, error, text in (
        (lambda: st.solve(A, b, method="choleski"), st.PlanError, "write 'cholesky'"),
        (lambda: st.solve(A, b, assume="round"), st.PlanError, "structure"),
        (lambda: st.solve(A, b, method="lu", assume="gen"), st.PlanError, "say the same"),
        (lambda: st.solve(np.ones(3), b), st.TensorError, "two dimensions"),
        (lambda: st.lu(np.ones((3, 4))), st.TensorError, "square"),
        (lambda: st.solve(st.eye(4, 3), b, method="cholesky"), st.TensorError, "square"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_empty():
    for format in ("CSR", "dense", "COO"):
        A = st.from_dense(np.zeros((0, 0)), format)
        assert st.solve(A, np.zeros(0)).shape == (0,) and st.solve(A, np.zeros((0, 3))).shape == (0, 3)
        assert st.solve(st.from_dense(np.zeros((3, 0)), format), np.ones(3)).shape == (0,)
        assert (st.solve(st.from_dense(np.zeros((0, 3)), format), np.ones(0)) == np.zeros(3)).all()
    assert st.solve(np.zeros((0, 4, 4)), np.zeros((0, 4))).shape == (0, 4)


def test_a_fill_that_is_not_zero():
    a = np.full((6, 6), 2.0)
    a[range(6), range(6)] = 9
    A = st.from_dense(a, "CSR", fill=2)
    close(st.solve(A, np.arange(6.0)), np.linalg.solve(a, np.arange(6.0)), "float64")


def test_the_same_bits_with_any_number_of_threads():
    a = st.from_scipy(poisson(20, 23))
    b = np.random.default_rng(0).standard_normal((460, 40))
    before, found = st.settings.threads, []
    try:
        for n in (1, 2, 5):
            st.settings.threads = n
            found.append((st.solve(a, b), st.cg(a, b[:, 0])[0], st.gmres(a, b[:, 0])[0]))
    finally:
        st.settings.threads = before
    for other in found[1:]:
        assert all((x == y).all() for x, y in zip(found[0], other))


def test_triangular_solve():
    a = system("general", "complex128").toarray()
    rng = np.random.default_rng(0)
    a = a + 8 * np.eye(40)
    b = values(rng, (40, 3), "complex128")
    for format in FORMATS:
        A = st.from_dense(a, format)
        for lower in (True, False):
            for trans, how in ((0, {}), (1, dict(transpose=True)), (2, dict(adjoint=True))):
                for unit in (False, True):
                    if unit:
                        scaled = a / 20
                        A = st.from_dense(scaled, format)
                    want = scipy.linalg.solve_triangular(scaled if unit else a, b, trans, lower, unit)
                    got = st.triangular_solve(A, b, lower=lower, unit_diagonal=unit, **how)
                    close(got, want, "complex128")
                A = st.from_dense(a, format)
    with pytest.raises(st.SingularError, match="pivot 2 of 3"):
        st.triangular_solve(np.diag([1.0, 0, 1]), np.ones(3))


def test_gallery():
    """pyamg's matrices."""
    gallery = pytest.importorskip("pyamg").gallery
    rng = np.random.default_rng(0)
    for name, method in (
        ("airfoil", "cholesky"),
        ("bar", "cholesky"),
        ("knot", "cholesky"),
        ("recirc_flow", "lu"),
        ("helmholtz_2D", "lu"),
        ("local_disc_galerkin_diffusion", None),
    ):
        a = sp.csr_array(gallery.load_example(name)["A"])
        b = values(rng, a.shape[0], a.dtype)
        x, info = st.solve(st.from_scipy(a), b, info=True)
        want = linalg.spsolve(a.tocsc(), b)
        assert info.relative < 1e-9, name
        assert np.linalg.norm(x - want) <= 1e-6 * np.linalg.norm(want), name
    neumann = sp.csr_array(gallery.load_example("unit_square")["A"])  # constants solve it
    with pytest.raises(st.SingularError, match="singular"):
        st.solve(st.from_scipy(neumann), np.ones(neumann.shape[0]))
