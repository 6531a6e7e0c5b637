"""st.eye, zeros, full, random, diags, asarray, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from named import FORMATS, same

import strata as st

ANY = [f for f in FORMATS if not f.startswith("ELL")]


def test_eye():
    for f in FORMATS:
        same(st.eye(7, 6, format=f), np.eye(7, 6))
        same(st.eye(4, format=f, dtype="int8"), np.eye(4, dtype="int8"))
    for m, n, k in ((3, 5, 1), (5, 3, -2), (3, 3, 4), (0, 2, 0), (2, 2, -2)):
        same(st.eye(m, n, k), np.eye(m, n, k))
    assert st.eye(3).format == st.formats.CSR and st.eye(3, format="DIA").nse == 3
    assert st.eye(2, dtype="bfloat16").dtype == "bfloat16"
    with pytest.raises(st.TensorError, match="negative"):
        st.eye(-1)


def test_constant():
    for f in ANY:
        same(st.zeros((3, 4), format=f), np.zeros((3, 4)))
        same(st.full((3, 4), 7, format=f), np.full((3, 4), 7))
        same(st.full((3, 4), np.inf, "float32", f), np.full((3, 4), np.inf, "float32"))
        same(st.ones((3, 4), int, f), np.ones((3, 4), int))
    assert st.zeros((3, 4)).format == st.formats.CSR and st.zeros((2, 3, 4)).format == st.Format("COO", 3)
    assert st.full((3, 4), 7).nse == 0 and st.full((2**40, 2**40), 2.5, format="COO").fill == 2.5
    same(st.zeros(3), np.zeros(3))
    same(st.full((), 3), np.full((), 3))
    A = st.eye(3, dtype="float32")
    same(st.zeros_like(A), np.zeros((3, 3), "float32"))
    same(st.ones_like(A, dtype=bool, format="COO"), np.ones((3, 3), bool))
    assert st.full((2, 2), 3, "float8_e4m3fn").fill == 3
    with pytest.raises(st.TensorError, match="negative"):
        st.zeros((2, -1))


@pytest.mark.parametrize("shape", [(50, 40), 700, (6, 7, 8), (2**30, 2**31)])
def test_random(shape):
    n = 100
    format = "COO" if np.size(shape) == 2 else None  # of 2**30 rows CSR would hold 2**30 positions
    t = st.random(shape, nse=n, rng=3, format=format)
    again = st.random(shape, nse=n, rng=3, format=format)
    assert t.nse == n and np.array_equal(np.stack(t.coords), np.stack(again.coords))
    assert t.shape == (shape if isinstance(shape, tuple) else (shape,)) and 0 <= t.values.min() <= t.values.max() < 1
    t.validate()


def test_random_values():
    assert st.random((20, 30), density=0.25, rng=0).nse == 150
    assert st.random((3, 4), density=1, rng=0).nse == 12 and st.random((3, 4), density=0).nse == 0
    for dtype in ("float32", "complex64", "int16", "uint64", "bool"):
        assert st.random((20, 30), density=0.1, dtype=dtype, rng=0).dtype == dtype
    assert st.random((20, 30), density=0.1, dtype="bfloat16", rng=0).dtype == "bfloat16"
    assert set(st.random((20, 30), density=0.1, sampler=np.ones, format="COO").values) == {1.0}
    counts = sum(st.random((4, 5), nse=10, rng=i).astype(bool).to_dense().astype(int) for i in range(400))
    assert 140 < counts.min() and counts.max() < 260  # each place half of the times
    with pytest.raises(st.TensorError, match="is a share"):
        st.random((3, 3), density=9)
    with pytest.raises(st.TensorError, match="so many places"):
        st.random((3, 3), nse=10)


def test_diags():
    cases = (
        (([1.0, 2, 3],), {}),
        (([1.0, 2, 3], 1), {}),
        (([1, 2, 3], -2), {}),
        (([-1, 2, -1], [-1, 0, 1]), {"shape": (5, 5)}),
        (([[1, 2], [3, 4, 5]], [1, 0]), {}),
        (([[1.5, 2], [3, 4, 5]], [1, 0]), {"shape": (3, 3), "dtype": "float32"}),
        (([[1, 2, 3]], [0]), {"shape": (5, 3)}),
        (([7], [3]), {"shape": (3, 6)}),
    )
    for arguments, options in cases:
        want = sp.diags_array(
            arguments[0], **({"dtype": None} | options | ({"offsets": arguments[1]} if arguments[1:] else {}))
        )
        for f in ANY:
            same(st.diags(*arguments, format=f, **options), want.toarray(), dtype="dtype" in options)
    assert st.diags([1.0, 2]).format == st.formats.DIA
    for wrong in (([[1, 2], [1, 2, 3]], [0, 0]), ([[1, 2, 3]], [1], (3, 3)), ([1], [9], (3, 3))):
        with pytest.raises(st.TensorError):
            st.diags(*wrong)


def test_asarray():
    a = np.array([[1.0, 0], [0, 2]])
    A = st.from_dense(a, "CSR")
    assert st.asarray(A) is A and st.asarray(A, format="CSR").equal(A)
    s = sp.csr_array(a)
    assert np.shares_memory(st.asarray(s).values, s.data) and np.shares_memory(st.asarray(a).values, a)
    for x in (a, s, a.tolist(), A, sp.coo_matrix(a)):
        t = st.asarray(x, dtype="float32", format="COO")
        same(t, a.astype("float32"))
        assert t.nse == 2 and t.format == st.formats.COO
