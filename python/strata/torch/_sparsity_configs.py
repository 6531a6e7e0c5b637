"""DeepSpeed's block-sparse attention by its names: configurations that lay out blocks of keys for blocks of queries, and the module
that attends by them. https://www.deepspeed.ai/tutorials/sparse-attention
"""

import math

import torch

from ..errors import ArgumentError
from ._attention import attention
from ._attention_rows import fixed
from ._pattern import Once
from ._sparsifiers import Sparsifier
from .patterns import _some, from_block_mask


class SparsityConfig(Sparsifier, Once):
    """Which blocks of keys the blocks of queries look at. Its layout is what its attributes say; subclasses set them, or write a
    make_layout(seq_len) of their own with setup_layout() and check_and_propagate_first_head_layout().

        class Mine(stt.SparsityConfig):
            num_random_blocks = 2
            num_sliding_window_blocks = 3

        layout = Mine(num_heads=4).make_layout(1024)  # (4, 64, 64): 1 where a block is looked at

    num_heads, block : heads, and the extent of a block.
    different_layout_per_head : a layout for each head (random blocks differ), or the first one's for all.
    Attributes: num_random_blocks, num_sliding_window_blocks, num_global_blocks (leading rows and columns), local_window_blocks
    (windows side by side of so many blocks, the last one repeated), global_block_indices and global_block_end_indices, attention
    ("bidirectional" or "unidirectional": no block looks at a later one), horizontal_global_attention (global blocks look at all),
    generator (of random blocks: a torch.Generator or a seed; None: torch's own).
    A last block that the sequence does not fill is cut, and so are windows and random blocks of sequences of few blocks. Within a block everything is looked at: a causal model needs an attn_mask
    besides, or stt.patterns.intersection with stt.patterns.causal. It is a sparsifier of attention: stt.attention(q, k, v, config).
    """

    num_random_blocks = 0
    num_sliding_window_blocks = 0
    num_global_blocks = 0
    local_window_blocks = ()
    global_block_indices = ()
    global_block_end_indices = None
    attention = "bidirectional"
    horizontal_global_attention = True
    generator = None

    def __init__(self, num_heads, block=16, different_layout_per_head=False):
        if num_heads < 1 or block < 1:
            raise ArgumentError(
                "heads and blocks are counted from 1", expected="positive numbers", got=f"{num_heads} and {block}"
            )
        self.num_heads, self.block, self.different_layout_per_head = num_heads, block, different_layout_per_head
        self.num_layout_heads = num_heads if different_layout_per_head else 1

    def setup_layout(self, seq_len):
        """A layout without blocks, (num_heads, blocks, blocks), int64."""
        blocks = -(-seq_len // self.block)
        return torch.zeros(self.num_heads, blocks, blocks, dtype=torch.int64)

    def check_and_propagate_first_head_layout(self, layout):
        """Where all heads share one, the first head's layout becomes that of all."""
        if not self.different_layout_per_head:
            layout[1:] = layout[0]
        return layout

    def make_layout(self, seq_len):
        """The layout for sequences of this length, (num_heads, blocks, blocks): 1 where a block of queries looks at one of keys."""
        self._check()
        draw = self.generator
        draw = torch.Generator().manual_seed(draw) if isinstance(draw, int) else draw
        layout = self.setup_layout(seq_len)
        for head in range(self.num_layout_heads):
            self._lay_out(head, layout[head], draw)
        return self.check_and_propagate_first_head_layout(layout)

    def pattern(self, x=None, *, q, k, v=None):
        """The Pattern for queries and keys of these lengths: of each head, or one for all. A layout is made once for each length."""
        return self.known("_find_pattern", *fixed(q.shape[-2], k.shape[-2]))

    def _find_pattern(self, queries, keys):
        return layout_pattern(self.make_layout(max(queries, keys)), self, queries, keys)

    def _check(self):
        if self.attention not in ("unidirectional", "bidirectional"):
            raise ArgumentError(
                "no such attention=", expected="'unidirectional' or 'bidirectional'", got=repr(self.attention)
            )
        ends, starts = self.global_block_end_indices, self.global_block_indices
        if ends is not None and (len(ends) != len(starts) or any(a >= b for a, b in zip(starts, ends))):
            raise ArgumentError(
                "global blocks end after they start", expected=f"an end for each of {list(starts)}", got=str(list(ends))
            )

    def _lay_out(self, head, layout, draw):
        """The blocks of one head, layout (blocks, blocks)."""
        blocks = len(layout)
        row, column = torch.arange(blocks)[:, None], torch.arange(blocks)
        if self.num_sliding_window_blocks:
            layout[(row - column).abs() <= self.num_sliding_window_blocks // 2] = 1
        if self.local_window_blocks:
            window = _window_of(blocks, self.local_window_blocks)
            layout[window[:, None] == window] = 1
        for start, end in self._global_blocks(head, blocks):
            layout[:, start:end] = 1
            if self.horizontal_global_attention:
                layout[start:end] = 1
        if self.num_random_blocks and self.attention == "bidirectional":
            layout.scatter_(1, _some(blocks, blocks, min(self.num_random_blocks, blocks), draw), 1)
        elif self.num_random_blocks:
            for row in range(blocks):
                layout[row, _some(1, row + 1, min(self.num_random_blocks, row + 1), draw)[0]] = 1
        if self.attention == "unidirectional":
            layout.tril_()

    def _global_blocks(self, head, blocks):
        """(start, end) of the blocks that all look at."""
        ends = self.global_block_end_indices or [start + 1 for start in self.global_block_indices]
        return [(0, self.num_global_blocks), *zip(self.global_block_indices, ends)]


def layout_pattern(layout, config, queries, keys):
    """The Pattern of a layout: of the first head alone where all are alike."""
    if not config.different_layout_per_head:
        layout = layout[0]
    blocks = -(-queries // config.block), -(-keys // config.block)
    return from_block_mask(layout[..., : blocks[0], : blocks[1]], config.block, (queries, keys))


def _window_of(blocks, sizes):
    """The number of the window that each block is in."""
    sizes = list(sizes)
    while sum(sizes) < blocks:
        sizes.append(sizes[-1])
    return torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))[:blocks]


class DenseSparsityConfig(SparsityConfig):
    """Every block, for comparison.

        stt.DenseSparsityConfig(num_heads=4).make_layout(64)

    Its parameters are those of every configuration."""

    def _lay_out(self, head, layout, draw):
        layout.fill_(1)


class FixedSparsityConfig(SparsityConfig):
    """Windows of blocks side by side, and in each window some blocks that all look at (Child, Gray, Radford, Sutskever, 2019).

        stt.FixedSparsityConfig(num_heads=4, num_local_blocks=4, num_global_blocks=1)

    num_local_blocks, num_global_blocks : of a window, and those of them that stand for it, its last ones; the first number is a
        multiple of the second.
    attention : "bidirectional", or "unidirectional", in which nothing looks at a later block.
    horizontal_global_attention : global blocks look at all blocks, too (bidirectional only).
    num_different_global_patterns : with a layout for each head, heads in turn take the last blocks of a window, those before them,
        and so on; at most num_local_blocks / num_global_blocks.
    """

    def __init__(
        self,
        num_heads,
        block=16,
        different_layout_per_head=False,
        num_local_blocks=4,
        num_global_blocks=1,
        attention="bidirectional",
        horizontal_global_attention=False,
        num_different_global_patterns=1,
    ):
        super().__init__(num_heads, block, different_layout_per_head)
        self.num_local_blocks, self.num_global_blocks = num_local_blocks, num_global_blocks
        self.local_window_blocks, self.attention = (num_local_blocks,), attention
        self.horizontal_global_attention = horizontal_global_attention
        self.num_different_global_patterns = num_different_global_patterns
        self._check()
        _horizontal_is_bidirectional(self)
        if num_local_blocks % num_global_blocks:
            raise ArgumentError(
                "num_global_blocks divides num_local_blocks",
                expected=f"a divisor of {num_local_blocks}",
                got=str(num_global_blocks),
            )
        most = num_local_blocks // num_global_blocks if different_layout_per_head else 1
        if num_different_global_patterns > most:
            raise ArgumentError(
                "there are not so many global patterns",
                expected=f"up to {most}: num_local_blocks / num_global_blocks with different_layout_per_head, otherwise 1",
                got=str(num_different_global_patterns),
            )

    def _global_blocks(self, head, blocks):
        window, each = self.num_local_blocks, self.num_global_blocks
        first = window - (1 + head % self.num_different_global_patterns) * each
        whole = blocks - blocks % window
        starts = list(range(first, whole, window))
        if whole < blocks:  # of a short last window, what would be its representatives, or its last blocks
            starts.append(max(min(whole + first, blocks - each), 0))
        return [(start, start + each) for start in starts]


class VariableSparsityConfig(SparsityConfig):
    """As Fixed, with windows of several sizes, global blocks by number, and random blocks.

        stt.VariableSparsityConfig(num_heads=4, num_random_blocks=1, local_window_blocks=[4, 2], generator=0)

    num_random_blocks : for each block of queries.
    local_window_blocks : the sizes of the windows, the last of which is repeated.
    global_block_indices, global_block_end_indices : blocks that all look at; with ends: from each index up to its end.
    attention, horizontal_global_attention : as in Fixed. generator : of the random blocks.
    """

    def __init__(
        self,
        num_heads,
        block=16,
        different_layout_per_head=False,
        num_random_blocks=0,
        local_window_blocks=(4,),
        global_block_indices=(0,),
        global_block_end_indices=None,
        attention="bidirectional",
        horizontal_global_attention=False,
        generator=None,
    ):
        super().__init__(num_heads, block, different_layout_per_head)
        self.num_random_blocks, self.local_window_blocks = num_random_blocks, local_window_blocks
        self.global_block_indices, self.global_block_end_indices = global_block_indices, global_block_end_indices
        self.attention, self.horizontal_global_attention = attention, horizontal_global_attention
        self.generator = generator
        self._check()
        _horizontal_is_bidirectional(self)


class BigBirdSparsityConfig(SparsityConfig):
    """Random blocks, a sliding window, and global blocks in front (Zaheer et al., 2020).

        stt.BigBirdSparsityConfig(num_heads=4, num_random_blocks=1, generator=0)

    num_random_blocks : for each block of queries; unidirectional: among the blocks so far.
    num_sliding_window_blocks : around each block. num_global_blocks : leading ones, which all look at and which look at all.
    attention, generator : as in Variable.
    """

    def __init__(
        self,
        num_heads,
        block=16,
        different_layout_per_head=False,
        num_random_blocks=1,
        num_sliding_window_blocks=3,
        num_global_blocks=1,
        attention="bidirectional",
        generator=None,
    ):
        super().__init__(num_heads, block, different_layout_per_head)
        self.num_random_blocks, self.num_sliding_window_blocks = num_random_blocks, num_sliding_window_blocks
        self.num_global_blocks, self.attention, self.generator = num_global_blocks, attention, generator
        self._check()


class BSLongformerSparsityConfig(SparsityConfig):
    """A sliding window, and global blocks by number (Longformer: Beltagy, Peters, Cohan, 2020; by blocks).

        stt.BSLongformerSparsityConfig(num_heads=4, global_block_indices=[0, 7])

    num_sliding_window_blocks : around each block.
    global_block_indices, global_block_end_indices : blocks that all look at and that look at all; with ends: up to its end.
    attention : as in Fixed.
    """

    def __init__(
        self,
        num_heads,
        block=16,
        different_layout_per_head=False,
        num_sliding_window_blocks=3,
        global_block_indices=(0,),
        global_block_end_indices=None,
        attention="bidirectional",
    ):
        super().__init__(num_heads, block, different_layout_per_head)
        self.num_sliding_window_blocks, self.attention = num_sliding_window_blocks, attention
        self.global_block_indices, self.global_block_end_indices = global_block_indices, global_block_end_indices
        self._check()


class LocalSlidingWindowSparsityConfig(SparsityConfig):
    """A sliding window alone, the same for all heads.

        stt.LocalSlidingWindowSparsityConfig(num_heads=4, num_sliding_window_blocks=5)

    num_sliding_window_blocks : around each block, of which attention="unidirectional" keeps the earlier half and the block.
    """

    def __init__(self, num_heads, block=16, num_sliding_window_blocks=3, attention="unidirectional"):
        super().__init__(num_heads, block)
        self.num_sliding_window_blocks, self.attention = num_sliding_window_blocks, attention
        self._check()


def _horizontal_is_bidirectional(config):
    if config.horizontal_global_attention and config.attention != "bidirectional":
        raise ArgumentError(
            "horizontal_global_attention is bidirectional",
            expected="attention='bidirectional'",
            got=repr(config.attention),
        )


class SparseSelfAttention(torch.nn.Module, Once):
    """DeepSpeed's module: attention of queries, keys and values, (batch, heads, length, features), by a SparsityConfig.

        attend = stt.SparseSelfAttention(stt.BigBirdSparsityConfig(num_heads=4, generator=0))
        y = attend(*(torch.randn(2, 4, 100, 16) for _ in range(3)))

    sparsity_config : a SparsityConfig; or its class, of which one is made with the options (num_heads=4, block=32, ...), and for the
        heads of the first call where these do not say how many.
    key_padding_mask_mode, attn_mask_mode : "add": a mask's numbers are added to the scores; "mul": where it is 0 a key is hidden.
    max_seq_length : the layout is made for this length, and shorter sequences take its first blocks. It is the buffer
        `master_layout`, so that random blocks are those of a checkpoint.
    """

    def __init__(
        self, sparsity_config, key_padding_mask_mode="add", attn_mask_mode="mul", max_seq_length=2048, **options
    ):
        super().__init__()
        for mode in (key_padding_mask_mode, attn_mask_mode):
            if mode not in ("add", "mul"):
                raise ArgumentError("no such mode of a mask", expected="'add' or 'mul'", got=repr(mode))
        self.sparsity_config = sparsity_config
        self.config_options, self.max_seq_length = options, max_seq_length
        self.key_padding_mask_mode, self.attn_mask_mode = key_padding_mask_mode, attn_mask_mode
        self.register_buffer("master_layout", None)
        if not isinstance(self.sparsity_config, type):
            self.master_layout = self.sparsity_config.make_layout(max_seq_length)
        elif "num_heads" in options:
            self._configure(options.pop("num_heads"))

    def _configure(self, num_heads):
        self.sparsity_config = self.sparsity_config(num_heads=num_heads, **self.config_options)
        if self.master_layout is None:
            self.master_layout = self.sparsity_config.make_layout(self.max_seq_length)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        loaded = state_dict.get(f"{prefix}master_layout")
        if loaded is not None and (self.master_layout is None or self.master_layout.shape != loaded.shape):
            self.master_layout = torch.empty_like(loaded)
        self.forget()
        super()._load_from_state_dict(state_dict, prefix, *args)

    def get_layout(self, L):
        """The layout for sequences of this length, (num_heads, blocks, blocks). ArgumentError above max_seq_length."""
        if L > self.max_seq_length:
            raise ArgumentError(
                "the sequence is longer than the layout",
                expected=f"up to max_seq_length={self.max_seq_length}",
                got=str(L),
            )
        blocks = -(-L // self.sparsity_config.block)
        return self.master_layout[..., :blocks, :blocks].cpu()

    def _find_pattern(self, L):
        return layout_pattern(self.get_layout(L), self.sparsity_config, L, L)

    def forward(self, query, key, value, rpe=None, key_padding_mask=None, attn_mask=None):
        """rpe: added to the scores, (..., length, length); key_padding_mask: (batch, length); attn_mask: (length, length)."""
        if query.dim() != 4 or query.shape[-2] != value.shape[-2]:
            raise ArgumentError(
                "this is attention within one sequence",
                expected="(batch, heads, length, features) of one length",
                got=f"{tuple(query.shape)} and {tuple(value.shape)}",
            )
        if key.shape[-2] != query.shape[-2]:
            key = key.transpose(-2, -1)  # DeepSpeed takes it transposed as well
        if isinstance(self.sparsity_config, type):
            self._configure(query.shape[1])
        bias = _added(rpe, attn_mask, self.attn_mask_mode)
        if key_padding_mask is not None:
            key_padding_mask = _as_numbers(
                key_padding_mask.reshape(len(key_padding_mask), -1), self.key_padding_mask_mode
            )
        return attention(
            query, key, value, self.known("_find_pattern", *fixed(query.shape[-2])), bias, key_padding_mask
        )


def _added(rpe, mask, mode):
    if mask is None:
        return rpe
    mask = _as_numbers(mask, mode)
    return mask if rpe is None else rpe + mask


def _as_numbers(mask, mode):
    if mode == "mul":
        return torch.where(mask != 0, 0.0, -math.inf)
    if mask.dtype == torch.bool:
        raise ArgumentError(
            "truth values cannot be added to scores",
            expected="numbers: 0, and -inf where a key is hidden",
            got="torch.bool",
            fix="mode 'mul', where False hides a key",
        )
    return mask
