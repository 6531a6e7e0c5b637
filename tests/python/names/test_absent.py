"""Names that make no sense here: the error names the way, and the way is one."""

import re

import numpy as np
import pytest

import strata as st
from strata import _absent


def test_members_say_what_to_write():
    A = st.eye(3)
    for name, way in _absent.MEMBERS.items():
        with pytest.raises(AttributeError, match=re.escape(f"Tensor has no '{name}'; write {way}")):
            getattr(A, name)
        for member in re.findall(r"\bA\.(\w+)", way):
            assert hasattr(A, member), (name, member)
    assert not hasattr(A, "__array_interface__") and getattr(A, "data", None) is None


def test_functions_say_what_to_write():
    for name, way in _absent.FUNCTIONS.items():
        with pytest.raises(AttributeError, match=re.escape(f"strata has no '{name}'; write {way}")):
            getattr(st, name)
        for function in re.findall(r"\bst\.(\w+)", way):
            assert hasattr(st, function), (name, function)
        for function in re.findall(r"\bnp\.(\w+)", way):
            assert hasattr(np, function), (name, function)


@pytest.mark.parametrize("name,near", [("reshap", "reshape"), ("tocsrr", "tocsr"), ("to_dens", "to_dense")])
def test_misspelt(name, near):
    with pytest.raises(AttributeError, match=f"did you mean .*{near}"):
        getattr(st.eye(3), name)
    with pytest.raises(AttributeError, match="did you mean concatenate"):
        st.concatenat
    with pytest.raises(AttributeError, match=r"has no 'qqqq'$"):
        st.eye(3).qqqq


def test_functions_that_are_no_members():
    for name, way in (("pad", "st.pad(...)"), ("kron", "st.kron(...)"), ("save", "st.save(...)")):
        with pytest.raises(AttributeError, match=re.escape(f"Tensor has no '{name}'; write {way}")):
            getattr(st.eye(3), name)
    with pytest.raises(AttributeError, match="did you mean concatenate"):
        st.concat


def test_assignment():
    A = st.eye(3)
    with pytest.raises(st.TensorError, match="immutable"):
        A[0, 1] = 2.0
    with pytest.raises(AttributeError):
        A.shape = (9, 1)


def test_ways_that_are_written_are_right():
    a = np.array([[1.0, 0, 2], [0, 3, 0], [0, 0, 4]])
    A = st.from_dense(a, "CSR")
    i, j, v = (*A.nonzero(), A[A.nonzero()])
    assert np.array_equal(a[i, j], v)
    assert st.from_coo(A.coords, A.values, (5, 5)).to_dense()[:3, :3].tolist() == a.tolist()
    kronsum = st.kron(st.eye(3), A) + st.kron(A, st.eye(3))
    import scipy.sparse as sp

    assert np.array_equal(kronsum.to_dense(), sp.kronsum(sp.csr_array(a), sp.csr_array(a)).toarray())


def test_functions_of_elements_as_members():
    from named import pairs, same

    for A, a in pairs():
        A, a = A / 8, a / 8
        for name in "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh".split():
            same(getattr(st.asarray(A), name)(), getattr(np, name)(a), rtol=1e-14)
        for name in "tan tanh trunc".split():
            same(getattr(st.asarray(A), name)(), getattr(np, name)(a), rtol=1e-14)
        same(st.asarray(abs(A)).sqrt(), np.sqrt(abs(a)), rtol=1e-14)


def test_ways_of_torch_are_right():
    torch = pytest.importorskip("torch")
    a = np.array([[1.0, 0, 2], [0, 3, 0], [0, 0, 4]])
    A = st.from_dense(a, "CSR")
    t = st.from_coo(A.coords, A.values, A.shape, "CSR", fill=-np.inf)
    s = torch.from_numpy(a).to_sparse()
    E = np.exp(t)
    soft = E / E.sum(1, keepdims=True)
    assert soft.nse == 4 and np.allclose(soft.to_dense(), torch.sparse.softmax(s, 1).to_dense().numpy())
    found = t - np.log(np.exp(t).sum(1, keepdims=True))
    want = torch.sparse.log_softmax(s, 1).to_dense().numpy()
    assert np.allclose(st.asarray(found).to_dense()[a != 0], want[a != 0])
    u, v = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(2, 3) + 1
    S = A.astype(bool).astype(float)
    assert np.allclose(st.einsum("ij,ik,kj->ij", S, u, v).to_dense(), (u @ v) * (a != 0))
    assert {st.Format(f).rank for f in ("BSC(2, 2)", "structured(2, 4)")} == {2}
    assert A[:, :3].to("BSR(3, 3)").validate() is None


#: (NumPy's and SciPy's calls of a matrix A and a right-hand side b, what the error says to write)
CALLS_OF_LINALG = {
    "np.linalg.solve(A, b)": "st.solve(A, b)",
    "np.linalg.inv(A)": "st.solve(A, b), or st.lu(A)",
    "np.linalg.det(A)": "st.lu(A).logdet()",
    "np.linalg.slogdet(A)": "st.lu(A).logdet()",
    "np.linalg.eig(A)": "st.eigs(A, k)",
    "np.linalg.eigh(A)": "st.eigsh(A, k)",
    "np.linalg.eigvals(A)": "st.eigs(A, k)[0]",
    "np.linalg.eigvalsh(A)": "st.eigsh(A, k)[0]",
    "np.linalg.svd(A)": "st.svds(A, k)",
    "np.linalg.lstsq(A, b)": 'st.solve(A, b, method="qr")',
    "np.linalg.pinv(A)": 'st.solve(A, b, method="qr")',
    "np.linalg.cholesky(A)": "st.cholesky(A)",
    "np.linalg.qr(A)": "st.qr(A)",
    "np.linalg.cond(A)": "np.linalg.cond(A.to_dense())",
    "np.linalg.matrix_rank(A)": "np.linalg.matrix_rank(A.to_dense())",
    "np.linalg.tensorsolve(A, b)": "np.linalg.tensorsolve(A.to_dense(), b)",
    "np.median(A)": "np.median(A.to_dense())",
    "np.sort(A)": "np.sort(A.to_dense())",
    "linalg.solve(A, b)": "st.solve(A, b)",
    "linalg.inv(A)": "st.solve(A, b), or st.lu(A)",
    "linalg.det(A)": "st.lu(A).logdet()",
    "linalg.lstsq(A, b)": 'st.solve(A, b, method="qr")',
    "linalg.solve_triangular(A, b)": "st.triangular_solve(A, b)",
    "linalg.solve_banded((1, 1), A, b)": 'st.solve(A, b, method="banded")',
    "linalg.solveh_banded(A, b)": 'st.solve(A, b, method="banded")',
    "linalg.lu(A)": "st.lu(A)",
    "linalg.lu_factor(A)": "st.lu(A)",
    "linalg.cho_factor(A)": "st.cholesky(A)",
    "linalg.cholesky(A)": "st.cholesky(A)",
    "linalg.ldl(A)": 'st.solve(A, b, method="ldlt")',
    "linalg.qr(A)": "st.qr(A)",
    "linalg.eig(A)": "st.eigs(A, k)",
    "linalg.eigh(A)": "st.eigsh(A, k)",
    "linalg.eigvals(A)": "st.eigs(A, k)[0]",
    "linalg.eigvalsh(A)": "st.eigsh(A, k)[0]",
    "linalg.svd(A)": "st.svds(A, k)",
    "linalg.svdvals(A)": "st.svds(A, k)[1]",
    "linalg.pinv(A)": 'st.solve(A, b, method="qr")',
    "linalg.expm(A)": "st.expm_multiply(A, b)",
    "linalg.norm(A)": "st.norm(...)",
    "linalg.issymmetric(A)": "st.equal(A, A.T)",
    "linalg.sqrtm(A)": "scipy.linalg.sqrtm(A.to_dense())",
    "linalg.schur(A)": "scipy.linalg.schur(A.to_dense())",
    "linalg.null_space(A)": "scipy.linalg.null_space(A.to_dense())",
    "linalg.polar(A)": "scipy.linalg.polar(A.to_dense())",
    "sparse.csgraph.laplacian(A)": "scipy.sparse.csgraph.laplacian(A.to_scipy())",
    "sparse.csgraph.connected_components(A)": "t.to_scipy()",
    "sparse.vstack([A, A])": "st.vstack(...)",
    "spatial.distance.pdist(A)": "t.to_dense()",
    "np.asarray(A)": "t.to_dense()",
}
#: which SciPy makes a sparse array of first; it says that it could not, because of our error
CALLS_OF_SPARSE = {
    "linalg.spsolve(A, b)": "st.solve(A, b)",
    "linalg.splu(A)": "st.lu(A)",
    "linalg.spilu(A)": 'st.preconditioner(A, "ilu0")',
    "linalg.factorized(A)": "st.lu(A).solve",
    "linalg.spsolve_triangular(A, b)": "st.triangular_solve(A, b)",
    "csr_array(A)": "t.to_scipy()",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", ["CSR", "BSR(2, 2)", "BSR(4, 4) + COO", "dense"])
def test_linear_algebra_of_numpy_and_scipy_is_told_what_to_write(format):
    import scipy
    import scipy.sparse.csgraph
    import scipy.spatial.distance

    A = st.from_dense(np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 5]]), format)
    known = dict(np=np, A=A, b=np.ones(3), linalg=scipy.linalg, sparse=scipy.sparse, spatial=scipy.spatial)
    for call, way in CALLS_OF_LINALG.items():
        with pytest.raises(st.DTypeError) as e:
            eval(call, known)
        assert e.value.fix.startswith(f"write {way}"), (call, e.value.fix)
        name = call.partition("(")[0].rpartition(".")[2]
        assert name in e.value.got or "t.to_" in way, (call, e.value.got)
    known["linalg"] = scipy.sparse.linalg
    for call, way in CALLS_OF_SPARSE.items():
        with pytest.raises(ValueError) as e:
            eval(call, known | {"csr_array": scipy.sparse.csr_array})
        assert e.value.__cause__.fix == f"write {way}", call


def test_the_ways_of_linear_algebra_are_right():
    rng = np.random.default_rng(0)
    a = np.where(rng.random((12, 12)) < 0.3, rng.standard_normal((12, 12)), 0)
    a = a + a.T + 9 * np.eye(12)
    A, b, k = st.from_dense(a, "CSR"), rng.standard_normal(12), 3
    close = lambda got, want: np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    close(st.solve(A, b), np.linalg.solve(a, b))
    close(st.lu(A).solve(np.eye(12)), np.linalg.inv(a))
    close(st.lu(A).logdet(), np.linalg.slogdet(a))
    close(np.sort(st.eigsh(A, k)[0]), np.linalg.eigvalsh(a)[-k:])
    close(np.sort(st.svds(A, k)[1]), np.linalg.svd(a)[1][:k][::-1])
    close(st.solve(A[:, :5], b, method="qr"), np.linalg.lstsq(a[:, :5], b)[0])
    close(st.svds(A, 1)[1][0], np.linalg.norm(a, 2))
    assert st.equal(A, A.T) and st.equal(A, A.H)
    with pytest.raises(st.Unsupported, match=re.escape("st.svds(A, 1)[1]")):
        np.linalg.norm(A, 2)
    with pytest.raises(st.Unsupported, match=re.escape("st.lu(A)")):
        np.linalg.matrix_power(A, -1)


@pytest.mark.parametrize("name", ["inv", "inverse", "pinv", "pinverse", "det", "logdet", "solve", "lu", "eigh", "svd"])
def test_linear_algebra_as_members(name):
    with pytest.raises(AttributeError, match=r"write st\.(solve|lu|eigsh|svds)"):
        getattr(st.eye(3), name)
