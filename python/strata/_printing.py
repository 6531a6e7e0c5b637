"""How a tensor prints itself: what the core prints, within the terminal; of a large one repr() leaves the arrays out."""

import html
import re
import sys

from . import _terminal
from ._core import Tensor

#: from this many stored elements on, repr() tells the facts alone
LARGE = 1000
_ARRAYS = re.compile(r"(pos|crd)\[\d+\] *:|values *:|lvl *:|device *:")

_whole = Tensor.__repr__


def _cut(text):
    """Lines as long as the terminal is wide; in a pipe, a file or a notebook they stay whole."""
    stream = sys.stdout
    if stream is None or not hasattr(stream, "isatty") or stream.closed or not stream.isatty():
        return text
    columns = _terminal.width()
    return "\n".join(_terminal.cut(line, columns) for line in text.split("\n"))


def _facts(t):
    """The lines that tell what the tensor is, without its arrays where those are large."""
    lines = _whole(t).split("\n")
    if t.nse < LARGE:
        return lines
    return [*(line for line in lines[:-1] if not _ARRAYS.match(line)), "arrays   : print(t) shows them", lines[-1]]


def __repr__(self):
    """What it is and its arrays, as the universal sparse tensor prints itself; of a large tensor what it is, in a few lines."""
    return _cut("\n".join(_facts(self)))


def __str__(self):
    """What it is and its arrays (of long ones the first and last 32 items), also of a large tensor."""
    return _cut(_whole(self))


def _repr_html_(self):
    """The same as a table, for notebooks."""
    title, *lines, _ = _facts(self)
    rows = "".join(
        f'<tr><th style="text-align: left">{html.escape(name.strip())}</th>'
        f'<td style="text-align: left"><code>{html.escape(value)}</code></td></tr>'
        for name, _, value in (line.partition(": ") for line in lines)
    )
    return f"<table><caption>{html.escape(title.strip('- '))}</caption>{rows}</table>"


for _f in (__repr__, __str__, _repr_html_):
    setattr(Tensor, _f.__name__, _f)
del _f
