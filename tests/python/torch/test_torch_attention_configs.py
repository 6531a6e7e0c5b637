"""DeepSpeed's configurations against layouts drawn by hand from their documentation, and the module against a dense mask."""

import copy
import math

import pytest

import strata as st

torch = pytest.importorskip("torch")
from masked_attention import masked  # noqa: E402

import strata.torch as stt  # noqa: E402


def drawn(layout):
    return [" ".join("".join("x" if x else "." for x in row) for row in rows) for rows in layout.transpose(0, 1)]


def layout_of(config, length, heads=1):
    layout = config.make_layout(length)
    assert layout.dtype == torch.int64 and layout.shape[0] == config.num_heads
    assert config.different_layout_per_head or (layout == layout[0]).all()
    return drawn(layout[:heads])


def test_dense():
    assert layout_of(stt.DenseSparsityConfig(2), 48) == ["xxx"] * 3


def test_fixed():
    config = stt.FixedSparsityConfig(2, 16, num_local_blocks=3)
    assert layout_of(config, 8 * 16) == [
        *("xxx..x.x", "xxx..x.x", "xxx..x.x"),
        *("..xxxx.x", "..xxxx.x", "..xxxx.x"),
        *("..x..xxx", "..x..xxx"),
    ]
    config = stt.FixedSparsityConfig(2, 16, num_local_blocks=3, attention="unidirectional")
    assert layout_of(config, 8 * 16) == [
        *("x.......", "xx......", "xxx....."),
        *("..xx....", "..xxx...", "..xxxx.."),
        *("..x..xx.", "..x..xxx"),
    ]
    config = stt.FixedSparsityConfig(2, 16, num_local_blocks=3, horizontal_global_attention=True)
    assert layout_of(config, 6 * 16) == ["xxx..x", "xxx..x", "xxxxxx", "..xxxx", "..xxxx", "xxxxxx"]
    config = stt.FixedSparsityConfig(4, 16, True, 4, 2, num_different_global_patterns=2)
    assert layout_of(config, 8 * 16, 2)[:5:4] == ["xxxx..xx xxxxxx..", "..xxxxxx xx..xxxx"]
    layout = config.make_layout(128)
    assert (layout[0] == layout[2]).all() and (layout[1] == layout[3]).all() and (layout[0] != layout[1]).any()
    for options, message in (
        (dict(num_local_blocks=4, num_global_blocks=3), "divides"),
        (dict(attention="sideways"), "attention="),
        (dict(attention="unidirectional", horizontal_global_attention=True), "bidirectional"),
        (dict(num_different_global_patterns=2), "so many"),
        (dict(different_layout_per_head=True, num_different_global_patterns=5), "up to 4"),
    ):
        with pytest.raises(st.ArgumentError, match=message):
            stt.FixedSparsityConfig(4, **options)


def test_variable():
    config = stt.VariableSparsityConfig(2, 16, local_window_blocks=[1, 2], global_block_indices=[0, 4])
    assert layout_of(config, 6 * 16) == ["x...x.", "xxx.x.", "xxx.x.", "x..xx.", "x..xx.", "x...xx"]
    config = stt.VariableSparsityConfig(
        2,
        16,
        local_window_blocks=[2],
        global_block_indices=[1],
        global_block_end_indices=[3],
        horizontal_global_attention=True,
    )
    assert layout_of(config, 4 * 16) == ["xxx.", "xxxx", "xxxx", ".xxx"]
    config = stt.VariableSparsityConfig(2, 16, local_window_blocks=[2], attention="unidirectional")
    assert layout_of(config, 4 * 16) == ["x...", "xx..", "x.x.", "x.xx"]
    config = stt.VariableSparsityConfig(2, 16, True, 2, [1], [], generator=0)
    layout = config.make_layout(20 * 16)
    assert set(layout.sum(-1).unique().tolist()) <= {2, 3} and (layout[0] != layout[1]).any()
    for ends in ([1, 2], [0]):
        with pytest.raises(st.ArgumentError, match="global blocks end"):
            stt.VariableSparsityConfig(2, global_block_end_indices=ends)


def test_big_bird():
    config = stt.BigBirdSparsityConfig(2, 16, num_random_blocks=0)
    assert layout_of(config, 6 * 16) == ["xxxxxx", "xxx...", "xxxx..", "x.xxx.", "x..xxx", "x...xx"]
    config = stt.BigBirdSparsityConfig(2, 16, False, 0, 1, 2, "unidirectional")
    assert layout_of(config, 4 * 16) == ["x...", "xx..", "xxx.", "xx.x"]
    for attention in ("bidirectional", "unidirectional"):
        config = stt.BigBirdSparsityConfig(3, 16, True, 3, 1, 0, attention, generator=5)
        layout = config.make_layout(30 * 16)
        assert (layout != layout[0]).any()
        if attention == "unidirectional":
            assert (layout.triu(1) == 0).all()
            assert (layout.sum(-1) <= torch.arange(1, 31)).all() and (layout[:, 4:].sum(-1) >= 3).all()
        else:
            assert set(layout.sum(-1).unique().tolist()) == {3, 4} and layout.sum() > 3 * 100
        assert torch.equal(layout, config.make_layout(30 * 16))  # of one seed


def test_random_blocks_by_a_generator():
    make = lambda generator: stt.BigBirdSparsityConfig(2, generator=generator).make_layout(1000)  # noqa: E731
    assert torch.equal(make(3), make(torch.Generator().manual_seed(3))) and not torch.equal(make(3), make(4))
    draw = torch.Generator().manual_seed(3)
    assert not torch.equal(make(draw), make(draw))
    torch.manual_seed(7)
    first = make(None)
    torch.manual_seed(7)
    assert torch.equal(first, make(None))


def test_longformer():
    config = stt.BSLongformerSparsityConfig(2, 16, global_block_indices=[2, 9])
    assert layout_of(config, 5 * 16) == ["xxx..", "xxx..", "xxxxx", "..xxx", "..xxx"]
    config = stt.BSLongformerSparsityConfig(2, 16, False, 1, [1], [3], "unidirectional")
    assert layout_of(config, 5 * 16) == ["x....", "xx...", "xxx..", ".xxx.", ".xx.x"]


def test_local_sliding_window():
    assert layout_of(stt.LocalSlidingWindowSparsityConfig(2), 4 * 16) == ["x...", "xx..", ".xx.", "..xx"]
    config = stt.LocalSlidingWindowSparsityConfig(2, 16, 5, "bidirectional")
    assert layout_of(config, 5 * 16) == ["xxx..", "xxxx.", "xxxxx", ".xxxx", "..xxx"]


def test_any_length():
    config = stt.LocalSlidingWindowSparsityConfig(2)
    assert config.make_layout(33).shape == (2, 3, 3) and config.make_layout(0).shape == (2, 0, 0)
    q, k, v = (torch.randn(1, 2, 37, 8) for _ in range(3))
    pattern = config.pattern(q=q, k=k)
    assert pattern.shape == (37, 37) and pattern is config.pattern(q=q, k=k)
    assert pattern.nse == 16 * 16 + 16 * 32 + 5 * 21


class Diagonal(stt.SparsityConfig):
    """As users write one for DeepSpeed."""

    def __init__(self, num_heads, block=16, different_layout_per_head=False):
        super().__init__(num_heads, block, different_layout_per_head)

    def make_layout(self, seq_len):
        layout = self.setup_layout(seq_len)
        for h in range(self.num_layout_heads):
            layout[h].fill_diagonal_(1)
        return self.check_and_propagate_first_head_layout(layout)


class Named(stt.SparsityConfig):
    """By attributes alone."""

    num_sliding_window_blocks = 1
    global_block_indices = [1]


def test_of_ones_own():
    assert layout_of(Diagonal(3), 40) == ["x..", ".x.", "..x"]
    assert layout_of(Named(3), 64) == ["xx..", "xxxx", ".xx.", ".x.x"]


def operands(heads=2, length=70):
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(2, heads, length, 4, generator=draw, dtype=torch.float64).requires_grad_() for _ in range(3)]


def seen(layout, block, length):
    return (layout != 0).repeat_interleave(block, 1).repeat_interleave(block, 2)[:, :length, :length]


CONFIGS = [
    stt.DenseSparsityConfig(2, 8),
    stt.FixedSparsityConfig(2, 8, True, num_different_global_patterns=2),
    stt.VariableSparsityConfig(2, 8, num_random_blocks=1, local_window_blocks=[1, 3], generator=0),
    stt.BigBirdSparsityConfig(2, 8, True, generator=0),
    stt.BSLongformerSparsityConfig(2, 8, attention="unidirectional"),
    stt.LocalSlidingWindowSparsityConfig(2, 8),
    Diagonal(2, 8),
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_the_module(config):
    attend = stt.SparseSelfAttention(config, max_seq_length=80)
    q, k, v = operands()
    mask = seen(attend.master_layout, 8, 70)
    with stt.strict():
        got = attend(q, k, v)
    want = masked(q, k, v, mask)
    torch.testing.assert_close(got, want)
    g = torch.randn_like(want)
    torch.testing.assert_close(torch.autograd.grad(got, (q, k, v), g), torch.autograd.grad(want, (q, k, v), g))
    torch.testing.assert_close(attend(q, k.transpose(-1, -2), v), want)
    short = [x[:, :, :30] for x in (q, k, v)]  # takes the first blocks of the layout
    torch.testing.assert_close(attend(*short), masked(*short, mask[:, :30, :30]))
    assert attend.get_layout(30).shape[-2:] == (4, 4)
    torch.testing.assert_close(stt.attention(q, k, v, config), masked(q, k, v, seen(config.make_layout(70), 8, 70)))


def test_masks_of_the_module():
    config = stt.BigBirdSparsityConfig(2, 8, generator=0)
    q, k, v = operands()
    padding = torch.arange(70) < torch.tensor([[70], [41]])
    causal = torch.ones(70, 70).tril()
    draw = torch.Generator().manual_seed(1)
    rpe = torch.randn(2, 2, 70, 70, generator=draw, dtype=torch.float64)
    numbers = torch.randn(2, 70, generator=draw, dtype=torch.float64)
    for mode, given, hidden, added in (
        ("mul", padding, ~padding, 0),
        ("mul", padding.double()[:, None, None], ~padding, 0),
        ("add", torch.where(padding, 0.0, -math.inf), ~padding, 0),
        ("add", numbers, None, numbers[:, None, None]),
    ):
        attend = stt.SparseSelfAttention(config, mode, max_seq_length=80)
        mask = seen(attend.master_layout, 8, 70)
        got = attend(q, k, v, rpe=rpe, key_padding_mask=given, attn_mask=causal)
        torch.testing.assert_close(got, masked(q, k, v, mask & (causal != 0), rpe + added, hidden))
    attend = stt.SparseSelfAttention(config, attn_mask_mode="add", max_seq_length=80)
    torch.testing.assert_close(attend(q, k, v, attn_mask=rpe[0, 0]), masked(q, k, v, mask, rpe[0, 0]))
    with pytest.raises(st.ArgumentError, match="truth values"):
        attend(q, k, v, attn_mask=causal.bool())
    with pytest.raises(st.ArgumentError, match="mode"):
        stt.SparseSelfAttention(config, "times")
    with pytest.raises(st.ArgumentError, match="max_seq_length=64"):
        stt.SparseSelfAttention(config, max_seq_length=64)(q, k, v)
    with pytest.raises(st.ArgumentError, match="one sequence"):
        attend(q[0], k, v)


def test_a_class_instead_of_a_configuration():
    q, k, v = operands()
    for attend in (
        stt.SparseSelfAttention(stt.BigBirdSparsityConfig, block=8, generator=0, max_seq_length=80),
        stt.SparseSelfAttention(sparsity_config=stt.BigBirdSparsityConfig, num_heads=2, block=8, generator=0),
        stt.SparseSelfAttention(Diagonal, block=8),
    ):
        y = attend(q, k, v)
        assert attend.sparsity_config.num_heads == 2
        torch.testing.assert_close(y, masked(q, k, v, seen(attend.master_layout, 8, 70)))
    assert stt.attention(q, k, v, stt.BigBirdSparsityConfig).shape == v.shape


def test_random_blocks_stay_with_a_checkpoint():
    q, k, v = operands()
    make = lambda: stt.SparseSelfAttention(stt.BigBirdSparsityConfig(2, 8), max_seq_length=80)  # noqa: E731
    one, two, three = make(), make(), stt.SparseSelfAttention(stt.BigBirdSparsityConfig, block=8, max_seq_length=80)
    assert not torch.equal(one(q, k, v), two(q, k, v))
    two.load_state_dict(one.state_dict())
    three.load_state_dict(one.state_dict())
    for again in (two, three, copy.deepcopy(one)):
        torch.testing.assert_close(again(q, k, v), one(q, k, v))
