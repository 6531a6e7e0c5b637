"""`to(pos_dtype=, crd_dtype=)` alone: every array is NumPy's cast of what it was, the values stay where they are."""

import numpy as np
import pytest
import scipy.sparse as sp
from named_formats import COMMON

import strata as st

pytestmark = pytest.mark.skipif(
    st.settings.int32_limit < 2**31 - 1, reason="arrays are wider than these extents ask for"
)
WIDTHS = ["int16", "uint16", "int32", "uint32", "int64", "uint64"]


def sample(shape=(40, 37), seed=0):
    rng = np.random.default_rng(seed)
    a = np.where(rng.random(shape) < 0.2, rng.standard_normal(shape), 0)
    a[-8:-4, 4:8] = 1 + np.arange(16).reshape(4, 4)  # a whole block
    a[3, 4], a[5, 6], a[7, 7] = np.nan, -0.0, np.inf
    return a


def bits(a):
    return a.shape, a.dtype, a.tobytes()


def kinds(t):
    return {level.kind for part in t.parts for level in part.format.levels}


@pytest.mark.parametrize(
    "format", [*COMMON, "CSF", "(i, j, k) -> (i: dense, j: compressed, k / 2: compressed, k % 2: dense)"]
)
def test_arrays_are_cast(format):
    a = sample((40, 37)) if st.Format(format).rank == 2 else sample((40, 37)).reshape(8, 5, 37)
    t = st.from_dense(a, format, threshold=None)
    for pos in [None, *WIDTHS]:
        for crd in [None, *WIDTHS]:
            if "DIA" in format and (crd or "").startswith("u"):
                with pytest.raises(st.TensorError, match="coordinates start below zero"):
                    t.to(pos_dtype=pos, crd_dtype=crd)
                continue
            u = t.to(pos_dtype=pos, crd_dtype=crd)
            u.validate()
            assert u.format == t.format and u.nse == t.nse and u.equal(t, storage=True)
            assert bits(u.to_dense()) == bits(t.to_dense())
            for p, q in zip(t.parts, u.parts):
                if format != "dense":
                    assert p.nse and np.shares_memory(p.values, q.values)
                for k, level in enumerate(p.format.levels):
                    if level.kind in ("compressed", "delta", "bitmap"):
                        assert np.array_equal(q.pos(k), p.pos(k)) and q.pos(k).dtype == np.dtype(pos or "int32")
                    if level.kind in ("compressed", "singleton"):
                        assert np.array_equal(q.crd(k), p.crd(k)) and q.crd(k).dtype == np.dtype(crd or "int32")


def test_elements_of_blocks_that_hold_zeros_stay():
    """The format is not left: nothing is dropped, as by a cast of the values alone."""
    b = sp.bsr_array((np.array([[[0.0, 0], [0, -0.0]], [[1, 2], [3, 4]]]), [0, 1], [0, 2]), shape=(2, 4))
    t = st.from_scipy(b)
    for u in (t.to(crd_dtype="int64"), t.to("BSR(2, 2)", crd_dtype="int64"), t.to(dtype="float32", crd_dtype="int64")):
        assert u.nse == 8 and u.crd(1).tolist() == [0, 1] and u.crd_dtype == np.int64
        assert np.signbit(u.values).sum() == 1
    assert t.to("CSR").nse == 4  # what leaves the format drops them


def test_a_split_stays():
    a = sample()
    t = st.from_dense(a, "CSR", threshold=None).to("BSR(2, 2) + COO", split=st.split.rows(3))
    u = t.to(crd_dtype="int64")
    assert all(q.equal(p, storage=True) for p, q in zip(t.parts, u.parts))


@pytest.mark.parametrize("wide", [256, 255])
def test_marks_of_padded_rows(wide):
    a = np.zeros((4, wide))
    a[0, [0, 7, wide - 1]] = 1, 2, 3
    t = st.from_dense(a, "ELL")
    if wide == 256:
        with pytest.raises(st.TensorError, match="all ones"):
            t.to(crd_dtype="uint8")
        return
    for crd in ["uint8", "int64", "uint8", "int32", "uint16", "uint64"]:
        t = t.to(crd_dtype=crd)
        t.validate()
        assert t.nse == 3 and (t.to_dense() == a).all() and (t @ np.ones(wide)).tolist() == [6, 0, 0, 0]


def test_positions_are_chosen_anew():
    """As by every conversion: those that are not asked for are the narrowest of int32 and int64."""
    t = st.from_dense(sample(), "CSR").to(pos_dtype="int64", crd_dtype="int64")
    assert (t.pos_dtype, t.crd_dtype) == (np.int64, np.int64)
    assert t.to(crd_dtype="uint8").pos_dtype == np.int32 and t.to(pos_dtype="uint16").crd_dtype == np.int32


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_borrowed_memory_that_changed_is_looked_at(kind):
    m = getattr(sp, f"{kind}_array")(sample((8, 8)))
    t = st.from_scipy(m)
    entries = {"coo": lambda: m.coords[1], "dia": lambda: m.offsets}.get(kind, lambda: m.indices)()
    entries[0] = 100
    with pytest.raises(st.TensorError, match="level"):
        t.to(crd_dtype="int64")


def test_unsorted_lists_are_sorted_as_before():
    c = sp.coo_array((np.array([1.0, 2, 3]), ([1, 0, 1], [0, 1, 0])), (2, 2))
    t = st.from_scipy(c).to(crd_dtype="int64")
    t.validate()
    assert t.to_dense().tolist() == [[0, 2], [4, 0]] and t.crd_dtype == np.int64


def test_empty():
    for shape in ((0, 5), (5, 0), (0, 0), (4, 4)):
        for format in COMMON:
            t = st.zeros(shape).to(format).to(crd_dtype="int16", pos_dtype="int8")
            t.validate()
            assert t.shape == shape and t.nse == (16 if format == "dense" and shape == (4, 4) else 0), (shape, format)
