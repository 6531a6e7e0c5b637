"""TensorFormat: a strata.Format with nvmath's face."""

from .. import _core
from ..errors import FormatError, Unsupported
from ._expressions import Dimension, LevelExpr, _Expression, parse_expression
from ._levels import level_text, level_value


class TensorFormat:
    """A format: dimensions, and an ordered dict from level expression to level.

        TensorFormat([i, j], {i: LevelFormat.DENSE, j: (LevelFormat.DELTA, 2)})

    Strata's core checks it (FormatError). `format` is the `strata.Format`; equality is structural, names do not count.
    """

    def __init__(self, dimensions, levels, *, name=None):
        dimensions = _checked_dimensions(dimensions)
        if not isinstance(levels, dict):
            raise FormatError(
                "levels are an ordered dict from expression to level",
                expected="{i: LevelFormat.DENSE, ...}",
                got=type(levels).__name__,
            )
        names = dict(zip(map(id, dimensions), _names(dimensions)))

        def name_of(d):
            if id(d) not in names:
                raise FormatError(
                    f"the level expressions use a dimension '{d!r}' that is not in the list",
                    expected=str(dimensions),
                    got=repr(d),
                )
            return names[id(d)]

        parts = []
        for e, level in levels.items():
            if not isinstance(e, _Expression):
                raise FormatError(
                    "a level's expression is made of dimensions", expected="a Dimension or LevelExpr", got=repr(e)
                )
            parts.append(f"{e.text(name_of) if isinstance(e, LevelExpr) else name_of(e)} : {level_text(level)}")
        text = f"({', '.join(names.values())}) -> ({', '.join(parts)})"
        self._set(_core.Format(text), dimensions, dict(levels), name)

    def _set(self, f, dimensions, levels, name):
        self.format, self.dimensions, self.levels, self._name = f, dimensions, levels, name

    @classmethod
    def parse(cls, text, *, rank=-1, name=None):
        """A format from a text or name: `TensorFormat.parse("(i, j) -> (j : dense, i : compressed)")`."""
        return cls._of(_core.Format(text, rank), name)

    @classmethod
    def _of(cls, f, name=None):
        self = cls.__new__(cls)
        if f.num_parts != 1:
            raise Unsupported(
                "a sum of parts is no TensorFormat",
                expected="a format of one part",
                got=str(f),
                fix="use strata.Format",
            )
        dimensions = [Dimension(dimension_name=n) for n in f.dims]
        plain = f.rename([f"d{k}" for k in range(f.rank)])  # a user's names may be words of Python
        levels = {parse_expression(level.expr, dimensions): level_value(level) for level in plain.levels}
        self._set(f, dimensions, levels, name)
        return self

    @property
    def name(self):
        """The name that was given, or the well-known one of this structure, or its text."""
        return self._name if self._name is not None else self.format.name or str(self.format)

    num_dimensions = property(lambda self: len(self.dimensions), doc="Number of dimensions.")
    num_levels = property(lambda self: len(self.levels), doc="Number of levels.")
    is_ordered = property(lambda self: self.format.is_ordered, doc="Are all levels ordered?")
    is_unique = property(lambda self: self.format.is_unique, doc="Can no element be stored twice?")

    @property
    def is_identity(self):
        """Are the levels the dimensions, in their order? (So CSR is, and CSC is not.)"""
        return len(self.levels) == len(self.dimensions) and all(e is d for e, d in zip(self.levels, self.dimensions))

    def dim2lvl(self, idx, as_size=False):
        """Level coordinates of dimension coordinates; with `as_size`, level sizes of extents."""
        return tuple(size for _, size in self.format.level_ranges(tuple(idx))) if as_size else self.format.dim2lvl(idx)

    def lvl2dim(self, idx):
        """Dimension coordinates of level coordinates."""
        return self.format.lvl2dim(idx)

    def __strata_format__(self, rank):
        return self.format

    def __eq__(self, other):
        return (
            self.format == other.format
            if isinstance(other, TensorFormat)
            else self.format == other
            if isinstance(other, _core.Format)
            else NotImplemented
        )

    def __hash__(self):
        return hash(self.format)

    def __repr__(self):
        return self.format.blog_string()


def _checked_dimensions(dimensions):
    try:
        dimensions = list(dimensions)
    except TypeError:
        raise FormatError(
            "dimensions are a list of Dimension objects", expected="[i, j]", got=repr(dimensions)
        ) from None
    for d in dimensions:
        if not isinstance(d, Dimension):
            raise FormatError(
                "dimensions are Dimension objects", expected="Dimension(dimension_name=...)", got=type(d).__name__
            )
    if len({id(d) for d in dimensions}) != len(dimensions):
        raise FormatError(
            "a dimension stands twice in the list", expected="distinct Dimension objects", got=str(dimensions)
        )
    return dimensions


def _names(dimensions):
    """The dimensions' own names where a format text can use them, otherwise d0, d1, ..."""
    given = [d.dimension_name for d in dimensions]
    usable = all(isinstance(n, str) and n.isidentifier() and n.isascii() for n in given)
    return given if usable and len(set(given)) == len(given) else [f"d{k}" for k in range(len(dimensions))]
