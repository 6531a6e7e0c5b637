"""rearrange: dimensions by name, merged, split and repeated, of dense and sparse tensors alike."""

import math
import re

import torch

from ..errors import ExpressionError, TensorError
from ._tensor import Tensor, from_torch


def rearrange(x, equation, **sizes):
    """The same elements with their dimensions as the right side names them.

        stt.rearrange(x, "bd->bnd", n=4)                     # a new axis, along which x is repeated
        stt.rearrange(x, "b (h d) -> b h d", h=8)            # split and merged, with names between spaces

    x: a dense tensor, an stt.Tensor, which stays sparse, or a tensor of torch's sparse layouts, which becomes one. sizes: of new axes
    and of parts of a split one. Without spaces each letter is an axis. Dense results are views where torch's are. ExpressionError,
    TensorError where sizes do not fit."""
    if not isinstance(x, Tensor) and x.layout != torch.strided:
        x = from_torch(x)
    left, arrow, right = equation.partition("->")
    if not arrow:
        raise ExpressionError("rearrange takes two sides", expected="'bd->bnd'", got=repr(equation))
    left, right = _axes(left, equation), _axes(right, equation)
    if len(left) != x.dim():
        raise TensorError("rearrange names each dimension", expected=f"{x.dim()} axes", got=equation)
    have, want = [a for group in left for a in group], [a for group in right for a in group]
    if len(set(have)) < len(have) or len(set(want)) < len(want) or not set(have) <= set(want):
        raise ExpressionError(
            "rearrange keeps each axis, once", expected=f"all of {' '.join(have)} on the right", got=equation
        )
    extents = _extents(left, x.shape, sizes, equation)
    new = [a for a in want if a not in have]
    for a in new:
        if a not in sizes:
            raise ExpressionError(f"the new axis {a} has no size", expected=f"{a}=...", got=equation)
        extents[a] = sizes[a]
    if unused := set(sizes) - set(have) - set(new):
        raise ExpressionError("a size for no axis", expected=equation, got=", ".join(sorted(unused)))
    if [1] * len(left) != list(map(len, left)):
        x = x.reshape([extents[a] for a in have])
    kept = [a for a in want if a in have]
    if kept != have:
        x = x.permute([have.index(a) for a in kept])
    if new:
        for k, a in enumerate(want):
            if a in new:
                x = x.unsqueeze(k)
        x = torch.broadcast_to(x, [extents[a] for a in want])
    if [1] * len(right) != list(map(len, right)):
        x = x.reshape([math.prod(extents[a] for a in group) for group in right])
    return x


def _axes(side, equation):
    """[[name, ...], ...]: one list for each dimension."""
    side = side.strip()
    if not re.fullmatch(r"[\w\s()]*", side) or not re.fullmatch(r"([^()]|\([^()]*\))*", side):
        raise ExpressionError("rearrange does not read this", expected="'b (h d) -> b h d' or 'bd->bnd'", got=equation)
    if " " not in side and "(" not in side:
        return [[a] for a in side]
    return [g.strip("()").split() if g.startswith("(") else [g] for g in re.findall(r"\([^()]*\)|\w+", side)]


def _extents(left, shape, sizes, equation):
    extents = {}
    for group, extent in zip(left, shape):
        known = math.prod(sizes[a] for a in group if a in sizes)
        open_ones = [a for a in group if a not in sizes]
        if len(open_ones) > 1 or (known and extent % known) or (not open_ones and known != extent):
            raise TensorError(
                f"({' '.join(group)}) does not come to {extent}",
                expected="sizes of all of its axes but one, which divide it",
                got=f"{equation}, {', '.join(f'{a}={n}' for a, n in sizes.items()) or 'no sizes'}",
            )
        extents.update({a: sizes[a] for a in group if a in sizes})
        extents.update({a: extent // known if known else 0 for a in open_ones})
    return extents
