"""Which pairs of queries and keys a place of attention looks at: patterns of masks, of lists of elements, before the diagonal."""

import functools

import torch

import strata as st

from .._pattern import Pattern
from .._tensor import Tensor, from_torch


def pattern_of_mask(pattern):
    """A Pattern, also of a boolean mask, dense or sparse."""
    if isinstance(pattern, Pattern):
        return pattern
    return pattern.pattern if isinstance(pattern, Tensor) else from_torch(pattern.float()).pattern


def pattern_at(shape, flat):
    """The pattern of the elements with these row-major numbers, which ascend: rows of columns, the dimensions before the last dense."""
    *lead, columns = shape
    row = flat // columns
    pos = torch.cat([row.new_zeros(1), torch.bincount(row, minlength=torch.Size(lead).numel()).cumsum(0)])
    dims = [f"d{k}" for k in range(len(shape))]
    levels = [f"{d} : dense" for d in dims[:-1]] + [f"{dims[-1]} : compressed"]
    last = len(lead)
    return Pattern(
        st.Tensor(
            f"({', '.join(dims)}) -> ({', '.join(levels)})",
            tuple(shape),
            pos={last: pos.int()},
            crd={last: (flat % columns).int()},
            values=torch.ones(1).expand(len(flat)),
        )
    )


@functools.lru_cache(maxsize=16)
def causal(pattern):
    """The pairs (row, column) of a pattern whose column is not after the row."""
    rows, columns = pattern.shape[-2:]
    _, flat = pattern.places()
    flat = torch.sort(flat).values
    return pattern_at(pattern.shape, flat[flat % columns <= flat // columns % rows])
