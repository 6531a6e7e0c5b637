"""Text that is meant to be read."""

import html
import re

from .errors import ArgumentError

_SECTION = re.compile(r"^--- (.+) ---$", re.MULTILINE)
#: how a notebook colours a section; others stay plain
_LANGUAGES = {"loop IR": "c", "C": "c"}


def check_text(spec, function):
    """Refuses an expression that is no text."""
    if not isinstance(spec, str):
        raise ArgumentError(
            f"{function}() takes an expression as a text",
            expected='"y(i) = A(i,j) * x(j)" or "ij,j->i"',
            got="None" if spec is None else type(spec).__name__,
        )


class Text(str):
    """A str whose repr is the text: so Python's prompt shows it. A notebook shows code in it in colours."""

    __slots__ = ()

    def __new__(cls, text):
        return super().__new__(cls, text.rstrip("\n"))

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        parts = _SECTION.split(str(self))
        out = _plain(parts[0]) if parts[0].strip() else ""
        for name, body in zip(parts[1::2], parts[2::2]):
            out += f"<b>{html.escape(name)}</b>" + _coloured(
                body.strip("\n"), _LANGUAGES.get(name.split(" of part ")[0])
            )
        return out


def _plain(text):
    return f"<pre>{html.escape(text)}</pre>"


def _coloured(code, language):
    """By Pygments, which every notebook has; plain without it."""
    if language is None:
        return _plain(code)
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import get_lexer_by_name
    except ImportError:
        return _plain(code)
    return highlight(code, get_lexer_by_name(language), HtmlFormatter(noclasses=True, nobackground=True))
