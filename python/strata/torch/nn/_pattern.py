"""Which weights of a module exist, as its constructor is told, or a dense module and a sparsifier."""

import torch

from ...errors import ArgumentError
from .._pattern import Pattern
from .._sparsifiers import Random
from .._sparsify import sparsify
from .._tensor import Tensor, from_torch
from .._weights import set_weight, weight_format


def chosen_pattern(weight, density, pattern, block_shape, format):
    """The Pattern of a weight like this one: random of a density, or the given one (a Pattern or a boolean mask). ArgumentError
    where neither or both are given, and for another shape than the weight's."""
    if (density is None) == (pattern is None):
        raise ArgumentError(
            "which weights exist is told once",
            expected="density= or pattern=",
            got="both" if pattern is not None else "neither",
        )
    if pattern is None:
        pattern = Random(density, tuple(block_shape or ()))(weight)
    if pattern.shape != weight.shape:
        raise ArgumentError(
            "the pattern has another shape than the weight",
            expected=str(tuple(weight.shape)),
            got=str(tuple(pattern.shape)),
        )
    if isinstance(pattern, Pattern):
        return pattern
    if format is None:
        format = f"BSR({block_shape[0]}, {block_shape[1]})" if block_shape else "CSR"
    return from_torch(pattern.to(torch.float32), weight_format(format, weight.dim())).pattern


def start_sparse(module, density, pattern, block_shape, format):
    """The module's dense `weight` becomes a sparse one with new random values. Errors as of chosen_pattern."""
    dense = module.weight
    pattern = chosen_pattern(dense, density, pattern, block_shape, format)
    set_weight(module, "weight", Tensor(dense.new_empty(pattern.num_values), pattern))
    module.reset_parameters()


def kept(weight, format, sparsifier):
    """What a sparsifier keeps of a dense weight (without one all but zeros), without gradients."""
    return sparsify(weight.detach(), sparsifier, weight_format(format, weight.dim()))
