"""n:m:g storage, 2:4 of a trained model, an order of channels, weights in blocks where that pays."""

import copy
import io

import numpy as np
import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402


def grouped(n, m, g, shape, seed=0, dtype=torch.float32):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    return torch.where(stt.GroupedNM(n, m, g)(x), x, 0)


@pytest.mark.parametrize("n,m,g", [(2, 4, 4), (1, 4, 8), (2, 8, 3), (1, 2, 1), (3, 4, 5)])
@pytest.mark.parametrize("shape", [(16, 24), (13, 21), (1, 5), (0, 8), (5, 0)])
def test_nmg_stores_and_computes(n, m, g, shape):
    """Beside NumPy's product of the dense array; to and from other formats."""
    dense, format = grouped(n, m, g, shape), stt.GroupedNM(n, m, g).format
    A = st.from_dense(dense.numpy(), format)
    assert (A.to_dense() == dense.numpy()).all()
    groups = -(-shape[0] // g) * -(-shape[1] // m)
    assert len(A.values) == groups * n * g and len(A.crd(2)) == groups * n
    x = np.random.default_rng(0).random((shape[1], 7), np.float32)
    np.testing.assert_allclose(A @ x, dense.numpy() @ x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(A @ x[:, 0], dense.numpy() @ x[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(x.T @ A.T, x.T @ dense.numpy().T, rtol=1e-4, atol=1e-5)
    for other in ("CSR", "CSC", "COO", "BSR(2, 2)", "bitmap", "dense"):
        B = A.to(other)
        assert (B.to_dense() == dense.numpy()).all() and (B.to(format).to_dense() == dense.numpy()).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_nmg_trains(dtype):
    weight = grouped(2, 4, 4, (16, 24), dtype=dtype)
    W = stt.from_torch(weight, stt.GroupedNM(2, 4, 4).format).requires_grad_()
    dense = weight.clone().requires_grad_()
    x = torch.randn(5, 24, dtype=dtype)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    with stt.strict():
        F.linear(a, W).square().sum().backward()
    F.linear(b, dense).square().sum().backward()
    close = {} if dtype == torch.float64 else {"rtol": 0.05, "atol": 0.5}
    torch.testing.assert_close(a.grad, b.grad, **close)
    torch.testing.assert_close(W.grad.to_dense(), torch.where(weight != 0, dense.grad, 0), **close)


def test_nmg_is_computed_by_groups():
    """Each row of the dense operand is read once for g outputs, whose sums stay in registers."""
    A = st.from_dense(grouped(2, 4, 4, (16, 24)).numpy(), stt.GroupedNM(2, 4, 4).format)
    text = str(st.plan("ij,jk->ik", A, np.ones((24, 32), np.float32)).explain())
    assert "generated code serves" in text and "in pieces of 4, whose sums run side by side" in text
    plain = st.from_dense(grouped(2, 4, 1, (16, 24)).numpy(), "structured(2, 4)")
    assert A.nbytes < plain.nbytes


def net(dtype=None):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 48, dtype=dtype), nn.GELU(), nn.Linear(48, 16, dtype=dtype))


@pytest.mark.parametrize("make", [
    lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    lambda p: torch.optim.AdamW(p, lr=0.01),
    lambda p: torch.optim.Adam(p, lr=0.01, fused=True),
])  # fmt: skip
def test_prune_trained_model(make):
    """Apex ASP's job: each step as that of a dense model whose weights are masked after it."""
    ours, dense = net(torch.float64), net(torch.float64)
    one, two = make(ours.parameters()), make(dense.parameters())
    x, y = torch.randn(64, 32, dtype=torch.float64), torch.randn(64, 16, dtype=torch.float64)

    def steps(model, optimizer, masks=None):
        for _ in range(3):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            for layer, mask in masks or ():
                layer.weight.grad *= mask
            optimizer.step()
            for layer, mask in masks or ():
                layer.weight.data *= mask

    steps(ours, one), steps(dense, two)
    assert stt.prune_trained_model(ours, one) is ours
    masks = []
    for layer in (dense[0], dense[2]):
        size = layer.weight.detach().abs().reshape(len(layer.weight), -1, 4)
        mask = (size >= size.sort(-1, descending=True).values[..., 1:2]).reshape(layer.weight.shape)
        layer.weight.data *= mask
        masks.append((layer, mask))
        for value in two.state[layer.weight].values():  # what the optimizer knew of pruned weights is gone
            if value.shape == mask.shape:
                value *= mask
    steps(ours, one), steps(dense, two, masks)
    for a, (b, mask) in zip((ours[0], ours[2]), masks):
        torch.testing.assert_close(a.weight.detach().to_dense(), b.weight.detach())
        assert a.weight.nse == mask.sum() == mask.numel() // 2
    torch.testing.assert_close(ours(x), dense(x))
    assert {id(p) for group in one.param_groups for p in group["params"]} == {id(p) for p in ours.parameters()}
    file = io.BytesIO()
    torch.save(ours.state_dict(), file)
    again = stt.prune_trained_model(net(torch.float64))
    again.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    assert torch.equal(again(x), ours(x))


def test_it_is_really_compressed():
    model = stt.prune_trained_model(nn.Sequential(nn.Linear(256, 256)))
    weight = model[0].weight
    assert weight.strata.nbytes == 256 * 128 * 4 + 256 * 128 * 2 // 8  # two bits each
    arrays = [weight.values(), *weight.pattern.index]
    assert sum(a.numel() * a.element_size() for a in arrays) == 256 * 128 * 5


@pytest.mark.parametrize(
    "sparsifier", [stt.NM(1, 4), stt.GroupedNM(2, 4, 8), stt.Wanda(n=2, m=4), stt.SparseGPT(n=2, m=4)]
)
def test_others_of_n_of_m(sparsifier):
    model, x = net(), torch.randn(40, 32)
    dense = [m.weight.detach().clone() for m in model if isinstance(m, nn.Linear)]
    stt.prune_trained_model(model, sparsifier=sparsifier, inputs=x)
    for layer, weight in zip((model[0], model[2]), dense):
        assert layer.weight.nse * 4 == weight.numel() * sparsifier.n
        kept = layer.weight.pattern.scatter(torch.ones(layer.weight.pattern.num_values)) > 0
        assert (kept.reshape(len(weight), -1, 4).sum(-1) == sparsifier.n).all()
    with pytest.raises(st.ArgumentError, match="a sparsifier of n of m"):
        stt.prune_trained_model(net(), sparsifier=stt.Magnitude(0.5))


class Residual(nn.Module):
    """Its hidden channels are between two layers; those of the residual are not."""

    def __init__(self):
        super().__init__()
        self.first, self.up, self.down, self.last = (
            nn.Linear(8, 16),
            nn.Linear(16, 32),
            nn.Linear(32, 16),
            nn.Linear(16, 4),
        )

    def forward(self, x):
        x = self.first(x)
        return self.last(x + self.down(F.gelu(self.up(x))))


def retained(model, sparsifier):
    return sum(
        float((m.weight.detach().abs() * sparsifier(m.weight.detach())).sum())
        for m in model.modules()
        if isinstance(m, nn.Linear)
    )


@pytest.mark.parametrize("sparsifier", [stt.NM(2, 4), stt.NM(1, 4), stt.GroupedNM(2, 4, 4)])
def test_channels_are_permuted(sparsifier):
    """The model computes what it did; more of it is kept."""
    torch.manual_seed(4)
    for model, x in (
        (net(), torch.randn(5, 32)),
        (Residual(), torch.randn(5, 8)),
        (nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), torch.randn(2, 5, 16)),
    ):
        before, weights = model(x), copy.deepcopy(model)
        kept = retained(model, sparsifier)
        assert stt.permute_channels_(model, sparsifier) is model
        torch.testing.assert_close(model(x), before)
        assert retained(model, sparsifier) > kept
        if isinstance(model, Residual):
            for name in ("first", "last"):
                assert torch.equal(getattr(model, name).weight, getattr(weights, name).weight)
    # All four of a group are large, and none of the next: the order deals two to each.
    model = nn.Sequential(nn.Linear(4, 8, bias=False), nn.Linear(8, 3, bias=False))
    with torch.no_grad():
        model[1].weight.copy_(torch.tensor([9.0, 8, 7, 6, 1, 1, 1, 1]).expand(3, 8))
    stt.permute_channels_(model, stt.NM(2, 4))
    assert retained(model[1], stt.NM(2, 4)) == 3 * 30
    model = net()
    plain = retained(model, stt.NM(2, 4))
    stt.prune_trained_model(model, permute=True)
    assert sum(float(m.weight.values().detach().abs().sum()) for m in (model[0], model[2])) > plain
    assert stt.sparsify_(net(), None, stt.NM(2, 4, permute=True))[0].weight.format == st.Format("structured(2, 4)")


def test_channels_that_cannot_be_permuted():
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 4))
    before = copy.deepcopy(model.state_dict())
    stt.permute_channels_(model, stt.NM(2, 4))
    assert all(torch.equal(a, before[name]) for name, a in model.state_dict().items())
    shared = nn.Linear(8, 8)
    model = nn.Sequential(shared, nn.ReLU(), shared)
    y = model(torch.ones(1, 8))
    assert torch.equal(stt.permute_channels_(model, stt.NM(2, 4))(torch.ones(1, 8)), y)
    with pytest.raises(st.ArgumentError, match="channels stand between two linear layers"):
        stt.permute_channels_(net(), stt.NM(2, 4), pairs=[("0", "1")])


def test_convert():
    """TVM's job: a weight is stored in blocks where enough of them are zero."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    with torch.no_grad():
        for k, share in ((0, 0.1), (2, 0.3)):
            model[k].weight *= stt.Random(share, (16, 1))(model[k].weight)
    x = torch.randn(4, 64)
    converted = stt.convert(model, (16, 1), sparsity_threshold=0.8)
    assert type(model[0]) is nn.Linear and converted[0].weight.format == "BSR(16, 1)"
    assert type(converted[2]) is nn.Linear and type(converted[4]) is nn.Linear
    torch.testing.assert_close(converted(x), model(x))
    assert "stays dense: 70." in str(stt.explain(converted, x)) or "stays dense: 69." in str(stt.explain(converted, x))
    everything = stt.convert(model, (16, 1), sparsity_threshold=0.6)
    assert everything[2].weight.format == "BSR(16, 1)"
    torch.testing.assert_close(everything(x), model(x))
    assert type(stt.convert(model, (16, 1), 0.8, filter="2")[0]) is nn.Linear
