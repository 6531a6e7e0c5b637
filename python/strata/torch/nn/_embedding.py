"""nn.Embedding with a sparse table."""

import torch

from ...errors import Unsupported
from .._weights import Sparse
from ._pattern import kept, start_sparse


class Embedding(Sparse, torch.nn.Embedding):
    """nn.Embedding with a sparse table.

    density : the share of elements that exist, chosen at random; or `pattern`, an stt.Pattern or a boolean mask
        (num_embeddings, embedding_dim).
    block_shape : (r, c): elements exist by blocks.
    format : of the table; CSR, or BSR of these blocks, where none is given.
    Elements start normally distributed, those of the row padding_idx as 0. ArgumentError; Unsupported for max_norm, which would
    change the table while it is read.
    """

    _dense_class = torch.nn.Embedding

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        device=None,
        dtype=None,
        *,
        density=None,
        pattern=None,
        block_shape=None,
        format=None,
    ):
        if max_norm is not None:
            raise Unsupported("a sparse table has no max_norm", expected="max_norm=None", got=f"max_norm={max_norm}")
        super().__init__(
            *(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse),
            device=device,
            dtype=dtype,
        )
        start_sparse(self, density, pattern, block_shape, format)

    def reset_parameters(self):
        """New random elements; those of the row padding_idx are 0."""
        if "weight" in self._parameters:  # nn.Embedding's constructor comes first
            return super().reset_parameters()
        with torch.no_grad():
            self.weight_values.normal_()
            if self.padding_idx is not None:
                slot, flat = self.weight.pattern.places()
                padding = flat // self.embedding_dim == self.padding_idx
                self.weight_values[padding if slot is None else slot[padding]] = 0

    @classmethod
    def from_dense(cls, module, format="CSR", sparsifier=None):
        """Of an nn.Embedding, which stays as it is: the elements that the sparsifier keeps (without one all but zeros)."""
        weight = kept(module.weight, format, sparsifier)
        made = cls(
            *(module.num_embeddings, module.embedding_dim, module.padding_idx, module.max_norm, module.norm_type),
            *(module.scale_grad_by_freq, module.sparse),
            dtype=weight.dtype,
            pattern=weight.pattern,
        )
        with torch.no_grad():
            made.weight_values.copy_(weight.values())
        return made.train(module.training)
