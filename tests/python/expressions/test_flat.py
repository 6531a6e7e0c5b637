"""Functions of stored values: one loop over all slots, in every format that keeps one, and what is not such a function."""

import numpy as np
import pytest
import scipy.sparse as sp
from differential import random_format, thinned

import strata as st

FLAT = "one loop over the slots of"
FORMATS = [
    "CSR",
    "CSC",
    "DCSR",
    "BSR(2, 3)",
    "(i, j) -> (i : compressed, j : dense)",
    "(i, j) -> (i : dense, j : compressed)",
]
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
    np.testing.assert_array_equal(
        st.evaluate("R(i,j) = P(i,j) * P(i,j) + P(i,j)", P=P).to_dense(), np.where(a != 0, 12, 0)
    )


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
    a = rows(
        seed, r.choice([0, 1, 8, 15, 16, 17, 33, 120], n, p=[0.2, 0.2, 0.3, 0.1, 0.1, 0.05, 0.03, 0.02]), dtype=dtype
    )
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


@pytest.mark.parametrize("outer", ["dense", "compressed", "bitmap", "delta(4)", "padded(90)", "compressed(nonunique)"])
def test_values_of_rows_below_any_level(outer):
    """Rows below bits, packed and padded coordinates: what such a level stores is no list of rows."""
    a = rows(7, [2, 0, 1, 8, 0, 0, 3] * 10).toarray()
    a[41:60] = 0
    m = np.arange(1.0, 71)
    A = st.from_dense(a, f"(i, j) -> (i : {outer}, j : compressed)")
    got = st.evaluate("R(i,j) = A(i,j) * m(i)", A=A, m=m)
    assert got.format == A.format and got.nse == A.nse
    np.testing.assert_array_equal(got.to_dense(), a * m[:, None])
    np.testing.assert_array_equal(st.einsum("i,ij->ji", m, A).to_dense(), (a * m[:, None]).T)
    shifted = st.evaluate("R(i) = A(i + 2,j) * c(j)", A=A, c=np.ones(300))
    np.testing.assert_allclose(shifted, a[2:].sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("engine", ["interpreter"], indirect=True)
@pytest.mark.parametrize("seed", range(200))
def test_any_storage_times_values_of_some_indices(seed, engine):
    """In the operand's pattern, turned, beside itself, and summed."""
    r = np.random.default_rng(seed)
    shape = tuple(int(n) for n in r.integers(1, 14, r.integers(2, 4)))
    fmt = random_format(r, len(shape))
    a = np.round(r.uniform(1, 9, shape)) * (r.random(shape) < r.choice([0.05, 0.3, 0.7]))
    a = thinned(a, fmt)
    A = st.from_dense(a, fmt)
    names = "ijk"[: len(shape)]
    some = [i for i in names if r.random() < 0.6] or [names[0]]
    v = np.round(r.uniform(1, 9, [shape[names.index(i)] for i in some]))
    order = [int(d) for d in r.permutation(len(shape))]
    of, in_a, result = ",".join(some), ",".join(names), ",".join(names[d] for d in order)
    times = np.einsum(f"{names},{''.join(some)}->{names}", a, v)
    for text, want in (
        (f"C({result}) = v({of}) * A({in_a})", times.transpose(order)),
        (f"C({result}) = abs(A({in_a})) * (A({in_a}) * v({of}))", (times * a).transpose(order)),
        (f"C({result}) = v({of}) * A({in_a}) + A({in_a})", (times + a).transpose(order)),
        (f"c(i) = v({of}) * abs(A({in_a}))", times.sum(axis=tuple(range(1, len(shape))))),
    ):
        got = st.evaluate(text, A=A, v=v)
        got = got.to_dense() if isinstance(got, st.Tensor) else got
        np.testing.assert_array_equal(got, want, err_msg=f"{text}, A in {fmt}")


def test_rows_times_numbers():
    a = rows(5, [0, 3, 9, 1, 20, 0, 7])
    m = np.arange(7.0) - 2
    for format, text, want in (
        ("CSR", "A(i,j) * m(i)", a.multiply(m[:, None])),
        ("CSC", "A(i,j) * c(j)", a.multiply(np.arange(300))),
    ):
        operands = {"A": st.from_scipy(a).to(format), **({"m": m} if "m(" in text else {"c": np.arange(300.0)})}
        assert "over the slots" in st.explain("R(i,j) = 3 * " + text, operands)
        np.testing.assert_allclose(
            st.evaluate("R(i,j) = 3 * " + text, operands).to_dense(), 3 * want.toarray(), rtol=1e-14
        )


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


@pytest.mark.parametrize(
    "fmt",
    ["COO", "ELL", "Delta(4)", "(i, j) -> (i : dense, j : bitmap)", "DIAI", "BSR(3, 2)", "DCSC", "TiledCSR(4, 8)"],
)
def test_functions_of_any_storage(fmt):
    """Values alone: no coordinate is read, and none is sorted."""
    r = np.random.default_rng(21)
    a = np.where(r.random((23, 37)) < 0.2, r.integers(-9, 10, (23, 37)), 0).astype(float)
    a[3, 5], a[7, 7] = np.nan, -np.inf
    A = st.from_dense(a, fmt)
    with np.errstate(all="ignore"):
        cases = {
            "abs(A(i,j))": abs(a),
            "A(i,j) * 2.5": a * 2.5,
            "A(i,j) > 1": a > 1,
            "exp(A(i,j))": np.exp(a),
            "A(i,j) * A(i,j) - A(i,j)": a * a - a,
        }
    for text, want in cases.items():
        told = st.explain("C(i,j) = " + text, A=A, format=A.format)
        assert "one loop over the slots" in told, told
        got = st.evaluate("C(i,j) = " + text, A=A, format=A.format)
        got.validate()
        assert got.format == A.format and got.dtype == want.dtype
        np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-15)


def test_coordinates_that_come_twice_are_added_first():
    A = st.Tensor(
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
        (3, 3),
        pos={0: [0, 3]},
        crd={0: [0, 0, 2], 1: [1, 1, 0]},
        values=[2.0, 3.0, 4.0],
    )
    got = st.evaluate("C(i,j) = A(i,j) * A(i,j)", A=A).to_numpy()
    assert got[0, 1] == 25 and got[2, 0] == 16


@pytest.mark.parametrize("fmt", ["BSR(4, 4)", "BSR(3, 2)", "ELL", "DIA"])
def test_extremes_of_rows_and_columns_of_any_storage(fmt):
    r = np.random.default_rng(22)
    a = np.where(r.random((41, 30)) < 0.3, r.integers(-9, 10, (41, 30)), 0).astype(float)
    A = st.from_dense(a, fmt)
    for text, want in (("y(i) = max(j, A(i,j))", a.max(1)), ("y(j) = min(i, A(i,j))", a.min(0))):
        assert "the general path serves" not in st.explain(text, A=A)
        np.testing.assert_array_equal(np.asarray(st.evaluate(text, A=A, format="dense")), want)


def test_rows_that_are_chosen_lie_below_a_dense_level():
    r = np.random.default_rng(23)
    a, b = (np.where(r.random((50, 50)) < 0.1, r.integers(-9, 10, (50, 50)), 0).astype(float) for _ in range(2))
    A, B = st.from_dense(a, "DCSR"), st.from_dense(b, "DCSR")
    told = st.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)
    assert "first B to (d0, d1) -> (d0 : dense, d1 : compressed)" in told and "first A" not in told, told
    got = A @ B
    assert got.format == st.Format("DCSR")
    np.testing.assert_array_equal(got.to_numpy(), a @ b)


@pytest.mark.parametrize("op, of", [("min", np.min), ("max", np.max)])
def test_batches_of_unlike_sizes_are_reduced_as_a_whole(op, of):
    """Each batch has room for the largest: what stands behind the values of a smaller one is none of them."""
    rng = np.random.default_rng(0)
    x = rng.integers(1, 9, (3, 80, 80)) * (rng.random((3, 80, 80)) < np.array([0.9, 0.3, 0.6])[:, None, None])
    x[2] *= 20
    for y in (x.astype(float), -x.astype(float)):
        A = st.from_dense(y, "(b, i, j) -> (b : batch, i : dense, j : compressed)")
        assert st.evaluate(f"s = {op}(b, {op}(i, {op}(j, A(b,i,j))))", A=A) == of(y) == getattr(A, op)()
