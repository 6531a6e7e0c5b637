"""Sums over dense memory that generated code does in vectors: of all extents around a vector's length, by every engine."""

import numpy as np
import pytest

import strata as st

SPECS = {
    "S(i,j) = T(i,j) * E(i,a) * M(a,b) * F(j,b)": "ij,ia,ab,jb->ij",
    "S(i,j) = T(i,j) * (E(i,b) - F(j,b)) * E(i,b)": None,
    "s(i) = T(i,j) * E(i,a) * M(a,b) * F(j,b)": "ij,ia,ab,jb->i",
    "s = T(i,j) * E(i,b) * F(j,b)": "ij,ib,jb->",
    "R(i,j) = E(i,a) * M(a,b) * F(j,b)": "ia,ab,jb->ij",
}


def expected(spec, T, E, M, F):
    if SPECS[spec] is None:
        return np.einsum("ij,ijb,ib->ij", T, E[:, None] - F[None], E)
    given = dict(T=T, E=E, M=M, F=F)
    return np.einsum(SPECS[spec], *(given[c] for c in spec.split("=")[1] if c in "TEMF"))


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32"])
@pytest.mark.parametrize("spec", SPECS)
def test_extents(spec, dtype, engine, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", engine)
    rng = np.random.default_rng(7)
    for n in (1, 3, 7, 8, 15, 16, 17, 31, 33, 64, 127, 130, 200):
        draw = lambda *shape: rng.integers(-2, 3, shape).astype(dtype)
        T = draw(5, 6) * (rng.random((5, 6)) < 0.5).astype(dtype)
        E, M, F = draw(5, n), draw(n, n), draw(6, n)
        if "E(i,a)" in spec and "M(a,b)" in spec and dtype == "float16":
            E, M, F = (np.sign(x).astype(dtype) for x in (E, M, F))  # sums stay exact
        wide = expected(spec, *(x.astype("complex128" if dtype == "complex64" else "float64") for x in (T, E, M, F)))
        got = st._core.evaluate(
            spec, {c: v for c, v in dict(T=st.from_dense(T, "CSR"), E=E, M=M, F=F).items() if f"{c}(" in spec}
        )
        got = np.asarray(got.to_dense() if isinstance(got, st.Tensor) else got)
        assert got.dtype == dtype
        assert np.allclose(got, wide, rtol=1e-3 if dtype == "float16" else 1e-5), f"{n}: {got} instead of {wide}"


def test_infinities_stay_where_they_are():
    n = 40
    E, F = np.ones((3, n), np.float32), np.ones((4, n), np.float32)
    E[1, 17], F[2, 39] = np.inf, np.nan
    T = st.from_dense(np.array([[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]], np.float32), "CSR")
    got = np.asarray(st.evaluate("S(i,j) = T(i,j) * (E(i,b) + F(j,b))", T=T, E=E, F=F).to_dense())
    assert np.array_equal(
        got, np.array([[2 * n, 0, 0, 2 * n], [0, np.inf, np.nan, 0], [2 * n, 0, 0, 0]], np.float32), equal_nan=True
    )
