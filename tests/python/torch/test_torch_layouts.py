"""Batched and hybrid tensors of torch's own layouts: in and out over the same memory, with gradients."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
from test_torch_tensor import random, stored  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore::strata.torch.DensifiedWarning")
LAYOUTS = {
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 3)),
    "bsc": lambda x: x.to_sparse_bsc((2, 3)),
    "csr of vectors": lambda x: x.flatten(0, -3).to_sparse_csr(dense_dim=1),
    "coo of vectors": lambda x: x.to_sparse(x.dim() - 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("shape", [(2, 4, 6), (2, 3, 4, 6)])
def test_batched_and_hybrid(name, shape):
    x = LAYOUTS[name](random(*shape) * (torch.arange(6) < 4))
    dense, A = x.to_dense(), stt.from_torch(x)
    assert A.values().data_ptr() == x.values().data_ptr()
    for B in (A, A.to(f"COO({x.dim()})"), copy.deepcopy(A), pickle.loads(pickle.dumps(A))):
        assert torch.equal(B.to_dense(), dense)
    back = A.to_torch()
    assert back.layout == x.layout and torch.equal(back.to_dense(), dense)
    torch.testing.assert_close((2 * A).to_dense(), 2 * dense)
    torch.testing.assert_close(A.sum(0), dense.sum(0))
    g = random(*x.shape)
    (A.requires_grad_() * 3).to_dense().backward(g)
    torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), 3 * g, 0))


@pytest.mark.parametrize("change", [LAYOUTS["csr"], LAYOUTS["bsr"], lambda w: w.to_sparse(), lambda w: w.to_sparse(2)])
def test_as_weights_of_convolutions(change):
    dense, model = (torch.nn.Sequential(torch.nn.Conv2d(4, 6, (4, 6))).double() for _ in range(2))
    model.load_state_dict(dense.state_dict())
    stt.reformat_(model, lambda name, weight: change(weight))
    x = random(2, 4, 5, 7)
    with stt.strict():
        torch.testing.assert_close(model(x), dense(x))
