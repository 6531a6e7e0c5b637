"""Reductions against those of the dense tensor, ties, infinities and absent elements included; spmm(reduce=); torch.sparse's names."""

import pytest

torch = pytest.importorskip("torch")
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402

inf, nan = torch.inf, torch.nan
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore:var", "ignore:std")


def mixed():
    """Rows: some elements, none, full with ties, full and negative, ones and zeros of every sign."""
    x = random(6, 8) * (sample() != 0)
    x[1] = 0
    x[2] = torch.tensor([3.0, 1, 3, 2, -1, 3, 2, 1])
    x[3] = -torch.arange(1.0, 9)
    x[4] = torch.tensor([-1.0, 0, 1, 0, 1, -1, 0, 0])
    return x


def special():
    x = mixed()
    x[0, 0], x[2, 1], x[3, 2], x[4, 4] = inf, nan, -inf, nan
    return x


REDUCTIONS = {
    "sum": lambda x: x.sum(),
    "sum of rows": lambda x: torch.sum(x, 1),
    "sum, NumPy's names": lambda x: torch.sum(x, axis=(0, 1), keepdims=True),
    "mean": lambda x: x.mean(0),
    "amax": lambda x: x.amax(1),
    "amax of all": lambda x: torch.amax(x),
    "amin": lambda x: x.amin((0,), keepdim=True),
    "max": lambda x: torch.max(x),
    "min": lambda x: x.min(),
    "max of rows": lambda x: x.max(1),
    "max of columns": lambda x: torch.max(x, 0, keepdim=True),
    "min of rows": lambda x: torch.min(x, dim=-1),
    "argmax": lambda x: x.argmax(),
    "argmax of rows": lambda x: x.argmax(1),
    "argmin of columns": lambda x: torch.argmin(x, 0, keepdim=True),
    "aminmax": lambda x: torch.aminmax(x, dim=1),
    "any": lambda x: x.any(),
    "any of rows": lambda x: x.any(1),
    "all of rows": lambda x: torch.all(x, 1, keepdim=True),
    "all": lambda x: x.all(),
    "count_nonzero": lambda x: torch.count_nonzero(x, 1),
    "topk": lambda x: torch.topk(x, 5, 1)[0],
    "smallest": lambda x: x.topk(2, 0, largest=False)[0],
    "nansum": lambda x: torch.nansum(x, 1),
    "nanmean": lambda x: x.nanmean(0),
    "logsumexp": lambda x: torch.logsumexp(x, 1),
    "norm 1": lambda x: x.norm(1, 1),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, inf, 1),
}
FINITE = {  # where NaN and infinities meet absent elements, these say something else than the dense tensor would
    "prod": lambda x: x.prod(),
    "prod of rows": lambda x: torch.prod(x, 1),
    "var": lambda x: x.var(),
    "var of rows": lambda x: torch.var(x, 1, unbiased=False),
    "std of columns": lambda x: torch.std(x, dim=0, keepdim=True, correction=2),
    "std_mean": lambda x: torch.std_mean(x, 1),
    "norm": lambda x: torch.norm(x),
    "norm 3": lambda x: torch.norm(x, 3, 0),
    "norm 0.5": lambda x: torch.norm(x, 0.5, 1),
    "norm -1": lambda x: torch.norm(x, -1, 1),
    "norm 0": lambda x: x.norm(0),
    "least": lambda x: torch.linalg.vector_norm(x, -inf, 1),
    "linalg.norm": lambda x: torch.linalg.norm(x, "fro"),
}
NO_GRADIENT = {"topk", "smallest", "norm 0"}  # of equal elements any; torch has none


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", [*REDUCTIONS, *FINITE])
def test_as_dense(name, text):
    f = (REDUCTIONS | FINITE)[name]
    before = sum(stt.densified.values())
    for x in (mixed(), special()) if name in REDUCTIONS else (mixed(),):
        A, dense = stt.from_torch(x, text).requires_grad_(), x.clone().requires_grad_()
        got, want = f(A), f(dense)
        assert type(got) is type(want)
        torch.testing.assert_close(got, want, equal_nan=True)
        first, wanted = (got[0], want[0]) if isinstance(want, tuple) else (got, want)
        if wanted.requires_grad and A.pattern.once and x.isfinite().all() and name not in NO_GRADIENT:
            g = torch.randn(wanted.shape, dtype=x.dtype, generator=torch.Generator().manual_seed(5))
            first.backward(g)
            wanted.backward(g)
            torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))
    assert sum(stt.densified.values()) == before


@pytest.mark.parametrize("text", ["CSR", "DIA", "BSR(4, 4) + COO"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_says_where(largest, text):
    """Equal elements may come in any order, absent ones among them."""
    x = mixed()
    values, places = torch.topk(stt.from_torch(x, text), 6, 1, largest=largest)
    assert torch.equal(values, torch.topk(x, 6, 1, largest=largest)[0]) and torch.equal(x.gather(1, places), values)
    assert all(len(set(row)) == 6 for row in places.tolist())
    x = random(6, 8) * (sample() != 0)
    A, dense = stt.from_torch(x, text).requires_grad_(), x.clone().requires_grad_()
    for t in (A, dense):
        torch.topk(t, 3, 0, largest=largest)[0].square().sum().backward()
    if A.pattern.once:
        torch.testing.assert_close(A.grad.to_dense(), dense.grad)


@pytest.mark.parametrize("name", [*REDUCTIONS, *FINITE])
def test_gradients_of_any_order(name):
    f = (REDUCTIONS | FINITE)[name]
    A = stt.from_torch(random(4, 5) * (sample((4, 5)) != 0) + torch.eye(4, 5) * torch.tensor([0, 0, 0, 2.0, 0]), "CSR")
    g = lambda v: (lambda y: y[0] if isinstance(y, tuple) else y)(f(stt.Tensor(v, A.pattern)))  # noqa: E731
    values = A.values().clone().requires_grad_()
    if not g(values).requires_grad:
        return
    assert torch.autograd.gradcheck(g, (values,), fast_mode=True)
    assert torch.autograd.gradgradcheck(g, (values,), fast_mode=True)
    want = torch.autograd.grad(g(values).sum(), values)[0]
    torch.testing.assert_close(torch.func.grad(lambda v: g(v).sum())(A.values()), want)


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.bfloat16])
@pytest.mark.parametrize("dim", [0, 1, 2, (0, 2)])
def test_dtypes_and_ranks(dim, dtype):
    x = sample((3, 4, 5)).to(dtype) - (0 if dtype == torch.uint8 else 2)
    A = stt.from_torch(x, "COO(3)")
    for f in (torch.sum, torch.amax, torch.amin, torch.any, torch.all, torch.count_nonzero):
        got, want = f(A, dim), f(x, dim)
        assert got.dtype == want.dtype and torch.equal(got, want)
    if isinstance(dim, int):
        for f in (torch.max, torch.min):
            assert all(map(torch.equal, f(A, dim), f(x, dim)))
        assert torch.equal(torch.argmax(A, dim), torch.argmax(x, dim)) and torch.equal(A.prod(dim), x.prod(dim))


def test_nothing_stored():
    for shape in ((3, 4), (0, 4), (3, 0)):
        x = torch.zeros(shape)
        A = stt.from_torch(x, "CSR")
        for f in (torch.sum, torch.mean, torch.any, torch.all, torch.prod, torch.norm, torch.count_nonzero):
            torch.testing.assert_close(f(A), f(x), equal_nan=True)
            torch.testing.assert_close(f(A, dim=1), f(x, dim=1), equal_nan=True)
    A = stt.from_torch(torch.zeros(3, 4), "CSR")
    assert A.max(1).indices.tolist() == [0, 0, 0] and A.topk(2).values.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("format", ["CSR", "COO", "DIA"])
def test_a_product_with_absent_elements_is_a_zero_of_its_sign_or_nan(format):
    x = torch.tensor([[nan, 0, 1], [inf, 0, -2], [inf, 2, 1], [-1, 0, 2], [-1, 0.0, -2], [0, 0, 0]])
    A = stt.from_torch(x, format)
    for y, want in ((A.prod(1), x.prod(1)), (A.prod(0), x.prod(0)), (A.prod(), x.prod())):
        torch.testing.assert_close(y, want, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(A.prod(1)[3:].signbit(), torch.tensor([True, False, False]))


def test_dimensions_that_are_not_there():
    A = stt.from_torch(sample(), "CSR")
    for dim in (2, -3, (0, 0)):
        with pytest.raises(st.TensorError, match="no such dimensions"):
            A.sum(dim)


# spmm


def dense_spmm(A, there, X, reduce):
    products, there = A[:, :, None] * X, there[:, :, None]
    if reduce in ("sum", "mean"):
        y = torch.where(there, products, 0).sum(1)
        return y / there.sum(1).clamp(min=1) if reduce == "mean" else y
    least = reduce == "min"
    y = torch.where(there, products, inf if least else -inf)
    return torch.where(there.any(1), (y.min(1) if least else y.max(1)).values, 0)


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
def test_spmm(reduce, text):
    x = sample() * torch.where(random(6, 8) < 0, -1, 1)
    x[2] = 0
    X = random(8, 3).round()  # with ties
    A, dense, ours, theirs = stt.from_torch(x, text).requires_grad_(), x.clone(), X.clone(), X.clone()
    for t in (dense, ours, theirs):
        t.requires_grad_()
    got, want = stt.spmm(A, ours, reduce), dense_spmm(dense, stored(A.pattern), theirs, reduce)
    torch.testing.assert_close(got, want)
    torch.testing.assert_close(stt.spmm(A.detach(), X, reduce), want.detach())
    g = random(6, 3)
    got.backward(g)
    want.backward(g)
    torch.testing.assert_close(ours.grad, theirs.grad)
    if A.pattern.once:
        torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))


def test_spmm_takes_the_first_of_many_equal_products():
    """In rows longer than one number tells apart."""
    x = torch.zeros(3, 1300)
    x[1], x[2, 700:] = 1, 1
    A, X = stt.from_torch(x, "CSR").requires_grad_(), torch.ones(1300, 2)
    X[:3] = 0
    X.requires_grad_()
    y = stt.spmm(A, X, "max")
    assert y.tolist() == [[0, 0], [1, 1], [1, 1]]
    y.sum().backward()
    assert A.grad.to_dense().nonzero().tolist() == [[1, 3], [2, 700]]
    assert X.grad.nonzero()[:, 0].unique().tolist() == [3, 700]


def test_spmm_of_nan_and_other_dtypes():
    A, X = stt.from_torch(torch.tensor([[1.0, 2.0], [0.0, 1.0]]), "CSR"), torch.tensor([[nan], [1.0]])
    for requires_grad in (False, True):
        y = stt.spmm(A.requires_grad_(requires_grad), X, "max")
        assert y[0].isnan() and y[1] == 1
    for dtype in (torch.uint8, torch.int64, torch.bfloat16):
        A, X = stt.from_torch(sample().to(dtype), "CSR"), sample((8, 3)).to(dtype)
        for reduce in ("max", "min"):
            want = dense_spmm(A.to_dense().double(), stored(A.pattern), X.double(), reduce)
            got = stt.spmm(A.requires_grad_(dtype.is_floating_point), X, reduce)
            assert got.dtype == dtype and torch.equal(got.double(), want)


@pytest.mark.parametrize("reduce", ["mean", "max", "min"])
def test_gradients_of_spmm(reduce):
    A = stt.from_torch(random(4, 5) * (sample((4, 5)) != 0), "CSR")
    f = lambda v, x: stt.spmm(stt.Tensor(v, A.pattern), x, reduce)  # noqa: E731
    values, x = A.values().clone().requires_grad_(), random(5, 2).requires_grad_()
    assert torch.autograd.gradcheck(f, (values, x)) and torch.autograd.gradgradcheck(f, (values, x))
    dense = lambda v, x: dense_spmm(A.pattern.scatter(v), stored(A.pattern), x, reduce)  # noqa: E731
    both = A.values(), x.detach()
    torch.testing.assert_close(torch.func.jvp(f, both, both), torch.func.jvp(dense, both, both))
    want = torch.func.grad(lambda v, x: dense(v, x).square().sum(), (0, 1))(*both)
    torch.testing.assert_close(torch.func.grad(lambda v, x: f(v, x).square().sum(), (0, 1))(*both), want)


def test_spmm_refuses():
    A = stt.from_torch(sample(), "CSR")
    with pytest.raises(st.ExpressionError, match="reduce="):
        stt.spmm(A, random(8, 2), "prod")
    for X in (random(7, 2), random(8), A.t()):
        with pytest.raises(st.TensorError, match="spmm takes"):
            stt.spmm(A, X)


# torch.sparse


def test_torch_sparse_mm():
    C, X = sample().to_sparse_csr(), random(8, 3)
    A = stt.from_torch(C)
    for reduce in ("sum", "mean", "amax", "amin"):
        torch.testing.assert_close(torch.sparse.mm(A, X, reduce), torch.sparse.mm(C, X, reduce))
    torch.testing.assert_close(torch.sparse.mm(A, X), sample() @ X)
    assert isinstance(torch.sparse.mm(A, A.t()), stt.Tensor)
    torch.testing.assert_close(torch.sparse.addmm(random(6, 3), A, X, beta=0.5), random(6, 3) / 2 + sample() @ X)


@pytest.mark.parametrize("text", FORMATS)
def test_sampled_addmm(text):
    A, (a, b) = stt.from_torch(sample(), text).requires_grad_(), (random(6, 3), random(3, 8))
    got = torch.sparse.sampled_addmm(A, a.requires_grad_(), b, beta=0.5, alpha=2)
    assert got.pattern is A.pattern
    want = torch.where(stored(A.pattern), 2 * (a @ b), 0) + sample() / 2
    if A.pattern.once:
        torch.testing.assert_close(got.to_dense(), want)
        got.values().sum().backward()
        torch.testing.assert_close(a.grad, 2 * stored(A.pattern).double() @ b.T)
        assert torch.equal(A.grad.to_dense(), stored(A.pattern) / 2)


def test_torch_sparse_softmax_and_sum():
    C = sample().to_sparse()
    A = stt.from_torch(C)
    for f in (torch.sparse.softmax, torch.sparse.log_softmax):
        torch.testing.assert_close(f(A, 1).to_dense(), f(C, 1).to_dense())
    assert torch.sparse.sum(A) == sample().sum() and torch.equal(torch.sparse.sum(A, 0), sample().sum(0))
