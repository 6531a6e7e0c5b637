"""Reductions that count what is absent, and semirings of users, over products of sparse tensors: in the time of their
terms."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "bitmap", "BSR(4, 4) + COO"]
REDUCTIONS = {"max": np.max, "min": np.min, "any": np.any, "all": np.all}


def matrix(shape, density, seed, full=False):
    rng = np.random.default_rng(seed)
    d = np.where(rng.random(shape) < density, rng.integers(-4, 5, shape), 0).astype(float)
    if full:
        d[:3] = rng.integers(1, 5, d[:3].shape)  # rows without an absent element
    return d


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_products(format, name):
    a, b = matrix((300, 40), 0.1, 1, full=True), matrix((40, 200), 0.2, 2)
    b[:, :5] = 1 + abs(b[:, :5])  # columns without one either
    x = np.arange(1.0, 41)
    A, B = st.from_dense(a, format), st.from_dense(b, format)
    for text, terms in {
        f"R(i,k) = {name}(j, A(i,j) * B(j,k))": a[:, :, None] * b,
        f"R(k,i) = {name}(j, A(i,j) * B(j,k))": (a[:, :, None] * b).transpose(2, 1, 0),
        f"R(i,k) = {name}(j, -abs(A(i,j)) * B(j,k) * X(j))": -abs(a)[:, :, None] * b * x[:, None],
        f"R(i,k) = {name}(j, A(i,j) / X(j) * B(j,k))": a[:, :, None] / x[:, None] * b,
    }.items():
        operands = {"A": A, "B": B} | ({"X": x} if "X(" in text else {})
        want = REDUCTIONS[name](terms, axis=1)
        for how in ({}, {"format": "dense"}, {"format": "COO"}, {"general": True}):
            found = st._core.evaluate(text, operands, **how)
            np.testing.assert_allclose(found.to_dense() if isinstance(found, st.Tensor) else found, want, err_msg=text)


def test_under_a_mask_and_in_other_dtypes():
    a, b = matrix((300, 40), 0.1, 1, full=True), matrix((40, 200), 0.2, 2)
    terms = a[:, :, None] * b
    m = st.from_dense((np.arange(60_000).reshape(300, 200) % 3 == 0) * 1.0, "CSR")
    inside = m.to_dense() != 0
    for dtype in ("float32", "int32", "int8", "float16"):
        A, B = st.from_dense(a.astype(dtype), "CSR"), st.from_dense(b.astype(dtype), "CSR")
        found = st.evaluate("R(i,k) = max(j, A(i,j) * B(j,k))", A=A, B=B)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found.to_dense(), terms.max(axis=1).astype(dtype))
        masked = st.evaluate("R(i,k) = max(j, A(i,j) * B(j,k))", A=A, B=B, mask=m)
        np.testing.assert_array_equal(masked.to_dense()[inside], terms.max(axis=1)[inside].astype(dtype))


def test_they_are_no_slower_than_their_terms():
    """One nest for the maximum would look at 64 million pairs of rows and columns."""
    rng = np.random.default_rng(3)
    n = 8000
    a = sp.random(n, n, 10 / n, "csr", rng=rng)
    A = st.from_scipy(a)
    for name in REDUCTIONS:
        how = str(st.explain(f"R(i,k) = {name}(j, A(i,j) * B(j,k))", A=A, B=A))
        assert "of the terms that are there" in how and ("how many they are" in how) == (name != "any")
    found = st.evaluate("R(i,k) = max(j, A(i,j) * B(j,k))", A=A, B=A)
    assert found.nse == (a @ a).nnz
    i = int(np.argmax(np.diff(a.indptr)))
    want = (a[[i]].toarray().T * a.toarray()).max(axis=0)
    np.testing.assert_allclose(found[[i]].to_dense()[0], want)


RINGS = {
    ("min(a, b)", "b", np.inf): (np.minimum, lambda a, b: b + 0 * a),
    ("min(a, b)", "a", np.inf): (np.minimum, lambda a, b: a + 0 * b),
    ("a + b", "1", 0): (np.add, lambda a, b: 1 + 0 * a * b),
    ("a + b", "b", 0): (np.add, lambda a, b: b + 0 * a),
    ("max(a, b)", "(a - b) * (a - b)", -np.inf): (np.maximum, lambda a, b: (a - b) ** 2),
    ("min(a, b)", "max(a, b) + 1", np.inf): (np.minimum, lambda a, b: np.maximum(a, b) + 1),
    ("max(a, b)", "abs(a) * 2 - b", -np.inf): (np.maximum, lambda a, b: abs(a) * 2 - b),
}


@pytest.mark.parametrize("ring", RINGS, ids=lambda r: "; ".join(map(str, r)))
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32"])
def test_semirings_of_users_are_compiled(ring, dtype):
    a, b = matrix((30, 20), 0.2, 4).astype(dtype), matrix((20, 25), 0.3, 5).astype(dtype)
    add, multiply = RINGS[ring]
    here = (a != 0)[:, :, None] & (b != 0)
    zero = ring[2]
    if np.dtype(dtype).kind == "i" and np.isinf(zero):
        zero = np.iinfo(dtype).max if zero > 0 else np.iinfo(dtype).min
    terms = np.where(here, multiply(a[:, :, None], b), np.array(zero, dtype))
    want = add.reduce(terms, axis=1, dtype=dtype)
    for zeros in {ring[2], zero}:  # of integers the identity may be written as a number
        semiring = st.Semiring(ring[0], ring[1], zeros)
        A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
        found = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=A, B=B, semiring=semiring)
        general = st._core.evaluate("R(i,k) = A(i,j) * B(j,k)", {"A": A, "B": B}, semiring=semiring, general=True)
        for got in (found, general):
            assert got.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(got.to_dense(), want)
        how = str(st.explain("R(i,k) = A(i,j) * B(j,k)", A=A, B=B, semiring=semiring))
        assert "generated code serves" in how, how


def test_what_makes_no_semiring_is_still_refused():
    a = st.from_dense(matrix((5, 5), 0.9, 6), "CSR")
    with pytest.raises(st.ExpressionError, match="no semiring"):
        st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=a, B=a, semiring=st.Semiring("min(a, b)", "a + b", 3))
    with pytest.raises(st.DTypeError):
        st.evaluate(
            "R(i,k) = A(i,j) * B(j,k)", A=a.to(dtype="int32"), B=a.to(dtype="int32"), semiring="a + b; a / b; 0"
        )


def hostile(shape, seed):
    """Numbers, infinities, NaN and zeros of both signs."""
    rng = np.random.default_rng(seed)
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
    return np.where(rng.random(shape) < 0.3, special, rng.integers(-3, 4, shape).astype(float))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("columns", [1, 2, 5, 16, 70])
def test_a_row_of_results_has_one_count(format, columns):
    a = matrix((60, 30), 0.2, 3, full=True)
    x, y = hostile((30, columns), 4), hostile((60, columns), 5)
    A = st.from_dense(a, format)
    if format in ("BSR(2, 2)", "DIA", "delta(4)", "BSR(4, 4) + COO"):  # where nothing is they may hold 0, a factor too
        x, y = np.nan_to_num(x, posinf=7, neginf=-7), np.nan_to_num(y, posinf=7, neginf=-7)
    with np.errstate(invalid="ignore"):
        terms = np.where(a[:, :, None] != 0, a[:, :, None] * x, 0.0)
        scaled = np.where(a[:, :, None] != 0, a[:, :, None] * x + y[:, None, :] * a[:, :, None], 0.0)
    for name, reduce in REDUCTIONS.items():
        for text, want in {
            f"R(i,k) = {name}(j, A(i,j) * X(j,k))": reduce(terms, axis=1),
            f"R(k,i) = {name}(j, A(i,j) * X(j,k))": reduce(terms, axis=1).T,
            f"R(i,k) = {name}(j, A(i,j) * X(j,k) + Y(i,k) * A(i,j))": reduce(scaled, axis=1),
            f"R(k) = {name}(j, {name}(i, A(i,j) * X(j,k)))": reduce(terms, axis=(0, 1)),
        }.items():
            operands = {"A": A, "X": x} | ({"Y": y} if "Y(" in text else {})
            for how in ({}, {"general": True}):
                found = np.asarray(st._core.evaluate(text, operands, **how))
                np.testing.assert_array_equal(found, want, err_msg=f"{text} {how}")


SEMIRINGS = {
    "min-plus": (np.minimum, lambda a, b: a + b, np.inf),
    "max-plus": (np.maximum, lambda a, b: a + b, -np.inf),
    "max-times": (np.maximum, lambda a, b: a * b, -np.inf),
    "max(a, b); min(a, b); -inf": (np.maximum, np.minimum, -np.inf),
    "min(a, b); min(max(a, b), 2 * a + b); inf": (
        np.minimum,
        lambda a, b: np.minimum(np.maximum(a, b), 2 * a + b),
        np.inf,
    ),
}


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("columns", [None, 1, 2, 4, 16, 70])
def test_a_semiring_keeps_nan_and_infinity(semiring, columns):
    add, multiply, nothing = SEMIRINGS[semiring]
    pattern = matrix((60, 30), 0.2, 6) != 0
    a = np.where(pattern, hostile((60, 30), 7), 0.0)
    x = hostile(30 if columns is None else (30, columns), 8)
    rows, places = np.nonzero(pattern)
    A = st.from_scipy(sp.csr_array((a[pattern], (rows, places)), a.shape))
    want = np.full((60,) if columns is None else (60, columns), nothing)
    with np.errstate(invalid="ignore"):
        for i, j in zip(rows, places, strict=True):
            none = (a[i, j] == nothing) | (x[j] == nothing)
            want[i] = add(want[i], np.where(none, nothing, multiply(a[i, j], x[j])))
    text = "y(i) = A(i,j) * x(j)" if columns is None else "y(i,k) = A(i,j) * x(j,k)"
    for how in ({}, {"general": True}):
        found = np.asarray(st._core.evaluate(text, {"A": A, "x": x}, semiring=semiring, **how))
        np.testing.assert_array_equal(found, want, err_msg=str(how))
