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
