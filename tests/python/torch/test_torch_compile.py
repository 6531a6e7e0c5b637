"""Any module with sparse weights, compiled and exported whole: outputs, gradients, what stands in the graph, and how many graphs."""

import copy
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning", "ignore:.*pin_memory")


class Conv1D(nn.Module):
    """As in GPT-2: the weight stands on the right."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 16))
        self.bias = nn.Parameter(torch.randn(16))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, 32), self.weight).view(*x.shape[:-1], 16)


class ManyProducts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 32))

    def forward(self, x):
        w = self.weight
        assert w.shape == (16, 32) and w.T.shape == (32, 16) and len(w) == 16 and w.dtype == x.dtype
        y = F.linear(x, w) + x @ w.t() + torch.matmul(x, w.T) + (w @ x.transpose(1, 2)).transpose(1, 2)
        return y + torch.mv(w, x[0, 0]) + torch.addmm(x[0, 0, :16], x[0], w.t(), beta=2, alpha=0.5)


class Square(nn.Module):
    """Shapes do not tell one side from the other."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 5))

    def forward(self, x):
        w, x = self.weight, x[0]
        return w @ x + 2 * (x @ w) + 3 * (w.t() @ x) + 4 * x.matmul(w) + 5 * torch.mm(w, x)


class Elements(nn.Module):
    """What has no product in it runs on the dense tensor, in the graph."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 32))

    def forward(self, x):
        w = self.weight
        return (2 * w - 1).sum() + (-w).exp().mean() + w[3] * x + w.abs().max() - w / 2 @ x[0, 0].expand(32, 32)


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, batch_first=True)

    def forward(self, x):
        return self.attention(x, 2 * x, x + 1, need_weights=False)[0]


def encoder(train):
    return nn.TransformerEncoderLayer(32, 4, 16, dropout=0.0, batch_first=True).train(train)


X = torch.randn(2, 5, 32, generator=torch.Generator().manual_seed(0))
MODULES = {  # module, input, products in the graph, dense copies in it
    "Linear": (lambda: nn.Linear(32, 16), X, 1, 0),
    "Conv1D": (Conv1D, X, 1, 0),
    "products": (ManyProducts, X, 6, 0),
    "square": (Square, X[:, :, :5], 5, 0),
    "elements": (Elements, X[:1, :1], 0, 5),
    "Embedding": (lambda: nn.Embedding(16, 32), torch.tensor([1, 3, 3]), 0, 1),
    "encoder": (lambda: encoder(True), X, None, 0),  # exported below, evaluated
    "encoder, evaluated": (lambda: encoder(False), X, 4, 0),
    "cross attention": (Cross, X, 1, 1),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3), torch.randn(2, 3, 8, 8), 0, 1),
}


def sparse(make, format="CSR"):
    torch.manual_seed(0)
    module, names = make(), r"(^|linear\d\.|proj\.|proj_)weight"
    format = "COO(4)" if isinstance(module, nn.Conv2d) else format
    return stt.sparsify_(module, format, stt.Magnitude(0.3), filter=names)


def gradients(f, module, x):
    module.zero_grad()
    f(x).square().sum().backward()
    return [p.grad.clone() for p in module.parameters()]


@pytest.mark.parametrize("name", MODULES)
def test_compiled_and_exported(name):
    make, x, products, copies = MODULES[name]
    module = pickle.loads(pickle.dumps(sparse(make)))  # nothing that an eager call has found out is there yet
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), module(x))
    mine = gradients(compiled, module, x)
    torch.testing.assert_close(mine, gradients(module, module, x), rtol=1e-4, atol=1e-4)
    if products is None:
        return
    exported = torch.export.export(module, (x,))
    torch.testing.assert_close(exported.module()(x), module(x))
    graph = str(exported.graph)
    if name == "Conv2d" and not graph.count("scatter_v2.default]"):
        return  # it has got a product of its own
    assert (graph.count("mm_v1.default]"), graph.count("scatter_v2.default]")) == (products, copies)


class Uses(nn.Module):
    """Does something with its weight that is no product."""

    def __init__(self, f):
        super().__init__()
        self.weight, self.f = nn.Parameter(torch.randn(5, 32)), f

    def forward(self, x):
        return self.f(x[0], self.weight) + x.sum()


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w: F.linear(x, torch.cat([w, w])),
        lambda x, w: torch.stack([w, 2 * w]),
        lambda x, w: F.linear(x, F.normalize(w)),
        lambda x, w: (w == 0).float() + (0 < w).float() + (x >= w).float(),
        lambda x, w: 1 - w + x * w - w % 2 + (w - x) * (w * x) + x / (w + 9) + abs(w) // 2,
        lambda x, w: sum(row.sum() for row in w) + w[torch.tensor([1, 2])].sum() + w[3, 4],
        lambda x, w: torch.einsum("bi,oi->bo", x, w) + torch.bmm(x[None], w.T[None])[0],
        lambda x, w: F.linear(x, w.to(x.dtype)).add_(w.size(0) + w.numel() + w.ndim),
        lambda x, w: torch.where(w > 0, w, x).amax(0),
    ],
)
def test_whatever_a_module_does_with_its_weight(f):
    module = sparse(lambda: Uses(f))
    want = module(X)
    want = want.to_dense() if isinstance(want, stt.Tensor) else want
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(module, fullgraph=True, backend="eager")(X), want)
    torch.testing.assert_close(torch.export.export(module, (X,)).module()(X), want)


class Everything(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16, 32))

    def forward(self, x):
        w = self.weight
        return (w * w).sum() + (x @ w.t()).square().sum() + w.exp().sum() + w[[1, 2]].sum() + w.amax(1).square().sum()


@pytest.mark.parametrize("text", ["CSR", "BSR(4, 4) + COO"])
def test_func_of_a_module(text):
    """torch.func over its parameters, with a pattern that nobody used before; compiled and not."""
    module = sparse(Everything, text)
    parameters = {name: p.detach() for name, p in module.named_parameters()}
    f = torch.func.grad(lambda p, x: torch.func.functional_call(module, p, (x,)))
    got = f(parameters, X)
    each = torch.vmap(f, (None, 0))(parameters, torch.stack([X, X]))
    torch._dynamo.reset()
    compiled = torch.compile(f, backend="aot_eager")(parameters, X)
    (want,) = torch.autograd.grad(module(X), module.weight_values)
    for gradient in (got, {"weight_values": each["weight_values"][1]}, compiled):
        torch.testing.assert_close(gradient["weight_values"], want, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:Dynamo does not know")
@pytest.mark.parametrize(
    "f", [lambda w: X @ w.t(), lambda w: w[[1, 2]], lambda w: w.amax(1), lambda w: torch.exp(w) * w]
)
def test_func_compiled_where_the_graph_breaks(f):
    """A tensor that is made within has no place in a graph; what is left to Python is not compiled piece by piece."""
    A = stt.from_torch(torch.randn(16, 32) * (torch.rand(16, 32) < 0.5), "CSR")
    g = torch.func.grad(lambda v: f(stt.Tensor(v, A.pattern)).sum())
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(g, backend="aot_eager")(A.values()), g(A.values()))


@pytest.mark.parametrize("text", ["COO", "DIA", "delta(4)", "BSR(5, 3)", "BSR(4, 4) + COO"])
def test_formats(text):
    module = sparse(Conv1D, text)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(X), module(X))
    torch.testing.assert_close(gradients(compiled, module, X), gradients(module, module, X), rtol=1e-4, atol=1e-4)


def test_operators_keep_torchs_rules():
    A = stt.from_torch(torch.randn(6, 5).double() * (torch.rand(6, 5) < 0.5), "BSR(4, 2)")
    values, index, layout = A.values().requires_grad_(), list(A.pattern.index), A.pattern.layout
    size = len(values)
    torch.library.opcheck(torch.ops.strata.scatter_v2.default, (values, index, layout, size))
    dense = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    torch.library.opcheck(torch.ops.strata.gather_v2.default, (dense, index, layout, size))
    scatter = lambda v: torch.ops.strata.scatter_v2(v, index, layout, size)  # noqa: E731
    assert torch.autograd.gradcheck(scatter, values) and torch.autograd.gradgradcheck(scatter, values)


@pytest.mark.parametrize("text", ["CSR", "COO", "BSR(4, 4)"])
@pytest.mark.parametrize("module", ["Linear", "Conv1D"])
def test_patterns_of_one_size_share_a_graph(text, module):
    """Also where the number of stored values falls, if the updater keeps the size."""
    torch.manual_seed(0)
    net = stt.sparsify_(MODULES[module][0](), text, stt.Random(0.5, (4, 4) if "BSR" in text else ()), filter="weight")
    updater = stt.PatternUpdater(
        net, torch.optim.SGD(net.parameters(), 0.01), every=1, density=lambda step: 0.5 - 0.05 * step, fixed_size=True
    )
    torch._dynamo.reset()
    graphs = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(net, fullgraph=True, backend=graphs)
    seen = set()
    for _ in range(5):
        torch.testing.assert_close(gradients(compiled, net, X), gradients(net, net, X), rtol=1e-4, atol=1e-4)
        updater.optimizer.step()
        updater.step()
        seen.add(net.weight.nse)
    assert graphs.frame_count == 1 and len(seen) == 5
    assert net.weight.nse < net.weight.pattern.num_values == len(net.weight_values)


@pytest.mark.parametrize("text", ["CSR", "CSC", "COO", "BSR(4, 3)", "BSR(2, 2)", "(i, j) -> (i: dense, j: compressed)"])
def test_room_at_the_end_is_outside(text):
    """Whatever lies there, no result sees it, and its gradient is 0."""
    torch.manual_seed(0)
    tight = stt.from_torch(torch.randn(6, 8).double() * (torch.rand(6, 8) < 0.4), text)
    n = tight.pattern.num_values + 24
    pattern = tight.pattern.with_slots(n)
    assert (pattern.nse, pattern.num_values) == (tight.pattern.nse, n) and pattern != tight.pattern
    garbage = torch.full((24,), 7.0, dtype=torch.float64)
    A, B = (
        stt.Tensor(v.requires_grad_(), p)
        for v, p in ((tight.values().clone(), tight.pattern), (torch.cat([tight.values(), garbage]), pattern))
    )
    x, y = torch.randn(8, 3).double(), torch.randn(6, 3).double()
    for f in (
        lambda A: A @ x,
        lambda A: A.t() @ y,
        lambda A: y.t() @ A,
        lambda A: A.to_dense() ** 2,
        lambda A: (A * A).sum(0),
        lambda A: A.softmax(1).to_dense(),
        lambda A: (A @ A.t()).to_dense(),
        lambda A: A.to("DCSR").to_dense(),
        lambda A: (3 * A + A.T.T).t() @ y,
        lambda A: A[1:4].to_dense() + torch.cat([A, A], 1)[2:5, :8].to_dense(),
    ):
        A.grad = B.grad = None
        got, want = f(B), f(A)
        torch.testing.assert_close(got, want)
        g = torch.randn_like(want)
        got.backward(g)
        want.backward(g)
        torch.testing.assert_close(B.grad.values(), torch.cat([A.grad.values(), torch.zeros(24).double()]))
    for again in (pickle.loads(pickle.dumps(B)), copy.deepcopy(B)):
        assert again.pattern == pattern and torch.equal(again.to_dense(), tight.to_dense())
    assert pattern.with_slots(n + 12).with_slots(n) == pattern


def test_where_there_is_no_room():
    pattern = stt.from_torch(torch.eye(4), "CSR").pattern
    with pytest.raises(st.TensorError, match="does not fit"):
        pattern.with_slots(3)
    with pytest.raises(st.TensorError, match="does not fit"):
        stt.from_torch(torch.eye(4), "BSR(2, 2)").pattern.with_slots(9)
    for text in ("DIA", "delta(4)", "DCSR", "dense", "CSR + COO"):
        with pytest.raises(st.Unsupported, match="room at its end"):
            stt.from_torch(torch.eye(4), text).pattern.with_slots(99)


def test_a_state_dict_brings_its_room():
    net = nn.Sequential(nn.Linear(8, 8))
    stt.sparsify_(net, "CSR", stt.Magnitude(0.5))
    w = net[0].weight.detach()
    net[0].weight = stt.Tensor(torch.cat([w.values(), torch.zeros(8)]), w.pattern.with_slots(40))
    other = stt.sparsify_(nn.Sequential(nn.Linear(8, 8)), "COO", stt.Magnitude(0.1))
    other.load_state_dict(net.state_dict())
    assert other[0].weight.pattern == net[0].weight.pattern and torch.equal(other(X[..., :8]), net(X[..., :8]))


def test_gradients_of_absent_weights_come_from_the_model_itself():
    """A compiled model does not tell them; that an update would do nothing is told."""
    net = stt.sparsify_(nn.Sequential(nn.Linear(32, 16)), "CSR", stt.Random(0.3))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    updater = stt.PatternUpdater(net, optimizer, grow="gradient", every=2)
    torch._dynamo.reset()
    compiled = torch.compile(net, backend="eager")
    before = net[0].weight.pattern
    for model in (compiled, net):
        model(X).square().sum().backward()
        updater.step()
    assert net[0].weight.pattern != before
    with pytest.raises(st.Unsupported, match="nobody told the gradients"):
        for _ in range(2):
            compiled(X).square().sum().backward()
            updater.step()
