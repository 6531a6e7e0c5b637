"""stt.attention against torch's own attention with a mask of -inf: outputs and gradients, formats, heads, masks, caches, memory."""

import math
import pickle
import subprocess
import sys

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from masked_attention import masked  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.torch import _attention_rows  # noqa: E402

FORMATS = [
    *("CSR", "CSC", "COO", "DCSR", "DIA", "ELL", "delta(4)", "bitmap", "dense", "BSR(2, 2)", "BSR(2, 3)", "BSR(5, 4)"),
    *("BSR(4, 4) + COO", "(i, j) -> (i / 3 : compressed, j : compressed, i % 3 : dense)"),
]
HEADS_FORMATS = [
    *("COO(3)", "CSF", "(h, i, j) -> (h : dense, i : dense, j : compressed)"),
    "(h, i, j) -> (h : dense, i / 4 : dense, j / 3 : compressed, i % 4 : dense, j % 3 : dense)",
    "(h, i, j) -> (i : dense, j : compressed, h : dense)",
]
L, S, E, D = 9, 11, 4, 5


def drawn(*shapes, dtype=torch.float64, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw, dtype=torch.float64).to(dtype).requires_grad_() for shape in shapes]


def operands(*lead, dtype=torch.float64, length=L, keys=S):
    return drawn((*lead, length, E), (*lead, keys, E), (*lead, keys, D), dtype=dtype)


def some(*shape, density=0.4, seed=1):
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < density
    mask[..., 2, :] = False  # a query that looks at nothing
    return mask


def same(got, want, inputs, **tolerance):
    """The results, and the gradients of all inputs."""
    torch.testing.assert_close(got, want, **tolerance)
    g = torch.randn(want.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(want.dtype)
    got, want = (torch.autograd.grad(y, inputs, g, retain_graph=True) for y in (got, want))
    torch.testing.assert_close(got, want, **tolerance)


def stored(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)) != 0


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format):
    q, k, v = operands(2, 3)
    pattern = stt.from_torch(some(L, S).double(), format).pattern
    with stt.strict():
        got = stt.attention(q, k, v, pattern)
    same(got, masked(q, k, v, stored(pattern)), (q, k, v))


@pytest.mark.parametrize("format", HEADS_FORMATS)
def test_formats_of_patterns_for_each_head(format):
    q, k, v = operands(2, 3)
    pattern = stt.from_torch(some(3, L, S).double(), format).pattern
    bias = stt.Tensor(*drawn((pattern.num_values,)), pattern)
    got = stt.attention(q, k, v, pattern, bias)
    seen = stored(pattern)
    same(got, masked(q, k, v, seen, torch.where(seen, bias.to_dense(), 0)), (q, k, v, bias.values()))


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 2, 3)], ids=str)
@pytest.mark.parametrize("heads", [(), (3,), (2, 1), (1, 3), (2, 3)], ids=str)
@pytest.mark.parametrize("limits", [(1, 1 << 21), (30, 1 << 21), (1 << 16, 1 << 21), (1, 7)], ids=str)
def test_heads_batches_and_tasks(lead, heads, limits, monkeypatch):
    """Products together, one by one, and cut by rows."""
    monkeypatch.setattr(_attention_rows, "TOGETHER", limits[0])
    monkeypatch.setattr(_attention_rows, "AT_ONCE", limits[1])
    q, k, v = operands(*lead)
    mask, bias = some(*heads, L, S), drawn((3, L, S))[0]
    same(stt.attention(q, k, v, mask), masked(q, k, v, mask), (q, k, v))
    same(stt.attention(q, k, v, mask, bias), masked(q, k, v, mask, bias), (q, k, v, bias))


def test_operands_broadcast():
    mask = some(L, S)
    q, k, v = drawn((2, 1, L, E), (3, S, E), (S, D))
    same(stt.attention(q, k, v, mask), masked(q, k, v, mask), (q, k, v))
    q, k, v = (x.transpose(1, 2) for x in drawn((2, L, 3, E), (2, S, 3, E), (2, S, 3, D)))  # as models have them
    same(stt.attention(q, k, v, mask, scale=0.3), masked(q, k, v, mask, scale=0.3), (q, k, v))


@pytest.mark.parametrize("shape", [(S,), (L, S), (1, S), (L, 1), (3, L, S), (2, 1, L, S), (2, 3, 1, S)], ids=str)
def test_biases(shape):
    q, k, v = operands(2, 3)
    for mask in (some(L, S), some(3, L, S), some(2, 1, L, S)):
        (bias,) = drawn(shape)
        same(stt.attention(q, k, v, mask, bias), masked(q, k, v, mask, bias), (q, k, v, bias))
        hide = bias.detach() > 0.5
        want = masked(q, k, v, mask & ~hide)
        same(stt.attention(q, k, v, mask, ~hide), want, (q, k, v))
        same(stt.attention(q, k, v, mask, torch.where(hide, -math.inf, 0.0)), want, (q, k, v))


def test_a_sparse_bias():
    """Of the pattern itself, of another one, and of fewer heads: what it does not store is 0."""
    q, k, v = operands(2, 3)
    mask = some(L, S)
    for other in (mask, some(L, S, seed=5), some(3, L, S, seed=6)):
        dense = torch.where(other, drawn(other.shape)[0].detach(), 0)
        bias = stt.from_torch(dense).requires_grad_()
        want = dense.clone().requires_grad_()
        with stt.strict():
            got = stt.attention(q, k, v, mask, bias)
        y = masked(q, k, v, mask, want)
        torch.testing.assert_close(got, y)
        got.square().sum().backward()
        y.square().sum().backward()
        torch.testing.assert_close(bias.grad.to_dense(), torch.where(other & mask, want.grad, 0))


def test_padding():
    q, k, v = operands(2, 3)
    mask = some(3, L, S)
    padding = torch.arange(S) >= torch.tensor([[7], [0]])  # the second of the batch has no keys at all
    want = masked(q, k, v, mask, padding=padding)
    assert (want[1] == 0).all()
    same(stt.attention(q, k, v, mask, key_padding_mask=padding), want, (q, k, v))
    numbers = torch.where(padding, -math.inf, 0.0)
    same(stt.attention(q, k, v, mask, key_padding_mask=numbers), want, (q, k, v))
    (numbers,) = drawn((2, S))
    want = masked(q, k, v, mask, numbers[:, None, None])
    same(stt.attention(q, k, v, mask, key_padding_mask=numbers), want, (q, k, v, numbers))


@pytest.mark.parametrize("features", [(1, 1), (5, 3), (16, 8), (24, 33), (64, 64), (100, 80)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_of_any_number(features, dtype):
    """Whole vectors of any instruction set, and what is left of them; rows of no keys, of one and of many."""
    mask = torch.rand(2, 40, 70, generator=torch.Generator().manual_seed(1)) < torch.linspace(0, 1, 40)[:, None]
    q, k, v = (torch.randn(3, 2, n, f, dtype=dtype) for n, f in zip((40, 70, 70), (features[0], *features)))
    bias = torch.randn(2, 40, 70, dtype=dtype)
    bias[:, :, ::3] = -math.inf
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    for added in (None, bias):
        y, want = stt.attention(q, k, v, mask, added), masked(q, k, v, mask, added)
        torch.testing.assert_close(y, want, rtol=tolerance, atol=tolerance)


def test_numbers_that_are_not_finite():
    """A key of NaN is NaN for the queries that look at it, and for no others; so is a score of infinity, as torch says."""
    mask = torch.ones(4, 4).tril() != 0
    q, k, v = torch.ones(4, 8), torch.randn(4, 8), torch.randn(4, 8)
    k[2, 1] = math.nan
    y = stt.attention(q, k, v, mask)
    assert y.isnan().all(1).tolist() == [False, False, True, True] and not y[:2].isnan().any()
    k[2] = math.inf
    assert stt.attention(q, k, v, mask).isnan().any(1).tolist() == [False, False, True, True]


@pytest.mark.parametrize("mask", [some(L, S), some(2, L, S)], ids=["shared", "heads"])
def test_gradients_of_any_order(mask):
    q, k, v = operands(2)
    (bias,) = drawn((2, L, S))
    padding = torch.arange(S)[None] >= torch.tensor([[9], [4]])
    f = lambda q, k, v, bias: stt.attention(q, k, v, mask, bias, padding)  # noqa: E731
    assert torch.autograd.gradcheck(f, (q, k, v, bias), fast_mode=True)
    assert torch.autograd.gradgradcheck(f, (q, k, v, bias), fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_dtypes(dtype):
    """As near to the result in float64 as torch's own."""
    length = 40
    mask = some(2, length, length, density=0.3)
    inputs = operands(2, 2, dtype=dtype, length=length, keys=length)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    got, want = stt.attention(*inputs, mask), masked(*exact, mask)
    assert got.dtype == dtype
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}[dtype]
    near = dict(rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(got.double(), want, **near)
    g = torch.ones_like(got)
    for mine, theirs in zip(torch.autograd.grad(got, inputs, g), torch.autograd.grad(want, exact, g.double())):
        assert mine.dtype == dtype
        torch.testing.assert_close(mine.double(), theirs, rtol=tolerance, atol=2 * tolerance)


@pytest.mark.parametrize("factor", [1e-3, 3, 30, 1e4])
def test_large_and_small_scores(factor):
    q, k, v = operands(2)
    mask = some(L, S)
    with torch.no_grad():
        q.mul_(factor)
    same(stt.attention(q, k, v, mask), masked(q, k, v, mask), (q, k, v))
    bias = torch.full((L, S), -1e9, dtype=torch.float64)  # as good as hidden, though finite
    bias[:, 4:] = 0
    same(stt.attention(q, k, v, mask, bias), masked(q, k, v, mask, bias), (q, k, v))


@pytest.mark.parametrize("shape", [(0, 4, 5), (2, 0, 5), (2, 4, 0), (2, 0, 0)], ids=str)
def test_nothing_there(shape):
    heads, length, keys = shape
    q, k, v = operands(heads, length=length, keys=keys)
    y = stt.attention(q, k, v, torch.ones(length, keys, dtype=torch.bool))
    assert y.shape == (heads, length, D) and (y == 0).all()
    assert all((g == 0).all() for g in torch.autograd.grad(y.sum(), (q, k, v)))
    q, k, v = operands(2)
    y = stt.attention(q, k, v, torch.zeros(L, S, dtype=torch.bool))
    assert (y == 0).all() and all((g == 0).all() for g in torch.autograd.grad(y.sum(), (q, k, v)))
    for lead, heads in (((0,), (0,)), ((0, 3), (3,)), ((2, 0), (2, 1))):
        y = stt.attention(*operands(*lead), some(*heads, L, S))
        assert y.shape == (*lead, L, D) and y.requires_grad
        y.sum().backward()
    q, k, v = (x[..., :0].detach() for x in (q, k, v))
    assert stt.attention(q, k, v, some(L, S)).shape == (2, L, 0)


def test_what_is_absent_is_not_read():
    """Not even a NaN; what is read spreads."""
    q, k, v = (x.detach() for x in operands(2))
    mask = some(L, S)
    mask[:, 3] = False
    want = stt.attention(q, k, v, mask)
    k[:, 3] = v[:, 3] = math.nan
    torch.testing.assert_close(stt.attention(q, k, v, mask), want)
    q[:, 0] = math.nan
    mask[0, 0] = True
    y = stt.attention(q, k, v, mask)
    assert y[:, 0].isnan().all() and not y[:, 1:].isnan().any()


def test_dropout():
    q, k, v = operands(2, 2)
    mask = some(2, L, S, density=0.9)
    eye = torch.eye(S, dtype=torch.float64).expand(2, 2, S, S)

    def f(q, k, v):
        torch.manual_seed(3)
        return stt.attention(q, k, v, mask, dropout_p=0.4)

    kept, all_of_them = f(q, k, eye), stt.attention(q, k, eye, mask)  # the weights themselves
    there = kept != 0
    torch.testing.assert_close(kept, torch.where(there, all_of_them / 0.6, 0))
    assert 0.5 < there.sum() / (all_of_them != 0).sum() < 0.7
    same(f(q, k, v), torch.where(there, all_of_them / 0.6, 0) @ v, (q, k, v))
    assert torch.autograd.gradcheck(f, (q, k, v), fast_mode=True)
    assert torch.autograd.gradgradcheck(f, (q, k, v), fast_mode=True)
    assert not torch.equal(stt.attention(q, k, v, mask, dropout_p=0.4), stt.attention(q, k, v, mask, dropout_p=0.4))
    assert (stt.attention(q, k, v, mask, dropout_p=1.0) == 0).all()


def test_what_a_pattern_can_be():
    q, k, v = operands(2, 3)
    mask = some(L, S)
    want = masked(q, k, v, mask)
    sparse = stt.from_torch(mask)
    half = stt.Tensor(mask[stored(sparse.pattern)], sparse.pattern)
    values = torch.ones(stt.from_torch(torch.ones(L, S)).nse, dtype=torch.bool)
    full = stt.Tensor(mask.reshape(-1), stt.from_torch(torch.ones(L, S)).pattern)
    assert len(values) == full.nse  # False ones are stored, and not looked at
    blocks = stt.from_torch(torch.ones(L, S), "BSR(4, 4)").pattern
    in_blocks = stt.Tensor(blocks.gather(mask), blocks)
    numbers = stt.from_torch(torch.where(mask, 7.0, 0.0))

    class Finds:
        def pattern(self, x, *, q, k, v):
            assert x is None and q.shape[-2:] == (L, E) and k.shape[-2:] == (S, E) and v.shape[-2:] == (S, D)
            return mask

    for pattern in (
        mask,
        sparse,
        half,
        full,
        in_blocks,
        numbers,
        numbers.pattern,
        mask.float().to_sparse_csr(),
        Finds(),
    ):
        with stt.strict():
            same(stt.attention(q, k, v, pattern), want, (q, k, v))
    same(stt.attention(q, k, v, Finds), want, (q, k, v))
    same(stt.attention(q, k, v, lambda x, q, k, v: numbers), want, (q, k, v))


def test_patterns_that_were_saved_or_have_room():
    q, k, v = operands(2, 3)
    for mask in (some(L, S), some(3, L, S), some(2, 1, L, S)):
        pattern = stt.patterns.from_mask(mask)
        again = pickle.loads(pickle.dumps(pattern))
        assert again == pattern
        same(stt.attention(q, k, v, again), masked(q, k, v, mask), (q, k, v))
    pattern = stt.patterns.from_mask(some(L, S))
    roomy = pattern.with_slots(pattern.num_values + 20)
    same(stt.attention(q, k, v, roomy), masked(q, k, v, some(L, S)), (q, k, v))


def test_a_sparsifier_of_ones_own():
    """Keys that are among the three best of a query, found in the forward; no gradient goes through the choice."""

    class Best:
        def pattern(self, x, *, q, k, v):
            scores = q @ k.transpose(-1, -2)
            return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, scores.topk(3).indices, True)

    q, k, v = operands(2, 3)
    mask = Best().pattern(None, q=q, k=k, v=v)
    same(stt.attention(q, k, v, Best), masked(q, k, v, mask), (q, k, v))


def test_a_full_pattern_is_dense():
    q, k, v = operands(2, 3)
    with stt.strict():
        got = stt.attention(q, k, v, torch.ones(L, S, dtype=torch.bool))
    same(got, F.scaled_dot_product_attention(q, k, v), (q, k, v))
    q, k, v = drawn((2, 1, L, E), (3, S, E), (S, D))
    mask = torch.ones(L, S, dtype=torch.bool)
    same(stt.attention(q, k, v, mask), masked(q, k, v, mask), (q, k, v))


@pytest.mark.parametrize("heads", [(), (3,)], ids=str)
def test_decoding_with_a_cache(heads):
    """Row by row, and some rows at a time: the rows of the whole, of the keys so far."""
    q, k, v = operands(2, 3, length=S)
    mask = some(*heads, S, S, density=0.6)
    pattern = stt.patterns.from_mask(mask)
    for start in range(S):
        there = slice(None, start + 1)
        got = stt.attention(q[..., start : start + 1, :], k[..., there, :], v[..., there, :], pattern, start=start)
        row = mask[..., start : start + 1, there]
        same(got, masked(q[..., start : start + 1, :], k[..., there, :], v[..., there, :], row), (q, k, v))
    causal = stt.patterns.intersection(pattern, stt.patterns.from_mask(torch.ones_like(mask).tril()))
    (bias,) = drawn((3, S, S))
    whole = stt.attention(q, k, v, causal, bias)
    for start, end in ((0, 4), (4, 5), (5, 11)):
        now = (q[..., start:end, :], k[..., :end, :], v[..., :end, :])
        got = stt.attention(*now, causal, bias[:, start:end, :end], start=start)
        torch.testing.assert_close(got, whole[..., start:end, :])
    with pytest.raises(st.TensorError, match="no such rows"):
        stt.attention(q, k, v, pattern, start=1)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_decoding_reads_what_is_looked_at(compiled):
    """Of a cache of 40 keys some ten, with bias, padding and all gradients; what lies elsewhere may be anything."""
    n = 40
    q, k, v = operands(2, 3, length=n, keys=n)
    (bias,) = drawn((3, n, n))
    mask = (torch.arange(n)[:, None] - torch.arange(n)).abs() < 4
    mask[:, 0] = True
    pattern, padding = stt.patterns.from_mask(mask), torch.arange(n) == torch.tensor([[0], [31]])
    f = lambda q, k, v, b, p: stt.attention(q, k, v, pattern, b, p, start=30)  # noqa: E731
    attend = torch.compile(f, fullgraph=True, backend="aot_eager") if compiled else f
    now = (q[..., 30:32, :], k[..., :33, :], v[..., :33, :])
    got = attend(*now, bias[:, 30:32, :33], padding[:, :33])
    want = masked(*now, mask[30:32, :33], bias[:, 30:32, :33], padding[:, :33])
    same(got, want, (q, k, v, bias))
    with torch.no_grad():
        k[..., 5:20, :] = math.nan
        torch.testing.assert_close(attend(*now, bias[:, 30:32, :33], padding[:, :33]), want)
    for bad in (bias[:, 30:32, :32], bias[:, 30:32]):
        with pytest.raises(st.TensorError, match="bias does not fit"):
            f(*now, bad, None)


@pytest.mark.parametrize("format", ["CSR", "COO", "BSR(2, 3)", "bitmap"])
def test_torchs_own_function(format):
    q, k, v = operands(2, 3)
    mask = some(L, S)
    sparse = stt.from_torch(mask.double(), format)
    truth = stt.Tensor(sparse.values() != 0, sparse.pattern)
    with stt.strict():
        got = F.scaled_dot_product_attention(q, k, v, truth)
    same(got, masked(q, k, v, mask), (q, k, v))
    numbers = sparse.detach().requires_grad_()
    with stt.strict():
        got = F.scaled_dot_product_attention(q, k, v, attn_mask=numbers, scale=0.2)
    dense = numbers.to_dense().detach().requires_grad_()
    want = masked(q, k, v, stored(sparse.pattern), dense, scale=0.2)
    same(got, want, (q, k, v))
    got = F.scaled_dot_product_attention(q, k, v, attn_mask=numbers, scale=0.2).square().sum()
    got.backward()
    want = masked(q, k, v, stored(sparse.pattern), dense, scale=0.2).square().sum()
    want.backward()
    torch.testing.assert_close(numbers.grad.to_dense(), torch.where(stored(sparse.pattern), dense.grad, 0))


def test_torchs_own_function_for_batches_and_groups():
    mask = some(2, 1, L, S)
    q, k, v = drawn((2, 4, L, E), (2, 2, S, E), (2, 2, S, D))
    got = F.scaled_dot_product_attention(q, k, v, stt.from_torch(mask), enable_gqa=True)
    same(got, masked(q, *(x.repeat_interleave(2, 1) for x in (k, v)), mask), (q, k, v))
    with pytest.raises(st.ArgumentError, match="is_causal"):
        F.scaled_dot_product_attention(q, k, v, stt.from_torch(mask), is_causal=True)


def test_transforms():
    q, k, v = operands(2, 3)
    mask = some(L, S)
    pattern = stt.patterns.from_mask(mask)
    f = lambda q, k, v: stt.attention(q, k, v, pattern)  # noqa: E731
    want = lambda q, k, v: masked(q, k, v, mask)  # noqa: E731
    torch.testing.assert_close(torch.func.vmap(f)(q, k, v), want(q, k, v))
    with torch.no_grad():
        ones = torch.ones_like(q)
        mine, theirs = (
            torch.func.jvp(lambda q: g(q, k, v), (q,), (ones,))[1] for g in (f, lambda q, k, v: _by_hand(q, k, v, mask))
        )
        torch.testing.assert_close(mine, theirs)
    mine, theirs = (torch.func.grad(lambda q: g(q, k, v).square().sum())(q) for g in (f, want))
    torch.testing.assert_close(mine, theirs)


def _by_hand(q, k, v, mask):
    scores = torch.where(mask, q @ k.transpose(-1, -2) / E**0.5, -1e30)
    return torch.where(mask.any(-1, keepdim=True), torch.softmax(scores, -1) @ v, 0)


@pytest.mark.parametrize("heads", [(), (3,)], ids=str)
def test_transforms_of_masks_and_what_finds_them(heads):
    """Masks that a transform has wrapped, too; a mask for each call of a vmap has no pattern."""
    q, k, v = (x.detach() for x in operands(2, 3))
    mask = some(*heads, L, S)
    for f in (
        lambda q: stt.attention(q, k, v, mask),
        lambda q: stt.attention(q, k, v, mask & (q.detach()[..., :1, :1].sum() < 1e9)),
        lambda q: stt.attention(q, k, v, stt.patterns.from_mask(mask)),
    ):
        got = torch.func.grad(lambda q: f(q).square().sum())(q)  # noqa: B023
        want = torch.func.grad(lambda q: masked(q, k, v, mask).square().sum())(q)
        torch.testing.assert_close(got, want)
    routed = stt.patterns.Routing(3, generator=0)
    found = stored(routed.pattern(q=q, k=k))
    got = torch.func.grad(lambda q: stt.attention(q, k, v, routed).square().sum())(q)
    torch.testing.assert_close(got, torch.func.grad(lambda q: masked(q, k, v, found).square().sum())(q))
    with pytest.raises(st.Unsupported, match="one for all calls of a vmap"):
        torch.vmap(lambda q: stt.attention(q, k[0], v[0], q[..., :1] < k[0, :, :, 0][:, None, :]))(q)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients(context):
    """Under inference first, and what it leaves with the pattern serves training."""
    q, k, v = operands(2, 3)
    mask = some(L, S)
    pattern = stt.patterns.from_mask(mask)
    with context():
        y = stt.attention(q, k, v, pattern)
    want = masked(q, k, v, mask)
    assert not y.requires_grad
    torch.testing.assert_close(y.clone(), want.detach())
    same(stt.attention(q, k, v, pattern), want, (q, k, v))


def test_operands_that_change_after_the_forward():
    """An error, as autograd has it, and no wrong gradient."""
    q, k, v = operands(2)
    y = stt.attention(q, k, v, some(L, S))
    with torch.no_grad():
        k.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_autocast():
    q, k, v = operands(2, dtype=torch.float32)
    mask = some(L, S)
    with torch.autocast("cpu", torch.bfloat16):
        y = stt.attention(q, k, v, mask)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), masked(q, k, v, mask), rtol=3e-2, atol=3e-2)


def test_errors():
    q, k, v = operands(2)
    mask = some(L, S)
    for bad, message in (
        (lambda: stt.attention(q, k, v, mask.t()), r"expected  \(..., 9, 11\)"),
        (lambda: stt.attention(q, k.float(), v, mask), "one dtype"),
        (lambda: stt.attention(q.long(), k.long(), v.long(), mask), "real numbers"),
        (lambda: stt.attention(q, k[..., :3], v, mask), "do not fit"),
        (lambda: stt.attention(q, k, v[:, :4], mask), "do not fit"),
        (lambda: stt.attention(stt.from_torch(q), k, v, mask), "are dense"),
        (lambda: stt.attention(q, k, v, mask.float()), "boolean mask"),
        (lambda: stt.attention(q, k, v, 3), "no pattern"),
        (lambda: stt.attention(q, k, v, some(3, L, S)), "in front do not fit"),
        (lambda: stt.attention(q, k, v, mask, torch.ones(S, L)), "bias does not fit"),
        (lambda: stt.attention(q, k, v, mask, stt.from_torch(mask)), "pattern=mask"),
        (lambda: stt.attention(q, k, v, mask, None, torch.ones(3, S)), "key_padding_mask does not fit"),
        (lambda: stt.attention(q, k, v, mask, dropout_p=1.5), "share of the weights"),
    ):
        with pytest.raises(st.Error, match=message):
            bad()


MEMORY = """
import torch
import strata.torch as stt
peak = lambda: int(next(x for x in open("/proc/self/status") if x.startswith("VmHWM")).split()[1]) / 1024
q, k, v = (torch.randn(1, 2, n, 16, requires_grad=True) for n in (64, 64, 64))
stt.attention(q, k, v, stt.patterns.local(64, distance=4)).sum().backward()
q, k, v = (torch.randn(1, 2, 16384, 16, requires_grad=True) for _ in range(3))
open("/proc/self/clear_refs", "w").write("5")  # the peak so far is forgotten
before = peak()
stt.attention(q, k, v, stt.patterns.local(16384, distance=16)).sum().backward()
print(peak() - before)
"""


def test_no_dense_scores():
    """Length 16,384: dense scores would be 1 GB a head, the scores of the pattern are 2 MB."""
    out = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert 1 < float(out.stdout) < 120
