"""Blocks, diagonals, n of m and bridges beside dense operands: walked in place, in any semiring, against NumPy."""

import numpy as np
import pytest

import strata as st

BANDED = {"DIA", "DIAI"}
N_OF_M = {"structured(2, 4)", "(i, j) -> (i : dense, j : structured(3))"}
FORMATS = [
    "BSR(4, 4)",
    "BSR(5, 3)",
    "BSC(3, 2)",
    "(i, j) -> (i / 4 : dense, j / 5 : compressed, j % 5 : dense, i % 4 : dense)",
    "TiledCSR(8, 8)",
    "BlockedELL(2, 2)",
    "delta(4)",
    *sorted(BANDED),
    *sorted(N_OF_M),
]
SHAPES = [(24, 40), (37, 22), (1, 9), (12, 1)]
#: (sum, its identity, product)
SEMIRINGS = {
    "plus-times": (np.add, 0.0, np.multiply),
    "min-plus": (np.minimum, np.inf, np.add),
    "max-plus": (np.maximum, -np.inf, np.add),
    "max-times": (np.maximum, -np.inf, np.multiply),
    "max(a, b); min(a, b); -inf": (np.maximum, -np.inf, np.minimum),
}


def matrix(rng, format, shape, zeros):
    """Values that stand in this format, 0 elsewhere: of NumPy and ours. `zeros`: some that the format holds are 0."""
    rows, columns = shape
    if format in BANDED:
        apart = np.subtract.outer(np.arange(rows), np.arange(columns))
        there = np.isin(apart, [-7, -1, 0, 2, rows - 1])
    elif format in N_OF_M:
        m = columns if ":" in format else 4
        there = np.zeros(shape, bool)
        for i in range(rows):
            for b in range(0, columns, m):
                size = min(m, columns - b)
                there[i, b + rng.permutation(size)[: rng.integers(0, 3)]] = True
    else:
        there = rng.random(shape) < 0.15
        there[rng.integers(0, rows)] = False
    values = np.where(there, rng.integers(1, 9, shape) * np.where(rng.random(shape) < 0.3, -1.0, 1.0), 0)
    if zeros:
        values[rng.random(shape) < 0.1] = 0
    return values


def shapes_of(format):
    """n of m elements need m of them."""
    return [shape for shape in SHAPES if "structured" not in format or shape[1] >= 4]


def explained(text, **operands):
    return [line.strip() for line in str(st.explain(text, **operands)).splitlines()]


def times(semiring, a, b):
    """a(i,j) with b(j,k), where elements that are 0 are absent."""
    add, identity, multiply = SEMIRINGS[semiring]
    terms = np.where((a != 0)[:, :, None], multiply(a[:, :, None], b[None]), identity)
    return add.reduce(terms, axis=1, initial=identity)


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("format", FORMATS)
def test_products_with_dense(engine, format, semiring):
    rng = np.random.default_rng(3)
    for shape in shapes_of(format):
        values = matrix(rng, format, shape, zeros=True)
        A = st.from_dense(values, format)
        x, X = rng.integers(-5, 9, shape[1]) * 1.0, rng.integers(-5, 9, (shape[1], 3)) * 1.0
        z = rng.integers(-5, 9, shape[0]) * 1.0
        for text, operands, expected in [
            ("y(i) = A(i,j) * x(j)", {"x": x}, times(semiring, values, x[:, None])[:, 0]),
            ("Y(i,k) = A(i,j) * X(j,k)", {"X": X}, times(semiring, values, X)),
            ("y(j) = A(i,j) * z(i)", {"z": z}, times(semiring, values.T, z[:, None])[:, 0]),
        ]:
            got = st.evaluate(text, A=A, semiring=semiring, **operands)
            if min(shape) > 1:  # of a few elements other storage costs nothing
                first = [x for x in explained(text, A=A, semiring=semiring, **operands) if x.startswith("first ")]
                assert not first, (shape, text)
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("format", FORMATS)
def test_trees_beside_dense(engine, format):
    """What is no product, and what depends on both indices."""
    rng = np.random.default_rng(4)
    for shape in shapes_of(format):
        a = matrix(rng, format, shape, zeros=False)
        A = st.from_dense(a, format)
        x, z, M = rng.random(shape[1]), rng.random(shape[0]), rng.random(shape)
        for text, operands, expected in [
            ("y(i) = sum(j, A(i,j) * abs(x(j) - z(i)))", {"x": x, "z": z}, (a * abs(x - z[:, None])).sum(1)),
            ("y(j) = sum(i, A(i,j) * abs(x(j) - z(i)))", {"x": x, "z": z}, (a * abs(x - z[:, None])).sum(0)),
            ("y(i) = sum(j, A(i,j) * M(i,j) * exp(x(j)))", {"x": x, "M": M}, (a * M * np.exp(x)).sum(1)),
            ("s = sum(i, sum(j, A(i,j) * abs(M(i,j) - x(j))))", {"x": x, "M": M}, (a * abs(M - x)).sum()),
            ("y(i) = max(j, A(i,j) * x(j))", {"x": x}, (a * x).max(1)),
            ("y(j) = min(i, A(i,j) * z(i))", {"z": z}, (a * z[:, None]).min(0)),
        ]:
            np.testing.assert_allclose(st.evaluate(text, A=A, **operands), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("format", sorted(BANDED))
def test_elements_by_diagonals_beside_vectors(engine, format):
    """Along the diagonal's places or not."""
    rng = np.random.default_rng(5)
    for shape in SHAPES:
        a = matrix(rng, format, shape, zeros=False)
        A = st.from_dense(a, format)
        x, z = rng.random(shape[1]), rng.random(shape[0])
        text = "C(i,j) = A(i,j) * exp(x(j)) / (1 + z(i))"
        C = st.evaluate(text, A=A, x=x, z=z)
        C.validate()
        assert C.format == A.format
        np.testing.assert_allclose(C.to_dense(), a * np.exp(x) / (1 + z[:, None]), rtol=1e-14)
        assert not [x for x in explained(text, A=A, x=x, z=z) if x.startswith("first ")]


def test_fill_in_is_no_value_of_a_semiring(engine):
    """The smallest example: a block with one element, three zeros around it."""
    A = st.from_dense(np.array([[5.0, 0.0], [0.0, 0.0]]), "BSR(2, 2)")
    y = st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.array([1.0, -9.0]), semiring="min-plus")
    np.testing.assert_array_equal(y, [6.0, np.inf])
    assert st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.array([True, True]), semiring="or-and").tolist() == [
        True,
        False,
    ]
    B = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=A, semiring="min-plus")
    assert B.nse == 1 and B[0, 0] == 10.0


def test_n_of_a_dimension(engine):
    """So many of each row, packed into the bits that a column needs: graphs of nearest neighbours."""
    rng = np.random.default_rng(6)
    values = np.zeros((50, 300))
    for row in values:
        row[rng.permutation(300)[:5]] = rng.random(5)
    A = st.from_dense(values, "(i, j) -> (i : dense, j : structured(5))")
    A.validate()
    assert "CRD=uint9" in repr(A)
    x, X = rng.random(300), rng.random((300, 20))
    np.testing.assert_allclose(A @ x, values @ x, rtol=1e-13)
    np.testing.assert_allclose(A @ X, values @ X, rtol=1e-13)
    np.testing.assert_array_equal(A.to("CSR").to_dense(), values)
    np.testing.assert_allclose(
        st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=A.T.to("CSR")).to_dense(), values @ values.T
    )
    with pytest.raises(st.TensorError, match="too many elements in group 0"):
        st.from_dense(np.ones((2, 9)), "(i, j) -> (i : dense, j : structured(5))")
    with pytest.raises(st.TensorError, match="more slots than coordinates"):
        st.from_dense(np.ones((2, 3)), "(i, j) -> (i : dense, j : structured(5))")
