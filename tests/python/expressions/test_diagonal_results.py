"""Results by diagonals from operands that have none: put into the strips where they belong, not converted behind the loops."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

ALONG = {"rows": "DIA", "columns": "(i, j) -> (j - i : compressed, j : range)"}
FORMATS = ["CSR", "CSC", "COO", "DCSR", "DIA"]
each = pytest.mark.parametrize("fmt", ALONG.values(), ids=ALONG)


def banded(rows, columns, seed, dtype=float, diagonals=3):
    """A few diagonals, with gaps and with zeros that are stored."""
    r = np.random.default_rng(seed)
    offsets = r.choice(np.arange(1 - rows, columns), min(diagonals, rows + columns - 1), replace=False)
    at = [(i, i + d) for d in offsets for i in range(max(0, -d), min(rows, columns - d)) if r.random() < 0.8]
    i, j = np.array(at, int).reshape(-1, 2).T
    a = sp.csr_array((r.integers(-3, 4, len(at)).astype(dtype), (i, j)), (rows, columns))
    a.sort_indices()
    return a


def there(a):
    return sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), a.shape).toarray() != 0


def check(text, operands, want, came, fmt):
    """The numbers, the diagonals that are stored, and that nothing is converted; the same on any number of threads."""
    got = st.evaluate(text, operands, format=fmt)
    got.validate()
    assert got.format == st.Format(fmt, 2) and np.array_equal(got.to_numpy(), want)
    i, j = np.nonzero(came)
    assert np.array_equal(got.crd(0), np.unique(j - i))
    told = st.explain(text, operands, format=fmt)
    last = told.rsplit("generated code", 1)[-1]  # a product of many may go in steps
    assert " diagonals" in last and "then converts" not in last, told
    before = st.settings.threads
    for threads in (1, 2, 7):
        st.settings.threads = threads
        assert st.evaluate(text, operands, format=fmt).values.tobytes() == got.values.tobytes()
    st.settings.threads = before


@each
@pytest.mark.parametrize("shape", [(40, 50, 60), (61, 13, 7), (1, 1, 1), (300, 20, 300)])
@pytest.mark.parametrize("formats", [("CSR", "CSR"), ("CSC", "COO"), ("DCSR", "CSC"), ("COO", "DCSR"), ("CSR", "DCSR")])
def test_products_and_sums(formats, shape, fmt):
    m, n, k = shape
    a, b, c = banded(m, n, 1), banded(n, k, 2), banded(m, n, 3)
    A, B, C = (st.from_scipy(x).to(f) for x, f in zip((a, b, c), (*formats, formats[0])))
    x, y, z = a.toarray(), b.toarray(), c.toarray()
    product = (there(a).astype(int) @ there(b).astype(int)) > 0
    check("R(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), x @ y, product, fmt)
    check(
        "R(i,k) = A(i,j) * B(j,k) * p(i) * q(k)",
        dict(A=A, B=B, p=np.arange(m) + 1.0, q=np.arange(k) - 2.0),
        (x @ y) * (np.arange(m) + 1)[:, None] * (np.arange(k) - 2),
        product,
        fmt,
    )
    check("R(i,j) = A(i,j) + 2 * C(i,j)", dict(A=A, C=C), x + 2 * z, there(a) | there(c), fmt)
    check("R(j,i) = A(i,j) - C(i,j)", dict(A=A, C=C), (x - z).T, (there(a) | there(c)).T, fmt)
    check("R(i,j) = A(i,j) * C(i,j)", dict(A=A, C=C), x * z, there(a) & there(c), fmt)
    check("R(i,k) = abs(A(i,j)) * B(j,k)", dict(A=A, B=B), np.abs(x) @ y, product, fmt)


@each
@pytest.mark.parametrize("formats", [(f, g) for f in FORMATS for g in FORMATS])
def test_the_numbers_of_any_storage(formats, fmt):
    a, b = banded(30, 40, 4), banded(40, 25, 5)
    A, B = (st.from_scipy(x).to(f) for x, f in zip((a, b), formats))
    x, y = a.toarray(), b.toarray()
    for text, want in {
        "R(i,k) = A(i,j) * B(j,k)": x @ y,
        "R(i,l) = A(i,j) * B(j,k) * A(l,j)": np.einsum("ij,jk,lj->il", x, y, x),
        "R(i,j) = A(i,j) * sum(k, B(j,k))": x * y.sum(1),
    }.items():
        named = {n: t for n, t in dict(A=A, B=B).items() if n + "(" in text}
        assert np.array_equal(st.evaluate(text, named, format=fmt).to_numpy(), want), text


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int32"])
@pytest.mark.parametrize("engine", ["jit", "interpreter"])
def test_dtypes_and_engines(dtype, engine, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", engine)
    a, b = banded(30, 30, 6, dtype), banded(30, 30, 7, dtype)
    got = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=st.from_scipy(a), B=st.from_scipy(b), format="DIA")
    assert got.dtype == np.dtype(dtype).name and np.array_equal(got.to_numpy(), a.toarray() @ b.toarray())


def test_values_that_users_stored():
    a = sp.csr_array((np.array([np.nan, 0.0, -0.0, np.inf]), np.array([0, 1, 2, 0]), np.array([0, 1, 2, 3, 4])), (4, 3))
    got = st.evaluate(
        "R(i,j) = A(i,j) + B(i,j)", A=st.from_scipy(a), B=st.from_scipy(sp.csr_array((4, 3))), format="DIA"
    )
    want = a.toarray()
    assert np.array_equal(got.to_numpy(), want, equal_nan=True) and got.crd(0).tolist() == [-3, 0]


def test_matrices_of_too_many_diagonals_are_converted():
    a = sp.random(3000, 3000, 0.001, "csr", rng=np.random.default_rng(8))
    A = st.from_scipy(a)
    told = st.explain("R(i,k) = A(i,j) * B(j,k)", A=A, B=A, format="DIA")
    assert "guard: they are few beside the work; otherwise elements come row by row" in told
    small = st.from_scipy(a[:200, :200])
    got = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=small, B=small, format="DIA")
    assert np.allclose(got.to_numpy(), (a[:200, :200] @ a[:200, :200]).toarray())


@each
def test_nothing_stored(fmt):
    empty = st.from_scipy(sp.csr_array((5, 5)))
    for text in ("R(i,k) = A(i,j) * B(j,k)", "R(i,j) = A(i,j) + B(i,j)"):
        got = st.evaluate(text, A=empty, B=empty, format=fmt)
        assert got.nse == 0 and got.shape == (5, 5) and not got.to_numpy().any()
