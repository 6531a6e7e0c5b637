"""Eigenvalues, singular values and the exponential beside dense ones."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg as linalg
from systems import FORMATS, poisson, system

import strata as st


@pytest.mark.parametrize("format", FORMATS)
def test_eigsh(format):
    a = system("indefinite")
    A = st.from_scipy(a).to(format)
    all_values = np.linalg.eigvalsh(a.toarray())
    values, vectors = st.eigsh(A, 3, which="LA")
    assert np.allclose(np.sort(values), all_values[-3:])
    assert np.allclose(a @ vectors, vectors * values, atol=1e-8)
    values, vectors = st.eigsh(A, 4, sigma=0.3)
    nearest = all_values[np.argsort(abs(all_values - 0.3))[:4]]
    assert np.allclose(np.sort(values), np.sort(nearest))


def test_eigsh_of_other_things():
    a = poisson(9, 10)
    want = np.linalg.eigvalsh(a.toarray())
    for operator in (a, a.toarray(), linalg.aslinearoperator(a), a.astype("float32")):
        assert np.allclose(np.sort(st.eigsh(operator, 2, which="LA")[0]), want[-2:], rtol=1e-4)
    assert np.allclose(np.sort(st.eigsh(a, 2, sigma=0)[0]), want[:2])
    values = st.eigsh(a, 2, which="SA", method="lobpcg", M="ic0", tol=1e-8, maxiter=200)[0]
    assert np.allclose(np.sort(values), want[:2])
    values = st.eigsh(
        a, 1, which="LA", method="lobpcg", X=np.random.default_rng(0).random((90, 1)), tol=1e-6, maxiter=500
    )[0]
    assert np.allclose(values, want[-1], rtol=1e-4)
    M = st.preconditioner(a, "ic0")
    again = st.eigsh(a, 2, which="SA", method="lobpcg", M=M, tol=1e-8, maxiter=200)[0]
    assert np.allclose(again, values) or np.allclose(np.sort(again), want[:2])
    hermitian = system("positive", "complex128")
    assert np.allclose(np.sort(st.eigsh(hermitian, 2, which="LA")[0]), np.linalg.eigvalsh(hermitian.toarray())[-2:])
    assert np.allclose(np.sort(st.eigsh(hermitian, 2, sigma=5.0)[0]).real, linalg.eigsh(hermitian, 2, sigma=5.0)[0])
    with pytest.raises(st.TensorError, match="arpack or lobpcg"):
        st.eigsh(a, 2, method="qr")


def test_eigs():
    a = system("general")
    every = np.linalg.eigvals(a.toarray())
    values, vectors = st.eigs(st.from_scipy(a), 3)
    assert np.allclose(a @ vectors, vectors * values, atol=1e-8)
    assert np.isclose(abs(values).max(), abs(every).max())
    for sigma in (2.0, 1 + 2j):
        values = st.eigs(st.from_scipy(a).to("DIA"), 3, sigma=sigma)[0]
        near = np.sort(abs(every - sigma))[:3]
        assert np.allclose(np.sort(abs(values - sigma)), near, atol=1e-8)
    c = system("general", "complex128")
    assert np.isclose(abs(st.eigs(st.from_scipy(c), 2)[0]).max(), abs(np.linalg.eigvals(c.toarray())).max())


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("format", ["CSR", "CSC", "BSR(2, 3)", "dense"])
def test_svds(format, dtype):
    a = system("general", dtype)[:, :31]
    u, s, vt = st.svds(st.from_scipy(sp.csr_array(a)).to(format), 4)
    assert np.allclose(np.sort(s), np.sort(np.linalg.svd(a.toarray(), compute_uv=False))[-4:])
    assert np.allclose(a @ vt.conj().T, u * s, atol=1e-8)


@pytest.mark.parametrize("format", ["CSR", "DIA", "COO"])
def test_expm_multiply(format):
    a = system("general") / 10
    A = st.from_scipy(sp.csr_array(a)).to(format)
    exact = scipy.linalg.expm(a.toarray())
    b = np.random.default_rng(0).standard_normal((40, 3))
    assert np.allclose(st.expm_multiply(A, b), exact @ b)
    assert np.allclose(st.expm_multiply(A, b[:, 0]), exact @ b[:, 0])
    found = st.expm_multiply(A, b[:, 0], 0, 1, 3)
    assert found.shape == (3, 40) and np.allclose(found[2], exact @ b[:, 0])
    c = sp.csr_array(a * 1j)
    assert np.allclose(st.expm_multiply(c, b), scipy.linalg.expm(c.toarray()) @ b)
    assert np.allclose(st.expm_multiply(linalg.aslinearoperator(a), b[:, 0], traceA=a.trace()), exact @ b[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("format", FORMATS)
def test_eigsh_of_what_is_not_hermitian_is_refused(format, dtype):
    """SciPy's gives numbers that are no eigenvalues."""
    a = system("positive", dtype).toarray()
    for wrong in (0, 1e-2, 10.0, 1j):
        if (np.iscomplexobj(wrong) and np.dtype(dtype).kind != "c") or (wrong == 1e-2 and np.finfo(dtype).eps > 1e-10):
            continue
        b = a.copy()
        b[3, 17] += wrong  # and not [17, 3]
        B = st.from_dense(b, "CSR").to(format)
        if wrong:
            for options in ({}, {"sigma": 0.5}, {"method": "lobpcg"}, {"return_eigenvectors": False}):
                with pytest.raises(st.TensorError, match=r"st\.eigs\(A, k\)"):
                    st.eigsh(B, 2, **options)
            with pytest.raises(st.TensorError, match="none"):
                st.eigsh(linalg.aslinearoperator(b), 2)
        else:
            got = np.sort(st.eigsh(B, 2, return_eigenvectors=False))
            want = np.linalg.eigvalsh(a.astype("complex128"))[-2:]
            np.testing.assert_allclose(got, want, rtol=1e-4)
    assert st.eigs(B, 2)[0].shape == (2,)
