"""How a level stores its coordinates, and what holds of them."""

import enum
import operator
from types import SimpleNamespace

from ..errors import FormatError


class _Names(enum.Enum):
    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}>"

    __str__ = __repr__


class LevelFormat(_Names):
    """How a level stores its coordinates."""

    DENSE = "dense"
    BATCH = "batch"
    COMPRESSED = "compressed"
    SINGLETON = "singleton"
    RANGE = "range"
    DELTA = "delta"
    STRUCTURED = "structured"
    PADDED = "padded"
    BITMAP = "bitmap"


_BUILT_IN = {kind.value for kind in LevelFormat}


class LevelProperty(_Names):
    """What holds of a level's coordinates."""

    UNIQUE = "unique"
    NONUNIQUE = "nonunique"
    ORDERED = "ordered"
    UNORDERED = "unordered"


def _properties(p):
    if isinstance(p, LevelProperty):
        return {p}
    if isinstance(p, (tuple, list)):
        return set().union(*(_properties(x) for x in p))
    return set()


def is_ordered(p):
    """Is a level with this property (or these) ordered?"""
    return LevelProperty.UNORDERED not in _properties(p)


def is_unique(p):
    """Is a level with this property (or these) unique?"""
    return LevelProperty.NONUNIQUE not in _properties(p)


def _argument(kind, x):
    """A property's word, or an integer."""
    if isinstance(x, LevelProperty):
        return x.value
    if not isinstance(x, bool):
        try:
            return str(operator.index(x))
        except TypeError:
            pass
    raise FormatError(f"{kind} does not take {x!r}", expected="a LevelProperty or an int", got=repr(x))


def level_text(value):
    """`compressed(nonunique)` of what stands right of the colon: a LevelFormat or the name of a registered type, or a tuple
    that starts with one."""
    kind, *rest = value if isinstance(value, (tuple, list)) and value else (value,)
    if isinstance(kind, str) and kind not in _BUILT_IN:  # a type of one's own: register_level
        kind = SimpleNamespace(value=kind)
    elif not isinstance(kind, LevelFormat):
        raise FormatError(
            "a level is a LevelFormat, or a tuple that starts with one",
            expected="LevelFormat.DENSE, (LevelFormat.DELTA, 2), ...",
            got=repr(value),
        )
    words = [_argument(kind, y) for x in rest for y in (x if isinstance(x, (tuple, list)) else (x,))]
    return kind.value + (f"({', '.join(words)})" if words else "")


def level_value(level):
    """The LevelFormat, or the tuple, of a `strata` Level: the inverse of level_text."""
    words = []
    if not level.unique:
        words.append(LevelProperty.NONUNIQUE)
    if not level.ordered:
        words.append(LevelProperty.UNORDERED)
    kind = LevelFormat(level.kind) if level.kind in _BUILT_IN else level.kind
    if level.arg:
        return (kind, level.arg, *words)
    return (kind, words[0] if len(words) == 1 else tuple(words)) if words else kind
