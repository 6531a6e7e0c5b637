"""stt.patterns against dense masks that NumPy makes from their definitions."""

import itertools
import math

import numpy as np
import pytest

import strata as st

torch = pytest.importorskip("torch")
import strata.torch as stt  # noqa: E402

P = stt.patterns


def dense(pattern):
    """As a boolean array; columns ascend within rows, and each stands once."""
    tensor = stt.Tensor(torch.ones(pattern.num_values), pattern)
    tensor.strata.validate()
    return tensor.to_dense().numpy() != 0


def equal(pattern, mask):
    assert pattern.shape == mask.shape and np.array_equal(dense(pattern), mask)


def places(*sizes):
    return np.array(list(itertools.product(*map(range, sizes)))).reshape(math.prod(sizes), len(sizes))


@pytest.mark.parametrize(
    "queries,keys,offset", [(6, 6, 0), (5, 8, 0), (8, 5, 0), (5, 8, 3), (6, 6, -2), (4, 0, 0), (0, 4, 0)]
)
def test_causal(queries, keys, offset):
    equal(P.causal(queries, keys, offset), np.tri(queries, keys, offset, dtype=bool))


@pytest.mark.parametrize("sizes", [(11,), (1,), (5, 6), (3, 4, 5), (0,)])
@pytest.mark.parametrize("p", [1.0, 2.0, math.inf])
@pytest.mark.parametrize("distance", [0, 1, 2, 2.5, 20])
def test_local(sizes, p, distance):
    at = places(*sizes)
    apart = np.linalg.norm((at[:, None] - at[None]).astype(float), ord=p, axis=-1) if len(at) else np.zeros((0, 0))
    near = apart < distance
    equal(P.local(*sizes, distance=distance, p=p), near)
    equal(P.local(*sizes, distance=distance, p=p, causal=True), near & np.tri(*near.shape, dtype=bool))


@pytest.mark.parametrize("sizes", [(7,), (4, 5), (2, 3, 4)])
def test_axial(sizes):
    at = places(*sizes)
    equal(P.axial(*sizes), (at[:, None] != at[None]).sum(-1) < 2)


@pytest.mark.parametrize("window,dilation", [(1, 1), (5, 2), (4, 3), (9, 10)])
def test_dilated(window, dilation):
    step = np.arange(30)[None] - np.arange(30)[:, None]
    multiple = step % dilation == 0
    k = step // dilation
    equal(P.dilated(30, window, dilation), multiple & (k >= -(window // 2)) & (k < window - window // 2))
    equal(P.dilated(30, window, dilation, causal=True), multiple & (k <= 0) & (k > -window))


@pytest.mark.parametrize("height,width,window,shift", [(6, 9, 3, 0), (6, 9, 3, 1), (8, 8, 4, 2), (7, 5, 3, 2)])
def test_swin(height, width, window, shift):
    """As the paper has it: the image rolls, is cut into windows, and what does not belong together is told apart."""

    def cut(size):
        rolled = np.roll(np.arange(size), -shift)
        number = np.empty(size, int)
        number[rolled] = np.arange(size) // window
        return number * 2 + (np.arange(size) < shift)  # what rolled over is apart

    if height % window == width % window == 0:
        one, two = cut(height), cut(width)
        number = (one[:, None] * 1000 + two[None]).reshape(-1)
        equal(P.swin(height, width, window, shift), number[:, None] == number[None])
    edges = [[x for x in range(-window, s + window) if x % window == shift % window] for s in (height, width)]
    one, two = (np.searchsorted(edges[d], places(height, width)[:, d], "right") for d in range(2))
    number = one * 1000 + two
    equal(P.swin(height, width, window, shift), number[:, None] == number[None])
    with pytest.raises(st.ArgumentError, match="part of itself"):
        P.swin(6, 6, 3, 3)


def test_random():
    mask = dense(P.random(40, 50, 0.1, generator=3))
    assert (mask.sum(1) == 5).all() and mask.any(0).sum() > 40
    assert P.random(40, 50, 0.1, generator=3) == P.random(40, 50, 0.1, generator=torch.Generator().manual_seed(3))
    assert P.random(40, 50, 0.1, generator=3) != P.random(40, 50, 0.1, generator=4)
    with pytest.raises(st.ArgumentError, match="share"):
        P.random(4, 4, 1.5)


@pytest.mark.parametrize("shape", [(7, 9), (3, 7, 9), (2, 3, 7, 9), (0, 5), (5, 0)])
def test_from_mask(shape):
    mask = torch.rand(shape) < 0.4
    equal(P.from_mask(mask), mask.numpy())
    equal(P.from_mask(stt.from_torch(mask)), mask.numpy())
    if len(shape) == 2:
        assert P.from_mask(mask, "BSR(2, 2)").format == st.Format("BSR(2, 2)")
        assert P.from_mask(mask.to_sparse_coo()) == P.from_mask(mask) == P.from_mask(mask, "CSR")
    with pytest.raises(st.ArgumentError, match="truth values"):
        P.from_mask(mask.float())


@pytest.mark.parametrize("block,shape", [(4, None), (4, (18, 21)), ((5, 3), (23, 16)), (1, (5, 6))])
@pytest.mark.parametrize("heads", [(), (2,)])
def test_from_block_mask(block, shape, heads):
    blocks = torch.rand(*heads, 5, 6) < 0.5
    r, c = block if isinstance(block, tuple) else (block, block)
    whole = blocks.repeat_interleave(r, -2).repeat_interleave(c, -1)
    rows, columns = shape or whole.shape[-2:]
    found = P.from_block_mask(blocks, block, shape)
    equal(found, whole[..., :rows, :columns].numpy())
    if not heads:
        assert found.format == st.Format(f"BSR({r}, {c})")
    assert P.from_block_mask(blocks.long(), block, shape) == found
    with pytest.raises(st.ArgumentError, match="blocks do not fit"):
        P.from_block_mask(blocks, block, (100, 100))


def test_union_and_intersection():
    masks = [torch.rand(3, 8, 9) < 0.5 for _ in range(3)]
    patterns = [P.from_mask(m) for m in masks]
    patterns[1] = stt.from_torch(masks[1].float(), "CSF").pattern
    equal(P.union(*patterns), (masks[0] | masks[1] | masks[2]).numpy())
    equal(P.intersection(*patterns), (masks[0] & masks[1] & masks[2]).numpy())
    with pytest.raises(st.ArgumentError, match="one shape"):
        P.union(P.causal(3), P.causal(4))


@pytest.mark.parametrize("causal", [False, True])
def test_routing(causal):
    """Pairs of one cluster, where clusters are apart; whichever way they were numbered."""
    length, keys = 12, 14
    draw = torch.Generator().manual_seed(0)
    axes = torch.eye(8)[:3] * 10
    of_q, of_k = (torch.randint(3, (2, 2, n), generator=draw) for n in (length, keys))
    q, k = (axes[c] + 0.1 * torch.randn(*c.shape, 8, generator=draw) for c in (of_q, of_k))

    class Known(P.Routing):
        """Starts from one place of each cluster."""

        def assign(self, q, k):
            return tuple((torch.nn.functional.normalize(axes, dim=-1) @ x.transpose(-1, -2)).argmax(-2) for x in (q, k))

    want = (of_q[..., :, None] == of_k[..., None, :]).numpy()
    if causal:
        want = want & np.tri(length, keys, dtype=bool)
    found = Known(causal=causal).pattern(q=q, k=k)
    equal(found, want)
    routed = dense(P.Routing(3, iterations=5, causal=causal, generator=0).pattern(q=q, k=k))
    if not causal:  # an equivalence: queries that share a key share all of them
        flat = routed.reshape(-1, length, keys).astype(int)
        for m in flat:
            m = m[m.any(1)]
            together = (m @ m.T) > 0
            assert (m[together.argmax(1)] == m).all()
    assert (
        dense(P.Routing(3, generator=0).pattern(q=q, k=k)) == dense(P.Routing(3, generator=0).pattern(q=q, k=k))
    ).all()
    y = stt.attention(q, k, k, P.Routing(3, causal=causal, generator=1))
    assert y.shape == q.shape and not y.isnan().any()


def test_long_patterns_stay_small():
    """What is made has the size of what is stored: a dense mask of this length would take 16 GB."""
    pattern = P.local(1 << 17, distance=4)
    assert pattern.nse == 7 * (1 << 17) - 2 * (1 + 2 + 3)
    assert P.dilated(1 << 17, 3, 64).nse < 3 << 17
