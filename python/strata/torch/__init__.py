"""Sparse tensors for PyTorch: `import strata.torch as stt`. Needs torch, and links nothing of it.

stt.Tensor is a torch.Tensor over a pattern (a format of any kind, and index arrays) and 1-D stored values, which carry the
gradient. Its gradient is stored at the same elements.
"""

from ..errors import Unsupported
from . import (  # noqa: F401
    _compare,
    _convolution,
    _elements,
    _embedding,
    _indexing,
    _products,
    _reductions,
    _shapes,
    blocksparse,
    nn,
    patterns,
    sten,
)
from ._attention import attention
from ._calibrated import L0, SRSTE, Movement, SparseGPT, Wanda
from ._channels import permute_channels_
from ._explain import Explanation, explain
from ._fallback import DensifiedWarning, densified, strict
from ._gradients import Gradient
from ._layouts import register_sparsifier, unregister_sparsifier
from ._matrix import linear
from ._pattern import Pattern
from ._pieces import scaled_dot_product_attention, sddmm, softmax, sparse_dot_sdd
from ._prune import convert, prune_trained_model
from ._quantize import QuantizedLinear, quantize_
from ._rearrange import rearrange
from ._register import register_format, register_kernel, unregister_kernel
from ._sparsifiers import NM, GroupedNM, KeepAll, Magnitude, Random, SameFormat, Sparsifier, Threshold
from ._sparsify import sparsify
from ._sparsity_configs import (
    BigBirdSparsityConfig,
    BSLongformerSparsityConfig,
    DenseSparsityConfig,
    FixedSparsityConfig,
    LocalSlidingWindowSparsityConfig,
    SparseSelfAttention,
    SparsityConfig,
    VariableSparsityConfig,
)
from ._spmm import spmm
from ._tensor import Tensor, from_strata, from_torch
from ._updates import PatternUpdater, constant_density, cubic_density, linear_density
from ._weights import Sparse, reformat_, set_weight, sparsify_, weights_of
from .nn import BlockSparseLinear

__all__ = [
    "GroupedNM",
    "Gradient",
    "L0",
    "Movement",
    "SRSTE",
    "SameFormat",
    "SparseGPT",
    "Wanda",
    "convert",
    "permute_channels_",
    "prune_trained_model",
    "register_sparsifier",
    "sparsify",
    "sten",
    "unregister_sparsifier",
    "BSLongformerSparsityConfig",
    "BigBirdSparsityConfig",
    "BlockSparseLinear",
    "DenseSparsityConfig",
    "FixedSparsityConfig",
    "LocalSlidingWindowSparsityConfig",
    "SparseSelfAttention",
    "SparsityConfig",
    "VariableSparsityConfig",
    "attention",
    "blocksparse",
    "patterns",
    "scaled_dot_product_attention",
    "sddmm",
    "softmax",
    "sparse_dot_sdd",
    "linear_density",
    "cubic_density",
    "constant_density",
    "PatternUpdater",
    "NM",
    "DensifiedWarning",
    "KeepAll",
    "Magnitude",
    "Pattern",
    "Random",
    "Sparse",
    "Sparsifier",
    "Tensor",
    "Threshold",
    "Unsupported",
    "Explanation",
    "register_format",
    "register_kernel",
    "unregister_kernel",
    "QuantizedLinear",
    "quantize_",
    "densified",
    "explain",
    "from_strata",
    "from_torch",
    "linear",
    "nn",
    "rearrange",
    "reformat_",
    "set_weight",
    "sparsify_",
    "spmm",
    "strict",
    "weights_of",
]
