"""stt.attention under torch.compile and torch.export: one graph for all batches, forward and backward, for patterns, masks and what
finds them; compared with torch's own attention with a mask."""

import copy

import pytest

import strata as st

torch = pytest.importorskip("torch")
from masked_attention import masked  # noqa: E402
from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

import strata.torch as stt  # noqa: E402

L, S, E, D = 9, 11, 4, 5


def drawn(*shapes, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in shapes]


def operands(*lead, length=L, keys=S):
    return drawn((*lead, length, E), (*lead, keys, E), (*lead, keys, D))


def some(*shape, density=0.4):
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < density
    mask[..., 2, :] = False
    return mask


def same(got, want, inputs):
    torch.testing.assert_close(got, want)
    g = torch.randn(want.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    torch.testing.assert_close(torch.autograd.grad(got, inputs, g), torch.autograd.grad(want, inputs, g))


def compiled(f, backend="aot_eager", **options):
    torch._dynamo.reset()
    graphs = CompileCounterWithBackend(backend)
    return torch.compile(f, fullgraph=True, backend=graphs, **options), graphs


def stored(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)) != 0


class Best:
    """Keys that are among the three best of a query."""

    def pattern(self, x, *, q, k, v):
        scores = q @ k.transpose(-1, -2)
        return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, scores.topk(3).indices, True)


SQUARE = {  # what is given as the pattern
    "mask": lambda: some(S, S),
    "mask of heads": lambda: some(3, S, S),
    "CSR": lambda: stt.patterns.from_mask(some(S, S)),
    "COO": lambda: stt.from_torch(some(S, S).double(), "COO").pattern,
    "heads": lambda: stt.patterns.from_mask(some(3, S, S)),
    "causal routing": lambda: stt.patterns.Routing(3, generator=0, causal=True),
    "own": lambda: Best(),
    "configuration": lambda: stt.BigBirdSparsityConfig(3, 4, generator=0),
    "everything": lambda: torch.ones(S, S, dtype=torch.bool),
    "nothing": lambda: torch.zeros(S, S, dtype=torch.bool),
}


def meant(given, q, k, v):
    """The mask of a pattern of any kind."""
    if isinstance(given, torch.Tensor):
        return given
    if not isinstance(given, stt.Pattern):
        given = given.pattern(None, q=q, k=k, v=v)
    return given if isinstance(given, torch.Tensor) else stored(given)


@pytest.mark.parametrize("name", SQUARE)
def test_one_graph_for_all_batches(name):
    given = SQUARE[name]()
    f = lambda q, k, v: stt.attention(torch.tanh(q), k, v, given)  # noqa: E731
    graph, graphs = compiled(f, "aot_eager" if name in ("mask", "CSR") else "eager", dynamic=True)
    seen = set()
    for batch in (6, 7):
        q, k, v = operands(batch, 3, length=S)
        same(graph(q, k, v), masked(torch.tanh(q), k, v, meant(given, torch.tanh(q), k, v)), (q, k, v))
        seen.add(graphs.frame_count)
    assert len(seen) == 1


def test_batches_and_lengths_without_being_told():
    """torch makes a second graph when a number first changes, and none after that; of a mask lengths may change too."""
    graph, graphs = compiled(lambda q, k, v, mask: stt.attention(q, k, v, mask), "eager")
    seen = []
    for batch, length in ((6, 8), (5, 9), (7, 12)):
        q, k, v = operands(batch, 3, length=length, keys=length)
        mask = some(length, length)
        same(graph(q, k, v, mask), masked(q, k, v, mask), (q, k, v))
        seen.append(graphs.frame_count)
    assert seen[1] == seen[2]


@pytest.mark.parametrize("shape", [(L, S), (2, 3, 1, S)], ids=str)
def test_biases_and_padding(shape):
    q, k, v = operands(2, 3)
    (bias,) = drawn(shape, seed=3)
    padding = torch.arange(S) >= torch.tensor([[7], [0]])
    for given in (some(L, S), stt.patterns.from_mask(some(3, L, S))):
        mask = meant(given, q, k, v)
        graph, _ = compiled(lambda q, k, v, b: stt.attention(q, k, v, given, b, padding, scale=0.3))  # noqa: B023
        same(graph(q, k, v, bias), masked(q, k, v, mask, bias, padding, scale=0.3), (q, k, v, bias))
        hide = bias.detach() > 0.5
        graph, _ = compiled(lambda q, k, v: stt.attention(q, k, v, given, ~hide), "eager")  # noqa: B023
        same(graph(q, k, v), masked(q, k, v, mask & ~hide), (q, k, v))
    (numbers,) = drawn((2, S))
    graph, _ = compiled(lambda q, k, v, n: stt.attention(q, k, v, given, key_padding_mask=n))
    same(graph(q, k, v, numbers), masked(q, k, v, mask, numbers[:, None, None]), (q, k, v, numbers))


def test_operands_broadcast_and_some_need_no_gradient():
    mask = some(L, S)
    q, k, v = drawn((2, 1, L, E), (3, S, E), (S, D))
    graph, _ = compiled(lambda q, k, v: stt.attention(q, k, v, mask))
    same(graph(q, k, v), masked(q, k, v, mask), (q, k, v))
    for chosen in (0, 1, 2):
        given = [x if n == chosen else x.detach() for n, x in enumerate((q, k, v))]
        same(graph(*given), masked(*given, mask), (given[chosen],))
    with torch.no_grad():
        torch.testing.assert_close(graph(q, k, v), masked(q, k, v, mask))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dtypes(dtype):
    q, k, v = (x.detach().to(dtype).requires_grad_() for x in operands(2, 3))
    mask = some(L, S)
    graph, _ = compiled(lambda q, k, v: stt.attention(q, k, v, mask))
    same_as = stt.attention(q, k, v, mask)
    got = graph(q, k, v)
    assert got.dtype == dtype
    torch.testing.assert_close(got, same_as)
    got, want = (torch.autograd.grad(y.float().square().sum(), (q, k, v)) for y in (got, same_as))
    torch.testing.assert_close(got, want)


def test_dropout_is_drawn_in_each_call():
    """What is dropped in the forward is dropped in the gradient."""
    q, k, _ = operands(2, 2)
    pattern = stt.patterns.from_mask(some(2, L, S, density=0.9))
    eye = torch.eye(S, dtype=torch.float64).expand(2, 2, S, S)
    graph, _ = compiled(lambda q, k, v: stt.attention(q, k, v, pattern, dropout_p=0.4))
    v = torch.cat([eye, *drawn((2, 2, S, D))], -1).detach().requires_grad_()
    y = graph(q, k, v)
    weights, y = y[..., :S], y[..., S:]  # the weights themselves, and with values
    dense = stt.attention(q, k, eye, pattern)
    kept = weights.detach() != 0
    assert 0.4 < kept.sum() / (dense != 0).sum() < 0.8
    want = torch.where(kept, dense / 0.6, 0) @ v[..., S:]
    torch.testing.assert_close(weights, torch.where(kept, dense / 0.6, 0))
    same(y, want, (q, k))
    assert not torch.equal(graph(q, k, v), graph(q, k, v))


def test_decoding_with_a_cache():
    """The place is a number that changes, and so is the length of the cache: after some steps no graph is new."""
    length = 20
    q, k, v = (x.detach() for x in operands(2, 3, length=length, keys=length))
    causal = stt.patterns.local(length, distance=4, causal=True)
    whole = stt.attention(q, k, v, causal)
    graph, graphs = compiled(lambda q, k, v, t: stt.attention(q, k, v, causal, start=t), "eager", dynamic=True)
    counts = []
    for t in range(6, length):
        now = graph(q[:, :, t : t + 1].clone(), k[:, :, : t + 1].clone(), v[:, :, : t + 1].clone(), t)
        torch.testing.assert_close(now, whole[:, :, t : t + 1])
        counts.append(graphs.frame_count)
    assert len(set(counts[4:])) == 1
    with pytest.raises(st.TensorError, match="no such rows"):
        graph(q[:, :, :2].clone(), k, v, length - 1)


@pytest.mark.parametrize("given", ["mask", "CSR", "causal routing"])
def test_exported(given):
    pattern = SQUARE[given]()

    class Attends(torch.nn.Module):
        def forward(self, q, k, v):
            return stt.attention(q, k, v, pattern)

    q, k, v = (x.detach() for x in operands(2, 3, length=S))
    batch = torch.export.Dim("batch", min=2, max=8)
    program = torch.export.export(Attends(), (q, k, v), dynamic_shapes=({0: batch},) * 3)
    assert "attention_v1" in str(program.graph)
    for n in (2, 4):
        q, k, v = (x.detach() for x in operands(n, 3, length=S))
        torch.testing.assert_close(program.module()(q, k, v), masked(q, k, v, meant(pattern, q, k, v)))


@pytest.mark.parametrize("given", ["mask", "CSR"])
def test_transforms(given):
    pattern = SQUARE[given]()
    q, k, v = (x.detach() for x in operands(2, 3, length=S))
    f = lambda q, k: stt.attention(q, k, v, pattern).square().sum()  # noqa: E731
    want = torch.func.grad(lambda q, k: masked(q, k, v, meant(pattern, q, k, v)).square().sum(), (0, 1))(q, k)
    graph, _ = compiled(torch.func.grad(f, (0, 1)))
    torch.testing.assert_close(graph(q, k), want)
    graph, _ = compiled(torch.vmap(lambda q: stt.attention(q, k[0], v[0], pattern)))
    torch.testing.assert_close(graph(q), masked(q, k[0], v[0], meant(pattern, q, k, v)))


def test_inductor():
    """torch's own compiler, with code before and after."""
    mask, w = some(L, S), drawn((E, E))[0]
    q, k, v = operands(2, 3)
    f = lambda q, k, v: torch.relu(stt.attention((q @ w).tanh(), k, v, mask))  # noqa: E731
    torch._dynamo.reset()
    want = torch.relu(masked((q @ w).tanh(), k, v, mask))
    same(torch.compile(f, fullgraph=True)(q, k, v), want, (q, k, v, w))


def test_operators_keep_torchs_rules():
    q, k, v = operands(2, 3)
    mask = some(L, S)
    (bias,) = drawn((L, S))
    padding = torch.arange(S) >= torch.tensor([[7], [3]])
    pattern = stt.patterns.from_mask(mask)
    for index, layout in (([mask], "mask"), (list(pattern.index), pattern.layout)):
        arguments = (q, k, v, bias, padding, None, index, layout, -1, None, 0.0)
        torch.library.opcheck(torch.ops.strata.attention_v1.default, arguments)
        f = lambda q, k, v, bias: torch.ops.strata.attention_v1(q, k, v, bias, *arguments[4:])[0]  # noqa: B023, E731
        assert torch.autograd.gradcheck(f, (q, k, v, bias), fast_mode=True)
        assert torch.autograd.gradgradcheck(f, (q, k, v, bias), fast_mode=True)


def test_the_gradient_of_a_gradient_in_a_graph_is_refused():
    """And not silently wrong."""
    q, k, v = operands(2, 3)
    mask = some(L, S)
    inner = torch.func.grad(lambda q: stt.attention(q, k.detach(), v.detach(), mask).square().sum())
    graph, _ = compiled(lambda q: torch.func.grad(lambda q: inner(q).square().sum())(q))
    with pytest.raises(Exception, match="has no gradient|gradient of an attention"):
        graph(q.detach())


def test_modules():
    torch.manual_seed(0)
    q, k, v = (x.detach() for x in operands(2, 3, length=S))
    v = v[..., :E]
    module = stt.SparseSelfAttention(stt.BigBirdSparsityConfig(3, 4, generator=0), max_seq_length=32)
    rpe, mask = torch.randn(S, S).double(), some(S, S)
    graph, _ = compiled(module, "eager", dynamic=True)
    for batch in (2, 5):
        given = [x[:1].expand(batch, -1, -1, -1).contiguous() for x in (q, k, v)]
        torch.testing.assert_close(graph(*given, rpe, None, mask), module(*given, rpe, None, mask))
    again = copy.deepcopy(module)
    again.load_state_dict(module.state_dict())
    torch.testing.assert_close(again(q, k, v), module(q, k, v))
