"""SDDMM: the sums of several slots are reduced together; the same numbers as NumPy's, from every engine and compiler."""

import numpy as np
import pytest

import strata as st


def problem(dtype, k, longest=11, seed=0):
    rng = np.random.default_rng(seed)
    m, n = 40, 50
    A = np.zeros((m, n), dtype)
    for i in range(m):  # rows of every length
        A[i, rng.choice(n, i % (longest + 1), replace=False)] = rng.integers(1, 5, i % (longest + 1))
    draw = lambda *shape: rng.integers(-3, 4, shape).astype(dtype)
    return A, draw(m, k), draw(n, k)


@pytest.mark.parametrize("jit", ["clang", "subprocess", "interpreter"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
def test_against_numpy(dtype, jit, monkeypatch):
    if jit == "interpreter":
        monkeypatch.setattr(st.settings, "engine", "interpreter")
    else:
        monkeypatch.setattr(st.settings, "jit", jit)
    for k in (4, 8, 16, 24, 32, 64, 128, 5):
        A, U, V = problem(dtype, k, seed=k)
        wide = "complex128" if dtype == "complex64" else "float64"
        want = A * (U.astype(wide) @ V.astype(wide).T)
        for format in ("CSR", "DCSR", "CSC", "COO"):
            C = st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k)", A=st.from_dense(A, format), U=U, V=V)
            assert np.array_equal(np.asarray(C.to_dense()), want), (k, format)


def test_same_bits_from_every_engine(monkeypatch):
    rng = np.random.default_rng(2)
    A, _, _ = problem("float32", 64)
    U, V = rng.standard_normal((40, 64)).astype("float32"), rng.standard_normal((50, 64)).astype("float32")
    results = []
    for engine in ("jit", "interpreter"):
        monkeypatch.setattr(st.settings, "engine", engine)
        for threads in (1, 2, 7):
            monkeypatch.setattr(st.settings, "threads", threads)
            results.append(
                np.asarray(st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k)", A=st.from_dense(A, "CSR"), U=U, V=V).values)
            )
    assert all(r.tobytes() == results[0].tobytes() for r in results)


def test_factors_beside_the_sum():
    """They would have to be gathered: element by element."""
    A, U, V = problem("float64", 32)
    p, q = np.arange(1.0, 41), np.arange(1.0, 51)
    C = st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k) * p(i) * q(j)", A=st.from_dense(A, "CSR"), U=U, V=V, p=p, q=q)
    assert np.allclose(np.asarray(C.to_dense()), A * (U @ V.T) * p[:, None] * q)
