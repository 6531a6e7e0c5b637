"""Rows of a sparse table, by number: F.embedding and F.embedding_bag. Their cost is that of the rows asked for, and the gradient
lives at the stored elements."""

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, IndexError, Unsupported
from ._matrix import implements, is_sparse


@implements(F.embedding)
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """Dense, of shape (*input.shape, columns)."""
    refuse_max_norm(max_norm)
    if not _serves(input, weight, scale_grad_by_freq):
        return NotImplemented
    index = input.reshape(-1).long()
    return shaped(rows_of(weight.values(), weight.pattern, index), index, input, weight, padding_idx)


def shaped(y, index, input, weight, padding_idx):
    """The rows y of these numbers in the input's shape; that of padding_idx has no gradient."""
    if padding_idx is not None:
        padding = index == padding_row(padding_idx, weight)
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
    refuse_max_norm(max_norm)
    if mode not in ("sum", "mean") or not _serves(input, weight, scale_grad_by_freq):
        return NotImplemented
    index, scale = input.reshape(-1).long(), per_sample_weights
    check_numbers(index, weight.pattern)
    bag, count = bags(input, offsets, mode, per_sample_weights, include_last_offset)
    scale = None if scale is None else scale.reshape(-1)
    if padding_idx is not None:
        kept = index != padding_row(padding_idx, weight)
        index, bag, scale = index[kept], bag[kept], None if scale is None else scale[kept]
    y = _added(weight.values(), weight.pattern, index, bag, count, scale)
    return y / torch.bincount(bag, minlength=count).clamp(min=1)[:, None] if mode == "mean" else y


def bags(input, offsets, mode, per_sample_weights, include_last_offset):
    """(the bag of each number of the input, how many bags there are). ArgumentError."""
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
    if offsets is None:
        return torch.arange(input.shape[0]).repeat_interleave(input.shape[1]), input.shape[0]
    count = len(offsets) - include_last_offset
    return torch.searchsorted(offsets[:count].contiguous(), torch.arange(len(input)), right=True) - 1, count


def refuse_max_norm(max_norm):
    """Unsupported."""
    if max_norm is not None:
        raise Unsupported(
            "max_norm would change the table while it is read",
            expected="max_norm=None",
            got=f"max_norm={max_norm}",
            fix="scale x.values() after the optimizer's step",
        )


def _serves(input, weight, scale_grad_by_freq):
    return is_sparse(weight) and not is_sparse(input) and weight.dim() == 2 and not scale_grad_by_freq


def check_numbers(index, pattern):
    """Are these rows of the table? IndexError."""
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < pattern.shape[0]:
        raise IndexError(
            "a row that the table does not have",
            expected=f"0 to {pattern.shape[0] - 1}",
            got=f"{int(index.min())} to {int(index.max())}",
        )


def padding_row(padding_idx, weight):
    """padding_idx, counted from the front. IndexError."""
    rows = weight.shape[0]
    if not -rows <= padding_idx < rows:
        raise IndexError("padding_idx is a row", expected=f"{-rows} to {rows - 1}", got=str(padding_idx))
    return padding_idx % rows


def rows_of(values, pattern, index):
    """Rows of the table, dense. IndexError."""
    check_numbers(index, pattern)
    return _added(values, pattern, index, torch.arange(len(index)), len(index))


def gradients_of_rows(g, pattern, index):
    """What the values get of a gradient of rows_of(): its adjoint."""
    _, column, slot = _by_row(pattern)
    of, at = _elements_of(pattern, index)
    return g.new_zeros(pattern.num_values).index_add(0, slot[at], g[of, column[at]])


def _added(values, pattern, index, into, count, scale=None):
    """y, dense of `count` rows: row index[k] of the table, times scale[k], is added to y's row into[k]."""
    _, column, slot = _by_row(pattern)
    of, at = _elements_of(pattern, index)
    width = pattern.shape[1]
    found = values.index_select(0, slot[at])
    if scale is not None:
        found = found * scale[of].to(found.dtype)
    return found.new_zeros(count * width).index_add(0, into[of] * width + column[at], found).reshape(count, width)


def _elements_of(pattern, index):
    """(which of the numbers asks for it, where it stands in the order of rows) of each element of these rows."""
    starts = _by_row(pattern)[0]
    first = starts[index]
    many = starts[index + 1] - first
    of = torch.arange(len(index)).repeat_interleave(many)
    return of, torch.arange(len(of)) + (first - many.cumsum(0) + many)[of]


def _by_row(pattern):
    """(where each row starts, the column, the slot) of the elements, row by row."""
    return pattern.derived("rows of an embedding", _elements)


def _elements(pattern):
    slot, flat = pattern.places()
    flat, order = flat.sort()
    starts = torch.searchsorted(flat, torch.arange(pattern.shape[0] + 1) * pattern.shape[1])
    slot = order if slot is None else slot[order]
    return starts, flat % max(pattern.shape[1], 1), slot
