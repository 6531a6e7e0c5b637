"""pytorch_block_sparse's layer by its name."""

import torch

from ...errors import ArgumentError
from .._sparsifiers import Magnitude
from ._linear import Linear


class BlockSparseLinear(Linear):
    """pytorch_block_sparse's drop-in for nn.Linear: a weight of which a share `density` of blocks of 32 x 32 exists, in BSR.

        fc = stt.BlockSparseLinear(1024, 256, density=0.1)

    density : so many blocks, rounded down, at random; with torch_nn_linear= the layer is made from an nn.Linear, whose largest blocks
        stay. Features that 32 does not divide end in a smaller block. ArgumentError.
    """

    BLOCK_SIZE = 32

    def __init__(
        self, in_features=None, out_features=None, bias=True, density=0.5, torch_nn_linear=None, verbose=False
    ):
        if not 0 <= density <= 1:
            raise ArgumentError("a density is a share of the blocks", expected="0 to 1", got=str(density))
        dense, block = torch_nn_linear, (self.BLOCK_SIZE,) * 2
        if dense is not None:
            in_features, out_features, bias = dense.in_features, dense.out_features, dense.bias is not None
        blocks = -(-in_features // block[0]) * -(-out_features // block[1])
        density = int(density * blocks) / max(blocks, 1)
        if dense is None:
            return super().__init__(in_features, out_features, bias, density=density, block_shape=block)
        mask = Magnitude(density, block)(dense.weight)
        super().__init__(in_features, out_features, bias, dtype=dense.weight.dtype, pattern=mask, block_shape=block)
        with torch.no_grad():
            self.weight_values.copy_(self.weight.pattern.gather(dense.weight))
            if bias:
                self.bias.copy_(dense.bias)
