"""st.where, allclose, topk, against NumPy and torch."""

import numpy as np
import pytest
from named import array, filled, pairs, same

import strata as st


def test_where():
    for (A, a), (B, b) in zip(pairs(1) + filled(1), reversed(pairs(2) + filled(2))):
        c = A > 0
        same(st.where(c, A, B), np.where(a > 0, a, b))
        same(st.where(c, A, 0.0), np.where(a > 0, a, 0.0))
        same(st.where(c, 1, 2), np.where(a > 0, 1, 2))
        same(st.where(c, b, B), np.where(a > 0, b, b))
        same(st.where(c, b, 0.0), np.where(a > 0, b, 0.0))
        same(st.where(A < 1, 0.0, b), np.where(a < 1, 0.0, b))
        same(st.where(c, B, b), np.where(a > 0, b, b))
        same(st.where(a > 0, A, B), np.where(a > 0, a, b))
        same(st.where(c, b[0], 0.0), np.where(a > 0, b[0], 0.0))
        if A.fill == 0 and not A.format.is_all_dense:
            sparse = st.where(c, b, 0.0)
            assert isinstance(sparse, st.Tensor) and sparse.nse <= A.nse
            for got, want in zip(st.where(c), np.where(a > 0)):
                same(got, want)
    nan = st.from_dense(np.array([[np.nan, 1.0], [0, np.inf]]), "CSR")
    same(st.where(nan > 0, nan, 0.0), np.array([[0, 1], [0, np.inf]]))
    v = st.from_dense(array()[0], "(i) -> (i : compressed)")
    A, a = pairs()[0]
    same(st.where(A > 0, v, A), np.where(a > 0, array()[0], a))
    same(st.where(v > 0, A, v), np.where(array()[0] > 0, a, array()[0]))
    with pytest.raises(st.TensorError, match="do not go together"):
        st.where(A > 0, np.ones(5), A)


def test_allclose():
    for (A, a), (B, _) in zip(pairs(1), reversed(pairs(1))):
        assert st.allclose(A, B) and st.allclose(A, a) and st.allclose(a + 1e-12, B)
        assert not st.allclose(A, B + 1e-3) and st.allclose(A, B + 1e-3, atol=1e-2)
        C = st.from_dense(np.where(a == a.max(), a + 1, a), "CSC")
        assert not st.allclose(A, C) and not st.allclose(C, A)
    A = st.from_dense(np.array([[np.nan, 1]]), "CSR")
    assert not st.allclose(A, A) and st.allclose(A, A, equal_nan=True)
    assert not st.allclose(st.zeros((2, 2)), 1) and st.allclose(st.ones((2, 2)), 1)
    assert not st.allclose(st.from_dense(np.ones((2, 2)), "BSR(2, 2)"), 0)


def numpy_topk(a, k, axis, largest):
    """Of the elements that are not 0."""
    out = np.zeros_like(a)
    rows, to = (a, out) if axis == 1 else (a.T, out.T) if axis == 0 else (a.reshape(1, -1), out.reshape(1, -1))
    for row, found in zip(rows, to):
        places = sorted(np.flatnonzero(row), key=lambda j: (-int(row[j]) if largest else int(row[j]), j))[:k]
        found[places] = row[places]
    return out


@pytest.mark.parametrize("dtype", ["float64", "int16", "uint8"])
def test_topk(dtype):
    for A, a in pairs(3, dtype=dtype):
        for axis in (0, 1, None):
            for k in (0, 1, 2, 50):
                for largest in (True, False):
                    same(A.topk(k, axis, largest=largest), numpy_topk(a, k, axis, largest))
    assert st.topk(pairs(3)[0][0], 1).nse == np.count_nonzero(a.any(axis=1))
    nan = st.from_dense(np.array([[3.0, np.nan, 4.0]]), "CSR")
    assert np.isnan(nan.topk(1).values) and nan.topk(1, largest=False).values == 3
    with pytest.raises(st.TensorError, match="0 or more"):
        A.topk(-1)
    with pytest.raises(st.TensorError, match="no order"):
        A.astype(complex).topk(1)


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64", "bool"])
def test_topk_of_uneven_rows(dtype):
    """Rows of 0 to 300 elements with many equal ones, the extremes of the dtype among them."""
    rng = np.random.default_rng(3)
    limits = (0, 1) if dtype == "bool" else (-np.inf, np.inf) if dtype == "float32" else None
    low, high = limits or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    rows = np.repeat(np.arange(40), rng.integers(0, 300, 40) * rng.integers(0, 2, 40))
    columns = np.concatenate([np.sort(rng.permutation(300)[:n]) for n in np.bincount(rows, minlength=40)])
    values = rng.choice(np.array([low, high, 1, 1, 1, 0], dtype), len(rows))
    t = st.from_coo((rows, columns), values, (40, 300), "CSR")
    for k in (1, 2, 17, 299):
        for largest in (True, False):
            got = t.topk(k, axis=1, largest=largest)
            order = np.argsort(-values.astype(float) if largest else values.astype(float), kind="stable")
            want = [np.sort([e for e in order if rows[e] == i][:k]).astype(int) for i in range(40)]
            assert np.array_equal(np.stack(got.coords), np.stack([rows, columns])[:, np.concatenate(want)])
