"""float16 and bfloat16 in expressions: rounded after each step as NumPy and torch do, sums kept in float32."""

import re

import numpy as np
import pytest

import strata as st

SERVES = "generated code serves"


def values(seed, shape=(40, 30), density=0.4):
    rng = np.random.default_rng(seed)
    a = np.where(rng.random(shape) < density, rng.standard_normal(shape) * 8, 0).astype("float16")
    if a.ndim > 1:
        a[:2, :3] = [[6e4, 6e-8, -0.0], [65504, 1e-3, np.inf]]  # sums and products that overflow, subnormals
    return a


ELEMENTWISE = {
    "A(i,j) * B(i,j)": "A * B",
    "A(i,j) + B(i,j)": "A + B",
    "A(i,j) * B(i,j) + A(i,j)": "A * B + A",
    "(A(i,j) + B(i,j)) / 3": "(A + B) / np.float16(3)",
    "A(i,j) * x(j) - B(i,j)": "A * x - B",
    "max(A(i,j), B(i,j)) * 0.1": "np.maximum(A, B) * np.float16(0.1)",
    "sqrt(abs(A(i,j))) - B(i,j)": "np.sqrt(np.abs(A)) - B",
    "relu(A(i,j)) * -B(i,j)": "np.maximum(A, np.float16(0)) * -B",
}


@pytest.mark.parametrize("text", ELEMENTWISE)
def test_each_step_is_rounded(text, evaluate):
    dense = dict(A=values(1), B=values(2), x=values(3, (30,), 1))
    named = {
        k: dense[k] if k == "x" else st.from_dense(dense[k], {"A": "CSR", "B": "COO"}[k])
        for k in dense
        if re.search(rf"\b{k}\(", text)
    }
    with np.errstate(all="ignore"):
        want = eval(ELEMENTWISE[text], {**dense, "np": np})
    got = evaluate("C(i,j) = " + text, named)
    assert got.dtype == want.dtype == np.float16
    stored = np.ones(want.shape, bool) if "+" in text or "-" in text else np.isfinite(want)  # inf * nothing is nothing
    np.testing.assert_array_equal(got.to_dense()[stored], want[stored])
    assert SERVES in st.explain("C(i,j) = " + text, named)


def test_functions(evaluate):
    a = np.clip(values(4), -9, 9)
    named = dict(A=st.from_dense(a, "CSR"))
    for text, f in (("exp", np.exp), ("tanh", np.tanh), ("cos", np.cos)):
        got = evaluate(f"C(i,j) = {text}(A(i,j)) - 1", named).to_dense()
        np.testing.assert_allclose(got, f(a) - np.float16(1), rtol=2e-3, atol=1e-3)  # the last bit is the library's
        assert got.dtype == np.float16


def test_sums_are_kept_in_float32(evaluate):
    rng = np.random.default_rng(5)
    a = np.full((3, 5000), 1, "float16")  # float16 would stop at 2048
    b = rng.standard_normal((3, 5000)).astype("float16")
    named = dict(A=st.from_dense(a, "CSR"), B=st.from_dense(b, "CSR"))
    got = evaluate("y(i) = sum(j, A(i,j))", {"A": named["A"]})
    assert got.dtype == np.float16 and np.array_equal(got, [5000] * 3)
    got = evaluate("y(i) = sum(j, A(i,j) * B(i,j) + B(i,j))", named)
    np.testing.assert_allclose(got, 2 * b.astype("float64").sum(1), rtol=1e-3, atol=0.1)
    got = evaluate("m(i) = max(j, B(i,j)) - min(j, B(i,j))", {"B": named["B"]})
    assert np.array_equal(got, b.max(1) - b.min(1))


def test_products_and_the_format_of_the_result():
    a, b = values(6, (50, 60), 0.1), values(7, (60, 40), 0.1)
    a[:2], b[:2] = 0, 0
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    for format in (None, "COO", "BSR(2, 2)", "dense"):
        C = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, format=format)
        dense = C.to_dense() if isinstance(C, st.Tensor) else C
        assert dense.dtype == np.float16
        np.testing.assert_allclose(dense, (a.astype("float32") @ b.astype("float32")), rtol=4e-3, atol=1e-2)
    held = np.ones((50, 40), "float16")
    st.evaluate("C(i,k) += A(i,j) * B(j,k)", C=held, A=A, B=B)
    np.testing.assert_allclose(held, 1 + a.astype("float32") @ b.astype("float32"), rtol=4e-3, atol=2e-2)


def test_wider_partners_widen(evaluate):
    a = values(8)
    w = np.random.default_rng(9).standard_normal((40, 30)).astype("float32")
    named = dict(A=st.from_dense(a, "CSR"), W=st.from_dense(np.where(a != 0, w, 0), "CSR"))
    got = evaluate("C(i,j) = A(i,j) * A(i,j) + W(i,j)", named).to_dense()
    with np.errstate(all="ignore"):
        want = a * a + np.where(a != 0, w, 0)
    assert got.dtype == want.dtype == np.float32 and np.array_equal(got, want)  # the square is rounded before


def test_bfloat16_as_torch(evaluate):
    torch = pytest.importorskip("torch")
    a, b = (torch.from_numpy(values(k).astype("float32")).clamp(-1e4, 1e4).to(torch.bfloat16) for k in (10, 11))
    named = dict(A=st.from_torch(a.to_sparse_csr()), B=st.from_torch(b.to_sparse_csr()))
    for text, want in (
        ("A(i,j) * B(i,j) + A(i,j)", a * b + a),
        ("(A(i,j) - B(i,j)) / 3", (a - b) / 3),
        ("abs(A(i,j)) * B(i,j)", a.abs() * b),
    ):
        got = evaluate("C(i,j) = " + text, named)
        assert str(got.dtype) == "bfloat16"
        assert torch.equal(got.to_torch().to_dense() + 0, want + 0), text
        assert SERVES in st.explain("C(i,j) = " + text, named)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_float8_is_rounded_by_torch_alike(name, evaluate):
    """torch has no arithmetic of these: each step in float32, rounded by its casts."""
    torch = pytest.importorskip("torch")
    kind = getattr(torch, name)
    r = np.random.default_rng(12)
    dense = [np.where(r.random((40, 30)) < 0.4, r.standard_normal((40, 30)) * 4, 0).astype("float32") for _ in range(2)]
    a, b = (torch.from_numpy(x).to(kind) for x in dense)
    named = {k: st.from_torch(x).to("CSR") for k, x in (("A", a), ("B", b))}
    step = lambda x: x.to(kind).float()  # noqa: E731
    a, b = a.float(), b.float()
    for text, want in (
        ("A(i,j) * B(i,j) + A(i,j)", step(step(a * b) + a)),
        ("(A(i,j) - B(i,j)) / 3", step(step(a - b) / 3)),
        ("max(abs(A(i,j)), B(i,j)) * 0.5", step(torch.maximum(a.abs(), b) * 0.5)),
    ):
        got = evaluate("C(i,j) = " + text, named)
        assert str(got.dtype) == name
        assert np.array_equal(got.to("CSR", dtype="float32").to_dense() + 0, want.numpy() + 0), text
        assert SERVES in st.explain("C(i,j) = " + text, named)
    got = evaluate("y(i) = sum(j, A(i,j) * B(i,j))", named)  # sums are kept in float32 and rounded once
    assert torch.allclose(got.float(), step(step(a * b).sum(1)), rtol=0.13, atol=0.01)
