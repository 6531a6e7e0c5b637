"""SDDMM where neighbouring rows have the same coordinates: four are computed at a time. Against NumPy, and bit by bit against rows one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

SDDMM = "C(i,j) = A(i,j) * U(i,k) * V(j,k)"


def blocks(height, dtype="float32", bands=20, columns=150, seed=0):
    """Rows come in blocks of this height, each of 16 to some 70 coordinates; behind every fifth block stands an empty row, and one that is alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for band in range(bands):
        chosen = np.sort(rng.choice(columns, rng.integers(16, 70), replace=False))
        rows += [chosen] * height
        if band % 5 == 4:
            rows += [chosen[:0], np.sort(rng.choice(columns, len(chosen), replace=False))]
    pos = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    crd = np.concatenate(rows)
    return sp.csr_matrix((rng.standard_normal(len(crd)).astype(dtype), crd, pos), (len(rows), columns))


def problem(height, k, dtype="float32"):
    a, rng = blocks(height, dtype), np.random.default_rng(1)
    return a, rng.standard_normal((a.shape[0], k)).astype(dtype), rng.standard_normal((a.shape[1], k)).astype(dtype)


def one_by_one(a, U, V):
    """The same rows with others between them, so that no two neighbours are alike; the values of a's own rows."""
    rng = np.random.default_rng(2)
    m, n = a.shape
    other = sp.random(m, n, 0.1, "csr", a.dtype, rng=rng)
    mixed = sp.vstack([sp.vstack([a[i], other[i]]) for i in range(m)]).tocsr()
    mixed.sort_indices()
    C = st.evaluate(SDDMM, A=st.from_scipy(mixed), U=np.repeat(U, 2, axis=0), V=V)
    starts = mixed.indptr
    return np.concatenate([C.values[starts[2 * i] : starts[2 * i + 1]] for i in range(m)])


def wanted(a, U, V):
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return a.data * np.einsum("pk,pk->p", U[rows].astype("float64"), V[a.indices].astype("float64"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 7, 16])
def test_against_numpy(height, dtype, engine):
    for k in (16, 32, 48, 64, 128):
        a, U, V = problem(height, k, dtype)
        C = st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=V)
        want = wanted(a, U, V)
        assert np.abs(C.values - want).max() < (1e-5 if dtype == "float32" else 1e-13) * np.abs(want).max()
        if engine == "auto":
            assert np.array_equal(C.values, one_by_one(a, U, V))


def test_wide_indices_factors_of_rows_and_what_is_there():
    a, U, V = problem(8, 64, "float64")
    want = wanted(a, U, V)
    wide = st.Tensor(
        "CSR", a.shape, pos={1: a.indptr.astype("int64")}, crd={1: a.indices.astype("int64")}, values=a.data
    )
    assert np.allclose(st.evaluate(SDDMM, A=wide, U=U, V=V).values, want, rtol=1e-12)
    across = st.evaluate(SDDMM, A=wide, U=np.asfortranarray(U), V=np.asfortranarray(V))  # packed first
    assert np.allclose(across.values, want, rtol=1e-12)
    A = st.from_scipy(a)
    plan = st.plan("ij,ik,jk->ij", A, U, V)
    assert "rows with the same coordinates are computed four at a time" in plan.explain()
    out = plan.run(A, U, V)
    plan.run(A, U, V, out=out, alpha=2, beta=3)
    assert np.allclose(out.values, 5 * want, rtol=1e-12)
    w = np.random.default_rng(3).standard_normal(64)
    weighted = st.evaluate("C(i,j) = A(i,j) * U(i,k) * w(k) * V(j,k)", A=A, U=U, w=w, V=V)
    assert np.allclose(weighted.values, wanted(a, U * w, V), rtol=1e-11)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_decide_nothing(threads, settings):
    a, rng = blocks(16, bands=200, columns=400), np.random.default_rng(4)
    U, V = rng.standard_normal((a.shape[0], 64)).astype("float32"), rng.standard_normal((400, 64)).astype("float32")
    settings.threads = threads
    C = st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=V)
    assert np.array_equal(C.values, one_by_one(a, U, V))
