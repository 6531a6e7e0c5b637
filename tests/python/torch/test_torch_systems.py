"""For each system that others prune, mask and compile models with: its job done here, outputs and gradients beside those of the masked
dense computation. (CUDA, AOTInductor and graphs over several processes are tested where they belong, or not yet.)"""

import copy
import math

import pytest

torch = pytest.importorskip("torch")
from masked_attention import masked as masked_attention  # noqa: E402
from others_models import bert  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import sparse, sten  # noqa: E402

nn, F = torch.nn, torch.nn.functional


def draw(seed=0):
    return torch.Generator().manual_seed(seed)


def net(*widths):
    torch.manual_seed(0)
    return nn.Sequential(*[x for a, b in zip(widths, widths[1:]) for x in (nn.Linear(a, b), nn.GELU())][:-1]).double()


def weights(model):
    return {f"{path}.{name}": w for path, m in model.named_modules() for name, w in stt.weights_of(m).items()}


def stored(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)) != 0


def masked_twin(dense, model):
    """The dense model with the weights of the sparse one, whose gradients are masked as they are."""
    twin = copy.deepcopy(dense)
    twin.load_state_dict(model.state_dict(), strict=False)
    for name, w in weights(model).items():
        p, mask = twin.get_parameter(name.lstrip(".")), stored(w.pattern)
        p.data = w.detach().to_dense()
        p.register_hook(lambda g, mask=mask: g * mask)
    return twin


def same_model(model, twin, x):
    """Results, the gradient of x, of each Parameter, and of the stored values."""
    x, z = x.clone().requires_grad_(), x.clone().requires_grad_()
    for m in (model, twin):
        m.zero_grad()
    y, want = model(x), twin(z)
    torch.testing.assert_close(y, want)
    g = torch.randn(want.shape, generator=draw(1), dtype=want.dtype)
    y.backward(g), want.backward(g)
    torch.testing.assert_close(x.grad, z.grad)
    sparse_ones = weights(model)
    for name, p in twin.named_parameters():
        if name in sparse_ones:
            torch.testing.assert_close(sparse_ones[name].grad.to_dense(), p.grad)
        else:
            torch.testing.assert_close(model.get_parameter(name).grad, p.grad)


def same(got, want, inputs):
    torch.testing.assert_close(got, want)
    g = torch.randn(want.shape, generator=draw(1), dtype=want.dtype)
    of_got, of_want = (torch.autograd.grad(y, inputs, g, retain_graph=True) for y in (got, want))
    torch.testing.assert_close(of_got, of_want)


def of(y, A, *others, g):
    """The gradients of a sparse tensor, dense, and of others."""
    of_values, *rest = torch.autograd.grad(y, (A.values(), *others), g)
    return A.pattern.scatter(of_values), *rest


def operands(*lead, length=24, features=8):
    return [torch.randn(*lead, length, features, generator=draw(k), dtype=torch.float64).requires_grad_() for k in range(3)]  # fmt: skip


# xFormers


@pytest.mark.parametrize("gradient", ["24sparse", "24dense", "ste", "scaled"])
def test_xformers_sparsify24(gradient):
    """y = x @ sparsify24(w): of each four the two largest, with the gradient of the kept, of all, or scaled apart."""
    w = torch.randn(8, 16, generator=draw(), dtype=torch.float64, requires_grad=True)
    x = torch.randn(5, 16, generator=draw(1), dtype=torch.float64, requires_grad=True)
    grad = {"24sparse": "stored", "24dense": "ste", "ste": "ste", "scaled": (1.5, 0.25)}[gradient]
    y = F.linear(x, stt.sparsify(w, stt.NM(2, 4), "structured(2, 4)", grad=grad))
    g = torch.randn(5, 8, generator=draw(2), dtype=torch.float64)
    y.backward(g)
    four = w.detach().abs().reshape(8, 4, 4)
    mask = (four >= four.sort(-1).values[..., 2:3]).reshape(8, 16)
    torch.testing.assert_close(y, x @ (w * mask).t())
    kept, pruned = {"24sparse": (1, 0), "scaled": (1.5, 0.25)}.get(gradient, (1, 1))
    torch.testing.assert_close(w.grad, (g.t() @ x.detach()) * torch.where(mask, kept, pruned))
    torch.testing.assert_close(x.grad, g @ (w * mask).detach())


def test_xformers_sparsify24_like():
    """Another tensor by the pattern of the first: sparsify_like."""
    first = stt.sparsify(torch.randn(8, 16, generator=draw()), stt.NM(2, 4), stt.NM(2, 4).format)
    x = torch.randn(8, 16, generator=draw(1), requires_grad=True)
    for like in (first.pattern, stt.SameFormat(first), first):
        y = stt.sparsify(x, like, first.format)
        assert y.pattern == first.pattern
        same(y.to_dense(), torch.where(stored(first.pattern), x, 0), (x,))


@pytest.mark.parametrize("pattern", ["local_1d", "axial_2d", "swin", "dilated", "random", "causal blocks"])
def test_xformers_attention_patterns(pattern):
    made = {
        "local_1d": stt.patterns.local(24, distance=4),
        "axial_2d": stt.patterns.axial(4, 6),
        "swin": stt.patterns.swin(4, 6, 2, 1),
        "dilated": stt.patterns.dilated(24, 4, 2),
        "random": stt.patterns.random(24, 24, 0.2, generator=draw(3)),
        "causal blocks": stt.patterns.from_block_mask(torch.ones(3, 3).tril(), 8),
    }[pattern]
    q, k, v = operands(2, 3)
    with stt.strict():
        same(stt.attention(q, k, v, made), masked_attention(q, k, v, stored(made)), (q, k, v))


# pytorch_block_sparse


def test_pytorch_block_sparse_patches_a_model_and_moves_its_blocks():
    """Names by a pattern, a density, an optimizer whose state of replaced blocks starts anew."""
    dense = net(64, 96, 32)
    s = sparse.create_schedule(dense)
    s["*.weight"].sparsify(stt.Magnitude(0.5, (16, 16))).set_format(sparse.BsrTensor(16, 16))
    model = s.build()
    x = torch.randn(9, 64, generator=draw(), dtype=torch.float64)
    same_model(model, masked_twin(dense, model), x)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    updater = stt.PatternUpdater(model, optimizer, drop_fraction=0.25, every=1)
    model(x).square().mean().backward()
    optimizer.step()
    before = weights(model)["0.weight"]
    moments = stt.Tensor(optimizer.state[model[0].weight_values]["exp_avg"], before.pattern).to_dense()
    old, values = stored(before.pattern), before.detach().to_dense()
    assert updater.step()
    after = weights(model)["0.weight"]
    new = stored(after.pattern)
    gone, came = (old & ~new), (new & ~old)
    assert gone.sum() == came.sum() > 0  # of the smallest 3 of 12 blocks; some may have come back at once
    assert (F.max_pool2d(new.double()[None], 16) == F.avg_pool2d(new.double()[None], 16)).all()
    sizes = F.avg_pool2d(values.square()[None], 16)[0]
    blocks = lambda mask: F.max_pool2d(mask.double()[None], 16)[0] > 0  # noqa: E731
    assert sizes[blocks(gone)].max() <= sizes[blocks(old)].sort().values[2]
    kept = stt.Tensor(optimizer.state[model[0].weight_values]["exp_avg"], after.pattern).to_dense()
    assert torch.equal(kept, torch.where(old & new, moments, 0))
    assert torch.equal(after.detach().to_dense(), torch.where(old & new, values, 0))
    same_model(model, masked_twin(dense, model), x)


@pytest.mark.parametrize("bias", [True, False])
def test_pytorch_block_sparse_linear(bias):
    layer = stt.BlockSparseLinear(64, 96, bias, density=0.5).double()
    dense = nn.Linear(64, 96, bias).double()
    if bias:
        dense.bias.data = layer.bias.detach().clone()
    mask = stored(layer.weight.pattern)
    assert mask.sum() == 3 * 32 * 32
    x = torch.randn(4, 64, generator=draw(), dtype=torch.float64, requires_grad=True)
    w = layer.weight.detach().to_dense().requires_grad_()
    same(layer(x), F.linear(x, w, dense.bias), (x,))


# torch-blocksparse


@pytest.mark.parametrize("heads", [(), (3,)], ids=["one layout", "a layout for each head"])
def test_torch_blocksparse_products_and_softmax(heads):
    """Scores at blocks (sdd), their softmax, blocks times dense (dsd) and dense times blocks (dds)."""
    layout = torch.rand(*heads, 6, 6, generator=draw(3)) < 0.5
    layout[..., torch.arange(6), torch.arange(6)] = True
    pattern = stt.patterns.from_block_mask(layout, 4)
    mask = stored(pattern)
    q, k, v = operands(2, 3)
    with stt.strict():
        scores = stt.sddmm(q, k, pattern)
        weights = stt.softmax(scores / math.sqrt(8))
        y = stt.spmm(weights, v)
    want = (q @ k.mT) * mask
    same(scores.to_dense(), want, (q, k))
    dense = torch.softmax((q @ k.mT / math.sqrt(8)).masked_fill(~mask, -math.inf), -1)
    same(weights.to_dense(), dense, (q, k))
    same(y, dense @ v, (q, k, v))
    if not heads:
        x = torch.randn(5, 24, generator=draw(4), dtype=torch.float64, requires_grad=True)
        block = stt.sparsify(torch.randn(24, 24, generator=draw(5), dtype=torch.float64), pattern, "BSR(4, 4)")
        same(x @ block, x @ block.to_dense(), (x,))


@pytest.mark.parametrize("stride, padding", [(1, 0), (2, 1)])
def test_torch_blocksparse_convolution(stride, padding):
    """A layout of blocks of channels, at each place of the kernel."""
    dense = nn.Conv2d(8, 12, 3, stride, padding).double()
    model = stt.sparsify_(copy.deepcopy(nn.Sequential(dense)), "BSR(4, 4)", stt.Magnitude(0.5, (4, 4)), filter="weight")
    same_model(model, masked_twin(nn.Sequential(dense), model), torch.randn(2, 8, 9, 7, generator=draw(), dtype=torch.float64))  # fmt: skip


# cuSPARSELt, Blocked-ELL


def test_cusparselt_prunes_compresses_and_multiplies():
    """Prune, compress, product with bias and activation; the gradients of what was compressed."""
    dense = nn.Sequential(nn.Linear(32, 16), nn.ReLU()).double()
    model = stt.sparsify_(copy.deepcopy(dense), None, stt.NM(2, 4))
    w = model[0].weight
    assert w.nse == 32 * 16 // 2 and w.strata.nbytes == 256 * 8 + 256 * 2 // 8
    same_model(model, masked_twin(dense, model), torch.randn(7, 32, generator=draw(), dtype=torch.float64))


@pytest.mark.parametrize("shape, block", [((24, 32), 8), ((20, 30), 8), ((8, 8), 8)])
def test_blocked_ell(shape, block):
    """As many square blocks in each row of blocks, some of them padding; SpMM both ways, and its gradients."""
    layout = torch.rand(-(-shape[0] // block), -(-shape[1] // block), generator=draw(1)) < 0.6
    layout[0] = True
    mask = layout.repeat_interleave(block, 0).repeat_interleave(block, 1)[: shape[0], : shape[1]]
    w = torch.randn(shape, generator=draw(2), dtype=torch.float64) * mask
    A = stt.from_torch(w, f"BlockedELL({block}, {block})").requires_grad_()
    assert A.pattern.num_values == layout.shape[0] * layout.sum(1).max() * block * block
    dense = w.clone().requires_grad_()
    for transposed in (False, True):
        x = torch.randn(
            shape[0] if transposed else shape[1], 5, generator=draw(3), dtype=torch.float64
        ).requires_grad_()
        y, want = (a.t() @ x if transposed else a @ x for a in (A, dense))
        torch.testing.assert_close(y, want)
        g = torch.randn(want.shape, generator=draw(4), dtype=torch.float64)
        of_y, of_want = of(y, A, x, g=g), torch.autograd.grad(want, (dense, x), g)
        torch.testing.assert_close(of_y, (of_want[0] * stored(A.pattern), of_want[1]))


# Apex: test_torch_sten_pruning.py follows each step of training; here all kinds of layers that ASP prunes


def test_apex_prunes_linear_convolutions_and_attention():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.attention = nn.Conv2d(4, 16, 3, padding=1), nn.MultiheadAttention(16, 4, batch_first=True)
            self.out = nn.Linear(16, 8)

        def forward(self, x):
            y = torch.relu(self.conv(x)).flatten(2).mT
            return self.out(self.attention(y, y, y, need_weights=False)[0])

    torch.manual_seed(0)
    dense = Net().double()
    model = stt.prune_trained_model(copy.deepcopy(dense), filter=r"weight$")
    assert {w.nse * 2 for w in weights(model).values()} == {p.numel() for n, p in dense.named_parameters() if n.endswith("weight")}  # fmt: skip
    same_model(model, masked_twin(dense, model), torch.randn(2, 4, 5, 3, generator=draw(), dtype=torch.float64))


# DeepSpeed


@pytest.mark.parametrize("config", [
    stt.FixedSparsityConfig(4, 4, num_local_blocks=2, attention="unidirectional"),
    stt.VariableSparsityConfig(4, 4, num_random_blocks=1, local_window_blocks=[1, 2], generator=0),
    stt.BigBirdSparsityConfig(4, 4, True, generator=0),
    stt.BSLongformerSparsityConfig(4, 4),
    stt.LocalSlidingWindowSparsityConfig(4, 4),
], ids=lambda c: type(c).__name__)  # fmt: skip
def test_deepspeed_replaces_the_attention_of_bert(config):
    """Of a length that no block divides; DeepSpeed pads, and takes the padding away."""
    torch.manual_seed(0)
    dense, length = bert().double().eval(), 18
    ids = torch.randint(0, 101, (2, length), generator=draw())
    s = sparse.create_schedule(dense, {"input_ids": ids})
    s["encoder.*.attention.self.attn"].sparsify(config)
    model = s.build()
    mask = config.make_layout(20).repeat_interleave(4, 1).repeat_interleave(4, 2)[:, :length, :length] != 0
    y, want = (
        model(ids).last_hidden_state,
        dense(ids, attention_mask=mask[None].expand(2, -1, -1, -1)).last_hidden_state,
    )
    torch.testing.assert_close(y, want)
    g = torch.randn(want.shape, generator=draw(1), dtype=torch.float64)
    y.backward(g), want.backward(g)
    for name, p in dense.named_parameters():
        if p.grad is not None:
            torch.testing.assert_close(model.get_parameter(name).grad, p.grad, rtol=1e-6, atol=1e-8)


# STen: test_torch_sten.py has operators, builders and registries; test_torch_distributed.py sends stored values alone


def test_sten_trains_with_sparse_weights_results_and_gradients():
    dense = net(16, 24, 8)
    sb = sten.SparsityBuilder(dense)
    sb.set_weight("0.weight", initial_sparsifier=sten.ScalarFractionSparsifier(0.5), out_format=sten.CsrTensor)
    sb.set_weight_grad("0.weight", external_sparsifier=sten.ScalarThresholdSparsifier(0.02), out_format=sten.CsrTensor)
    sb.set_interm("1", external_sparsifier=sten.ScalarFractionSparsifier(0.5), out_format=sten.CooTensor)
    model = sb.get_sparse_model()
    x = torch.randn(9, 16, generator=draw(), dtype=torch.float64)
    w = weights(model)["0.weight"].detach().to_dense().requires_grad_()
    h = dense[1](F.linear(x, w, dense[0].bias))
    kept = h.abs() >= h.detach().abs().reshape(-1).topk(h.numel() // 2).values[-1]
    want = dense[2](h * kept)
    y = model(x)
    torch.testing.assert_close(y, want)
    y.square().sum().backward(), want.square().sum().backward()
    g = w.grad * (w != 0)
    torch.testing.assert_close(weights(model)["0.weight"].grad.to_dense(), g * (g.abs() > 0.02))
    torch.testing.assert_close(model[2].weight.grad, dense[2].weight.grad)


# TVM


def test_tvm_converts_what_pays_and_exports_it():
    dense = net(64, 64, 48)
    with torch.no_grad():
        dense[0].weight *= stt.Random(0.1, (16, 1), draw())(dense[0].weight)
    model = stt.convert(dense, (16, 1), sparsity_threshold=0.8)
    assert list(weights(model)) == ["0.weight"] and weights(model)["0.weight"].format == "BSR(16, 1)"
    x = torch.randn(3, 64, generator=draw(), dtype=torch.float64)
    exported = torch.export.export(model, (x,))
    assert str(exported.graph).count("strata.mm_v1") == 1
    torch.testing.assert_close(exported.module()(x), dense(x))
    same_model(model, masked_twin(dense, model), x)


# SparseTIR


def test_sparsetir_decomposes_a_matrix_into_buckets():
    """column_part_hyb: rows by their lengths, each bucket an ELL of its own; and a format of blocks beside one of what is left. Values,
    and the gradient of each part."""
    lengths = torch.randint(0, 16, (40,), generator=draw())
    w = torch.zeros(40, 32, dtype=torch.float64)
    for i, n in enumerate(lengths.tolist()):
        w[i, torch.randperm(32, generator=draw(i))[:n]] = torch.randn(n, generator=draw(i), dtype=torch.float64)
    dense = nn.Sequential(nn.Linear(32, 40)).double()
    dense[0].weight.data = w
    x = torch.randn(6, 32, generator=draw(9), dtype=torch.float64)
    buckets = lambda w: torch.bucketize((w != 0).sum(1, keepdim=True), torch.tensor([2, 8])).expand_as(w)  # noqa: E731
    blocks = lambda w: stt.Magnitude(0.2, (4, 4))(w)  # noqa: E731
    for rule, formats in (
        (buckets, {0: "ELL(2)", 1: "ELL(8)", 2: "ELL(16)"}),
        (blocks, {True: "BSR(4, 4)", False: "COO"}),
        (blocks, {True: "BSR(4, 4)", False: "CSR"}),
    ):
        s = sparse.create_schedule(dense)
        s["0.weight"].split(rule, formats)
        model = s.build()
        assert weights(model)["0.weight"].format.num_parts == len(formats)
        same_model(model, masked_twin(dense, model), x)


def test_sparsetir_schedules_its_loops():
    dense = net(32, 48)
    s = sparse.create_schedule(dense)
    s["0.weight"].block(4, 4).set_format("CSR", axis=[0, 1]).sparsify(stt.Magnitude(0.3, (4, 4)))
    s["0.weight"].op.split("b", "bo", "bi", 4).reorder("bo", "o_block", "i_block", "o_in", "i_in", "bi").vectorize("bi")
    model = s.build()
    same_model(model, masked_twin(dense, model), torch.randn(10, 32, generator=draw(), dtype=torch.float64))


# torchao, torch.ao.pruning


@pytest.mark.parametrize("sparsifier", [stt.NM(2, 4), stt.Wanda(0.5), stt.Magnitude(0.25, (4, 4))], ids=repr)
def test_torchao_sparsify(sparsifier):
    """Weights that a filter chooses; by magnitude, blocks, or magnitude times what a layer reads."""
    dense, x = net(32, 48, 16), torch.randn(64, 32, generator=draw(), dtype=torch.float64)
    format = "BSR(4, 4)" if getattr(sparsifier, "block", ()) else None
    only_first = lambda name, module: name == "0.weight"  # noqa: E731
    model = stt.sparsify_(copy.deepcopy(dense), format, sparsifier, only_first, inputs=x)
    assert list(weights(model)) == ["0.weight"]
    w, mask = dense[0].weight.detach(), stored(weights(model)["0.weight"].pattern)
    if isinstance(sparsifier, stt.Wanda):
        score = w.abs() * x.norm(dim=0)
        assert torch.equal(mask, score >= score.sort(-1).values[:, 16:17])
    same_model(model, masked_twin(dense, model), x[:5])


def test_ao_pruning_steps_follow_a_schedule():
    """prepare, step, squash_mask: cubic densities, after each of which the model is the masked dense one."""
    dense, x = net(16, 24), torch.randn(8, 16, generator=draw(), dtype=torch.float64)
    s, density = sparse.create_schedule(dense), stt.cubic_density(1.0, 0.1, 4)
    s["0.weight"].sparsify(stt.Magnitude(1), when="step", density=density, every=1)
    model = s.build()
    updater = s.updater(model, torch.optim.SGD(model.parameters(), 0.0))
    for step in range(1, 5):
        updater.step()
        w = weights(model)["0.weight"]
        assert w.nse == round(density(step) * 16 * 24)
        assert torch.equal(stored(w.pattern), stt.Magnitude(density(step))(dense[0].weight))
        same_model(model, masked_twin(dense, model), x)


# MACKO


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_macko_compresses_and_multiplies(dtype):
    """Distances of 4 bits, in float16: half of the elements in 5/8 of the memory, times one vector and several."""
    w = torch.randn(64, 96, generator=draw()).to(dtype)
    A = stt.sparsify(w, stt.Magnitude(0.5), "delta(4)").detach().requires_grad_()
    dense = torch.where(stored(A.pattern) & stt.Magnitude(0.5)(w), w, 0).float().requires_grad_()
    padding = A.pattern.num_values - 64 * 96 // 2
    assert A.strata.nbytes <= (64 * 48 + padding) * (dtype.itemsize + 0.5) + 65 * 8 + 1
    tolerance = dict(rtol=2e-2, atol=5e-2) if dtype == torch.float16 else {}
    for columns in ((), (1,), (7,)):
        x = torch.randn(96, *columns, generator=draw(1)).to(dtype).requires_grad_()
        z = x.detach().float().requires_grad_()
        y, want = A @ x, dense @ z
        torch.testing.assert_close(y.float(), want, **tolerance)
        g = torch.randn(want.shape, generator=draw(2))
        of_y, of_want = of(y, A, x, g=g.to(dtype)), torch.autograd.grad(want, (dense, z), g)
        torch.testing.assert_close(of_y[1].float(), of_want[1], **tolerance)
        torch.testing.assert_close(of_y[0].float(), of_want[0] * stored(A.pattern), **tolerance)


# torch.sparse


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_torch_sparse_there_and_back(layout):
    """Nothing is lost, and products, slices, sums, softmax and sparse Parameters work in every layout, with gradients."""
    dense = torch.randn(8, 12, generator=draw(), dtype=torch.float64) * (torch.rand(8, 12, generator=draw(1)) < 0.4)
    options = dict(blocksize=(2, 3)) if layout in ("bsr", "bsc") else {}
    theirs = getattr(dense, "to_sparse_" + layout)(**options) if layout != "coo" else dense.to_sparse()
    A = stt.from_torch(theirs)
    back = A.detach().to_torch() if hasattr(A, "to_torch") else A.strata.to_torch()
    assert back.layout == theirs.layout and torch.equal(back.to_dense(), dense)
    assert torch.equal(back.values().reshape(-1), theirs.values().reshape(-1))
    x = torch.randn(12, 5, generator=draw(2), dtype=torch.float64, requires_grad=True)
    A = A.detach().requires_grad_()
    B = dense.clone().requires_grad_()
    mask = stored(A.pattern)
    for f in (
        lambda a: a @ x,
        lambda a: F.linear(x.t(), a),
        lambda a: (a[2:6] @ x) * 2,
        lambda a: a.sum(1),
        lambda a: (a * 2).exp().sum() if a is B else (a * 2).to_dense().exp().sum(),
        lambda a: a.t().to_dense() if a is A else a.t() * mask.t(),
    ):
        y, want = f(A), f(B)
        y = y.to_dense() if isinstance(y, stt.Tensor) else y
        torch.testing.assert_close(y, want)
        g = torch.randn(want.shape, generator=draw(3), dtype=torch.float64)
        torch.testing.assert_close(of(y, A, g=g)[0], torch.autograd.grad(want, B, g)[0] * mask)


# PyG, DGL


def graph(nodes=20, edges=70):
    flat = torch.randperm(nodes * nodes, generator=draw())[:edges]
    A = torch.zeros(nodes * nodes, dtype=torch.float64)
    A[flat] = torch.rand(edges, generator=draw(1), dtype=torch.float64) + 0.1
    A = A.reshape(nodes, nodes)
    A[3] = 0  # a node without neighbours
    return A


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR", "ELL"])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
def test_graph_networks_gather_their_neighbours(format, reduce):
    """spmm(reduce=): values and gradients of edges and features."""
    dense = graph()
    A, B = stt.from_torch(dense, format).requires_grad_(), dense.clone().requires_grad_()
    x = torch.randn(20, 6, generator=draw(2), dtype=torch.float64, requires_grad=True)
    y = stt.spmm(A, x, reduce=reduce)
    there = dense != 0
    products = B[:, :, None] * x
    count = there.sum(1)[:, None]
    if reduce in ("sum", "mean"):
        want = (products * there[..., None]).sum(1) / (count.clamp(min=1) if reduce == "mean" else 1)
    else:
        worst = -math.inf if reduce == "max" else math.inf
        want = getattr(torch.where(there[..., None], products, worst), "a" + reduce)(1)
        want = torch.where(count > 0, want, 0)
    torch.testing.assert_close(y, want)
    g = torch.randn(want.shape, generator=draw(3), dtype=torch.float64)
    of_b, of_z = torch.autograd.grad(want, (B, x), g)
    torch.testing.assert_close(of(y, A, x, g=g), (of_b * stored(A.pattern), of_z))


def test_graph_attention():
    """GAT: scores of edges (sddmm of sums), their softmax over neighbours, a weighted sum of features."""
    dense = graph()
    pattern = stt.from_torch(dense, "CSR").pattern
    there = dense != 0
    h = torch.randn(20, 6, generator=draw(2), dtype=torch.float64, requires_grad=True)
    a, b = (torch.randn(6, generator=draw(k), dtype=torch.float64, requires_grad=True) for k in (3, 4))
    one = torch.ones(20, dtype=torch.float64)
    with stt.strict():
        scores = stt.sddmm(torch.stack([h @ a, one], 1), torch.stack([one, h @ b], 1), pattern)
        y = stt.spmm(stt.softmax(F.leaky_relu(scores, 0.2)), h)
    full = F.leaky_relu((h @ a)[:, None] + (h @ b), 0.2)
    weights = torch.nan_to_num(torch.softmax(full.masked_fill(~there, -math.inf), -1))
    weights = torch.where(there, weights, 0)
    torch.testing.assert_close(y, weights @ h)
    g = torch.randn(20, 6, generator=draw(5), dtype=torch.float64)
    full = torch.where(there.any(1, keepdim=True), full.masked_fill(~there, -math.inf), 0.0)
    want = torch.where(there, torch.softmax(full, -1), 0) @ h
    torch.testing.assert_close(torch.autograd.grad(y, (h, a, b), g), torch.autograd.grad(want, (h, a, b), g))


def test_graphs_are_sliced_and_sampled():
    """Mini-batches: the subgraph of some nodes, the rows of a batch, some neighbours of each at random."""
    dense = graph()
    A = stt.from_torch(dense, "CSR").requires_grad_()
    B = dense.clone().requires_grad_()
    nodes = torch.tensor([2, 3, 7, 11, 19])
    x = torch.randn(20, 4, generator=draw(2), dtype=torch.float64)
    for f in (lambda a: a[nodes] @ x, lambda a: a.index_select(0, nodes).index_select(1, nodes) @ x[:5]):
        y, want = f(A), f(B)
        torch.testing.assert_close(y, want)
        g = torch.ones_like(want)
        torch.testing.assert_close(of(y, A, g=g)[0], torch.autograd.grad(want, B, g)[0] * stored(A.pattern))

    class Neighbours(stt.Sparsifier):
        """At most two of each node's neighbours."""

        def pattern(self, x, **site):
            luck = torch.rand(x.shape, generator=draw(3)).masked_fill(x == 0, -1)
            return torch.zeros_like(x, dtype=torch.bool).scatter(1, luck.topk(2, 1).indices, True) & (x != 0)

    sampled = stt.sparsify(A.detach(), Neighbours(), "CSR")
    lengths = stored(sampled.pattern).sum(1)
    assert torch.equal(lengths, (dense != 0).sum(1).clamp(max=2))
    assert torch.equal(sampled.to_dense(), dense * stored(sampled.pattern))
    assert sampled.format == st.formats.CSR
