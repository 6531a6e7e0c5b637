"""SciPy's arrays beside tensors in every operator, and tensors in scipy.sparse.linalg."""

import operator
import re

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import strata as st

FORMATS = "CSR CSC COO BSR(2,2) DIA DCSR ELL delta(4) bitmap".split() + ["BSR(4, 4) + COO"]
KINDS = "csr csc coo bsr dia lil dok".split()
ELEMENTS = "add sub mul truediv floordiv mod lt le gt ge eq ne".split()


def numbers(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


def array(seed, shape=(6, 6)):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 5, shape) * (rng.random(shape) < 0.6).astype(float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.filterwarnings("ignore::strata.CopyWarning")
def test_elements(name, kind):
    a, b = array(1), array(2)
    f = getattr(operator, name)
    with np.errstate(all="ignore"):
        wants = f(a, b), f(b, a)
    for format in FORMATS:
        A = st.from_dense(a, format)
        for s in (getattr(sp, kind + "_array")(b), getattr(sp, kind + "_matrix")(b)):
            if name == "mul" and sp.isspmatrix(s):
                continue  # a product of matrices, to SciPy
            for got, want, absent in zip((f(A, s), f(s, A)), wants, (a, b)):
                assert isinstance(got, st.Tensor)
                if name in ("truediv", "floordiv", "mod"):  # 0 / 0 is nan in NumPy
                    want = np.where(absent == 0, numbers(got), want)
                np.testing.assert_array_equal(numbers(got), want, err_msg=f"{format} {kind}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::strata.CopyWarning")
def test_products(kind):
    a, b = array(3), array(4)
    for format in FORMATS:
        A = st.from_dense(a, format)
        for s in (getattr(sp, kind + "_array")(b), getattr(sp, kind + "_matrix")(b)):
            np.testing.assert_allclose(numbers(A @ s), a @ b)
            np.testing.assert_allclose(numbers(s @ A), b @ a)
    s = sp.csr_array(b)
    s += A
    np.testing.assert_allclose(numbers(s), a + b)


def test_ufuncs_take_both():
    a, b = array(5), array(6)
    A, s = st.from_dense(a, "CSR"), sp.csr_array(b)
    np.testing.assert_array_equal(np.maximum(A, s).to_dense(), np.maximum(a, b))
    np.testing.assert_array_equal(np.multiply(s, A).to_dense(), a * b)
    np.testing.assert_array_equal(numbers(np.matmul(s, A)), b @ a)


def spd(n=60):
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    return a, np.random.default_rng(7).random(n)


@pytest.mark.parametrize("format", [*FORMATS, "dense"])
def test_linear_operator(format):
    rng = np.random.default_rng(8)
    for a in (array(9, (5, 7)), array(9, (5, 7)) * (1 + 2j) + array(10, (5, 7)) * 1j):
        A = st.from_dense(a, format)
        x, y, X, Y = rng.random(7), rng.random(5) + 1j, rng.random((7, 3)), rng.random((5, 2)) * 1j
        np.testing.assert_allclose(A.matvec(x), a @ x)
        np.testing.assert_allclose(A.matvec(x[:, None]), a @ x[:, None])
        np.testing.assert_allclose(A.rmatvec(y), a.conj().T @ y)
        np.testing.assert_allclose(A.matmat(X), a @ X)
        np.testing.assert_allclose(A.rmatmat(Y), a.conj().T @ Y)
        np.testing.assert_allclose(numbers(A.H), a.conj().T)
        op = sla.aslinearoperator(A)
        assert op.shape == a.shape and op.dtype == a.dtype
        np.testing.assert_allclose(op @ X, a @ X)
        np.testing.assert_allclose(op.H @ y, a.conj().T @ y)
        np.testing.assert_allclose(op.T @ y, a.T @ y)


@pytest.mark.parametrize(
    "format", ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "BSR(4, 4) + COO"]
)
def test_solvers(format):
    a, b = spd()
    A = st.from_scipy(a).to(format)
    want = np.linalg.solve(a.toarray(), b)
    for solver in (sla.cg, sla.gmres, sla.bicgstab, sla.minres):
        x, info = solver(A, b, rtol=1e-10)
        assert info == 0
        np.testing.assert_allclose(x, want, rtol=1e-6)
    values = np.sort(sla.eigsh(A, k=3, return_eigenvectors=False))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a.toarray())[-3:], rtol=1e-8)
    found = np.sort(sla.svds(A, k=3, return_singular_vectors=False))
    np.testing.assert_allclose(found, np.sort(np.linalg.svd(a.toarray(), compute_uv=False))[-3:], rtol=1e-6)
    np.testing.assert_allclose(sla.lsqr(A, b, atol=1e-12, btol=1e-12)[0], want, rtol=1e-5)


def test_a_preconditioner_may_be_a_tensor():
    a, b = spd()
    M = st.from_scipy(sp.diags_array(1 / a.diagonal()).tocsr())
    x, info = sla.cg(st.from_scipy(a), b, M=M, rtol=1e-10)
    assert info == 0 and np.allclose(a @ x, b)


def test_refusals_name_the_call_that_works():
    t = st.from_dense(np.eye(3), "CSR")

    def said(error):
        text = str(error)
        while error.__cause__ is not None:
            error = error.__cause__
            text += str(error)
        return text

    for call in (
        sp.csr_array,
        sp.coo_array,
        sp.csc_matrix,
        lambda x: sp.vstack([x, x]),
        lambda x: sp.hstack([x, sp.eye_array(3)]),
        lambda x: sp.block_array([[x, None], [None, x]]),
        lambda x: sp.kron(x, x),
        lambda x: sp.csr_array(np.eye(3)).maximum(x),
        lambda x: sp.csr_array(np.eye(3)).multiply(x),
        lambda x: sla.spsolve(x, np.ones(3)),
        lambda x: sp.csgraph.connected_components(x),
    ):
        with pytest.raises((st.DTypeError, ValueError, TypeError)) as e:
            call(t)
        assert re.search(r"to_scipy\(\)|write st\.\w+", said(e.value)), said(e.value)
        assert "to_dense" not in said(e.value)
    assert sp.vstack([t.to_scipy(), t.to_scipy()]).shape == (6, 3)
    with pytest.raises(st.DTypeError, match="to_dense"):
        np.asarray(t)
