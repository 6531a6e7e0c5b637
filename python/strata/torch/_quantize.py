"""Sparse weights of 8 bits for inference: whole numbers at the stored elements, and a scale for each row."""

import torch

from ..errors import TensorError
from . import _ops
from ._tensor import Tensor
from ._weights import _PATTERNS, SparseLinear, chooser, set_weight


class QuantizedLinear(SparseLinear, torch.nn.Linear):
    """nn.Linear whose weight is weight_scale[:, None] * weight: `weight` an stt.Tensor of int8, `weight_scale` (out,) a buffer.
    Products are accumulated in the dtype of the input, at least float32. Inputs get gradients, the weight none."""

    def forward(self, x):
        """x @ W.T + bias; x: (..., in_features), the result of its dtype: (..., out_features)."""
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        values, pattern = self._parameters["weight_values"], self.__dict__[_PATTERNS]["weight"]
        y = _ops.mm(values, pattern, wide.reshape(-1, self.in_features), True, True) * self.weight_scale
        y = y.reshape(*x.shape[:-1], self.out_features)
        return (y if self.bias is None else y + self.bias).to(x.dtype)

    def dequantized(self):
        """The weight as an stt.Tensor of the scale's dtype."""
        weight = self.weight
        return Tensor(weight.values() * self.weight_scale[_rows(weight.pattern)], weight.pattern)


def quantize_(model, filter=None):
    """Makes the sparse weights of nn.Linear (of those that `filter` chooses, as in sparsify_) int8 with a scale for each row, in
    place, and returns the model: for inference, in a quarter of the memory of float32 values. The largest element of a row
    becomes 127; elements keep their place, also where they are rounded to 0. TensorError for weights that are not finite."""
    wanted = chooser(filter)
    for path, module in model.named_modules():
        # A subclass may have other uses for its weight than this product, as attention has.
        if not isinstance(module, SparseLinear) or getattr(module, "_dense_class", None) is not torch.nn.Linear:
            continue
        if "weight" in module.__dict__[_PATTERNS] and wanted(f"{path}.weight" if path else "weight", module):
            _quantize(module)
    return model


def _quantize(module):
    if isinstance(module, QuantizedLinear):
        return
    weight = module.weight.detach()
    values, rows = weight.pattern.at_slots(weight.pattern.in_range(weight.values().float())), _rows(weight.pattern)
    if not values.isfinite().all():
        raise TensorError("only finite weights have a scale", expected="finite values", got="infinite ones, or NaN")
    largest = values.new_zeros(weight.shape[0]).scatter_reduce(0, rows, values.abs(), "amax")
    scale = torch.where(largest > 0, largest / 127, 1)
    whole = (values / scale[rows]).round().to(torch.int8)
    module.__class__ = QuantizedLinear
    set_weight(module, "weight", Tensor(whole, weight.pattern))
    module.register_buffer("weight_scale", scale)
    module.requires_grad_(False)


def _rows(pattern):
    """The row of each slot; 0 beyond the edge."""
    return pattern.at_slots(pattern.places()[1] // pattern.shape[1])
