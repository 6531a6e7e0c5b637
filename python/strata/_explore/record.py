"""The page as a file: every listed format with every listed matrix and every expression, answered beforehand."""

import base64
import gzip
import json

from . import answer, matrices, page

#: one that has no meaning, to show what is said then
MISTAKE = "(i, j) -> (i : dense, j : compresed)"


def usual():
    """(formats, matrices) of a file for which nothing is listed."""
    given = [page.offered(name, matrices.preset(name)) for name in matrices.PRESETS if name != "empty"]
    return [page.FIRST, *page.FORMATS, MISTAKE], given


def recorded(formats, given):
    """{format: answer.of_format, with `tensors` by the matrix's name and `codes` by the expression}."""
    out = {}
    for text in formats:
        found = answer.answer({"format": text})["format"]
        if "error" not in found:
            ask = {"format": text}
            found["tensors"] = {m["name"]: answer.answer({**ask, "matrix": m["matrix"]})["tensor"] for m in given}
            found["codes"] = {e: answer.answer({**ask, "expression": e})["code"] for e in answer.EXPRESSIONS}
        out[text] = found
    return out


def file(formats, given):
    """The bytes of the file. given : as page.offered has them, with their elements.

    Pictures and code repeat themselves: compressed they take a tenth, and browsers know gzip."""
    packed = gzip.compress(json.dumps(recorded(formats, given)).encode(), mtime=0)
    return page.whole(page.start(formats, given, base64.b64encode(packed).decode()))[0]
