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
from strata.torch import _called, _ops  # noqa: E402
from strata.torch._register import NAMES  # noqa: E402

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
MODULES = {  # module, input, products in the graph (of an embedding: look-ups), dense copies in it
    "Linear": (lambda: nn.Linear(32, 16), X, 1, 0),
    "Conv1D": (Conv1D, X, 1, 0),
    "products": (ManyProducts, X, 6, 0),
    "square": (Square, X[:, :, :5], 5, 0),
    "elements": (Elements, X[:1, :1], 0, 5),
    "Embedding": (lambda: nn.Embedding(16, 32, padding_idx=1), torch.tensor([1, 3, 3]), 1, 0),
    "bags": (lambda: nn.EmbeddingBag(16, 32), torch.tensor([[1, 3, 3], [0, 15, 2]]), 1, 0),
    "sums of bags": (lambda: nn.EmbeddingBag(16, 32, mode="sum", padding_idx=3), torch.tensor([[1, 3, 3]]), 1, 0),
    "largest of bags": (lambda: nn.EmbeddingBag(16, 32, mode="max"), torch.tensor([[1, 3, 3]]), 0, 1),
    "encoder": (lambda: encoder(True), X, None, 0),  # exported below, evaluated
    "encoder, evaluated": (lambda: encoder(False), X, 4, 0),
    "cross attention": (Cross, X, 1, 1),
    "Conv1d": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), X[:, :4], 1, 0),
    "Conv2d": (
        lambda: nn.Conv2d(4, 6, 3, padding="same", dilation=2, groups=2),
        X[:, :4, :, None].expand(2, 4, 32, 7),
        1,
        0,
    ),
    "Conv2d of one image": (lambda: nn.Conv2d(4, 6, (3, 2), bias=False), X[0, :4, :, None].expand(4, 32, 7), 1, 0),
    "Conv2d, reflecting": (lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), X.view(2, 4, 8, 5), 1, 0),
    "Conv3d": (lambda: nn.Conv3d(4, 6, 2), X.view(2, 4, 2, 4, 5), 1, 0),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(5, 6, 2), X, 0, 1),
}


def sparse(make, format="CSR"):
    torch.manual_seed(0)
    module, names = make(), r"(^|linear\d\.|proj\.|proj_)weight"
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
    counts = {op: graph.count(f"{op}.default]") for op in ("mm_v1", "rows_v1", "scatter_v2")}
    assert (counts["mm_v1"] + counts["rows_v1"], counts["scatter_v2"]) == (products, copies)


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


@pytest.mark.parametrize("text", ["COO", "CSC", "bitmap", "structured(4, 4)", "BSR(2, 4)", "BSR(3, 3) + COO"])
@pytest.mark.parametrize("name", ["Conv2d", "Embedding"])
def test_formats_of_convolutions_and_embeddings(name, text):
    make, x, *_ = MODULES[name]
    module = sparse(make, text).double()
    x = x.double() if x.is_floating_point() else x
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), module(x))
    torch.testing.assert_close(gradients(compiled, module, x), gradients(module, module, x))


@pytest.mark.parametrize("text", ["CSR", "BSR(2, 2)"])
@pytest.mark.parametrize("name", ["Conv2d", "Embedding"])
def test_func_of_convolutions_and_embeddings(name, text):
    """Gradients of gradients, batches of values, forward mode: of what stands in the graph."""
    make, x, *_ = MODULES[name]
    module = sparse(make, text).double()
    pattern, values = module.weight.pattern, module.weight_values.detach()
    index = list(pattern.index)
    if name == "Conv2d":
        columns = torch.randn(module.weight[0].numel() * 2, 3, dtype=torch.float64)
        layout = _ops.unfolded_layout(pattern.layout, 2)
        f = lambda v: torch.ops.strata.mm_v1(v, index, layout, columns, False, False)  # noqa: E731
        dense = lambda w: unfolded_by_hand(w, 2) @ columns  # noqa: E731
        op, rest = torch.ops.strata.mm_v1, (index, layout, columns, False, False)
    else:
        f = lambda v: torch.ops.strata.rows_v1(v, index, pattern.layout, x)  # noqa: E731
        dense = lambda w: w[x]  # noqa: E731
        op, rest = torch.ops.strata.rows_v1, (index, pattern.layout, x)
    torch.testing.assert_close(f(values), dense(pattern.scatter(values)))
    g = lambda v: f(v).pow(3).sum()  # noqa: E731
    h = lambda v: dense(pattern.scatter(v)).pow(3).sum()  # noqa: E731
    torch.testing.assert_close(torch.func.grad(g)(values), torch.func.grad(h)(values))
    torch.testing.assert_close(torch.func.hessian(g)(values), torch.func.hessian(h)(values))
    both = torch.stack([values, 2 * values])
    torch.testing.assert_close(torch.vmap(f)(both), torch.stack([f(values), f(2 * values)]))
    torch.testing.assert_close(torch.func.jvp(f, (values,), (both[1],))[1], f(both[1]))
    assert torch.autograd.gradgradcheck(f, values.requires_grad_())
    torch.library.opcheck(op.default, (values, *rest))


def unfolded_by_hand(w, groups):
    """(outputs, places x channels of all groups)"""
    out, inputs, *kernel = w.shape
    wide = w.new_zeros(out, groups * inputs, *kernel)
    for k in range(groups):
        rows = slice(k * out // groups, (k + 1) * out // groups)
        wide[rows, k * inputs : (k + 1) * inputs] = w[rows]
    return wide.flatten(2).transpose(1, 2).reshape(out, -1)


def test_a_row_that_is_not_there():
    table = torch.compile(stt.nn.Embedding(6, 8, density=0.5), fullgraph=True, backend="aot_eager")
    with pytest.raises(st.IndexError, match="does not have"):
        table(torch.tensor([6]))


class Registered:
    """Kernels that count their calls, undone at the end."""

    def __init__(self, op, format, backward=None):
        self.op, self.format, self.calls = op, format, 0
        stt.register_kernel(op, format, self.forward, backward)

    def forward(self, *args, **kwargs):
        self.calls += 1
        assert any(isinstance(x, stt.Tensor) for x in args)
        return self.op(*(x.to_dense() if isinstance(x, stt.Tensor) else x for x in args), **kwargs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stt.unregister_kernel(self.op, self.format)


@pytest.mark.parametrize(
    "make, op, format",
    [
        (lambda: nn.Linear(32, 16), F.linear, "CSR"),
        (lambda: nn.Linear(32, 16), F.linear, "BSR(4, 4) + COO"),
        (Conv1D, torch.addmm, "delta(4)"),
        (Cross, F.linear, "CSR"),
        (lambda: nn.Embedding(16, 32), F.embedding, "BSR(4, 4)"),
        (lambda: nn.Conv1d(5, 4, 3, padding=1, stride=2), F.conv1d, "CSR"),
        (
            lambda: Uses(lambda x, w: w.t().sum(0, dtype=torch.float64) + torch.logcumsumexp(w, 1).sum()),
            torch.sum,
            "CSC",
        ),
        (lambda: Uses(lambda x, w: torch.logcumsumexp(w, dim=1)), torch.logcumsumexp, "CSR"),
    ],
)
def test_registered_kernels_serve_in_graphs(make, op, format):
    module = sparse(make, format if op is not torch.sum else "CSR")
    if op is F.conv1d:
        format = module.weight.format
    x = torch.tensor([1, 3, 3]) if isinstance(module, nn.Embedding) else X
    want, of_want = module(x), gradients(module, module, x)
    torch._dynamo.reset()
    graphs = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(module, fullgraph=True, backend=graphs)
    torch.testing.assert_close(compiled(x), want)
    with Registered(op, format) as mine:
        calls = mine.calls
        torch.testing.assert_close(compiled(x), want)
        assert mine.calls > calls and graphs.frame_count == 2
        torch.testing.assert_close(gradients(compiled, module, x), of_want, rtol=1e-4, atol=1e-4)
        assert "called_v1" in str(torch.export.export(module, (x,)).graph)
        calls = mine.calls
    torch.testing.assert_close(compiled(x), want)
    assert mine.calls == calls


def test_registered_gradients_serve_in_graphs():
    module = sparse(lambda: nn.Linear(32, 16))
    want = gradients(module, module, X[0])

    def backward(g, x, w, b):
        assert isinstance(w, stt.Tensor)
        return g @ w.to_dense(), 2 * w.pattern.gather(g.t() @ x), 3 * g.sum(0)

    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with Registered(F.linear, "CSR", backward):
        of_values, of_bias = (gradients(compiled, module, X[0])[k] for k in (1, 0))
    names = [name for name, _ in module.named_parameters()]
    torch.testing.assert_close(of_values, 2 * want[names.index("weight_values")], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(of_bias, 3 * want[names.index("bias")], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["Linear", "Embedding", "Conv2d"])
def test_registered_kernels_in_graphs_under_autocast(name):
    make, x, *_ = MODULES[name]
    module = sparse(make)
    op = {"Linear": F.linear, "Embedding": F.embedding, "Conv2d": F.conv2d}[name]
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", torch.bfloat16), Registered(op, module.weight.format) as mine:
        want, of_want = module(x), gradients(module, module, x)
        calls = mine.calls
        got = compiled(x)
        assert got.dtype == want.dtype and mine.calls > calls
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)
        for a, b in zip(gradients(compiled, module, x), of_want):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b, rtol=5e-2, atol=0.1)


def test_registered_kernels_that_do_not_serve_in_graphs():
    """Of another format; that pass; that give something else than the function."""
    module = sparse(lambda: nn.Linear(32, 16))
    want = module(X)
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    with Registered(F.linear, "CSC") as mine:
        torch.testing.assert_close(compiled(X), want)
        assert not mine.calls
    for forward, error in (
        (lambda x, w, b: NotImplemented, None),
        (lambda x, w, b: x[..., :16].double(), st.TensorError),
        (lambda x, w, b: torch.ones(3), st.TensorError),
    ):
        stt.register_kernel(F.linear, "CSR", forward)
        try:
            if error is None:
                torch.testing.assert_close(compiled(X), want)
            else:
                with pytest.raises(error, match="a graph counts on"):
                    compiled(X)
        finally:
            stt.unregister_kernel(F.linear, "CSR")


def test_operators_of_registered_kernels_keep_torchs_rules():
    A = stt.from_torch(torch.randn(6, 5).double() * (torch.rand(6, 5) < 0.5), "CSR")
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    with Registered(torch.matmul, "CSR"):
        told = "sparse", A.pattern.layout, len(A.pattern.index), False
        call = _called._text_of(NAMES[torch.matmul], (), told, ("dense",))
        operands = [A.values().requires_grad_(), x], list(A.pattern.index), call
        torch.library.opcheck(torch.ops.strata.called_v1.default, operands)
        f = lambda v, x: torch.ops.strata.called_v1([v, x], operands[1], call)  # noqa: E731
        assert torch.autograd.gradcheck(f, (A.values(), x))
        y = f(A.values(), x).square().sum()
        with pytest.raises(st.Unsupported, match="one derivative"):
            torch.autograd.grad(y, A.values(), create_graph=True)
        got = torch.vmap(f, (None, 0))(A.values().detach(), torch.stack([x, 2 * x]).detach())
        torch.testing.assert_close(got[1], A.to_dense().detach() @ (2 * x.detach()))
        assert not _called._text_of(NAMES[torch.matmul], (), told, ("is", 1j))
    with pytest.raises(st.Unsupported, match="nobody has registered"):
        f(A.values(), x)


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
@pytest.mark.parametrize("module", ["Linear", "Conv1D", "Embedding", "Conv1d"])
def test_patterns_of_one_size_share_a_graph(text, module):
    """Also where the number of stored values falls, if the updater keeps the size."""
    torch.manual_seed(0)
    X = MODULES[module][1]
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
    assert graphs.frame_count == 1 and len(seen) > 1
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
