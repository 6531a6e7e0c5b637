"""The Python snippets of attention and block-sparse layers in the proposal's section on prior work (xFormers, pytorch_block_sparse,
DeepSpeed), run with only the import changed. README.md lists what was mended."""

import textwrap
import types

import pytest

torch = pytest.importorskip("torch")
from masked_attention import masked  # noqa: E402

import strata.torch as stt  # noqa: E402

XFORMERS = """
# sparse pattern is specified with a mask
y = scaled_dot_product_attention(
    q=q, k=k, v=v, att_mask=att_mask, dropout=self.attn_drop
)

# block sparse is provided as a library
from triton.ops.blocksparse import matmul as blocksparse_matmul
from triton.ops.blocksparse import softmax as blocksparse_softmax

sparse_att_mat = self.sparse_dot_sdd(q, k)
"""

BLOCK_SPARSE_LINEAR = """
# example of usage
self.fc = BlockSparseLinear(1024, 256, density=0.1)
"""

DEEPSPEED = """
class BigBirdSparsityConfig(SparsityConfig):
    num_random_blocks = ...
    num_sliding_window_blocks = ...

# The configuration is passed to the sparse attention module
sparse_self_attention = SparseSelfAttention(
    sparsity_config = BigBirdSparsityConfig, ...)
"""


def run(snippet, names, *mended):
    for printed, here in mended:
        assert printed in snippet
        snippet = snippet.replace(printed, here)
    exec(textwrap.dedent(snippet), names)
    return names


def operands():
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, 64, 8, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3)]


def equal(got, want, inputs):
    """Results and gradients."""
    torch.testing.assert_close(got, want)
    of_got, of_want = (torch.autograd.grad(y.square().sum(), inputs, retain_graph=True) for y in (got, want))
    torch.testing.assert_close(of_got, of_want)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense mask", "sparse mask"])
def test_xformers(sparse):
    q, k, v = operands()
    layout = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    mask = torch.rand(64, 64, generator=torch.Generator().manual_seed(2)) < 0.2
    self = types.SimpleNamespace(attn_drop=torch.nn.Dropout(0.1).eval())
    self.sparse_dot_sdd = stt.blocksparse.matmul(layout, 16, "sdd", trans_a=False, trans_b=True, device=q.device)
    names = dict(q=q, k=k, v=v, self=self, att_mask=stt.from_torch(mask) if sparse else mask)
    exec("from strata.torch import scaled_dot_product_attention", names)
    found = run(XFORMERS, names, ("triton.ops.blocksparse", "strata.torch.blocksparse"))
    equal(found["y"], masked(q, k, v, mask), (q, k, v))
    scores = q @ k.transpose(-1, -2)
    blocks = [scores[:, h, 16 * i : 16 * i + 16, 16 * j : 16 * j + 16] for h, i, j in layout.nonzero()]
    equal(found["sparse_att_mat"], torch.stack(blocks, 1), (q, k))
    assert found["blocksparse_softmax"](layout, 16)(found["sparse_att_mat"]).shape == found["sparse_att_mat"].shape


def test_pytorch_block_sparse():
    self = torch.nn.Module()
    run(BLOCK_SPARSE_LINEAR, dict(self=self, BlockSparseLinear=stt.BlockSparseLinear))
    weight, x = self.fc.weight, torch.randn(4, 1024, requires_grad=True)
    assert weight.nse == 25 * 32 * 32 and weight.shape == (256, 1024)  # a tenth of 256 blocks
    equal(self.fc(x), torch.nn.functional.linear(x, weight.to_dense().detach(), self.fc.bias), (x,))


def test_deepspeed():
    names = dict(SparsityConfig=stt.SparsityConfig, SparseSelfAttention=stt.SparseSelfAttention)
    found = run(
        DEEPSPEED,
        names,
        ("num_random_blocks = ...", "num_random_blocks = 1"),
        ("num_sliding_window_blocks = ...", "num_sliding_window_blocks = 3"),
        ("BigBirdSparsityConfig, ...)", "BigBirdSparsityConfig, max_seq_length=128)"),
    )
    q, k, v = operands()
    attend = found["sparse_self_attention"]
    y = attend(q, k, v)
    layout = attend.get_layout(64)
    assert type(attend.sparsity_config) is found["BigBirdSparsityConfig"] and layout.shape == (3, 4, 4)
    row, column = torch.arange(4)[:, None], torch.arange(4)
    beside = (row - column).abs() > 1
    assert (layout[0][~beside] == 1).all() and layout[0][beside].sum() <= 4  # the window, and a random block a row
    mask = layout.repeat_interleave(16, 1).repeat_interleave(16, 2) != 0
    equal(y, masked(q, k, v, mask), (q, k, v))
