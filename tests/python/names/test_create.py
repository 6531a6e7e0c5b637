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
    for m, n, k in ((3, 5, 1), (5, 3, -2), (3, 3, 4), (0, 2, 0), (2, 2, -2), (2, 3, 99)):
        same(st.eye(m, n, k), np.eye(m, n, k))
    assert st.eye(3, k=2**70).nse == st.eye(3, k=-(2**70)).nse == 0
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


def test_from_coo_with_a_fill():
    a = np.full((3, 4), np.inf)
    a[[0, 2, 1], [1, 3, 0]] = [2, 0, -1]
    for f in (f for f in ANY if f != "BSR(4, 4) + COO"):
        t = st.from_coo(([0, 2, 1], [1, 3, 0]), [2.0, 0, -1], (3, 4), f, fill=np.inf)
        same(t, a)
        assert t.fill == np.inf or f == "dense"
    twice = st.from_coo(([0, 0], [1, 1]), [2.0, 3.0], (2, 2), "CSR", fill=7)
    assert twice.to_dense().tolist() == [[7, 5], [7, 7]] and twice.nse == 1
    assert st.from_coo(([0], [1]), [2], (2, 2), fill=3, dtype="int16").dtype == np.int16
    half = st.from_coo(([0], [1]), [2.0], (2, 2), "CSR", "bfloat16", fill=3)
    assert half.dtype == "bfloat16" and half.fill == 3 and half.nse == 1
    assert st.from_coo(([1],), [2.0], (3,), fill=-0.0).to_dense().tolist() == [0, 2, 0]
    assert st.from_coo((), [2.0], (), fill=5)[()] == 2
    wide = st.from_coo(([0], [1]), [2.0], (2, 2), "CSR", pos_dtype="int64", crd_dtype="int8", fill=1)
    assert wide.pos_dtype == np.int64 and wide.crd_dtype == np.int8
    with pytest.raises(st.TensorError):
        st.from_coo(([0], [9]), [2.0], (2, 2), fill=1)


def test_rows_and_columns_that_are_not_in_a_tuple():
    for rows, columns in (([0, 1], [2, 0]), (np.array([0, 1]), np.array([2, 0]))):
        with pytest.raises(st.TensorError, match=r"from_coo\(\(rows, columns\), values, shape\)"):
            st.from_coo(rows, columns, [1.0, 2.0])
    torch = pytest.importorskip("torch")  # whose tensors of one element are integers too
    t = st.from_coo((torch.tensor([1]), torch.tensor([2])), torch.tensor([3.0]), (2, 3))
    assert t.to_dense().tolist() == [[0, 0, 0], [0, 0, 3]]


def test_from_scipy_with_a_fill():
    a = np.array([[1.0, 0, 0, 2], [0, 0, 3, 0]])
    want = np.where(a == 0, np.inf, a)
    for kind in ("csr", "csc", "coo", "lil", "dok"):
        for cls in ("array", "matrix"):
            s = getattr(sp, f"{kind}_{cls}")(a)
            t = st.from_scipy(s, fill=np.inf)
            same(t, want)
            assert t.fill == np.inf
    assert np.shares_memory(st.from_scipy(s := sp.csr_array(a), fill=np.inf).values, s.data)
    blocks = st.from_scipy(sp.bsr_array(a, blocksize=(1, 2)), fill=np.inf)  # zeros in blocks are stored
    assert blocks.to_dense().tolist() == [[1, 0, 0, 2], [np.inf, np.inf, 3, 0]]
    same(st.from_scipy(sp.coo_array(a[0]), fill=5), np.where(a[0] == 0, 5, a[0]))
    diagonal = st.from_scipy(sp.dia_array(([[1.0, 2, 3]], [0]), shape=(3, 3)), fill=9)
    same(diagonal, np.where(np.eye(3) > 0, np.diag([1.0, 2, 3]), 9))
