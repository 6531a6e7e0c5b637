"""Weights of few bits: bfloat16 and float16 with sums in float32, autocast, and int8 with a scale for each row."""

import copy
import io
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

FORMATS = [
    *("CSR", "CSC", "COO", "DCSR", "DIA", "ELL", "bitmap", "dense", "delta(4)", "structured(2, 4)"),
    *("BSR(2, 2)", "BSR(5, 3)", "BSR(4, 4) + COO"),
]
LOW = [torch.bfloat16, torch.float16]


def layer(text, dtype=torch.float32, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(200, 12), nn.ReLU(), nn.Linear(12, 7)).to(dtype)
    sparsifier = stt.NM(2, 4) if "structured" in text else stt.Magnitude(0.4)
    return stt.sparsify_(model, text, sparsifier)[0]


@pytest.mark.parametrize("dtype", LOW, ids=str)
@pytest.mark.parametrize("text", FORMATS)
def test_low_precision_is_summed_in_float32(text, dtype):
    """Each result is the float32 one, rounded once; sums in the low precision would be off by many of its steps."""
    L, x = layer(text, dtype), torch.randn(9, 200).to(dtype)
    wide = L.weight.detach().to_dense().float().requires_grad_()
    x32, x = x.float().requires_grad_(), x.requires_grad_()
    got, want = F.linear(x, L.weight), F.linear(x32, wide)
    assert got.dtype == dtype
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(got.float(), want, rtol=step, atol=1e-4)
    g = torch.randn(9, 12).to(dtype)
    got.backward(g)
    want.backward(g.float())
    torch.testing.assert_close(x.grad.float(), x32.grad, rtol=step, atol=1e-4)
    there = L.weight.pattern.scatter(torch.ones(L.weight.pattern.num_values)).bool()
    if L.weight.pattern.once:
        torch.testing.assert_close(
            L.weight.grad.to_dense().float(), torch.where(there, wide.grad, 0), rtol=step, atol=1e-4
        )


@pytest.mark.parametrize("dtype", LOW, ids=str)
@pytest.mark.parametrize("text", ["CSR", "BSR(2, 2)", "delta(4)"])
def test_autocast(text, dtype):
    """Weights and gradients stay float32, products run in the low precision; as of the dense module."""
    L = layer(text)
    dense = nn.Linear(200, 12)
    dense.load_state_dict({"weight": L.weight.detach().to_dense(), "bias": L.bias})
    x = torch.randn(9, 200)
    outputs = []
    for module in (L, dense):
        with torch.autocast("cpu", dtype):
            y = module(x)
            assert y.dtype == dtype
        y.float().square().sum().backward()
        outputs.append(y)
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(*outputs, rtol=2 * step, atol=2 * step)
    assert L.weight_values.grad.dtype == torch.float32
    there = L.weight.pattern.scatter(torch.ones(L.weight.pattern.num_values)).bool()
    difference = (L.weight.grad.to_dense() - torch.where(there, dense.weight.grad, 0)).abs().max()
    assert difference <= 4 * step * dense.weight.grad.abs().max()


def test_training_in_bfloat16_goes_down():
    torch.manual_seed(0)
    net = stt.sparsify_(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), "CSR", stt.Magnitude(0.5))
    net = net.bfloat16()
    optimizer, x = torch.optim.AdamW(net.parameters(), lr=0.01), torch.randn(32, 16).bfloat16()
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (net(x) - x[:, :4]).float().square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3 and net[0].weight_values.dtype == torch.bfloat16


@pytest.mark.parametrize("text", FORMATS)
def test_int8(text):
    L = layer(text)
    dense = L.weight.detach().to_dense()
    x = torch.randn(3, 4, 200)
    want = L(x)
    assert stt.quantize_(L) is L and type(L) is stt.QuantizedLinear
    scale = dense.abs().amax(1) / 127
    if L.weight.pattern.once:
        torch.testing.assert_close(L.weight_scale, scale)
        assert torch.equal(L.weight.to_dense(), (dense / scale[:, None]).round().to(torch.int8))
    assert (L.weight.dtype, L.weight.format) == (torch.int8, layer(text).weight.format)
    exact = F.linear(x, L.dequantized().to_dense(), L.bias)
    torch.testing.assert_close(L(x), exact, rtol=1e-4, atol=1e-5)
    assert (L(x) - want).abs().max() < 0.05 * want.abs().max()
    torch.testing.assert_close(L(x[0, 0]), exact[0, 0], rtol=1e-4, atol=1e-5)


def test_int8_inputs_get_gradients():
    L, x = stt.quantize_(layer("CSR")), torch.randn(3, 200, requires_grad=True)
    L(x).square().sum().backward()
    other = x.detach().requires_grad_()
    F.linear(other, L.dequantized().to_dense(), L.bias).square().sum().backward()
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-4, atol=1e-4)
    assert all(not p.requires_grad for p in L.parameters())


@pytest.mark.parametrize("dtype", [*LOW, torch.float64], ids=str)
def test_int8_and_other_inputs(dtype):
    L, x = stt.quantize_(layer("CSR")), torch.randn(3, 200).to(dtype)
    y = L(x)
    assert y.dtype == dtype
    torch.testing.assert_close(y.float(), L(x.float()), rtol=torch.finfo(dtype).eps, atol=1e-4)


def test_int8_models_are_saved_copied_and_compiled():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.TransformerEncoderLayer(12, 2, 16, batch_first=True)).eval()
    stt.sparsify_(model, "CSR", stt.Magnitude(0.4))
    fresh, x = copy.deepcopy(model), torch.randn(2, 3, 16)
    stt.quantize_(model, filter=r"^0|linear1")
    assert type(model[0]) is type(model[2].linear1) is stt.QuantizedLinear
    assert not isinstance(model[2].linear2, stt.QuantizedLinear) and model[2].linear2.weight.dtype == torch.float32
    want = model(x)
    torch.testing.assert_close(want, fresh(x), rtol=0.1, atol=0.1)
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), stt.quantize_(model)):
        torch.testing.assert_close(again(x), want, rtol=0.1 if again is model else 0, atol=0.1 if again is model else 0)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    stt.quantize_(fresh)
    fresh.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(fresh(x), model(x))
    compiled = torch.compile(model[0], fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), model[0](x))
    exported = torch.export.export(model[0], (x,))
    assert "mm_v1" in str(exported.graph)
    torch.testing.assert_close(exported.module()(x), model[0](x))


def test_rows_without_elements_and_what_has_no_scale():
    L = nn.Linear(4, 3)
    L.weight.data = torch.tensor([[0.0, 0, 0, 0], [1, 0, -2, 0], [0, 0, 0, 0]])
    stt.quantize_(stt.sparsify_(L, "BSR(2, 2)"))
    assert L.weight_scale.tolist() == [1, torch.tensor(2 / 127).item(), 1]
    torch.testing.assert_close(L(torch.ones(1, 4)) - L.bias, torch.tensor([[0, -1.0, 0]]), rtol=0.01, atol=0.01)
    bad = nn.Linear(2, 2)
    bad.weight.data[0, 0] = torch.inf
    with pytest.raises(st.TensorError, match="finite"):
        stt.quantize_(stt.sparsify_(bad, "CSR"))
