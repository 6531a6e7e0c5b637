"""What a sparsifier keeps, whatever the caller handed over."""

import inspect

import torch

from ..._core import Format
from ...errors import ArgumentError
from .._pattern import Pattern
from .._sparsifiers import Sparsifier
from .._sparsify import sparsify
from .._tensor import from_torch


def made(sparsifier):
    """A class stands for an instance of it."""
    return sparsifier() if inspect.isclass(sparsifier) else sparsifier


def asks_for_pattern(sparsifier):
    """Has it a method pattern(x, **site)?"""
    return callable(getattr(sparsifier, "pattern", None))


def stored(x, sparsifier, format):
    """stt.sparsify of whatever a schedule takes for a sparsifier; without a format CSR or COO. What is kept is stored, zeros too."""
    if format is None:
        format = Format("CSR") if x.dim() == 2 else Format("COO", x.dim())
    if not isinstance(sparsifier, Sparsifier) and (asks_for_pattern(sparsifier) or not callable(sparsifier)):
        given = sparsifier
        sparsifier = lambda x: mask(given, x)  # noqa: E731
    return sparsify(x, sparsifier, format)


def kept(x, sparsifier, format):
    """The same of a tensor in the middle of a graph: its gradient is that of the masked tensor, also where a format stores more than was
    kept; or what the sparsifier says (straight through, scaled)."""
    if getattr(sparsifier, "grad", "stored") != "stored":
        return stored(x, sparsifier, format)
    return from_torch(torch.where(mask(sparsifier, x.detach()), x, 0), format)


def mask(sparsifier, x):
    """The boolean mask of what a sparsifier keeps of x: a function of x, an object with pattern(x), or a mask. ArgumentError where the
    answer has another shape than x."""
    if isinstance(sparsifier, (torch.Tensor, Pattern)):
        found = sparsifier
    else:
        found = sparsifier.pattern(x) if asks_for_pattern(sparsifier) else sparsifier(x)
    if isinstance(found, Pattern):
        found = found.scatter(torch.ones(found.num_values))
    if found.shape != x.shape:
        raise ArgumentError(
            "a sparsifier answers for every element", expected=str(tuple(x.shape)), got=str(tuple(found.shape))
        )
    return found != 0
