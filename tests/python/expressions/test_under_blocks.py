"""Functions under a sparse factor in every format: fill-in is a value there, as every other."""

import re

import numpy as np
import pytest

import strata as st

COLUMN_MAJOR = "(i, j) -> (i / 4: dense, j / 4: compressed, j % 4: dense, i % 4: dense)"
FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "BSR(4, 4)", "BSR(3, 8)", COLUMN_MAJOR, "DIA", "ELL", "delta(4)"]
TEXTS = {
    "inner products": "R(i,j) = P(i,j) * Q(i,k) * K(j,k)",
    "minus inner products": "R(i,j) = -P(i,j) * Q(i,k) * K(j,k)",
    "a function of inner products": "R(i,j) = P(i,j) * exp(sum(k, Q(i,k) * K(j,k)))",
    "divided by inner products": "R(i,j) = P(i,j) / sum(k, Q(i,k) * K(j,k))",
    "row softmax": "R(i,j) = P(i,j) * exp(P(i,j)) / sum(l, P(i,l) * exp(P(i,l)))",
    "column softmax": "R(i,j) = P(i,j) * exp(P(i,j)) / sum(l, P(l,j) * exp(P(l,j)))",
    "softmax by another operand's rows": "R(i,j) = P(i,j) / sum(l, O(i,l) * exp(O(i,l)))",
    "row sums": "R(i) = sum(l, P(i,l) * exp(P(i,l)))",
    "attention": "R(i,c) = sum(j, P(i,j) * exp(sum(k, Q(i,k) * K(j,k))) * V(j,c))"
    " / sum(l, P(i,l) * exp(sum(m, Q(i,m) * K(l,m))))",
}


def operands(format, dtype, shape, columns):
    rng = np.random.default_rng(5)
    p = np.where(rng.random(shape) < 0.2, rng.integers(1, 4, shape) / 4, 0).astype(dtype)
    p[3] = 0  # a row without elements
    o = np.where(rng.random(shape) < 0.2, 0.5, 0).astype(dtype)
    o[0] = 0  # where P has some
    q, k = (rng.integers(-2, 3, (n, columns)).astype(dtype) / 4 for n in shape)
    v = rng.random((shape[1], 5)).astype(dtype)
    return {"P": st.from_dense(p, format), "O": st.from_dense(o, format), "Q": q, "K": k, "V": v}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16"])
@pytest.mark.parametrize("shape", [(48, 40), (45, 43)])
def test_as_the_general_path(format, dtype, shape):
    for columns in (1, 5, 8, 32, 70):
        given = operands(format, dtype, shape, columns)
        for name, text in TEXTS.items():
            if dtype == "complex128" and "exp" in text:
                continue
            own = {k: x for k, x in given.items() if f"{k}(" in text}
            with np.errstate(all="ignore"):
                want = st._core.evaluate(text, own, general=True)
                found = st._core.evaluate(text, own)
            if isinstance(want, st.Tensor):
                assert found.format == want.format, name
                assert found.nse == want.nse, name
                found, want = found.to_dense(), want.to_dense()
            tolerance = {"float16": 1e-2, "float32": 1e-4}.get(dtype, 1e-11)
            np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance, err_msg=f"{name}, {columns}")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("format", ["BSR(2, 2)", "BSR(4, 4)", "DIA"])
@pytest.mark.parametrize("columns", [0, 3, 8, 64])
def test_fill_in_has_no_sign(dtype, format, columns):
    rng = np.random.default_rng(6)
    p = np.where(rng.random((16, 16)) < 0.3, -1, 0).astype(dtype)
    q, k = (rng.integers(-2, 3, (16, columns)).astype(dtype) for _ in range(2))
    P = st.from_dense(p, format)
    for text in ("R(i,j) = -P(i,j) * Q(i,k) * K(j,k)", "R(i,j) = P(i,j) * Q(i,k) * K(j,k)"):
        found = st.evaluate(text, P=P, Q=q, K=k).to_dense()
        want = (-p if "-P" in text else p) * (q @ k.T)
        np.testing.assert_array_equal(found, want)
        for part in (found.real, found.imag):
            assert not np.signbit(part[part == 0]).any()


def test_what_is_infinite_beside_fill_in():
    p = np.array([[1.0, 0, 0, 0], [2, 3, 0, 0], [0, 0, 4, 5], [0, 0, 6, 0]])
    q = np.full((4, 1), 40.0)
    stored = {"CSR": p != 0, "BSR(2, 2)": np.kron(np.eye(2), np.ones((2, 2))) != 0}
    for format, there in stored.items():
        found = st.evaluate("R(i,j) = P(i,j) * exp(sum(k, Q(i,k) * K(j,k)))", P=st.from_dense(p, format), Q=q, K=q)
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found.to_dense(), np.where(there, p * np.inf, 0))


def test_blocks_are_not_taken_apart():
    P = st.from_dense(np.kron(np.eye(4), np.ones((4, 4))), "BSR(4, 4)")
    q = np.ones((16, 8))
    for name in ("a function of inner products", "row softmax", "attention"):
        own = {k: x for k, x in {"P": P, "Q": q, "K": q, "V": q}.items() if f"{k}(" in TEXTS[name]}
        text = str(st.explain(TEXTS[name], **own))
        for line in map(str.strip, text.splitlines()):
            assert not line.startswith("first ") and not re.match(r"#\w+\s+CSR\b", line), (name, line)
        assert "carrier" not in text, name
