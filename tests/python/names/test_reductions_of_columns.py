"""any, all, max and min down the columns of row-wise formats: what is absent counts once, and nothing is converted."""

import numpy as np
import pytest

import strata as st


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "(i, j) -> (i : dense, j : bitmap)"])
@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("name", ["any", "all", "max", "min", "sum"])
def test_against_numpy(format, dtype, name):
    rng = np.random.default_rng(3)
    for shape, density in (((6, 9), 0.6), ((1, 5), 0.5), ((300, 70), 0.02), ((40, 300), 0.9)):
        d = np.where(rng.random(shape) < density, rng.integers(1, 9, shape) * rng.choice([-1, 1], shape), 0).astype(
            dtype
        )
        d[:, 0] = 1  # a column without absent elements
        A = st.from_dense(d, format)
        for axis in (0, 1, None):
            want = getattr(d, name)(axis=axis)
            got = getattr(A, name)(axis=axis)
            assert np.array_equal(got, want) and np.asarray(got).dtype == want.dtype


def test_stored_zeros_nans_and_fills():
    d = np.array([[0, np.nan, 0, -1.0], [0, 1, 0, -2]])
    A = st.from_coo(np.array([[0, 0, 0, 1, 1], [0, 1, 3, 1, 3]]), np.array([0, np.nan, -1, 1, -2]), (2, 4), "CSR")
    for name in ("any", "all", "max", "min"):
        assert np.array_equal(getattr(A, name)(axis=0), getattr(d, name)(axis=0), equal_nan=True), name
    B = st.from_dense(np.where(d != d, 0, d) + 3, "CSR", fill=3)
    for name in ("any", "all", "max", "min"):
        assert np.array_equal(getattr(B, name)(axis=0), getattr(B.to_dense(), name)(axis=0)), name


def test_nothing_is_converted():
    text = st.explain("y(j) = any(i, A(i,j))", A=st.from_dense(np.ones((300, 200)), "CSR"))
    assert "first A to" not in text
