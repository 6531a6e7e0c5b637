"""Matrices in several formats beside their dense arrays, for tests of the names that NumPy and SciPy have."""

import numpy as np

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "BSR(2, 2)",
    "DIA",
    "(i, j) -> (i: dense, j: delta(4))",
    "bitmap",
    "DCSR",
    "ELL",
    "BSR(4, 4) + COO",
    "dense",
]


def array(seed=0, shape=(7, 6), dtype=np.float64, density=0.4):
    rng = np.random.default_rng(seed)
    whole = rng.integers(-5, 6, shape) * (rng.random(shape) < density)
    if np.dtype(dtype).kind == "c":
        return (whole + 1j * rng.integers(-2, 3, shape) * (whole != 0)).astype(dtype)
    return (abs(whole) if np.dtype(dtype).kind == "u" else whole).astype(dtype)


def pairs(seed=0, shape=(7, 6), dtype=np.float64, density=0.4):
    """(tensor, array) in every format."""
    a = array(seed, shape, dtype, density)
    return [(st.from_dense(a, f), a) for f in FORMATS]


def filled(seed=0, shape=(7, 6), fill=3.0):
    """The same with a fill of its own."""
    a = array(seed, shape)
    a[a == 0] = fill
    return [(st.from_dense(a, f, fill=fill), a) for f in ("CSR", "CSC", "COO", "bitmap", "DCSR")]


def dense(x):
    return x.to_dense() if isinstance(x, st.Tensor) else x


def same(got, want, rtol=0, dtype=True):
    got, want = np.asarray(dense(got)), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype or not dtype, (got.dtype, want.dtype)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
