"""Rows of a sparse table, by number: F.embedding and F.embedding_bag. Their cost is that of the rows asked for, and the gradient
lives at the stored elements."""

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, IndexError, Unsupported
from ._matrix import implements, is_sparse


@implements(F.embedding)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Dense, of shape (*input.shape, columns)."""
    if not _serves(input, weight, max_norm, scale_grad_by_freq):
        return NotImplemented
    index = _rows(input, weight)
    values = weight.values()
    y = _added(values, weight.pattern, index, torch.arange(len(index)), len(index))
    if padding_idx is not None:
        padding = index == _padding(padding_idx, weight)
        y = torch.where(padding[:, None], y.detach(), y)
    return y.reshape(*input.shape, weight.shape[1])


@implements(F.embedding_bag)
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums or means of rows, dense; the largest elements on a dense copy."""
    if mode not in ("sum", "mean") or not _serves(input, weight, max_norm, scale_grad_by_freq):
        return NotImplemented
    if input.dim() not in (1, 2) or (input.dim() == 1) != (offsets is not None):
        raise ArgumentError(
            "bags are the rows of a matrix, or begin at offsets of a vector",
            expected="input of two dimensions, or of one and offsets=",
            got=f"shape {tuple(input.shape)} and {'no ' if offsets is None else ''}offsets",
        )
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != input.shape):
        raise ArgumentError(
            "weights of samples are for sums, one for each number of the input",
            expected=f"mode='sum', shape {tuple(input.shape)}",
            got=f"mode={mode!r}, shape {tuple(per_sample_weights.shape)}",
        )
    index, scale = _rows(input, weight), per_sample_weights
    if offsets is None:
        count = input.shape[0]
        bag = torch.arange(count).repeat_interleave(input.shape[1])
    else:
        count = len(offsets) - include_last_offset
        bag = torch.searchsorted(offsets[:count].contiguous(), torch.arange(len(index)), right=True) - 1
    scale = None if scale is None else scale.reshape(-1)
    if padding_idx is not None:
        kept = index != _padding(padding_idx, weight)
        index, bag, scale = index[kept], bag[kept], None if scale is None else scale[kept]
    y = _added(weight.values(), weight.pattern, index, bag, count, scale)
    return y / torch.bincount(bag, minlength=count).clamp(min=1)[:, None] if mode == "mean" else y


def _serves(input, weight, max_norm, scale_grad_by_freq):
    if max_norm is not None:
        raise Unsupported(
            "max_norm would change the table while it is read",
            expected="max_norm=None",
            got=f"max_norm={max_norm}",
            fix="scale x.values() after the optimizer's step",
        )
    return is_sparse(weight) and not is_sparse(input) and weight.dim() == 2 and not scale_grad_by_freq


def _rows(input, weight):
    index = input.reshape(-1).long()
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < weight.shape[0]:
        raise IndexError(
            "a row that the table does not have",
            expected=f"0 to {weight.shape[0] - 1}",
            got=f"{int(index.min())} to {int(index.max())}",
        )
    return index


def _padding(padding_idx, weight):
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise IndexError("padding_idx is a row", expected=f"{-rows} to {rows - 1}", got=str(padding_idx))
    return padding_idx % rows


def _added(values, pattern, index, into, count, scale=None):
    """y, dense of `count` rows: row index[k] of the table, times scale[k], is added to y's row into[k]."""
    starts, column, slot = _by_row(pattern)
    first, width = starts[index], pattern.shape[1]
    many = starts[index + 1] - first
    of = torch.arange(len(index)).repeat_interleave(many)  # the row that asks for each element
    at = torch.arange(len(of)) + (first - many.cumsum(0) + many)[of]
    found = values.index_select(0, slot[at])
    if scale is not None:
        found = found * scale[of].to(found.dtype)
    return found.new_zeros(count * width).index_add(0, into[of] * width + column[at], found).reshape(count, width)


def _by_row(pattern):
    """(where each row starts, the column, the slot) of the elements, row by row."""
    return pattern.derived("rows of an embedding", _elements)


def _elements(pattern):
    slot, flat = pattern.places()
    flat, order = flat.sort()
    starts = torch.searchsorted(flat, torch.arange(pattern.shape[0] + 1) * pattern.shape[1])
    slot = order if slot is None else slot[order]
    return starts, flat % max(pattern.shape[1], 1), slot
