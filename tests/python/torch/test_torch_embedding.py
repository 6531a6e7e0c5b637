"""Embeddings with sparse tables against the dense ones."""

import copy

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402

INDEX = torch.tensor([[0, 3, 3], [5, 1, 0]])
FLAT, OFFSETS = INDEX.reshape(-1), torch.tensor([0, 0, 4])
CALLS = {
    "embedding": lambda A: F.embedding(INDEX, A),
    "of a number": lambda A: F.embedding(torch.tensor(3), A),
    "of int32": lambda A: F.embedding(INDEX.int(), A),
    "padded": lambda A: F.embedding(INDEX, A, padding_idx=3),
    "padded from the end": lambda A: F.embedding(INDEX, A, padding_idx=-6),
    "means": lambda A: F.embedding_bag(INDEX, A),
    "sums": lambda A: F.embedding_bag(INDEX, A, mode="sum"),
    "weighted": lambda A: F.embedding_bag(INDEX, A, mode="sum", per_sample_weights=random(2, 3), padding_idx=0),
    "by offsets": lambda A: F.embedding_bag(FLAT, A, OFFSETS),
    "with the last offset": lambda A: F.embedding_bag(
        FLAT, A, torch.tensor([0, 2, 6, 6]), include_last_offset=True, padding_idx=-3
    ),
}


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", CALLS)
def test_as_dense(name, text):
    f = CALLS[name]
    dense, A = sample().requires_grad_(), stt.from_torch(sample(), text).requires_grad_()
    with stt.strict():
        got = f(A)
    want = f(dense)
    torch.testing.assert_close(got, want)
    g = torch.linspace(1, 2, want.numel(), dtype=want.dtype).reshape(want.shape)
    got.backward(g)
    want.backward(g)
    torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))


@pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
def test_others_run_on_a_dense_copy():
    A = stt.from_torch(sample(), "CSR").requires_grad_()
    for f in (
        lambda A: F.embedding_bag(INDEX, A, mode="max"),
        lambda A: F.embedding(INDEX, A, scale_grad_by_freq=True),
    ):
        assert torch.equal(f(A), f(sample()))


def test_gradients_of_any_order():
    A = stt.from_torch(sample(), "BSR(4, 3)")
    weights = random(2, 3)
    f = lambda v, w: F.embedding_bag(INDEX, stt.Tensor(v, A.pattern), mode="sum", per_sample_weights=w).square()
    operands = A.values().clone().requires_grad_(), weights.requires_grad_()
    assert torch.autograd.gradcheck(f, operands) and torch.autograd.gradgradcheck(f, operands)


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda A: F.embedding(torch.tensor([6]), A), st.IndexError, "does not have"),
        (lambda A: F.embedding(torch.tensor([-1]), A), st.IndexError, "does not have"),
        (lambda A: F.embedding(INDEX, A, padding_idx=6), st.IndexError, "padding_idx"),
        (lambda A: F.embedding(INDEX, A, max_norm=1.0), st.Unsupported, "max_norm"),
        (lambda A: F.embedding_bag(FLAT, A), st.ArgumentError, "offsets"),
        (lambda A: F.embedding_bag(INDEX, A, per_sample_weights=random(2, 3)), st.ArgumentError, "for sums"),
        (lambda A: stt.nn.Embedding(6, 8, max_norm=1.0, density=0.5), st.Unsupported, "max_norm"),
        (lambda A: stt.nn.Embedding(6, 8), st.ArgumentError, "told once"),
        (lambda A: stt.nn.Embedding(8, 6, pattern=A.pattern), st.ArgumentError, "another shape"),
    ],
)
def test_wrong_calls(call, error, match):
    with pytest.raises(error, match=match):
        call(stt.from_torch(sample(), "CSR"))


def test_module():
    torch.manual_seed(0)
    table = stt.nn.Embedding(60, 8, padding_idx=2, density=0.25, block_shape=(4, 2))
    assert table.weight.format == st.Format("BSR(4, 2)") and table.weight.nse == 120
    assert not table.weight[2].to_dense().any() and 0.5 < table.weight_values.std() < 1.5
    optimizer = torch.optim.Adam(table.parameters(), lr=0.1)
    before = table.weight.to_dense().detach().clone()
    F.mse_loss(table(INDEX), torch.ones(2, 3, 8)).backward()
    optimizer.step()
    changed = (table.weight.to_dense() != before).any(1).nonzero().reshape(-1).tolist()
    assert changed and set(changed) <= {0, 1, 3, 5}
    again = stt.nn.Embedding(60, 8, padding_idx=2, density=0.5)
    again.load_state_dict(table.state_dict())
    for other in (again, copy.deepcopy(table)):
        assert torch.equal(other(INDEX), table(INDEX))


def test_module_of_a_dense_one():
    dense = torch.nn.Embedding(10, 8, padding_idx=2)
    table = stt.nn.Embedding.from_dense(dense, "CSC", stt.Magnitude(0.5))
    kept = table.weight.to_dense().detach()
    assert table.weight.nse == 40 and torch.equal(kept[kept != 0], dense.weight[kept != 0])
    assert torch.equal(table(INDEX), F.embedding(INDEX, kept)) and table.padding_idx == 2
    f = torch.compile(table, fullgraph=True, backend="aot_eager")
    assert torch.equal(f(INDEX), table(INDEX))
