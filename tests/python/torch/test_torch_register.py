"""Kernels and formats of one's own in torch's operators."""

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")


def sample(text="CSR"):
    torch.manual_seed(0)
    dense = torch.randn(6, 5, dtype=torch.float64) * (torch.rand(6, 5) < 0.5)
    return stt.from_torch(dense, text).requires_grad_(), dense.requires_grad_()


@pytest.fixture
def register():
    """stt.register_kernel, undone at the end."""
    made = []

    def register(op, format, *functions):
        made.append((op, format))
        stt.register_kernel(op, format, *functions)

    yield register
    for op, format in made:
        stt.unregister_kernel(op, format)


def masked(A, dense):
    return torch.where(A.pattern.scatter(torch.ones(A.pattern.num_values)).bool(), dense.grad, 0)


def test_a_missing_backward_is_the_operators_own(register):
    calls = []

    def mine(x, weight, bias=None):
        calls.append(weight.format)
        assert not x.requires_grad and not weight.requires_grad
        return x @ weight.to_dense().t() + (0 if bias is None else bias)

    register(F.linear, "CSR", mine)
    A, dense = sample()
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    other = x.detach().requires_grad_()
    F.linear(x, A).square().sum().backward()
    F.linear(other, dense).square().sum().backward()
    assert calls == ["CSR"]
    torch.testing.assert_close(x.grad, other.grad)
    torch.testing.assert_close(A.grad.to_dense(), masked(A, dense))
    F.linear(x, sample("BSR(2, 2)")[0])
    assert len(calls) == 1  # of this format alone
    assert torch.autograd.gradgradcheck(lambda v, x: F.linear(x, stt.Tensor(v, A.pattern)), (A.values(), x))


def test_modules_ask_too(register):
    L, x = stt.sparsify_(nn.Linear(4, 3), "CSR", stt.Magnitude(0.5)), torch.randn(2, 4)
    want = L(x)
    register(F.linear, "CSR", lambda x, w, b=None: x.new_full((*x.shape[:-1], w.shape[0]), 7))
    assert (L(x) == 7).all()
    assert stt.unregister_kernel(F.linear, "CSR") and not stt.unregister_kernel(F.linear, "CSR")
    assert torch.equal(L(x), want)


def test_forward_and_backward_apart(register):
    seen = []

    def forward(a, b):
        return a.to_dense() @ b

    def backward(g, a, b):
        seen.append(g.shape)
        return 2 * a.pattern.gather(g @ b.t()), 3 * a.to_dense().t() @ g

    register(torch.matmul, "CSR", forward, backward)
    A, dense = sample()
    for f in (lambda A, x: A @ x, torch.mm, lambda A, x: A.matmul(x)):
        x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
        other = x.detach().requires_grad_()
        A.grad = dense.grad = None
        f(A, x).sum().backward()
        (dense @ other).sum().backward()
        torch.testing.assert_close(x.grad, 3 * other.grad)
        torch.testing.assert_close(A.grad.to_dense(), 2 * masked(A, dense))
    assert len(seen) == 3


def test_sparse_results_and_operators_that_had_no_sparse_form(register):
    A, dense = sample()
    register(torch.nn.functional.relu, "CSR", lambda x, inplace=False: stt.Tensor(x.values().clamp(min=0), x.pattern))
    F.relu(A).sum().backward()
    F.relu(dense).sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), masked(A, dense))

    A.grad = dense.grad = None
    register(torch.logcumsumexp, "CSR", lambda x, dim: x.to_dense().logcumsumexp(dim))
    with stt.strict():
        y = torch.logcumsumexp(A, 1)
    y.square().sum().backward()
    dense.logcumsumexp(1).square().sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), masked(A, dense))

    register(torch.tanh, "CSR", lambda x: stt.from_torch(x.to_dense().tanh(), "COO"))
    with pytest.raises(st.TensorError, match="needs its own gradient"):
        torch.tanh(A).sum().backward()


def test_several_sparse_operands_and_kernels_that_pass(register):
    A, _ = sample()
    B = sample("CSC")[0].t()
    assert B.format == "CSR"
    want = (A @ B).to_dense()
    register(torch.matmul, ["CSR", "CSR"], lambda a, b: a.to_dense() @ b.to_dense())
    assert type(A @ B) is torch.Tensor
    torch.testing.assert_close(A @ B, want)
    register(torch.matmul, ["CSR", "CSR"], lambda a, b: NotImplemented)
    assert isinstance(A @ B, stt.Tensor) and torch.equal((A @ B).to_dense(), want)
    with pytest.raises(st.Error, match="a kernel is a function"):
        stt.register_kernel("linear", "CSR", None)


def test_formats_of_ones_own():
    stt.register_format("rows_of_pairs", "(i, j) -> (i: dense, j / 2: compressed, j % 2: dense)")
    A = stt.from_torch(torch.eye(4), "rows_of_pairs")
    assert A.format == "BSR(1, 2)" or A.nse == 8
    L = stt.sparsify_(nn.Linear(8, 4), "rows_of_pairs", stt.Magnitude(0.5))
    x = torch.randn(3, 8)
    torch.testing.assert_close(L(x), F.linear(x, L.weight.to_dense(), L.bias))
