"""Index arrays of any integer width, in any memory: the result is exact, or a typed error says what was expected."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def numbers(shape, entries, batches=1):
    """Small integers at so many random places, as many in each batch."""
    rng = np.random.default_rng([entries, *shape])
    out = np.zeros((batches, int(np.prod(shape)) // batches))
    for row in out:
        at = rng.choice(len(row), entries // batches, replace=False)
        row[at] = rng.choice([-3, -2, -1, 1, 2, 3], len(at))
    return out.reshape(shape)


# -- as many entries as a narrow dtype lets in -------------------------------------------------------------------------

BATCHES = "(b, i, j) -> (b: batch, i: dense, j: compressed)"
FIBERS = "(i, j) -> (i: compressed, j: dense)"
PIECES = "(i, j) -> (i / 200: compressed, i % 200: dense, j: dense)"
CUBE, SQUARE = (200, 120, 100), (250, 250)

# (format, pos, crd, shape, elements): 80,000 elements or slots, or as many as pos can count. From the batches on, pos
# counts those of one batch, or fibers, pieces, blocks, diagonals; all that lies below is more than its dtype can count.
STORED = [
    ("COO", "int32", "uint8", CUBE, 80_000),
    ("COO", "uint32", "int16", CUBE, 80_000),
    ("CSF", "int32", "uint8", CUBE, 80_000),
    ("CSF", "uint32", "uint16", CUBE, 80_000),
    ("(i, j, k) -> (i: dense, j: dense, k: compressed)", "int64", "int8", CUBE, 80_000),
    ("CSR", "int32", "uint8", SQUARE, 60_000),
    ("CSR", "uint16", "uint8", SQUARE, 60_000),
    ("CSR", "int16", "int16", SQUARE, 32_767),
    ("CSC", "uint16", "uint16", SQUARE, 60_000),
    ("DCSR", "uint32", "uint32", SQUARE, 60_000),
    ("bitmap", "uint16", "uint8", SQUARE, 60_000),
    ("delta(3)", "uint16", "uint8", SQUARE, 60_000),
    ("ELL", "int32", "uint8", SQUARE, 60_000),
    (BATCHES, "uint16", "uint8", (5, *SQUARE), 100_000),
    (BATCHES, "uint8", "uint8", (400, 20, 30), 80_000),
    (FIBERS, "uint8", "uint8", (250, 400), 80_000),
    (PIECES, "uint8", "uint8", (25_000, 4), 80_000),
    ("BSR(16, 16)", "int16", "uint8", (800, 800), 1250 * 16 * 16),
    ("DIAI", "int8", "int8", (700, 600), 119 * 700),
]
TARGETS = {
    2: [
        *["COO", "CSR", "CSC", "BSR(3, 7)", "delta(2)", "bitmap", "ELL"],
        "(i, j) -> (j: compressed, i / 8: dense, i % 8: bitmap)",
    ],
    3: [
        *["COO", "CSF"],
        "(i, j, k) -> (k: compressed, i: dense, j: compressed)",
        "(i, j, k) -> (j: dense, i: dense, k: bitmap)",
    ],
}


@pytest.fixture(scope="module", params=range(len(STORED)), ids=lambda n: ", ".join(STORED[n][:3]))
def stored(request):
    """The tensor and its dense array."""
    format, pos, crd, shape, entries = STORED[request.param]
    if format.startswith("BSR"):
        dense = np.kron(numbers((50, 50), 1250), np.ones((16, 16)))
    elif format == "DIAI":
        dense = np.where(abs(np.subtract.outer(np.arange(700), np.arange(600))) < 60, numbers(shape, 420_000), 0)
    else:
        dense = numbers(shape, entries, batches=shape[0] if "batch" in format else 1)
    t = st.from_dense(dense, format).to(pos_dtype=pos, crd_dtype=crd)
    t.validate()
    packed = any(level.kind in ("bitmap", "delta") for level in t.format.levels)
    assert t.pos_dtype == pos and (packed or t.crd_dtype == crd) and len(t.values) >= entries
    return t, dense


def test_conversions(stored):
    t, dense = stored
    assert np.array_equal(t.to_dense(), dense)
    for target in TARGETS[t.ndim]:
        to = t.to(target)
        to.validate()
        assert np.array_equal(to.to_dense(), dense), target
    back = t.to("COO")
    found = tuple(np.asarray(back.crd(level)) for level in range(t.ndim))
    assert np.array_equal(found, np.nonzero(dense)) and np.array_equal(back.values, dense[np.nonzero(dense)])


@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_products_with_dense_operands(stored, engine, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", engine)
    t, dense = stored
    rng = np.random.default_rng(3)
    x = rng.integers(-4, 5, (dense.shape[-1], 3)).astype(float)
    y = rng.integers(-4, 5, dense.shape[0]).astype(float)
    rows = "ij"[: t.ndim - 1]
    last = "ijk"[t.ndim - 1]
    assert np.array_equal(st.einsum(f"{rows}{last},{last}r->{rows}r", t, x), dense @ x)
    sums = np.tensordot(y, dense, 1).reshape(-1, dense.shape[-1]).sum(0)
    assert np.array_equal(st.einsum(f"{rows}{last},i->{last}", t, y), sums)
    assert st.einsum(f"{rows}{last}->", t) == dense.sum()
    if t.ndim == 2:
        assert np.array_equal(t @ x, dense @ x) and np.array_equal(t @ x[:, 0], dense @ x[:, 0])
        got = st.evaluate("z(j) = y(i) * A(i,j) + b(j)", A=t, y=y, b=x[:, 1])
        assert np.array_equal(got, y @ dense + x[:, 1])


def test_results_outgrow_the_dtypes_of_their_operands(stored):
    """The other operand has as narrow indices; together they hold more elements than those can count."""
    t, dense = stored
    other = np.roll(dense, 1, -1)
    u = st.from_dense(other, t.format)
    if t.format.name != "DIAI":  # the diagonals that came around the corner are too far away
        u = u.to(pos_dtype=t.pos_dtype, crd_dtype=t.crd_dtype)
    ids = "i,j,k"[: 2 * t.ndim - 1]
    for op, want in (("+", dense + other), ("-", dense - other), ("*", dense * other)):
        got = st.evaluate(f"C({ids}) = A({ids}) {op} B({ids})", A=t, B=u)
        got.validate()
        assert np.array_equal(got.to_dense(), want), op
    if dense.shape == SQUARE:
        got = st.evaluate("C(i,k) = A(i,j) * B(k,j)", A=t, B=u)
        assert np.array_equal(got.to_dense(), dense @ other.T)
        assert np.array_equal((t @ u).to_dense(), dense @ other)


@pytest.mark.parametrize(
    "pos,crd,words",
    [("int8", None, "127"), ("uint16", None, "65535"), (None, "uint8", "0 to 255"), (None, "int8", "127")],
)
def test_indices_that_do_not_fit_are_not_narrowed(pos, crd, words):
    t = st.from_dense(np.ones((300, 300)), "CSR")
    with pytest.raises(st.TensorError, match="level 1 .*does not fit") as e:
        t.to(pos_dtype=pos, crd_dtype=crd)
    assert words in str(e.value)
    coords = np.divmod(np.arange(90_000), 300)
    with pytest.raises(st.TensorError, match="does not fit"):
        st.from_coo(coords, np.ones(90_000), (300, 300), "CSR", pos_dtype=pos, crd_dtype=crd)


# -- arrays in odd memory ----------------------------------------------------------------------------------------------


def strided(a):
    """Between numbers that lie outside of every tensor."""
    return np.column_stack([a, a + 99, a + 99]).ravel()[::3]


def shifted(a):
    """At an address that no element of this size should have."""
    out = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype)
    out[:] = a
    return out


def field(a):
    out = np.zeros(len(a), [("byte", "i1"), ("it", a.dtype), ("other", "i2")])
    out["it"] = a
    return out["it"]


def frozen(a):
    a = a.copy()
    a.flags.writeable = False
    return a


ODD = {
    "strided": strided,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "unaligned": shifted,
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "big-endian, reversed and unaligned": lambda a: shifted(a[::-1].astype(a.dtype.newbyteorder(">")))[::-1],
    "a field of records": field,
    "a column": lambda a: np.stack([a, a + 1], axis=1)[:, 0],
    "read-only": frozen,
    "a memoryview": lambda a: memoryview(np.ascontiguousarray(a)),
}
MATRIX = sp.csr_array(numbers((40, 60), 700))


def by_rows(format, odd, dtype):
    pos, crd = (odd(a.astype(dtype)) for a in (MATRIX.indptr, MATRIX.indices))
    return st.Tensor(format, MATRIX.shape, pos={1: pos}, crd={1: crd}, values=odd(MATRIX.data))


def lists(odd, *dtypes):
    return [odd(c.astype(t)) for c, t in zip(MATRIX.tocoo().coords, dtypes, strict=True)]


def scipy_like(odd, dtype):
    """SciPy's matrix, its arrays exchanged behind its back."""
    a = MATRIX.copy()
    a.indptr, a.indices, a.data = (odd(x) for x in (a.indptr.astype(dtype), a.indices.astype(dtype), a.data))
    return st.from_scipy(a)


def by_elements(odd, dtype):
    return st.Tensor("COO", MATRIX.shape, crd=dict(enumerate(lists(odd, dtype, dtype))), values=odd(MATRIX.data))


BUILT = {
    "CSR": lambda odd, t: by_rows("CSR", odd, t),
    "bitmap": lambda odd, t: by_rows("bitmap", odd, t),
    "COO": lambda odd, t: by_elements(odd, t),
    "from_coo": lambda odd, t: st.from_coo(lists(odd, t, t), odd(MATRIX.data), MATRIX.shape, "CSC"),
    "from_coo, two dtypes": lambda odd, t: st.from_coo(lists(odd, t, "uint8"), odd(MATRIX.data), MATRIX.shape, "CSR"),
    "from_scipy": scipy_like,
}


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("build", BUILT)
def test_odd_memory(build, odd, dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", st.CopyWarning)
        t = BUILT[build](ODD[odd], dtype)
    t.validate()
    dense = MATRIX.toarray()
    assert np.array_equal(t.to_dense(), dense) and np.array_equal(t @ np.arange(60.0), dense @ np.arange(60.0))


def test_one_coordinate_for_every_element():
    n = 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", st.CopyWarning)
        same, each = np.broadcast_to(np.int32(7), n), np.arange(n, dtype=np.int32)
        row = st.Tensor("COO", (n, n), crd={0: same, 1: each}, values=each + 1.0)
        column = st.Tensor("CSR", (n, n), pos={1: np.arange(n + 1, dtype=np.int32)}, crd={1: same}, values=each + 1.0)
        spot = st.from_coo([same, same], each + 1.0, (n, n))
        empty = st.Tensor("CSR", (n, n), pos={1: np.broadcast_to(np.uint8(0), n + 1)}, crd={1: []}, values=np.empty(0))
    want = np.zeros((n, n))
    want[7] = each + 1
    assert np.array_equal(row.to_dense(), want) and np.array_equal(column.to_dense(), want.T)
    assert spot[7, 7] == want.sum() and np.count_nonzero(spot.to_dense()) == 1
    assert empty.nse == 0 and not (empty @ np.ones(n)).any()


# -- arrays that hold no indices ---------------------------------------------------------------------------------------

TAKES_INDICES = {
    "pos": (lambda a: st.Tensor("CSR", (1, 4), pos={1: a}, crd={1: [3]}, values=[5.0]), [0, 1]),
    "crd": (lambda a: st.Tensor("CSR", (1, 4), pos={1: [0, 2]}, crd={1: a}, values=[5.0, 6.0]), [0, 1]),
    "crd of COO": (lambda a: st.Tensor("COO", (4, 4), crd={0: [0, 1], 1: a}, values=[5.0, 6.0]), [0, 1]),
    "coords": (lambda a: st.from_coo([[0, 1], a], [5.0, 6.0], (4, 4)), [0, 1]),
}
NO_INDICES = {
    "bool": lambda a: np.array(a, bool),
    "float16": lambda a: np.array(a, np.float16),
    "float64": lambda a: np.array(a, float),
    "NaN": lambda a: np.array([a[0], np.nan]),
    "complex128": lambda a: np.array(a, complex),
    "object": lambda a: np.array(a, object),
    "None": lambda a: np.array([a[0], None]),
    "integers beyond 64 bits": lambda a: np.array([a[0], 2**70]),
    "str": lambda a: np.array([str(x) for x in a]),
    "datetime64": lambda a: np.array(a, "datetime64[s]"),
    "a list of floats": lambda a: [float(x) for x in a],
    "a list of bools": lambda a: [bool(x) for x in a],
}


@pytest.mark.parametrize("given", NO_INDICES)
@pytest.mark.parametrize("where", TAKES_INDICES)
def test_dtypes_that_are_no_indices(where, given):
    call, fine = TAKES_INDICES[where]
    call(np.array(fine))
    with pytest.raises(st.DTypeError, match="integer") as e:
        call(NO_INDICES[given](fine))
    assert e.value.expected and e.value.got


# -- coordinates outside of the tensor ---------------------------------------------------------------------------------


def built(text, shape, pos, crd, slots, level):
    """A tensor of valid arrays in which the first coordinate of a level can be exchanged."""

    def build(array):
        given = {k: array if k == level else np.array(c) for k, c in crd.items()}
        return st.Tensor(text, shape, pos=pos, crd=given, values=np.ones(slots))

    return build, crd[level], level


PLACES = {
    "CSR": built("CSR", (3, 5), {1: [0, 2, 2, 3]}, {1: [0, 1, 2]}, 3, 1),
    "COO, rows": built("COO", (5, 5), {0: [0, 2]}, {0: [0, 1], 1: [1, 1]}, 2, 0),
    "COO, columns": built("COO", (5, 5), {0: [0, 2]}, {0: [0, 1], 1: [0, 1]}, 2, 1),
    "CSF, last": built("CSF", (5, 5, 5), {0: [0, 1], 1: [0, 1], 2: [0, 1]}, {0: [0], 1: [0], 2: [0]}, 1, 2),
    "BSR": built("BSR(2, 3)", (4, 15), {1: [0, 1, 2]}, {1: [0, 1]}, 12, 1),
    "bitmap": built("bitmap", (2, 5), {1: [0, 1, 2]}, {1: [0, 1]}, 2, 1),
    "padded": built("ELL(1)", (2, 5), None, {1: [0, 1]}, 2, 1),
    "batches": built(BATCHES, (2, 2, 5), {2: [0, 1, 1, 0, 0, 1]}, {2: [0, 1]}, 2, 2),
    "unordered": built("(i, j) -> (i: dense, j: compressed(unordered))", (2, 5), {1: [0, 2, 3]}, {1: [0, 3, 2]}, 3, 1),
}
OUTSIDE = [
    (np.int64, LEAST), (np.int64, MOST), (np.int64, -1), (np.int64, 5), (np.int64, -(2**32)), (np.int64, 2**32),
    (np.int32, -(2**31)), (np.int32, 2**31 - 1), (np.int8, -128), (np.uint8, 5),
    (np.uint64, 2**63), (np.uint64, 2**63 + 1), (np.uint64, 2**64 - 2),
]  # fmt: skip


@pytest.mark.parametrize("dtype,value", OUTSIDE, ids=lambda x: getattr(x, "__name__", str(x)))
@pytest.mark.parametrize("place", PLACES)
def test_coordinates_out_of_bounds(place, dtype, value):
    build, fine, level = PLACES[place]
    build(np.array(fine, dtype)).validate()
    wrong = np.array([value, *fine[1:]], dtype)
    if place == "padded" and value == -1:
        assert build(wrong).nse == 1  # the mark of a slot that is not used
        return
    with pytest.raises(st.TensorError, match=f"level {level} .*out of range"):
        build(wrong)


@pytest.mark.parametrize(
    "name",
    ["DIAI", "DIAJ", "(i, j) -> (j - i: compressed(unordered), i: range)", "(i, j) -> (i - j: compressed, j: range)"],
)
@pytest.mark.parametrize("offset", [LEAST, LEAST + 1, -(2**32), -5, 5, 2**32, MOST])
def test_diagonals_outside_of_the_matrix(name, offset):
    def diagonal(d):
        return st.Tensor(name, (5, 5), pos={0: [0, 1]}, crd={0: np.array([d])}, values=np.arange(1.0, 6))

    for inside in (-4, 4):
        assert np.count_nonzero(diagonal(inside).to_dense()) == 1
    with pytest.raises(st.TensorError, match="level 0 .*out of range"):
        diagonal(offset)


@pytest.mark.parametrize("value", [2**63, 2**64 - 1])
def test_unsigned_diagonals_are_refused(value):
    with pytest.raises(st.TensorError, match="level 0 .*out of range"):
        st.Tensor("DIAI", (3, 3), pos={0: [0, 1]}, crd={0: np.array([value], np.uint64)}, values=np.ones(3))


@pytest.mark.parametrize("dtype,value", OUTSIDE, ids=lambda x: getattr(x, "__name__", str(x)))
@pytest.mark.parametrize("dimension", [0, 1])
def test_lists_of_coordinates_out_of_bounds(dimension, dtype, value):
    coords = [np.array([0, 1], dtype), np.array([1, 2], dtype)]
    coords[dimension] = np.array([0, value], dtype)
    for format in ("COO", "CSR", "DIAI"):
        with pytest.raises(st.IndexError, match=f"out of range in dimension {dimension}"):
            st.from_coo(coords, [1.0, 2.0], (5, 5), format)


@pytest.mark.parametrize("value", [LEAST, -1, 5, MOST])
def test_scipy_arrays_that_lie(value):
    a = sp.csr_array(np.eye(5))
    a.indices = a.indices.astype(np.int64)
    a.indices[2] = value
    with pytest.raises(st.TensorError, match="level 1 .*out of range"):
        st.from_scipy(a)
    b = sp.coo_array(np.eye(5))
    b.coords = (b.coords[0].astype(np.int64), b.coords[1].astype(np.int64))
    b.coords[1][2] = value
    with pytest.raises(st.TensorError, match="level 1 .*out of range"):
        st.from_scipy(b)


@pytest.mark.parametrize(
    "pos", [[0, LEAST, 1], [0, MOST, 1], [0, -1, 1], [0, 2, 1], [0, 1, MOST], [-1, 0, 1], [LEAST, 0, 1]], ids=str
)
def test_positions_out_of_bounds(pos):
    with pytest.raises(st.TensorError, match="level 1 .*pos"):
        st.Tensor("CSR", (2, 3), pos={1: np.array(pos)}, crd={1: [0]}, values=[1.0])
    with pytest.raises(st.TensorError, match="level 1 .*pos"):
        st.Tensor("CSR", (2, 3), pos={1: np.array(pos).astype(np.uint64)}, crd={1: [0]}, values=[1.0])


def test_unsigned_diagonals_beside_signed_coordinates():
    with pytest.warns(st.CopyWarning), pytest.raises(st.TensorError, match="level 1 "):
        st.Tensor("(b, i, j) -> (b: compressed, j - i: compressed, i: range)", (2, 3, 3), pos={0: [0, 1], 1: [0, 1]},
                  crd={0: np.array([0]), 1: np.array([2**64 - 1], np.uint64)}, values=np.ones(3))  # fmt: skip


def test_messages_name_the_coordinate_that_was_given():
    with pytest.raises(st.TensorError) as e:
        st.Tensor("CSR", (1, 3), pos={1: [0, 1]}, crd={1: np.array([2**64 - 2], np.uint64)}, values=[1.0])
    assert e.value.got == str(2**64 - 2)


def test_slots_of_no_stated_width_are_not_lost():
    try:
        t = st.Tensor("ELL", (2, 3), crd={1: [0, 2]}, values=[1.0, 2.0])
    except st.Error:
        return
    assert t.nse == 2
