"""The names of the poster 'STen: An Interface for Efficient Sparsity in PyTorch' (Ivanov, Dryden, Hoefler): its code runs with
`import strata.torch.sten as sten`.

A format of an operator's output is four things: the sparsifier that is fused with the operator, the layout in between, the sparsifier
after it, and the layout that is stored. Layouts are classes; sparsifiers name the share that they drop."""

from .._sparsifiers import KeepAll
from ._builder import SparsityBuilder
from ._layouts import (
    CooTensor,
    CscTensor,
    CsrTensor,
    DenseTensor,
    FixedMaskTensor,
    GroupedNMTensor,
    MaskedTensor,
    NMTensor,
    SparseParameterWrapper,
    SparseTensorWrapper,
    register_sparsifier_implementation,
    unregister_sparsifier_implementation,
)
from ._operators import sparsified_op
from ._sparsifiers import (
    BlockwiseFractionSparsifier,
    GroupedNMSparsifier,
    PerBlockNMSparsifier,
    RandomFractionSparsifier,
    SameFormatSparsifier,
    ScalarFractionSparsifier,
    ScalarThresholdSparsifier,
    random_mask_sparsify,
    scalar_mask_sparsify,
)

__all__ = [
    "BlockwiseFractionSparsifier",
    "CooTensor",
    "CscTensor",
    "CsrTensor",
    "DenseTensor",
    "FixedMaskTensor",
    "GroupedNMSparsifier",
    "GroupedNMTensor",
    "KeepAll",
    "MaskedTensor",
    "NMTensor",
    "PerBlockNMSparsifier",
    "RandomFractionSparsifier",
    "SameFormatSparsifier",
    "ScalarFractionSparsifier",
    "ScalarThresholdSparsifier",
    "SparseParameterWrapper",
    "SparseTensorWrapper",
    "SparsityBuilder",
    "random_mask_sparsify",
    "register_sparsifier_implementation",
    "scalar_mask_sparsify",
    "sparsified_op",
    "unregister_sparsifier_implementation",
]
