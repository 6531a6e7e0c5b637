"""Convolutions with a sparse weight: a product of its matrix, whose columns are the places of the kernel times the channels,
with the patches of the input as columns."""

import functools
import math

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, TensorError
from . import _ops
from ._einsum import alike
from ._matrix import implements, is_sparse, product
from ._unfolded import unfolded


def convolution(rank, input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """Of an input of `rank` extents besides batch and channels. weight: an stt.Tensor, or what stands for one in a graph."""
    if is_sparse(input) or is_sparse(bias):
        return NotImplemented
    return convolve(rank, input, weight.values(), weight.pattern, bias, stride, padding, dilation, groups)


def convolve(rank, x, values, pattern, bias, stride, padding, dilation, groups):
    """The same of a weight's values and pattern."""
    if x.dim() == rank + 1:
        return convolve(rank, x.unsqueeze(0), values, pattern, bias, stride, padding, dilation, groups).squeeze(0)
    given = (p if isinstance(p, (int, str)) else tuple(p) for p in (stride, padding, dilation))
    geometry = _geometry if torch.compiler.is_compiling() else _known_geometry
    how = geometry(rank, x.shape, pattern.shape, groups, *given)
    values, x = alike(values, x)
    columns, extents = _patches(x, pattern.shape[2:], how)
    y = _product(values, pattern, groups, columns)
    if bias is not None:
        y = y + bias.to(y.dtype).unsqueeze(1)
    if len(x) == 1:
        return y.reshape(1, len(y), *extents)
    return y.reshape(len(y), len(x), *extents).movedim(1, 0).contiguous()


def _product(values, pattern, groups, columns):
    """The weight as a matrix times patches. A graph holds the arrays of the weight, so that it serves other patterns too."""
    if torch.compiler.is_compiling():
        layout = _ops.unfolded_layout(pattern.layout, groups)
        return torch.ops.strata.mm_v1(values, list(pattern.index), layout, columns, False, False)
    known = unfolded(pattern, groups)
    return product(known.values(values), known.matrix, columns)


RANKS = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}
for _function, _rank in RANKS.items():
    implements(_function)(functools.partial(convolution, _rank))


def _geometry(rank, x, weight, groups, stride, padding, dilation):
    """((stride, (before, after), dilation) of each dimension). Of shapes and options. TensorError, ArgumentError."""
    _check(x, weight, groups, rank)
    stride, dilation = _each(stride, rank, 1), _each(dilation, rank, 1)
    padding = _padding(padding, weight[2:], stride, dilation)
    for d, (k, step, around) in enumerate(zip(weight[2:], dilation, padding), start=2):
        if x[d] + sum(around) < (k - 1) * step + 1:
            raise TensorError(
                "the kernel is larger than the padded input",
                expected=f"at least {(k - 1) * step + 1} in dimension {d}",
                got=str(x[d] + sum(around)),
            )
    return tuple(zip(stride, padding, dilation))


_known_geometry = functools.lru_cache(maxsize=1024)(_geometry)


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


def _patches(x, kernel, how):
    """(patches, extents): a matrix whose columns are what the kernel sees at each place, and how many places there are in
    each dimension. One copy at most; none for kernels of one element and single images."""
    n, channels, rank = len(x), x.shape[1], len(kernel)
    if any(any(padding) for _, padding, _ in how):
        x = torch.constant_pad_nd(x, [p for _, padding, _ in reversed(how) for p in padding])
    for d, (k, (stride, _, step)) in enumerate(zip(kernel, how), start=2):
        x = x.unfold(d, (k - 1) * step + 1, stride)
        if step > 1:
            x = x[..., ::step]
    extents = x.shape[2 : 2 + rank]
    x = x.permute(*range(2 + rank, 2 + 2 * rank), 1, 0, *range(2, 2 + rank))
    return x.reshape(math.prod(kernel) * channels, n * math.prod(extents)), extents
