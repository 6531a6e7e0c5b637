"""nn.Linear with a sparse weight."""

import math

import torch

from ...errors import ArgumentError
from .._pattern import Pattern
from .._sparsifiers import Random
from .._tensor import Tensor, from_torch
from .._weights import SparseLinear, set_weight


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
        if (density is None) == (pattern is None):
            raise ArgumentError(
                "which weights exist is told once",
                expected="density= or pattern=",
                got="both" if pattern is not None else "neither",
            )
        if pattern is None:
            pattern = Random(density, tuple(block_shape or ()))(self.weight)
        if not isinstance(pattern, Pattern):
            if block_shape and format is None:
                format = f"BSR({block_shape[0]}, {block_shape[1]})"
            pattern = from_torch(pattern.to(torch.float32), format or "CSR").pattern
        if pattern.shape != (out_features, in_features):
            raise ArgumentError(
                "the pattern has another shape than the weight",
                expected=str((out_features, in_features)),
                got=str(tuple(pattern.shape)),
            )
        weight = Tensor(torch.empty(pattern.num_values, device=device, dtype=self.weight.dtype), pattern)
        set_weight(self, "weight", weight)
        self.reset_parameters()

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
        weight = module.weight.detach()
        mask = sparsifier(weight) if sparsifier else weight != 0
        kept = from_torch(torch.where(mask, weight, 0), format)
        made = cls(
            module.in_features, module.out_features, module.bias is not None, dtype=weight.dtype, pattern=kept.pattern
        )
        with torch.no_grad():
            made.weight_values.copy_(kept.values())
            if module.bias is not None:
                made.bias.copy_(module.bias)
        return made

