"""A full row of float32: sums, means and products keep their digits in every format, on any number of threads."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

N = 1 << 18  # of 0.1 added one after the other float32 has lost 3 digits by then
VALUES = {"float32": 0.1, "complex64": 0.1 + 0.2j, "float16": 0.01}
FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "BSR(2, 2)",
    "DCSR",
    "(i, j) -> (j : compressed, i : compressed)",
    "(i, j) -> (i : dense, j : padded)",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (j : dense, i : delta(2))",
    "(i, j) -> (i : dense, j : bitmap)",
    "BSR(4, 4) + COO",
    "dense",
    "(i, j) -> (j : dense, i : dense)",
]


def coordinates(dtype):
    """Row 1 of four is full."""
    rows = np.concatenate([np.zeros(3, int), np.ones(N, int), np.full(2, 3)])
    columns = np.concatenate([np.arange(3), np.arange(N), [5, 7]])
    return rows, columns, np.full(len(rows), VALUES[dtype], dtype)


def stored_as(format, dtype):
    rows, columns, values = coordinates(dtype)
    if format == "duplicates":
        text = "(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))"
        return st.Tensor(text, (4, N), pos={0: [0, len(rows)]}, crd={0: rows, 1: columns % 11}, values=values)
    return st.from_coo(np.stack([rows, columns]), values, (4, N), "COO").to(format)


def wanted(dtype):
    wide = np.complex128 if dtype == "complex64" else np.float64
    return np.array([3, N, 0, 2]) * wide(np.dtype(dtype).type(VALUES[dtype]))


def check(got, want, dtype):
    got = np.asarray(got).astype(np.asarray(want).dtype)
    assert np.all(np.abs(got - want) <= 64 * np.finfo(dtype).eps * np.abs(want))


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("format", [*FORMATS, "duplicates"])
def test_every_way(format, dtype):
    A, rows = stored_as(format, dtype), wanted(dtype)
    T, x = A.T, np.ones(N, dtype)
    check(A.sum(axis=1), rows, dtype)
    check(T.sum(axis=0), rows, dtype)
    check(A.sum(), rows.sum(), dtype)
    check(A.mean(axis=1)[1], rows[1] / N, dtype)
    check(A @ x, rows, dtype)
    check(x @ T, rows, dtype)
    check(st.einsum("ij,j->", A, x), rows.sum(), dtype)
    check(st.evaluate("y(i) = 2 * A(i,j) * x(j)", A=A, x=x), 2 * rows, dtype)
    if format != "dense" and "j : dense, i : dense" not in format:
        for k in (3, 16):
            check((A @ np.ones((N, k), dtype))[:, k - 1], rows, dtype)
            out = np.ones((4, k), dtype)
            st.matmul(A, np.ones((N, k), dtype), out, alpha=3, beta=2)
            check(out[:, 0], 3 * rows + 2, dtype)
    if format == "duplicates":
        check(A.to("CSR").sum(axis=1), rows, dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_diagonals(dtype):
    n, width = 60, 10000
    a = sp.diags_array(
        [np.full(n, VALUES[dtype])] * (width - n), offsets=range(width - n), shape=(n, width), dtype=dtype
    )
    A = st.from_scipy(a)
    want = np.full(n, a.astype(np.promote_types(dtype, np.float64)).tocsr()[[0]].sum())
    check(A @ np.ones(width, dtype), want, dtype)
    check(A.sum(axis=1), want, dtype)
    check((A @ np.ones((width, 3), dtype))[:, 2], want, dtype)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"])
def test_any_number_of_threads(format, settings):
    rng = np.random.default_rng(1)
    rows, columns, values = coordinates("float32")
    values = rng.standard_normal(len(values)).astype("float32")
    A = st.from_coo(np.stack([rows, columns]), values, (4, N), "COO").to(format)
    x = rng.standard_normal(N).astype("float32")
    found = []
    for settings.threads in (1, 2, 5):
        found.append(((A @ x).tobytes(), A.sum(axis=1).tobytes(), (A @ np.outer(x, [1, 2, 3])).tobytes()))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("place", ["first", "last"])
def test_a_full_row_among_short_ones(place):
    """Scattered elements are sampled, and not at regular places: each column ends in the same row here."""
    m, n, per = 3000, 30000, 7
    rng = np.random.default_rng(0)
    crd = np.sort(rng.integers(1, m - 1, (n, per)), axis=1)
    crd[:, 0 if place == "first" else per - 1] = 0 if place == "first" else m - 1
    a = sp.csc_array((np.full(n * per, 0.1, "float32"), crd.ravel(), np.arange(0, n * per + 1, per)), shape=(m, n))
    check(st.from_scipy(a) @ np.ones(n, "float32"), a.astype(float) @ np.ones(n), "float32")


def test_columns_of_groups():
    """Of n:m the group tells which column it is: here one of them is full, beside many short ones."""
    n = 100000
    d = np.zeros((n, 400), "float32")
    d[:, 9] = 0.1
    d[np.arange(n), np.arange(n) * 7919 % 400] = 0.1
    A, x = st.from_dense(d, "structured(2, 4)"), np.ones(n, "float32")
    for y in (A.T @ x, (A.T @ np.ones((n, 3), "float32"))[:, 1]):
        np.testing.assert_allclose(y, d.sum(axis=0, dtype="float64"), rtol=1e-6)


def test_infinities_stay_alone():
    """What finishes a long row multiplies no infinity by zero."""
    A = stored_as("CSR", "complex64")
    x = np.ones((N, 8), "complex64")
    x[4, 2] = np.inf
    got = A @ x
    assert np.isinf(got[1, 2].real) and np.isfinite(got[1, 3]) and np.isfinite(got[0, 2])


def test_explained():
    x = np.ones(N, "float32")
    plan = st.plan("ji,j->i", stored_as("CSC", "float32"), x[:4])
    assert "in float64" not in plan.explain()  # sums of four
    square = st.from_scipy(sp.eye_array(4000, dtype="float32", format="csc"))
    plan = st.plan("ij,j->i", square, x[:4000])
    assert "in float64, by a kernel of their own, where more than 2048 stored elements meet" in plan.explain()
    short = st.from_scipy(sp.eye_array(100, dtype="float32", format="csr")).to("DCSR")
    assert "long sums" not in st.plan("ij,j->i", short, np.ones(100, "float32")).explain()
    assert 'A.to("CSR")' in st.plan("ji,j->i", stored_as("CSR", "float32"), x[:4]).explain()
