"""Functions of stored values: one loop over all slots, in every format that keeps one, and what is not such a function."""

import numpy as np
import pytest
import scipy.sparse as sp
import strata as st

FLAT = "one loop over the slots of"
FORMATS = ["CSR", "CSC", "DCSR", "BSR(2, 3)", "(i, j) -> (i : compressed, j : dense)", "(i, j) -> (i : dense, j : compressed)"]
FUNCTIONS = {
    "A(i,j) * exp(A(i,j))": lambda a, s: a * np.exp(a),
    "relu(A(i,j) * s - A(i,j))": lambda a, s: np.maximum(a * s - a, 0),
    "A(i,j) * A(i,j) / 2": lambda a, s: a * a / 2,
    "max(A(i,j), -A(i,j)) + sqrt(abs(A(i,j)))": lambda a, s: np.abs(a) + np.sqrt(np.abs(a)),
    "A(i,j) > s * A(i,j)": lambda a, s: a > s * a,
}


def operand(dtype="float64", seed=3, shape=(40, 60)):
    r = np.random.default_rng(seed)
    a = sp.random_array(shape, density=0.1, rng=r, format="csr")
    a.data = (a.data * 20 - 10).astype(dtype)
    return a


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "complex128"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", FUNCTIONS)
def test_against_numpy(text, format, dtype):
    if dtype == "complex128" and text != "A(i,j) * A(i,j) / 2":
        pytest.skip("complex numbers have no order")
    a, s = operand(dtype), np.float32(0.5) if dtype == "float32" else 0.5
    A = st.from_scipy(a).to(format)
    operands = {"A": A, **({"s": np.asarray(s)} if "s *" in text or "* s" in text else {})}
    got = st.evaluate("R(i,j) = " + text, operands, format=format)
    got.validate()
    want = FUNCTIONS[text](a.toarray(), s)
    assert got.dtype == want.dtype and got.nse == A.nse
    np.testing.assert_allclose(got.to_dense(), want, rtol=2e-6 if dtype == "float32" else 1e-13)
    other = st._core.evaluate("R(i,j) = " + text, operands, format=format, general=True)
    np.testing.assert_allclose(other.to_dense(), got.to_dense(), rtol=3e-7 if dtype == "float32" else 3e-16)


def test_twins_and_shared_values():
    A = st.from_scipy(operand())
    B = st.evaluate("R(i,j) = A(i,j) * 2", A=A)  # the same arrays, other values
    assert FLAT in st.explain("R(i,j) = A(i,j) * B(i,j) - A(i,j)", A=A, B=B)
    a = A.to_dense()
    np.testing.assert_allclose(st.evaluate("R(i,j) = A(i,j) * B(i,j) - A(i,j)", A=A, B=B).to_dense(), 2 * a * a - a)
    P = st.Tensor("CSR", A.shape, pos={1: A.pos(1)}, crd={1: A.crd(1)}, values=np.broadcast_to(np.float64(3), A.nse))
    assert FLAT in st.explain("R(i,j) = P(i,j) * P(i,j) + P(i,j)", P=P)
    np.testing.assert_array_equal(st.evaluate("R(i,j) = P(i,j) * P(i,j) + P(i,j)", P=P).to_dense(), np.where(a != 0, 12, 0))


def rows(seed, lengths, columns=300, dtype="float64"):
    """A matrix with rows of these lengths."""
    r = np.random.default_rng(seed)
    crd = np.concatenate([np.sort(r.choice(columns, n, replace=False)) for n in lengths]).astype(np.int32)
    pos = np.cumsum([0, *lengths]).astype(np.int32)
    return sp.csr_matrix((r.uniform(-2, 2, len(crd)).astype(dtype), crd, pos), (len(lengths), columns))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("of_rows", ["float64", "float32", "int8", "bool"])
@pytest.mark.parametrize("seed", range(6))
def test_values_of_rows(seed, of_rows, dtype):
    """Empty rows, rows of more than a vector, more slots than one call takes; the vector strided."""
    r = np.random.default_rng(seed)
    n = 4000 if seed == 0 else 90
    a = rows(seed, r.choice([0, 1, 8, 15, 16, 17, 33, 120], n, p=[0.2, 0.2, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]), dtype=dtype)
    m = (r.random(2 * n) * 3).astype(of_rows)[::2]
    for format in ("CSR", "DCSR"):
        A = st.from_scipy(a).to(format)
        text = "R(i,j) = A(i,j) * exp(A(i,j) - m(i)) + A(i,j) / 2"
        assert "one loop over the slots" in st.explain(text, A=A, m=m)
        got = st.evaluate(text, A=A, m=m)
        got.validate()
        dense = a.toarray()
        want = dense * np.exp(dense - m[:, None]) + dense / 2
        assert got.format == A.format and got.nse == a.nnz and got.dtype == want.dtype
        np.testing.assert_allclose(got.to_dense(), want, rtol=1e-5 if want.dtype == np.float32 else 1e-12)
    C = st.from_scipy(sp.csc_matrix(a.T))
    other = st.evaluate("R(j,i) = C(j,i) * exp(C(j,i) - m(i)) + C(j,i) / 2", C=C, m=m)
    np.testing.assert_array_equal(other.to_dense(), got.to_dense().T)


def test_rows_times_numbers():
    a = rows(5, [0, 3, 9, 1, 20, 0, 7])
    m = np.arange(7.0) - 2
    for format, text, want in (("CSR", "A(i,j) * m(i)", a.multiply(m[:, None])), ("CSC", "A(i,j) * c(j)", a.multiply(np.arange(300)))):
        operands = {"A": st.from_scipy(a).to(format), **({"m": m} if "m(" in text else {"c": np.arange(300.0)})}
        assert "over the slots" in st.explain("R(i,j) = 3 * " + text, operands)
        np.testing.assert_allclose(st.evaluate("R(i,j) = 3 * " + text, operands).to_dense(), 3 * want.toarray(), rtol=1e-14)


def test_what_depends_on_coordinates_is_not_flat():
    a = operand()
    A, B = st.from_scipy(a), st.from_scipy(operand(seed=4))
    long = st.from_scipy(rows(1, [200] * 30))
    for text, operands in (
        ("exp(A(i,j) * m(j)) * A(i,j)", dict(A=A, m=np.arange(60.0))),
        ("A(i,j) * A(i,j) * B(i,j)", dict(A=A, B=B)),
        ("exp(A(i,j) * m(i)) * A(i,j)", dict(A=long, m=np.arange(30.0))),
    ):
        assert "over the slots" not in st.explain("R(i,j) = " + text, operands)
    with_schedule = st.evaluate("R(i,j) = A(i,j) * A(i,j) + A(i,j)", A=A, schedule="reorder(i, j)")
    np.testing.assert_allclose(with_schedule.to_dense(), a.toarray() ** 2 + a.toarray())


def test_nothing_stored():
    A = st.from_scipy(sp.csr_matrix((30, 20)))
    assert st.evaluate("R(i,j) = A(i,j) * exp(A(i,j))", A=A).nse == 0
