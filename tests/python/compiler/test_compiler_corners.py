"""Where few expressions go: structured levels, batches, all semirings, mixed dtypes, chains, masks with schedules."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from differential import STRUCTURED, check_conversion, check_expression

import strata as st


@pytest.fixture(params=["auto", "interpreter", "general"])
def evaluate(request, monkeypatch):
    """evaluate() by compiled code, by the interpreter, by the general path."""
    general = request.param == "general"
    monkeypatch.setattr(st.settings, "engine", "auto" if general else request.param)
    return lambda spec, named, **options: st._core.evaluate(spec, named, **options, general=general)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def matrix(rng, *shape, density=0.4):
    return np.where(rng.random(shape) < density, rng.integers(1, 6, shape), 0).astype(float)


def numbers(x):
    if isinstance(x, st.Tensor):
        x.validate()
        return np.asarray(x.to_dense())
    return np.asarray(x)


# --- structured levels -----------------------------------------------------------------------------------------------
TWO_OF_FOUR = st.Format("structured(2, 4)")


def pruned(rng, rows, columns):
    """Two of each four are not 0."""
    groups = rng.permuted(np.tile([1, 1, 0, 0], (rows, columns // 4, 1)), axis=2).reshape(rows, columns)
    return groups * rng.integers(1, 6, (rows, columns)).astype(float)


def test_structured_results(evaluate, rng):
    w, b = pruned(rng, 5, 12), matrix(rng, 5, 12)
    A, B = st.from_dense(w, "CSR"), st.from_dense(b, "CSC")
    for spec, want in [("R(i,j) = A(i,j) * 2", w * 2), ("R(i,j) = A(i,j) * B(i,j)", w * b)]:
        got = evaluate(spec, dict(A=A, B=B) if "B(" in spec else dict(A=A), format=TWO_OF_FOUR)
        assert got.format == TWO_OF_FOUR and got.nse == w.size // 2 and np.array_equal(numbers(got), want)
    W = st.from_dense(w, TWO_OF_FOUR)
    got = evaluate("R(i,j) = W(i,j) * x(j)", dict(W=W, x=b[0]))
    assert got.format == TWO_OF_FOUR and np.array_equal(numbers(got), w * b[0])
    got = evaluate("R(i,j) = X(i,j)", dict(X=b), mask=W)
    assert got.format == TWO_OF_FOUR and np.array_equal(numbers(got), np.where(w != 0, b, 0))


def test_structured_results_that_do_not_fit(evaluate, rng):
    w, full = pruned(rng, 5, 12), np.ones((5, 12))
    named = dict(A=st.from_dense(w, "CSR"), B=st.from_dense(full, "CSR"))
    with pytest.raises(st.TensorError, match=r"too many elements in group(.|\n)*at most 2 of 4"):
        evaluate("R(i,j) = A(i,j) + B(i,j)", named, format=TWO_OF_FOUR)
    got = evaluate("R(i,j) = A(i,j) + B(i,j)", named, format="structured(2, 4) + COO")
    assert got.parts[0].nse == got.parts[1].nse == full.size // 2  # the rest goes to the second part
    assert np.array_equal(numbers(got), w + full)


BESIDE_STRUCTURED = {
    "R(i,j) = W(i,j) * B(i,j)": lambda w, b: w * b,
    "R(i,j) = W(i,j) + B(i,j)": lambda w, b: w + b,
    "R(i,k) = W(i,j) * B(k,j)": lambda w, b: w @ b.T,
    "R(i,j) = exp(W(i,j)) * B(i,j)": lambda w, b: np.exp(w) * b,
    "y(i) = W(i,j) * B(i,j) * W(i,j)": lambda w, b: (w * b * w).sum(1),
}


@pytest.mark.parametrize("spec", BESIDE_STRUCTURED)
def test_structured_operands_beside_sparse_ones(evaluate, spec, rng):
    w, b = pruned(rng, 5, 12), matrix(rng, 5, 12)
    got = evaluate(spec, dict(W=st.from_dense(w, TWO_OF_FOUR), B=st.from_dense(b, "CSR")))
    assert np.allclose(numbers(got), BESIDE_STRUCTURED[spec](w, b))


def test_structured_operands_in_semirings(evaluate, rng):
    """The slots that pad a group are missing there."""
    w, b = pruned(rng, 5, 12), matrix(rng, 5, 12)
    w[:, 4:8] = 0
    W, B = st.from_dense(w, TWO_OF_FOUR), st.from_dense(b, "CSR")
    got = evaluate("R(i,k) = W(i,j) * B(k,j)", dict(W=W, B=B), semiring="min-plus", format="CSR")
    both = (w[:, None] != 0) & (b[None] != 0)
    assert np.array_equal(numbers(got), np.where(both, w[:, None] + b[None], np.inf).min(2))


def test_structured_levels_in_random_formats(monkeypatch):
    for seed in range(STRUCTURED, STRUCTURED + 200):
        check_conversion(seed)
    monkeypatch.setattr(st.settings, "engine", "interpreter")
    for seed in range(STRUCTURED, STRUCTURED + 200):
        check_expression(seed)


def test_elements_without_room_go_to_the_next_part():
    full = np.ones((2, 6))
    got = st.from_dense(full, "(i, j) -> (i / 2: compressed, j: padded(1), i % 2: bitmap) + CSR")
    assert np.array_equal(numbers(got), full)


# --- batches ---------------------------------------------------------------------------------------------------------
BATCHED = "(b, i, j) -> (b: batch, i: dense, j: compressed)"


@pytest.mark.parametrize("formats", [(BATCHED, BATCHED), (BATCHED, "CSF"), ("BatchedCSR", BATCHED), (BATCHED, "COO")])
def test_several_batched_operands(evaluate, formats, rng):
    x, y, z, u = matrix(rng, 3, 4, 5), matrix(rng, 3, 4, 5), matrix(rng, 3, 5, 4), matrix(rng, 5, 6)
    X, Y, Z, U = (st.from_dense(a, f) for a, f in zip((x, y, z, u), (*formats, formats[1], "CSR")))
    for spec, named, want in [
        ("R(b,i,j) = X(b,i,j) * Y(b,i,j)", dict(X=X, Y=Y), x * y),
        ("R(b,i,j) = X(b,i,j) - 2 * Y(b,i,j)", dict(X=X, Y=Y), x - 2 * y),
        ("R(b,i,j) = sin(X(b,i,j)) + cos(Y(b,i,j))", dict(X=X, Y=Y), np.sin(x) + np.cos(y)),
        ("R(b,i,k) = X(b,i,j) * Z(b,j,k)", dict(X=X, Z=Z), x @ z),
        ("R(b,i,k) = X(b,i,j) * Y(b,i,j) * U(j,k)", dict(X=X, Y=Y, U=U), (x * y) @ u),
        ("R(i,j) = X(b,i,j) * Y(b,i,j)", dict(X=X, Y=Y), (x * y).sum(0)),
        ("m(b) = max(i, max(j, X(b,i,j) * Y(b,i,j)))", dict(X=X, Y=Y), (x * y).max((1, 2))),
    ]:
        assert np.allclose(numbers(evaluate(spec, named)), want), spec
    got = evaluate("R(b,i,j) = X(b,i,j) * Y(b,i,j)", dict(X=X, Y=Y), format=BATCHED)
    assert got.format == st.Format(BATCHED) and got.format.num_batch_levels == 1
    assert np.array_equal(numbers(got), x * y)


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", [BATCHED, "CSF", None])
def test_batched_products_under_masks(evaluate, format, complement, rng):
    x, z, m = matrix(rng, 3, 4, 5), matrix(rng, 3, 5, 4), matrix(rng, 3, 4, 4)
    X, Z = st.from_dense(x, BATCHED), st.from_dense(z, BATCHED)
    mask = m != 0 if format is None else st.from_dense(m, format)
    got = evaluate("R(b,i,k) = X(b,i,j) * Z(b,j,k)", dict(X=X, Z=Z), mask=mask, complement_mask=complement)
    assert np.array_equal(numbers(got), np.where((m != 0) != complement, x @ z, 0))


# --- semirings -------------------------------------------------------------------------------------------------------
RINGS = {  # NumPy's addition and multiplication, and what stands for nothing
    "plus-times": (np.add, np.multiply, 0),
    "min-plus": (np.minimum, np.add, np.inf),
    "max-plus": (np.maximum, np.add, -np.inf),
    "max_times": (np.maximum, np.multiply, -np.inf),
    "or-and": (np.logical_or, np.logical_and, False),
}


@pytest.mark.parametrize("result", [None, "dense"])
@pytest.mark.parametrize("formats", [("CSR", "CSR"), ("CSC", "COO"), ("BSR(2, 3)", "DCSR")])
@pytest.mark.parametrize("name", RINGS)
def test_each_semiring(evaluate, name, formats, result, rng):
    a, b = matrix(rng, 6, 9), matrix(rng, 9, 5)
    A, B = st.from_dense(a, formats[0]), st.from_dense(b, formats[1])
    add, multiply, zero = RINGS[name]
    x, y = np.broadcast_arrays(a[:, :, None], b[None])
    want = add.reduce(np.where((x != 0) & (y != 0), multiply(x, y), zero), axis=1, initial=zero)
    got = numbers(evaluate("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), semiring=name, format=result))
    assert got.dtype == want.dtype and np.array_equal(got, want)


def assert_any(got, products, there):
    """Each element is one of the products that it could be, or 0 where there is none."""
    for at in np.ndindex(got.shape):
        choice = products[at][there[at]]
        assert got[at] in choice if choice.size else got[at] == 0, at


@pytest.mark.parametrize("formats", [("CSR", "CSR"), ("CSC", "COO"), ("DCSR", "CSC"), ("delta(2)", "BSR(3, 1)")])
def test_any(evaluate, formats, rng):
    a, b, v = matrix(rng, 6, 9), matrix(rng, 9, 5), matrix(rng, 6)
    A, B = st.from_dense(a, formats[0]), st.from_dense(b, formats[1])
    got = evaluate("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), semiring="any", format="CSR")
    products = a[:, None, :] * b.T[None]
    assert_any(numbers(got), products, products != 0)
    assert got.nse == np.count_nonzero((products != 0).any(2))
    got = evaluate("y(i) = A(i,j)", dict(A=A), semiring="any", format="(i) -> (i: compressed)")
    assert_any(numbers(got), a, a != 0)
    # one step of a search: some parent of each vertex that was not seen
    V = st.from_dense(v, "(i) -> (i: compressed)")
    seen = st.from_dense(np.arange(9.0) % 2, "(j) -> (j: compressed)")
    got = evaluate("y(j) = V(i) * A(i,j)", dict(V=V, A=A), semiring="any", mask=seen, complement_mask=True)
    reached = numbers(got)
    assert not reached[1::2].any()
    assert_any(reached[::2], (v * a.T)[::2], (v * a.T != 0)[::2])


INTO_DENSE = {  # the index of the result runs inside of the sum
    "y(i) = A(i,j)": ("CSC", lambda a, x: (a, a != 0)),
    "y(j) = x(i) * A(i,j)": ("CSR", lambda a, x: ((x[:, None] * a).T, a.T != 0)),
    "C(j,k) = A(i,j) * A(i,k)": ("CSR", lambda a, x: (a.T[:, None] * a.T[None], a.T[:, None] * a.T[None] != 0)),
}


@pytest.mark.parametrize("spec", INTO_DENSE)
def test_any_into_a_dense_result(evaluate, spec, rng):
    a, x = matrix(rng, 6, 9), np.arange(1.0, 7)
    format, reference = INTO_DENSE[spec]
    named = dict(A=st.from_dense(a, format)) | (dict(x=x) if "x(" in spec else {})
    assert_any(numbers(evaluate(spec, named, semiring="any", format="dense")), *reference(a, x))


def test_negative_factors_in_max_times(evaluate):
    """max(a * b) is a * max(b) for a >= 0 alone: such a chain may not be contracted in pairs."""
    a = np.array([[-1.0, 2.0], [0.0, -3.0]])
    b = np.array([[4.0, 1.0], [-2.0, 5.0]])
    v = np.array([1.0, -2.0])
    named = dict(A=st.from_dense(a, "CSR"), B=st.from_dense(b, "CSR"), v=v)
    got = evaluate("y(i) = A(i,j) * B(j,k) * v(k)", named, semiring="max-times")
    products = a[:, :, None] * b[None] * v
    assert numbers(got).tolist() == np.where(a[:, :, None] != 0, products, -np.inf).max((1, 2)).tolist()


def test_two_dtypes_in_a_semiring(evaluate, rng):
    a, b = matrix(rng, 5, 6).astype("int32"), matrix(rng, 6, 4)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    got = numbers(evaluate("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), semiring="min-plus"))
    both = (a[:, :, None] != 0) & (b[None] != 0)
    assert got.dtype == float and np.array_equal(got, np.where(both, a[:, :, None] + b[None], np.inf).min(1))


def test_three_factors_of_two_dtypes_in_a_semiring(evaluate, rng):
    a, b = matrix(rng, 5, 6).astype("int32"), matrix(rng, 5, 6)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    got = numbers(evaluate("C(i,j) = A(i,j) * A(i,j) * B(i,j)", dict(A=A, B=B), semiring="min-plus"))
    assert np.array_equal(got, np.where((a != 0) & (b != 0), 2 * a + b, np.inf))


def test_a_sum_over_nothing_meets_a_wider_dtype(evaluate):
    empty, b = st.from_dense(np.zeros(3, "int32"), "(l) -> (l: compressed)"), np.array([1.0, 3.0])
    for spec in ("y(k) = sum(l, A(l)) * b(k)", "y(k) = A(l) * b(k)"):
        got = numbers(evaluate(spec, dict(A=empty, b=b), semiring="max-times", format="dense"))
        assert got.tolist() == [-np.inf, -np.inf], spec


# --- functions, formats, dtypes --------------------------------------------------------------------------------------
erf = np.vectorize(math.erf, otypes=[float])


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-6), ("int32", 1e-12)])
def test_sin_erf_and_log(evaluate, dtype, tolerance, rng):
    a, b = matrix(rng, 6, 7).astype(dtype), matrix(rng, 6, 7).astype(dtype)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "DCSR")
    with np.errstate(divide="ignore"):
        for spec, want in [
            ("R(i,j) = sin(A(i,j)) * B(i,j)", np.sin(a) * b),
            ("R(i,j) = sin(A(i,j)) + erf(B(i,j))", np.sin(a) + erf(b)),
            ("R(i,j) = log(1 + A(i,j)) * erf(B(i,j))", np.log(1 + a) * erf(b)),
            ("R(i,j) = log(A(i,j)) - B(i,j)", np.log(a) - b),  # -inf where nothing is stored
            ("R(i) = sum(j, sin(A(i,j)) * log(2 + B(i,j)))", (np.sin(a) * np.log(2 + b)).sum(1)),
        ]:
            named = {n: t for n, t in dict(A=A, B=B).items() if n in spec}
            got = evaluate(spec, named)
            assert np.allclose(numbers(got), want, rtol=tolerance, atol=tolerance), spec
            assert numbers(got).dtype == np.sin(a).dtype, spec


def test_products_of_dcsr_are_dcsr(evaluate, rng):
    a, b = matrix(rng, 9, 8, density=0.2), matrix(rng, 8, 7, density=0.2)
    a[[0, 3, 4]] = 0
    A, B = st.from_dense(a, "DCSR"), st.from_dense(b, "DCSR")
    got = evaluate("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B))
    assert got.format == st.Format("DCSR") and np.array_equal(numbers(got), a @ b)
    rows = np.flatnonzero((a @ b).any(1))  # all values are positive: nothing cancels
    assert np.array_equal(got.crd(0), rows) and np.array_equal(got.crd(1), sp.csr_array(a @ b).indices)
    assert (A @ B).equal(got, storage=True)


@pytest.mark.parametrize(
    "one, two",
    [
        ("int32", "float32"),
        ("int64", "float64"),
        ("complex64", "float64"),
        ("complex128", "float32"),
        ("complex64", "int32"),
        ("bool", "int32"),
        ("bool", "float32"),
        ("bool", "bool"),
        ("uint8", "int32"),
        ("float16", "float32"),
    ],
)
def test_mixed_dtypes(evaluate, one, two, rng):
    a, b = matrix(rng, 6, 6), matrix(rng, 6, 6)
    if one.startswith("complex"):
        a = a * (1 + 2j)
    a, b = a.astype(one), b.astype(two)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "COO")
    for spec, want in [
        ("R(i,j) = A(i,j) * B(i,j)", a * b),
        ("R(i,j) = A(i,j) + B(i,j)", a + b),
        ("R(i,k) = A(i,j) * B(j,k)", np.einsum("ij,jk->ik", a, b)),
        ("R(i,j) = B(i,j) * A(i,j) * B(i,j) + A(i,j)", b * a * b + a),
        ("R(i,l) = A(i,j) * B(j,k) * A(k,l)", np.einsum("ij,jk,kl->il", a, b, a)),
    ]:
        got = numbers(evaluate(spec, dict(A=A, B=B)))
        assert got.dtype == want.dtype and np.array_equal(got, want), spec


# --- orders ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "extents, first", [((60, 80, 70, 3), "(j,l) = B(j,k) * C(k,l)"), ((3, 70, 80, 60), "(i,k) = A(i,j) * B(j,k)")]
)
def test_chains_are_contracted_in_the_cheap_order(extents, first, rng):
    a, b, c = (matrix(rng, *extents[d : d + 2], density=0.3) for d in range(3))
    named = {n: st.from_dense(x, "CSR") for n, x in zip("ABC", (a, b, c))}
    spec = "R(i,l) = A(i,j) * B(j,k) * C(k,l)"
    text = str(st.explain(spec, named))
    steps = re.findall(r"^ *\d+\. \S+?(\(.*)$", text, re.M)
    assert len(steps) == 2 and steps[0] == first
    made = re.search(r"^ *#\w+  CSR (\d+) x (\d+)", text, re.M)  # what the first step gives to the second
    assert min(extents) in (int(made[1]), int(made[2]))
    assert np.array_equal(numbers(st.evaluate(spec, named)), a @ b @ c)
    assert np.array_equal(numbers(st.einsum("ij,jk,kl->il", *named.values())), a @ b @ c)


MASKED_SCHEDULES = [
    "reorder(i, j, k)",
    "reorder(i, k, j)",
    "parallelize(i)",
    "assemble(append)",
    "assemble(workspace)",
    "split(j, jo, ji, 4); reorder(i, jo, ji, k)",
    "split(i, io, ii, 7); reorder(io, ii, j, k); parallelize(io)",
    "precompute(T(j,k) = 2 * B(j,k))",
]


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("mask", ["CSR", "CSC", "COO", None])
@pytest.mark.parametrize("schedule", MASKED_SCHEDULES)
def test_masks_with_schedules(schedule, mask, complement, rng):
    a, b, m = matrix(rng, 30, 20, density=0.2), matrix(rng, 20, 50, density=0.2), matrix(rng, 30, 50)
    A, B, M = st.from_dense(a, "CSR"), st.from_dense(b, "CSR"), m != 0 if mask is None else st.from_dense(m, mask)
    want = np.where((m != 0) != complement, 2 * a @ b, 0)
    options = dict(schedule=schedule, mask=M, complement_mask=complement)
    spec = "C(i,k) = A(i,j) * (2 * B(j,k))"
    for format in ("CSR", "dense"):
        if "assemble" in schedule and format == "dense":
            continue
        assert np.array_equal(numbers(st.evaluate(spec, A=A, B=B, format=format, **options)), want), format
    how = st.explain(spec, A=A, B=B, **options)
    assert f"schedule  {schedule}" in how and "mask  " in how and ("complement of" in how) == complement


# --- masks and dense results --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("kind", ["min", "max"])
@pytest.mark.parametrize("format", ["dense", "(i) -> (i / 2: dense, i % 2: dense)"])
def test_what_a_mask_leaves_out_of_a_dense_extremum_is_the_fill(format, kind, dtype):
    """Not what the reduction begins with: the loops must not stand so that it would stay."""
    x = np.arange(-9, 9).reshape(3, 6).astype(dtype)
    kept = np.array([1.0, 1, 0, 0, 1, 1])
    mask = st.from_dense(kept, "(i) -> (i: compressed)")
    got = numbers(st.evaluate(f"R(k) = {kind}(m, A(m,k) + B(m,k))", A=x, B=x, mask=mask, format=format))
    want = getattr(np, kind)(2 * x, axis=0)
    assert np.array_equal(got, np.where(kept != 0, want, 0))
