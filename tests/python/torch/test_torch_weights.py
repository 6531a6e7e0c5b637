"""Models with sparse weights: outputs and gradients of the masked dense model, optimizers, saving, compile, export."""

import copy
import io
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
KINDS = {
    "CSR": stt.Magnitude(0.3),
    "BSR(4, 4)": stt.Magnitude(0.4, (4, 4)),
    "structured(2, 4)": stt.NM(2, 4),
    "delta(4)": stt.Random(0.2, generator=None),
    "COO": stt.Threshold(0.05),
    "ELL": stt.Magnitude(0.3),
}


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 16, bias=False))


def pair(text):
    """The sparse model, and the dense one with the same elements."""
    torch.manual_seed(2)
    sparse = stt.sparsify_(net(), text, KINDS[text])
    dense = net()
    for a, b in zip(dense, sparse):
        if isinstance(a, nn.Linear):
            a.weight.data = b.weight.detach().to_dense()
    return sparse, dense


@pytest.mark.parametrize("text", KINDS)
def test_as_the_masked_dense_model(text):
    sparse, dense = pair(text)
    x = torch.randn(2, 5, 32)
    torch.testing.assert_close(sparse(x), dense(x))
    sparse(x).square().sum().backward()
    dense(x).square().sum().backward()
    for a, b in zip(dense, sparse):
        if isinstance(a, nn.Linear):
            there = b.weight.pattern.scatter(torch.ones(b.weight.pattern.num_values)).bool()
            torch.testing.assert_close(
                b.weight.grad.to_dense(), torch.where(there, a.weight.grad, 0), rtol=1e-4, atol=1e-4
            )
            assert (a.bias is None) == (b.bias is None)


@pytest.mark.parametrize("text", KINDS)
def test_state_dict_brings_its_pattern(text):
    sparse, _ = pair(text)
    x = torch.randn(5, 32)
    file = io.BytesIO()
    torch.save(sparse.state_dict(), file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    assert {"0.weight.values", "0.weight.layout", "0.bias"} <= set(state)
    other = stt.sparsify_(
        nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, 16, bias=False)), "CSR", stt.Random(0.1)
    )
    parameters = list(other.parameters())
    other.load_state_dict(state)
    assert all(a is b for a, b in zip(parameters, other.parameters()))
    assert torch.equal(other(x), sparse(x))
    for again in (copy.deepcopy(sparse), pickle.loads(pickle.dumps(sparse))):
        assert torch.equal(again(x), sparse(x)) and type(again[0]) is type(sparse[0])
    del state["0.weight.values"]
    with pytest.raises(RuntimeError, match=r"0\.weight\.values"):
        other.load_state_dict(state)


def test_optimizers_see_values():
    """Each step as the dense model's, whose gradient is masked."""
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
        lambda p: torch.optim.AdamW(p, lr=0.01, fused=True),
        lambda p: torch.optim.RMSprop(p, lr=0.01),
        lambda p: torch.optim.Adagrad(p, lr=0.01),
    ):
        sparse, dense = pair("CSR")
        there = [b.weight.detach().to_dense() != 0 for b in sparse if isinstance(b, stt.Sparse)]
        one, two = make(sparse.parameters()), make(dense.parameters())
        x, y = torch.randn(8, 32), torch.randn(8, 16)
        for _ in range(3):
            for model, optimizer in ((sparse, one), (dense, two)):
                optimizer.zero_grad()
                (model(x) - y).square().mean().backward()
                if model is dense:
                    for layer, mask in zip((dense[0], dense[2]), there):
                        layer.weight.grad *= mask
                else:
                    nn.utils.clip_grad_norm_(model.parameters(), 1e9)
                optimizer.step()
        for layer, mask in zip((0, 2), there):
            torch.testing.assert_close(sparse[layer].weight.detach().to_dense(), dense[layer].weight.detach() * mask)


@pytest.mark.parametrize("text", ["CSR", "BSR(4, 4)", "delta(4)"])
def test_compile_and_export(text):
    sparse, _ = pair(text)
    x = torch.randn(5, 32)
    compiled = torch.compile(sparse, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), sparse(x))
    gradients = []
    for model in (compiled, sparse):
        sparse.zero_grad()
        model(x).square().sum().backward()
        gradients.append([p.grad.clone() for p in sparse.parameters()])
    torch.testing.assert_close(*gradients)
    exported = torch.export.export(sparse, (x,))
    assert "mm_v1" in str(exported.graph)
    torch.testing.assert_close(exported.module()(x), sparse(x))


def test_any_module_that_uses_a_weight():
    torch.manual_seed(3)
    dense = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
    model = copy.deepcopy(dense)
    names = r"(linear\d|out_proj)\.weight|in_proj_weight"
    stt.sparsify_(model, "CSR", stt.Magnitude(0.3), filter=names)
    for name, module in model.named_modules():
        for leaf, weight in stt.weights_of(module).items():
            getattr(dense.get_submodule(name), leaf).data = weight.detach().to_dense()
    x = torch.randn(2, 5, 32)
    for train in (True, False):
        torch.testing.assert_close(model.train(train)(x), dense.train(train)(x))
    assert isinstance(model.self_attn.in_proj_weight, stt.Tensor)
    embedding = nn.Embedding(10, 4)
    sparse = stt.sparsify_(copy.deepcopy(embedding), "CSR", stt.Magnitude(0.5), filter="weight")
    ids = torch.tensor([1, 3, 3])
    torch.testing.assert_close(sparse(ids), sparse.weight.to_dense()[ids])


def test_reformat_and_what_stays_dense():
    names = []

    def func(name, weight):
        names.append(name)
        return weight.to_sparse_csr() if name.startswith("0") else None

    model = net()
    want = model(torch.ones(1, 32))
    assert stt.reformat_(model, func) is model and names == ["0.weight", "2.weight"]
    assert isinstance(model[0].weight, stt.Tensor) and type(model[2].weight) is nn.Parameter
    torch.testing.assert_close(model(torch.ones(1, 32)), want)
    kept = stt.sparsify_(net(), "CSR", stt.Magnitude(0.5), min_sparsity=0.6)
    assert type(kept[0].weight) is nn.Parameter
    with pytest.raises(st.Error, match="another shape"):
        stt.reformat_(net(), lambda name, weight: torch.ones(2, 2).to_sparse_csr())


def test_a_weight_is_replaced():
    model = stt.sparsify_(nn.Sequential(nn.Linear(8, 8)), "CSR", stt.Magnitude(0.5))
    other = stt.from_torch(torch.eye(8), "DIA")
    model[0].weight = other
    assert model[0].weight.pattern is other.pattern and [n for n, _ in model.named_parameters()] == [
        "0.bias",
        "0.weight_values",
    ]
    model[0].weight = nn.Parameter(2 * torch.eye(8))
    assert type(model[0].weight) is nn.Parameter and len(list(model.parameters())) == 2
    torch.testing.assert_close(model(torch.ones(1, 8)), 2 + model[0].bias[None])


@pytest.mark.parametrize(
    "how",
    [dict(density=0.2), dict(density=0.25, block_shape=(4, 4)), dict(density=0.3, format="delta(4)"), "mask", "from"],
)
def test_sparse_from_the_start(how):
    torch.manual_seed(0)
    dense = nn.Linear(32, 16)
    mask = torch.rand(16, 32) < 0.3
    if how == "from":
        layer = stt.nn.Linear.from_dense(dense, "CSC", stt.Magnitude(0.5))
        assert layer.weight.nse == 256 and torch.equal(layer.bias, dense.bias)
    else:
        layer = stt.nn.Linear(32, 16, **(dict(pattern=mask) if how == "mask" else how))
        assert how != "mask" or torch.equal(layer.weight.pattern.scatter(torch.ones(layer.weight.nse)) == 1, mask)
        assert layer.weight_values.abs().max() <= (16 / layer.weight.nse) ** 0.5
    if isinstance(how, dict):
        share = layer.weight.pattern.num_values / 512
        assert share >= how["density"] - 0.01 and (share <= how["density"] + 0.01 or "format" in how)
    x = torch.randn(3, 32)
    torch.testing.assert_close(layer(x), nn.functional.linear(x, layer.weight.to_dense(), layer.bias))
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(again) is stt.nn.Linear and torch.equal(again(x), layer(x))
    other = stt.nn.Linear(32, 16, density=0.9)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x), layer(x))
    with pytest.raises(st.Error, match="told once"):
        stt.nn.Linear(3, 3)
    with pytest.raises(st.Error, match="another shape"):
        stt.nn.Linear(3, 3, pattern=mask)


@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_the_weight_is_made_once(mode):
    """As long as its values, its pattern and its dtype are the same; and what one mode made serves in another."""
    module = stt.sparsify_(torch.nn.Linear(8, 6), "CSR", stt.Magnitude(0.5))
    x = torch.randn(2, 8)
    with mode():
        weight = module.weight
        assert module.weight is weight and not weight.is_inference()
    module.weight_values.data.mul_(2)
    (x @ module.weight.t()).sum().backward()
    assert module.weight is weight and torch.equal(weight.grad.values(), module.weight_values.grad)
    assert torch.equal(weight.to_dense().detach(), module.weight.pattern.scatter(module.weight_values.detach()))
    module.double()
    assert module.weight.dtype == torch.float64 and module(x.double()).dtype == torch.float64
    other = copy.deepcopy(module)
    assert other.weight is not module.weight and other.weight.values() is other.weight_values
    again = pickle.loads(pickle.dumps(module))
    assert again.weight.values() is again.weight_values
    module.weight = stt.from_torch(torch.eye(6, 8).double(), "CSC")
    assert module.weight.format == st.Format("CSC") and module.weight.values() is module.weight_values
    values = torch.zeros_like(module.weight_values)
    assert not torch.func.functional_call(module, {"weight_values": values, "bias": torch.zeros(6)}, x.double()).any()
    assert module.weight.values() is module.weight_values


def test_tied_weights_stay_tied():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight = model[0].weight
    stt.sparsify_(model, "CSR", stt.Magnitude(0.5))
    assert model[0].weight_values is model[1].weight_values and model[0].weight.pattern is model[1].weight.pattern


def test_sparsifiers():
    w = torch.arange(1.0, 17).reshape(4, 4)
    assert stt.Magnitude(0.25)(w).nonzero()[:, 0].tolist() == [3] * 4
    assert stt.Magnitude(0.25, (2, 2))(w).nonzero().tolist() == [[2, 2], [2, 3], [3, 2], [3, 3]]
    assert stt.NM(2, 4)(w).tolist() == [[False, False, True, True]] * 4
    assert stt.NM(1, 4)(torch.ones(2, 6)).sum(1).tolist() == [2, 2]
    assert stt.Threshold(15)(w).sum() == 1 and stt.KeepAll()(w - 1).sum() == 15
    one = stt.Random(0.5, generator=torch.Generator().manual_seed(0))(w)
    assert torch.equal(one, stt.Random(0.5, generator=torch.Generator().manual_seed(0))(w)) and one.sum() == 8
    with pytest.raises(st.Error, match="density"):
        stt.Magnitude(2.0)(w)
