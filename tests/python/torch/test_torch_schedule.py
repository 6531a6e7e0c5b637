"""strata.torch.sparse: what is recorded of a model's weights, and the model that comes of it, beside the masked dense one."""

import copy
import json
import pickle

import pytest

torch = pytest.importorskip("torch")

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import sparse  # noqa: E402

F = torch.nn.functional


class Ellpack(sparse.SparseTensor):
    def __init__(self):
        with sparse.iter(dim=2) as (I, J):
            J.compress(coordinate=True).pack()
            self.indices = [I, J]


class Blocks(sparse.SparseTensor):
    def __init__(self, m=4, n=4):
        with sparse.iter(dim=2) as (I, J):
            (outer_i, inner_i), (outer_j, inner_j) = I.split(m), J.split(n)
            outer_j.compress()
            self.indices = [outer_i, outer_j, inner_i, inner_j]


FORMATS = [
    sparse.CsrTensor,
    sparse.CscTensor,
    sparse.CooTensor,
    sparse.DcsrTensor,
    sparse.CsfTensor,
    sparse.EllpackTensor,
    sparse.BsrTensor(2, 3),
    sparse.BsrTensor(4, 4),
    sparse.BscTensor(4, 4),
    sparse.BlockedEllpackTensor(4, 4),
    sparse.DiaTensor,
    sparse.DeltaTensor(4),
    sparse.BitmapTensor,
    sparse.DenseTensor,
    Ellpack,
    Blocks,
    "BSR(4, 4) + COO",
    st.Format("(i, j) -> (j / 8 : dense, i : compressed, j % 8 : bitmap)"),
]


def mlp(*sizes):
    torch.manual_seed(0)
    layers = [layer for a, b in zip(sizes, sizes[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.GELU())]
    return torch.nn.Sequential(*layers[:-1])


def weights(model):
    """{name: sparse weight}"""
    return {
        f"{path}.{leaf}" if path else leaf: w
        for path, m in model.named_modules()
        for leaf, w in stt.weights_of(m).items()
    }


def masked(dense, model):
    """A copy of the dense model with the weights that the sparse one stores, and masks for its gradients."""
    dense = copy.deepcopy(dense)
    for name, weight in weights(model).items():
        dense.get_parameter(name).data = weight.detach().to_dense()
    return dense


def same(model, dense, *inputs, of=lambda y: y, rtol=1e-4, atol=1e-5):
    """Results, the input's gradient, and gradients of stored elements and of whatever is dense in both."""
    model.zero_grad()
    inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    theirs = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    torch.manual_seed(1)
    y = of(model(*inputs))
    torch.manual_seed(1)
    want = of(dense(*theirs))
    y = y.to_dense() if isinstance(y, stt.Tensor) else y
    torch.testing.assert_close(y, want, rtol=rtol, atol=atol)
    g = torch.randn_like(want)
    y.backward(g)
    want.backward(g)
    close = dict(rtol=rtol, atol=atol * max(1, float(g.abs().max())))
    for a, b in zip(inputs, theirs):
        if a.is_floating_point():
            torch.testing.assert_close(a.grad, b.grad, **close)
    sparse_ones, compared = weights(model), 0
    for name, p in dense.named_parameters():
        if p.grad is None:
            continue
        size = dict(rtol=rtol, atol=atol * max(1.0, float(p.grad.abs().max())))
        if name in sparse_ones:
            w = sparse_ones[name]
            values = w.pattern.in_range(w.grad.values() if w.grad.pattern == w.pattern else w.grad.to_dense())
            where = w.pattern.in_range(w.pattern.gather(p.grad))
            torch.testing.assert_close(values, where, **size)
        else:
            torch.testing.assert_close(model.get_parameter(name).grad, p.grad, **size)
        compared += 1
    assert compared
    return y


# Formats as classes


def test_classes_are_ordinary_formats():
    assert Ellpack.format() == st.formats.ELL and Blocks(2, 3).format() == st.Format("BSR(2, 3)")
    assert sparse.CooTensor.format() == st.formats.COO(2) and sparse.NMTensor(2, 4).format() == st.Format(
        "structured(2, 4)"
    )
    x = torch.randn(8, 12) * (torch.rand(8, 12) < 0.3)
    for given in (Ellpack, Ellpack(), Blocks, Blocks(2, 3)):
        a = st.from_dense(x.numpy(), given)
        assert (a.to_dense() == x.numpy()).all()
    assert st.from_dense(x.numpy(), Blocks(2, 3)).format == st.Format("BSR(2, 3)")


def test_verbs_of_axes():
    with sparse.iter(dim=2) as (i, j):
        pass

    def text(*indices):
        made = sparse.SparseTensor()
        made.indices = list(indices)
        return made.format()

    with sparse.iter(dim=2) as (i, j):
        assert text(i.compress(unique=False), j.singleton()) == st.formats.COO(2)
    with sparse.iter(dim=2) as (i, j):
        assert text(j, i.compress()) == st.formats.CSC
    with sparse.iter(dim=2) as (i, j):
        assert text((j - i).compress(), i.range()) == st.Format("DIAI")
    with sparse.iter(dim=2) as (i, j):
        assert text((i + j).compress(), j.range()) == st.Format("SkewDIAJ")
    with sparse.iter(dim=2) as (i, j):
        assert text(i, j.compress().pack(3)) == st.Format("ELL(3)")
    with sparse.iter(dim=2) as (i, j):
        outer, inner = j.split(4)
        assert text(i, outer, inner.structured(2)) == st.Format("structured(2, 4)")
    with sparse.iter(dim=2) as (i, j):
        (a, b), (c, d) = i.split(16), j.split(16)
        (e, f), (g, h) = b.split(4), d.split(4)
        assert text(a, c.compress(), e, g.compress(), f, h) == st.Format("NestedBSR(16, 16, 4, 4)")
    with sparse.iter(dim=3) as (i, j, k):
        assert text(i.compress(), j.compress(), k.compress()) == st.formats.CSF(3)
    with sparse.iter(dim=1) as i:
        assert text(i.bitmap()) == st.Format("(i) -> (i : bitmap)")
    with sparse.iter(dim=2) as (i, j):
        assert text(i, j.delta(4)) == st.Format("delta(4)") and text(i.dense(), j.dense()) == st.formats.dense(2)


def test_classes_that_make_no_format():
    class Empty(sparse.SparseTensor):
        pass

    class Half(sparse.SparseTensor):
        def __init__(self):
            with sparse.iter(dim=2) as (I, J):
                self.indices = [I]

    with pytest.raises(st.FormatError, match=r"Empty says nothing of its axes[\s\S]*self.indices = \[I, J\]"):
        Empty.format()
    with pytest.raises(st.FormatError):
        Half.format()
    with sparse.iter(dim=2) as (i, _):
        with pytest.raises(st.FormatError, match=r"only compressed coordinates are packed[\s\S]*i : dense"):
            i.pack()
        with pytest.raises(st.FormatError, match="a compressed axis has coordinates"):
            i.compress(coordinate=False)
    with pytest.raises(st.FormatError, match="1 to 26"):
        sparse.iter(dim=0)
    s = sparse.create_schedule(mlp(8, 4))
    for wrong, says in ((3, "no format"), (sparse.BsrTensor, "BSR"), ("CRS", "CRS"), (sparse.CsfTensor(3), "2")):
        with pytest.raises(st.FormatError, match=says):
            s["0.weight"].set_format(wrong)
    assert not s.settings


# What is recorded, and what comes of it


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_a_format_changes_storage_and_nothing_else(format):
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["*.weight"].set_format(format).sparsify(stt.Magnitude(0.3))
    model = s.build()
    assert not weights(dense) and list(weights(model)) == ["0.weight", "2.weight"]
    want = sparse._formats.format_of(format, 2)
    for w in weights(model).values():
        assert str(w.format).partition("padded")[0] == str(want).partition("padded")[0]
    same(model, masked(dense, model), torch.randn(5, 24))


def test_without_a_sparsifier_all_but_zeros_stay():
    dense = mlp(24, 16, 8)
    model = sparse.create_schedule(dense)["*.weight"].set_format(sparse.CscTensor).schedule.build()
    torch.testing.assert_close(weights(model)["0.weight"].to_dense(), dense[0].weight, rtol=0, atol=0)
    same(model, dense, torch.randn(5, 24))


NESTED = [
    ({(0, 1): sparse.EllpackTensor, (2, 3): sparse.CooTensor}, "(i / 4 : dense, j / 8 : padded, i % 4 : compressed(nonunique), j % 8 : singleton)"),
    ({(0, 1): sparse.CsrTensor}, "(i / 4 : dense, j / 8 : compressed, i % 4 : dense, j % 8 : dense)"),
    ({(0, 1): sparse.CscTensor, (2, 3): sparse.BitmapTensor}, "(j / 8 : dense, i / 4 : compressed, i % 4 : dense, j % 8 : bitmap)"),
    ({(0, 1): sparse.DcsrTensor, (2, 3): sparse.DcsrTensor}, "(i / 4 : compressed, j / 8 : compressed, i % 4 : compressed, j % 8 : compressed)"),
    ({(2, 3): sparse.BsrTensor(2, 2)}, "(i / 4 : dense, j / 8 : dense, (i % 4) / 2 : dense, (j % 8) / 2 : compressed, (i % 4) % 2 : dense, (j % 8) % 2 : dense)"),
    ({(0, 1, 2, 3): sparse.CooTensor}, "(i / 4 : compressed(nonunique), j / 8 : singleton, i % 4 : singleton, j % 8 : singleton)"),
    ({}, "(i / 4 : dense, j / 8 : dense, i % 4 : dense, j % 8 : dense)"),
]  # fmt: skip


@pytest.mark.parametrize("axes, levels", NESTED)
def test_formats_nest_in_blocks(axes, levels):
    dense = mlp(24, 16)
    for order in (list(axes.items()), list(axes.items())[::-1]):  # the order of calls says nothing
        s = sparse.create_schedule(dense)
        site = s["0.weight"].block(4, 8)
        for axis, format in order:
            site.set_format(format, axis=axis)
        site.sparsify(stt.Magnitude(0.3))
        model = s.build()
        got = str(weights(model)["0.weight"].format).replace("padded(3)", "padded")
        assert got == str(st.Format(f"(i, j) -> {levels}"))
        same(model, masked(dense, model), torch.randn(5, 24))


def test_blocks_that_do_not_fit():
    dense = mlp(21, 10)
    s = sparse.create_schedule(dense)
    with pytest.raises(
        st.FormatError, match=r"blocks do not fit 0.weight[\s\S]*\(4, 4\) divide[\s\S]*\(10, 21\)[\s\S]*pad=True"
    ):
        s["0.weight"].block(4, 4)
    s["0.weight"].block(4, 4, pad=True).set_format(sparse.CsrTensor, axis=[0, 1])
    model = s.build()
    same(model, dense, torch.randn(3, 21))
    for axis, says in (([0, 2], "side by side"), ([3, 4], "0 to 3"), ([1, 2], "disjoint"), ([], "side by side")):
        with pytest.raises(st.FormatError, match=says):
            s["0.weight"].set_format(sparse.CsrTensor, axis=axis)
    with pytest.raises(st.FormatError, match=r"axis=\[0, 1\]"):
        s["0.weight"].set_format(sparse.CsrTensor)
    with pytest.raises(st.FormatError, match="does not fit these axes"):
        s["0.weight"].set_format("BSR(2, 2) + COO", axis=[2, 3])
    with pytest.raises(st.FormatError, match="block"):
        sparse.create_schedule(dense)["0.weight"].set_format(sparse.CsrTensor, axis=[0, 1])
    with pytest.raises(st.FormatError, match="a size along each dimension"):
        s["0.weight"].block(4, 0)


PARTS = [
    (stt.Magnitude(0.25, (4, 4)), {True: sparse.BsrTensor(4, 4), False: sparse.CooTensor}),
    (lambda w: (w.abs() > 0.1).int() + (w.abs() > 0.15).int(), {0: "delta(4)", 1: "CSR", 2: "ELL"}),
    (lambda w: {"rows": torch.arange(len(w))[:, None].expand_as(w) < 5, "rest": torch.arange(len(w))[:, None].expand_as(w) >= 5},
     {"rows": "dense", "rest": "CSC"}),
]  # fmt: skip


@pytest.mark.parametrize("rule, formats", PARTS, ids=["blocks", "numbers", "masks"])
def test_a_sum_of_parts(rule, formats):
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["0.weight"].split(rule, formats).sparsify(stt.Magnitude(0.6))
    model = s.build()
    w = weights(model)["0.weight"]
    assert w.format.num_parts == len(formats)
    expected = dense[0].weight.detach() * stt.Magnitude(0.6)(dense[0].weight)
    torch.testing.assert_close(w.detach().to_dense(), expected)
    same(model, masked(dense, model), torch.randn(5, 24))


def test_parts_that_leave_something_out():
    s = sparse.create_schedule(mlp(8, 4))
    s["0.weight"].split(lambda w: (w > 0).int(), {1: "CSR", 2: "COO"})
    with pytest.raises(st.ArgumentError, match=r"the parts of 0.weight are not what it is[\s\S]*in none"):
        s.build()


def test_recorded_first_and_applied_later():
    dense = mlp(24, 16, 8)
    before = copy.deepcopy(dense.state_dict())
    s = sparse.create_schedule(dense)
    site = s["*.weight"]
    assert len(site) == 2 and [len(one) for one in site] == [1, 1] and "0.weight, 2.weight" in repr(site)
    site.set_format("CSR").sparsify(stt.Magnitude(0.1))
    s["0.weight"].set_format("COO")  # the later word counts, of this one
    assert all(torch.equal(a, b) for a, b in zip(before.values(), dense.state_dict().values()))
    built = s.build()
    assert type(dense[0]) is torch.nn.Linear and s.apply_() is dense
    for model in (built, dense):
        assert [w.format for w in weights(model).values()] == [st.formats.COO(2), st.formats.CSR]
    # a schedule of a model that is sparse already
    again = sparse.create_schedule(dense)
    again["*.weight"].set_format(sparse.CscTensor)
    again["2.weight"].sparsify(stt.Magnitude(0.05))
    less = again.build()
    assert weights(less)["0.weight"].nse == weights(dense)["0.weight"].nse
    assert weights(less)["2.weight"].nse == round(0.05 * 16 * 8)
    assert {w.format.name for w in weights(less).values()} == {"CSC"}
    same(less, masked(mlp(24, 16, 8), less), torch.randn(5, 24))


def test_tied_weights_stay_tied():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(12, 12, bias=False), torch.nn.Linear(12, 12, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.tanh(self.a(x)))

    dense = Tied()
    s = sparse.create_schedule(dense)
    s["b.weight"].set_format("CSC").sparsify(stt.Magnitude(0.5))
    model = s.build()
    assert model.a.weight_values is model.b.weight_values
    same(model, masked(dense, model), torch.randn(5, 12))


def test_names():
    model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32), 2, enable_nested_tensor=False)
    s = sparse.create_schedule(model)
    assert len(s["layers.*.linear1.weight"]) == 2 and len(s["layers.[0]*weight"]) == 4
    with pytest.raises(st.ArgumentError) as e:
        s["linear1.weight"]
    assert str(e.value) == (
        "the schedule knows no 'linear1.weight'\n"
        "  expected  layers.0.linear1.weight, layers.1.linear1.weight, layers.1.linear2.weight, layers.0.linear2.weight, "
        "layers.1.self_attn.in_proj_weight\n"
        "  got       linear1.weight\n"
        "  fix       s['*.linear1.weight'] finds 2 of them"
    )
    for name in ("layers.*.liner1.weight", "layers.0.dropout", "layers.0.norm1.weight"):
        with pytest.raises(st.ArgumentError, match=r"example_inputs"):
            s[name]
    with pytest.raises(st.ArgumentError, match="list\\(s.places\\)"):
        sparse.create_schedule(model, torch.randn(3, 1, 16))["nonsense"]


def test_words_that_mean_nothing_here():
    s = sparse.create_schedule(mlp(8, 4))
    with pytest.raises(st.ArgumentError, match="'init', 'step' or 'call'"):
        s["0.weight"].sparsify(stt.KeepAll(), when="never")
    s = sparse.create_schedule(mlp(8, 4, 2), torch.randn(2, 8))
    for verb in (
        lambda p: p.block(2, 2),
        lambda p: p.grad_format("CSR"),
        lambda p: p.op.reorder("o", "i"),
        lambda p: p.split(None, {}),
    ):
        with pytest.raises(st.ArgumentError, match="this cannot be told of 1[\\s\\S]*output"):
            verb(s["1"])
    with pytest.raises(st.ArgumentError, match="computed in each call"):
        s["1"].sparsify(stt.KeepAll(), when="init")
    s["0.weight"].grad_format("CSR")
    with pytest.raises(st.ArgumentError, match="the gradient of 0.weight is dense"):
        s.build()
    s = sparse.create_schedule(mlp(8, 4))
    s.op("0.weight").reorder("o", "i", "b")
    with pytest.raises(st.ArgumentError, match="set_format of it before"):
        s.build()
    with pytest.raises(st.ArgumentError, match='when="step"'):
        s.updater(None, None)
    with pytest.raises(st.Unsupported, match="split, reorder"):
        s.op("0.weight").fuse("i", "j")


# When the pattern is found


@pytest.mark.parametrize("sparsifier", [stt.Magnitude(1), stt.Magnitude(1, (2, 2))], ids=["elements", "blocks"])
def test_step_prunes_as_the_density_says(sparsifier):
    dense = mlp(16, 12, 4)
    density = stt.linear_density(1, 0.2, 8)
    s = sparse.create_schedule(dense)
    s["0.weight"].set_format("CSR").sparsify(sparsifier, when="step", density=density, every=2)
    s["2.weight"].set_format("CSC").sparsify(stt.Magnitude(0.5))
    model = s.build()
    twin = masked(dense, model)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (model, twin)]
    updater = s.updater(model, optimizers[0])
    fixed = weights(model)["2.weight"].pattern
    mask = torch.ones_like(dense[0].weight, dtype=torch.bool)
    x, target = torch.randn(32, 16), torch.randn(32, 4)
    for step in range(1, 11):
        for m, optimizer in zip((model, twin), optimizers):
            optimizer.zero_grad()
            (m(x) - target).square().mean().backward()
            if m is twin:
                twin[0].weight.grad *= mask
                twin[2].weight.grad *= fixed.scatter(torch.ones(fixed.num_values))
            optimizer.step()
        assert updater.step() == (step % 2 == 0)
        if step % 2 == 0:
            kept = copy.copy(sparsifier).__class__(density(step), sparsifier.block)
            with torch.no_grad():
                mask &= kept(twin[0].weight * mask)
                twin[0].weight *= mask
                optimizers[1].state[twin[0].weight]["momentum_buffer"] *= mask
        torch.testing.assert_close(
            weights(model)["0.weight"].detach().to_dense(), twin[0].weight.detach(), rtol=1e-4, atol=1e-6
        )
        assert weights(model)["2.weight"].pattern == fixed
    assert abs(weights(model)["0.weight"].nse - 0.2 * 16 * 12) <= 4
    state = updater.state_dict()
    again = s.updater(model, optimizers[0])
    again.load_state_dict(state)
    assert again.each[0].steps == 10


def test_step_starts_at_the_first_density():
    s = sparse.create_schedule(mlp(16, 12))
    s["0.weight"].set_format("CSR").sparsify(stt.Magnitude(0.3), when="step", density=stt.cubic_density(0.5, 0.1, 10))
    assert weights(s.build())["0.weight"].nse == 16 * 12 // 2


class Largest(sparse.Sparsifier):
    """Of one's own: the largest of each row."""

    def __init__(self, count=3):
        self.count = count

    def pattern(self, x, **site):
        kept = torch.zeros_like(x, dtype=torch.bool)
        return kept.scatter(-1, x.abs().topk(self.count, -1).indices, True)


@pytest.mark.parametrize("format", [sparse.CsrTensor, sparse.EllpackTensor(3), "BSR(4, 4) + COO", sparse.BitmapTensor])
def test_call_finds_the_pattern_in_each_forward(format):
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["0.weight"].set_format(format).sparsify(Largest, when="call")
    model = s.build()

    class Twin(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = copy.deepcopy(dense)

        def forward(self, x):
            w = self.inner[0].weight
            y = F.linear(x, torch.where(Largest()(w), w, 0), self.inner[0].bias)
            return self.inner[2](self.inner[1](y))

    twin = Twin()
    for _ in range(3):  # the pattern follows the weight
        x = torch.randn(5, 24)
        y, want = model(x), twin(x)
        torch.testing.assert_close(y, want)
        y.square().sum().backward()
        want.square().sum().backward()
        assert isinstance(model[0].weight, stt.Tensor) and model[0].weight.nse >= 16 * 3
        torch.testing.assert_close(model[0].weight_dense.grad, twin.inner[0].weight.grad, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(model[2].weight.grad, twin.inner[2].weight.grad, rtol=1e-4, atol=1e-4)
        before = model[0].weight.pattern
        with torch.no_grad():
            for m, w in ((model, model[0].weight_dense), (twin.inner, twin.inner[0].weight)):
                torch.manual_seed(2)
                w += torch.randn_like(w)
                m.zero_grad()
        assert model[0].weight.pattern != before
    # a checkpoint has the dense model's names, and its weights
    assert model.state_dict().keys() == dense.state_dict().keys()
    model.load_state_dict(dense.state_dict())
    assert torch.equal(model[0].weight_dense, dense[0].weight)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(other(x), model(x), rtol=0, atol=0)
    model[0].weight = torch.nn.Parameter(dense[0].weight.detach().clone())  # and back to an ordinary one
    torch.testing.assert_close(model(x), dense(x))


# Gradients


def test_gradients_in_a_format_and_of_a_part():
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["0.weight"].set_format("CSR").sparsify(stt.Magnitude(0.5)).grad_format(sparse.CscTensor).grad_sparsify(
        stt.Magnitude(0.1)
    )
    s["2.weight"].grad_sparsify(stt.Threshold(0.5))
    model = s.build()
    twin = masked(dense, model)
    x = torch.randn(5, 24)
    model(x).square().sum().backward()
    twin(x).square().sum().backward()
    w = model[0].weight
    stored = w.pattern.scatter(torch.ones(w.pattern.num_values)) * twin[0].weight.grad
    want = stored * stt.Magnitude(0.1)(stored)
    assert w.grad.format == st.formats.CSC and w.grad.nse == w.nse
    torch.testing.assert_close(w.grad.to_dense(), want)
    torch.testing.assert_close(model[0].weight_values.grad, w.pattern.gather(want))
    g = twin[2].weight.grad
    torch.testing.assert_close(model[2].weight_dense.grad, g * (g.abs() > 0.5))
    assert 0 < (model[2].weight_dense.grad != 0).sum() < g.numel()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    optimizer.step()
    assert copy.deepcopy(model)[0].weight.grad is None and "0.weight.values" in model.state_dict()


# Loops


@pytest.mark.parametrize(
    "tell, text",
    [
        (lambda op: op.reorder("o", "i", "b"), "reorder(o, i, b)"),
        (lambda op: op.split("b", "bo", "bi", 4).reorder("bo", "o", "i", "bi").vectorize("bi"), None),
        (lambda op: op.reorder("b", "o", "i").parallelize("b"), None),
    ],
)
def test_loops_of_a_product(tell, text):
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["0.weight"].set_format("CSR").sparsify(stt.Magnitude(0.3))
    tell(s.op("0.weight"))
    assert text is None or s.settings["0.weight"].loops == text
    model = s.build()
    for x in (torch.randn(5, 24), torch.randn(2, 3, 24), torch.randn(24)):
        same(model, masked(dense, model), x)
    x = torch.randn(3, 24, dtype=torch.float64)
    same(model.double(), masked(dense, model).double(), x)


def test_loops_are_those_that_run(monkeypatch):
    asked = []
    right = st.evaluate
    monkeypatch.setattr(st, "evaluate", lambda *a, **k: asked.append((a[0], str(k.get("schedule")))) or right(*a, **k))
    s = sparse.create_schedule(mlp(24, 16))
    s["0.weight"].set_format("CSR").op.reorder("o", "i", "b")
    model = s.build()
    asked.clear()
    model(torch.randn(4, 24))
    assert asked == [("Y(b,o) = X(b,i) * W(o,i)", "reorder(o, i, b)")]


def test_loops_from_the_right():
    class Right(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(12, 8))
            self.bias = torch.nn.Parameter(torch.randn(8))

        def forward(self, x):
            return torch.addmm(self.bias, x, self.weight) + x @ self.weight

    dense = Right()
    s = sparse.create_schedule(dense)
    s["weight"].set_format("CSR").sparsify(stt.Magnitude(0.3)).op.reorder("i", "o", "b")
    model = s.build()
    same(model, masked(dense, model), torch.randn(5, 12))


def test_loops_that_would_break_something():
    s = sparse.create_schedule(mlp(24, 16))
    s["0.weight"].set_format("CSR").op.parallelize("i")
    with pytest.raises(
        st.ScheduleError, match=r"chunks of i would add to the same elements of Y[\s\S]*i, which is summed"
    ):
        s.build()
    s = sparse.create_schedule(torch.nn.Conv2d(4, 8, 3))
    s["weight"].set_format("CSR").op.reorder("i", "o", "b")
    with pytest.raises(st.Unsupported, match="products of matrices"):
        s.build()


# Kept beside a checkpoint


def test_show_and_to_dict():
    dense = mlp(32, 16, 8)
    s = sparse.create_schedule(dense, torch.randn(2, 32))
    s["0.weight"].block(4, 8).set_format(sparse.EllpackTensor, axis=[0, 1]).set_format(sparse.CooTensor, axis=[2, 3])
    s["0.weight"].sparsify(stt.Magnitude(0.25, (4, 8)))
    s["2.weight"].split(stt.Magnitude(0.5), {True: "CSR", False: "COO"}).grad_sparsify(Largest(2))
    s["1"].sparsify(Largest(4)).set_format("CSR")
    assert (
        s.show()
        == repr(s)
        == (
            "place     kind    shape  told\n"
            f"0.weight  weight  16x32  {stt.Magnitude(0.25, (4, 8))} (init); "
            "(i, j) -> (i / 4 : dense, j / 8 : padded, i % 4 : compressed(nonunique), j % 8 : singleton)\n"
            f"2.weight  weight  8x16   True: CSR + False: COO; grad sparsifier {s.settings['2.weight'].grad_sparsifier}\n"
            f"1         output  2x16   {s.settings['1'].sparsifier!r} (call); CSR"
        )
    )
    model = s.build()
    said = json.loads(json.dumps(s.to_dict()))
    assert said["places"]["0.weight"]["sparsifier"] == {
        "name": "Magnitude", "density": 0.25, "block": [4, 8], "scope": "tensor"
    }  # fmt: skip
    fresh = mlp(32, 16, 8)
    for p in fresh.parameters():
        torch.nn.init.normal_(p)
    with pytest.raises(st.ArgumentError, match=r"names a sparsifier that is not here[\s\S]*Largest"):
        sparse.create_schedule(fresh, torch.randn(2, 32)).load_dict(said)
    again = sparse.create_schedule(fresh, torch.randn(2, 32)).load_dict(said, known={"Largest": Largest})
    assert again.to_dict() == s.to_dict()
    loaded = again.build()
    loaded.load_state_dict(model.state_dict())
    x = torch.randn(5, 32)
    torch.testing.assert_close(loaded(x).to_dense() if isinstance(loaded(x), stt.Tensor) else loaded(x), model(x))
    with pytest.raises(st.ArgumentError, match="knows no '2.weight'"):
        sparse.create_schedule(mlp(32, 16)).load_dict(said, known={"Largest": Largest})


@pytest.mark.parametrize("sparsifier", [
    stt.KeepAll(), stt.Threshold(0.1), stt.Magnitude(0.3, (2, 2)), stt.Magnitude(0.3, scope="global"), stt.Magnitude(0.2),
    stt.NM(2, 4), stt.GroupedNM(1, 4, 2), stt.Wanda(n=2, m=4), stt.Wanda(0.5), stt.SparseGPT(0.5, block=4), stt.SRSTE(2, 4, decay=0.1),
], ids=repr)  # fmt: skip
def test_every_sparsifier_is_told_again(sparsifier):
    """By names and numbers that json takes; what it then keeps of random weights is the same."""
    dense, x = mlp(16, 8), torch.randn(20, 16)
    when = "call" if isinstance(sparsifier, stt.SRSTE) else None
    s = sparse.create_schedule(dense, x)
    s["0.weight"].sparsify(sparsifier, when=when)
    said = json.loads(json.dumps(s.to_dict()))
    again = sparse.create_schedule(dense, x).load_dict(said)
    assert again.to_dict() == s.to_dict()
    one, other = (schedule.build()[0].weight for schedule in (s, again))
    assert one.pattern == other.pattern and torch.equal(one.values(), other.values())


@pytest.mark.parametrize("pattern", [
    stt.BigBirdSparsityConfig(4, 4, generator=0), stt.FixedSparsityConfig(4, 4, num_local_blocks=2),
    stt.VariableSparsityConfig(4, 4, local_window_blocks=[1, 2]), stt.LocalSlidingWindowSparsityConfig,
    stt.BSLongformerSparsityConfig(4, 4, global_block_indices=[0, 2]), stt.patterns.Routing(3), stt.patterns.local(12, distance=4),
], ids=lambda p: getattr(p, "__name__", type(p).__name__))  # fmt: skip
def test_every_pattern_of_attention_is_told_again(pattern):
    layer, x = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), torch.randn(2, 12, 16)
    s = sparse.create_schedule(layer, x)
    s["self_attn.attn"].sparsify(pattern)
    again = sparse.create_schedule(layer, x).load_dict(s.to_dict())
    found = []
    for schedule in (s, again):
        torch.manual_seed(3)  # clusters start at random
        found.append(schedule.build()(x))
    torch.testing.assert_close(*found)


def test_masks_and_patterns_go_into_a_checkpoint(tmp_path):
    dense = mlp(12, 8, 4)
    s = sparse.create_schedule(dense)
    mask = torch.rand(8, 12) < 0.4
    s["0.weight"].set_format("CSR").sparsify(mask)
    s["2.weight"].set_format("COO").sparsify(stt.from_torch((torch.rand(4, 8) < 0.5).float()).pattern)
    torch.save(s.to_dict(), tmp_path / "schedule.pt")
    said = torch.load(tmp_path / "schedule.pt", weights_only=True)
    again = sparse.create_schedule(dense).load_dict(said)
    for one, other in zip(weights(s.build()).values(), weights(again.build()).values()):
        assert one.pattern == other.pattern
    assert weights(s.build())["0.weight"].nse == mask.sum()


def test_copies_pickles_and_compiled():
    dense = mlp(24, 16, 8)
    s = sparse.create_schedule(dense)
    s["*.weight"].set_format("CSR").sparsify(stt.Magnitude(0.3)).grad_sparsify(stt.KeepAll())
    s["0.weight"].op.reorder("o", "i", "b")
    model = s.build()
    x = torch.randn(5, 24)
    want = model(x)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.compile(model, backend="aot_eager")):
        torch.testing.assert_close(other(x), want)
        other(x).sum().backward()


def test_explain_tells_of_scheduled_weights():
    s = sparse.create_schedule(mlp(24, 16, 8))
    s["*.weight"].set_format("CSR").op.reorder("o", "i", "b")
    assert "CSR" in str(stt.explain(s.build(), torch.randn(5, 24)))
