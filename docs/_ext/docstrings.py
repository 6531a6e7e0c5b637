"""Docstrings are plain text, which help() shows as it is. Here they become reStructuredText:

- an indented paragraph is an example;
- lines `name : what it is`, and those indented below them, are parameters;
- names of errors and of other documented things become links, the rest is escaped.
"""

import re

_PARAMETER = re.compile(r"^(\*{0,2}\w+\*?(?:, \*{0,2}\w+\*?)*) : (?=\S)")
_SECOND = re.compile(r"; (?=\w+ ?: )")
_LITERAL = re.compile(r"(`[^`]+`)")


def _escape(text):
    return re.sub(r"([\\*|_])", r"\\\1", text)


def _prose(text, links):
    """Escaped, with literals and links."""
    out = []
    for piece in _LITERAL.split(text):
        if piece.startswith("`") and len(piece) > 2:
            out.append(f"``{piece[1:-1]}``")
            continue
        at = 0
        for m in links.finditer(piece) if links else ():
            out += [_escape(piece[at : m.start()]), f":py:obj:`~strata.{m[0]}`"]
            at = m.end()
        out.append(_escape(piece[at:]))
    return "".join(out)


def _paragraphs(lines):
    block = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def _parameters(block, links):
    """Parameters of one paragraph as a definition list; several in a line are set off by ';'."""
    entries = []
    for line in block:
        m = _PARAMETER.match(line)
        if m:
            entries.append([m[1], line[m.end() :].strip()])
        else:
            entries[-1][1] += " " + line.strip()
    for names, text in entries:
        first, *others = _SECOND.split(text)
        yield from _definition(names, first, links)
        for other in others:
            name, _, rest = other.partition(":")
            yield from _definition(name.strip(), rest.strip(), links)


def _definition(names, text, links):
    yield ", ".join(f"``{name}``" for name in names.split(", "))
    yield "    " + _prose(text, links)


def to_rst(lines, names):
    """The lines of a docstring as lines of reStructuredText. `names`: what strata exports, to be linked."""
    links = (
        re.compile(r"(?<![\w.`])(" + "|".join(sorted(names, key=len, reverse=True)) + r")(?![\w`])") if names else None
    )
    out = []
    for block in _paragraphs(lines):
        if all(line.startswith("    ") for line in block):
            out += [".. code-block:: python", "", *block, ""]
        elif _PARAMETER.match(block[0]):
            out += [*_parameters(block, links), ""]
        else:
            out += [_prose(line.strip(), links) for line in block] + [""]
    return out


def examples(docstring):
    """The indented paragraphs of a docstring as it stands in `__doc__` (the signature of a bound function is none)."""
    lines = docstring.expandtabs().splitlines()
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    for block in _paragraphs([lines[0].strip()] + [line[margin:] for line in lines[1:]]):
        if all(line.startswith("    ") for line in block):
            yield "\n".join(line[4:] for line in block) + "\n"
