"""Many columns at once: CSR packs panels of them, and sums stay what they are."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

# Wider than a core's second level, of rows that choose from all over: what is packed.
SIZE, COLUMNS = 5000, 300


def matrix(rng, dtype, per_row=20):
    stored = SIZE * per_row
    a = sp.csr_matrix(
        (rng.standard_normal(stored).astype(dtype), rng.integers(0, SIZE, stored), np.arange(0, stored + 1, per_row)),
        shape=(SIZE, SIZE),
    )
    a.sum_duplicates()
    return a


def operand(rng, dtype, columns, place):
    if place == "rows of a wider array":
        return rng.standard_normal((SIZE, columns + 7)).astype(dtype)[:, 3 : 3 + columns]
    x = np.empty(SIZE * columns + 64, dtype)
    first = (-x.ctypes.data % 64) // x.itemsize + (1 if place == "astray" else 0)
    x = x[first : first + SIZE * columns].reshape(SIZE, columns)
    x[:] = rng.standard_normal(x.shape)
    return x


@pytest.mark.parametrize("place", ["aligned", "astray", "rows of a wider array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [8, 16, 64, 129, COLUMNS])
def test_products_agree_with_scipy(dtype, columns, place):
    rng = np.random.default_rng(columns)
    a = matrix(rng, dtype)
    x = operand(rng, dtype, columns, place)
    expected = a @ x
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(np.asarray(st.from_scipy(a) @ x), expected, **tolerance)
    c = rng.standard_normal(expected.shape).astype(dtype)
    want = 2 * expected - 0.5 * c
    st.matmul(st.from_scipy(a), x, c, alpha=2.0, beta=-0.5)
    np.testing.assert_allclose(c, want, **tolerance)


def test_the_same_bits_from_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(1)
    a, x = st.from_scipy(matrix(rng, np.float32)), operand(rng, np.float32, COLUMNS, "astray")
    got = []
    for threads in (1, 2, 7, 100):
        monkeypatch.setattr(st.settings, "threads", threads)
        got.append(st.matmul(a, x).tobytes())
    assert got[0] == got[1] == got[2] == got[3]


def test_values_that_are_not_numbers_stay_in_their_columns():
    rng = np.random.default_rng(3)
    a, x = matrix(rng, np.float32), operand(rng, np.float32, COLUMNS, "aligned")
    x[17, 200] = np.nan
    out = np.asarray(st.from_scipy(a) @ x)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(a @ x))
    assert np.isnan(out).any() and not np.isnan(np.delete(out, 200, axis=1)).any()
