"""sddmm, softmax and spmm of heads and batches, torch-blocksparse's and triton's operators, xFormers' function, BlockSparseLinear:
against dense torch."""

import math

import pytest

import strata as st

torch = pytest.importorskip("torch")
from masked_attention import masked  # noqa: E402

import strata.torch as stt  # noqa: E402

L, S, E, D = 9, 11, 4, 5
FORMATS = ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "BSR(2, 3)", "DIA", "ELL", "delta(4)", "bitmap"]


def drawn(*shapes, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw, dtype=torch.float64).requires_grad_() for shape in shapes]


def some(*shape, density=0.4, seed=1):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < density


def stored(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)) != 0


def same(got, want, inputs):
    torch.testing.assert_close(got, want)
    g = torch.randn(want.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    got, want = (torch.autograd.grad(y, inputs, g, retain_graph=True) for y in (got, want))
    torch.testing.assert_close(got, want)


@pytest.mark.parametrize("format", FORMATS)
def test_the_pieces_of_one_matrix(format):
    q, k, v = drawn((L, E), (S, E), (S, D))
    pattern = stt.from_torch(some(L, S).double(), format).pattern
    seen = stored(pattern)
    with stt.strict():
        scores = stt.sddmm(q, k, pattern)
    assert scores.pattern is pattern
    same(scores.to_dense(), torch.where(seen, q @ k.T, 0), (q, k))
    with stt.strict():
        got = stt.spmm(stt.softmax(scores / 2), v)
    same(got, masked(q, k, v, seen, scale=0.5), (q, k, v))


@pytest.mark.parametrize("lead", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("heads", [(), (3,), (1,)], ids=str)
def test_the_pieces_of_heads_and_batches(lead, heads):
    q, k, v = drawn((*lead, L, E), (*lead, S, E), (*lead, S, D))
    mask = some(*heads, L, S)
    with stt.strict():
        scores = stt.sddmm(q, k, mask)
        got = stt.spmm(stt.softmax(scores / 2), v)
    assert scores.shape == (*lead, L, S)
    same(scores.to_dense(), torch.where(mask, q @ k.transpose(-1, -2), 0), (q, k))
    same(got, masked(q, k, v, mask, scale=0.5), (q, k, v))
    same(stt.sparse_dot_sdd(q, k, mask).to_dense(), scores.to_dense(), (q, k))


def test_heads_in_blocks():
    q, k, v = drawn((2, L, E), (2, S, E), (2, S, D))
    pattern = stt.patterns.from_block_mask(some(2, 3, 4, density=0.6), 3, (L, S))
    scores = stt.sddmm(q, k, pattern)
    assert scores.pattern is pattern
    same(stt.spmm(stt.softmax(scores / 2), v), masked(q, k, v, stored(pattern), scale=0.5), (q, k, v))
    f = lambda q, k, v: stt.spmm(stt.softmax(stt.sddmm(q, k, pattern)), v)  # noqa: E731
    assert torch.autograd.gradcheck(f, (q, k, v), fast_mode=True)
    assert torch.autograd.gradgradcheck(f, (q, k, v), fast_mode=True)


def test_errors_of_the_pieces():
    q, k, v = drawn((L, E), (S, E), (S, D))
    for bad, message in (
        (lambda: stt.sddmm(q, k, some(S, L)), "sampled product do not fit"),
        (lambda: stt.sddmm(q, v, some(L, S)), "sampled product do not fit"),
        (lambda: stt.sddmm(q[0], k, some(L, S)), "dense matrices"),
        (lambda: stt.softmax(q), "sparse tensor"),
    ):
        with pytest.raises(st.TensorError, match=message):
            bad()


# torch-blocksparse

BLOCK = 4


def layout(heads=2, rows=3, columns=4):
    found = some(heads, rows, columns, density=0.5, seed=3).long()
    found[..., 0] = 1
    found[0, 1] = 0
    return found


def spread(blocks, layout):
    """The dense tensor of blocks, in the order of layout.nonzero()."""
    heads, rows, columns = layout.shape
    dense = blocks.new_zeros(len(blocks), heads, rows * BLOCK, columns * BLOCK)
    for n, (h, i, j) in enumerate(layout.nonzero()):
        dense[:, h, i * BLOCK : (i + 1) * BLOCK, j * BLOCK : (j + 1) * BLOCK] = blocks[:, n]
    return dense


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("mode", ["sdd", "dsd", "dds"])
def test_products_of_blocks(mode, trans_a, trans_b):
    found = layout()
    rows, columns, count = 3 * BLOCK, 4 * BLOCK, int(found.sum())
    turned = lambda x, trans: x.transpose(-1, -2) if trans else x  # noqa: E731
    if mode == "sdd":
        a, b = drawn((2, 2, rows, 5), (2, 2, 5, columns))
        a, b = turned(a, trans_a), turned(b, trans_b)
        dense_a, dense_b = a, b
    elif mode == "dsd":
        a, b = drawn((2, count, BLOCK, BLOCK), (2, 2, rows if trans_a else columns, 5))
        b = turned(b, trans_b)
        dense_a, dense_b = spread(a, found), b
    else:
        a, b = drawn((2, 2, 5, columns if trans_b else rows), (2, count, BLOCK, BLOCK))
        a = turned(a, trans_a)
        dense_a, dense_b = a, spread(b, found)
    got = stt.blocksparse.MatMul(found, BLOCK, mode, trans_a=trans_a, trans_b=trans_b)(a, b)
    want = turned(dense_a, trans_a) @ turned(dense_b, trans_b)
    if mode == "sdd":
        kept = found.repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2)
        assert got.shape == (2, count, BLOCK, BLOCK)
        got, want = spread(got, found), want * kept
    same(got, want, (a, b))


def test_softmax_of_blocks():
    found = layout()
    seen = found.repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2) != 0
    rows, columns = seen.shape[-2:]
    x, rpe = drawn((2, int(found.sum()), BLOCK, BLOCK), (2, 2, rows, columns))
    padding = torch.arange(columns) < torch.tensor([[columns], [6]])
    attn = some(rows, columns, density=0.7)
    softmax = stt.blocksparse.Softmax(found, BLOCK)

    def want(bias, hidden):
        scores = spread(x, found) * 0.3 + bias
        there = seen & ~hidden
        y = torch.softmax(torch.where(there, scores, -1e30), -1)
        return torch.where(there & there.any(-1, keepdim=True), y, 0)

    for options, bias, hidden in (
        ({}, 0, torch.zeros(1, dtype=torch.bool)),
        ({"rpe": rpe}, rpe, torch.zeros(1, dtype=torch.bool)),
        (
            dict(key_padding_mask=padding, key_padding_mask_mode="mul", attn_mask=attn, attn_mask_mode="mul", rpe=rpe),
            rpe,
            ~padding[:, None, None] | ~attn,
        ),
        (dict(attn_mask=torch.where(attn, 0.0, -math.inf)), 0, ~attn),
        (dict(key_padding_mask=torch.where(padding, 0.5, 0.1)), torch.where(padding, 0.5, 0.1)[:, None, None], ~seen),
    ):
        inputs = (x, rpe) if options.get("rpe") is not None else (x,)
        same(spread(softmax(x, scale=0.3, **options), found), want(bias, hidden), inputs)


def test_attention_of_triton_and_xformers():
    """As xFormers' BlockSparseAttention goes about it."""
    found = layout(rows=4)
    q, k, v = drawn(*[(2, 2, 4 * BLOCK, 8)] * 3)
    sdd = stt.blocksparse.matmul(found, BLOCK, "sdd", trans_a=False, trans_b=True, device="cpu")
    dsd = stt.blocksparse.matmul(found, BLOCK, "dsd", trans_a=False, trans_b=False, device="cpu")
    softmax = stt.blocksparse.softmax(found, BLOCK, device="cpu")
    seen = found.repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2) != 0
    for causal in (False, True):
        y = dsd(softmax(sdd(q, k), scale=8**-0.5, is_causal=causal), v)
        same(y, masked(q, k, v, seen.tril() if causal else seen), (q, k, v))


def test_errors_of_blocks():
    x = torch.zeros(1, 3, BLOCK, BLOCK)
    for bad, message in (
        (lambda: stt.blocksparse.MatMul(layout(), BLOCK, "ddd"), "mode"),
        (lambda: stt.blocksparse.MatMul(layout()[0], BLOCK, "sdd"), "head by head"),
        (lambda: stt.blocksparse.Softmax(layout(), BLOCK)(x), "tensor of its blocks"),
        (lambda: stt.blocksparse.matmul(layout(), BLOCK, "sdd", trans_c=True), "trans_c"),
    ):
        with pytest.raises(st.Error, match=message):
            bad()


# xFormers


def test_scaled_dot_product_attention():
    q, k, v = drawn((3, L, E), (3, S, E), (3, S, D))
    mask = some(L, S)
    want = masked(q, k, v, mask)
    numbers = drawn((L, S))[0]
    for att_mask in (mask, stt.from_torch(mask), mask.to_sparse_csr(), stt.patterns.from_mask(mask)):
        same(stt.scaled_dot_product_attention(q=q, k=k, v=v, att_mask=att_mask, dropout=None), want, (q, k, v))
    same(stt.scaled_dot_product_attention(q, k, v, None), masked(q, k, v, torch.ones(L, S).bool()), (q, k, v))
    added = torch.where(mask, numbers, -math.inf)
    same(stt.scaled_dot_product_attention(q, k, v, added), masked(q, k, v, mask, numbers), (q, k, v, numbers))
    sparse = stt.from_torch(torch.where(mask, numbers, 0))
    same(stt.scaled_dot_product_attention(q, k, v, sparse), masked(q, k, v, mask, numbers), (q, k, v, numbers))
    drop = torch.nn.Dropout(0.5)
    assert not torch.equal(stt.scaled_dot_product_attention(q, k, v, mask, drop), want)
    torch.testing.assert_close(stt.scaled_dot_product_attention(q, k, v, mask, drop.eval()), want)
    with pytest.raises(st.ArgumentError, match=r"nn\.Dropout"):
        stt.scaled_dot_product_attention(q, k, v, mask, 0.1)


# pytorch_block_sparse


def test_block_sparse_linear():
    torch.manual_seed(0)
    fc = stt.BlockSparseLinear(1024, 256, density=0.1)
    assert fc.weight.shape == (256, 1024) and fc.weight.format == st.Format("BSR(32, 32)")
    assert fc.weight.nse == int(0.1 * 256) * 32 * 32 and isinstance(fc, torch.nn.Linear)
    x = torch.randn(3, 1024, requires_grad=True)
    same_as = torch.nn.functional.linear(x, fc.weight.to_dense().detach(), fc.bias)
    y = fc(x)
    torch.testing.assert_close(y, same_as)
    torch.testing.assert_close(*(torch.autograd.grad(z.square().sum(), x, retain_graph=True)[0] for z in (y, same_as)))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(128, 96), (70, 50)])
def test_block_sparse_linear_from_a_dense_one(bias, shape):
    dense = torch.nn.Linear(*shape, bias=bias, dtype=torch.float64)
    fc = stt.BlockSparseLinear(torch_nn_linear=dense, density=0.5)
    kept = stored(fc.weight.pattern)
    torch.testing.assert_close(fc.weight.to_dense(), torch.where(kept, dense.weight, 0))
    rows, columns = -(-shape[1] // 32), -(-shape[0] // 32)
    norms = [
        (float(dense.weight.detach()[i : i + 32, j : j + 32].norm()), bool(kept[i, j]))
        for i in range(0, 32 * rows, 32)
        for j in range(0, 32 * columns, 32)
    ]
    assert sum(k for _, k in norms) == rows * columns // 2
    assert min(n for n, k in norms if k) >= max(n for n, k in norms if not k)  # the largest stay
    x = torch.randn(2, shape[0], dtype=torch.float64)
    torch.testing.assert_close(fc(x), torch.nn.functional.linear(x, fc.weight.to_dense(), dense.bias))
    with pytest.raises(st.ArgumentError, match="share of the blocks"):
        stt.BlockSparseLinear(64, 64, density=2)


@pytest.mark.parametrize("format", [*FORMATS, "BSR(4, 4) + COO"])
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_softmax(format, dim):
    A = stt.from_torch(torch.where(some(L, S), drawn((L, S))[0].detach(), 0), format)
    if not A.pattern.once:
        return
    A = A.requires_grad_()
    dense = A.to_dense().detach().requires_grad_()
    seen = stored(A.pattern)
    want = torch.softmax(torch.where(seen, dense, -1e30), dim)
    want = torch.where(seen, want, 0)
    got = stt.softmax(A, dim)
    torch.testing.assert_close(got.to_dense(), want)
    got.values().square().sum().backward()
    want.square().sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), torch.where(seen, dense.grad, 0))


def test_softmax_of_hidden_rows():
    A = stt.from_torch(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    hidden = stt.Tensor(torch.tensor([1.0, -math.inf, -math.inf, -math.inf]).requires_grad_(), A.pattern)
    weights = stt.softmax(hidden)
    assert weights.to_dense().tolist() == [[1, 0], [0, 0]]
    weights.to_dense().sum().backward()
    assert hidden.values().grad.tolist() == [0, 0, 0, 0]
