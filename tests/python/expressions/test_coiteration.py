"""Every two storages walked together, in place where their coordinates ascend: against NumPy, the general path, and the
interpreter."""

import itertools

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "COO", "DCSR", "CSF", "ELL", "delta(4)", "bitmap"]
PAIRS = list(itertools.product(FORMATS, FORMATS))
ROWS, COLUMNS = 23, 150  # bitmaps: three words a row


def places(rng, shape, density=0.08):
    """Which elements are there: some rows are empty, one is long."""
    out = rng.random(shape) < density
    out[rng.integers(0, shape[0], 4)] = False
    out[rng.integers(0, shape[0])] = rng.random(shape[1]) < 0.7
    return out


def stored(rng, where, dtype, format, special=True):
    """A tensor of small integers there; of floats some are 0.0, -0.0, NaN and infinite."""
    values = rng.integers(1, 9, where.shape).astype(dtype)
    if special and np.issubdtype(dtype, np.inexact):
        kind = rng.integers(0, 20, where.shape)
        for k, x in enumerate((0.0, -0.0, np.nan, np.inf)):
            values[kind == k] = x
    at = tuple(map(np.ascontiguousarray, np.nonzero(where)))
    return st.from_coo(at, values[at], where.shape, "CSR").to(format, zeros="keep")


def dense(t):
    return np.asarray(t.to_dense() if isinstance(t, st.Tensor) else t)


def slots(t):
    """Where elements are, bridges of a delta level too: under plus and times they are values like any others."""
    listed = t.to("COO", zeros="keep")
    out = np.zeros(t.shape, bool)
    out[listed.crd(0), listed.crd(1)] = True
    return out


def same(a, b):
    """Equal to the last bit, but for what a NaN holds."""
    x, y = dense(a), dense(b)
    assert x.dtype == y.dtype
    assert np.array_equal(x, y, equal_nan=np.issubdtype(x.dtype, np.inexact))
    if np.issubdtype(x.dtype, np.floating):
        there = ~np.isnan(x)
        assert np.array_equal(np.signbit(x[there]), np.signbit(y[there]))
    if isinstance(a, st.Tensor):
        a.validate()
        assert a.nse == b.nse and a.format == b.format


def check(text, named, compiled=False, **options):
    """By the interpreter, which starts at once, against the general path; by compiled code where that is asked for."""
    st.settings.engine = "interpreter"
    try:
        result = st.evaluate(text, named, **options)
    finally:
        st.settings.engine = "auto"
    same(result, st._core.evaluate(text, named, general=True, **options))
    if compiled:
        same(st.evaluate(text, named, **options), result)
    return result


def dtype_of(*which):
    kinds = [np.float64, np.float32, np.int32, np.complex128, np.int64, np.uint8]
    return kinds[sum(FORMATS.index(w) * (k + 2) for k, w in enumerate(which)) % len(kinds)]


@pytest.mark.parametrize("f, g", PAIRS)
def test_elementwise(f, g):
    rng = np.random.default_rng(FORMATS.index(f) * 7 + FORMATS.index(g))
    where = [places(rng, (ROWS, COLUMNS)) for _ in range(3)]
    dtype = dtype_of(f, g)
    A, B = (stored(rng, w, dtype, x) for w, x in zip(where, (f, g), strict=False))
    a, b = dense(A), dense(B)
    both, either = slots(A) & slots(B), slots(A) | slots(B)
    with np.errstate(all="ignore"):
        product, total = np.where(both, a * b, 0), np.where(either, a + b, 0)
    out = check("C(i,j) = A(i,j) * B(i,j)", dict(A=A, B=B), compiled=True)
    assert np.array_equal(dense(out), product.astype(dense(out).dtype), equal_nan=True)
    out = check("C(i,j) = A(i,j) + B(i,j)", dict(A=A, B=B), compiled=True)
    assert np.array_equal(dense(out), total.astype(dense(out).dtype), equal_nan=True)
    check("C(i,j) = A(i,j) - 2 * B(i,j)", dict(A=A, B=B))
    check("C(i,j) = A(i,j) * B(i,j) + A(i,j)", dict(A=A, B=B))  # A is walked once
    # The operand that drives stands first or second.
    few = stored(rng, where[2] & (rng.random(where[2].shape) < 0.02), dtype, f)
    check("C(i,j) = A(i,j) * B(i,j)", dict(A=few, B=B))
    check("C(i,j) = A(i,j) * B(i,j)", dict(A=B, B=few))
    check("C(i,j) = A(i,j) + B(i,j)", dict(A=B, B=few))


@pytest.mark.parametrize("f, g", PAIRS)
def test_sums_of_three(f, g):
    rng = np.random.default_rng(100 + FORMATS.index(f) * 7 + FORMATS.index(g))
    for h in FORMATS[FORMATS.index(f) % 2 :: 2]:
        named = {
            n: stored(rng, places(rng, (ROWS, COLUMNS)), dtype_of(f, g, h), x)
            for n, x in zip("ABC", (f, g, h), strict=True)
        }
        check("R(i,j) = A(i,j) + B(i,j) + C(i,j)", named, compiled=h == FORMATS[0])
        check("R(i,j) = (A(i,j) + C(i,j)) * B(i,j)", named)
        check("R(i,j) = A(i,j) * B(i,j) * C(i,j)", named)


@pytest.mark.parametrize("f, g", PAIRS)
def test_matrix_products(f, g):
    rng = np.random.default_rng(200 + FORMATS.index(f) * 7 + FORMATS.index(g))
    dtype = dtype_of(f, g)
    where = [places(rng, (ROWS, 70)), places(rng, (70, COLUMNS))]
    A, B = (stored(rng, w, dtype, x, special=False) for w, x in zip(where, (f, g), strict=True))
    out = check("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), compiled=True)
    assert np.array_equal(dense(out), dense(A) @ dense(B))
    if not np.issubdtype(dtype, np.complexfloating):
        for ring in ("min-plus", "max-times"):
            check("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), compiled=True, semiring=ring)
        check("y(i) = max(j, A(i,j) * D(i,j))", dict(A=A, D=A.to(g)))
        check("y(j) = max(i, A(i,j) * D(i,j))", dict(A=A, D=A.to(g)))
    mask = stored(rng, places(rng, (ROWS, COLUMNS), 0.3), np.float64, g, special=False)
    check("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), compiled=True, mask=mask)
    check("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), mask=mask, complement_mask=True)
    turned = stored(rng, places(rng, (COLUMNS, 70)), dtype, g, special=False)
    check("C(i,k) = A(i,j) * B(k,j)", dict(A=A, B=turned))
    check("r = A(i,j) * B(j,k)", dict(A=A, B=B))


@pytest.mark.parametrize("f, g", PAIRS)
def test_elementwise_under_masks_and_in_semirings(f, g):
    rng = np.random.default_rng(300 + FORMATS.index(f) * 7 + FORMATS.index(g))
    A, B, M = (stored(rng, places(rng, (ROWS, COLUMNS)), np.float64, x, special=n < 2) for n, x in enumerate((f, g, f)))
    for text in ("C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,j) * B(i,j)"):
        check(text, dict(A=A, B=B), mask=M)
        check(text, dict(A=A, B=B), mask=M, complement_mask=True)
        check(text, dict(A=A, B=B), semiring="min-plus")
        check(text, dict(A=A, B=B), semiring="max-plus")
    check("y(i) = A(i,j) * M(i,j)", dict(A=stored(rng, places(rng, (ROWS, COLUMNS)), np.float64, g, False), M=M))


@pytest.mark.parametrize("f", FORMATS)
def test_beside_dense_operands(f):
    """A result in the pattern of one operand, rows and columns of numbers, functions of what is absent."""
    rng = np.random.default_rng(400 + FORMATS.index(f))
    A = stored(rng, places(rng, (ROWS, COLUMNS)), np.float64, f)
    x, y = rng.random(COLUMNS), rng.random(ROWS)
    D = rng.random((ROWS, COLUMNS))
    check("C(i,j) = A(i,j) * x(j)", dict(A=A, x=x), compiled=True)
    check("C(i,j) = A(i,j) * y(i) * x(j)", dict(A=A, x=x, y=y), compiled=True)
    check("C(i,j) = A(i,j) * D(i,j)", dict(A=A, D=D), compiled=True)
    check("C(i,j) = D(i,j) - A(i,j)", dict(A=A, D=D), compiled=True)
    check("C(i,j) = exp(A(i,j)) + A(i,j)", dict(A=A))
    check("y(i) = max(j, A(i,j) * x(j))", dict(A=A, x=x))
    check("y(i) = min(j, A(i,j) + D(i,j))", dict(A=A, D=D))


def test_lists_of_more_dimensions():
    rng = np.random.default_rng(5)
    shape = (9, 8, 40)

    def tensor(format, dtype=np.float64):
        where = rng.random(shape) < 0.08
        where[3] = where[:, 5] = False
        return st.from_dense(where * rng.integers(1, 9, shape).astype(dtype), "CSF").to(format, zeros="keep")

    formats = [
        "CSF",
        "COO(3)",
        "(i, j, k) -> (i : dense, j : compressed(nonunique), k : singleton)",
        "(i, j, k) -> (i : compressed, j : compressed(nonunique), k : singleton)",
        "(i, j, k) -> (i : compressed, j : compressed, k : delta(3))",
        "(i, j, k) -> (i : compressed, j : compressed, k : padded)",
        "(i, j, k) -> (i : compressed, j : compressed, k : bitmap)",
        "(i, j, k) -> (i : dense, j : bitmap, k : compressed)",
        "(i, j, k) -> (i : dense, j : delta(2), k : compressed)",
        "(i, j, k) -> (i : dense, j : padded, k : bitmap)",
    ]
    for f, g in itertools.product(formats, formats):
        A, B = tensor(f), tensor(g)
        for text in (
            "R(i,j,k) = A(i,j,k) + B(i,j,k)",
            "R(i,j,k) = A(i,j,k) * B(i,j,k)",
            "R(i,j) = A(i,j,k) * B(i,j,k)",
        ):
            result = check(text, dict(A=A, B=B), compiled=f == "COO(3)")
            a, b = dense(A), dense(B)
            want = a + b if "+" in text else a * b
            assert np.array_equal(dense(result), want if "i,j,k) =" in text else want.sum(2))


@pytest.mark.parametrize("f, g", PAIRS)
def test_many_chunks(f, g, threads):
    """A cut between chunks never parts what has equal coordinates."""
    rng = np.random.default_rng(6)
    n = 500
    where = [places(rng, (n, n), 0.1) for _ in range(2)]
    A, B = (stored(rng, w, np.float64, x, special=False) for w, x in zip(where, (f, g), strict=True))
    a, b = dense(A), dense(B)
    assert np.array_equal(dense(st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=A, B=B)), a + b)
    assert np.array_equal(dense(st.evaluate("C(i,j) = A(i,j) * B(i,j)", A=A, B=B)), a * b)
    assert np.array_equal(dense(st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)), a @ b)
    assert st.evaluate("r = A(i,j) * B(i,j)", A=A, B=B) == (a * b).sum()


def converted(text, A, B, **options):
    """Which of A and B are converted first, and why."""
    lines = [line.strip() for line in st.explain(text, A=A, B=B, **options).splitlines()]
    return {n: line.split(": ")[-1] for n in "AB" for line in lines if line.startswith(f"first {n} to ")}


@pytest.mark.parametrize("f, g", PAIRS)
def test_nothing_is_converted(f, g):
    rng = np.random.default_rng(7)
    A, B = (stored(rng, places(rng, (60, 60)), np.float64, x, special=False) for x in (f, g))
    assert converted("C(i,j) = A(i,j) * B(i,j)", A, B) == {}
    assert converted("C(i,j) = A(i,j) + B(i,j)", A, B) == {}
    assert converted("C(i,j) = A(i,j) * B(i,j)", A, B, mask=A.to("CSR")) == {}
    # The rows of B are chosen by A: they must be found at once.
    again = {"B": "its rows are walked again and again"} if g in ("COO", "DCSR", "CSF") else {}
    few = stored(rng, np.eye(60, dtype=bool), np.float64, f, special=False)
    assert converted("C(i,k) = A(i,j) * B(j,k)", few, B) == again


@pytest.mark.parametrize("f", FORMATS)
def test_what_is_slow_to_walk_is_converted_once(f):
    rng = np.random.default_rng(8)
    A, B = (stored(rng, places(rng, (90, 90), 0.9), np.float64, x, special=False) for x in ("CSR", f))
    why = converted("C(i,k) = A(i,j) * B(j,k)", A, B)
    assert why == ({} if f in ("CSR", "ELL") else {"B": "its rows are walked again and again"})


def test_reasons_to_convert():
    rng = np.random.default_rng(9)
    A = stored(rng, places(rng, (60, 60)), np.float64, "CSR", special=False)
    product = "C(i,j) = A(i,j) * B(i,j)"
    assert converted(product, A, A.to("CSC")) == {"B": "the loops run in another order"}
    assert converted(product, A, A.to("delta(4)"), semiring="min-plus") == {}
    bridges = str(st.explain(product, A=A, B=A, mask=A.to("delta(4)")))
    assert "first mask to" in bridges and "its fill-in is no part of a mask" in bridges
    assert converted(product, A, A.to("DIAI")) == {"B": "its levels are blocks or diagonals, not its indices"}
    assert converted(product, A, A.to("(i, j) -> (i : bitmap, j : compressed)")) == {}


def test_lists_that_are_not_in_order_are_sorted_first():
    at = np.array([0, 0, 1, 2]), np.array([1, 0, 1, 0])
    twice = np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0])
    B = st.from_dense(np.ones((3, 3)), "COO")
    for i, j in (at, twice):
        format = "(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))"
        A = st.Tensor(format, (3, 3), pos={0: [0, 4]}, crd={0: i, 1: j}, values=np.arange(1.0, 5))
        assert "first A to" in st.explain("C(i,j) = A(i,j) * B(i,j)", A=A, B=B)
        check("C(i,j) = A(i,j) * B(i,j)", dict(A=A, B=B))
        check("C(i,j) = A(i,j) + B(i,j)", dict(A=A, B=B))


VECTORS = ["compressed", "bitmap", "delta(4)", "structured(3000)", "padded"]
TOPS = [
    "i : compressed, j : bitmap",
    "i : bitmap, j : compressed",
    "i : delta(3), j : bitmap",
    "i : padded, j : delta(2)",
]
TOPS += ["i : structured(3000), j : compressed"]


@pytest.mark.parametrize("f", VECTORS)
def test_vectors_of_any_level(engine, f):
    """A first level is cut where chunks begin."""
    rng = np.random.default_rng(11)
    x, y = (np.where(rng.random(9000) < 0.3, rng.integers(1, 9, 9000), 0.0) for _ in range(2))
    for g in VECTORS:
        X, Y = st.from_dense(x, f"(i) -> (i : {f})"), st.from_dense(y, f"(i) -> (i : {g})")
        for text, expected in [
            ("z(i) = X(i) * Y(i)", x * y),
            ("z(i) = X(i) + Y(i)", x + y),
            ("s = X(i) * Y(i)", x @ y),
            ("Z(i,k) = X(i) * Y(k)", None),
        ]:
            pairs = expected is None
            if pairs:  # of two short ones
                X, Y, expected = X[:40], Y[:30], np.outer(x[:40], y[:30])
            z = st.evaluate(text, X=X, Y=Y)
            np.testing.assert_array_equal(dense(z), expected)
            first = [line for line in str(st.explain(text, X=X, Y=Y)).splitlines() if line.startswith("    first ")]
            assert pairs or not first


@pytest.mark.parametrize("f", TOPS)
def test_matrices_whose_first_level_is_any(engine, threads, f):
    rng = np.random.default_rng(12)
    a, b = (np.where(rng.random((3000, 50)) < 0.3, rng.integers(1, 9, (3000, 50)), 0.0) for _ in range(2))
    b[rng.random(3000) < 0.5] = 0
    for g in TOPS:
        A, B = st.from_dense(a, f"(i, j) -> ({f})"), st.from_dense(b, f"(i, j) -> ({g})")
        for text, expected in [
            ("C(i,j) = A(i,j) * B(i,j)", a * b),
            ("C(i,j) = A(i,j) + B(i,j)", a + b),
            ("y(j) = A(i,j) * B(i,j)", (a * b).sum(0)),
        ]:
            np.testing.assert_array_equal(dense(st.evaluate(text, A=A, B=B)), expected)
            assert not [line for line in str(st.explain(text, A=A, B=B)).splitlines() if line.startswith("    first ")]
