"""torch-blocksparse's operators, and those of triton.ops.blocksparse that xFormers and DeepSpeed built upon: products and a softmax of
blocks, over a layout (heads, rows / block, columns / block). A sparse operand is the tensor of its blocks, (batch, blocks, block,
block), in the order of layout.nonzero().

    from strata.torch.blocksparse import matmul as blocksparse_matmul, softmax as blocksparse_softmax
"""

import torch

from ..errors import ArgumentError, TensorError
from ._attention_function import row_softmax
from ._contract import contract
from ._einsum import alike
from ._sparsity_configs import _as_numbers
from .patterns import from_block_mask

__all__ = ["MatMul", "Softmax", "matmul", "softmax"]


class MatMul:
    """A product with one sparse tensor: mode "sdd" (sparse = dense @ dense), "dsd" (dense = sparse @ dense) or "dds" (dense = dense @
    sparse); trans_a and trans_b transpose an operand first.

        layout = torch.ones(2, 4, 4, dtype=torch.int64).tril()
        q, k = torch.randn(3, 2, 64, 8), torch.randn(3, 2, 64, 8)  # batch, heads, length, features
        scores = stt.blocksparse.MatMul(layout, 16, "sdd", trans_b=True)(q, k)

    layout : 0 and 1, (heads, rows / block, columns / block). Differentiable any number of times. ArgumentError, TensorError."""

    def __init__(self, layout, block, mode, trans_a=False, trans_b=False):
        if mode not in ("sdd", "dsd", "dds"):
            raise ArgumentError("no such mode", expected="'sdd', 'dsd' or 'dds'", got=repr(mode))
        self.block, self.mode, self.trans_a, self.trans_b = block, mode, trans_a, trans_b
        self.blocks = _Blocks(layout, block)

    def __call__(self, a, b):
        """a @ b: dense operands are (batch, heads, rows, columns), or without batch where both are."""
        (left, right), pattern = alike(a, b), self.blocks.pattern
        sides = {"sdd": (False, False), "dsd": (True, False), "dds": (False, True)}[self.mode]
        ik, kj = ("ki" if self.trans_a else "ik"), ("jk" if self.trans_b else "kj")
        batch = max(x.shape[0] if x.dim() == 4 else 1 for x in (a, b))
        found = []
        for n in range(batch):
            pair = [
                self.blocks.values(x, n) if sparse else x[n if len(x) > 1 else 0] if x.dim() == 4 else x
                for x, sparse in zip((left, right), sides)
            ]
            places = [pattern if sparse else None for sparse in sides]
            out = pattern if self.mode == "sdd" else None
            y = contract(f"h{ik},h{kj}->hij", pair, places, out)
            found.append(self.blocks.blocks(y) if out is not None else y)
        return torch.stack(found) if a.dim() == 4 or b.dim() == 4 else found[0]


class Softmax:
    """The softmax of each row of a sparse tensor of blocks, over what is stored.

        layout = torch.ones(2, 4, 4, dtype=torch.int64).tril()
        weights = stt.blocksparse.Softmax(layout, 16)(torch.randn(3, int(layout.sum()), 16, 16), scale=0.125)

    Called with the blocks, (batch, blocks, block, block); scale : of the scores; rpe : added after that, (batch, heads, rows,
    columns) or what broadcasts to it; key_padding_mask : (batch, columns); attn_mask : (rows, columns). Masks of mode "add" are added,
    those of mode "mul" hide a key where they are 0. A row that sees nothing gives zeros."""

    def __init__(self, layout, block):
        self.blocks = _Blocks(layout, block)

    def __call__(
        self,
        x,
        scale=1.0,
        rpe=None,
        key_padding_mask=None,
        attn_mask=None,
        key_padding_mask_mode="add",
        attn_mask_mode="add",
    ):
        pattern, found = self.blocks.pattern, []
        padding = None if key_padding_mask is None else _as_numbers(key_padding_mask, key_padding_mask_mode)
        seen = None if attn_mask is None else _as_numbers(attn_mask, attn_mask_mode)
        for n in range(len(x)):
            values = self.blocks.values(x, n) * scale
            for more in (_of(rpe, n, 4), None if padding is None else padding[n], seen):
                if more is not None:
                    values = values + pattern.gather(more.to(values.dtype).expand(pattern.shape))
            found.append(self.blocks.blocks(row_softmax(values, pattern)))
        return torch.stack(found)


class matmul(MatMul):
    """triton.ops.blocksparse.matmul: MatMul that also takes a device and trans_c (which transposes the result)."""

    def __init__(self, layout, block, mode, device=None, trans_a=False, trans_b=False, trans_c=False):
        super().__init__(layout, block, mode, trans_a, trans_b)
        if trans_c:
            raise ArgumentError(
                "results are not transposed here", got="trans_c=True", fix="swap and transpose operands"
            )


class softmax(Softmax):
    """triton.ops.blocksparse.softmax: called as softmax(layout, block)(blocks, scale=, rel_logits=, is_causal=)."""

    def __init__(self, layout, block, device=None, is_dense=False):
        super().__init__(layout, block)

    def __call__(self, x, scale=1.0, rel_logits=None, is_causal=False):
        *_, rows, columns = self.blocks.pattern.shape
        causal = torch.ones(rows, columns, dtype=torch.bool).tril() if is_causal else None
        return super().__call__(x, scale, rel_logits, None, causal, attn_mask_mode="mul")


class _Blocks:
    """A layout as the pattern of (heads, rows, columns), whose values are the blocks one after another."""

    def __init__(self, layout, block):
        layout = torch.as_tensor(layout).cpu()
        if layout.dim() != 3:
            raise TensorError(
                "a layout is of blocks, head by head", expected="3 dimensions", got=str(tuple(layout.shape))
            )
        self.pattern, self.block = from_block_mask(layout, block), block

    def values(self, x, n):
        count = self.pattern.num_values // self.block**2
        if x.dim() != 4 or x.shape[1:] != (count, self.block, self.block):
            raise TensorError(
                "a sparse operand is the tensor of its blocks",
                expected=f"(batch, {count}, {self.block}, {self.block})",
                got=str(tuple(x.shape)),
            )
        return x[n if len(x) > 1 else 0].reshape(-1)

    def blocks(self, values):
        return values.reshape(-1, self.block, self.block)


def _of(x, n, rank):
    return x if x is None or x.dim() < rank else x[n if len(x) > 1 else 0]
