"""Convolutions with a sparse weight: a product of its matrix, whose columns are the places of the kernel times the channels,
with the patches of the input as columns."""

import functools
import math
import re

import torch
import torch.nn.functional as F

import strata as st

from ..errors import ArgumentError, TensorError
from ._einsum import alike
from ._matrix import implements, is_sparse, product
from ._pattern import Pattern, lasting


def _convolution(rank, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    x = input
    if is_sparse(x) or is_sparse(bias):
        return NotImplemented
    if x.dim() == rank + 1:
        return _convolution(rank, x.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0)
    pattern = weight.pattern
    _check(x.shape, pattern.shape, groups, rank)
    out, _, *kernel = pattern.shape
    stride, dilation = _each(stride, rank, 1), _each(dilation, rank, 1)
    values, x = alike(weight.values(), x)
    matrix, gather = _as_matrix(pattern, groups)
    columns, extents = _patches(x, kernel, stride, _padding(padding, kernel, stride, dilation), dilation)
    y = product(gather(values), matrix, columns)
    if bias is not None:
        y = y + bias.to(y.dtype)[:, None]
    return y.reshape(out, len(x), *extents).movedim(1, 0).contiguous()


for _rank, _function in enumerate((F.conv1d, F.conv2d, F.conv3d), start=1):
    implements(_function)(functools.partial(_convolution, _rank))


def _check(x, weight, groups, rank):
    got = f"a weight of {tuple(weight)}, an input of {tuple(x)}"
    if not len(weight) == len(x) == rank + 2:
        raise TensorError(
            f"conv{rank}d takes weights of {rank + 2} dimensions, and inputs of as many or one less",
            expected=f"(batch, channels, {rank} extents)",
            got=got,
        )
    if groups < 1 or weight[0] % groups or x[1] != groups * weight[1]:
        raise TensorError(
            "the channels of a convolution do not fit",
            expected=f"{groups} x {weight[1]} of the input, and outputs that {groups} groups divide",
            got=got,
        )


def _each(numbers, rank, least):
    """One number for each dimension, of one or as many."""
    numbers = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    if len(numbers) not in (1, rank) or min(numbers) < least:
        raise ArgumentError(
            "stride, padding and dilation are one number, or one for each dimension",
            expected=f"1 or {rank}, none below {least}",
            got=str(numbers),
        )
    return numbers * rank if len(numbers) == 1 else numbers


def _padding(padding, kernel, stride, dilation):
    """(before, after) of each dimension."""
    if not isinstance(padding, str):
        return [(p, p) for p in _each(padding, len(kernel), 0)]
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding != "same":
        raise ArgumentError("no padding of this name", expected="'same', 'valid' or numbers", got=repr(padding))
    if max(stride) > 1:
        raise ArgumentError("padding='same' needs a stride of 1", expected="stride=1", got=f"stride={tuple(stride)}")
    missing = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return [(m // 2, m - m // 2) for m in missing]


def _patches(x, kernel, stride, padding, dilation):
    """(patches, extents): a matrix whose columns are what the kernel sees at each place, and how many places there are in
    each dimension. One copy at most; none for kernels of one element and single images."""
    n, channels, rank = len(x), x.shape[1], len(kernel)
    if any(map(any, padding)):
        x = F.pad(x, [p for pair in reversed(padding) for p in pair])
    for d, (k, s, step) in enumerate(zip(kernel, stride, dilation), start=2):
        if x.shape[d] < (k - 1) * step + 1:
            raise TensorError(
                "the kernel is larger than the padded input",
                expected=f"at least {(k - 1) * step + 1} in dimension {d}",
                got=str(x.shape[d]),
            )
        x = x.unfold(d, (k - 1) * step + 1, s)[..., ::step]
    extents = x.shape[2 : 2 + rank]
    x = x.permute(*range(2 + rank, 2 + 2 * rank), 1, 0, *range(2, 2 + rank))
    return x.reshape(math.prod(kernel) * channels, n * math.prod(extents)), extents


def _as_matrix(pattern, groups):
    """(matrix, gather): the pattern with the kernel's dimensions and the channels, of all groups, as columns, and the function
    that brings the values into its order."""
    kept, key = pattern._derived, ("matrix", groups)
    if key not in kept:
        with lasting():
            kept[key] = _new_matrix(pattern, groups)
    return kept[key]


def _new_matrix(pattern, groups):
    out, inputs, *kernel = pattern.shape
    taps = math.prod(kernel)
    slot, flat = pattern.places()
    tap, channel, row = flat % taps, flat // taps % inputs, flat // (taps * inputs)
    channel = channel + row // (out // groups) * inputs
    shape = (out, taps * inputs * groups)
    at, which = torch.unique(row * shape[1] + tap * (inputs * groups) + channel, return_inverse=True)
    numbers = torch.arange(len(at))
    numbered = st.from_coo((at // shape[1], at % shape[1]), numbers + 1, shape, _matrix_format(pattern, groups))
    matrix = Pattern(numbered)
    assert matrix.num_values == len(at)
    if not pattern.once:  # parts of a sum store the same elements; the matrix is CSR, in the order of `at`
        return matrix, lambda v: v.new_zeros(len(at)).index_add(0, which, v if slot is None else v[slot])
    order = torch.empty_like(which).index_copy_(0, which, numbers if slot is None else slot)
    order = order[matrix.values_of(numbered) - 1]
    if len(order) == pattern.num_values and bool((order == numbers).all()):
        return matrix, lambda v: v
    return matrix, lambda v: v.index_select(0, order)


def _matrix_format(pattern, groups):
    """BSR where blocks of (output, input) lie last and fit the channels; otherwise CSR."""
    out, inputs, *_ = pattern.shape
    if pattern.format.num_parts == 1 and pattern.format.num_levels > 2:
        (o, i, *_), last = pattern.format.dims, pattern.format.levels[-2:]
        found = re.fullmatch(rf"{o} % (\d+), {i} % (\d+)", ", ".join(level.expr for level in last))
        if found and all(level.kind == "dense" for level in last):
            r, c = map(int, found.groups())
            if out // groups % r == inputs % c == 0:
                return f"BSR({r}, {c})"
    return "CSR"
