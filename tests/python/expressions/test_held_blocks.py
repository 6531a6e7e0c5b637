"""Sums over operands in blocks, whose rows are held in registers: any tree, semiring, shape and dtype, against NumPy."""

import re

import numpy as np
import pytest

import strata as st

FORMATS = [
    "BSR(2, 2)",
    "BSR(4, 4)",
    "BSR(3, 2)",
    "BSR(1, 8)",
    "BSR(16, 16)",
    "BSR(2, 4)",
    "(i, j) -> (i / 4: dense, j / 4: compressed, j % 4: dense, i % 4: dense)",
    "(i, j) -> (i / 2: compressed, j / 4: compressed, i % 2: dense, j % 4: dense)",
    "(i, j) -> (i / 4: dense, j / 2: compressed, i % 4 / 2: dense, j % 2: dense, i % 4 % 2: dense)",
    "(i, j) -> (i / 4: dense, j / 2: compressed, i % 4: dense, j % 2: compressed)",
    "(i, j) -> (j / 4: dense, i / 2: compressed, i % 2: dense, j % 4: dense)",
]
OTHERS = ["CSR", "COO", "DCSR", "ELL", "delta(4)", "bitmap", "DIA"]
TEXTS = {
    "y(i) = relu(A(i,j)) * x(j)": lambda A, x, X, d, D: np.maximum(A, 0) @ x,
    "y(i) = A(i,j) * x(j) * d(i)": lambda A, x, X, d, D: (A @ x) * d,
    "y(j) = relu(A(i,j)) * d(i)": lambda A, x, X, d, D: np.maximum(A, 0).T @ d,
    "Y(i,k) = relu(A(i,j)) * X(j,k)": lambda A, x, X, d, D: np.maximum(A, 0) @ X,
    "Y(i,k) = relu(A(i,j) * X(j,k)) * d(i)": lambda A, x, X, d, D: (
        np.maximum(A[:, :, None] * X[None], 0).sum(1) * d[:, None]
    ),
    "Y(i,k) = A(i,j) * X(j,k) + A(i,j) * x(j)": lambda A, x, X, d, D: A @ X + (A @ x)[:, None],
    "c(i) = max(j, A(i,j) * A(i,j) * x(j))": lambda A, x, X, d, D: (A * A * x).max(1),
    "s() = abs(A(i,j)) * x(j)": lambda A, x, X, d, D: (np.abs(A) @ x).sum(),
    # What a block adds to rows of the result, which other blocks add to as well.
    "Y(j,k) = relu(A(i,j)) * D(i,k)": lambda A, x, X, d, D: np.maximum(A, 0).T @ D,
    "Y(j,k) = A(i,j) * D(i,k) * x(j) * d(i)": lambda A, x, X, d, D: (A.T @ (D * d[:, None])) * x[:, None],
    "Y(k,j) = D(i,k) * A(i,j)": lambda A, x, X, d, D: D.T @ A,
    "Y(j,k) = max(i, A(i,j) * D(i,k))": lambda A, x, X, d, D: (A[:, :, None] * D[:, None]).max(0),
}


def operands(rng, dtype, divides):
    rows, columns = (rng.integers(1, 4, 2) * 48) if divides else rng.integers(1, 60, 2)
    width = int(rng.choice([1, 3, 8, 24, 130]))

    def integers(*shape):
        return rng.integers(-4, 5, shape).astype(dtype)

    A = np.where(rng.random((rows, columns)) < 0.2, integers(rows, columns), np.zeros((), dtype))
    return dict(A=A, x=integers(columns), X=integers(columns, width), d=integers(rows), D=integers(rows, width))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("seed", range(4))
def test_sums(seed, format, settings):
    rng = np.random.default_rng([43, seed, FORMATS.index(format)])
    settings.engine = "auto" if seed == 0 else "interpreter"
    settings.threads = int(rng.choice([1, 2, 5]))
    dtype = ["float64", "float32", "int64", "complex128"][seed]
    arrays = operands(rng, dtype, divides=seed % 2 == 0)
    for text, expected in TEXTS.items():
        if dtype == "complex128" and ("relu" in text or "max" in text):
            continue
        given = {n: a for n, a in arrays.items() if re.search(rf"\b{n}\(", text)}
        given["A"] = st.asarray(arrays["A"]).to(format)
        got = np.asarray(st.evaluate(text, **given))
        np.testing.assert_allclose(got, expected(**arrays), rtol=1e-6, err_msg=text)


def in_semiring(semiring, A, X):
    """What is absent annihilates: elements that are not stored, and values that no sum is changed by."""
    add, identity = (np.minimum, np.inf) if semiring == "min_plus" else (np.maximum, -np.inf)
    if A.dtype == np.int64:
        identity = np.iinfo(np.int64).max if semiring == "min_plus" else np.iinfo(np.int64).min
    a, x = A[:, :, None], X[None]
    with np.errstate(invalid="ignore"):
        terms = a + x if semiring == "min_plus" else a * x
    terms = np.where((a == 0) | (a == identity) | (x == identity), identity, terms)
    return add.reduce(terms, axis=1, initial=identity)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("semiring", ["min_plus", "max_times"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_semirings(format, semiring, dtype, settings):
    """Fill-in adds nothing, also beside NaN and infinities."""
    rng = np.random.default_rng([44, FORMATS.index(format)])
    settings.engine = "interpreter"
    arrays = operands(rng, dtype, divides=dtype != "float32")
    A, x, X, D = arrays["A"], arrays["x"], arrays["X"], arrays["D"]
    if dtype != "int64":
        A[A == 4] = np.inf
        A[:3][A[:3] == 3] = np.nan
        X[X == 1] = D[D == 1] = -np.inf
    stored = st.asarray(A).to(format)
    y = np.asarray(st.evaluate("y(i) = A(i,j) * x(j)", A=stored, x=x, semiring=semiring))
    np.testing.assert_array_equal(y, in_semiring(semiring, A, x[:, None])[:, 0])
    Y = np.asarray(st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=stored, X=X, semiring=semiring))
    np.testing.assert_array_equal(Y, in_semiring(semiring, A, X))
    Y = np.asarray(st.evaluate("Y(j,k) = A(i,j) * D(i,k)", A=stored, D=D, semiring=semiring))
    np.testing.assert_array_equal(Y, in_semiring(semiring, A.T, D))


def test_long_rows_keep_their_digits():
    """A full row of a matrix whose other rows are short."""
    n = 1 << 16
    A = np.zeros((64, n), "float32")
    A[3] = 0.1
    A[::8, ::1024] = 0.1
    exact = A.astype("float64").sum(1)
    for format in ("CSR", "BSR(4, 4)", "CSC"):
        a = st.asarray(A).to(format)
        for columns in (4, 8, 24, 100) if format == "CSC" else (8,):
            ones = np.ones((n, columns), "float32")
            got = np.asarray(st.evaluate("Y(i,k) = relu(A(i,j)) * X(j,k)", A=a, X=ones))
            np.testing.assert_allclose(got, np.repeat(exact[:, None], columns, 1), rtol=1e-6)
            if format == "CSC":  # (CSR has a kernel by hand, whose pieces keep fewer)
                got = np.asarray(st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=a, X=ones))
                np.testing.assert_allclose(got, np.repeat(exact[:, None], columns, 1), rtol=1e-6)
        got = np.asarray(st.evaluate("y(i) = relu(A(i,j)) * x(j)", A=a, x=ones[:, 0].copy()))
        np.testing.assert_allclose(got, exact, rtol=1e-6)


@pytest.mark.parametrize("engine", ["auto", "interpreter"])
@pytest.mark.parametrize("block", ["BSR(4, 4)", "BSR(2, 8)", "BSR(3, 3)"])
def test_what_is_absent_beside_infinities(block, engine, settings):
    """Several operands in the same blocks: a block that one of them has not takes no part, whatever the others hold."""
    settings.engine = engine
    rng = np.random.default_rng(11)

    def blocks():
        r, c = (int(n) for n in block[4:-1].split(","))
        there = np.kron(rng.random((48 // r, 48 // c)) < 0.4, np.ones((r, c))) > 0
        return np.where(there, rng.integers(1, 5, (48, 48)), 0).astype(float), there

    (A, _), (B, b), (C, c) = blocks(), blocks(), blocks()
    B[b] = np.where(rng.random(b.sum()) < 0.3, np.inf, B[b])
    x, X = rng.integers(1, 4, 48).astype(float), rng.integers(1, 4, (48, 24)).astype(float)
    with np.errstate(invalid="ignore"):
        both = np.where(b & c, B * C, 0)
    for value, terms in (
        ("A(i,j) + B(i,j) * C(i,j)", A + both),
        ("B(i,j) * C(i,j)", both),
        ("max(A(i,j), B(i,j) * C(i,j))", np.maximum(A, both)),
        ("A(i,j) * C(i,j) + C(i,j)", A * C + C),
    ):
        given = {n: st.asarray(m).to(block) for n, m in dict(A=A, B=B, C=C).items() if n + "(" in value}
        got = st.evaluate(f"y(i) = ({value}) * x(j)", **given, x=x)
        np.testing.assert_array_equal(np.asarray(got), terms @ x, err_msg=value)
        got = st.evaluate(f"Y(i,k) = ({value}) * X(j,k)", **given, X=X)
        np.testing.assert_array_equal(np.asarray(got), terms @ X, err_msg=value)


def test_operands_that_lie_across():
    rng = np.random.default_rng(9)
    A, X = rng.integers(-2, 3, (32, 48)).astype(float), rng.integers(-4, 5, (48, 20)).astype(float)
    a = st.asarray(A).to("BSR(4, 4)")
    for x in (X[:, 3], X[::-1, 4], np.asfortranarray(X)[:, 5], X.repeat(2, 0)[::2, 1]):
        got = st.evaluate("y(i) = relu(A(i,j)) * x(j)", A=a, x=x)
        np.testing.assert_array_equal(np.asarray(got), np.maximum(A, 0) @ x)
        got = st.evaluate("y(i) = relu(A(i,j)) * exp(x(j) - x(j))", A=a, x=x)
        np.testing.assert_array_equal(np.asarray(got), np.maximum(A, 0).sum(1))
    for x in (np.asfortranarray(X), X[:, ::-1], X[:, ::2]):
        got = st.evaluate("Y(i,k) = relu(A(i,j)) * X(j,k)", A=a, X=x)
        np.testing.assert_array_equal(np.asarray(got), np.maximum(A, 0) @ x)


def test_explained():
    a = st.asarray(np.eye(64)).to("BSR(4, 4)")
    text = st.explain("Y(i,k) = relu(A(i,j)) * X(j,k)", A=a, X=np.ones((64, 24)))
    assert "in pieces of 4, whose sums run side by side" in text or "in pieces of 2, whose sums" in text


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex64", "float16"])
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8, 12, 33])
def test_n_of_m_columns_of_a_block(rows, dtype, settings):
    """Loops walk which columns of a group are stored; the rows below each stay in registers, in vectors for a vector."""
    rng = np.random.default_rng(rows)
    shape = (2 * rows, 24)
    a = np.zeros(shape, dtype)
    for i in range(0, shape[0], rows):
        for j in range(0, shape[1], 4):
            kept = rng.choice(4, 2, replace=False)
            a[i : i + rows, j + kept[0]], a[i : i + rows, j + kept[1]] = rng.integers(-3, 4, (2, rows)).astype(dtype)
    A = st.from_dense(a, f"(i, j) -> (i / {rows} : dense, j / 4 : dense, j % 4 : structured(2), i % {rows} : dense)")
    for engine in ("jit", "interpreter"):
        settings.engine = engine
        for columns in (None, 1, 5, 8, 19, 64, 130):
            x = rng.integers(-3, 4, (24, columns or 1)).astype(dtype)
            y = rng.integers(-3, 4, (shape[0], columns or 1)).astype(dtype)
            if columns is None:
                x, y = x[:, 0], y[:, 0]
            tail = "" if columns is None else "k"
            np.testing.assert_array_equal(st.einsum(f"ij,j{tail}->i{tail}", A, x), a @ x)
            np.testing.assert_array_equal(st.einsum(f"ij,i{tail}->j{tail}", A, y), a.T @ y)
        if dtype in ("float64", "int32"):
            np.testing.assert_array_equal(st.evaluate("y(i) = min(j, A(i,j))", A=A), a.min(1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [1, 3, 8, 16, 40, 130])
def test_factors_that_stand_outside_of_a_sum(columns, dtype, settings):
    """They multiply the sum, and not where no term came: a row of infinities beside an empty fiber changes nothing."""
    rng = np.random.default_rng(columns)
    t = (rng.integers(-3, 4, (6, 5, 30)) * (rng.random((6, 5, 30)) < 0.6)).astype(dtype)
    t[2, 3], t[4] = 0, 0
    b, c, d = (rng.integers(-3, 4, (n, columns)).astype(dtype) for n in (5, 30, 6))
    settings.engine = "jit"
    for format in ("CSF", "COO(3)", "(i, j, k) -> (i : dense, j : dense, k : compressed)"):
        T = st.from_dense(t, format)
        for text, operands in (
            ("ijk,ir,kr->jr", (d, c)),
            ("ijk,jr,kr->ir", (b, c)),
            ("ijk,ir,jr->kr", (d, b)),
            ("ijk,ir,jr,kr->r", (d, b, c)),
        ):
            np.testing.assert_array_equal(st.einsum(text, T, *operands), np.einsum(text, t, *operands))
        loose = d.copy()
        loose[4] = np.inf
        got = np.asarray(st.einsum("ijk,ir,kr->jr", T, loose, c))
        np.testing.assert_array_equal(got, np.einsum("ijk,ir,kr->jr", t, d, c))
        loose = b.copy()
        loose[3] = np.inf  # (t[2, 3] is empty; where it is not, infinity is what NumPy gives, or NaN)
        got = np.asarray(st.einsum("ijk,jr,kr->ir", T, loose, c))[[2, 4]]
        np.testing.assert_array_equal(got, np.einsum("ijk,jr,kr->ir", t, b, c)[[2, 4]])


@pytest.mark.parametrize("columns", [1, 8, 32, 75])
def test_sums_inside_of_sums_have_factors_of_their_own(columns, settings):
    rng = np.random.default_rng(columns)
    t = rng.integers(-3, 4, (5, 4, 6, 7)) * (rng.random((5, 4, 6, 7)) < 0.3)
    factors = {n: rng.integers(-3, 4, (n, columns)) for n in (4, 5, 6, 7)}
    for engine in ("jit", "interpreter"):
        settings.engine = engine
        for dtype in ("float64", "float32", "complex64"):
            for format in (
                "CSF(4)",
                "COO(4)",
                "(i, j, k, l) -> (i : dense, j : compressed, k : dense, l : compressed)",
            ):
                T = st.from_dense(t.astype(dtype), format)
                for text in ("ijkl,jr,kr,lr->ir", "ijkl,jr,lr->ir", "ijkl,ir,kr,lr->jr", "ijkl,jr,kr,jr->ir"):
                    names = text.split("->")[0].split(",")[1:]
                    own = [factors[t.shape["ijkl".index(n[0])]] for n in names]
                    expected = np.einsum(text, t, *own)
                    got = st.einsum(text, T, *(f.astype(dtype) for f in own))
                    np.testing.assert_array_equal(np.asarray(got), expected)


REDUCTIONS = {"max": np.maximum, "min": np.minimum, "any": np.logical_or, "all": np.logical_and}


@pytest.mark.parametrize("format", [*FORMATS, *OTHERS])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool"])
def test_reductions_that_count_what_is_absent(format, dtype, settings):
    """Rows of a block are complete together; truths are taken in vectors, whatever they are made of."""
    rng = np.random.default_rng([45, [*FORMATS, *OTHERS].index(format)])
    for rows, columns, width, density in ((48, 64, 16, 0.3), (32, 48, 40, 1), (17, 23, 3, 0.6), (16, 16, 1, 0.9)):
        settings.engine = "auto" if width == 16 and dtype == "float32" else "interpreter"
        A = rng.integers(1, 4, (rows, columns)) * (rng.random((rows, columns)) < density)
        A[rows // 2, : columns // 2] = 0
        A = (A * rng.choice([1, 1, -1], A.shape)).astype(dtype)
        x, X = (rng.integers(-2, 6, shape).astype(dtype) for shape in (columns, (columns, width)))
        if dtype.startswith("float"):
            x[3], X[5, :1] = np.nan, np.inf
            A[:, 3] = A[:, 5] = 1  # (absent times NaN is absent, in NumPy it is NaN)
        stored = st.from_dense(A, format)
        for name, ufunc in REDUCTIONS.items():
            for text, terms in (
                (f"y(i) = {name}(j, A(i,j) * x(j))", A * x),
                (f"Y(i,k) = {name}(j, A(i,j) * X(j,k))", A[:, :, None] * X[None]),
            ):
                got = np.asarray(st.evaluate(text, A=stored, **({"X": X} if "k" in text else {"x": x})))
                np.testing.assert_array_equal(got, ufunc.reduce(terms, axis=1), err_msg=f"{text} {rows} {width}")


@pytest.mark.parametrize("format", [*FORMATS, *OTHERS])
def test_or_and_in_vectors(format, settings):
    """Gathered and scattered, of any dtype."""
    rng = np.random.default_rng(46)
    settings.engine = "interpreter"
    for (rows, columns, width), dtype in zip(
        ((48, 64, 16), (17, 23, 40), (32, 48, 3), (7, 9, 130)), ("float32", "float64", "uint8", "bool"), strict=True
    ):
        A = (rng.integers(0, 3, (rows, columns)) * (rng.random((rows, columns)) < 0.3)).astype(dtype)
        X, D = (rng.integers(0, 2, (n, width)).astype(dtype) for n in (columns, rows))
        gathered, scattered = ((a != 0).astype(int) @ (b != 0) > 0 for a, b in ((A, X), (A.T, D)))
        stored = st.from_dense(A, format)
        for text, given, want in (
            ("Y(i,k) = A(i,j) * X(j,k)", {"X": X}, gathered),
            ("Y(j,k) = A(i,j) * D(i,k)", {"D": D}, scattered),
            ("Y(k,j) = D(i,k) * A(i,j)", {"D": D}, scattered.T),
        ):
            got = np.asarray(st.evaluate(text, A=stored, semiring="or-and", **given))
            np.testing.assert_array_equal(got.astype(bool), want, err_msg=text)
