"""Libraries that are found at run time: MKL's PARDISO, SuiteSparse's CHOLMOD and UMFPACK, beside NumPy and SciPy."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as linalg
from systems import DTYPES, KINDS, RTOL, poisson, system, values

import strata as st
from strata._timing.peers import mkl_path

METHOD = {"pardiso": st.cholesky, "cholmod": st.cholesky, "umfpack": st.lu}
NAME = {"pardiso": "PARDISO", "cholmod": "CHOLMOD", "umfpack": "UMFPACK"}
#: what each one takes without being told a method
TAKES = {"pardiso": KINDS, "cholmod": ["positive"], "umfpack": KINDS}


@pytest.fixture(autouse=True)
def mkl_is_found(monkeypatch):
    if mkl_path():
        monkeypatch.setenv("STRATA_MKL", mkl_path())


@pytest.fixture(params=list(METHOD))
def library(request):
    try:
        METHOD[request.param](st.eye(2), library=request.param)
    except st.Unsupported:
        pytest.skip(f"{NAME[request.param]} is not installed")
    return request.param


def close(got, want, dtype):
    assert got.shape == want.shape
    assert np.linalg.norm(got - want) <= RTOL[np.dtype(dtype).name] * np.linalg.norm(want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_structure(library, dtype):
    for kind in TAKES[library]:
        a = system(kind, dtype)
        b = values(np.random.default_rng(0), (40, 3), dtype)
        full = a.toarray().astype("complex128")
        A = st.from_scipy(a)
        x, info = st.solve(A, b, library=library, info=True)
        assert x.dtype == dtype and NAME[library] in info.method and info.converged
        close(x, np.linalg.solve(full, b), dtype)
        close(st.solve(A, b, library=library, transpose=True), np.linalg.solve(full.T, b), dtype)
        close(st.solve(A, b[:, 0], library=library, adjoint=True), np.linalg.solve(full.conj().T, b[:, 0]), dtype)


@pytest.mark.parametrize("format", ["CSC", "COO", "BSR(2, 3)", "DIA", "delta(4)", "BSR(4, 4) + COO"])
def test_formats(library, format):
    a = system("positive")
    b = np.random.default_rng(0).standard_normal(40)
    close(st.solve(st.from_scipy(a).to(format), b, library=library), linalg.spsolve(a.tocsc(), b), "float64")


def test_a_larger_one(library):
    """Where supernodes are made."""
    a = poisson(60, 61)
    b = np.random.default_rng(0).standard_normal((a.shape[0], 2))
    lu = linalg.splu(a.tocsc())
    f = METHOD[library](st.from_scipy(a), library=library)
    close(f.solve(b), lu.solve(b), "float64")
    if library != "pardiso":
        assert np.isclose(f.logdet()[1], np.log(lu.U.diagonal()).sum())
    assert "elements in" in f.method


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants(library, dtype):
    a = system("positive" if library != "umfpack" else "general", dtype)
    sign, log = METHOD[library](st.from_scipy(a), library=library).logdet()
    want = np.linalg.slogdet(a.toarray())
    assert np.isclose(sign, want[0]) and np.isclose(log, want[1])


def test_other_values_in_the_same_places(library):
    a = system("positive")
    A, b = st.from_scipy(a), np.random.default_rng(0).standard_normal(40)
    with st.Solve(A, b, library=library) as s:
        s.plan()
        for scale in (1.0, 2.0, 1e-3):
            s.reset_values(scale * A.values)
            s.factorize()
            close(s.execute(), linalg.spsolve(scale * a.tocsc(), b), "float64")
        assert s.analyses == 1
        with pytest.raises((st.SolveError, st.PlanError)):  # CHOLMOD has no method for it
            s.reset_values(np.zeros(A.nse))
            s.factorize()
        s.reset_values(A.values)
        s.factorize()
        close(s.execute(), linalg.spsolve(a.tocsc(), b), "float64")


def test_singular(library):
    if library == "cholmod":
        pytest.skip("a singular matrix is not positive definite there")
    for a in (
        np.diag([1.0, 0, 2]) + np.diag([1.0, 0], 1),
        np.array([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]]),
        np.array([[1.0, 0, 0], [0, 0, 1], [0, 0, 1]]),
        np.zeros((3, 3)),
    ):
        with pytest.raises(st.SingularError, match="singular"):
            st.solve(st.from_dense(a, "CSR"), np.ones(3), library=library)
    with pytest.raises(st.SingularError, match="singular"):  # constants solve it
        g = sp.csr_array(poisson(20, 20))
        laplace = sp.csr_array(
            sp.diags_array(np.asarray((g - 4 * sp.eye_array(400)).sum(axis=1))) * -1 + (g - 4 * sp.eye_array(400))
        )
        st.solve(st.from_scipy(laplace), np.ones(400), library=library, method="lu")


def test_indefinite_where_it_must_not_be(library):
    if library == "umfpack":
        pytest.skip("it is LU")
    with pytest.raises(st.IndefiniteError, match="not positive definite"):
        st.cholesky(st.from_scipy(system("indefinite")), library=library)
    with pytest.raises(st.IndefiniteError, match="not positive definite"):
        st.cholesky(st.from_dense(np.array([[1.0, 2], [2, 1]]), "CSR"), library=library)


def test_only_the_lower_triangle_is_read(library):
    if library == "umfpack":
        pytest.skip("it is LU")
    full = system("positive", "complex128").toarray() + np.triu(np.ones((40, 40)), 1)
    low = np.tril(full)
    b = values(np.random.default_rng(0), 40, "complex128")
    x = st.cholesky(st.from_dense(full, "CSR"), library=library).solve(b)
    close(x, np.linalg.solve(low + np.tril(full, -1).conj().T, b), "complex128")


def test_several_threads(library):
    a = system("positive")
    f = METHOD[library](st.from_scipy(a), library=library)
    sides = np.random.default_rng(0).standard_normal((4, 40, 20))
    found = [None] * 4

    def work(k):
        for _ in range(20):
            found[k] = f.solve(sides[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    for x, b in zip(found, sides):
        assert np.allclose(a @ x, b)


def test_as_a_preconditioner_and_in_a_batch(library):
    a = poisson(12, 13)
    b = np.random.default_rng(0).standard_normal(156)
    assert (
        st.cg(st.from_scipy(a), b, M=METHOD[library](st.from_scipy(a), library=library), rtol=1e-10)[1].iterations <= 2
    )
    stack = np.stack([system("positive", seed=k).toarray() for k in range(3)])
    batch = st.from_dense(stack, "(b, i, j) -> (b: dense, i: dense, j: compressed)")
    close(
        st.solve(batch, np.ones((3, 40)), library=library),
        np.linalg.solve(stack, np.ones((3, 40, 1)))[..., 0],
        "float64",
    )


def test_empty(library):
    for shape in ((0,), (0, 3)):
        assert st.solve(st.from_dense(np.zeros((0, 0)), "CSR"), np.zeros(shape), library=library).shape == shape


def test_its_factors_are_not_shown(library):
    f = METHOD[library](st.from_scipy(system("positive")), library=library)
    with pytest.raises(AttributeError, match="no factors that can be seen"):
        f.L


def test_pardiso_goes_on_where_it_may():
    """Hermitian with a positive diagonal, and not positive definite: nobody named Cholesky."""
    try:
        st.lu(st.eye(2), library="pardiso")
    except st.Unsupported:
        pytest.skip("PARDISO is not installed")
    a = sp.csr_array(poisson(10, 11) - 2.5 * sp.eye_array(110))
    x, info = st.solve(st.from_scipy(a), np.ones(110), library="pardiso", info=True)
    close(x, linalg.spsolve(a.tocsc(), np.ones(110)), "float64")
    assert "PARDISO's L D L^H" in info.method
    with pytest.raises(st.Unsupported, match="PARDISO's LU"):
        st.lu(st.from_scipy(a), library="pardiso").logdet()


@pytest.mark.parametrize(
    "library,variable,remedy",
    [
        ("pardiso", "STRATA_MKL", "pip install mkl"),
        ("cholmod", "STRATA_SUITESPARSE", "apt-get install libcholmod3"),
        ("umfpack", "STRATA_SUITESPARSE", "apt-get install libumfpack5"),
    ],
)
def test_what_is_not_there_is_told(library, variable, remedy, monkeypatch, tmp_path):
    A = st.from_scipy(system("positive"))
    monkeypatch.setenv(variable, "off")
    with pytest.raises(st.Unsupported, match="switched off") as e:
        st.solve(A, np.ones(40), library=library)
    assert NAME[library] in str(e.value) and remedy in str(e.value) and "Eigen factorizes" in str(e.value)
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(st.Unsupported, match=f"{variable}"):
        st.Solve(A, np.ones(40), library=library).plan()
    # What is there is no such library.
    file = {"pardiso": "libmkl_rt.so.2", "cholmod": "libcholmod.so.3", "umfpack": "libumfpack.so.5"}[library]
    (tmp_path / file).write_bytes(b"no library")
    monkeypatch.setenv(variable, str(tmp_path) + "/.")
    with pytest.raises(st.Unsupported, match="too short|invalid|header"):
        st.solve(A, np.ones(40), library=library)


def test_mistakes():
    A, b = st.from_scipy(system("general")), np.ones(40)
    for call, text in (
        (lambda: st.solve(A, b, library="pardisso"), "write 'pardiso'"),
        (lambda: st.solve(A, b, library="mumps"), "eigen, pardiso, cholmod, umfpack"),
        (lambda: st.solve(A, b, library="cholmod"), "CHOLMOD does not factorize this"),
        (lambda: st.solve(A, b, method="lu", library="cholmod"), "'cholesky'"),
        (lambda: st.solve(A, b, method="cholesky", library="umfpack"), "'lu'"),
        (lambda: st.solve(A, b, method="qr", library="pardiso"), "'cholesky', 'ldlt' or 'lu'"),
        (lambda: st.solve(A.to("dense"), b, library="umfpack"), "a sparse matrix"),
        (lambda: st.solve(A, b, method="cg", library="umfpack"), "an iteration factorizes nothing"),
    ):
        with pytest.raises(st.PlanError, match=text):
            call()
    assert np.allclose(st.solve(A, b, library="eigen"), st.solve(A, b))
