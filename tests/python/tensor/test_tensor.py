"""What a tensor is: construction over arrays, access, iteration, equality, copies, pickles, printing."""

import copy
import gc
import pickle

import dtypes
import numpy as np
import pytest

import strata as st

DENSE = np.array([[0, 2, 0, 0], [0, 0, 0, 0], [1, 0, 3, 0]], dtype=float)


def csr(**changes):
    args = dict(pos={1: np.array([0, 1, 1, 3])}, crd={1: np.array([1, 0, 2])}, values=np.array([2.0, 1.0, 3.0]))
    args.update(changes)
    return st.Tensor("CSR", (3, 4), **args)


def test_construction_borrows(no_copies):
    pos, crd, values = np.array([0, 1, 1, 3]), np.array([1, 0, 2], "int16"), np.array([2.0, 1.0, 3.0], "float32")
    t = st.Tensor("CSR", (3, 4), pos={1: pos}, crd={1: crd}, values=values)
    assert np.shares_memory(t.pos(1), pos) and np.shares_memory(t.crd(1), crd) and np.shares_memory(t.values, values)
    assert (t.pos_dtype, t.crd_dtype, t.dtype) == (np.int64, np.int16, np.float32)
    assert (t.shape, t.ndim, t.nse, t.size, t.device, t.fill) == ((3, 4), 2, 3, 12, "cpu", 0)
    assert t.nbytes == 4 * 8 + 3 * 2 + 3 * 4
    assert (t.to_dense() == DENSE).all()


@pytest.mark.parametrize("index", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_index_dtypes(index):
    t = csr(pos={1: np.array([0, 1, 1, 3], index)}, crd={1: np.array([1, 0, 2], index)})
    assert (
        t.pos_dtype == t.crd_dtype == index
        and (t.to_dense() == DENSE).all()
        and (t.to("COO").to("CSC").to_dense() == DENSE).all()
    )
    assert (t @ np.ones(4)).tolist() == [2, 0, 4]


@pytest.mark.parametrize("dtype", dtypes.NUMPY)
def test_dtypes(dtype):
    d = DENSE.astype(dtype)
    t = st.from_dense(d, "CSR")
    assert t.dtype == d.dtype and (t.to_dense() == d).all() and t.to_dense().dtype == d.dtype
    assert t[2, 2] == d[2, 2] and type(t[2, 2]) is type(d[2, 2])
    assert (t.to("float64").to_dense() == d.astype(float)).all()
    assert (np.asarray(t @ np.ones(4, dtype)) == d @ np.ones(4, dtype)).all()


def test_lists_and_packed_levels():
    t = st.Tensor(
        "(i, j) -> (i: dense, j: delta(2))",
        (3, 8),
        pos={1: [0, 3, 5, 7]},
        crd={1: [0, 3, 2, 2, 0, 3, 3]},
        values=[1.0, 0, 2, 3, 4, 0, 5],
    )
    assert t.crd(1).tolist() == [0, 3, 2, 2, 0, 3, 3] and t.to_dense().tolist() == [
        [1, 0, 0, 0, 0, 0, 0, 2],
        [0, 0, 3, 4, 0, 0, 0, 0],
        [0] * 7 + [5],
    ]
    n = st.Tensor(
        "(i, j) -> (i: dense, j / 4: dense, j % 4: structured(2))", (1, 8), crd={2: [0, 3, 1, 2]}, values=[1.0, 2, 3, 4]
    )
    assert n.to_dense().tolist() == [[1, 0, 0, 2, 0, 3, 4, 0]] and n.crd(2).tolist() == [0, 3, 1, 2]


def test_one_value_for_every_slot():
    t = csr(values=np.broadcast_to(np.float32(1), 3))
    assert t.to_dense().tolist() == (DENSE != 0).astype(float).tolist() and t.values.tolist() == [1, 1, 1]
    assert t.nbytes < csr().nbytes


def test_access():
    t = csr()
    assert t[0, 1] == 2.0 and t[0, 0] == 0.0 and t[-1, -2] == 3.0 and t[np.int8(2), True - 1] == 1.0
    assert t.get((0, 0)) is None and t.get((0, 1)) == 2.0
    zero = csr(values=np.array([0.0, 1, 3]))
    assert zero.get((0, 1)) == 0.0
    for bad in ((3, 0), (0, 4), (-4, 0), (0, -5), (2**70, 0)):
        with pytest.raises(IndexError):
            t[bad]
        with pytest.raises(st.IndexError):
            t[bad]
    for bad in ((0, 0, 0), (0, slice(None), 0), (3, slice(None)), (Ellipsis, 0, Ellipsis)):
        with pytest.raises(st.IndexError):
            t[bad]
    for bad in (0, (0,), (0, 0, 0)):
        with pytest.raises(st.TensorError):
            t.get(bad)
    with pytest.raises(st.DTypeError, match="integer"):
        t[0.5, 0]


def test_fill():
    t = st.from_dense(np.array([[np.inf, 1.0], [2.0, np.inf]]), "CSR", fill=np.inf)
    assert t.nse == 2 and t.fill == np.inf and t[0, 0] == np.inf and t.to_dense().tolist() == [[np.inf, 1], [2, np.inf]]
    for bad, dtype in ((1.5, "int32"), (300, "uint8"), (1j, "float64")):
        with pytest.raises(st.DTypeError, match="fill"):
            st.from_dense(np.ones((2, 2), dtype), "CSR", fill=bad)


def test_threshold():
    t = st.from_dense(np.array([0.0, 0.1, -0.2, 3.0, -0.0, np.nan]), "(i) -> (i: compressed)", threshold=0.15)
    assert t.crd(0).tolist() == [2, 3, 5]
    signed = np.array([0.0, -0.0, np.nan])
    t = st.from_dense(signed, "(i) -> (i: compressed)", threshold=None)
    assert t.crd(0).tolist() == [1, 2] and np.signbit(t.values[0])
    assert st.from_dense(signed, "(i) -> (i: compressed)").crd(0).tolist() == [2]
    for dtype in ("float16", "float32", "complex64", "complex128"):
        mixed = np.array([-0.0, 0, 1, -2], dtype)
        if mixed.dtype.kind == "c":
            mixed.imag[2:] = -0.0
        assert st.from_dense(mixed, "(i) -> (i: compressed)").values.tobytes() == mixed[2:].tobytes()


def test_iteration():
    assert list(csr().items()) == [((0, 1), 2.0), ((2, 0), 1.0), ((2, 2), 3.0)]
    assert list(csr().to("CSC").items()) == [((2, 0), 1.0), ((0, 1), 2.0), ((2, 2), 3.0)]
    assert [c for c, _ in st.from_dense(np.ones((3, 3)), "BSR(2, 2)").items()] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (0, 2),
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 2),
    ]
    it = csr().items()
    assert len(it) == 3 and next(it) == ((0, 1), 2.0)


def test_same_storage():
    a = csr()
    same = lambda x, y: x.equal(y, storage=True) and st.equal(y, x, storage=True)
    assert same(a, csr()) and not same(a, csr(values=np.array([2.0, 1.0, 4.0])))
    assert same(a, csr(pos={1: np.array([0, 1, 1, 3], "uint8")})) and not same(a, a.to("CSC"))
    assert same(a, csr(crd={1: np.array([1, 0, 2, 77])}, values=np.array([2.0, 1.0, 3.0, 9.0])))  # capacity beyond use
    nan = csr(values=np.array([np.nan, 1, 3]))
    assert same(nan, nan.copy()) and not same(csr(values=np.array([0.0, 1, 3])), csr(values=np.array([-0.0, 1, 3])))


def test_copies():
    values = np.array([2.0, 1.0, 3.0])
    a = csr(values=values)
    b, c, d = a.copy(), copy.copy(a), copy.deepcopy(a)
    values[0] = 9
    assert (a[0, 1], b[0, 1], c[0, 1], d[0, 1]) == (9, 2, 9, 2)


PICKLED = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(2, 2)",
    "DIAI",
    "DIAJ",
    "(i, j) -> (i: dense, j: delta(2))",
    "(i, j) -> (i: dense, j: bitmap)",
    "(i, j) -> (i: dense, j: padded)",
    "dense",
    "(i, j) -> (j: dense, i: dense)",
    "BSR(2, 2) + COO",
]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("format", PICKLED)
def test_pickle(format, protocol):
    t = st.from_dense(DENSE, format)
    again = pickle.loads(pickle.dumps(t, protocol))
    assert again.equal(t, storage=True) and again.format == t.format and again.dtype == t.dtype
    again.validate()


def test_pickle_without_copies():
    t = csr()
    buffers = []
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert (
        buffers
        and pickle.loads(data, buffers=buffers).equal(t, storage=True)
        and np.shares_memory(pickle.loads(data, buffers=buffers).values, t.values)
    )


def test_pickle_keeps_fill_and_odd_dtypes():
    t = st.from_dense(np.array([[np.inf, 1.0]], "float16"), "CSR", fill=np.inf)
    again = pickle.loads(pickle.dumps(t))
    assert again.equal(t, storage=True) and again.fill == np.inf


def test_damaged_pickles_are_refused():
    rebuild, args = csr().__reduce_ex__(2)
    args = list(args)
    args[3] = {1: st._core.memory(np.array([1, 0, 99]))}
    with pytest.raises(st.TensorError, match="level 1"):
        rebuild(*args)


def test_transpose():
    t = csr()
    assert (t.T.to_dense() == DENSE.T).all() and t.T.format == st.formats.CSC and np.shares_memory(t.T.values, t.values)
    assert (t.transpose(1, 0).to_dense() == DENSE.T).all() and t.transpose((0, 1)).equal(t, storage=True)
    with pytest.raises(st.Error):
        t.transpose(0, 0)


def test_to():
    t = csr()
    assert t.to("float32").dtype == np.float32 and t.to(np.int64).dtype == np.int64 and t.to(float).dtype == np.float64
    assert t.to("COO").format == st.Format("COO") and t.to(st.formats.CSC).format == st.formats.CSC
    assert t.to("cpu") is t and t.to(device="cpu") is t
    wide = t.to(crd_dtype="uint8", pos_dtype="int16")
    assert (wide.pos_dtype, wide.crd_dtype) == (np.int16, np.uint8) and wide.equal(t, storage=True)
    with pytest.raises(st.Unsupported, match="cuda"):
        t.to("cuda:0")
    with pytest.raises(st.DTypeError, match="no dtype of indices"):
        t.to(crd_dtype="float32")
    with pytest.raises(st.TensorError, match="zeros"):
        t.to("CSC", zeros="lost")


def test_zeros():
    blocks = st.from_dense(DENSE, "BSR(2, 2)")
    assert blocks.to("CSR").nse == 3 and blocks.to("CSR", zeros="keep").nse == blocks.nse
    explicit = csr(values=np.array([0.0, 1.0, 3.0]))
    assert explicit.to("CSC").nse == 3
    minus = st.from_dense(np.array([[-0.0, 0.0], [1.0, np.nan]]), "BSR(2, 2)", threshold=None)
    assert minus.to("CSR").nse == 2 and minus.to("CSR", zeros="keep").nse == 4
    assert np.signbit(minus[0, 0]) and np.signbit(minus.to_dense()[0, 0])


def test_sums():
    dense = np.kron(np.eye(4), np.ones((2, 2)))
    dense[0, 7] = 5
    t = st.from_dense(dense, "BSR(2, 2) + COO")
    assert t.format == st.Format("BSR(2, 2) + COO") and (t.to_dense() == dense).all()
    assert len(t.parts) == 2 and t.parts[0].nse == 16 and t.parts[1].nse == 1 and t.nse == 17
    assert (t @ np.ones(8) == dense @ np.ones(8)).all()
    with pytest.raises(st.TensorError):
        t.values
    with pytest.raises(st.TensorError, match="parts"):
        t.pos(1)
    for split, first in ((st.split.rows(1), 8), (st.split.band(0, 0), 8), (st.from_dense(np.eye(8), "CSR"), 8)):
        s = st.from_dense(dense, "CSR").to("COO + COO", split=split)
        assert s.parts[0].nse == first and (s.to_dense() == dense).all(), split
    with pytest.raises(st.TensorError, match="split"):
        t.to("COO + COO", split=3)


def test_from_coo():
    t = st.from_coo(([2, 0, 2, 2], [2, 1, 0, 2]), [1.0, 2.0, 1.0, 2.0], (3, 4), "CSR")
    assert t.equal(csr(), storage=True) and st.from_coo(
        np.array([[2, 0, 2], [2, 1, 0]]), np.array([3.0, 2.0, 1.0]), (3, 4)
    ).to("CSR").equal(csr(), storage=True)
    assert st.from_coo(([], []), np.zeros(0), (3, 4)).nse == 0
    for coords, values in (
        (([3], [0]), [1.0]),
        (([-1], [0]), [1.0]),
        (([0], [0, 1]), [1.0]),
        (([0],), [1.0]),
        (([0.5], [0]), [1.0]),
    ):
        with pytest.raises(st.TensorError):
            st.from_coo(coords, values, (3, 4))


def test_repr_is_the_documents_form():
    assert repr(csr(pos={1: np.array([0, 1, 1, 3], "int32")})) == (
        "---- Sparse Tensor<VAL=float64,POS=int32,CRD=int64,DIM=2,LVL=2>\n"
        "format   : [i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.COMPRESSED>)\n"
        "device   : cpu\n"
        "dim      : [3, 4]\n"
        "lvl      : [3, 4]\n"
        "nse      : 3\n"
        "pos[1]   : [0, 1, 1, 3] #4\n"
        "crd[1]   : [1, 0, 2] #3\n"
        "values   : [2, 1, 3] #3\n"
        "data     : 64 bytes\n"
        "sparsity : 75.00%\n"
        "----"
    )


def test_draw_storage(tmp_path):
    d = csr().draw_storage()
    text = str(d)
    assert repr(d) == text and "pos" in text and "crd" in text and "values" in text
    d.save(tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text(encoding="utf-8").rstrip("\n") == text


def test_truth_value():
    with pytest.raises(st.TensorError, match="ambiguous"):
        bool(csr())
    assert bool(st.from_dense(np.array(3.0), "() -> ()"))


def test_scalars_vectors_and_high_rank():
    s = st.from_dense(np.array(3.5), "() -> ()")
    assert s.shape == () and s[()] == 3.5 and list(s.items()) == [((), 3.5)]
    v = st.from_dense(np.array([0.0, 4.0]), "(i) -> (i: compressed)")
    assert v[1] == 4.0 and list(v.items()) == [((1,), 4.0)] and list(v) == [0, 4]
    five = np.zeros((2, 1, 3, 2, 2))
    five[1, 0, 2, 1, 0] = 7
    t = st.from_dense(five, "CSF")
    assert t.nse == 1 and t[1, 0, 2, 1, 0] == 7 and (t.to("COO").to_dense() == five).all()


def test_huge_extents():
    n = 10**9
    t = st.from_coo(([0, n - 1], [n - 1, 5]), [1.0, 2.0], (n, n), "DCSR")
    assert t.nse == 2 and t[n - 1, 5] == 2.0 and t.to("COO").T.to("DCSR")[5, n - 1] == 2.0
    big = st.from_coo([[2**40]] * 3, [1.0], (2**41,) * 3)
    assert big.crd_dtype == np.int64 and big.size == 2**123 and big[2**40, 2**40, 2**40] == 1.0
    with pytest.raises((st.Error, MemoryError)):
        big.to_dense()


def test_weak_references():
    import weakref

    t = csr()
    r = weakref.ref(t)
    del t
    gc.collect()
    assert r() is None


SHARED = {
    "CSR": ((2, 3), {1: [0, 1, 3]}, {1: [2, 0, 1]}, 3),
    "COO": ((2, 3), None, {0: [0, 1, 1], 1: [2, 0, 1]}, 3),
    "BSR(2, 2)": ((3, 3), {1: [0, 1, 2]}, {1: [1, 1]}, 8),
    "delta(2)": ((2, 3), {1: [0, 1, 3]}, {1: [2, 0, 0]}, 3),
    "dense": ((2, 3), None, None, 6),
    "(b, i, j) -> (b: batch, i: dense, j: compressed)": ((2, 2, 3), {2: [0, 1, 3] * 2}, {2: [2, 0, 1] * 2}, 6),
}


@pytest.mark.parametrize("text", SHARED)
def test_pickles_of_a_shared_value(text):
    shape, pos, crd, slots = SHARED[text]
    t = st.Tensor(text, shape, pos=pos, crd=crd, values=np.broadcast_to(2.0, slots))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        p = pickle.loads(pickle.dumps(t, protocol))
        assert p.equal(t, storage=True) and (p.to_dense() == t.to_dense()).all()
    assert t.copy().equal(t, storage=True) and copy.deepcopy(t).equal(t, storage=True)


SUMS = ["CSR + dense", "BSR(2, 2) + COO", "DIA + delta(1) + CSC", "ELL + COO", "bitmap + BSR(2, 3)"]


@pytest.mark.parametrize("text", SUMS)
@pytest.mark.parametrize("fill", [0.0, 5.0])
@pytest.mark.parametrize("split", [None, st.split.rows(1), st.split.band(-1, 0)])
def test_elements_of_sums(text, fill, split):
    """Fill-in of one part stands for nothing where another part stores something, also where the fill is not 0."""
    rng = np.random.default_rng(3)
    d = np.where(rng.random((5, 7)) < 0.4, rng.integers(10, 20, (5, 7)), fill)
    d[rng.random((5, 7)) < 0.2] = -0.0
    t = st.from_dense(d, "COO", threshold=None, fill=fill).to(text, split=split)
    assert t.to_dense().tobytes() == d.tobytes()
    assert np.array([[t[i, j] for j in range(7)] for i in range(5)]).tobytes() == d.tobytes()
    if fill != 0 or not t.format.can_hold_fill:
        assert t.to("CSR").equal(st.from_dense(d, "CSR", threshold=None, fill=fill), storage=True)
    else:  # zeros of either sign may have been fill-in
        assert t.to("CSR", zeros="drop").equal(st.from_dense(d, "CSR"), storage=True)
        assert np.array_equal(t.to("CSR").to_dense(), d) and t.to("CSR").nse <= t.nse


def test_fill_in_of_sums_is_kept_under_another_fill():
    d = np.array([[5, 5, 1], [5, 3, 5]])
    t = st.from_dense(d, "CSR + dense", fill=5)
    kept = t.to("COO", zeros="keep")
    assert kept.nse == 6 and np.array_equal(kept.to_dense(), d)
    assert t.to("COO").nse == 2


def test_a_sparse_tensor_under_another_fill():
    d = np.array([[0, 2.0, 0], [-0.0, 0, 5]])
    for text in ("CSR", "BSR(2, 2) + COO", "DIA"):
        t = st.from_dense(st.from_dense(d, text, threshold=None), "CSR", fill=5)
        assert t.to_dense().tobytes() == d.tobytes() and t.fill == 5 and t.nse == 5


def test_another_split_of_the_same_sum():
    d = np.array([[1.0, 2, 3], [4, 5, 6]])
    t = st.from_dense(d, "CSR + COO").to(split=st.split.rows(1))
    assert [p.nse for p in t.parts] == [2, 4] and (t.to_dense() == d).all()


@pytest.mark.parametrize("text", [*SUMS, "ELL", "dense", "COO(2)", "(i, j) -> (i: batch, j: delta(2))"])
@pytest.mark.parametrize("shape", [(4, 5), (0, 5), (4, 0)])
def test_pickles_keep_index_dtypes(text, shape):
    t = st.from_dense(np.ones(shape), "COO").to(text, pos_dtype="int16", crd_dtype="int8")
    p = pickle.loads(pickle.dumps(t))
    assert p.equal(t, storage=True) and (p.pos_dtype, p.crd_dtype, p.nbytes) == (t.pos_dtype, t.crd_dtype, t.nbytes)


def test_levels_of_different_index_dtypes_are_copied_and_say_so():
    with pytest.warns(st.CopyWarning, match="crd was copied: the levels have different dtypes"):
        t = st.Tensor("COO", (2, 3), crd={0: np.array([0, 1], "i1"), 1: np.array([2, 0], "i8")}, values=[1.0, 2.0])
    assert t.crd_dtype == np.int64 and t[0, 2] == 1


def test_imaginary_parts_are_not_dropped_in_silence():
    t = st.from_dense(np.array([[1 + 2j, 0]]), "CSR")
    with pytest.warns(np.exceptions.ComplexWarning):
        assert t.to("float64")[0, 0] == 1


@pytest.mark.parametrize("make", [bytearray, memoryview, lambda b: __import__("array").array("B", b)])
def test_buffers_of_python(make):
    assert (st.from_package(make(b"\x01\x02")).to_dense() == [1, 2]).all()
    with pytest.raises(st.TensorError):
        st.from_package(b"\x01\x02")


def test_a_pos_for_more_parents_than_there_is_room_for():
    dcsr = dict(crd={0: np.array([0, 2]), 1: np.array([1, 0, 2])}, values=np.ones(3))
    assert st.Tensor("DCSR", (3, 3), pos={1: np.array([0, 1, 3])}, **dcsr).nse == 3
    with pytest.raises(st.TensorError, match="level 1 .*pos is too long"):
        st.Tensor("DCSR", (3, 3), pos={1: np.array([0, 1, 3, 3])}, **dcsr)
    with pytest.raises(st.TensorError, match="level 1 .*pos is too long"):  # no rows, yet elements in one
        st.Tensor("DCSR", (3, 3), pos={1: [0, 3]}, crd={0: [], 1: [0, 1, 2]}, values=np.ones(3))
    spare = dict(pos={0: np.array([0, 1]), 1: np.array([0, 1, 3])}, crd={0: np.array([0, 9]), 1: np.array([1, 0, 2])})
    assert st.Tensor("DCSR", (3, 3), values=np.ones(3), **spare).nse == 1


DTYPES = "float64 float32 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split()


@pytest.mark.parametrize("source", DTYPES)
def test_casts_are_numpys(source):
    r = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        x = (r.standard_normal(999) * r.choice([0.5, 10, 1000, 1e6, 1e12], 999)).astype(source)
    t = st.from_coo((np.arange(999),), x, (2000,), "(i) -> (i : compressed)")
    for target in DTYPES:
        if source.startswith("complex") and not target.startswith("complex"):
            continue
        got, fits = t.to(dtype=target).values, np.ones(999, bool)
        with np.errstate(all="ignore"):
            want = x.astype(target)
        if x.dtype.kind == "f" and want.dtype.kind in "iu":  # what NumPy leaves undefined saturates
            limits, whole = np.iinfo(target), np.trunc(x.astype(np.float64))
            fits = np.isfinite(whole) & (whole >= limits.min) & (whole <= limits.max)
            assert np.array_equal(got[~fits], np.where(x[~fits] > 0, limits.max, limits.min).astype(target))
        assert got.dtype == target and np.array_equal(got[fits], want[fits], equal_nan=True), target


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("fault", [None, "repeated", "columns", "rows", "last"])
def test_lists_that_are_sorted_or_nearly(index, fault):
    """Sorted ones take a shorter way: whatever breaks the order, and wherever, the matrix is NumPy's, and its memory its own."""
    r = np.random.default_rng(3)
    row, column = (
        a.astype(index) for a in np.unravel_index(np.sort(r.choice(300 * 200, 20_000, replace=False)), (300, 200))
    )
    at = 19_998 if fault == "last" else int(r.integers(1000, 19_000))
    if fault == "repeated":
        row[at], column[at] = row[at + 1], column[at + 1]
    elif fault == "rows":
        row[at], row[at + 500] = row[at + 500], row[at]
    elif fault:  # of two neighbours in one row; the last two
        row[at + 1] = row[at]
        column[at], column[at + 1] = 150, 149
    values, want = r.random(20_000), np.zeros((300, 200))
    np.add.at(want, (row, column), values)
    t = st.from_coo((row, column), values, want.shape, "CSR")
    row[:], column[:], values[:] = 0, 0, 0
    t.validate()
    np.testing.assert_allclose(t.to_dense(), want, rtol=1e-15)


@pytest.mark.parametrize("text", [*PICKLED, "delta(2)", "bitmap", "ELL", "DIA"])
def test_with_values(text):
    """The same pattern under other values: a map is filled again."""
    t = st.from_dense(DENSE, text)
    if len(t.parts) > 1:
        with pytest.raises(st.TensorError, match="one part"):
            t.with_values(np.ones(3))
        return
    n = len(t.values)
    for dtype in ("float64", "float32", "int8", "complex128"):
        values = np.arange(1, n + 1).astype(dtype)
        got = t.with_values(values)
        assert np.shares_memory(got.values, values) and got.dtype == dtype and got.shape == t.shape
        arrays = {"pos": {}, "crd": {}}
        for k, level in enumerate(t.format.levels):
            for name in arrays:
                try:
                    arrays[name][k] = getattr(t, name)(k)
                except st.TensorError:
                    continue
                same = np.shares_memory(getattr(got, name)(k), arrays[name][k])
                assert same or level.kind in ("delta", "bitmap", "structured") or not arrays[name][k].size
        want = st.Tensor(t.format, t.shape, arrays["pos"], arrays["crd"], values)
        assert got.equal(want, storage=True) and got.nse == t.nse
        got.validate()
    assert (t.with_values(np.broadcast_to(2.0, n)).to_dense() == t.with_values(np.full(n, 2.0)).to_dense()).all()
    for wrong in (np.ones(n + 1), np.ones((n, 1)), np.ones(max(n - 1, 0)), 3.0):
        with pytest.raises(st.Error):
            t.with_values(wrong)


def test_with_values_of_capacity_and_batches():
    t = csr(crd={1: np.array([1, 0, 2, 77])}, values=np.array([2.0, 1.0, 3.0, 9.0]))
    assert t.with_values(np.arange(4.0)).values.size == 4 and t.with_values(np.arange(3.0)).nse == 3
    b = st.Tensor("CSR(1, 0)", (2, 1, 3), {2: [0, 1, 0, 2]}, {2: [2, 0, 0, 1]}, np.arange(1.0, 5))
    c = b.with_values(np.arange(5, 9))
    assert c.dtype == np.int64 and (c.to_dense()[0] == [[0, 0, 5]]).all() and (c.to_dense()[1] == [[7, 8, 0]]).all()
    shared = csr(values=np.broadcast_to(2.0, 3))
    assert shared.with_values(np.arange(3.0)).values.tolist() == [0, 1, 2]


def test_packed_coordinates_as_they_lie_in_memory():
    a = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])
    for format, level, bits in (("delta(2)", 1, 2), ("delta(4)", 1, 4), ("structured(4, 8)", 2, 3)):
        t = st.from_dense(a, format)
        raw, whole = t.crd(level, packed=True), t.crd(level)
        want = sum(int(c) << bits * k for k, c in enumerate(whole))
        used = -(-bits * len(whole) // 8)
        assert raw.dtype == np.uint8 and len(raw) >= used + 8  # what kernels may read behind the last slot
        assert int.from_bytes(raw[:used].tobytes(), "little") == want
        assert not raw.flags.writeable and np.shares_memory(raw, t.crd(level, packed=True))
    words = st.from_dense(a, "bitmap").crd(1, packed=True)
    assert words.dtype == np.uint64 and [int(w) for w in words] == [1 | 1 << 7, 1 << 2 | 1 << 3, 1 << 7]
    csr = st.from_dense(a, "CSR")
    assert np.shares_memory(csr.crd(1, packed=True), csr.crd(1))
    with pytest.raises(st.TensorError, match="has no crd"):
        csr.crd(0, packed=True)
    with pytest.raises(st.TensorError, match="take one part"):
        st.from_dense(a, "BSR(2, 2) + COO").crd(0, packed=True)
