"""Plans of whole expressions: sparse results, sums, chains, semirings, masks; made once, run on other tensors of their
types, right whatever these store. Planning looks at types and counts, so all of it works on types alone too."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

ROWS, COLUMNS, INNER = 40, 30, 35


def matrix(m, n, seed, density=0.15, fmt="CSR", dtype=np.float64):
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, (m, n)) * (rng.random((m, n)) < density)
    return st.from_scipy(sp.csr_array(values.astype(dtype))).to(fmt)


def dense(*shape, seed=0):
    return np.random.default_rng(seed).integers(1, 9, shape).astype(float)


def spgemm(seed, fmt="CSR"):
    return dict(A=matrix(ROWS, INNER, seed, fmt=fmt), B=matrix(INNER, COLUMNS, seed + 1, fmt=fmt))


def same_shape(seed, fmt="CSR"):
    return dict(A=matrix(ROWS, COLUMNS, seed, fmt=fmt), B=matrix(ROWS, COLUMNS, seed + 1, fmt=fmt))


def with_dense(seed, fmt="CSR"):
    return dict(A=matrix(ROWS, COLUMNS, seed, fmt=fmt), X=dense(COLUMNS, 6, seed=seed), u=dense(ROWS, seed=seed + 1))


def attention(seed, fmt="CSR"):
    q, k, v = (np.random.default_rng(seed + n).standard_normal((ROWS, 5)) for n in range(3))
    return dict(A=matrix(ROWS, ROWS, seed, fmt=fmt), Q=q, K=k, V=v)


WEIGHT = "A(i,j) * exp(sum(k, Q(i,k) * K(j,k)))"
CASES = {
    "product": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {}),
    "in COO": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {"format": "COO"}),
    "in DCSC": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {"format": "(i, k) -> (k : compressed, i : compressed)"}),
    "min-plus": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {"semiring": "min-plus"}),
    "sum": ("C(i,j) = A(i,j) + B(i,j)", same_shape, {}),
    "difference and number": ("C(i,j) = 2 * A(i,j) - B(i,j)", same_shape, {}),
    "elementwise": ("C(i,j) = A(i,j) * B(i,j)", same_shape, {}),
    "function": ("C(i,j) = relu(A(i,j) - 4)", same_shape, {}),
    "float32": ("C(i,j) = A(i,j) + B(i,j)", same_shape, {"dtype": "float32"}),
    "largest": ("m(i) = max(j, A(i,j) * B(i,j))", same_shape, {}),
    "whole": ("s = max(i, max(j, abs(A(i,j))))", same_shape, {}),
    "chain": ("C(i,d) = A(i,j) * X(j,d) * u(i)", with_dense, {}),
    "in its pattern": ("C(i,j) = A(i,j) * X(j,k) * X(j,k) * u(i)", with_dense, {}),
    "plus dense": ("y(i) = u(i) - A(i,j) * X(j,d)", with_dense, {}),
    "index values": ("C(i,j) = A(i,j) * (i > j)", same_shape, {}),
    "shifted": ("C(i,j) = A(i + 1?, j) + A(i - 1?, j)", same_shape, {}),
    "attention": (f"Y(i,d) = sum(j, {WEIGHT} * V(j,d)) / sum(j, {WEIGHT})", attention, {}),
    "scheduled": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {"schedule": "reorder(i, j, k)"}),
    "masked": ("C(i,k) = A(i,j) * B(j,k)", spgemm, {"mask": matrix(ROWS, COLUMNS, 77)}),
}


def as_arrays(x):
    return (x.to_numpy(), x.nse, x.format) if isinstance(x, st.Tensor) else (np.asarray(x), None, None)


def check_equal(got, want):
    (a, n, f), (b, m, g) = as_arrays(got), as_arrays(want)
    assert a.dtype == b.dtype and n == m and f == g
    np.testing.assert_array_equal(a, b)


def used(text, operands):
    return {name: operands[name] for name in st._core.expression_operands(text)}


@pytest.mark.parametrize("fmt", ["CSR", "COO", "CSC"])
@pytest.mark.parametrize("case", CASES)
def test_a_plan_does_what_evaluate_does_and_again_on_other_tensors(case, fmt):
    text, make, options = CASES[case]
    operands = used(text, make(3, fmt))
    plan = st.plan(text, **options, **operands)
    check_equal(plan.run(*operands.values()), st.evaluate(text, **options, **operands))
    assert plan.output_shape == plan.run(*operands.values()).shape
    before = st._core.programs_made()
    results = []
    for seed in (20, 40, 60):
        others = used(text, make(seed, fmt))
        results.append((plan.run(*others.values()), others))
    if case != "whole":  # planned once more where its values are counted
        assert st._core.programs_made() == before
    for got, others in results:
        want = st.evaluate(text, **options, **others)
        a, b = as_arrays(got)[0], as_arrays(want)[0]
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_an_einsum_of_two_sparse_matrices_has_a_sparse_result():
    operands = spgemm(5)
    plan = st.plan("ij,jk->ik", operands["A"], operands["B"])
    got = plan.run(operands["A"], operands["B"])
    assert got.format == "CSR"
    want = operands["A"].to_scipy() @ operands["B"].to_scipy()
    np.testing.assert_array_equal(got.to_numpy(), want.toarray())
    assert st.plan("ij,jk->ik", *operands.values(), format="COO").run(*operands.values()).format == "COO"
    assert "C(i,k) = A(i,j) * B(j,k)" in repr(plan) and plan.expression == "C(i,k) = A(i,j) * B(j,k)"


@pytest.mark.parametrize("case", CASES)
def test_no_call_plans_twice(case):
    text, make, options = CASES[case]
    operands = used(text, make(7))
    st.evaluate(text, **options, **operands)
    before = st._core.programs_made()
    for _ in range(3):
        st.evaluate(text, **options, **operands)
    assert st._core.programs_made() == before


def test_what_a_plan_takes_is_checked():
    A, B = spgemm(1).values()
    plan = st.plan("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    with pytest.raises(st.PlanError, match="operand B is not what the plan was made for"):
        plan.run(A, B.to("COO"))
    with pytest.raises(st.PlanError, match="another number of operands"):
        plan.run(A)
    with pytest.raises(st.PlanError, match="operand A"):
        plan.run(A.to(dtype="float32"), B)
    with pytest.raises(st.ExpressionError, match="names 2 operands"):
        st.plan("C(i,k) = A(i,j) * B(j,k)", A)


def test_results_go_where_they_are_wanted():
    A, B = same_shape(1).values()
    text = "C(i,j) = A(i,j) + B(i,j)"
    want = A.to_numpy() + B.to_numpy()
    plan = st.plan(text, A=A, B=B)
    np.testing.assert_array_equal(plan.run(A, B, alpha=3).to_numpy(), 3 * want)
    out = np.ones((ROWS, COLUMNS))
    assert plan.run(A, B, out=out, alpha=2, beta=-1) is out
    np.testing.assert_array_equal(out, 2 * want - 1)


# --- what is taken for granted of operands -----------------------------------------------------------------------------


def test_rows_without_elements_are_left_out_of_a_quotient_of_sums():
    text = CASES["attention"][0]
    full = attention(11)
    a = full["A"].to_scipy().toarray()
    a[:, 0] = 1  # every row has an element
    holes = a.copy()
    holes[[3, 17]] = 0
    full["A"] = st.from_dense(a, "CSR")
    other = {**full, "A": st.from_dense(holes, "CSR")}
    assert "guard: every row" in st.explain(text, full)
    plan = st.plan(text, **full)
    for operands, pattern in ((full, a), (other, holes), (full, a)):
        weight = pattern * np.exp(operands["Q"] @ operands["K"].T)
        with np.errstate(invalid="ignore"):
            want = np.where(weight.any(1, keepdims=True), weight @ operands["V"] / weight.sum(1, keepdims=True), 0)
        for got in (plan.run(*used(text, operands).values()), st.evaluate(text, operands)):
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_number_that_sums_nothing_is_absent():
    text = "C(i,j) = B(i,j) / sum(k, sum(l, A(k,l)))"
    some, B = same_shape(2).values()
    nothing = st.from_scipy(sp.csr_array((ROWS, COLUMNS)))
    plan = st.plan(text, A=some, B=B)
    general = st._core.evaluate(text, dict(A=nothing, B=B), general=True)
    for A in (some, nothing, some):
        got, want = plan.run(B, A), st._core.evaluate(text, dict(A=A, B=B), general=True)
        np.testing.assert_allclose(got.to_numpy(), want.to_numpy(), rtol=1e-13)
    np.testing.assert_array_equal(st.evaluate(text, A=nothing, B=B).to_numpy(), general.to_numpy())


def test_an_infinity_in_a_quotient_of_sums_is_computed_as_it_is_written():
    text = "y(i) = sum(j, A(i,j) * B(i,j) / sum(k, A(i,k) * C(i,k)))"
    A, B = same_shape(4).values()
    C = A.with_values(np.ones(len(A.values)))
    cancels = A.with_values(np.where(np.arange(len(A.values)) % 2, -1.0, 1.0) / A.values)
    plan = st.plan(text, A=A, B=B, C=C)
    for other in (C, cancels, C):
        got = plan.run(A, B, other)
        want = st._core.evaluate(text, dict(A=A, B=B, C=other), general=True)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_operands_that_shared_a_pattern_need_not_do_so_again():
    A, other = same_shape(6).values()
    twin = A.with_values(A.values + 1)
    plan = st.plan("C(i,j) = A(i,j) * B(i,j)", A=A, B=twin)
    np.testing.assert_array_equal(plan.run(A, twin).to_numpy(), A.to_numpy() * twin.to_numpy())
    np.testing.assert_array_equal(plan.run(A, other).to_numpy(), A.to_numpy() * other.to_numpy())
    apart = st.plan("C(i,j) = A(i,j) * B(i,j)", A=A, B=other)
    np.testing.assert_array_equal(apart.run(A, twin).to_numpy(), A.to_numpy() * twin.to_numpy())


def test_a_full_tensor_has_no_absent_elements_to_count():
    full = st.from_dense(-dense(80, 80, seed=3), "CSR")
    gaps = full.to_numpy()
    gaps[5, 7] = 0
    gaps = st.from_dense(gaps, "CSR")
    for first, second, want in ((full, gaps, 0), (gaps, full, -1)):
        plan = st.plan("s = max(i, max(j, A(i,j)))", A=first)
        plan.run(first)
        assert plan.run(second) == want == st.evaluate("s = max(i, max(j, A(i,j)))", A=second)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_made_on_the_way_may_be_full_or_not(full, sign):
    """Whether elements of a step's result are absent is known when it is there: a zero counts then, or none does."""
    a, b = dense(90, 80, seed=1), sign * dense(80, 70, seed=2)
    if not full:
        a[7] = 0
    for text, want in (
        ("s = max(i, max(j, sum(k, A(i,k) * B(k,j))))", (a @ b).max()),
        ("s = min(i, min(j, sum(k, A(i,k) * B(k,j))))", (a @ b).min()),
        ("s = max(i, max(j, A(i,k) * B(k,j)))", None),
    ):
        operands = dict(A=st.from_dense(a, "CSR"), B=st.from_dense(b, "CSR"))
        want = st._core.evaluate(text, operands, general=True) if want is None else want
        assert st.evaluate(text, operands) == want, text
        assert st.plan(text, **operands).run(*operands.values()) == want, text


def test_values_that_do_not_lie_side_by_side():
    A, B = same_shape(8).values()
    spread = A.with_values(np.repeat(A.values, 2)[::2])
    plan = st.plan("C(i,j) = A(i,j) + B(i,j)", A=A, B=B)
    np.testing.assert_array_equal(plan.run(spread, B).to_numpy(), A.to_numpy() + B.to_numpy())


def test_more_diagonals_than_were_expected():
    band = st.from_scipy(sp.diags_array([1.0, 2.0, 3.0], offsets=[-1, 0, 1], shape=(600, 600)).tocsr())
    scattered = matrix(600, 600, 9, density=0.02)
    plan = st.plan("C(i,k) = A(i,j) * B(j,k)", A=band, B=band, format="DIA")
    assert "guard" in str(plan.explain())
    for A, B in ((band, band), (scattered, band), (scattered, scattered)):
        want = A.to_scipy() @ B.to_scipy()
        np.testing.assert_allclose(plan.run(A, B).to_numpy(), want.toarray())


def test_nothing_stored():
    empty = st.from_scipy(sp.csr_array((ROWS, COLUMNS)))
    A, B = same_shape(12).values()
    for text in ("C(i,j) = A(i,j) * B(i,j)", "C(i,j) = exp(A(i,j) * 2) - B(i,j) * 0 - 1", "C(i,j) = relu(A(i,j))"):
        operands = used(text, dict(A=A, B=B))
        plan = st.plan(text, **operands)
        for some in ({**operands, "A": empty}, operands, dict.fromkeys(operands, empty)):
            np.testing.assert_array_equal(
                plan.run(*some.values()).to_numpy(), np.asarray(st.evaluate(text, **some).to_numpy())
            )


# --- types alone -------------------------------------------------------------------------------------------------------


def huge(fmt="CSR", n=10**9, nse=10**10):
    return st.TensorType(fmt, (n, n), "float64", nse=nse)


def test_explain_and_show_need_no_tensors():
    told = str(st.explain("C(i,k) = A(i,j) * B(j,k)", A=huge(), B=huge()))
    assert "A  CSR 1000000000 x 1000000000, float64, pos int64, crd int32" in told
    assert "generated code serves" in told and "result  CSR" in told
    code = str(st.show("C(i,k) = A(i,j) * B(j,k)", A=huge(), B=huge()))
    assert "--- C ---" in code and "workspace over k" in code
    first = str(st.explain("C(i,k) = A(i,j) * B(j,k)", A=huge("CSC"), B=huge()))
    assert "first A to" in first


def test_types_and_tensors_are_explained_alike():
    for case, (text, make, options) in CASES.items():
        operands = used(text, make(3))
        types = {
            name: st.TensorType(
                x.format if isinstance(x, st.Tensor) else "dense",
                x.shape,
                x.dtype,
                nse=x.nse if isinstance(x, st.Tensor) else None,
            )
            for name, x in operands.items()
        }
        if any(isinstance(v, st.Tensor) for v in options.values()):
            continue  # a mask is a tensor
        assert str(st.explain(text, operands, **options)) == str(st.explain(text, types, **options)), case
        plan = st.plan(text, **types, **options)
        check_equal(plan.run(*operands.values()), st.evaluate(text, operands, **options))


def test_what_is_shown_is_what_runs(tmp_path, monkeypatch):
    """The C text that show() makes from types is one that was compiled."""
    monkeypatch.setenv("STRATA_CACHE_DIR", str(tmp_path))
    for case in ("product", "sum", "elementwise", "in COO", "min-plus", "attention"):
        text, make, options = CASES[case]
        operands = used(text, make(3))
        before = st.settings.engine
        st.settings.engine = "jit"
        try:
            shown = str(st.plan(text, **operands, **options).show())
            assert shown == str(st.show(text, operands, **options))
            assert "--- C ---" in shown
        finally:
            st.settings.engine = before


def test_nothing_is_computed_to_explain():
    """Steps included: of tensors whose product would fill the memory of any machine."""
    n = 10**7
    column = st.from_coo([np.arange(n), np.zeros(n, int)], np.ones(n), (n, 1), "CSR")
    row = column.T
    text = "C(i,k) = exp(sum(j, A(i,j) * B(j,k))) * A(i,l) * B(l,k)"
    told = str(st.explain(text, A=column, B=row))
    assert "steps:" in told or "serves" in told


def test_a_type_says_what_it_is():
    t = st.TensorType("CSR", (4, 8), nse=5)
    assert repr(t) == "<strata.TensorType CSR 4 x 8, float64, pos int32, crd int32, nse 5>"
    assert (t.format, t.shape, t.dtype, t.nse) == (st.Format("CSR"), (4, 8), np.float64, 5)
    assert st.TensorType("CSR", (4, 8)).nse is None
    assert "int64" in repr(st.TensorType("CSR", (10, 10**10)))
    with pytest.raises(st.FormatError):
        st.TensorType("CXR", (4, 8))
    with pytest.raises(st.TensorError):
        st.TensorType("CSR", (4, -8))


# --- patterns that are kept --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fmt", ["CSR", "COO", "CSC", "BSR(2, 3)"])
@pytest.mark.parametrize("text", ["C(i,k) = A(i,j) * B(j,k)", "C(i,j) = A(i,j) + B(i,j)", "C(i,j) = A(i,j) * B(i,j)"])
def test_a_result_reuses_the_pattern_of_an_earlier_one(text, fmt):
    A, B = (spgemm if "k" in text else same_shape)(1).values()
    plan = st.plan(text, A=A, B=B, format=fmt)
    first = plan.run(A, B)
    others = [t.with_values(np.random.default_rng(3).standard_normal(len(t.values))) for t in (A, B)]
    again = plan.run(*others, reuse=first)
    check_equal(again, plan.run(*others))
    kinds = [level.kind for level in first.format.levels]
    level = kinds.index("compressed")
    assert np.shares_memory(again.crd(level), first.crd(level))
    check_equal(plan.run(A, B, alpha=2, reuse=first), plan.run(A, B, alpha=2))


def test_a_pattern_that_is_not_the_result_s_is_refused():
    A, B = spgemm(1).values()
    plan = st.plan("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    first = plan.run(A, B)
    other = matrix(ROWS, INNER, 50)
    with pytest.raises(st.PlanError, match="another pattern than the one to be reused: its elements"):
        plan.run(other, B, reuse=first)
    with pytest.raises(st.PlanError, match="its format"):
        plan.run(A, B, reuse=first.to("COO"))
    with pytest.raises(st.PlanError, match="its shape"):
        plan.run(A, B, reuse=A)
    with pytest.raises(st.PlanError, match="reuse takes an earlier result"):
        plan.run(A, B, reuse=np.ones((ROWS, COLUMNS)))
    with pytest.raises(st.PlanError, match="a fresh tensor"):
        plan.run(A, B, out=np.zeros((ROWS, COLUMNS)), reuse=first)
    with pytest.raises(st.PlanError, match="no pattern to reuse"):
        st.plan("y(i) = A(i,j) * x(j)", A=A, x=np.ones(INNER)).run(A, np.ones(INNER), reuse=A)


def test_a_planned_matmul_of_two_sparse_matrices_is_sparse():
    A, B = spgemm(1).values()
    want = A.to_scipy() @ B.to_scipy()
    with st.Matmul(A, B, alpha=2) as mm:
        assert "generated code" in mm.plan().kernel_name
        got = mm.execute()
        assert got.format == "CSR"
        np.testing.assert_array_equal(got.to_numpy(), 2 * want.toarray())
        mm.reset_operands(a=A.with_values(A.values * 3))
        np.testing.assert_array_equal(mm.execute().to_numpy(), 6 * want.toarray())
    c = np.ones((ROWS, COLUMNS))
    with st.Matmul(A, B, c, beta=-1) as mm:
        mm.plan()
        assert mm.execute() is c
    np.testing.assert_array_equal(c, want.toarray() - 1)
    with st.Matmul(B, A, transpose_a=True, transpose_b=True) as mm:
        mm.plan()
        np.testing.assert_array_equal(mm.execute().to_numpy(), want.toarray().T)
