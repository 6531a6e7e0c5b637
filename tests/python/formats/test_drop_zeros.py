"""Zeros that computing made stay stored until they are dropped: t.drop_zeros(), zeros="drop"."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = "CSR CSC COO BSR(2,2) DIA DCSR ELL delta(4) bitmap".split() + ["BSR(4, 4) + COO"]
LISTS = ["CSR", "CSC", "COO", "DCSR", "bitmap", "ELL", "(i, j) -> (i: compressed, j: bitmap)"]
DTYPES = "bool int8 uint16 int32 int64 float16 float32 float64 complex64 complex128".split()


def array(seed, shape=(7, 9), dtype=float):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 4, shape) * (rng.random(shape) < 0.6)).astype(dtype)


@pytest.mark.parametrize("format", FORMATS)
def test_values_stay(format):
    a = array(1)
    A = st.from_dense(a, format)
    for t, want in (
        (A - A, a - a),
        (A > 2, a > 2),
        (A * (A == 1), a * (a == 1)),
        (A, a),
        (-A, -a),
        (A * np.nan, a * np.nan),
    ):
        d = t.drop_zeros()
        assert d.format.name.split("(")[0] == t.format.name.split("(")[0] and d.dtype == t.dtype and d.fill == t.fill
        np.testing.assert_array_equal(d.to_dense(), t.to_dense())
        d.validate()
        assert d.nse <= t.nse
    assert (A - A).drop_zeros().nse == 0


@pytest.mark.parametrize("format", LISTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_exactly_what_is_not_zero(format, dtype):
    a = array(2, dtype=dtype)
    A = st.from_dense(array(2, dtype="int64") % 2 + (array(2) > 0), format)  # a pattern of more
    values = (A * 0).to(dtype)
    kept = values.drop_zeros()
    assert kept.nse == 0 and kept.shape == a.shape and kept.dtype == dtype
    B = st.from_dense(a, format)
    C = B * st.from_dense((np.arange(63).reshape(7, 9) % 3 == 0).astype(dtype), "dense")
    want = a * (np.arange(63).reshape(7, 9) % 3 == 0).astype(dtype)
    assert C.nse == (a != 0).sum()  # as stored
    D = C.drop_zeros()
    assert D.nse == np.count_nonzero(want)
    np.testing.assert_array_equal(D.to_dense(), want)
    assert D.drop_zeros().equal(D, storage=True)


@pytest.mark.parametrize("source", [*FORMATS, "dense"])
@pytest.mark.parametrize("target", [*FORMATS, "dense"])
def test_conversions(source, target):
    a = array(3, (8, 8))
    A = st.from_dense(a, source) * (st.from_dense(a, source) != 1)
    A = A if isinstance(A, st.Tensor) else st.from_dense(A, source)
    want = a * (a != 1)
    got = A.to(target, zeros="drop")
    np.testing.assert_array_equal(got.to_dense(), want)
    if target in LISTS:
        assert got.nse == np.count_nonzero(want)
    slow = st._core.convert(A, st.Format(target, 2), zeros="drop", general=True)
    np.testing.assert_array_equal(slow.to_dense(), want)
    assert slow.nse == got.nse


def test_signs_and_fills():
    torch = pytest.importorskip("torch")
    values = np.array([-0.0, 0.0, np.nan, 1.0])
    for dtype in ("float16", "float32", "float64", "complex64", "complex128"):
        t = st.Tensor("CSR", (1, 4), {1: [0, 4]}, {1: [0, 1, 2, 3]}, values.astype(dtype))
        assert t.drop_zeros().crd(1).tolist() == [2, 3]
    z = st.Tensor("CSR", (1, 3), {1: [0, 3]}, {1: [0, 1, 2]}, np.array([-0.0 - 0.0j, 1j, -0.0 + 1j]))
    assert z.drop_zeros().crd(1).tolist() == [1, 2]
    t = st.Tensor("CSR", (1, 4), {1: [0, 4]}, {1: [0, 1, 2, 3]}, np.array([5.0, 0, 5, 1]), fill=5.0)
    d = t.drop_zeros()  # what is absent is 5
    assert d.crd(1).tolist() == [1, 3] and d.fill == 5 and st.equal(d, t)
    for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        x = torch.tensor([[-0.0, 0.0, 2.0, 1.0]]).to(dtype)
        t = st.Tensor("CSR", (1, 4), {1: [0, 4]}, {1: [0, 1, 2, 3]}, x[0])
        assert t.drop_zeros().crd(1).tolist() == [2, 3]


def test_duplicates_are_added_first():
    s = sp.coo_array((np.array([1.0, -1, 2, 0]), ([0, 0, 1, 1], [1, 1, 0, 1])), (2, 2))
    t = st.from_scipy(s)
    d = t.drop_zeros()
    assert d.format == t.format and d.nse == 1 and d.to_dense().tolist() == [[0, 0], [2, 0]]
    assert t.to("CSR", zeros="drop").nse == 1 and t.to("CSR").nse == 3


def test_values_are_cast_first():
    t = st.Tensor("CSR", (1, 3), {1: [0, 3]}, {1: [0, 1, 2]}, np.array([0.4, 1.6, 0.0]))
    d = t.to("COO", dtype="int32", zeros="drop")
    assert d.nse == 1 and d.dtype == np.int32 and d.to_dense().tolist() == [[0, 1, 0]]


def test_sums_keep_their_split():
    a = np.zeros((8, 8))
    a[:4, :4] = 1
    a[6, 7] = 2
    S = (
        st.from_dense(
            a,
            "BSR(4, 4) + COO",
        )
        * 1.0
    )
    T = S * (S < 2)
    assert T.drop_zeros().parts[1].nse == 0 and T.drop_zeros().parts[0].nse == 16


def test_ranks():
    for shape in ((5,), (3, 4, 5), (2, 3, 2, 3)):
        a = array(4, shape)
        for format in ("COO", "CSF"):
            t = st.from_dense(a, format)
            t = t * (t != 1)
            assert t.drop_zeros().nse == np.count_nonzero(a * (a != 1))
            np.testing.assert_array_equal(t.drop_zeros().to_dense(), a * (a != 1))


def test_large_lists_are_cut_into_pieces():
    rng = np.random.default_rng(5)
    s = sp.random_array((300_000, 1000), density=1e-3, rng=rng, format="csr")
    s.data[rng.random(s.nnz) < 0.5] = 0
    want = s.copy()
    want.eliminate_zeros()
    for format in ("CSR", "COO"):
        d = st.from_scipy(s).to(format).drop_zeros()
        got = d.to_scipy()
        assert got.nnz == want.nnz and (got != want).nnz == 0
    assert st.from_scipy(want).drop_zeros().equal(st.from_scipy(want), storage=True)


def test_from_the_start():
    assert st.from_dense(np.eye(2), "CSR").to(zeros="drop").nse == 2
    with pytest.raises(st.TensorError, match="'drop'"):
        st.from_dense(np.eye(2), "CSR").to("COO", zeros="dropped")
