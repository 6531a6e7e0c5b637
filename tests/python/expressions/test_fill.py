"""What absent elements are: a fill that is zero has no sign, an absent numerator stays absent, sums of formats around
any fill."""

import re

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "bitmap", "BSR(4, 4) + COO"]
D = np.array([[1.0, 0, 2, 0, 0], [0, -3, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 4], [5, 0, 0, -6, 0]])


def dense(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex64", "complex128"])
def test_a_fill_that_is_zero_is_positive(format, dtype):
    a = st.from_dense(D.astype(dtype), format)
    for negative in (-a, a * -1, 0 - a, st.evaluate("R(i,j) = -A(i,j)", A=a)):
        assert not np.signbit(np.real(negative.fill)), negative.fill
        np.testing.assert_array_equal(negative.to_dense(), -D.astype(dtype))
    assert not np.signbit(np.real(st.Tensor(*_csr(dtype), fill=np.array(-0.0, dtype)).fill))


def _csr(dtype):
    return "CSR", (1, 2), {1: [0, 1]}, {1: [1]}, np.ones(1, dtype)


@pytest.mark.parametrize("format", FORMATS)
def test_one_by_a_negated_tensor_is_positive_infinity_where_nothing_is(format):
    a = st.from_dense(D, format)
    with np.errstate(divide="ignore"):
        inverse, fused = 1 / (-a), st.evaluate("R(i,j) = 1 / (-A(i,j))", A=a)
    assert inverse.fill == np.inf and fused.fill == np.inf
    expected = np.full_like(D, np.inf)
    expected[D != 0] = -1 / D[D != 0]
    b = st.from_dense(np.eye(5), "COO")
    for x in (
        inverse.to("CSR"),
        fused.to("CSR"),
        st.evaluate("R(i,j) = 1 / (-A(i,j)) + B(i,j)", A=a.to("CSR"), B=b) - b,
    ):
        np.testing.assert_allclose(x.to_dense(), expected)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "float8_e5m2", "complex64", "complex128", "int32"])
def test_leaving_a_format_with_fill_in_drops_zeros_of_either_sign(format, dtype):
    a = st.from_dense(D, format).to(dtype=dtype)
    for target in ("CSR", "COO", "CSC", "DCSR", "ELL", "delta(4)", "BSR(2, 2)"):
        scaled = (a * -1).to(target)
        assert scaled.nse == a.to(target).nse
        if "(" not in target:
            assert scaled.nse == np.count_nonzero(D)
    assert (a * -1).to("CSR", zeros="keep").nse == a.nse
    if dtype == "float64":
        exact = st.from_dense(np.where(D == 0, -0.0, D), format, threshold=None)
        assert np.signbit(exact.to("CSR", zeros="keep").to_dense()).sum() == 20


def test_dense_memory_keeps_its_signs():
    d = np.array([[0.0, -0.0], [-0.0, 1.0]])
    assert st.from_dense(d, "CSR").nse == 1 and st.from_dense(d, "CSR", threshold=None).nse == 3
    assert st.from_dense(d, "BSR(1, 1)").nse == 1 and st.from_dense(d, "COO", threshold=None).nse == 3
    kept = st.from_dense(d, "(i, j) -> (j: dense, i: dense)")
    np.testing.assert_array_equal(np.signbit(kept.to_dense()), np.signbit(d))


FILLS = {
    "0": lambda x: x,
    "-0": lambda x: -x,
    "1": np.exp,
    "-2": lambda x: x - 2,
    "inf": lambda x: 1 / x,
    "-inf": lambda x: -1 / abs(x),
    "nan": lambda x: np.log(x - 1),
}
WORK = {
    "abs": abs,
    "-": lambda x: -x,
    ">": lambda x: x > 1,
    "+": lambda x: x + 1,
    "+ itself": lambda x: x + x,
    "* itself": lambda x: x * x,
    "** 2": lambda x: x**2,
    "@": lambda x: x @ np.arange(5.0),
    "@ itself": lambda x: x @ x.T,
    "max": lambda x: x.max(),
    "min(0)": lambda x: x.min(axis=0),
    "sum": lambda x: x.sum(),
    "sum(1)": lambda x: x.sum(axis=1),
    "any(1)": lambda x: x.any(axis=1),
    "all": lambda x: x.all(),
    "exp": np.exp,
    "1 / (x + 1)": lambda x: 1 / (x + 1),
    "x / x": lambda x: x / (x + 9),
    "maximum": lambda x: np.maximum(x, 2),
    "rows": lambda x: x[1:4],
    "columns": lambda x: x[:, [4, 0, 0]],
}


@pytest.mark.parametrize("format", ["BSR(4, 4) + COO", "DIA + CSR", "BSR(2, 2) + DIA", "delta(4) + COO", "CSR + COO"])
@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_sums_of_formats_compute_with_any_fill(format, fill):
    a = FILLS[fill](st.from_dense(D, format))
    d = a.to_dense()
    zero = D == 0
    np.testing.assert_allclose(d[~zero], FILLS[fill](D)[~zero], equal_nan=True)
    assert np.isnan(d[zero]).all() if fill == "nan" else (d[zero] == float(fill)).all()
    for name, work in WORK.items():
        np.testing.assert_allclose(dense(work(a)), work(d), equal_nan=True, err_msg=name)
    for target in ("CSR", "BSR(2, 2)", "COO", "BSR(4, 4) + COO"):
        for zeros in ("auto", "keep"):
            np.testing.assert_array_equal(a.to(target, zeros=zeros).to_dense(), d)


def test_fill_in_of_a_sum_stands_where_no_part_stores_something():
    blocks = st.from_dense(np.array([[5.0, 1, 1, 1], [1, 1, 1, 1]]), "BSR(2, 2)", fill=1)
    single = st.from_dense(np.array([[1.0, 7, 1, 2], [1, 1, 1, 1]]), "COO", fill=1)
    both = st.from_dense(np.array([[5.0, 7, 1, 2], [1, 1, 1, 1]]), "BSR(2, 2) + COO", fill=1)
    assert blocks.nse == 4 and single.nse == 2
    for zeros in ("auto", "keep"):
        np.testing.assert_array_equal(both.to("CSR", zeros=zeros).to_dense(), [[5, 7, 1, 2], [1, 1, 1, 1]])


# --- an absent numerator ---------------------------------------------------------------------------------------------

X = np.array([2.0, 0, 3, 0.5, -1])
E = np.array([[0, 0, 2.0, 0, 0], [0, -3, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 2, 0]])
DIVISORS = {
    "2": (lambda: {}, lambda: 2.0),
    "x(i)": (lambda: {"x": X}, lambda: X[:, None]),
    "B(i,j)": (lambda: {"B": st.from_dense(E, "COO")}, lambda: E),
    "W(i,j)": (lambda: {"W": E}, lambda: E),
    "sum(k, A(i,k))": (lambda: {}, lambda: D.sum(axis=1)[:, None]),
    "sum(k, abs(A(k,j)))": (lambda: {}, lambda: abs(D).sum(axis=0)[None]),
    "sum(k, B(i,k) * A(k,j))": (lambda: {"B": st.from_dense(E, "CSR")}, lambda: E @ D),
    "max(k, A(i,k))": (lambda: {}, lambda: D.max(axis=1)[:, None]),
    "(A(i,j) - A(i,j))": (lambda: {}, lambda: D - D),
}
NUMERATORS = {
    "A(i,j)": lambda: D,
    "abs(A(i,j))": lambda: abs(D),
    "(A(i,j) * x(j))": lambda: D * X,
    "(A(i,j) + A(i,j))": lambda: 2 * D,
    "(A(i,j) > 0)": lambda: (D > 0).astype(float),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_absent_numerator_stays_absent(format, divisor):
    a = st.from_dense(D, format)
    stored = a.to("CSR", zeros="keep")
    at = np.zeros(D.shape, bool)
    rows = np.repeat(np.arange(5), np.diff(stored.pos(1)))
    at[rows, stored.crd(1)] = True  # fill-in counts as stored
    named, below = DIVISORS[divisor]
    for numerator, above in NUMERATORS.items():
        for operator, f in {"/": np.divide, "//": np.floor_divide, "%": np.remainder}.items():
            operands = {"A": a, **named()}
            text = f"R(i,j) = {numerator} {operator} {divisor}"
            operands = {n: x for n, x in {"x": X, **operands}.items() if re.search(rf"\b{n}\(", text)}
            expected = np.where(at, f(above(), np.broadcast_to(below(), D.shape)), 0.0)
            for general in (False, True):
                found = st._core.evaluate(text, operands, general=general)
                assert isinstance(found, st.Tensor) and found.fill == 0 and found.nse <= a.nse, text
                np.testing.assert_allclose(found.to_dense(), expected, equal_nan=True, err_msg=text)
            found = st._core.evaluate(text, operands, format="dense")
            np.testing.assert_allclose(found, expected, equal_nan=True, err_msg=text)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_divide_what_is_stored(format):
    a, b = st.from_dense(D, format), st.from_dense(E, "CSR")
    for f in (lambda p, q: p / q, lambda p, q: p // q, lambda p, q: p % q):
        found, expected = f(a, b), f(D, E)
        assert isinstance(found, st.Tensor) and found.nse <= a.nse and found.fill == 0
        np.testing.assert_allclose(found.to_dense()[D != 0], expected[D != 0], equal_nan=True)
        assert not np.isinf(found.to_dense()[D == 0]).any()
        divided = f(a, X[:, None])
        assert divided.nse <= a.nse
        np.testing.assert_allclose(divided.to_dense()[D != 0], f(D, X[:, None])[D != 0], equal_nan=True)


def test_rows_of_a_large_matrix_are_normalised_where_they_store_something():
    n, m = 20_000, 50_000
    rng = np.random.default_rng(5)
    i, j = np.unique(np.stack([rng.integers(n, size=9000), rng.integers(m, size=9000)]), axis=1)
    a = st.from_coo([i, j], np.ones(len(i)), (n, m), "CSR")
    found = st.evaluate("R(i,j) = A(i,j) / sum(k, A(i,k))", A=a)
    assert found.nse == a.nse and found.format == a.format and found.fill == 0
    np.testing.assert_allclose(found.sum(axis=1), np.bincount(i, minlength=n) > 0)


def test_a_quotient_of_sums_is_absent_where_nothing_is_summed():
    a = st.from_dense(D, "CSR")
    v = np.arange(10.0).reshape(5, 2) + 1
    with np.errstate(invalid="ignore"):
        found = st.evaluate("R(i,h) = sum(j, A(i,j) * V(j,h)) / sum(j, A(i,j))", A=a, V=v)
        general = st._core.evaluate("R(i,h) = sum(j, A(i,j) * V(j,h)) / sum(j, A(i,j))", {"A": a, "V": v}, general=True)
    expected = np.zeros((5, 2))
    expected[[0, 1, 3, 4]] = (D @ v)[[0, 1, 3, 4]] / D.sum(axis=1)[[0, 1, 3, 4], None]
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(general, expected)


@pytest.mark.parametrize(
    "format",
    [
        "(i, j) -> (j / 4: dense, j % 4: compressed, i: dense)",
        "(i, j) -> (j / 2: dense, j % 2: compressed, i: compressed)",
        "(i, j) -> (j / 4: compressed, j % 4: bitmap, i: dense)",
        "(i, j) -> (j / 4: dense, (j % 4) / 2: compressed, (j % 4) % 2: compressed, i: dense)",
    ],
)
def test_a_sum_over_cut_levels_has_no_elements_that_nothing_stores(format):
    """Blocks of the sum were dense within, where those of the operand are not: zeros that nobody stores, divided by zero."""
    b = np.zeros((3, 10))
    b[0, 2], b[1, 7], b[2, 7] = -2, 3, 4
    for engine in ("auto", "interpreter"):
        st.settings.engine = engine
        try:
            found = st.evaluate("R(j,i) = sum(k, B(k,j)) / A(i)", B=st.from_dense(b, format), A=np.zeros(3))
        finally:
            st.settings.engine = "auto"
        expected = np.zeros((10, 3))
        expected[2], expected[7] = -np.inf, np.inf
        np.testing.assert_array_equal(found.to_dense() if isinstance(found, st.Tensor) else found, expected)
