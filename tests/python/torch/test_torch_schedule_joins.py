"""A schedule beside what else changes a model: a second schedule, sparsifiers that look at several weights or at inputs, and
torch.compile."""

import copy

import pytest

torch = pytest.importorskip("torch")

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import sparse  # noqa: E402

nn, F = torch.nn, torch.nn.functional


def mlp(*widths):
    torch.manual_seed(0)
    layers = [nn.Linear(a, b) for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*[x for layer in layers for x in (layer, nn.Tanh())][:-1])


def weights(model):
    return {f"{path}.{name}": w for path, module in model.named_modules() for name, w in stt.weights_of(module).items()}


def near(length, reach=3):
    place = torch.arange(length)
    return (place[:, None] - place).abs() < reach


class Attends(nn.Module):
    """Attention in the code of a module, in as many ways as people write it."""

    def __init__(self, how="call", dropout=0.0):
        super().__init__()
        self.qkv, self.how, self.dropout = nn.Linear(16, 48), how, dropout
        self.inner, self.softmax = nn.Dropout(dropout), nn.Softmax(-1)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        hidden = torch.arange(x.shape[1]) >= x.shape[1] - 2
        added = torch.zeros(len(hidden)).masked_fill(hidden, torch.finfo(torch.float32).min)
        if self.how == "call":
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
        elif self.how == "causal":
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif self.how == "mask":
            y = F.scaled_dot_product_attention(q, k, v, added[None])
        elif self.how == "products":
            y = self.inner(torch.softmax((q @ k.transpose(-2, -1)) / 2, dim=-1)) @ v
        elif self.how == "added":
            y = F.softmax(0.5 * torch.matmul(q, k.mT) + added, -1, dtype=torch.float32).to(x.dtype).matmul(v)
        elif self.how == "filled":
            y = self.softmax((q @ k.mT).mul(torch.tensor(0.5)).masked_fill(hidden, -torch.inf)) @ v
        else:
            assert self.how == "bmm"
            q, k, v = (y.flatten(0, 1) for y in (q, k, v))
            w = F.dropout(F.softmax(torch.bmm(q * 0.5, k.transpose(1, 2)), -1), 0.0).contiguous()
            return torch.bmm(w, v).unflatten(0, (-1, 4)).transpose(1, 2).flatten(2)
        return y.transpose(1, 2).flatten(2)


class Local(sparse.Sparsifier):
    def pattern(self, x, q, k, v):
        return near(q.shape[-2])


# Once more


def test_a_schedule_is_applied_once():
    s = sparse.create_schedule(mlp(8, 6, 4), torch.randn(2, 8))
    s["1"].sparsify(stt.Threshold(0.5))
    first, second = s.build(), s.build()
    assert len(first[1]._forward_hooks) == len(second[1]._forward_hooks) == 1 and not s.model[1]._forward_hooks
    s.apply_()
    for again in (s.apply_, s.build):
        with pytest.raises(st.ArgumentError, match=r"applied to its model[\s\S]*create_schedule"):
            again()


def test_the_last_schedule_of_a_model_counts():
    """Of what both speak; the rest stays."""
    x = torch.randn(2, 10, 16)
    dense = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), Attends(), nn.Linear(16, 4))
    first = sparse.create_schedule(dense, x)
    first["1"].sparsify(stt.Threshold(0.1))
    first["2.attn"].sparsify(torch.eye(10, dtype=torch.bool))
    first["0.weight"].sparsify(stt.Magnitude(0.5), when="call")
    first["3.weight"].set_format("CSR").sparsify(stt.Magnitude(0.5))
    model = first.build()
    second = sparse.create_schedule(model, x)
    assert set(second.places) == set(first.places)
    second["1"].sparsify(stt.Threshold(0.9))
    second["2.attn"].sparsify(near(10))
    second["0.weight"].sparsify(stt.Magnitude(0.25), when="call")
    twice = second.build()
    assert len(twice[1]._forward_hooks) == len(twice[2]._forward_hooks) == 1
    assert weights(twice)["3.weight"].pattern == weights(model)["3.weight"].pattern
    with torch.no_grad():
        w = dense[0].weight * stt.Magnitude(0.25)(dense[0].weight)
        h = torch.relu(F.linear(x, w, dense[0].bias))
        h = torch.where(h.abs() > 0.9, h, 0)
        q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in dense[2].qkv(h).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, near(10)).transpose(1, 2).flatten(2)
        want = F.linear(y, weights(model)["3.weight"].to_dense(), dense[3].bias)
        torch.testing.assert_close(twice(x), want)
    third = sparse.create_schedule(twice)
    third["0.weight"].sparsify(stt.Magnitude(0.25)).set_format("CSC")
    settled = third.build()
    assert weights(settled)["0.weight"].format == st.formats.CSC and "0.weight_dense" not in dict(
        settled.named_parameters()
    )
    torch.testing.assert_close(settled(x), twice(x))


def test_one_way_to_choose_in_each_forward():
    """sparsify_(when="call") and a schedule's are the same; either makes an end of the other."""
    x, made = torch.randn(5, 16), []
    for tell in (
        lambda m: stt.sparsify_(m, "BSR(4, 4)", stt.Magnitude(0.3), when="call"),
        lambda m: sparse.create_schedule(m)["*.weight"].set_format("BSR(4, 4)").sparsify(stt.Magnitude(0.3), when="call").schedule.apply_(),
    ):  # fmt: skip
        model = mlp(16, 12, 4)
        parameters = dict(model.named_parameters())
        tell(model)
        assert model[0].weight_dense is parameters["0.weight"]
        model(x).square().sum().backward()
        made.append((model, model[0].weight_dense.grad, model(x)))
        assert model.state_dict().keys() == parameters.keys()
    torch.testing.assert_close(made[0][1:], made[1][1:])
    dense = mlp(16, 12, 4)
    for layer in (dense[0], dense[2]):
        mask = stt.Magnitude(0.3)(layer.weight)
        layer.weight.register_hook(lambda g, mask=mask: g * mask)
        layer.weight.data *= mask
    y = dense(x)
    y.square().sum().backward()
    torch.testing.assert_close(
        made[0][1:], (dense[0].weight.grad, y), rtol=1e-4, atol=1e-5
    )  # blocks store more: no gradient there
    stt.sparsify_(made[1][0], "CSR", stt.Magnitude(0.3))
    assert set(weights(made[1][0])) == {"0.weight", "2.weight"}
    torch.testing.assert_close(made[1][0](x), y)


def test_another_way_than_with_the_example_is_an_error():
    class Other(nn.Module):
        def forward(self, x):
            scores = x @ x.mT
            scores = scores.exp() if x.shape[0] == 1 else scores
            return torch.softmax(scores, -1) @ x

    s = sparse.create_schedule(Other(), torch.randn(2, 5, 4))
    s["attn"].sparsify(near(5))
    model = s.build()
    model(torch.randn(2, 5, 4))
    with pytest.raises(st.Unsupported, match=r"the attention of the model was computed in another way"):
        model(torch.randn(1, 5, 4))


# Sparsifiers that look at more than one weight


def correlated(rows, width):
    return torch.randn(rows, width // 4) @ torch.randn(width // 4, width) + 0.1 * torch.randn(rows, width)


@pytest.mark.parametrize("sparsifier", [stt.Wanda(0.5), stt.Wanda(n=2, m=4), stt.SparseGPT(n=2, m=4)], ids=repr)
@pytest.mark.parametrize("given", ["tensor", "tuple", "dictionary"])
def test_what_layers_read_comes_from_the_example(sparsifier, given):
    torch.manual_seed(1)
    x = correlated(64, 16)
    example = {"tensor": x, "tuple": (x,), "dictionary": {"input": x}}[given]
    dense = mlp(16, 12, 8)
    s = sparse.create_schedule(dense, example)
    s["*.weight"].sparsify(sparsifier)
    model, want = s.build(), stt.sparsify_(copy.deepcopy(dense), None, sparsifier, inputs=example)
    for name, w in weights(want).items():
        got = weights(model)[name]
        assert got.format == w.format and torch.equal(got.detach().to_dense(), w.detach().to_dense())
        mask, new = sparsifier.prune(
            dense.get_parameter(name).detach(), inputs=x if name[0] == "0" else torch.tanh(dense[0](x)).detach()
        )
        torch.testing.assert_close(got.detach().to_dense(), torch.where(mask, new, 0), rtol=1e-4, atol=1e-5)
    with pytest.raises(st.ArgumentError, match=r"what the layers read[\s\S]*create_schedule\(model, inputs\)"):
        s = sparse.create_schedule(dense)
        s["0.weight"].sparsify(sparsifier)
        s.build()


def test_weights_are_compared_where_the_scope_is_global():
    dense = mlp(16, 12, 8)
    with torch.no_grad():
        dense[2].weight *= 3
    globally = stt.Magnitude(0.3, scope="global")
    s = sparse.create_schedule(dense)
    s["0.weight"].set_format("CSC").sparsify(globally)
    s["2.weight"].sparsify(stt.Magnitude(0.3, scope="global"))  # an equal one
    model = s.build()
    every = torch.cat([dense[k].weight.detach().abs().reshape(-1) for k in (0, 2)])
    least = every.topk(round(0.3 * len(every))).values[-1]
    for k, name in ((0, "0.weight"), (2, "2.weight")):
        w = dense[k].weight.detach()
        assert torch.equal(weights(model)[name].detach().to_dense(), torch.where(w.abs() >= least, w, 0))
    assert weights(model)["2.weight"].nse > 0.3 * 96 > weights(model)["0.weight"].nse * 96 / 192
    # of a model that is sparse already
    s = sparse.create_schedule(model)
    s["*.weight"].sparsify(stt.Magnitude(0.1, scope="global"))
    least = every.topk(round(0.1 * len(every))).values[-1]
    less = weights(s.build())
    assert sum(w.nse for w in less.values()) == round(0.1 * len(every))
    assert all((w.values().abs() >= least).all() for w in less.values())


def test_a_global_scope_stays_global_while_a_model_trains():
    dense = mlp(16, 12, 8)
    with torch.no_grad():
        dense[2].weight *= 3
    s = sparse.create_schedule(dense)
    density = stt.linear_density(1.0, 0.2, 2)
    s["*.weight"].sparsify(stt.Magnitude(1, scope="global"), when="step", density=density, every=1)
    model = s.build()
    assert sum(w.nse for w in weights(model).values()) == 288
    updater = s.updater(model, torch.optim.SGD(model.parameters(), 0.0))
    for step in (1, 2):
        updater.step()
        every = torch.cat([dense[k].weight.detach().abs().reshape(-1) for k in (0, 2)])
        kept = every.topk(round(density(step) * 288)).values[-1]
        for k, name in ((0, "0.weight"), (2, "2.weight")):
            w = dense[k].weight.detach()
            assert torch.equal(weights(model)[name].detach().to_dense(), torch.where(w.abs() >= kept, w, 0))


def test_channels_are_permuted_first():
    torch.manual_seed(0)
    dense = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
    with torch.no_grad():
        dense[2].weight *= torch.rand(32).pow(4) * 4  # some channels matter
    kept = []
    for permute in (False, True):
        s = sparse.create_schedule(dense)
        s["2.weight"].sparsify(stt.NM(2, 4, permute=permute))
        kept.append(float(weights(s.build())["2.weight"].values().detach().abs().sum()))
    assert kept[1] > 1.01 * kept[0]


@pytest.mark.parametrize("given", ["mask", "pattern", "tensor", "function", "object", "class"])
def test_whatever_says_what_stays(given):
    """The same things are taken by sparsify, sparsify_, a schedule and an updater."""
    dense = mlp(8, 6)
    mask = torch.rand(6, 8) < 0.4
    pattern = stt.from_torch(mask.float()).pattern

    class Says:
        def pattern(self, x, **site):
            return mask

    taken = {
        "mask": mask,
        "pattern": pattern,
        "tensor": stt.Tensor(torch.ones(pattern.num_values), pattern),
        "function": lambda x: mask,
        "object": Says(),
        "class": Says,
    }[given]
    w = dense[0].weight
    want = torch.where(mask, w.detach(), 0)
    assert torch.equal(stt.sparsify(w, taken, "COO").detach().to_dense(), want)
    assert torch.equal(stt.sparsify(w, taken).detach(), want)
    s = sparse.create_schedule(dense)
    s["0.weight"].sparsify(taken)
    for model in (s.build(), stt.sparsify_(copy.deepcopy(dense), "CSR", taken)):
        assert torch.equal(model[0].weight.detach().to_dense(), want)
        updater = stt.PatternUpdater(model, None, sparsifier=taken, every=1)
        assert updater.step() and model[0].weight.pattern == pattern
    with pytest.raises(st.ArgumentError, match="answers for every element"):
        stt.sparsify(torch.ones(3, 3), taken, "CSR")


# torch.compile


def compiled(model, fullgraph=True):
    torch._dynamo.reset()
    return torch.compile(model, fullgraph=fullgraph, backend="aot_eager")


def compare(one, other, model, x):
    """Results, and gradients of all parameters."""
    found = []
    for f in (one, other):
        model.zero_grad()
        y = f(x)
        y = y.to_dense() if isinstance(y, stt.Tensor) else y
        y.square().sum().backward()
        found.append((y.detach(), {name: p.grad for name, p in model.named_parameters()}))
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("how", ["call", "causal", "added", "filled", "bmm"])
def test_attention_is_one_graph(how):
    torch.manual_seed(0)
    dense, x = Attends(how), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    s["attn"].sparsify(near(10))
    model = s.build()
    graph = compiled(model)
    for batch in (2, 5) if how == "call" else (2,):  # of another size another graph
        x = torch.randn(batch, 10, 16)
        compare(graph, model, model, x)
        assert not torch.allclose(graph(x), dense(x), atol=0.05)


@pytest.mark.parametrize("pattern", ["config", "class", "layout", "format"])
def test_patterns_of_lengths_are_one_graph(pattern):
    class Blocks:
        block = 4

        def make_layout(self, length):
            return torch.eye(length // 4, dtype=torch.int64).expand(4, -1, -1)

    given = {
        "config": stt.BigBirdSparsityConfig(4, 4, generator=0),
        "class": stt.LocalSlidingWindowSparsityConfig,
        "layout": Blocks,
        "format": near(12),
    }[pattern]
    torch.manual_seed(0)
    dense, x = Attends(), torch.randn(2, 12, 16)
    s = sparse.create_schedule(dense, x)
    s["attn"].sparsify(given)
    if pattern == "format":
        s["attn"].set_format(sparse.BsrTensor(4, 4))
    model = s.build()
    compare(compiled(model), model, model, x)


def test_encoders_are_one_graph():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    dense, x = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    s["layers.*.self_attn"].sparsify(near(10))
    s["layers.*.linear1.weight"].set_format("CSR").sparsify(stt.Magnitude(0.2))
    s["layers.*.dropout"].sparsify(stt.Threshold(0.1)).set_format("CSR")
    model = s.build()
    compare(compiled(model), model, model, x)


def test_dropout_is_drawn_in_the_graph():
    torch.manual_seed(0)
    dense, x = Attends(dropout=0.5), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    s["attn"].sparsify(near(10))
    graph = compiled(s.build())
    one, other = graph(x), graph(x)
    assert not torch.equal(one, other) and torch.isfinite(one).all()
    one.sum().backward()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["call", "products"])
def test_patterns_of_values_break_the_graph(how):
    """What a pattern needs of q, k and v is only there when the code runs: results are the same, the graph ends there."""
    torch.manual_seed(0)
    x = torch.randn(2, 10, 16)
    dense = nn.Sequential(Attends(how), nn.Linear(16, 4))
    s = sparse.create_schedule(dense, x)
    s["0.attn"].sparsify(Local)
    model = s.build()
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(model)(x)
    compare(compiled(model, fullgraph=False), model, model, x)
    want = dense(x)
    torch.testing.assert_close(dense(x), want)  # nothing is left on


@pytest.mark.parametrize(
    "sparsifier", [stt.Threshold(0.3), stt.NM(2, 4), stt.Magnitude(0.5, (1, 2)), Ellipsis], ids=repr
)
def test_outputs_are_one_graph(sparsifier):
    """There they are dense tensors with zeros."""

    class Through(stt.Sparsifier):
        grad = (1.0, 0.5)

        def pattern(self, x, **site):
            return x > 0.1

    torch.manual_seed(0)
    dense, x = mlp(16, 12, 8), torch.randn(6, 16)
    s = sparse.create_schedule(dense, x)
    s["1"].sparsify(Through if sparsifier is Ellipsis else sparsifier)
    s["1"].set_format("COO")
    model = s.build()
    graph = compiled(model)
    for rows in (6, 9):
        compare(graph, model, model, torch.randn(rows, 16))


def test_gradients_of_a_part_are_one_graph():
    dense, x = mlp(16, 12, 8), torch.randn(6, 16)
    s = sparse.create_schedule(dense, x)
    s["1"].grad_sparsify(stt.Threshold(0.05))
    s["0.weight"].grad_sparsify(stt.Threshold(0.05))
    s["2.weight"].sparsify(stt.NM(2, 4), when="call")
    model = s.build()
    compare(compiled(model), model, model, x)
