"""Rows of a sparse tensor times matrices that their coordinates choose: hand-written loops against NumPy and generated code."""

import numpy as np
import pytest

import strata as st

ROWS = {
    "bnd,ndh->bnh": "(b, n, d) -> (b : dense, n : compressed, d : dense)",
    "bnd,bnhd->bnh": "(b, n, d) -> (b : compressed, n : compressed, d : dense)",
    "bnd,dnbh->bnh": "(b, n, d) -> (n : dense, b : compressed, d : dense)",
    "nd,dh->nh": "(n, d) -> (n : compressed, d : dense)",
    "dbn,bdh->hbn": "(d, b, n) -> (b : compressed, n : compressed, d : dense)",
}


def problem(rng, spec, dtype, depth, columns):
    inputs, _ = spec.split("->")
    rows, matrices = inputs.split(",")
    extents = dict(b=int(rng.integers(1, 9)), n=int(rng.integers(1, 40)), d=depth, h=columns)
    x = rng.standard_normal([extents[i] for i in rows]).astype(dtype)
    stored = rng.random([1 if i == "d" else extents[i] for i in rows]) < 0.4
    return np.where(stored, x, np.zeros((), dtype)), rng.standard_normal([extents[i] for i in matrices]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spec", ROWS)
@pytest.mark.parametrize("seed", range(8))
def test_against_numpy(seed, spec, dtype):
    rng = np.random.default_rng(seed)
    x, w = problem(
        rng, spec, dtype, int(rng.choice([1, 3, 16, 33, 128, 300])), int(rng.choice([1, 7, 8, 16, 17, 32, 50, 130]))
    )
    X = st.from_dense(x, ROWS[spec])
    got = st.einsum(spec, X, w, format=ROWS[spec])
    got.validate()
    assert got.dtype == dtype and got.nse == X.nse // x.shape[spec.index("d")] * w.shape[spec.split(",")[1].index("h")]
    want = np.einsum(spec, x.astype("float64"), w.astype("float64"))
    assert np.allclose(np.asarray(got.to_dense()), want, rtol=1e-4, atol=1e-3 if dtype == "float32" else 1e-9)


def test_same_bits_with_any_number_of_threads(monkeypatch):
    rng = np.random.default_rng(1)
    x, w = problem(rng, "bnd,ndh->bnh", "float32", 70, 90)
    f = ROWS["bnd,ndh->bnh"]
    results = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(st.settings, "threads", threads)
        results.append(np.asarray(st.einsum("bnd,ndh->bnh", st.from_dense(x, f), w, format=f).values))
    assert all(np.array_equal(results[0], r) for r in results)


def test_what_it_leaves_to_generated_code():
    """Other strides, dtypes, results and engines: the same numbers."""
    rng = np.random.default_rng(2)
    x, w = problem(rng, "bnd,ndh->bnh", "float64", 20, 24)
    f = ROWS["bnd,ndh->bnh"]
    X, want = st.from_dense(x, f), np.einsum("bnd,ndh->bnh", x, w)
    wide = np.empty((*w.shape[:2], 2 * w.shape[2]))
    wide[..., ::2] = w
    assert np.allclose(np.asarray(st.einsum("bnd,ndh->bnh", X, wide[..., ::2], format=f).to_dense()), want)
    assert np.allclose(
        np.asarray(st.einsum("bnd,ndh->bnh", X, w.astype("float32"), format=f).to_dense()), want, rtol=1e-4, atol=1e-4
    )
    assert np.allclose(np.asarray(st.einsum("bnd,ndh->bnh", X, w, format="COO").to_dense()), want)
    text = "Y(b,n,h) = X(b,n,d) * W(n,d,h)"
    assert "rows times matrices, by hand-written loops, serves" in str(st.explain(text, X=X, W=w, format=f))
    assert "rows times matrices: no, the result has not the pattern" in str(st.explain(text, X=X, W=w, format="COO"))


def test_nothing_stored_and_no_extent():
    f = ROWS["bnd,ndh->bnh"]
    for shape in ((3, 4, 5), (0, 4, 5), (3, 0, 5)):
        X = st.from_dense(np.zeros(shape, np.float32), f)
        got = st.einsum("bnd,ndh->bnh", X, np.ones((shape[1], shape[2], 6), np.float32), format=f)
        assert got.shape == (*shape[:2], 6) and got.nse == 0


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_every_height_of_block_and_number_of_columns(dtype):
    """Rows of a block and columns of X meet in tiles of registers, whose shape depends on both."""
    r = np.random.default_rng(7)
    lanes = 64 // np.dtype(dtype).itemsize
    for rows in (1, 2, 3, 5, 7, 8, 11, 15, 16, 17, 24, 31, 32, 33):
        blocks = int(r.integers(1, 9))
        a = np.kron(r.random((4, 5)) < 0.5, np.ones((rows, blocks))) * r.integers(-4, 5, (4 * rows, 5 * blocks))
        a = a[: a.shape[0] - int(r.integers(0, rows)), : a.shape[1] - int(r.integers(0, blocks))].astype(dtype)
        t = st.from_dense(a, f"BSR({rows}, {blocks})")
        for columns in (lanes, 2 * lanes, 3 * lanes, 4 * lanes, 7 * lanes, int(r.integers(2, 9 * lanes))):
            x = r.integers(-4, 5, (a.shape[1], columns)).astype(dtype)
            assert np.array_equal(t @ x, a @ x), (rows, blocks, columns)
