"""SDDMM with long rows: the sum goes panel by panel. Against NumPy, on matrices whose dense operands no second level holds."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

SDDMM = "C(i,j) = A(i,j) * U(i,k) * V(j,k)"


def problem(dtype, k, m=300, n=2000, per_row=300, seed=0):
    """40 bytes of V a place and more: 2.4 MB and more. Each row of A chooses from everywhere, enough to pay."""
    rng = np.random.default_rng(seed)
    a = sp.random(m, n, per_row / n, "csr", np.float64, rng=rng)
    draw = lambda *shape: rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)  # noqa: E731
    return a.astype(dtype), draw(m, k).astype(dtype), draw(n, k).astype(dtype)


def wanted(a, U, V):
    """Row by row: all chosen rows of V at once would be gigabytes."""
    wide = np.promote_types(a.dtype, np.float64)
    U, V = U.astype(wide), V.astype(wide)
    rows = [V[a.indices[begin:end]] @ u for u, begin, end in zip(U, a.indptr, a.indptr[1:])]
    coo = a.tocoo()
    return coo.data * np.concatenate(rows), coo.row, coo.col


def check(C, want, tolerance):
    values, row, col = want
    got = C.to_scipy().tocsr()
    got.sort_indices()
    order = np.lexsort((col, row))
    assert np.array_equal(got.indices, col[order])
    assert np.abs(got.data - values[order]).max() < tolerance * np.abs(values).max()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("k", [300, 320, 513, 1040])
def test_against_numpy(dtype, k):
    a, U, V = problem(dtype, k)
    want, tolerance = wanted(a, U, V), 1e-5 if dtype in ("float32", "complex64") else 1e-13
    for format in ("CSR", "DCSR"):
        check(st.evaluate(SDDMM, A=st.from_scipy(a).to(format), U=U, V=V), want, tolerance)
    big = np.zeros((len(V), k + 7), dtype)  # rows that are not all of their memory
    big[:, 3 : k + 3] = V
    check(st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=big[:, 3 : k + 3]), want, tolerance)
    check(st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=np.asfortranarray(V)), want, tolerance)
    conjugated = st.evaluate("C(i,j) = A(i,j) * U(i,k) * conj(V(j,k))", A=st.from_scipy(a), U=U, V=V)
    check(conjugated, wanted(a, U, V.conj()), tolerance)


def test_panels_are_told():
    a, U, V = problem("float32", 1040, m=100, per_row=420)  # B fits any second level, C none
    plan = st.plan("ij,ik,jk->ij", st.from_scipy(a), U, V)
    assert "panels" in plan.explain() and "of 1040 summed at a time, C packed" in plan.explain()
    short = st.plan("ij,ik,jk->ij", st.from_scipy(a), U[:, :8].copy(), V[:, :8].copy())
    assert "panels" not in short.explain()


def test_adds_to_what_is_there():
    a, U, V = problem("float64", 300)
    A = st.from_scipy(a)
    plan = st.plan("ij,ik,jk->ij", A, U, V)
    out = plan.run(A, U, V)
    first = np.array(out.values)
    plan.run(A, U, V, out=out, alpha=2, beta=3)
    assert np.allclose(out.values, 5 * first, rtol=1e-12)


def test_few_rows_and_rows_of_a_mesh():
    """Where little is stored, or what is chosen stays in the caches anyway, rows are read where they lie."""
    a, U, V = problem("float32", 320, per_row=3)
    check(st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=V), wanted(a, U, V), 1e-5)
    rng = np.random.default_rng(1)
    band = sp.diags(
        [rng.standard_normal(2000).astype("float32") for _ in range(41)], range(-20, 21), (2000, 2000), "csr", "float32"
    )
    U = rng.standard_normal((2000, 320), np.float32)
    check(st.evaluate(SDDMM, A=st.from_scipy(band), U=U, V=V), wanted(band, U, V), 1e-5)


def test_three_indices_and_factors_beside_the_sum():
    rng = np.random.default_rng(2)
    crd = np.unique(rng.integers(0, (20, 4, 2000), (120_000, 3)), axis=0).T
    T = st.Tensor(
        "COO(3)",
        (20, 4, 2000),
        pos={0: [0, crd.shape[1]]},
        crd={l: c.astype(np.int32).copy() for l, c in enumerate(crd)},
        values=rng.standard_normal(crd.shape[1]),
    )
    E, R, F = (rng.standard_normal((n, 320)) for n in (20, 4, 2000))
    p = rng.standard_normal(2000)
    h, r, t = crd
    want = np.asarray(T.values) * np.einsum("nk,nk,nk->n", E[h], R[r], F[t]) * p[t]
    for format in ("CSF(3)", "COO(3)"):
        S = st.evaluate("S(h,r,t) = T(h,r,t) * E(h,k) * R(r,k) * F(t,k) * p(t)", T=T.to(format), E=E, R=R, F=F, p=p)
        assert np.allclose(np.asarray(S.values), want)


def test_same_bits_from_every_engine(monkeypatch):
    a, U, V = problem("float32", 300)
    results = []
    for engine in ("jit", "interpreter"):
        monkeypatch.setattr(st.settings, "engine", engine)
        for threads in (1, 2, 7):
            monkeypatch.setattr(st.settings, "threads", threads)
            results.append(np.asarray(st.evaluate(SDDMM, A=st.from_scipy(a), U=U, V=V).values).tobytes())
    assert all(r == results[0] for r in results)
