"""The general path: whole expressions over any formats, against NumPy, SciPy and by hand."""

import numpy as np
import pytest
import scipy.sparse as sp
from differential import BLOCKED, NESTED, STRUCTURED
from random_expressions import DIVIDED, WIDE, check

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 3)", "ELL", "delta(2)", "CSR + COO", "(i, j) -> (i: compressed, j: bitmap)"]
FORMATS += ["(i, j) -> (j - i: compressed, i: range)"]


def matrix(rng, *shape, density=0.4):
    return np.where(rng.random(shape) < density, rng.integers(1, 6, shape), 0).astype(float)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("first", [0, WIDE, STRUCTURED, BLOCKED, NESTED, DIVIDED])
@pytest.mark.parametrize("block", range(20))
def test_random(block, first):
    """6,000 cases. 2,040 of them are compiled too, which takes 30 ms each where nothing is cached: most of the time."""
    for seed in range(first + 60 * block, first + 60 * (block + 1)):
        check(seed, compiled=block < (10 if first == 0 else 6))


def test_elements_without_room_go_to_the_next_part():
    check(WIDE + 1165)


@pytest.mark.parametrize("a", FORMATS)
@pytest.mark.parametrize("b", FORMATS)
def test_product_of_sparse_matrices_is_sparse(a, b, rng):
    x, y = matrix(rng, 5, 6), matrix(rng, 6, 7)
    got = st.from_dense(x, a) @ st.from_dense(y, b)
    assert isinstance(got, st.Tensor) and not got.format.is_all_dense
    assert np.array_equal(got.to_dense(), x @ y)


def test_formats_of_results(rng):
    x, y = matrix(rng, 5, 5), matrix(rng, 5, 5)
    csr, csc, coo = st.from_dense(x, "CSR"), st.from_dense(y, "CSC"), st.from_dense(y, "COO")
    assert (csr @ csr).format == st.Format("CSR")
    assert (csr @ csc).format == st.Format("CSR")
    assert st.evaluate("C(i,j) = A(i,j) * x(j)", A=csc, x=x[0]).format == st.Format("CSC")
    assert st.evaluate("C(j,i) = A(i,j)", A=csr).format == st.Format("CSC")
    assert st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=csr, B=csr).format == st.Format("CSR")
    assert st.einsum("ij,jk->ki", csr, csr).format == st.Format("CSC")
    masked = st.evaluate("C(i,j) = exp(A(i,j) - v(i))", A=csr, v=x[0], mask=csc)
    assert masked.format == st.Format("CSC") and masked.nse == csc.nse
    assert st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=csr, B=coo, format="BSR(2, 2)").format == st.Format("BSR(2, 2)")
    assert isinstance(st.evaluate("C(i,j) = A(i,j) + X(i,j)", A=csr, X=y), np.ndarray)
    assert isinstance(st.evaluate("y(i) = A(i,j) * x(j)", A=csr, x=x[0]), np.ndarray)
    assert "pattern of 'A'" in st._core.result_format("C(i,j) = A(i,j) * X(i,k) * Y(k,j)", dict(A=csr, X=x, Y=y))[1]


@pytest.mark.parametrize("f", FORMATS)
def test_semiring_steps_do_not_depend_on_the_format(f):
    w = np.zeros((4, 4))
    w[0, 1] = w[1, 2] = w[2, 3] = 5
    W, start = st.from_dense(w, f), np.array([0, np.inf, np.inf, np.inf])
    step = lambda v: st.evaluate("y(i) = W(j,i) * v(j)", W=W, v=v, semiring="min-plus")  # noqa: E731
    assert step(start).tolist() == [np.inf, 5, np.inf, np.inf]
    assert step(step(start)).tolist() == [np.inf, np.inf, 10, np.inf]
    whole = st.from_dense(w.astype(np.int64), f)
    top = np.iinfo(np.int64).max
    v = st.evaluate("y(i) = W(j,i) * v(j)", W=whole, v=np.array([0, top, top, top]), semiring="min-plus")
    assert st.evaluate("y(i) = W(j,i) * v(j)", W=whole, v=v, semiring="min-plus").tolist() == [top, top, 10, top]
    both = st.evaluate("y(i) = v(i) + W(j,i) * v(j)", W=W, v=start, semiring="min-plus")
    assert both.tolist() == [0, 5, np.inf, np.inf]


def test_nothing_times_something_is_nothing():
    b = np.array([np.inf, -np.inf, 0.0])
    nothing = np.array([np.inf, np.inf, np.inf])
    assert st.evaluate("y(i) = a(i) * b(i)", a=nothing, b=b, semiring="min-plus").tolist() == [np.inf] * 3
    assert st.evaluate("y(i) = a(i) * b(i)", a=-nothing, b=b, semiring="max-times").tolist() == [-np.inf] * 3
    empty = st.from_dense(np.zeros((3, 4)), "CSR")  # sums over nothing, times a stored 0
    got = st.evaluate("y(i) = sum(j, A(i,j)) * b(i)", A=empty, b=b, semiring="max-times", format="dense")
    assert got.tolist() == [-np.inf] * 3


def test_absent_elements_annihilate_and_explicit_zeros_do_not():
    a = st.from_scipy(sp.csr_array(([0.0, 2.0], ([0, 1], [0, 1])), shape=(2, 2)))
    x = np.array([np.inf, np.nan])
    got = st.evaluate("C(i,j) = A(i,j) * x(j)", A=a, x=x, format="COO")
    assert got.nse == 2 and np.isnan(got.to_dense()).tolist() == [[True, False], [False, True]]
    b = st.from_dense(np.array([[np.inf, 0], [0, 1]]), "CSR")
    assert np.isnan((a @ b).to_dense()).tolist() == [[True, False], [False, False]]


def test_duplicates_coalesce_before_functions():
    a = st.from_coo([np.array([0, 0, 1]), np.array([1, 1, 0])], np.array([1.0, 2.0, 4.0]), (2, 2), "COO")
    raw = st.from_scipy(sp.coo_array(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)))
    for t in (a, raw):
        assert st.evaluate("B(i,j) = A(i,j) * A(i,j)", A=t, format="dense").tolist() == [[0, 9], [16, 0]]


def test_fills_and_reductions_see_absent_elements(rng):
    x = -matrix(rng, 4, 6)
    A = st.from_dense(x, "CSR")
    assert st.evaluate("m(i) = max(j, A(i,j))", A=A, format="dense").tolist() == x.max(1).tolist()
    e = st.evaluate("B(i,j) = exp(A(i,j))", A=A)
    assert e.fill == 1 and e.nse == A.nse
    assert np.allclose(st.evaluate("s(i) = sum(j, exp(A(i,j)))", A=A, format="dense"), np.exp(x).sum(1))
    text = "P(i,j) = exp(A(i,j) - max(k, A(i,k))) / sum(k, exp(A(i,k) - max(l, A(i,l))))"
    softmax = st.evaluate(text, A=A, format="dense")
    z = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(softmax, z / z.sum(1, keepdims=True))


def test_masks_are_structural(rng):
    x, m = matrix(rng, 6, 6), matrix(rng, 6, 6, density=0.2)
    A, M = st.from_dense(x, "CSR"), st.from_dense(m, "COO")
    got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=A, mask=M)
    assert np.array_equal(got.to_dense(), np.where(m != 0, x @ x, 0))
    dense = st.einsum("ij,jk->ik", x, x, mask=M, format="CSR")
    assert dense.nse == M.nse and np.array_equal(dense.to_dense(), np.where(m != 0, x @ x, 0))


@pytest.mark.parametrize("f", [*FORMATS, None])
def test_complemented_masks(f, rng):
    x, m = matrix(rng, 6, 6), matrix(rng, 6, 6, density=0.2)
    A, M = st.from_dense(x, "CSR"), m != 0 if f is None else st.from_dense(m, f)
    want = np.where(m != 0, 0, x @ x)
    options = dict(mask=M, complement_mask=True)
    assert np.array_equal(st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=A, **options).to_dense(), want)
    assert np.array_equal(st.einsum("ij,jk->ik", A, x, **options, format="CSR").to_dense(), want)
    assert np.array_equal(st.einsum("ij,jk->ik", x, x, **options), want)
    # one step of a breadth first search: what was seen is not reached again
    seen = np.array([1, 1, 0, 0, 0, 0], bool)
    step = st.evaluate("y(j) = A(i,j) * v(i)", A=A, v=seen, semiring="or-and", mask=seen, complement_mask=True)
    step = step if isinstance(step, np.ndarray) else step.to_dense()
    assert np.array_equal(step, ((x[:2] != 0).any(0)) & ~seen)


def test_masks_of_numbers(rng):
    x = rng.random(4)
    for f in (None, st.from_dense):
        for on in (False, True):
            mask = np.array(on) if f is None else st.from_dense(np.array(on), "dense")
            assert float(st.einsum("i->", x, mask=mask)) == pytest.approx(x.sum() * on)
            assert float(st.einsum("i->", x, mask=mask, complement_mask=True)) == pytest.approx(x.sum() * (1 - on))


def test_affine_accesses(rng):
    x, w = matrix(rng, 12), np.array([1.0, 2.0, 3.0])
    for a in (x, st.from_dense(x, "(i) -> (i: compressed)")):
        convolved = st.evaluate("y(i) = A(i + r) * w(r)", {"A": a, "w": w}, format="dense")
        assert np.array_equal(convolved, np.correlate(x, w, "valid"))
        assert np.array_equal(st.evaluate("y(i) = A(2*i + 1)", A=a, format="dense"), x[1::2])
        assert np.array_equal(st.evaluate("y(i) = A(11 - i)", A=a, format="dense"), x[::-1])
    with pytest.raises(st.ExpressionError, match="leaves dimension 0"):
        st.evaluate("y(i) = A(i + 1) * b(i)", A=x, b=x)


def test_an_einsum_goes_elsewhere():
    with pytest.raises(st.ExpressionError, match="no result is assigned") as e:
        st.evaluate("ij,j->i", A=np.ones((2, 2)), x=np.ones(2))
    assert "einsum" in e.value.fix


def test_large_extents_cost_what_is_stored():
    n = 2**40
    at = np.array([5, n - 1, n // 3])
    a = st.from_coo([at, at[::-1].copy(), at], np.array([1.0, 2.0, 3.0]), (n, n, n), "COO")
    b = st.from_coo([at, at[::-1].copy(), at], np.array([10.0, 20.0, 30.0]), (n, n, n), "COO")
    got = st.evaluate("C(i,j,k) = A(i,j,k) + B(i,j,k)", A=a, B=b)
    assert got.nse == 3 and got[5, int(at[2]), 5] == 11
    assert float(st.evaluate("s = A(i,j,k) * B(i,j,k)", A=a, B=b)) == 140
    assert st.evaluate("D(i,l) = A(i,j,k) * B(l,j,k)", A=a, B=b, format="COO").nse == 3


def test_many_operands_contract_in_a_good_order(rng):
    n = 3000
    s = sp.random(n, n, density=2e-3, format="csr", random_state=3)
    A, x = st.from_scipy(s), rng.random(n)
    assert np.allclose(st.einsum("ij,jk,kl,l->i", A, A, A, x), s @ (s @ (s @ x)))
    assert np.isclose(float(st.einsum("ij,jk,ki->", A, A, A)), (s @ s).multiply(s.T).sum())


def test_accumulate(rng):
    x, c = matrix(rng, 4, 4), matrix(rng, 4, 4)
    A, held = st.from_dense(x, "CSR"), c.copy()
    assert st.evaluate("C(i,k) += A(i,j) * B(j,k)", C=held, A=A, B=A) is held
    assert np.array_equal(held, c + x @ x)
    sparse = st.evaluate("C(i,k) += A(i,j) * B(j,k)", C=st.from_dense(c, "COO"), A=A, B=A)
    assert isinstance(sparse, st.Tensor) and np.array_equal(sparse.to_dense(), c + x @ x)
    with pytest.raises(st.DTypeError, match="cannot hold"):
        st.evaluate("C(i,k) += A(i,j) * B(j,k)", C=c.astype(int), A=A, B=A)


PRINTED = [
    ("y(i)=b(i)-A(i,j)*x(j)", "y(i) = b(i) - A(i,j) * x(j)"),
    ("C(i,k)+=A(i,j)*B(j,k)", "C(i,k) += A(i,j) * B(j,k)"),
    ("s = -(a - (b - c)) / 2.50", "s = -(a - (b - c)) / 2.5"),
    ("y(i) = max(j, A(2*i + j - 1, j)) // 3 % -2", "y(i) = max(j, A(2*i + j - 1,j)) // 3 % -2"),
    ("y(i) = max(a(i), 1e3) == (b(i) < 2)", "y(i) = max(a(i), 1000.0) == (b(i) < 2)"),
    ("y(i) = sum(j, k, exp(A(i,j,k)))", "y(i) = sum(j, sum(k, exp(A(i,j,k))))"),
]


@pytest.mark.parametrize("given, printed", PRINTED)
def test_printed_form_parses_back(given, printed):
    assert st._core.print_assignment(given) == printed
    assert st._core.print_assignment(printed) == printed


WRONG = [
    ("y(i) = (A(i,j)*x(j) + b(i)) * b(i)", "write sum(j, A(i,j) * x(j))"),
    ("y(i) = sum(A(i,j))", "write sum(j, A(i,j))"),
    ("y(i) = A(i,j) * x(k", "',' or ')'"),
    ("y(i) = A(i,j) ** 2", "there is no '**'"),
    ("y(i) = A(i,j) +", "the end of the text"),
    ("y(i,i) = A(i,i)", "index twice"),
    ("y(i) == b(i)", "an operand is missing"),
    ("y(i) = 1 < b(i) < 2", "do not chain"),
    ("y(i) = y(i) * 2", "write '+='"),
    ("y(i) = b(i*j)", "product of two indices"),
    ("y(i) = 1..2 * b(i)", "does not end here"),
    ("y(i) = " + "(" * 200 + "b(i)" + ")" * 200, "nest too deeply"),
    ("y(i) = " + "+".join(["b(i)"] * 3000), "too many operations"),
    ("y(i) = sum(k, A(i,j))", "body lacks"),
]


@pytest.mark.parametrize("spec, message", WRONG)
def test_refused_texts(spec, message):
    with pytest.raises(st.ExpressionError) as e:
        st._core.print_assignment(spec)
    assert message in str(e.value)


def test_refused_evaluations(rng):
    x = matrix(rng, 3, 4)
    A, empty = st.from_dense(x, "CSR"), st.from_dense(np.zeros((3, 0)), "CSR")
    for call, error, message in [
        (lambda: st.evaluate("y(i) = A(i,j) * x(j)", A=A), st.ExpressionError, "by name"),
        (lambda: st.evaluate("y(i) = A(i,j) * B(j)", A=A, B=A), st.ExpressionError, "does not fit"),
        (lambda: st.evaluate("C(i,j) = A(i,j) * B(j,i)", A=A, B=A), st.ExpressionError, "two extents"),
        (lambda: st.evaluate("C(i,k) = A(i,j)", A=A), st.ExpressionError, "no operand has"),
        (lambda: st.evaluate("y(i) = exp(A(i,j))", A=A, semiring="any"), st.ExpressionError, "has no meaning"),
        (lambda: st.evaluate("y(i) = A(i,j)", A=A, semiring="min-max"), st.ExpressionError, "plus-times"),
        (lambda: st.evaluate("C(i,j) = A(i,j)", A=A, mask=np.ones((4, 4))), st.TensorError, "mask"),
        (lambda: st.evaluate("y(i) = max(j, A(i,j))", A=empty), st.ExpressionError, "of nothing"),
        (lambda: st.evaluate("C(i,j) = A(i,j) + 300", A=A.to(dtype="uint8")), st.DTypeError, "does not fit uint8"),
    ]:
        with pytest.raises(error, match=message):
            call()


SEMIRINGS = {  # name: (the same by expressions, NumPy's addition and multiplication)
    "min-plus": (("min(a, b)", "a + b", np.inf), np.minimum, np.add),
    "max-plus": (("max(a, b)", "a + b", -np.inf), np.maximum, np.add),
    "max-times": (("max(a, b)", "a * b", -np.inf), np.maximum, np.multiply),
    "widest paths": (("max(a, b)", "min(a, b)", -np.inf), np.maximum, np.minimum),
    "min-max": (("min(a, b)", "max(a, b)", np.inf), np.minimum, np.maximum),
    "first": (("min(a, b)", "a", np.inf), np.minimum, lambda a, b: a + 0 * b),
    "log-sum": (("log(exp(a) + exp(b))", "a + b", -np.inf), np.logaddexp, np.add),
    "squares": (("a + b", "(a - b) * (a - b)", 0), np.add, lambda a, b: (a - b) ** 2),
}


def product_in(semiring, x, y):
    """Over the stored elements of both, by NumPy."""
    (_, _, zero), plus, times = SEMIRINGS[semiring]
    a, b = np.broadcast_arrays(x[:, :, None], y[None])
    with np.errstate(all="ignore"):
        products = np.where((a != 0) & (b != 0), times(a, b), zero)
        return plus.reduce(products, axis=1, initial=zero)


@pytest.mark.parametrize("f", FORMATS)
@pytest.mark.parametrize("name", SEMIRINGS)
def test_semirings_by_expressions(name, f, rng):
    x, y = matrix(rng, 5, 6), matrix(rng, 6, 4)
    add, multiply, zero = SEMIRINGS[name][0]
    A, B, want = st.from_dense(x, f), st.from_dense(y, "COO"), product_in(name, x, y)
    for semiring in (st.Semiring(add=add, multiply=multiply, zero=zero), f"{add}; {multiply}; {zero}"):
        got = st.einsum("ij,jk->ik", A, B, semiring=semiring)
        assert got.fill == zero and np.allclose(got.to_dense(), want)
    if name.startswith("m") and name[3] == "-" and name != "min-max":
        assert st.einsum("ij,jk->ik", A, B, semiring=name).equal(got, storage=True)
    if "log" in name:
        return
    whole = st.einsum("ij,jk->ik", A.to(dtype="int64"), B.to(dtype="int64"), semiring=semiring).to_dense()
    none = np.isinf(want)
    info = np.iinfo(np.int64)
    assert whole.dtype == np.int64 and (whole[none] == (info.max if zero > 0 else info.min)).all()
    assert np.array_equal(whole[~none], want[~none])


def test_long_products_in_semirings_of_users(rng):
    x = [matrix(rng, 5, 5, density=0.5) for _ in range(4)]
    tensors = [st.from_dense(a, "CSR") for a in x]
    widest = st.Semiring("max(a, b)", "min(a, b)", -np.inf)
    assert widest == st.Semiring("max(a,b)", "min(a,b)", -np.inf) != st.Semiring("max(a,b)", "a + b", -np.inf)
    assert str(widest) == "max(a, b); min(a, b); -inf"
    want = x[0]
    for a in x[1:]:
        want = product_in("widest paths", want, a)
        want = np.where(np.isinf(want), 0, want)
    got = st.einsum("ij,jk,kl,lm->im", *tensors, semiring=widest).to_dense()
    assert np.array_equal(np.where(np.isinf(got), 0, got), want)
    # the left factor survives: products are not reordered
    first = st.einsum("ij,jk,k->i", tensors[0], tensors[1], np.full(5, 0.5), semiring="min(a, b); a; inf")
    first = first if isinstance(first, np.ndarray) else first.to_dense()
    reach = ((x[0] != 0)[:, :, None] & (x[1] != 0)[None]).any(2)
    assert np.array_equal(first, np.where(reach, x[0], np.inf).min(1))


def test_refused_semirings():
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    run = lambda s, a=x: st.einsum("ij,jk->ik", a, a, semiring=s)  # noqa: E731
    for call, error, message in [
        (lambda: run("a - b; a * b; 0"), st.ExpressionError, "equal to add\\(b, a\\)"),
        (lambda: run("(a + b) / 2; a * b; 0"), st.ExpressionError, "equal to a"),
        (lambda: run("a + b; a * b; 1"), st.ExpressionError, "add\\(a, zero\\) equal to a"),
        (lambda: run("abs(a + b) + a * b * (a - b) * (a - b); a; 0"), st.ExpressionError, "add\\(a, add\\(b, c\\)\\)"),
        (lambda: run("a + c; a * b; 0"), st.ExpressionError, "scalars a and b"),
        (lambda: run("a + b(i); a * b; 0"), st.ExpressionError, "scalars a and b"),
        (lambda: run("a + ; a * b; 0"), st.ExpressionError, "an operand is missing"),
        (lambda: run("a + b; a * b; zero"), st.ExpressionError, "additive identity"),
        (lambda: run("a + b; a * b"), st.ExpressionError, "add; multiply; zero"),
        (lambda: run(3), st.ExpressionError, "a name"),
        (lambda: run("a + b; sqrt(a * b); 0", x.astype(int)), st.DTypeError, "operands of float64"),
        (lambda: run("max(a, b); a * b; 0.5", x.astype(int)), st.DTypeError, "does not fit"),
        (lambda: st.Semiring("a + b", "a * b", float("nan")), st.ExpressionError, "NaN"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_a_number_as_an_operand_fills_a_sum():
    c = np.zeros((3, 3))
    c[1, 1] = 2
    C, b = st.from_dense(c, "(i, j) -> (i: dense, j: padded)"), np.array(3.0)
    got = st.evaluate("R(i,j) = b + C(i,j)", b=b, C=C)
    assert isinstance(got, np.ndarray) and np.array_equal(got, b + c)
    assert st.evaluate("R(i,j) = b * C(i,j)", b=b, C=C).format == C.format


def test_every_way_gives_the_same(rng):
    x, y, v = matrix(rng, 6, 5), matrix(rng, 5, 7), rng.random(5)
    A, B = st.from_dense(x, "CSR"), st.from_dense(y, "CSR")
    for spec, named, want in [
        ("y(i) = A(i,j) * v(j)", dict(A=A, v=v), x @ v),
        ("C(i,k) = A(i,j) * Y(j,k)", dict(A=A, Y=y), x @ y),
        ("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), x @ y),
        ("C(i,j) = A(i,j) * v(j)", dict(A=A, v=v), x * v),
        ("C(i,j) = A(i,j) + A(i,j)", dict(A=A), x + x),
        ("y(i) = A(i,j) * A(i,j) * v(j)", dict(A=A, v=v), x * x @ v),
    ]:
        for general in (False, True):
            got = st._core.evaluate(spec, named, general=general)
            got = got if isinstance(got, np.ndarray) else got.to_dense()
            assert np.allclose(got, want), (spec, general)
        out = np.full((*want.shape, 2), np.nan)[..., 0]
        assert st.evaluate(spec, named, out=out) is out and np.allclose(out, want)


def test_writing_into_memory_that_is_given(rng):
    x, y = matrix(rng, 4, 5), matrix(rng, 5, 3)
    A, B = st.from_dense(x, "CSR"), st.from_dense(y, "CSC")
    for a, b in [(A, B), (A, y), (x, y), (x, B)]:
        c = np.ones((4, 3))
        out = c.copy()
        assert st.einsum("ij,jk->ik", a, b, out=out, alpha=2, beta=3) is out and np.allclose(out, 2 * (x @ y) + 3 * c)
        out = c.astype("float32")
        assert st.einsum("ij,jk->ik", a, b, out=out) is out and np.allclose(out, x @ y)
        with pytest.raises(st.DTypeError, match="cannot hold"):
            st.einsum("ij,jk->ik", a, b, out=np.ones((4, 3), int))
        with pytest.raises(st.PlanError, match="another shape"):
            st.einsum("ij,jk->ik", a, b, out=np.ones((3, 4)))
        with pytest.raises(st.PlanError, match="no out"):
            st.einsum("ij,jk->ik", a, b, beta=1)
        with pytest.raises(st.PlanError, match="semiring"):
            st.einsum("ij,jk->ik", a, b, out=c, alpha=2, semiring="min-plus")
    held = np.ones((4, 3))
    assert st.evaluate("C(i,k) += A(i,j) * Y(j,k)", C=held, A=A, Y=y) is held and np.allclose(held, 1 + x @ y)
    scaled = st.einsum("ij,jk->ik", A, B, alpha=2)
    assert scaled.format == st.einsum("ij,jk->ik", A, B).format and np.allclose(scaled.to_dense(), 2 * (x @ y))
    with pytest.raises(st.PlanError, match="alpha"):
        st.einsum("ij,jk->ik", A, B, alpha=2j)


def test_explain(rng):
    A, v = st.from_dense(matrix(rng, 5, 5), "CSR"), rng.random(5)
    text = str(st.explain("y(i) = A(i,j) * v(j)", A=A, v=v))
    assert "a written kernel serves" in text and "dense" in text
    text = str(st.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=A))
    assert (
        "2 operands are sparse" in text
        and "CSR: the sparse operands have all of its indices" in text
        and "workspace over k" in text
    )
    assert "pattern of 'A'" in str(st.explain("C(i,j) = sqrt(A(i,j)) * v(j)", A=A, v=v))
    text = str(st.explain("y(i) = A(i,j) * v(j)", A=A, v=v, semiring="min(a, b); a + b; inf", format="dense"))
    assert "semiring is min(a, b); a + b; inf" in text and "as asked for" in text
    assert "not one product" in str(st.explain("y(i) = v(i) + A(i,j) * v(j)", A=A, v=v))
    with pytest.raises(st.ExpressionError, match="by name"):
        st.explain("y(i) = A(i,j) * v(j)", A=A)
    with pytest.raises(st.ExpressionError, match="two extents"):
        st.explain("y(i) = A(i,j) * v(j)", A=A, v=rng.random(4))


def test_what_is_asked_for_alone_is_computed(rng):
    """Inside a sparse factor, or under a mask, dense sums are taken where that stores something."""
    s, x, w = matrix(rng, 6, 7, density=0.3), rng.random((6, 4)), rng.random((7, 4))
    s[0, 0] = 2
    full = x @ w.T
    for f in FORMATS:
        S = st.from_dense(s, f)
        got = st.evaluate("y(i) = sum(j, S(i,j) * exp(sum(k, X(i,k) * W(j,k))))", S=S, X=x, W=w)
        assert np.allclose(got if isinstance(got, np.ndarray) else got.to_dense(), (s * np.exp(full)).sum(1)), f
        got = st.evaluate("C(i,j) = S(i,j) * (2 + sum(k, X(i,k) * W(j,k)))", S=S, X=x, W=w)
        assert np.allclose(got.to_dense(), s * (2 + full)), f
        got = st.evaluate("C(i,j) = X(i,k) * W(j,k)", X=x, W=w, mask=S)
        assert np.allclose(got.to_dense(), np.where(s != 0, full, 0)) and got.nse >= np.count_nonzero(s), f
    with np.errstate(invalid="ignore"):
        e = np.where(s != 0, np.exp(s - s.max(1, keepdims=True)), 0)
        want = np.where(s != 0, e / e.sum(1, keepdims=True), 0)
    S = st.from_dense(s, "CSR")
    ones = st.from_dense((s != 0) * 1.0, "CSR")
    text = "P(i,j) = O(i,j) * exp(S(i,j) - max(k, S(i,k))) / sum(k, O(i,k) * exp(S(i,k) - max(l, S(i,l))))"
    got = st.evaluate(text, O=ones, S=S, mask=S)
    assert (
        got.nse == S.nse and np.allclose([v for _, v in got.items()], want[s != 0]) and got.fill == 0
    )  # an absent numerator


@pytest.mark.parametrize("f", FORMATS)
def test_accesses_that_are_not_plain(f, rng):
    x, k, d = matrix(rng, 8, 8), rng.random((3, 2)), rng.random(20)
    A, K = st.from_dense(x, f), st.from_dense(k, "CSR")
    dense = lambda t: t.to_dense() if isinstance(t, st.Tensor) else t  # noqa: E731
    want = sum(x[r : r + 6, s : s + 7] * k[r, s] for r in range(3) for s in range(2))
    for kernel in (k, K):
        for format in (None, "dense", "CSR", "CSC"):
            got = st.evaluate("Y(i,j) = A(i+r, j+s) * K(r,s)", A=A, K=kernel, format=format)
            assert np.allclose(dense(got), want), (format, type(kernel))
    for spec, want in [
        ("y(i) = A(i,i) * d(19-2*i)", x.diagonal() * d[19:3:-2]),
        ("C(i,j) = A(2*i,j) + A(j,2*i+1) * 0 + B(i,j)", None),
        ("y(j) = A(3,j) * d(j+5)", x[3] * d[5:13]),
        ("s = A(i,i)", np.trace(x)),
        ("y(i) = max(j, A(2*i,j) * d(i+j))", np.stack([x[2 * i] * d[i : i + 8] for i in range(4)]).max(1)),
    ]:
        named = dict(A=A)
        if "B(" in spec:
            named["B"] = st.from_dense(x[:4], "COO")
            want = x[::2] + x[:4]
        if "d(" in spec:
            named["d"] = d
        got = st.evaluate(spec, named)
        assert np.allclose(dense(got), want), spec
        got = st._core.evaluate(spec, named, general=True)
        assert np.allclose(dense(got), want), spec


def test_written_sums_of_floats_are_planned(rng):
    x = matrix(rng, 5, 6)
    for dtype in ("float64", "float32", "int32", "bool"):
        A = st.from_dense(x.astype(dtype), "CSR")
        whole = st.evaluate("s = sum(i, sum(j, A(i,j)))", A=A)
        assert whole == x.astype(dtype).sum() and np.asarray(whole).dtype == x.astype(dtype).sum().dtype
    text = str(st.explain("s(i) = sum(j, A(i,j))", A=st.from_dense(x, "CSR"), format="dense"))
    assert "csr_row_sums" in text and (" chosen " in text or "generated code serves" in text)
