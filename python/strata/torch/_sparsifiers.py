"""Which elements of a dense weight stay: a sparsifier is called with the weight and returns a boolean mask of its shape."""

import dataclasses

import torch

from ..errors import ArgumentError


@dataclasses.dataclass(frozen=True)
class KeepAll:
    """Everything but zeros."""

    def __call__(self, weight):
        return weight != 0


@dataclasses.dataclass(frozen=True)
class Magnitude:
    """The share `density` of elements, or of blocks of `block` by their 2-norm, that are largest. A block of two extents is one
    of outputs and inputs, at each place of a convolution's kernel."""

    density: float
    block: tuple = ()

    def __call__(self, weight):
        return _largest(weight.abs(), self.density, self.block)


@dataclasses.dataclass(frozen=True)
class Random:
    """A random share `density` of elements or blocks; the same for the same generator or seed."""

    density: float
    block: tuple = ()
    generator: object = None

    def __call__(self, weight):
        return _largest(torch.rand(weight.shape, generator=self.generator) + 1e-3, self.density, self.block)


@dataclasses.dataclass(frozen=True)
class Threshold:
    """What is larger than `threshold`."""

    threshold: float

    def __call__(self, weight):
        return weight.abs() > self.threshold


@dataclasses.dataclass(frozen=True)
class NM:
    """The n largest of each m that follow one another along the inputs: the last dimension of a matrix, the second of the
    weight of a convolution."""

    n: int
    m: int

    def __call__(self, weight):
        inputs = weight.detach().abs().movedim(min(1, weight.dim() - 1), -1)
        rows = inputs.reshape(-1, inputs.shape[-1])
        padded = torch.nn.functional.pad(rows, (0, -rows.shape[1] % self.m), value=-1)
        groups = padded.reshape(len(rows), -1, self.m)
        kept = torch.zeros_like(groups, dtype=torch.bool)
        kept.scatter_(-1, groups.topk(self.n, dim=-1).indices, True)
        kept = kept.reshape(padded.shape)[:, : rows.shape[1]].reshape(inputs.shape)
        return kept.movedim(-1, min(1, weight.dim() - 1))


def _largest(size, density, block):
    if not 0 <= density <= 1:
        raise ArgumentError("a density is a share of the elements", expected="0 to 1", got=str(density))
    size = size.detach().float()
    if not block:
        kept = torch.zeros(size.numel(), dtype=torch.bool)
        kept[size.reshape(-1).topk(round(density * size.numel())).indices] = True
        return kept.reshape(size.shape)
    if len(block) == 2:  # outputs by inputs, at each place of a convolution's kernel
        block = (*block, *(1,) * (size.dim() - 2))
    if len(block) != size.dim():
        raise ArgumentError(
            "a block has as many extents as the weight", expected=str(size.dim()), got=str(tuple(block))
        )
    pads = [p for extent, b in zip(reversed(size.shape), reversed(block)) for p in (0, -extent % b)]
    padded = torch.nn.functional.pad(size, pads)
    split = [n for extent, b in zip(padded.shape, block) for n in (extent // b, b)]
    inside = tuple(range(1, 2 * size.dim(), 2))
    chosen = _largest(padded.reshape(split).square().sum(inside), density, ())
    for d, b in enumerate(block):
        chosen = chosen.repeat_interleave(b, d)
    return chosen[tuple(slice(e) for e in size.shape)]
