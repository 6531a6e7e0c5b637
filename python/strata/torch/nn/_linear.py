"""nn.Linear with a sparse weight."""

import math

import torch

from .._weights import SparseLinear
from ._pattern import kept, start_sparse


class Linear(SparseLinear, torch.nn.Linear):
    """nn.Linear with a sparse weight.

    density : the share of weights that exist, chosen at random; or `pattern`, an stt.Pattern or a boolean mask (out, in).
    block_shape : (r, c): weights exist by blocks.
    format : of the weight; CSR, or BSR of these blocks, where none is given.
    Weights start as those of nn.Linear do, with the inputs that a row has on average. ArgumentError.
    """

    _dense_class = torch.nn.Linear

    def __init__(
        self,
        in_features,
        out_features,
        bias=True,
        device=None,
        dtype=None,
        *,
        density=None,
        pattern=None,
        block_shape=None,
        format=None,
    ):
        super().__init__(in_features, out_features, bias, device, dtype)
        start_sparse(self, density, pattern, block_shape, format)

    def reset_parameters(self):
        """New random weights, uniform within 1 / sqrt(inputs of a row)."""
        if "weight" in self._parameters:  # nn.Linear's constructor comes first
            return super().reset_parameters()
        pattern = self.weight.pattern
        inputs = max(pattern.nse / max(self.out_features, 1), 1)
        with torch.no_grad():
            self.weight_values.uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs))
            if self.bias is not None:
                self.bias.uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs))

    @classmethod
    def from_dense(cls, module, format="CSR", sparsifier=None):
        """Of an nn.Linear, which stays as it is: the weights that the sparsifier keeps (without one all but zeros)."""
        weight = kept(module.weight, format, sparsifier)
        made = cls(
            module.in_features, module.out_features, module.bias is not None, dtype=weight.dtype, pattern=weight.pattern
        )
        with torch.no_grad():
            made.weight_values.copy_(weight.values())
            if module.bias is not None:
                made.bias.copy_(module.bias)
        return made
