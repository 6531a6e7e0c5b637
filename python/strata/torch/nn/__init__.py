"""Modules that are sparse from the start: `import strata.torch.nn as snn`, in the place of torch.nn's of the same names."""

from ._attention import MultiheadAttention
from ._block_sparse_linear import BlockSparseLinear
from ._convolution import Conv1d, Conv2d, Conv3d
from ._embedding import Embedding
from ._linear import Linear

__all__ = ["BlockSparseLinear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "Linear", "MultiheadAttention"]
