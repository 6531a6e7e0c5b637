"""Quotients that floor, functions, '+=' and expressions in steps by generated code, against NumPy and the general path."""

import html
import re

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

SERVES = "generated code serves"

QUOTIENTS = ["A // B", "A % B", "(A // 2) * B", "A * (B % 3)", "A // x", "A % x"]


def quotient_operands(dtype):
    rng = np.random.default_rng(8)
    signs = [1] if dtype == "uint16" else [1, -1]
    shape = (30, 20)
    a, b = (np.where(rng.random(shape) < 0.5, rng.integers(1, 9, shape) * rng.choice(signs, shape), 0) for _ in "AB")
    x = rng.integers(1, 5, 20)
    if dtype.startswith("float"):
        a, b, x = a / 4, b.astype(float), x / 8
        a[:2, :3], b[:2, :3] = [[np.inf, 5, -0.0], [np.nan, -7, 1]], [[3, -np.inf, 2], [2, 0, 0]]
    return {name: value.astype(dtype) for name, value in dict(A=a, B=b, x=x).items()}


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "uint16"])
@pytest.mark.parametrize("text", QUOTIENTS)
def test_floored_quotients_and_remainders(text, dtype, evaluate):
    dense = quotient_operands(dtype)
    named = dict(dense)
    for name, format in (("A", "CSR"), ("B", "CSC")):
        named[name] = st.from_dense(dense[name], format, threshold=None)
    with np.errstate(all="ignore"):
        want = eval(text, dense)
    spec = "C(i,j) = " + text.replace("A", "A(i,j)").replace("B", "B(i,j)").replace("x", "x(j)")
    named = {k: v for k, v in named.items() if k in text}
    got = evaluate(spec, named).to_dense()
    # What is absent above a divisor stays absent.
    stored = dense["A"] != 0 if text.startswith(("A //", "A %")) else np.ones(want.shape, bool)
    if text.startswith(("A //", "A %")):
        absent = (dense["A"] == 0) & ~np.signbit(dense["A"].astype(float))
        assert (got[absent] == 0).all()
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got[stored], want[stored])
    if "*" not in text:  # what is absent annihilates with the sign of 0
        assert (np.signbit(got) == np.signbit(want))[stored & ~np.isnan(want.astype(float))].all()
    assert SERVES in st.explain(spec, named)


def test_division_of_the_least_integers_wraps(evaluate):
    least = np.iinfo(np.int64).min
    a, b = np.array([[least, 7, -7, least]]), np.array([[-1, 0, 2, 0]])
    named = dict(A=st.from_dense(a, "CSR"), B=st.from_dense(b, "CSR"))
    assert evaluate("C(i,j) = A(i,j) // B(i,j)", named).to_dense().tolist() == [[least, 0, -4, 0]]
    assert evaluate("C(i,j) = A(i,j) % B(i,j)", named).to_dense().tolist() == [[0, 0, 1, 0]]


def test_tangent(evaluate):
    a, x = sp.random(40, 30, 0.2, format="csr", random_state=1), np.linspace(0, 1, 30)
    named = dict(A=st.from_scipy(a), x=x)
    got = evaluate("C(i,j) = tan(A(i,j)) * x(j)", named)
    np.testing.assert_allclose(got.to_dense(), np.tan(a.toarray()) * x)
    assert SERVES in st.explain("C(i,j) = tan(A(i,j)) * x(j)", named)


ADDED = {"A(i,j)": "A", "A(i,j) * B(j,k)": "A @ B", "A(i,j) * X(j,k)": "A @ X", "x(i) * A(i,j)": "x[:, None] * A"}


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8"])
@pytest.mark.parametrize("text", ADDED)
def test_adding_to_what_is_there(text, dtype, evaluate):
    a, b, c = (
        sp.random(25, 25, 0.2, format="csr", random_state=k) * (1 if dtype == "float64" else 99) for k in range(3)
    )
    dense = dict(A=a.toarray(), B=b.toarray(), C=c.toarray(), X=b.toarray(), x=np.arange(25.0))
    dense = {k: v.astype(dtype) for k, v in dense.items()}
    named = {k: st.from_dense(v, "CSR") if k in "ABC" else v for k, v in dense.items() if k == "C" or k in text}
    spec = f"C(i,{'k' if 'k' in text else 'j'}) += {text}"
    got = evaluate(spec, named)
    np.testing.assert_allclose(
        got.to_dense() if isinstance(got, st.Tensor) else got, dense["C"] + eval(ADDED[text], dense)
    )
    assert got.dtype == dtype and np.array_equal(named["C"].to_dense(), dense["C"])
    assert SERVES in st.explain(spec, named)


def test_what_would_lose_its_kind_is_not_added(evaluate):
    C, A = (st.from_dense(np.eye(3, dtype=t), "CSR") for t in ("int64", "float64"))
    with pytest.raises(st.DTypeError, match="cannot hold"):
        evaluate("C(i,j) += A(i,j)", dict(C=C, A=A))


@pytest.mark.parametrize("text", ["A(i,j) / A(i,j)", "sum(k, X(i,j,k))", "A(i,j) < 2"])
def test_integers_that_would_change_their_kind_go_the_general_way(text):
    C, A = (st.from_dense(np.eye(3, dtype="int32"), "CSR") for _ in range(2))
    named = dict(C=C, **({"X": st.from_dense(np.ones((3, 3, 2), "int32"), "CSF(3)")} if "X" in text else {"A": A}))
    assert "not values of its dtype" in st.explain(f"C(i,j) += {text}", named)


def test_each_step_is_explained():
    rng = np.random.default_rng(2)
    A = st.from_scipy(sp.random(60, 60, 0.1, format="csr", random_state=4))
    q, k, v = (rng.standard_normal((60, n)) for n in (8, 8, 5))
    weight = "A(i,j) * exp(sum(k, Q(i,k) * K(j,k)))"
    how = st.explain(f"Y(i,d) = sum(j, {weight} * V(j,d)) / sum(j, {weight})", A=A, Q=q, K=k, V=v)
    lines = how[how.index("in 5 steps:") :].splitlines()
    steps = [line[4:] for line in lines if line[:7] in [f"    {n}. " for n in range(1, 10)]]
    assert "in 5 steps" in how and len(steps) == 5
    assert steps[0].startswith("1. #4(i,j) = sum(k, Q(i,k) * K(j,k))")
    assert steps[1].startswith("2. #work5(i,j) = A(i,j) * exp(#4(i,j))")  # once for both sums
    assert steps[4].startswith("5. Y(i,d) = #6(i,d) / #7(i)")
    assert "into the pattern of mask" in how and "into a dense result" in how


def test_a_notebook_shows_code_in_colours(settings):
    settings.engine = "jit"
    text = st.plan("ij,j->i", st.from_dense(np.eye(3), "CSR"), np.ones(3)).show()
    page = text._repr_html_()
    assert "<b>loop IR</b>" in page and "<b>C</b>" in page
    pytest.importorskip("pygments")
    assert '<span style="' in page
    shown = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", page)))
    for line in text.splitlines():
        assert line.startswith("---") or re.sub(r"\s+", " ", line).strip() in shown
    assert st.explain("C(i,j) = A(i,j) < 2", A=st.from_dense(np.eye(3), "CSR"))._repr_html_().count("&lt;") == 1


def test_rewrites_that_give_back_what_they_were_given_come_to_an_end():
    b = np.array([[3.0, 0, 3], [1, 0, -3]])
    B = st.from_dense(b, "(i, j) -> (i / 9 : compressed, (i % 9) / 3 : dense, (i % 9) % 3 : compressed, j : delta(2))")
    A = np.array([[1.0, 2, 3], [-3, -2, 1], [4, 1, -2], [0, 1, 1]])
    text = "R(l) = ((B(m,l) * any(i, max(A(i,l), B(m,l)))) * A(i,l)) * B(m,l)"
    found, want = (
        st._core.evaluate(text, {"A": A, "B": B}, format="(i) -> (i: compressed)", general=g) for g in (False, True)
    )
    assert np.array_equal(found.to_dense(), want.to_dense())
    assert str(st.explain(text, A=A, B=B, format="(i) -> (i: compressed)")).count("#") < 30


@pytest.mark.parametrize("fmt", ["BSR(2, 2)", "CSR", "(i, j) -> (i / 2 : dense, j : compressed, i % 2 : dense)", "DIA"])
@pytest.mark.parametrize("reduction", ["any", "all", "max", "min", "sum"])
def test_reductions_of_dense_operands_beside_elements_in_blocks(fmt, reduction):
    rng = np.random.default_rng(7)
    b = np.where(rng.random((6, 8)) < 0.4, rng.integers(-3, 4, (6, 8)), 0).astype(float)
    B, A = st.from_dense(b, fmt), rng.integers(-3, 4, (4, 8)).astype(float)
    D = rng.integers(-3, 4, (6, 8)).astype(float)
    text = f"R(m,l) = B(m,l) * {reduction}(i, max(A(i,l), D(m,l)))"
    inner = getattr(np, reduction)(np.maximum(A[:, None, :], D[None]), axis=0)
    for wanted in (None, "CSR", fmt):
        got = st.evaluate(text, A=A, B=B, D=D, format=wanted)
        assert np.array_equal(got.to_dense(), b * inner), wanted
