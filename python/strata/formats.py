"""Named formats and builders of formats.

    formats.CSR                 # a Format
    formats.BSR(2, 3)           # a builder
    formats.COO(3)              # COO, CSF and dense take a rank; formats.COO alone is rank 2
    formats.names()             # all of them, with the text each stands for

Names ignore case; names registered with `register_format` are found too.
"""

import operator

from . import _core
from ._core import Format
from .errors import FormatError

__all__ = ["names"]


class Builder:
    """A name that takes arguments. Where it means something without them, it also stands for that format."""

    def __init__(self, name, pattern):
        self.name, self.pattern = name, pattern
        self.__doc__ = f"{name}: {pattern}"

    def __call__(self, *args):
        """The format of these integer arguments. FormatError."""
        if not args:
            return Format(self.name)
        flat = [x for a in args for x in (a if isinstance(a, (tuple, list)) else (a,))]
        return Format(f"{self.name}({', '.join(str(self._number(x)) for x in flat)})")

    def _number(self, x):
        try:
            return int(operator.index(x))
        except TypeError:
            raise FormatError(f"{self.name} takes whole numbers", expected="integers", got=repr(x)) from None

    def __strata_format__(self, rank):
        return Format(self.name, rank)

    def __eq__(self, other):
        if isinstance(other, Format):
            try:
                return Format(self.name, other.rank) == other
            except FormatError:
                return False
        return NotImplemented if not isinstance(other, Builder) else self.name == other.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"<strata.formats.{self.name}: {self.pattern}>"


def names():
    """{name: text or pattern} of every name that a format text may use."""
    return dict(_core.format_names())


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    known = {n.partition("(")[0].lower(): (n, text) for n, text in _core.format_names()}
    entry = known.get(name.lower())
    if entry is None:
        raise AttributeError(
            f"strata.formats has no '{name}'; it has {', '.join(sorted(n for n, _ in known.values()))}"
        )
    n, text = entry
    plain = n.partition("(")[0]
    optional = "(" not in n or "([" in n  # means something without arguments
    if optional and not plain.endswith("d") and not _varies(plain):
        return Format(plain)
    return Builder(plain, text)


def _varies(name):
    """Does the name mean another format for other ranks?"""
    try:
        return Format(name, 3) != Format(name, 2)
    except FormatError:
        return False


def __dir__():
    return sorted({n.partition("(")[0] for n, _ in _core.format_names()} | {"names"})
