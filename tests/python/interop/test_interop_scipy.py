"""SciPy in and out: every class, array and matrix, every dtype, canonical or not, without a copy."""

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

KINDS = ["csr", "csc", "coo", "bsr", "dia"]
DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def sample(shape=(6, 9), dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return sps.coo_array(np.where(rng.random(shape) < 0.3, rng.integers(1, 5, shape), 0).astype(dtype))


def memory_of(a):
    if a.format in ("csr", "csc", "bsr"):
        return [a.indptr, a.indices, a.data]
    return [a.offsets, a.data] if a.format == "dia" else [*a.coords, a.data]


def of_kind(a, kind, matrix=False):
    a = a.tobsr((2, 3)) if kind == "bsr" else a.asformat(kind)
    return getattr(sps, f"{kind}_matrix")(a) if matrix else a


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_shares_memory(kind, dtype, matrix, no_copies):
    a = of_kind(sample(dtype=dtype), kind, matrix)
    t = st.from_scipy(a)
    assert t.shape == a.shape and t.dtype == a.dtype and t.format.is_ordered and t.format.is_unique
    assert (t.to_dense() == a.toarray()).all()
    back = t.to_scipy(like=a)
    assert type(back) is type(a)
    assert all(np.shares_memory(x, y) and x.dtype == y.dtype for x, y in zip(memory_of(a), memory_of(back)) if x.size)
    assert (back.toarray() == a.toarray()).all()
    back.check_format() if hasattr(back, "check_format") else None


@pytest.mark.parametrize(
    "kind,name", [("csr", "CSR"), ("csc", "CSC"), ("coo", "COO"), ("bsr", "BSR(2, 3)"), ("dia", "DIAJ")]
)
def test_formats(kind, name):
    assert st.from_scipy(of_kind(sample(), kind)).format == st.Format(name)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("kind", KINDS)
def test_index_dtypes_stay(kind, index, no_copies):
    a = of_kind(sample(), kind)
    if kind == "coo":
        a.coords = tuple(c.astype(index) for c in a.coords)
    elif kind == "dia":
        a.offsets = a.offsets.astype(index)
    else:
        a.indptr, a.indices = a.indptr.astype(index), a.indices.astype(index)
    t = st.from_scipy(a)
    assert t.crd_dtype == index
    out = t.to_scipy()
    assert memory_of(out)[0].dtype == index and np.shares_memory(memory_of(out)[0], memory_of(a)[0])


def test_mixed_index_dtypes():
    a = sample().tocsr()
    a.indptr = a.indptr.astype("int64")
    t = st.from_scipy(a)
    assert (t.pos_dtype, t.crd_dtype) == (np.int64, np.int32)
    assert (t.to_dense() == a.toarray()).all()


@pytest.mark.parametrize("kind", ["lil", "dok"])
@pytest.mark.parametrize("matrix", [False, True])
def test_list_and_dictionary_classes_are_copied_and_say_so(kind, matrix):
    a = of_kind(sample(), kind, matrix)
    with pytest.warns(st.CopyWarning, match=kind.upper()):
        t = st.from_scipy(a)
    assert (t.to_dense() == a.toarray()).all() and t.format == st.Format("COO")


def test_sorted_but_not_flagged_is_canonical(no_copies):
    a = sample().tocsr()
    b = sps.csr_array((a.data, a.indices, a.indptr), shape=a.shape)  # no flags yet
    t = st.from_scipy(b)
    assert t.format == st.Format("CSR") and np.shares_memory(t.values, a.data)


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr"])
def test_unsorted_is_borrowed(kind, no_copies):
    a = of_kind(sample(), kind)
    for i in range(len(a.indptr) - 1):
        s = slice(a.indptr[i], a.indptr[i + 1])
        a.indices[s] = a.indices[s][::-1].copy()
        a.data[s] = a.data[s][::-1].copy()
    a.has_sorted_indices = False
    t = st.from_scipy(a)
    assert not t.format.is_ordered and t.format.is_unique
    assert np.shares_memory(t.values, a.data)
    assert (t.to_dense() == a.toarray()).all()
    x = np.arange(a.shape[1], dtype=float)
    np.testing.assert_allclose(t @ x, a @ x)
    assert t.to({"csr": "CSR", "csc": "CSC", "bsr": "BSR(2, 3)"}[kind]).format.is_ordered
    back = t.to_scipy()
    assert np.shares_memory(back.data, a.data) and not back.has_sorted_indices and (back.toarray() == a.toarray()).all()


def test_a_wrong_flag_is_not_believed():
    a = sps.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    a.has_canonical_format = True
    t = st.from_scipy(a)
    assert not t.format.is_ordered and t.to_dense().tolist() == [[2, 0, 1]]


def test_duplicates_are_borrowed_and_added(no_copies):
    a = sps.csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    t = st.from_scipy(a)
    assert not t.format.is_unique and t.format.is_ordered and t.nse == 3
    assert t[0, 1] == 3.0
    assert (t.to_dense() == a.toarray()).all()
    assert (t @ np.ones(3)).tolist() == [3.0, 4.0]
    assert t.to("CSR").nse == 2


def test_coo_unsorted_and_duplicated(no_copies):
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, 5, 40), rng.integers(0, 7, 40)
    v = rng.integers(1, 9, 40).astype(float)
    a = sps.coo_array((v, (i, j)), shape=(5, 7))
    t = st.from_scipy(a)
    assert not t.format.is_ordered and np.shares_memory(t.values, v)
    assert (t.to_dense() == a.toarray()).all()
    x = rng.integers(0, 5, (7, 2)).astype(float)
    assert (t @ x == a @ x).all()
    assert (t.to("CSR").to_scipy() != a.tocsr()).nnz == 0


@pytest.mark.parametrize("rank", [1, 3, 4])
def test_coo_of_any_rank(rank, no_copies):
    rng = np.random.default_rng(rank)
    shape = (4, 3, 5, 2)[:rank]
    dense = np.where(rng.random(shape) < 0.4, rng.integers(1, 9, shape), 0).astype(float)
    a = sps.coo_array(dense)
    t = st.from_scipy(a)
    assert t.format == st.Format("COO", rank) and t.shape == shape and (t.to_dense() == dense).all()
    back = t.to_scipy()
    assert all(np.shares_memory(x, y) for x, y in zip(memory_of(a), memory_of(back)))


def test_one_dimensional_csr():
    a = sps.csr_array(np.array([0.0, 3.0, 0.0, 4.0]))
    t = st.from_scipy(a)
    assert t.shape == (4,) and t.to_dense().tolist() == [0, 3, 0, 4]


def test_dia_unsorted_offsets(no_copies):
    data = np.arange(15.0).reshape(3, 5)
    a = sps.dia_array((data, [2, -1, 0]), shape=(4, 5))
    t = st.from_scipy(a)
    assert not t.format.is_ordered and np.shares_memory(t.values, data)
    assert (t.to_dense() == a.toarray()).all()
    x = np.arange(5.0)
    np.testing.assert_allclose(t @ x, a @ x)


@pytest.mark.parametrize("width", [3, 8])
def test_dia_of_another_width_is_copied_and_says_so(width):
    a = sps.dia_array((np.arange(1.0, 2 * width + 1).reshape(2, width), [0, 1]), shape=(4, 5))
    with pytest.warns(st.CopyWarning, match=f"{width} columns"):
        t = st.from_scipy(a)
    assert (t.to_dense() == a.toarray()).all()


def test_dia_diagonals_outside_the_matrix():
    a = sps.dia_array((np.ones((3, 4)), [-9, 0, 7]), shape=(3, 4))
    with pytest.warns(st.CopyWarning, match="outside"):
        t = st.from_scipy(a)
    assert (t.to_dense() == a.toarray()).all() and t.nse == 3


def test_garbage_outside_the_diagonals_is_ignored(no_copies):
    data = np.full((2, 4), np.nan)
    data[0, :3] = 1  # offset -1: columns 0..2 lie in the matrix
    data[1, 1:] = 2  # offset 1: columns 1..3
    t = st.from_scipy(sps.dia_array((data, [-1, 1]), shape=(4, 4)))
    assert (t @ np.ones(4)).tolist() == [2, 3, 3, 1] and t.nse == 6


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia"])
def test_empty(shape, kind):
    a = sps.coo_array(shape, dtype=float).asformat(kind)
    t = st.from_scipy(a)
    assert t.shape == shape and t.nse == 0 and t.to_dense().shape == shape
    assert (t @ np.ones(shape[1])).tolist() == [0] * shape[0]
    assert t.to("CSR").to_scipy().shape == shape


def test_spare_capacity(no_copies):
    a = sps.csr_array((np.array([1.0, 2.0, 99.0, 99.0]), np.array([1, 0, 7, -3]), np.array([0, 1, 2])), shape=(2, 3))
    t = st.from_scipy(a)
    assert t.nse == 2 and t.to_dense().tolist() == [[0, 1, 0], [2, 0, 0]]
    assert t.to_scipy().nnz == 2


@pytest.mark.parametrize("damage", ["out of range", "negative", "pos decreases", "pos start", "pos end"])
def test_damaged_matrices_are_refused(damage):
    a = sample().tocsr()
    if damage == "out of range":
        a.indices[3] = 9
    elif damage == "negative":
        a.indices[3] = -1
    elif damage == "pos decreases":
        a.indptr[2] = a.indptr[1] - 1 if a.indptr[1] else 99
    elif damage == "pos start":
        a.indptr[0] = 1
    else:
        a.indptr[-1] += 5
    with pytest.raises(st.TensorError, match="level 1"):
        st.from_scipy(a)


@pytest.mark.parametrize(
    "format", ["DCSR", "DCSC", "delta(4)", "bitmap", "ELL", "DIAI", "BSR(4, 4) + COO", "BSR(4, 4)"]
)
def test_formats_that_scipy_lacks_leave_as_csr_and_say_so(format):
    a = sample(shape=(7, 9)).tocsr()
    try:
        f = st.Format(format)
    except st.FormatError:
        f = st.Format(
            {
                "bitmap": "(i, j) -> (i: dense, j: bitmap)",
                "ELL": "(i, j) -> (i: dense, j: padded(9))",
                "delta(4)": "(i, j) -> (i: dense, j: delta(4))",
            }[format]
        )
    t = st.from_scipy(a).to(f)
    with pytest.warns(st.CopyWarning, match="CSR"):
        back = t.to_scipy()
    assert isinstance(back, sps.csr_array) and (back != a).nnz == 0


def test_tensors_of_higher_rank_leave_as_coo():
    dense = np.zeros((2, 3, 4))
    dense[1, 2, 3] = 5
    t = st.from_dense(dense, "CSF")
    with pytest.warns(st.CopyWarning, match="COO"):
        back = t.to_scipy()
    assert isinstance(back, sps.coo_array) and (back.todense() == dense).all()


def test_what_scipy_cannot_say():
    t = st.from_dense(np.array([[1.0, np.inf], [np.inf, 2.0]]), "CSR", fill=np.inf)
    with pytest.raises(st.Unsupported, match="fill inf"):
        t.to_scipy()
    with pytest.raises(st.Unsupported, match="float16"):
        st.from_dense(np.ones((2, 2), "float16"), "CSR").to_scipy()


def test_wrong_objects():
    with pytest.raises(st.TensorError, match="from_scipy needs a sparse"):
        st.from_scipy([1, 2])
    with pytest.raises(st.DTypeError, match="float128|longdouble"):
        st.from_scipy(sps.csr_array(np.ones((2, 2), np.longdouble)))


def test_every_pair_of_kinds():
    a = sample(shape=(8, 6))
    for first in KINDS:
        t = st.from_scipy(of_kind(a, first))
        for second, name in (("csr", "CSR"), ("csc", "CSC"), ("coo", "COO"), ("bsr", "BSR(2, 3)"), ("dia", "DIAJ")):
            out = t.to(name).to_scipy()
            assert out.format == second and (out.toarray() == a.toarray()).all(), (first, second)


@pytest.mark.parametrize("n", [2**40, 2**62])
def test_unsorted_rows_of_a_matrix_of_huge_extents(n):
    """Finding out how rows are ordered costs memory by elements, not by columns."""
    a = sps.csr_array((np.array([1.0, 2, 3, 4]), np.array([n - 1, 0, n - 1, 1]), np.array([0, 3, 4])), shape=(2, n))
    t = st.from_scipy(a)
    assert not t.format.is_unique and t.nse == 4
    assert t.to("CSR").nse == 3 and t.to("CSR")[0, n - 1] == 4
    b = sps.csr_array((np.array([1.0, 2, 3]), np.array([n - 1, 0, 1]), np.array([0, 2, 3])), shape=(2, n))
    assert "unordered" in str(st.from_scipy(b).format) and "nonunique" not in str(st.from_scipy(b).format)


def test_one_value_for_all_slots_leaves_for_scipy():
    """Slots outside the matrix count among those that share the value."""
    t = st.Tensor("BSR(2, 2)", (3, 3), pos={1: [0, 1, 2]}, crd={1: [1, 1]}, values=np.broadcast_to(2.0, 8))
    assert t.nse == 3 and t.values.shape == (8,)
    assert (t.to_dense() == [[0, 0, 2], [0, 0, 2], [0, 0, 2]]).all()
    u = st.Tensor("BSR(2, 2)", (4, 4), pos={1: [0, 1, 2]}, crd={1: [1, 1]}, values=np.broadcast_to(2.0, 8))
    assert (u.to_scipy().toarray() == u.to_dense()).all()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_scatters_that_leave_the_caches(threads):
    """Results of several MB are written with their lines asked for early."""
    rng = np.random.default_rng(threads)
    n, rows, columns = 300_000, 5000, 3000
    i, j, v = rng.integers(0, rows, n), rng.integers(0, columns, n), rng.integers(-9, 10, n).astype(float)
    reference = sps.coo_matrix((v, (i, j)), (rows, columns)).tocsr()
    before, st.settings.threads = st.settings.threads, threads
    try:
        csr = st.from_coo((i.astype(np.int32), j.astype(np.int32)), v, (rows, columns), "CSR")
        csc = csr.to("CSC")
        csc.validate()
    finally:
        st.settings.threads = before
    assert np.array_equal(csr.pos(1), reference.indptr) and np.array_equal(csr.crd(1), reference.indices)
    assert np.array_equal(csr.values, reference.data)
    turned = reference.tocsc()
    assert np.array_equal(csc.pos(1), turned.indptr) and np.array_equal(csc.crd(1), turned.indices)
    assert np.array_equal(csc.values, turned.data)


@pytest.mark.parametrize("shape", [(300, 400), (400_000, 20_000), (2000, 400_000)])
def test_full_blocks_go_to_the_first_part(shape):
    """Blocks are counted in an array over all of them, over those of one row of blocks, or by sorting: by their number."""
    rng = np.random.default_rng(5)
    i, j = (rng.integers(0, n // 2, 4000) * 2 for n in shape)
    at = np.unique(np.concatenate([(i + d) * shape[1] + j + e for d, e in ((0, 0), (0, 1), (1, 0), (1, 1))]))
    at = at[rng.random(len(at)) < 0.8]
    a = sps.coo_matrix((rng.random(len(at)), (at // shape[1], at % shape[1])), shape).tocsr()
    t = st.from_scipy(a).to("BSR(2, 2) + COO")
    t.validate()
    same = abs(t.to_scipy() - a)
    assert same.nnz == 0 or same.max() == 0
    blocks, count = np.unique((at // shape[1] // 2) * (shape[1] // 2) + at % shape[1] // 2, return_counts=True)
    assert 0 < (count < 3).sum() < len(blocks)
    # A block costs 4 + 4 * 8 bytes, elements 2 * 4 + 8 each.
    assert [p.nse for p in t.parts] == [4 * (count >= 3).sum(), count[count < 3].sum()]


def test_diagonals_shorter_than_the_matrix():
    """What lies beyond the data is not stored; whole diagonals are not made of a few elements."""
    data, offsets = np.array([[1.0, 2, 3], [4, 0, 6], [7, 8, 9]]), [0, -2, 1]
    for shape, name in (((5, 5), None), ((3, 2), None), ((5, 2**33), "COO"), ((2**40, 1_000_000), "COO")):
        a = sps.dia_array((data, offsets), shape=shape)
        with pytest.warns(st.CopyWarning, match="columns and the matrix"):
            t = st.from_scipy(a)
        t.validate()
        assert name is None or t.format == st.Format(name)
        want = {(j - k, j): data[d, j] for d, k in enumerate(offsets) for j in range(min(3, shape[1]))}
        assert {c: v for c, v in t.items() if v} == {(i, j): v for (i, j), v in want.items() if v and 0 <= i < shape[0]}
        with pytest.warns(st.CopyWarning):
            filled = st.from_scipy(a, fill=7)
        assert filled.fill == 7 and filled[0, 0] == 1 and (shape[1] == 2 or filled[3, 4 if name is None else 9] == 7)
