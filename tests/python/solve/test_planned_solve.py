"""st.Solve, the factorization objects, and strata.ust.Solve."""

import numpy as np
import pytest
import scipy.sparse.linalg as linalg
from systems import DTYPES, FORMATS, poisson, system, values

import strata as st
from strata import ust


@pytest.mark.parametrize("format", FORMATS)
def test_plan_factorize_execute_and_again(format):
    a = system("general")
    rng = np.random.default_rng(0)
    b = rng.standard_normal(40)
    with st.Solve(st.from_scipy(a).to(format), b) as s:
        assert s.info is None and s.method is None
        s.plan()
        s.factorize()
        x = s.execute()
        assert np.allclose(a @ x, b) and s.info.converged and s.analyses == 1
        s.reset_operands(b=np.c_[b, 2 * b, -b])
        assert np.allclose(s.execute(), np.c_[x, 2 * x, -x])
        other = a.copy()
        other.data = other.data * rng.uniform(1, 2, other.nnz)
        s.reset_operands(st.from_scipy(other).to(format), b)
        with pytest.raises(st.PlanError, match="factorize"):
            s.execute()
        s.factorize()
        assert np.allclose(other @ s.execute(), b)
        assert s.analyses == 1  # the same places
        sign, log = s.logdet()
        want = np.linalg.slogdet(other.toarray())
        assert np.isclose(sign, want[0]) and np.isclose(log, want[1])
    with pytest.raises(st.PlanError, match="freed"):
        s.execute()
    with pytest.raises(st.PlanError, match="freed"):
        s.plan()


def test_reset_values():
    a = system("positive")
    A = st.from_scipy(a)
    s = st.Solve(A, np.ones(40))
    s.plan()
    s.factorize()
    x = s.execute()
    s.reset_values(2 * A.values)
    s.factorize()
    assert np.allclose(2 * s.execute(), x) and s.analyses == 1 and "Cholesky" in s.method
    # Values that are no longer symmetric take another method; values that are not positive definite too.
    unsymmetric = A.values * np.random.default_rng(0).uniform(1, 1.1, A.nse)
    s.reset_values(unsymmetric)
    s.factorize()
    assert "LU" in s.method and np.allclose(A.with_values(unsymmetric).to_scipy() @ s.execute(), 1)
    s.reset_values(-1.0 * A.values)
    s.factorize()
    assert np.allclose(s.execute(), -x)
    dense = st.Solve(a.toarray(), np.ones(40))
    dense.plan()
    dense.reset_values(2 * a.toarray())
    dense.factorize()
    assert np.allclose(dense.execute() * 2, x)
    with pytest.raises(st.TensorError):
        s.reset_values(np.ones(3))
    with pytest.raises(st.TensorError):
        dense.reset_values(np.ones(3))


def test_other_places_are_looked_at_anew():
    s = st.Solve(st.from_scipy(system("general")), np.ones(40))
    s.plan()
    s.factorize()
    for k, kind in enumerate(("tridiagonal", "lower", "positive", "general")):
        a = system(kind, seed=1)
        s.reset_operands(st.from_scipy(a))
        s.factorize()
        assert np.allclose(a @ s.execute(), 1) and s.analyses == k + 2


def test_after_a_failure_it_goes_on():
    a = system("general")
    A = st.from_scipy(a)
    s = st.Solve(A, np.ones(40))
    s.plan()
    for _ in range(2):
        s.reset_values(np.zeros(A.nse))
        with pytest.raises(st.SingularError):
            s.factorize()
        with pytest.raises(st.PlanError, match="factorize"):
            s.execute()
        s.reset_values(A.values)
        s.factorize()
        assert np.allclose(a @ s.execute(), 1)


def test_calls_in_a_wrong_order():
    s = st.Solve(st.eye(3))
    with pytest.raises(st.PlanError, match="plan"):
        s.factorize()
    with pytest.raises(st.PlanError, match="plan"):
        s.execute()
    with pytest.raises(st.PlanError, match="plan"):
        s.logdet()
    s.plan()
    with pytest.raises(st.PlanError, match="right-hand side"):
        s.execute()
    s.reset_operands(b=np.ones(3))
    with pytest.raises(st.PlanError, match="factorize"):
        s.execute()
    with pytest.raises(st.PlanError, match="shape"):
        s.reset_operands(a=st.eye(4))


@pytest.mark.parametrize("turn", [{}, {"transpose": True}, {"adjoint": True}])
def test_turned(turn):
    a = system("general", "complex128")
    b = values(np.random.default_rng(0), 40, "complex128")
    s = st.Solve(st.from_scipy(a), b, method="lu", **turn)
    s.plan()
    s.factorize()
    matrix = a.T if "transpose" in turn else a.T.conj() if turn else a
    assert np.allclose(matrix @ s.execute(), b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dense", [False, True])
def test_factors(dtype, dense):
    tolerance = dict(atol=1e-3) if dtype in ("float32", "complex64") else dict(atol=1e-10)
    a = system("general", dtype).astype(dtype)
    A = a.toarray() if dense else st.from_scipy(a)
    full = a.toarray()
    f = st.lu(A)
    assert f.shape == (40, 40) and f.dtype == dtype and "LU" in repr(f)
    L, U = (np.asarray(t.to_dense()) for t in (f.L, f.U))
    assert np.allclose(L, np.tril(L)) and np.allclose(L.diagonal(), 1) and np.allclose(U, np.triu(U))
    assert np.allclose(full[f.rows][:, f.columns], L @ U, **tolerance)
    sign, log = f.logdet()
    want = np.linalg.slogdet(full.astype("complex128"))
    assert np.isclose(sign, want[0], rtol=1e-4) and np.isclose(log, want[1], rtol=1e-5)
    assert dense or f.L.format == st.Format("CSC")
    with pytest.raises(AttributeError, match="it has L, U"):
        f.R

    p = system("positive", dtype)
    P = p.toarray() if dense else st.from_scipy(p)
    f = st.cholesky(P)
    L = np.asarray(f.L.to_dense())
    assert np.allclose(L, np.tril(L)) and (L.diagonal().real > 0).all()
    assert np.allclose(p.toarray()[f.rows][:, f.rows], L @ L.conj().T, **tolerance)
    assert np.isclose(f.logdet()[1], np.linalg.slogdet(p.toarray())[1], rtol=1e-5) and np.isclose(f.logdet()[0], 1)
    assert np.allclose(f.solve(np.ones(40)), np.linalg.solve(p.toarray(), np.ones(40)), **tolerance)

    tall = full[:, :25]
    f = st.qr(tall if dense else st.from_dense(tall, "CSR"))
    R = np.asarray(f.R.to_dense())
    assert np.allclose(R, np.triu(R))
    ordered = tall[:, f.columns]
    assert np.allclose(R.conj().T @ R, ordered.conj().T @ ordered, **{k: 10 * v for k, v in tolerance.items()})
    with pytest.raises(st.Unsupported, match="determinant"):
        f.logdet()


@pytest.mark.parametrize("kind", ["diagonal", "lower", "upper", "tridiagonal", "banded", "indefinite", "saddle"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants(kind, dtype):
    a = system(kind, dtype)
    s = st.Solve(st.from_scipy(a))
    s.plan()
    s.factorize()
    want = np.linalg.slogdet(a.toarray())
    got = s.logdet()
    assert np.isclose(got[0], want[0]) and np.isclose(got[1], want[1])


def test_factorization_object_with_other_values():
    a = system("general")
    f = st.lu(st.from_scipy(a))
    x, info = f.solve(np.ones(40), info=True)
    assert info.converged and np.allclose(a @ x, 1)
    assert np.allclose(a.T @ f.solve(np.ones(40), transpose=True), 1)
    f.reset_values(st.from_scipy(3 * a))
    assert np.allclose(3 * a @ f.solve(np.ones(40)), 1)
    assert np.allclose((f.L @ f.U).to_dense(), 3 * a.toarray()[f.rows][:, f.columns])
    assert st.lu(st.from_scipy(a), dtype="float32").solve(np.ones(40)).dtype == "float32"
    assert st.lu(st.from_scipy(a), dtype="complex64").dtype == "complex64"


@pytest.mark.parametrize("dtype, wide", [("float32", "float64"), ("complex64", "complex128")])
@pytest.mark.parametrize("make", [st.lu, st.cholesky, st.qr])
@pytest.mark.parametrize("format", ["CSC", "dense"])
def test_single_precision_is_rounded_once(dtype, wide, make, format):
    a = system("general", dtype).astype(dtype)
    if make is st.cholesky:
        a = (a.conj().T @ a).astype(dtype)
    b = values(np.random.default_rng(1), (40, 2), dtype)
    exact = np.linalg.solve(a.toarray().astype(wide), b.astype(wide))
    x = make(st.from_scipy(a).to(format)).solve(b)
    assert x.dtype == dtype
    assert np.abs(x - exact).max() <= np.finfo(np.float32).eps * np.abs(exact).max()


def test_a_real_factorization_solves_complex_right_hand_sides():
    a = system("general")
    b = values(np.random.default_rng(0), (40, 5), "complex128")
    x = st.lu(st.from_scipy(a)).solve(b)
    assert x.dtype == "complex128" and np.allclose(a @ x, b)
    assert np.allclose(a.T @ st.lu(st.from_scipy(a)).solve(b[:, 0], adjoint=True), b[:, 0])


def test_beside_splu():
    a = poisson(30, 31)
    b = np.random.default_rng(0).standard_normal((930, 4))
    s = st.Solve(st.from_scipy(a).to("DIA"), b)
    assert s.plan() == "cholesky"
    s.factorize()
    assert np.allclose(s.execute(), linalg.splu(a.tocsc()).solve(b), rtol=1e-10)
    assert "elements in L" in s.method and "DIA" in s.method


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_lu_by_supernodes(dtype):
    """One right-hand side goes through loops of our own, several through Eigen's."""
    a = poisson(64, 65, dtype)
    a.data = a.data * np.random.default_rng(0).uniform(0.9, 1.1, a.nnz).astype(dtype)
    if dtype == "complex64":
        a.data = a.data * np.exp(0.1j * np.random.default_rng(1).random(a.nnz)).astype(dtype)
    f = st.lu(st.from_scipy(a))
    lu = linalg.splu(a.tocsc().astype("complex128" if dtype == "complex64" else dtype))
    for k in (1, 3, 4, 9):
        b = values(np.random.default_rng(k), (a.shape[0], k), dtype)
        for how, trans in (({}, "N"), ({"transpose": True}, "T"), ({"adjoint": True}, "H")):
            want = lu.solve(b.astype(lu.L.dtype), trans)
            got = f.solve(b, **how)
            assert np.linalg.norm(got - want) <= (1e-3 if dtype == "complex64" else 1e-10) * np.linalg.norm(want)


def test_info():
    info = st.solve(st.eye(3), np.ones(3), info=True)[1]
    assert info == 0 and info.converged and "|b - A x| / |b| = 0" in repr(info)
    import pickle

    assert repr(pickle.loads(pickle.dumps(info))) == repr(info)


def test_several_threads():
    import threading

    a = system("general", n=40)
    f = st.lu(st.from_scipy(a))
    rng = np.random.default_rng(0)
    sides = rng.standard_normal((8, 40))
    found = [None] * 8

    faults = []

    def work(k):
        try:
            for _ in range(50):
                found[k] = f.solve(sides[k])
        except st.Error as e:
            faults.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    while any(t.is_alive() for t in threads):
        f.reset_values(st.from_scipy(a))
    [t.join() for t in threads]
    assert faults == []
    assert np.allclose(a @ np.array(found).T, sides.T)


def test_blog_manner():
    a = system("positive")
    U = ust.Tensor.from_package(a)
    b = np.ones(40)
    assert np.allclose(a @ ust.solve(U, b), b)
    with ust.Solve(U, b) as s:
        s.plan()
        s.factorize()
        x = s.solve()
        assert np.allclose(a @ x, b) and (s.execute() == x).all()
        s.reset_operands(b=2 * b)
        assert np.allclose(s.solve(), 2 * x)
    assert np.allclose(ust.solve(U, b, options={"assume": "pos"}), x)
    dia = U.convert(tensor_format=ust.NamedFormats.DIAI)
    assert np.allclose(ust.solve(dia, b), x)


FORMATS_OF_THE_BLOG = ["COO", "CSR", "CSC", "DCSR", "DCSC", "DIAI", "DIAJ", "ELL", "BSRRight", "BSCLeft", "DELTA"]


@pytest.mark.parametrize("name", FORMATS_OF_THE_BLOG)
def test_blog_manner_in_every_format(name):
    """One call, whatever the storage: what inspects the operand finds the way."""
    named = getattr(ust.NamedFormats, name)
    format = named((2, 4)) if name.startswith("B") else named(4) if name == "DELTA" else named
    for kind in ("general", "positive", "tridiagonal"):
        a = system(kind)
        A = ust.Tensor.from_package(a).convert(tensor_format=format)
        b = np.random.default_rng(0).standard_normal((40, 2))
        want = np.linalg.solve(a.toarray(), b)
        assert np.allclose(ust.solve(A, b), want)
        with ust.Solve(A, b) as s:
            s.plan()
            s.factorize()
            assert np.allclose(s.solve(), want)
            s.reset_operands(b=b[:, 0])
            assert np.allclose(s.solve(), want[:, 0])
    with pytest.raises(st.SingularError):
        ust.solve(ust.Tensor.from_package(0 * a).convert(tensor_format=format), b)


def test_a_large_one_is_interrupted():
    """Ctrl-C ends the wait for a factorization, and the object is as before."""
    import subprocess
    import sys

    code = """
import os, signal, threading, time
import numpy as np, scipy.sparse as sp
import strata as st
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
a = sp.csr_array(sp.random_array((2500, 2500), density=0.004, rng=rng) + 5 * sp.eye_array(2500))
A = st.from_scipy(a)
s = st.Solve(A, np.ones(2500))
s.plan()
when = []
def interrupt():
    time.sleep(0.2)
    when.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    s.factorize()
    print("too fast")
except KeyboardInterrupt:
    print("late" if time.monotonic() - when[0] > 0.5 else "in time")
try:
    s.execute()
except st.PlanError:
    print("not factorized")
assert np.allclose(2 * st.solve(2 * st.eye(3), np.ones(3)), 1)
os._exit(0)
"""
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr
    assert p.stdout == "in time\nnot factorized\n"
