"""The weight of a convolution as a matrix: a row for each output, a column for each place of the kernel and channel of the input."""

import math
import re

import torch

import strata as st

from ._pattern import Pattern


class Unfolded:
    """A weight of more than two dimensions, of which only the pattern is known, as the `matrix` (a Pattern) that acts on patches."""

    def __init__(self, pattern, groups):
        out, inputs, *kernel = pattern.shape
        taps = math.prod(kernel)
        slot, flat = pattern.places()
        tap, channel, row = flat % taps, flat // taps % inputs, flat // (taps * inputs)
        channel = channel + row // (out // groups) * inputs
        shape = extents(pattern.shape, groups)
        at, into = torch.unique(row * shape[1] + tap * (inputs * groups) + channel, return_inverse=True)
        numbers = torch.arange(len(at))
        numbered = st.from_coo((at // shape[1], at % shape[1]), numbers + 1, shape, _matrix_format(pattern, groups))
        self.matrix = Pattern(numbered)
        assert self.matrix.num_values == len(at)
        #: element k of the weight stands in slot `of[k]` (None: the k-th) and goes to slot `into[k]` of the matrix (None: the k-th)
        self.of, self.into = slot, into
        if pattern.once:  # otherwise parts of a sum store the same elements; the matrix is CSR, in the order of `at`
            order = torch.empty_like(into).index_copy_(0, into, numbers if slot is None else slot)
            order = order[self.matrix.values_of(numbered) - 1]
            same = len(order) == pattern.num_values and bool((order == numbers).all())
            self.of, self.into = None if same else order, None

    def values(self, values):
        """Those of the matrix, of those of the weight; differentiable."""
        found = values if self.of is None else values.index_select(0, self.of)
        return found if self.into is None else found.new_zeros(self.matrix.num_values).index_add(0, self.into, found)

    def back(self, values, size):
        """The adjoint of values(): what each of the weight's `size` slots gets of the matrix's."""
        found = values if self.into is None else values.index_select(0, self.into)
        return found if self.of is None else found.new_zeros(size).index_add(0, self.of, found)


def unfolded(pattern, groups):
    """The Unfolded of a pattern, worked out once."""
    return pattern.derived(f"unfolded {groups}", lambda pattern: Unfolded(pattern, groups))


def extents(shape, groups):
    """Of the matrix of a weight of this shape: with the channels of all groups as columns."""
    out, inputs, *kernel = shape
    return out, math.prod(kernel) * inputs * groups


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
