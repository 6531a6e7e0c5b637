"""Calls share the loops that were made for the operands before: those of other operands are other loops."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

TEXT = "C(i,j) = relu(A(i,j) * X(i,k) * Y(j,k))"


def matrices(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((30, 40)) * (rng.random((30, 40)) < 0.05 * (1 + seed))
    return a, rng.standard_normal((30, 24)), rng.standard_normal((40, 24))


def expected(a, x, y):
    return np.maximum(a[..., None] * x[:, None] * y[None], 0).sum(-1)


def test_other_memory_and_other_rows():
    a, x, y = matrices(0)
    plan = st.plan(TEXT, A=st.from_dense(a, "CSR"), X=x, Y=y)
    for seed in (0, 3, 0, 9, 1):
        a, x, y = matrices(seed)
        A = st.from_dense(a, "CSR")
        np.testing.assert_allclose(plan.run(A, x, y).to_dense(), expected(a, x, y), atol=1e-12)
        for given in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x):
            ours = st.evaluate(TEXT, A=A, X=given, Y=y).to_dense()
            np.testing.assert_allclose(ours, expected(a, x, y), atol=1e-12)


def test_other_engines(monkeypatch):
    a, x, y = matrices(2)
    A = st.from_dense(a, "CSR")
    plan = st.plan(TEXT, A=A, X=x, Y=y)
    for engine in ("auto", "interpreter", "jit", "auto"):
        monkeypatch.setattr(st.settings, "engine", engine)
        np.testing.assert_allclose(plan.run(A, x, y).to_dense(), expected(a, x, y), atol=1e-12)


def test_between_numeric_phases():
    a, b = (st.from_scipy(sp.random(40, 40, 0.1, format="csr", random_state=s)) for s in (1, 2))
    plan = st.plan("C(i,k) = A(i,j) * B(j,k)", A=a, B=b)
    whole = (a.to_scipy() @ b.to_scipy()).toarray()
    result = plan.run(a, b)
    for _ in range(3):
        np.testing.assert_allclose(plan.run(a, b).to_dense(), whole, atol=1e-12)
        result = plan.run(a, b, reuse=result)
        np.testing.assert_allclose(result.to_dense(), whole, atol=1e-12)


@pytest.mark.parametrize("text", [TEXT, "C(i,j) = relu(A(i,j)) * 2 + A(i,j)"])
def test_threads_with_matrices_of_their_own(text):
    wrong = []

    def run(seed):
        a, x, y = matrices(seed)
        named = {"A": st.from_dense(a, "CSR")} | ({"X": x, "Y": y} if "X" in text else {})
        theirs = expected(a, x, y) if "X" in text else np.maximum(a, 0) * 2 + a
        for _ in range(200):
            if not np.allclose(st.evaluate(text, **named).to_dense(), theirs):
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in (0, 2, 5, 9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
