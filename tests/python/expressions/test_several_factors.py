"""A sparse tensor times several dense factors: one nest where pairs would not take half of the work. Lists of
coordinates are walked element by element where runs of equal ones are short. Compared with NumPy."""

import numpy as np
import pytest

import strata as st

FORMATS = ["COO", "CSF", "(i, j, k) -> (i : dense, j : compressed, k : compressed)"]
TEXTS = [
    "Y(i,r) = abs(T(i,j,k)) * B(j,r) * C(k,r)",
    "Y(j,r) = abs(T(i,j,k)) * A(i,r) * C(k,r)",
    "Y(k,r) = abs(T(i,j,k)) * A(i,r) * B(j,r)",
    "y(i) = abs(T(i,j,k)) * b(j) * c(k)",
    "y(k) = abs(T(i,j,k)) * b(j) * a(i)",
    "y() = abs(T(i,j,k)) * b(j) * c(k) * a(i)",
    "Y(i,k) = abs(T(i,j,k)) * b(j)",
    "Y(i,j,r) = abs(T(i,j,k)) * C(k,r)",
]


@pytest.mark.parametrize("density", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_against_einsum(fmt, dtype, density, engine):
    rng = np.random.default_rng(44)
    shape, width = (9, 11, 37), 17
    T = np.where(rng.random(shape) < density, rng.integers(-4, 5, shape), 0).astype(dtype)
    t = st.from_dense(T, fmt)
    factors = {n: rng.integers(-4, 5, (m, width)).astype(dtype) for n, m in zip("ABC", shape)}
    factors |= {n.lower(): np.ascontiguousarray(x[:, 0]) for n, x in factors.items()}
    for text in TEXTS:
        named = {n: x for n, x in factors.items() if f"{n}(" in text.split("=")[1].replace("abs(", "")}
        result, _, product = text.partition(" = ")
        indices = ["ijk"] + [text.split(f" {n}(")[1].split(")")[0].replace(",", "") for n in named]
        target = result[2:-1].replace(",", "")
        want = np.einsum(",".join(indices) + "->" + target, np.abs(T), *named.values())
        got = st.evaluate(text, dict(T=t, **named), format="dense")
        np.testing.assert_array_equal(np.asarray(got), want, err_msg=text)


@pytest.mark.parametrize("fmt", ["CSR", "CSC", "COO", "BSR(4, 4)", "(i, j) -> (i : dense, j : bitmap)"])
def test_long_sums_in_memory_keep_digits(fmt):
    """A few columns that are full: what meets there in memory is added in float64."""
    rng = np.random.default_rng(45)
    n = 40_000
    A = np.zeros((n, 64), "float32")
    A[:, 3], A[:, 60] = rng.random(n), rng.random(n)
    A[rng.integers(0, n, 2000), rng.integers(0, 64, 2000)] = 1
    x, X = rng.random(n).astype("float32"), rng.random((n, 8)).astype("float32")
    a = st.from_dense(A, fmt)
    exact = A.astype(float).T
    for text, given, want in (("y(j) = abs(A(i,j)) * x(i)", dict(x=x), exact @ x.astype(float)),
                              ("Y(j,k) = abs(A(i,j)) * X(i,k)", dict(X=X), exact @ X.astype(float))):  # fmt: skip
        got = np.asarray(st.evaluate(text, A=a, **given))
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=3e-7, err_msg=text)
    few = st.from_dense(A[:500], fmt)  # as f32 has them
    got = np.asarray(st.evaluate("y(j) = abs(A(i,j)) * x(i)", A=few, x=x[:500]))
    np.testing.assert_allclose(got, exact[:, :500] @ x[:500].astype(float), rtol=1e-5)
