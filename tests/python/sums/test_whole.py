"""Reductions of whole tensors to one number, and of dense rows, in vectors: against NumPy."""

import numpy as np
import pytest

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(4, 4)",
    "ELL",
    "DIAI",
    "BSR(2, 2) + COO",
    "(i, j) -> (i: dense, j: delta(4))",
    "(i, j) -> (i: dense, j: bitmap)",
]
DTYPES = ["float64", "float32", "float16", "int8", "uint16", "int64", "bool", "complex128"]


def array(r, shape, dtype, density=0.3):
    x = r.integers(-9, 10, shape) if np.dtype(dtype).kind != "u" else r.integers(0, 10, shape)
    x = np.where(r.random(shape) < density, x, 0).astype(dtype)
    return x + np.asarray(1j * (x != 0), dtype) if np.dtype(dtype).kind == "c" else x


def reductions(dtype):
    out = {
        "s = A(i,j)": lambda a: a.sum(dtype=a.dtype),
        "s = sum(i, sum(j, A(i,j)))": lambda a: a.sum(),
        "s = A(i,j) * A(i,j)": lambda a: (a * a).sum(dtype=a.dtype),
        "s = any(i, any(j, A(i,j)))": lambda a: a.any(),
        "s = all(i, all(j, A(i,j)))": lambda a: a.all(),
    }
    if np.dtype(dtype).kind != "c":
        out |= {
            "s = max(i, max(j, A(i,j)))": lambda a: a.max(),
            "s = min(i, min(j, A(i,j)))": lambda a: a.min(),
            "s = max(j, max(i, 3 - A(i,j)))": lambda a: (np.asarray(3, a.dtype if a.dtype != bool else int) - a).max(),
        }
        if dtype != "bool":
            out["s = max(i, max(j, abs(A(i,j)) * c))"] = lambda a: (abs(a) * np.asarray(2, a.dtype)).max()
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_of_any_format(format, dtype):
    r = np.random.default_rng(FORMATS.index(format))
    for shape, density in (((200, 120), 0.3), ((96, 64), 1.0), ((40, 3000), 0.05)):
        a = array(r, shape, dtype, density)
        if density == 1:
            a[a == 0] = 1  # nothing is missing
        for sign in (1, -1) if np.dtype(dtype).kind in "fi" else (1,):
            mine = (a * np.asarray(sign, dtype)).astype(dtype)
            A = st.from_dense(mine, format)
            for text, want in reductions(dtype).items():
                got = st.evaluate(text, A=A, **({"c": np.asarray(2, dtype)} if "c)" in text else {}))
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(got, want(mine), rtol=1e-2 if dtype == "float16" else 1e-5, err_msg=text)


def test_way_is_told():
    a = array(np.random.default_rng(0), (200, 120), "float64")
    assert "over the stored values alone" in st.explain("s = max(i, max(j, A(i,j)))", A=st.from_dense(a, "CSR"))
    assert "over the stored values alone" not in st.explain(
        "s = max(i, max(j, A(i,j)))", A=st.from_dense(a[:9, :9], "CSR")
    )
    assert "over the stored values alone" not in st.explain("s = A(i,j) * A(j,i)", A=st.from_dense(a[:120], "CSR"))


def test_what_is_missing_counts():
    """Only where it is: negative values everywhere have no 0 above them."""
    r = np.random.default_rng(3)
    full = -1 - r.random((80, 80))
    for format in ("CSR", "COO", "BSR(4, 4)", "ELL"):
        A = st.from_dense(full, format)
        assert A.max() == full.max() and A.min() == full.min()
        holed = full.copy()
        holed[40, 40] = 0
        B = st.from_dense(holed, format)
        assert B.max() == 0 and B.min() == full[holed != 0].min()
        assert B.all() == (False) and A.all() == True  # noqa: E712


def test_fill_counts():
    r = np.random.default_rng(4)
    a = np.where(r.random((90, 110)) < 0.7, r.integers(-5, 4, (90, 110)), 7.0)
    A = st.from_dense(a, "CSR", fill=7.0)
    assert A.nse < a.size
    assert A.max() == 7 and A.min() == -5
    np.testing.assert_allclose(st.evaluate("s = min(i, min(j, A(i,j) * A(i,j)))", A=A), (a * a).min())
    np.testing.assert_allclose(st.evaluate("s = A(i,j)", A=A), a.sum())


def test_duplicates_count_as_their_sum():
    r = np.random.default_rng(5)
    rows, columns, values = r.integers(0, 40, 9000), r.integers(0, 300, 9000), r.normal(size=9000)
    a = np.zeros((40, 300))
    np.add.at(a, (rows, columns), values)
    A = st.from_coo([rows, columns], values, (40, 300))
    assert A.nse > 4096
    np.testing.assert_allclose(A.max(), a.max())
    np.testing.assert_allclose(st.evaluate("s = A(i,j) * A(i,j)", A=A), (a * a).sum())


def test_twins_and_tensors():
    r = np.random.default_rng(6)
    t = np.where(r.random((30, 40, 50)) < 0.2, r.normal(size=(30, 40, 50)), 0)
    T = st.from_dense(t, "CSF(3)")
    U = np.exp(T) - 1
    np.testing.assert_allclose(
        st.evaluate("s = max(i, max(j, max(k, T(i,j,k) - U(i,j,k))))", T=T, U=U), (t - np.expm1(t)).max()
    )
    np.testing.assert_allclose(st.evaluate("s = T(i,j,k) * U(i,j,k)", T=T, U=U), (t * np.expm1(t)).sum())
    V = st.from_dense(np.roll(t, 1, 0), "CSF(3)")
    np.testing.assert_allclose(
        st.evaluate("s = min(i, min(j, min(k, T(i,j,k) - V(i,j,k))))", T=T, V=V), (t - np.roll(t, 1, 0)).min()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("where", [None, 0, 1, 4000, 8999, "last"])
def test_not_a_number_wins(dtype, where):
    r = np.random.default_rng(7)
    a = np.where(r.random((120, 110)) < 0.7, r.normal(size=(120, 110)), 0).astype(dtype)
    stored = np.argwhere(a)
    if where is not None:
        a[tuple(stored[-1 if where == "last" else where])] = np.nan
    A = st.from_dense(a, "CSR")
    for got, want in ((A.max(), a.max()), (A.min(), a.min())):
        assert got == want or (np.isnan(got) and np.isnan(want))
    a[a != 0] = np.inf
    A = st.from_dense(a, "CSR")
    assert A.max() == np.inf and A.min() == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dense_rows(dtype):
    """Of every length about whole vectors; a NaN at any place."""
    r = np.random.default_rng(8)
    for n in [*range(1, 70), 127, 128, 129, 1000]:
        x = r.normal(size=(6, n)).astype(dtype)
        x[0, r.integers(n)] = np.nan
        x[1, :] = -np.inf
        for text, want in (
            ("m(i) = max(j, X(i,j))", x.max(1)),
            ("m(i) = min(j, abs(X(i,j)))", abs(x).min(1)),
            ("m(i) = max(j, min(X(i,j), -X(i,j)) * 2)", (np.minimum(x, -x) * 2).max(1)),
            ("m = max(j, Y(j))", x[2].max()),
            ("m = min(j, -abs(Y(j)))", (-abs(x[2])).min()),
            ("m = sum(j, abs(Y(j)))", abs(x[2]).sum()),
            ("m = max(j, Z(j))", x[0].max()),
        ):
            got = st.evaluate(text, **{name: v for name, v in zip("XYZ", (x, x[2], x[0])) if name + "(" in text})
            np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{text}, {n}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_in_vectors(dtype):
    """exp, log, tanh, sqrt and quotients of whole vectors and of the rest, with what they make of zeros, infinities and NaN."""
    r = np.random.default_rng(9)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1e-310, 88.0, 710.0, 1e30], dtype)
    functions = {
        "exp({})": np.exp,
        "log({})": np.log,
        "tanh({})": np.tanh,
        "sqrt({})": np.sqrt,
        "1 / {}": np.reciprocal,
    }
    for text, f in functions.items():
        for n in (1, 7, 8, 31, 32, 33, 70, 5000):
            x = (r.random(n) * 3 + 0.1).astype(dtype)
            got = st.evaluate("s = sum(i, " + text.format("X(i)") + ")", X=x)
            np.testing.assert_allclose(
                got, f(x).sum(dtype=np.float64), rtol=2e-6 if dtype == "float32" else 1e-14, err_msg=f"{text}, {n}"
            )
        for value in special:
            for at in (3, 70):  # within the vectors, and behind them
                x = np.full(71, 0.5, dtype)
                x[at] = value
                with np.errstate(all="ignore"):
                    want = f(x).max()
                got = st.evaluate("s = max(i, " + text.format("X(i)") + ")", X=x)
                np.testing.assert_allclose(
                    got, want, rtol=1e-6 if dtype == "float32" else 1e-15, err_msg=f"{text} of {value}"
                )
