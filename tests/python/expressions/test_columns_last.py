"""Dense factors on the left of a sparse one: their rows become columns, and the result is turned back. Against NumPy."""

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "(i, j) -> (i : compressed, j : compressed)", "ELL(90)", "BSR(4, 4)",
           "BSR(3, 3)", "DIA", "(i, j) -> (i : dense, j : bitmap)", "(i, j) -> (i : dense, j : delta(4))"]  # fmt: skip


@pytest.mark.parametrize("fmt", FORMATS)
def test_functions_and_semirings(fmt, engine):
    rng = np.random.default_rng(21)
    n, width = (96, 40) if engine == "interpreter" else (200, 70)
    A = np.where(rng.random((n, n)) < 0.2, rng.integers(-4, 5, (n, n)), 0).astype(float)
    X, d = rng.integers(-4, 5, (width, n)).astype(float), rng.integers(1, 4, width).astype(float)
    Z = rng.integers(-4, 5, (3, width, n)).astype(float)
    a = st.from_dense(A, fmt)
    relu = np.maximum(A, 0)
    for text, given, expected in (
        ("Y(k,j) = X(k,i) * relu(A(i,j))", dict(X=X), X @ relu),
        ("Y(k,j) = X(k,i) * relu(A(i,j)) * d(k)", dict(X=X, d=d), (X @ relu) * d[:, None]),
        ("Y(k,j) = X(k,i) * relu(A(j,i))", dict(X=X), X @ relu.T),
        ("Y(b,k,j) = X(b,k,i) * relu(A(i,j))", dict(X=Z), Z @ relu),
        ("Y(k,b,j) = X(b,k,i) * relu(A(i,j))", dict(X=Z), (Z @ relu).transpose(1, 0, 2)),
    ):
        for order in "CF":
            named = {name: np.array(x, order=order) for name, x in given.items()}
            got = np.asarray(st.evaluate(text, A=a, **named))
            np.testing.assert_array_equal(got, expected, err_msg=text)
            assert got.flags.c_contiguous
            out = np.full_like(expected, np.nan)
            st.evaluate(text, dict(A=a, **named), out=out)
            np.testing.assert_array_equal(out, expected, err_msg=text)
    lengths = np.where(A == 0, np.inf, A)
    expected = np.stack([(x[:, None] + lengths).min(0) for x in X])
    got = np.asarray(st.evaluate("Y(k,j) = X(k,i) * A(i,j)", A=a, X=X, semiring="min_plus"))
    np.testing.assert_array_equal(got, expected)


def test_explained():
    a = st.from_dense(np.eye(400), "CSC")
    text = st.explain("Y(k,j) = X(k,i) * relu(A(i,j))", A=a, X=np.ones((300, 400)))
    assert "copies along k, and the result is turned" in text
    # What is emitted as C takes the operands as they are.
    assert "turned" not in st.explain("Y(j,k) = X(k,i) * relu(A(i,j))", A=a, X=np.ones((300, 400)).T.copy().T)
