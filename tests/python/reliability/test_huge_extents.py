"""Few elements in dimensions that 64 bits barely count, and enough of them to be shared out among threads."""

import numpy as np
import pytest

import strata as st

ENTRIES = 200_000


def stored(t):
    """Coordinates and values, in order."""
    t = t.to("COO")
    coordinates = [np.array(t.crd(level)) for level in range(t.format.rank)]
    order = np.lexsort(coordinates[::-1])
    return [c[order] for c in coordinates], np.array(t.values)[order]


@pytest.mark.parametrize("extent", [10**12, 2**58, 10**18, 2**62])
def test_vectors(extent):
    rng = np.random.default_rng(extent % 1000)
    at = np.unique(rng.integers(0, extent, ENTRIES))
    other = np.unique(np.concatenate([at[::3], rng.integers(0, extent, ENTRIES)]))
    a, b = rng.standard_normal(len(at)), rng.standard_normal(len(other))
    v, w = st.from_coo((at,), a, (extent,)), st.from_coo((other,), b, (extent,))
    (c,), x = stored(abs(v))
    assert np.array_equal(c, at) and np.array_equal(x, abs(a))
    both, ia, ib = np.intersect1d(at, other, return_indices=True)
    (c,), x = stored(v * w)
    assert np.array_equal(c, both) and np.array_equal(x, a[ia] * b[ib])
    every = np.union1d(at, other)
    want = np.zeros(len(every))
    want[np.searchsorted(every, at)] += a
    want[np.searchsorted(every, other)] += b
    (c,), x = stored(v + w)
    assert np.array_equal(c, every) and np.array_equal(x, want)
    np.testing.assert_allclose(float(st.evaluate("s = v(i) * w(i)", v=v, w=w)), np.sum(a[ia] * b[ib]))


@pytest.mark.parametrize("rows", [2**58, 10**18])
def test_matrices(rows):
    rng = np.random.default_rng(5)
    i, j = np.sort(rng.integers(0, rows, ENTRIES)), rng.integers(0, 50, ENTRIES)
    a = rng.standard_normal(ENTRIES)
    m = st.from_coo((i, j), a, (rows, 50), "DCSR")
    x = rng.standard_normal((50, 50)) * (rng.random((50, 50)) < 0.3)
    got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=m, B=st.from_dense(x, "CSR"), format="DCSR")
    (ci, ck), values = stored(got)
    used, back = np.unique(i, return_inverse=True)
    dense = np.zeros((len(used), 50))
    np.add.at(dense, (back, j), a)
    want = dense @ x
    np.testing.assert_allclose(values, want[np.searchsorted(used, ci), ck], atol=1e-12)
    assert np.isclose(values.sum(), want.sum())


def test_batches_of_nothing_are_not_walked():
    with pytest.raises(st.TensorError, match="batches"):
        st.Tensor(
            "(b, i, j) -> (b: batch, i: dense, j: padded(2))",
            (2**62, 0, 3),
            crd={2: np.empty(0, np.int32)},
            values=np.empty(0),
        )
    with pytest.raises(st.TensorError, match="batches"):
        st.Tensor(
            "(b, i, j) -> (b: batch, i: dense, j / 4: dense, j % 4: structured(2))",
            (2**62, 0, 4),
            crd={3: np.empty(0, np.int32)},
            values=np.empty(0),
        )
