"""`plan.run(..., reuse=C)` computes the values of C's pattern by the kernel that would have found the pattern too: bit
for bit what a run without `reuse` gives, and refused where that would have another pattern, in either direction."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

ROWS, INNER, COLUMNS = 40, 35, 30
PRODUCT = "C(i,k) = A(i,j) * B(j,k)"
DTYPES = [
    "bool",
    "int8",
    "int32",
    "int64",
    "uint16",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
DCSR, DCSC = "(i, k) -> (i : compressed, k : compressed)", "(i, k) -> (k : compressed, i : compressed)"


def pattern(rng, m, n, density=0.2):
    """Rows and columns without an element, the first and the last ones among them."""
    there = rng.random((m, n)) < density
    there[[0, m // 2, m - 1]] = False
    there[:, [1, n - 1]] = False
    return there


def values(rng, n, dtype):
    """Few small numbers: sums cancel, and zeros are stored."""
    x = rng.integers(-2, 3, n)
    if dtype.startswith("complex"):
        return (x + 1j * rng.integers(-2, 3, n)).astype(dtype)
    if dtype == "bool":
        return x > 0
    return np.abs(x).astype(dtype) if dtype.startswith("u") else x.astype("float32" if dtype == "bfloat16" else dtype)


def stored(rng, there, dtype="float64", fmt="CSR"):
    where = [np.ascontiguousarray(x) for x in np.nonzero(there)]
    t = st.from_coo(where, values(rng, len(where[0]), dtype), there.shape, fmt)
    return t.to(dtype="bfloat16") if dtype == "bfloat16" else t


def others(rng, t):
    """Other values in the same places."""
    dtype = str(t.dtype)
    fresh = values(rng, len(t.values), dtype)
    return t.with_values(st.from_numpy(fresh).to(dtype=dtype).values if dtype == "bfloat16" else fresh)


def bits(t):
    return np.asarray(t.to(dtype="float32").values if str(t.dtype) == "bfloat16" else t.values)


def arrays_of(t):
    out = []
    for level, kind in enumerate(x.kind for x in t.format.levels):
        if kind == "compressed":
            out += [t.pos(level), t.crd(level)]
    return out


def check_same(got, want):
    assert got.format == want.format and got.dtype == want.dtype and got.nse == want.nse
    got.validate()
    for a, b in zip(arrays_of(got), arrays_of(want), strict=True):
        np.testing.assert_array_equal(a, b)
    x, y = bits(got), bits(want)
    np.testing.assert_array_equal(x, y)
    if np.issubdtype(x.dtype, np.floating):
        np.testing.assert_array_equal(np.signbit(x), np.signbit(y))


def check(plan, first, *operands, numeric=True):
    """Reuse gives what a run gives, or is refused where that has another pattern than `first`. `numeric`: is there a
    numeric phase? None: as planning likes."""
    assert numeric is None or ("reuse: a numeric phase" in str(plan.explain())) == numeric
    want = plan.run(*operands)
    mine, its = arrays_of(first), arrays_of(want)
    if len(mine) == len(its) and all(np.array_equal(a, b) for a, b in zip(mine, its, strict=True)):
        got = plan.run(*operands, reuse=first)
        check_same(got, want)
        assert all(np.shares_memory(a, b) or a.size == 0 for a, b in zip(arrays_of(got), mine, strict=True))
        return got
    with pytest.raises(st.PlanError, match="another pattern than the one to be reused: its elements"):
        plan.run(*operands, reuse=first)
    return None


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_every_dtype(dtype, engine):
    rng = np.random.default_rng(DTYPES.index(dtype))
    A, B = stored(rng, pattern(rng, ROWS, INNER), dtype), stored(rng, pattern(rng, INNER, COLUMNS), dtype)
    plan = st.plan(PRODUCT, A=A, B=B)
    first = plan.run(A, B)
    for _ in range(3):
        more = others(rng, A), others(rng, B)
        got = check(plan, first, *more)
        if dtype in ("int64", "float64", "complex128"):
            want = more[0].to_scipy().toarray() @ more[1].to_scipy().toarray()
            np.testing.assert_array_equal(got.to_numpy(), want)
    assert (bits(got) == 0).any() and (bits(got) != 0).any()  # what cancels stays


@pytest.mark.parametrize("semiring", ["plus-times", "min-plus", "max-plus", "max-times", "or-and", "any"])
@pytest.mark.parametrize("text", [PRODUCT, "C(i,k) = A(i,k) + D(i,k)", "C(i,k) = A(i,k) * D(i,k)"])
def test_semirings(semiring, text, engine):
    rng = np.random.default_rng(3)
    dtype = "bool" if semiring == "or-and" else "float64"
    A = stored(rng, pattern(rng, ROWS, INNER), dtype)
    B = stored(rng, pattern(rng, INNER, COLUMNS) if text == PRODUCT else pattern(rng, ROWS, INNER), dtype)
    plan = st.plan(text, A, B, semiring=semiring)
    first = plan.run(A, B)
    for _ in range(2):
        check(plan, first, others(rng, A), others(rng, B), numeric=True if text == PRODUCT else None)


def test_a_semiring_of_one_s_own(engine):
    rng = np.random.default_rng(4)
    A, B = stored(rng, pattern(rng, ROWS, INNER)), stored(rng, pattern(rng, INNER, COLUMNS))
    ring = st.Semiring(add="max(a, b)", multiply="min(a, b)", zero=float("-inf"))
    plan = st.plan(PRODUCT, A, B, semiring=ring)
    check(plan, plan.run(A, B), others(rng, A), others(rng, B))


CASES = {
    "CSC": (PRODUCT, {"format": "CSC"}),
    "DCSR": (PRODUCT, {"format": DCSR}),
    "DCSC": (PRODUCT, {"format": DCSC}),
    "masked": (PRODUCT, {"mask": "D"}),
    "masked out": (PRODUCT, {"mask": "D", "complement_mask": True}),
    "inner": ("C(i,k) = A(i,j) * E(k,j)", {"schedule": "reorder(i, k, j)"}),
    "tensor": ("C(i,j,l) = T(i,j,k) * F(k,l)", {}),
    "tensor times vector": ("C(i,j) = T(i,j,k) * v(k)", {}),
    "vector": ("y(k) = v(i) * F(i,k)", {"format": "(i) -> (i : compressed)"}),
    "vector of rows": ("y(i) = G(i,k) * v(k)", {"format": "(i) -> (i : compressed)"}),
    "sum": ("C(i,k) = D(i,k) + 2 * H(i,k)", {}),
    "sum of three": ("C(i,k) = D(i,k) + H(i,k) * 2 - D(i,k) * H(i,k)", {}),
    "least": ("C(i,k) = min(D(i,k), H(i,k))", {}),
    "elementwise": ("C(i,k) = D(i,k) * H(i,k)", {}),
    "chain": ("C(i,l) = A(i,j) * B(j,k) * E(l,k)", {}),
    "sums inside": ("C(i,k) = A(i,j) * U(j,k,l) * v(l)", {"schedule": "reorder(i, j, k, l)"}),
    "float32": (PRODUCT, {"dtype": "float32"}),
}


def operands_of(case, rng, fmt="CSR"):
    text, options = CASES[case]
    shapes = {
        "A": (ROWS, INNER),
        "B": (INNER, COLUMNS),
        "D": (ROWS, COLUMNS),
        "E": (COLUMNS, INNER),
        "F": (8, 6),
        "G": (6, 8),
        "H": (ROWS, COLUMNS),
        "T": (9, 7, 8),
        "U": (INNER, 7, 8),
        "v": (8,),
    }
    if case == "chain":
        shapes["E"] = (20, COLUMNS)
    forms = {"T": "CSF", "U": "CSF", "v": "(i) -> (i : compressed)"}
    make = {}
    for name, shape in shapes.items():
        density = 0.05 if name == "U" else 0.2 if len(shape) == 2 and shape[0] > 9 else 0.5
        there = rng.random(shape) < density
        there[0] = there[-1] = False
        make[name] = stored(rng, there, fmt=forms.get(name, fmt))
    names = st._core.expression_operands(text)
    options = {k: make[v] if k == "mask" else v for k, v in options.items()}
    return text, {n: make[n] for n in names}, options


@pytest.mark.parametrize("fmt", ["CSR", "CSC", "COO"])
@pytest.mark.parametrize("case", CASES)
def test_results_of_every_kind(case, fmt, engine):
    rng = np.random.default_rng(11)
    text, operands, options = operands_of(case, rng, fmt)
    if fmt == "COO" and text.startswith("C(i,k)"):
        options.setdefault("format", "CSR")  # not that of the operands
    plan = st.plan(text, **operands, **options)
    first = plan.run(*operands.values())
    for _ in range(2):
        check(plan, first, *(others(rng, t) for t in operands.values()))
    # Operands of other patterns: refused, and nothing is written into what was there.
    before = bits(first).copy()
    _, changed, _ = operands_of(case, np.random.default_rng(12), fmt)
    check(plan, first, *changed.values(), numeric=None)
    nothing = [stored(rng, np.zeros(t.shape, bool), fmt=t.format) for t in operands.values()]
    assert first.nse > 0 and check(plan, first, *nothing, numeric=None) is None
    np.testing.assert_array_equal(bits(first), before)


def neighbours(first):
    """Patterns that are nearly the same: `first` as SciPy has it, and others."""
    csr = first.to("CSR").to_scipy()
    there = np.zeros(csr.shape, bool)
    there[np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr)), csr.indices] = True
    i, k = (int(x[len(x) // 2]) for x in np.nonzero(there))
    free = np.argwhere(~there)
    row = next(r for r in range(csr.shape[0]) if there[r].any() and not there[r].all())
    col, gap = np.flatnonzero(there[row])[0], np.flatnonzero(~there[row])[0]

    def changed(**places):
        out = there.copy()
        for state, where in places.items():
            for r, c in where:
                out[r, c] = state == "on"
        return out

    yield "one less", changed(off=[(i, k)])
    yield "the first one less", changed(off=[np.argwhere(there)[0]])
    yield "the last one less", changed(off=[np.argwhere(there)[-1]])
    yield "one more", changed(on=[free[len(free) // 2]])
    yield "one more in the first row", changed(on=[free[0]])
    yield "one more in the last row", changed(on=[free[-1]])
    yield "as many in a row, in another column", changed(off=[(row, col)], on=[(row, gap)])
    yield "as many, in another row", changed(off=[(i, k)], on=[free[0]])
    yield "as many, in the last row", changed(off=[np.argwhere(there)[0]], on=[free[-1]])
    yield "nothing", np.zeros_like(there)
    yield "everything", np.ones_like(there)
    yield "turned", there[::-1, ::-1]


@pytest.mark.parametrize("fmt", ["CSR", DCSR, "CSC", DCSC])
@pytest.mark.parametrize("text", [PRODUCT, "C(i,k) = D(i,k) + 2 * H(i,k)", "C(i,k) = D(i,k) * H(i,k)"])
def test_patterns_that_are_nearly_the_same_are_refused(text, fmt, engine):
    rng = np.random.default_rng(21)
    shapes = [(ROWS, INNER), (INNER, COLUMNS)] if text == PRODUCT else [(ROWS, COLUMNS)] * 2
    A, B = (stored(rng, pattern(rng, *s)) for s in shapes)
    plan = st.plan(text, A, B, format=fmt)
    first = plan.run(A, B)
    numeric = None if fmt in ("CSC", DCSC) else True
    assert check(plan, first, A, B, numeric=numeric) is not None
    for what, there in neighbours(first):
        other = stored(rng, there, fmt=fmt)
        assert other.format == first.format
        assert check(plan, other, A, B, numeric=numeric) is None, what
    assert check(plan, first, others(rng, A), others(rng, B), numeric=numeric) is not None  # and the plan goes on


def test_rows_that_no_loop_comes_to(engine):
    """Of an operand without empty rows: what the earlier result has there is more than a row holds."""
    there = np.zeros((200, INNER), bool)
    there[[50, 120, 121, 198]] = True
    rng = np.random.default_rng(25)
    A, B = stored(rng, there, fmt=DCSR.replace("k", "j")), stored(rng, np.ones((INNER, 3), bool))
    plan = st.plan(PRODUCT, A, B, format="CSR")
    first = plan.run(A, B)
    assert check(plan, first, others(rng, A), others(rng, B)) is not None
    assert "for i in t0" in str(plan.explain())
    where = np.repeat(there[:, :1], 3, axis=1)
    for rows in (slice(None), 0, 49, 199, slice(0, 50), slice(51, 120)):
        more = where.copy()
        more[rows] = True
        assert check(plan, stored(rng, more), A, B) is None, rows
    for row in (50, 120, 198):
        less = where.copy()
        less[row] = False
        assert check(plan, stored(rng, less), A, B) is None, row


@pytest.mark.parametrize("shape", [(600, 500, 550), (1, 3, 900), (900, 3, 1), (5, 1200, 5)])
def test_rows_in_chunks(shape, threads):
    m, inner, n = shape
    rng = np.random.default_rng(31)
    for density in (0.02, 0.2):
        A = stored(rng, rng.random((m, inner)) < density)
        B = stored(rng, rng.random((inner, n)) < density)
        D, H = (stored(rng, rng.random((m, n)) < density) for _ in range(2))
        for fmt in ("CSR", DCSR, "CSC"):
            for text, x, y in ((PRODUCT, A, B), ("C(i,k) = D(i,k) * 2 + H(i,k)", D, H)):
                plan = st.plan(text, x, y, format=fmt)
                first = plan.run(x, y)
                numeric = True if fmt != "CSC" and min(shape) > 5 else None
                got = check(plan, first, others(rng, x), others(rng, y), numeric=numeric)
                assert got is not None
                if fmt == "CSR" and first.nse > 1:
                    csr = first.to_scipy().tocsr()
                    ends = csr.indptr.copy()
                    ends[-1] -= 1
                    cut = sp.csr_array((csr.data[:-1], csr.indices[:-1], np.minimum(ends, ends[-1])), csr.shape)
                    assert check(plan, st.from_scipy(cut), x, y, numeric=numeric) is None


def test_float32_that_is_summed_in_float64(engine):
    rng = np.random.default_rng(35)
    A, B = (stored(rng, rng.random(s) < 0.2, "float32") for s in ((60, 1500), (1500, 40)))
    plan = st.plan(PRODUCT, A=A, B=B, format=DCSR)
    first = plan.run(A, B)
    more = [t.with_values(rng.standard_normal(len(t.values)).astype("float32")) for t in (A, B)]
    check(plan, first, *more, numeric=None)


def test_nan_and_infinities_are_values(engine):
    rng = np.random.default_rng(41)
    A, B = stored(rng, pattern(rng, ROWS, INNER)), stored(rng, pattern(rng, INNER, COLUMNS))
    plan = st.plan(PRODUCT, A=A, B=B)
    first = plan.run(A, B)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    A, B = (t.with_values(odd[rng.integers(0, 6, len(t.values))]) for t in (A, B))
    got = check(plan, first, A, B)
    assert np.isnan(got.values).any()


def test_what_cancels_and_what_is_nothing_in_its_semiring(engine):
    """A value that is what the sum starts from does not say whether anything came."""
    A = st.from_coo(([0, 0, 2], [0, 1, 1]), [1.0, -1.0, 0.0], (3, 2), "CSR")
    B = st.from_coo(([0, 1, 1], [1, 1, 3]), [1.0, 1.0, 5.0], (2, 5), "CSR")
    plan = st.plan(PRODUCT, A=A, B=B)
    first = plan.run(A, B)
    np.testing.assert_array_equal(first.values, [0, -5, 0, 0])
    assert check(plan, first, A, B) is not None
    more = st.from_coo(([0, 0, 0, 2, 2], [1, 3, 4, 1, 3]), np.zeros(5), (3, 5), "CSR")
    assert check(plan, more, A, B) is None  # all zeros, and one of them is nothing's
    inf = A.with_values(np.array([np.inf, 1.0, np.inf]))
    plan = st.plan(PRODUCT, A, B, semiring="min-plus")
    check(plan, plan.run(A, B), inf, B)


def test_wide_and_narrow_coordinates():
    rng = np.random.default_rng(51)
    A, B = stored(rng, pattern(rng, ROWS, INNER)), stored(rng, pattern(rng, INNER, COLUMNS))
    plan = st.plan(PRODUCT, A=A, B=B)
    first = plan.run(A, B)
    wide = st.Tensor(
        "CSR",
        first.shape,
        pos={1: first.pos(1)},
        crd={1: first.crd(1).astype(np.int64)},
        values=first.values,
    )
    check(plan, wide, others(rng, A), others(rng, B))


def test_the_earlier_result_may_be_an_operand():
    rng = np.random.default_rng(61)
    A = stored(rng, np.eye(30, dtype=bool) | pattern(rng, 30, 30))
    square = st.plan("C(i,k) = A(i,j) * B(j,k)", A=A, B=A)
    closed = A
    for _ in range(6):
        closed = square.run(closed, closed) if closed is not A else square.run(A, A)
    got = check(square, closed, closed, closed)
    assert got is not None


def test_scaled():
    rng = np.random.default_rng(71)
    A, B = stored(rng, pattern(rng, ROWS, INNER)), stored(rng, pattern(rng, INNER, COLUMNS))
    plan = st.plan(PRODUCT, A=A, B=B)
    first = plan.run(A, B)
    for alpha in (3, -1, 0):
        check_same(plan.run(A, B, alpha=alpha, reuse=first), plan.run(A, B, alpha=alpha))


@pytest.mark.parametrize(
    "text, options, why",
    [
        (PRODUCT, {"format": "BSR(2, 3)"}, "the result is in blocks"),
        (PRODUCT, {"format": "COO"}, "the result is converted at the end"),
        ("C(i,j) = A(i,j) + D(i,j)", {}, "the last step is not generated loops"),
        ("C(i,j) = exp(A(i,j)) - 1", {}, "the result has the pattern of an operand"),
    ],
)
def test_a_plan_without_a_numeric_phase_says_why_and_compares(text, options, why):
    rng = np.random.default_rng(81)
    A = stored(rng, pattern(rng, ROWS, INNER))
    second = stored(rng, pattern(rng, INNER, COLUMNS) if text == PRODUCT else pattern(rng, ROWS, INNER))
    operands = [A, second][: len(st._core.expression_operands(text))]
    plan = st.plan(text, *operands, **options)
    line = f"reuse: no numeric phase, {why}; all is computed and the patterns compared"
    assert line in str(plan.explain()) and line in str(plan.show())
    got = plan.run(*operands, reuse=plan.run(*operands))
    check_same(got, plan.run(*operands))


def test_a_dense_result_says_nothing_of_reuse():
    A = stored(np.random.default_rng(1), np.eye(5, dtype=bool))
    assert "reuse" not in str(st.plan("y(i) = A(i,j) * x(j)", A=A, x=np.ones(5)).explain())
