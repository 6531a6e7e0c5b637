"""Conversion between every two named formats, of the ranks 1 to 3: the same elements, against NumPy and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

ARGUMENTS = {
    "BlockVector": "(3)",
    "BSR": "(2, 3)",
    "BSRRight": "(2, 3)",
    "BSRRightd": "(2, 3)",
    "BSRLeft": "(2, 3)",
    "BSRCol": "(2, 3)",
    "BSC": "(2, 3)",
    "BSCRight": "(2, 3)",
    "BSCRightd": "(2, 3)",
    "BSCLeft": "(2, 3)",
    "BSR3": "(2, 2, 3)",
    "delta": "(3)",
    "structured": "(4, 4)",
    "BlockedELL": "(2, 3)",
    "TiledCSR": "(4, 3)",
    "NestedBSR": "(4, 4, 2, 2)",
    "COOd": "(2, 0)",
}


def texts():
    """One text per name, without repeated structures."""
    seen = {}
    for name in st.formats.names():
        plain = name.partition("(")[0]
        if "mine" in plain:  # registered by another test
            continue
        f = st.Format(plain + ARGUMENTS.get(plain, ""))
        seen.setdefault(f, plain + ARGUMENTS.get(plain, ""))
    return seen


FORMATS = texts()
BY_RANK = {rank: [t for f, t in FORMATS.items() if f.rank == rank] for rank in (1, 2, 3)}


def test_there_are_many():
    assert len(BY_RANK[2]) >= 20 and len(BY_RANK[3]) >= 6


@pytest.mark.parametrize("shape", [(5,), (7, 5), (6, 8), (4, 5, 3)], ids=str)
def test_every_pair(shape):
    rng = np.random.default_rng(len(shape))
    dense = np.where(rng.random(shape) < 0.3, rng.integers(1, 9, shape), 0).astype(float)
    dense[(0,) * len(shape)] = np.nan
    dense[(-1,) * len(shape)] = -0.0
    tensors = {t: st.from_dense(dense, t, threshold=None) for t in BY_RANK[len(shape)]}
    for a, b in itertools.product(tensors, repeat=2):
        t = tensors[a].to(b)
        t.validate()
        got = t.to_dense()
        assert got.tobytes() == dense.tobytes(), f"{a} -> {b}:\n{got}"


@pytest.mark.parametrize("a", [t for t in BY_RANK[2] if "structured" not in t])
def test_against_scipy(a):
    m = sps.random_array((23, 17), density=0.15, rng=np.random.default_rng(5), format="csr")
    t = st.from_scipy(m).to(a)
    x, X = np.arange(17.0), np.arange(34.0).reshape(17, 2)
    back = t.to("CSR")
    assert (back.to_scipy() != m).nnz == 0 and back.nse == m.nnz
    np.testing.assert_allclose(t @ x, m @ x, rtol=1e-13)
    np.testing.assert_allclose(t @ X, m @ X, rtol=1e-13)
    np.testing.assert_allclose(np.arange(23.0) @ t, np.arange(23.0) @ m, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int8"])
@pytest.mark.parametrize("skewed", [False, True])
def test_columns_that_lie_far_apart_go_through_buckets(dtype, skewed):
    """More than 32,768 columns in no order; with empty ones, and some that hold a large part of all elements."""
    r = np.random.default_rng(7)
    rows, columns, stored = 3000, 100_003, 700_000
    at = r.integers(0, columns, stored)
    if skewed:
        at = np.where(r.random(stored) < 0.5, r.integers(0, 3, stored) * 49_999, at)
    flat = np.unique(np.sort(r.integers(0, rows, stored)) * columns + at)
    values = r.integers(1, 100, len(flat)).astype(dtype)
    a = sps.csr_array((values, (flat // columns, flat % columns)), shape=(rows, columns))
    want = a.tocsc()
    made, before = [], st.settings.threads
    try:
        for threads in (1, 2, 7):
            st.settings.threads = threads
            made.append(st.from_scipy(a).to("CSC"))
    finally:
        st.settings.threads = before
    for m in made:
        assert np.array_equal(m.pos(1), want.indptr) and np.array_equal(m.crd(1), want.indices)
        assert np.array_equal(np.asarray(m.values), want.data)
    assert made[0].to("CSR") == st.from_scipy(a)
