"""Conversion between every two named formats, of the ranks 0 to 5: the same elements, against NumPy and SciPy."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sps
from named_formats import BY_RANK, PRUNED, after, sample, two_of_four

import strata as st

SMALL = [(), (5,), (7, 5), (6, 8), (4, 5, 3), (2, 5, 3, 4), (2, 3, 5, 4, 2)]
LARGE = [(2500,), (70, 130), (13, 20, 9), (3, 13, 8, 9), (2, 3, 7, 8, 6)]  # elements travel in pieces of 1024


def check_pairs(dense, names):
    """Every name as source and as target: the bits of every element that is kept, and no fill-in where none can be held."""
    tensors = {}

    def stored_as(elements, name):
        key = elements.tobytes(), name
        if key not in tensors:
            tensors[key] = st.from_dense(elements, name, threshold=None)
        return tensors[key]

    for a, b in itertools.product(names, repeat=2):
        t, kept = stored_as(dense, a).to(b), after(dense, a, b)
        t.validate()
        got = t.to_dense()
        assert got.tobytes() == kept.tobytes(), f"{a} -> {b}:\n{got}"
        assert t.format == stored_as(kept, b).format and t.nse == stored_as(kept, b).nse, f"{a} -> {b}"
        elements = np.count_nonzero(kept.view(np.int64))
        assert t.nse == elements if not t.format.can_hold_fill else t.nse >= elements, f"{a} -> {b}"


def test_there_are_many():
    least = {0: 1, 1: 5, 2: 38, 3: 25, 4: 25, 5: 25}
    assert all(len(BY_RANK[rank]) >= n for rank, n in least.items()), {r: len(f) for r, f in BY_RANK.items()}


@pytest.mark.parametrize("shape", SMALL + LARGE, ids=str)
def test_every_pair(shape):
    check_pairs(sample(shape), BY_RANK[len(shape)])


@pytest.mark.parametrize("shape", [(6, 8), (5, 10), (40, 36)], ids=str)
def test_every_pair_of_pruned_weights(shape):
    """To and from every other format, also where the last group is cut off."""
    weights = two_of_four(shape)
    stored = np.add.reduceat(weights != 0, range(0, shape[1], 4), axis=1, dtype=int)
    assert (stored == 2).all()
    check_pairs(weights, PRUNED + BY_RANK[2])
    exact = st.from_dense(weights, "structured(2, 4)")
    rows, columns = np.nonzero(weights)
    assert exact.nse == stored.sum() and np.array_equal(exact.crd(2), columns % 4)
    assert np.array_equal(exact.values, weights[rows, columns])


def test_a_third_of_four_is_refused():
    with pytest.raises(st.Error, match="structured"):
        st.from_dense(np.ones((2, 4)), "CSR").to("structured(2, 4)")


@pytest.mark.parametrize("source", ["COO(4)", "dense(4)", "CSC(2)", "BSR(2, 3, 1, 1)", "CSF(4)"])
@pytest.mark.parametrize("target, kind", [("CSR(2)", "csr"), ("CSC(2)", "csc"), ("BSR(2, 2, 2)", "bsr")])
def test_each_batch_is_scipys_matrix(source, target, kind):
    """Batches differ in what they store: their arrays lie at equal distances, and each begins as SciPy's do."""
    rng = np.random.default_rng(11)
    dense = np.where(rng.random((2, 3, 6, 8)) < 0.25, rng.integers(1, 9, (2, 3, 6, 8)), 0).astype(float)
    dense[1, 1] = 0
    t = st.from_dense(dense, source).to(target)
    matrices = [sps.csr_array(m) for m in dense.reshape(6, 6, 8)]
    matrices = [m.tobsr((2, 2)).sorted_indices() if kind == "bsr" else m.asformat(kind) for m in matrices]
    pos, crd, values = (a.reshape(6, -1) for a in (t.pos(3), t.crd(3), t.values))
    for k, m in enumerate(matrices):
        assert np.array_equal(pos[k], m.indptr) and np.array_equal(crd[k][: len(m.indices)], m.indices)
        assert np.array_equal(values[k][: m.data.size], m.data.ravel())
    assert t.nse == sum(m.data.size for m in matrices)


@pytest.mark.parametrize("a", BY_RANK[2])
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
def test_columns_that_lie_far_apart_go_through_buckets(dtype, skewed, settings):
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
    made = []
    for threads in (1, 2, 7):
        settings.threads = threads
        made.append(st.from_scipy(a).to("CSC"))
    for m in made:
        assert np.array_equal(m.pos(1), want.indptr) and np.array_equal(m.crd(1), want.indices)
        assert np.array_equal(np.asarray(m.values), want.data)
    assert made[0].to("CSR").equal(st.from_scipy(a), storage=True)
