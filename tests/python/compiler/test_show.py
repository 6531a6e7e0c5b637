"""show() prints what evaluate() generates, however often it was evaluated before."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

A = st.from_scipy(sp.random_array((20, 30), density=0.2, format="csr", rng=np.random.default_rng(1)))
B = st.from_scipy(sp.random_array((30, 10), density=0.2, format="csc", rng=np.random.default_rng(2)))
X = np.ones((30, 10))


@pytest.mark.parametrize(
    "spec, operands, has",
    [
        ("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), ["for k in", "i32 kernel(", "C(i,k)"]),
        ("C(i,k) = A(i,j) * X(j,k)", dict(A=A, X=X), ["csr_product"]),
        ("s(i) = max(j, A(i,j))", dict(A=A), ["for j in", "i32 kernel("]),
    ],
)
def test_what_is_generated(spec, operands, has):
    for _ in range(2):
        st.evaluate(spec, **operands)
        text = st.show(spec, **operands)
        assert all(part in text for part in has), text
    assert "<pre>" in text._repr_html_() or "<div" in text._repr_html_()


def test_code_of_parts_is_coloured():
    pytest.importorskip("pygments")
    text = st.plan("ij,jk->ik", A.to("BSR(2, 2) + COO"), X).show()
    sections = text._repr_html_().split("<b>")
    code = [s for s in sections if s.startswith("C of part") or s.startswith("C<")]
    assert all("<span" in s for s in code)


def test_what_is_wrong_is_told():
    with pytest.raises(st.ExpressionError, match="operands by name"):
        st.show("C(i,k) = A(i,j) * B(j,k)", A=A)
