"""Generated loops write where a dense result is to go: the bits that they make in fresh memory."""

import re

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "DIA", "BSR(2, 3)", "BSR(4, 4)", "(i, j) -> (i : compressed, j : compressed)", "ELL(9)"]
TEXTS = [
    "Y(i,k) = relu(A(i,j)) * X(j,k)",
    "Y(i,k) = A(i,j) * X(j,k) + D(i,k)",
    "Y(k,i) = relu(A(i,j)) * X(j,k)",
    "Y(i,k) = max(j, A(i,j) * X(j,k))",
    "Y(i,k) = exp(A(i,j)) * X(j,k)",
    "Y(i,k) = max(A(i,j) * X(j,k), 0)",
    "y(i) = relu(A(i,j)) * x(j)",
    "y(j) = relu(A(i,j)) * x(i)",
    "Y(i,j) = relu(A(i,j))",
    "s() = relu(A(i,j)) * x(j)",
]


def given(rng, fmt, dtype, n=12, width=5):
    A = np.where(rng.random((n, n)) < 0.3, rng.standard_normal((n, n)), 0).astype(dtype)
    arrays = dict(A=A, X=rng.standard_normal((n, width)), D=rng.standard_normal((n, width)), x=rng.standard_normal(n))
    return {name: a.astype(dtype) for name, a in arrays.items()} | {"A": st.from_dense(A, fmt)}


def named(text, operands):
    """Those that stand on the right, in their order there."""
    found = re.findall(r"\b(\w+)\(", text.split("=", 1)[1])
    return {n: operands[n] for n in dict.fromkeys(found) if n in operands}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_same_bits(fmt, dtype, engine):
    operands = given(np.random.default_rng(3), fmt, dtype)
    for text in TEXTS:
        mine = named(text, operands)
        want = np.asarray(st.evaluate(text, mine, format="dense"))
        out = np.full_like(want, np.nan)
        assert st.evaluate(text, mine, out=out) is out
        np.testing.assert_array_equal(out, want, err_msg=text)
        columns = np.full(want.shape, np.nan, want.dtype, order="F")
        st.evaluate(text, mine, out=columns)
        np.testing.assert_array_equal(columns, want, err_msg=text)
        wide = np.full(want.shape, np.nan)
        st.evaluate(text, mine, out=wide)
        np.testing.assert_array_equal(wide, want, err_msg=text)
        apart = np.full((2, *want.shape), np.nan, want.dtype)  # memory that begins elsewhere
        st.evaluate(text, mine, out=apart[1, ...])
        np.testing.assert_array_equal(apart[1], want, err_msg=text)
        assert np.isnan(apart[0]).all()


@pytest.mark.parametrize("fmt", FORMATS)
def test_added_to_what_is_there(fmt, engine):
    rng = np.random.default_rng(4)
    operands = given(rng, fmt, "float64")
    for text in TEXTS:
        mine = named(text, operands)
        want = np.asarray(st.evaluate(text, mine, format="dense"))
        before = np.array(rng.standard_normal(want.shape))
        plan = st.plan(text, **mine, format="dense")
        for alpha, beta in ((1, 1), (1, 0), (2, 1), (1, -2)):
            out = before.copy()
            plan.run(*mine.values(), out=out, alpha=alpha, beta=beta)
            np.testing.assert_allclose(out, alpha * want + beta * before, rtol=1e-12, atol=1e-12, err_msg=text)


def test_an_operand_that_is_overwritten(engine):
    operands = given(np.random.default_rng(5), "CSR", "float64", width=12)
    for text in ("Y(i,k) = relu(A(i,j)) * X(j,k)", "Y(i,k) = relu(A(i,j)) * X(j,k) + D(i,k)"):
        mine = named(text, operands)
        want = np.asarray(st.evaluate(text, mine, format="dense"))
        for name in mine:
            if name == "A":
                continue
            x = mine[name].copy()
            st.evaluate(text, mine | {name: x}, out=x)
            np.testing.assert_array_equal(x, want, err_msg=text)


def test_memory_that_may_not_be_written():
    operands = given(np.random.default_rng(6), "CSR", "float64")
    out = np.zeros((12, 5))
    out.flags.writeable = False
    with pytest.raises(st.TensorError, match="read-only"):
        st.evaluate("Y(i,k) = relu(A(i,j)) * X(j,k)", named("= A(X(", operands), out=out)
    assert not out.any()
