"""Which elements go to which part when converting to a sum: `t.to("BSR(4, 4) + COO", split=st.split.blocks(0.5))`.

A tensor serves as well: what it stores goes to the first part. Without `split=`, a block, diagonal or strip goes to the
first part where it takes no more bytes than in the last part.
"""

from ._calls import tell as _tell
from .errors import ArgumentError

__all__ = ["band", "blocks", "rows"]


class _Split:
    def __init__(self, *parts):
        self._parts = parts

    def __strata_split__(self):
        return self._parts

    def __repr__(self):
        return f"split.{self._parts[0]}({', '.join(map(repr, self._parts[1:]))})"


def _number(kind, value, name):
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{name} is a number", expected="an integer" if kind is int else "a number", got=repr(value)
        ) from None


def rows(k):
    """The first `k` stored elements of each row go to the first part."""
    return _Split("rows", _number(int, k, "k"))


def band(lo, hi):
    """Elements with lo <= j - i <= hi go to the first part."""
    return _Split("band", _number(int, lo, "lo"), _number(int, hi, "hi"))


def blocks(fill=0.5):
    """Blocks that are filled at least so far (0..1) go to the first part."""
    return _Split("blocks", _number(float, fill, "fill"))


_tell(globals())
