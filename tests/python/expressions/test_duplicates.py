"""Work on elements where a coordinate is stored several times: above a unique level too, where no pair of siblings
shows it."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

# (format, pos, crd): which hold (0, .), (0, .), (1, .) or the same elements several times.
DENSE_BELOW = ("(i, j) -> (i: compressed(nonunique), j: dense)", {0: [0, 3]}, {0: [0, 0, 1]}, 6)
ROWS_BELOW = (
    "(i, j) -> (i: compressed(nonunique), j: compressed)",
    {0: [0, 3], 1: [0, 2, 4, 5]},
    {0: [0, 0, 1], 1: [0, 1, 0, 1, 1]},
    5,
)
BITMAP_BELOW = (
    "(i, j) -> (i: compressed(nonunique), j: bitmap)",
    {0: [0, 3], 1: [0, 2, 4, 5]},
    {0: [0, 0, 1], 1: [0, 1, 0, 1, 1]},
    5,
)
DELTA_BELOW = (  # (crd: how many columns are left out)
    "(i, j) -> (i: compressed(nonunique), j: delta(4))",
    ROWS_BELOW[1],
    {0: [0, 0, 1], 1: [0, 0, 0, 0, 1]},
    5,
)
PADDED_BELOW = (
    "(i, j) -> (i: compressed(nonunique), j: padded(2))",
    {0: [0, 3]},
    {0: [0, 0, 1], 1: [0, 1, 0, 1, 0, 1]},
    6,
)
BLOCKS = (
    "(i, j) -> (i / 2: dense, j / 2: compressed(nonunique), i % 2: dense, j % 2: dense)",
    {1: [0, 2, 2]},
    {1: [0, 0]},
    8,
)
LISTED_BLOCKS = (
    "(i, j) -> (i / 2: compressed(nonunique), j / 2: singleton(nonunique), i % 2: dense, j % 2: dense)",
    {0: [0, 2]},
    {0: [0, 0], 1: [0, 0]},
    8,
)
STRUCTURED_BELOW = (
    "(i, j) -> (i: compressed(nonunique), j / 2: dense, j % 2: structured(1))",
    {0: [0, 3]},
    {0: [0, 0, 1], 2: [0, 0, 1]},
    3,
)
LEAF = ("(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))", {0: [0, 3]}, {0: [0, 0, 1], 1: [1, 1, 0]}, 3)
CASES = [
    DENSE_BELOW, ROWS_BELOW, BITMAP_BELOW, DELTA_BELOW, PADDED_BELOW, BLOCKS, LISTED_BLOCKS, STRUCTURED_BELOW, LEAF,
]  # fmt: skip


def tensor(case, values=None, dtype="float64"):
    format, pos, crd, n = case
    given = [1, -2, -3, 5, 4, 6, -7, 8] if values is None else values
    t = st.Tensor(format, (3, 2), pos=pos, crd=crd, values=np.array(given[:n]).astype(dtype))
    t.validate()
    dense = np.zeros((3, 2), dtype)
    with np.errstate(over="ignore"):
        for at, x in t.items():
            dense[at] += x
    assert np.array_equal(t.to_dense(), dense) and t.nse > np.count_nonzero(dense)
    return t, dense


def same(got, want):
    got = got.to_dense() if isinstance(got, st.Tensor) else np.asarray(got)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12)


OF_ONE = [abs, operator.neg, np.exp, np.sign, np.square, np.tanh, lambda x: x**3, lambda x: x + 1, lambda x: x - 2.5]
OF_ONE += [lambda x: np.maximum(x, 0), lambda x: np.minimum(x, -1), lambda x: x % 3, lambda x: x // 2, lambda x: x > 1]
OF_ONE += [lambda x: x <= 2, lambda x: 2 * x, lambda x: x / 4]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_functions_of_elements(case):
    t, dense = tensor(case)
    for f in OF_ONE:
        same(f(t), f(dense))


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_with_others(case):
    t, dense = tensor(case)
    other = np.arange(6.0).reshape(3, 2) - 2
    for x, X in ((t, dense), (other, other), (st.from_dense(other, "CSR"), other)):
        for f in (operator.add, operator.sub, operator.mul, operator.gt, np.maximum):
            same(f(t, x), f(dense, X))
        same(st.einsum("ij,ij->ij", t, x), dense * X)
        same(st.einsum("ij,ij->", t, x), np.einsum("ij,ij->", dense, X))
        same(st.evaluate("R(i,j) = min(A(i,j), B(i,j) * B(i,j))", A=t, B=x), np.minimum(dense, X * X))
    same(st.evaluate("R(i,j) = A(i,j) * B(i,j)", A=t, B=other, mask=t), dense * other)
    same(st.evaluate("R(i,j) = exp(A(i,j)) - 1", A=t, format="CSR"), np.exp(dense) - 1)


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_reductions(case):
    t, dense = tensor(case)
    for name in ("sum", "max", "min", "any", "all"):
        for axis in (None, 0, 1):
            same(getattr(t, name)(axis=axis), getattr(dense, name)(axis=axis))
    same(st.evaluate("s = sum(i, sum(j, abs(A(i,j))))", A=t), np.abs(dense).sum())
    same(st.evaluate("d(i) = min(j, A(i,j) + x(j))", A=t, x=np.zeros(2)), dense.min(axis=1))


def test_large_reductions_of_values():
    """From some thousands of values on, whole reductions read these alone."""
    copies = 4000
    values, crd = np.tile([1.0, -1.0], copies), {0: np.zeros(copies, int)}
    t = st.Tensor(DENSE_BELOW[0], (3, 2), pos={0: [0, copies]}, crd=crd, values=values)
    rows = {"pos": {0: [0, copies], 1: np.arange(0, 2 * copies + 1, 2)}, "crd": crd | {1: np.tile([0, 1], copies)}}
    for t in (t, st.Tensor(ROWS_BELOW[0], (3, 2), **rows, values=values)):
        dense = t.to_dense()
        same(st.evaluate("s = sum(i, sum(j, abs(A(i,j))))", A=t), np.abs(dense).sum())
        same(t.max(), dense.max())
        same((t * t).sum(), (dense * dense).sum())


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("dtype", ["uint8", "bool"])
def test_sums_that_wrap_meet_wider_numbers(case, dtype):
    """A tensor is what its elements are, in its own dtype: 200 + 200 is 144 of uint8, and two True are one."""
    t, dense = tensor(case, [200] * 8, dtype)
    x, w = np.array([1.0, 2.0]), np.array([[1.0, 3], [2, 5]])
    same(t @ x, dense @ x)
    same(t @ w, dense @ w)
    same(t * w[0], dense * w[0])
    same(st.matmul(t, w.astype(int), dtype="int64"), dense.astype("int64") @ w.astype(int))
    same(st.matmul(t, st.from_dense(w, "CSR")), dense @ w)
    same(st.einsum("ij,ik->jk", t, dense.astype("int32")), np.einsum("ij,ik->jk", dense, dense.astype("int32")))
    same(t.to(dtype="int64"), dense.astype("int64"))
    mm = st.Matmul(t, w)
    mm.plan()
    same(mm.execute(), dense @ w)


def test_of_packages():
    """The gradient of an embedding, and SciPy's blocks that repeat."""
    torch = pytest.importorskip("torch")
    weight = torch.arange(12.0).reshape(4, 3).requires_grad_()
    torch.nn.functional.embedding(torch.tensor([1, 1, 3]), weight, sparse=True).pow(2).sum().backward()
    gradient = weight.grad
    assert gradient.layout is torch.sparse_coo and not gradient.is_coalesced()
    t, dense = st.from_torch(gradient), gradient.to_dense().numpy()
    same(abs(t), abs(dense))
    same(t**2, dense**2)
    same(t + 1.0, dense + np.float32(1))
    b = sp.bsr_array((np.arange(8.0).reshape(2, 2, 2) - 3, [1, 1], [0, 2]), shape=(2, 4))
    same(abs(st.from_scipy(b)), abs(b.toarray()))
    same(st.from_scipy(b) > 1, b.toarray() > 1)
