"""Sparsifiers with formulas of papers: each on one nn.Linear, beside the formula written out."""

import itertools
import math

import pytest

import strata as st

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402


def layer_and_inputs(outputs=6, inputs=16, rows=40):
    generator = torch.Generator().manual_seed(0)
    layer = nn.Linear(inputs, outputs, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.randn(outputs, inputs, generator=generator, dtype=torch.float64))
    mixed = torch.randn(inputs, inputs, generator=generator, dtype=torch.float64)
    x = torch.randn(rows, inputs, generator=generator, dtype=torch.float64) @ mixed
    return layer, x


def pruned(layer, sparsifier, x, format=None):
    """The weight of the layer after sparsify_, dense; the layer's state stays sparse."""
    model = stt.sparsify_(nn.Sequential(layer), format, sparsifier, inputs=x)
    return model[0].weight.detach()


@pytest.mark.parametrize("density,n,m", [(0.5, None, None), (0.25, None, None), (None, 2, 4), (None, 1, 8)])
def test_wanda(density, n, m):
    """S_ij = |W_ij| * ||X_j||_2; the largest of each row, or of each m in it, stay."""
    layer, x = layer_and_inputs()
    w = layer.weight.detach().clone()
    wanted = torch.zeros_like(w)
    for i in range(w.shape[0]):
        score = [abs(float(w[i, j])) * math.sqrt(sum(float(v) ** 2 for v in x[:, j])) for j in range(w.shape[1])]
        step, count = (w.shape[1], round(density * w.shape[1])) if n is None else (m, n)
        for a in range(0, w.shape[1], step):
            for j in sorted(range(a, a + step), key=lambda j: -score[j])[:count]:
                wanted[i, j] = w[i, j]
    assert torch.equal(torch.where(stt.Wanda(density, n, m)(w, inputs=x), w, 0), wanted)
    weight = pruned(layer, stt.Wanda(density, n, m), x.reshape(4, 10, -1))
    assert torch.equal(weight.to_dense(), wanted)
    assert weight.format == st.Format("CSR" if n is None else f"structured({n}, {m})")


def obs(w, x, damping, choose):
    """SparseGPT by its first formula: columns from left to right; the inverse of the Hessian of the columns that are left; each
    pruned weight's error goes to those right of it. choose(saliency so far) -> pruned, called at the first column of a block."""
    h = 2 * x.t() @ x
    h = h + damping * h.diagonal().mean() * torch.eye(len(h), dtype=h.dtype)
    w, mask = w.clone(), torch.ones_like(w, dtype=torch.bool)
    for j in range(w.shape[1]):
        inverses = [torch.linalg.inv(h[k:, k:])[0, 0] for k in range(j, w.shape[1])]
        begin, kept = choose(j, w[:, j:].square() / torch.stack(inverses))
        if begin is not None:
            mask[:, j : j + kept.shape[1]] = kept
        left = torch.linalg.inv(h[j:, j:])
        for i in range(w.shape[0]):
            if not mask[i, j]:
                w[i, j:] -= w[i, j] / left[0, 0] * left[0]
    return mask, torch.where(mask, w, 0)


@pytest.mark.parametrize("density,n,m,block", [(0.5, None, None, 16), (0.4, None, None, 8), (None, 2, 4, 128)])
def test_sparsegpt(density, n, m, block):
    layer, x = layer_and_inputs()
    w = layer.weight.detach().clone()

    def choose(j, saliency):
        size = block if n is None else m
        if j % size:
            return None, None
        kept = torch.zeros(len(w), size, dtype=torch.bool)
        score = saliency[:, :size]
        if n is None:
            kept.reshape(-1)[score.reshape(-1).argsort(descending=True)[: round(density * score.numel())]] = True
        else:
            for i in range(len(w)):
                kept[i, score[i].argsort(descending=True)[:n]] = True
        return j, kept

    mask, wanted = obs(w, x, 0.01, choose)
    ours = stt.SparseGPT(density, n, m, block)
    got_mask, got = ours.prune(w, inputs=x)
    assert torch.equal(got_mask, mask)
    torch.testing.assert_close(got, wanted, rtol=1e-6, atol=1e-9)
    before = x @ w.t()
    weight = pruned(layer, ours, x)
    torch.testing.assert_close(
        weight.to_dense(), wanted, rtol=1e-4, atol=1e-5
    )  # the model's sums of products are float32
    assert (x @ weight.to_dense().t() - before).norm() < (x @ torch.where(mask, w, 0).t() - before).norm()


def test_unused_inputs_are_no_trouble():
    layer, x = layer_and_inputs()
    x[:, 3] = 0
    mask, w = stt.SparseGPT(0.5).prune(layer.weight, inputs=x)
    assert w.isfinite().all() and (w[:, 3] == 0).all()


def test_movement():
    """S = - sum over the steps of W * dL/dW."""
    layer, x = layer_and_inputs()
    model, movement = nn.Sequential(layer), stt.Movement(0.3)
    movement.watch(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.001)
    score = torch.zeros_like(layer.weight)
    for _ in range(4):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        y = x @ layer.weight.detach().t() + layer.bias.detach()
        gradient = (2 * y / y.numel()).t() @ x  # written out
        score = score - layer.weight.detach() * gradient
        optimizer.step()
    w = layer.weight.detach().clone()
    wanted = torch.zeros_like(w, dtype=torch.bool)
    wanted.reshape(-1)[score.detach().reshape(-1).argsort(descending=True)[: round(0.3 * w.numel())]] = True
    assert torch.equal(movement(w, scores=score.detach()), wanted)
    assert torch.equal(pruned(layer, movement, None).to_dense(), torch.where(wanted, w, 0))
    with pytest.raises(st.ArgumentError, match="nobody watched"):
        movement(torch.ones(2, 2))


def test_l0():
    """Hard concrete gates: z = min(1, max(0, s (zeta - gamma) + gamma))."""
    layer, x = layer_and_inputs()
    w, l0 = layer.weight.detach(), stt.L0()
    log_alpha = (4 * torch.randn(w.shape, generator=torch.Generator().manual_seed(3))).double().requires_grad_()
    beta, gamma, zeta = 2 / 3, -0.1, 1.1
    wanted, expected = torch.zeros_like(w), 0.0
    for i, j in itertools.product(*map(range, w.shape)):
        a = float(log_alpha[i, j].detach())
        wanted[i, j] = w[i, j] * min(1.0, max(0.0, 1 / (1 + math.exp(-a)) * (zeta - gamma) + gamma))
        expected += 1 / (1 + math.exp(-(a - beta * math.log(-gamma / zeta))))
    y = stt.sparsify(layer.weight, l0, "CSR", log_alpha=log_alpha)
    torch.testing.assert_close(y.detach().to_dense(), wanted)
    assert y.nse == (wanted != 0).sum() < w.numel()
    torch.testing.assert_close(float(l0.penalty(log_alpha).detach()), expected)
    (y * 2).sum().backward()
    z = l0.gates(log_alpha)
    torch.testing.assert_close(layer.weight.grad, torch.where(wanted != 0, 2 * z.detach(), 0))
    (of_alpha,) = torch.autograd.grad((z * w * 2).sum(), log_alpha)
    torch.testing.assert_close(log_alpha.grad, torch.where(wanted != 0, of_alpha, 0))
    u = torch.rand(w.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    drawn = l0.gates(log_alpha, training=True, generator=torch.Generator().manual_seed(7))
    s = torch.sigmoid((torch.log(u / (1 - u)) + log_alpha) / beta)
    torch.testing.assert_close(drawn, (s * (zeta - gamma) + gamma).clamp(0, 1))
    with pytest.raises(st.ArgumentError, match="each weight has a gate"):
        l0(w)


def test_sr_ste():
    """W <- W - rate * (dL/d(masked W) + lambda * pruned W), the mask anew in each step."""
    layer, x = layer_and_inputs()
    w, bias = layer.weight.detach().clone(), layer.bias.detach().clone()
    sparsifier = stt.SRSTE(2, 4, decay=0.05)
    model = stt.sparsify_(nn.Sequential(layer), None, sparsifier, when="call")
    optimizer = torch.optim.SGD(model.parameters(), 0.002)
    patterns = set()
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        patterns.add(model[0].weight.pattern)
        loss.backward()
        optimizer.step()
        mask = torch.zeros_like(w, dtype=torch.bool)
        for i, a in itertools.product(range(w.shape[0]), range(0, w.shape[1], 4)):
            mask[i, a + w[i, a : a + 4].abs().argsort(descending=True)[:2]] = True
        y = x @ torch.where(mask, w, 0).t() + bias
        torch.testing.assert_close(loss.detach(), y.square().mean())
        g = 2 * y / y.numel()
        w = w - 0.002 * (g.t() @ x + 0.05 * torch.where(mask, 0, w))
        bias = bias - 0.002 * g.sum(0)
        torch.testing.assert_close(model[0].weight_dense.detach(), w)
    assert len(patterns) > 1 and all(p.format == st.Format("structured(2, 4)") for p in patterns)
    before = model(x)
    stt.sparsify_(model, None, sparsifier)
    assert isinstance(model[0], stt.Sparse) and "weight_values" in dict(model[0].named_parameters())
    torch.testing.assert_close(model(x), before)


def test_a_weight_chosen_in_each_pass_compiles():
    model = stt.sparsify_(nn.Sequential(nn.Linear(8, 8)), "CSR", stt.NM(2, 4), when="call", grad="ste")
    x = torch.randn(3, 8)
    gradients = []
    for f in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        model.zero_grad()
        y = f(x)
        y.square().sum().backward()
        gradients.append((y.detach(), model[0].weight_dense.grad))
    torch.testing.assert_close(*gradients)


def test_each_weight_on_its_own():
    """Weights that a filter leaves out stay what they are, recomputed ones too."""
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    stt.sparsify_(model, None, stt.SRSTE(2, 4), when="call")
    stt.sparsify_(model, None, stt.NM(2, 4), filter="0")
    assert isinstance(model[0], stt.Sparse) and "weight_dense" in dict(model[1].named_parameters())
    stt.sparsify_(model, "CSR", stt.NM(2, 4))
    assert model[0].weight.format == st.Format("structured(2, 4)") and model[1].weight.format == st.Format("CSR")


def test_what_is_not_known_is_told():
    w = torch.ones(4, 8)
    with pytest.raises(st.ArgumentError, match="what the layer reads is not known"):
        stt.Wanda(0.5)(w)
    with pytest.raises(st.ArgumentError, match="gram=\\(3, 3\\) for a weight \\(4, 8\\)"):
        stt.SparseGPT(0.5)(w, gram=torch.eye(3))
    with pytest.raises(st.ArgumentError, match="inputs=a batch"):
        stt.sparsify_(nn.Sequential(nn.Linear(8, 4)), "CSR", stt.Wanda(0.5))
    with pytest.raises(st.ArgumentError, match="what stays is told once"):
        stt.Wanda(0.5, 2, 4)
    with pytest.raises(st.ArgumentError, match="when= of another kind"):
        stt.sparsify_(nn.Linear(8, 4), "CSR", when="step")

    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            return self.one(x)

    with pytest.raises(stt.Unsupported, match="which input meets which weight"):
        stt.sparsify_(nn.Conv2d(4, 4, 1), None, stt.Wanda(0.5), filter="weight", inputs=torch.ones(1, 4, 2, 2))
    with pytest.raises(st.ArgumentError, match="a layer was not called"):
        stt.sparsify_(Unused(), "CSR", stt.Wanda(0.5), inputs=torch.ones(2, 8))
