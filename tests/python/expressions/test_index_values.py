"""Indices as values, against NumPy: `A(i,j) * (i > j)`."""

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "bitmap", "BSR(4, 4) + COO"]
rng = np.random.default_rng(0)
D = rng.integers(1, 9, (5, 7)) * (rng.random((5, 7)) < 0.5).astype(float)
i, j = np.indices(D.shape)

EXPRESSIONS = {
    "R(i,j) = A(i,j) * (i >= j)": np.tril(D),
    "R(i,j) = A(i,j) * (i + 1)": D * (i + 1),
    "R(j,i) = A(i,j) * (j - 2*i)": (D * (j - 2 * i)).T,
    "R(i,j) = A(i,j) + i": D + i,
    "R(i,j) = A(i,j) / (i + j + 1)": D / (i + j + 1),
    "y(i) = A(i,j) * j": (D * j).sum(1),
    "s = A(i,j) * (i == j)": np.trace(D),
    "y(i) = max(j, A(i,j) * j)": (D * j).max(1),
    "y(i) = sum(j, A(i,j) * j) + i": (D * j).sum(1) + i[:, 0],
}


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_numpy(expression, text):
    A, want = st.from_dense(D, text), EXPRESSIONS[expression]
    for got in (st.evaluate(expression, A=A), st._core.evaluate(expression, {"A": A}, general=True)):
        dense = got.to_dense() if isinstance(got, st.Tensor) else np.asarray(got)
        np.testing.assert_allclose(dense, want)
    assert isinstance(st.evaluate("R(i,j) = A(i,j) * (i >= j)", A=A), st.Tensor)
    assert expression.split(" = ")[0] in str(st.explain(expression, A=A))


def test_an_operand_of_this_name_comes_first():
    A = st.from_dense(D, "CSR")
    assert np.array_equal(st.evaluate("R(i,j) = A(i,j) * i", A=A, i=2.0).to_dense(), 2 * D)
    out = np.zeros(5)
    st.evaluate("y(i) += A(i,j) * j", A=A, y=out)
    np.testing.assert_allclose(out, (D * j).sum(1))
    B = st.from_dense(D.astype("float32"), "CSR")
    assert st.evaluate("R(i,j) = A(i,j) * (i > j)", A=B).dtype == "float32"


def test_what_has_no_value():
    A = st.from_dense(D, "CSR")
    with pytest.raises(st.ExpressionError, match="'j' has no value outside of the sum"):
        st.evaluate("y(i) = sum(j, A(i,j)) * j", A=A)
    with pytest.raises(st.ExpressionError, match="needs its operands by name"):
        st.evaluate("y(i) = A(i,j) * k", A=A)
