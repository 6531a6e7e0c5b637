"""A matrix by columns times a dense one: a row of that stays in registers, in vectors, while it is added to rows of the
result. Compared with NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

BY_COLUMNS = [
    "CSC",
    "DCSC",
    "(i, j) -> (j : compressed(nonunique), i : singleton)",
    "(i, j) -> (j : dense, i : delta(4))",
    "(i, j) -> (j : dense, i : bitmap)",
]
#: columns: fewer than a vector has values, vectors and a rest, several pieces
COLUMNS = [7, 20, 100]


def loops(*args, **operands):
    told = str(st.explain(*args, **operands))
    return next(line for line in told.splitlines() if "loops over" in line).split("(")[0].strip()


def matrix(rng, shape, dtype):
    return (rng.integers(-9, 10, shape) * (rng.random(shape) < 0.3)).astype(dtype)


@pytest.mark.parametrize("engine", ["auto", "interpreter"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64", "bool"])
@pytest.mark.parametrize("format", BY_COLUMNS)
def test_products(format, dtype, engine, settings):
    settings.engine = engine
    rng = np.random.default_rng(3)
    for columns in COLUMNS:
        A, D = (matrix(rng, (23, 40), dtype) for _ in range(2))
        X, F = (rng.integers(-9, 10, (n, columns)).astype(dtype) for n in (40, 23))
        a, d = (st.from_dense(m, "COO").to(format) for m in (A, D))
        expected = {
            "Y(i,k) = A(i,j) * X(j,k)": A @ X,
            "Y(i,k) = A(i,j) * (X(j,k) * X(j,k)) * F(i,k)": (A @ (X * X)) * F,
            "Y(i,k) = (A(i,j) + D(i,j)) * X(j,k)": (A + D) @ X,
            "Y(i,k) = A(i,j) * D(i,j) * X(j,k)": (A * D) @ X,
        }
        for text, want in expected.items():
            operands = {name: t for name, t in dict(A=a, D=d, X=X, F=F).items() if name + "(" in text}
            got = np.asarray(st.evaluate(text, **operands))
            np.testing.assert_array_equal(got, want, f"{text}, {columns} columns")


@pytest.mark.parametrize("columns", [2, 8, 20, 64, 300])
def test_tensors(columns):
    """Two modes are known in front of the last one, to whose rows is added."""
    rng = np.random.default_rng(5)
    T = matrix(rng, (9, 8, 30), "float64")
    B, C = (rng.integers(-9, 10, (n, columns)).astype("float64") for n in (9, 8))
    got = st.evaluate("M(k,r) = T(i,j,k) * B(i,r) * C(j,r)", T=st.from_dense(T, "CSF"), B=B, C=C)
    np.testing.assert_array_equal(np.asarray(got), np.einsum("ijk,ir,jr->kr", T, B, C))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fill_in_adds_nothing(dtype, settings):
    """In a semiring what a bitmap or a delta level holds of fill is missing, whatever the factors are."""
    rng = np.random.default_rng(7)
    A = matrix(rng, (23, 40), dtype)
    for format in BY_COLUMNS:
        for columns in (3, 20, 100):
            X = rng.standard_normal((40, columns)).astype(dtype)
            X[5, ::2] = np.nan
            terms = np.where(A[:, :, None] != 0, A[:, :, None] + X[None], np.array(np.inf, dtype))
            got = st.evaluate(
                "Y(i,k) = A(i,j) * X(j,k)", A=st.from_dense(A, "COO").to(format), X=X, semiring="min_plus"
            )
            np.testing.assert_array_equal(np.asarray(got), terms.min(1), f"{format}, {columns} columns")


def test_threads_have_windows_of_the_result(settings):
    """Each bit is the same, however many there are, and no sum is in parts."""
    rng = np.random.default_rng(9)
    A = sp.random(4000, 3000, density=0.02, random_state=1, format="csc")
    for dtype in ("float32", "float64"):
        a = st.from_scipy(A.astype(dtype))
        for columns in (20, 64, 100):
            X = rng.standard_normal((3000, columns)).astype(dtype)
            if columns < 100:
                assert loops("Y(i,k) = A(i,j) * X(j,k)", A=a, X=X) == "loops over j, k, i"
            results = []
            for threads in (1, 2, 3, 8):
                settings.threads = threads
                results.append(np.asarray(st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=a, X=X)))
                np.testing.assert_array_equal(results[-1], results[0], f"{columns} columns, {threads} threads")
            np.testing.assert_allclose(results[0], A @ X, rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-5)


def test_long_work_is_cut_for_an_interrupt():
    """From 67 million values on: chunks of columns go one after the other, and add to the same window."""
    rng = np.random.default_rng(11)
    A = sp.random(3000, 40000, density=0.01, random_state=1, format="csc")
    X = rng.standard_normal((40000, 128))
    got = np.asarray(st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=st.from_scipy(A), X=X))
    np.testing.assert_allclose(got, A @ X, rtol=1e-9, atol=1e-9)


def test_memory_in_another_order():
    """What lies column by column, or with gaps, has no rows to hold."""
    rng = np.random.default_rng(13)
    A = matrix(rng, (23, 40), "float64")
    wide = rng.integers(-9, 10, (40, 40)).astype("float64")
    for X in (np.asfortranarray(wide[:, :20]), wide[:, ::2], wide[:, 20:], wide[::-1, :20], wide.T[:, :20]):
        a = st.from_dense(A, "CSC")
        np.testing.assert_array_equal(np.asarray(st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=a, X=X)), A @ X)
