"""One HTML file out of page.html, page.css and page.js, with what it starts with as JSON. It fetches nothing from elsewhere."""

import base64
import hashlib
import json
import os

from .. import __version__
from . import answer, matrices

#: text: what it is good for. Names and texts, to show that both may be typed
FORMATS = {
    "CSR": "rows, compressed",
    "CSC": "columns, compressed",
    "COO": "coordinates",
    "DCSR": "only rows that have something",
    "(i, j) -> (i : dense, j : delta(2))": "distances of 2 bits instead of columns",
    "bitmap": "one bit an element",
    "BSR(2, 2)": "blocks",
    "DIAI": "diagonals",
    "ELL": "rows of one length",
    "structured(2, 4)": "2 of each 4",
    "TiledCSR(4, 4)": "CSR in tiles",
    "BSR(2, 2) + COO": "a sum: full blocks, and the rest",
    "dense": "everything",
}
#: the text that the page begins with: the language, not a name
FIRST = "(i, j) -> (i : dense, j : compressed)"

_TITLES = {
    "example": "a bit of everything, 6 x 8",
    "blog": "the matrix of the blog on the universal sparse tensor, 3 x 8",
    "random": "a quarter of the elements",
    "banded": "three diagonals",
    "blocks": "blocks of 2 x 2, and one element",
    "power law": "rows of very different lengths",
    "2:4": "two of each four in a row",
    "empty": "nothing",
}


def offered(name, matrix=None):
    """A matrix as a button of the page: with its elements, or (a preset) to be asked for."""
    return {"name": name, "title": _TITLES.get(name, name), "matrix": matrix}


def start(formats=(), given=(), recorded=None):
    """What the page starts with. formats: texts to offer; given: matrices to offer, as `offered` has them, the presets behind
    them unless the answers are recorded."""
    taken = {m["name"] for m in given}
    offers = [*given, *(offered(name) for name in matrices.PRESETS if name not in taken and not recorded)]
    return {
        "version": __version__,
        "largest": matrices.LARGEST,
        "dtypes": list(matrices.DTYPES),
        "expressions": {text: title for text, (title, _) in answer.EXPRESSIONS.items()},
        "formats": [{"text": text, "title": FORMATS.get(text, "")} for text in formats or FORMATS],
        "matrices": offers,
        "format": formats[0] if formats else FIRST,
        "matrix": offers[0]["matrix"] or matrices.preset(offers[0]["name"]),
        "recorded": recorded,
    }


def _read(name):
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as f:
        return f.read()


def whole(start):
    """The page's bytes, and its Content-Security-Policy: its own script, styles (pictures bring theirs), and answers from where
    it came from; nothing else."""
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'"
    )
    data = json.dumps(start).replace("<", "\\u003c")  # or it could end the element that it stands in
    parts = {"{{policy}}": policy, "{{style}}": _read("page.css"), "{{start}}": data, "{{script}}": script}
    text = _read("page.html")
    for mark, part in parts.items():
        assert text.count(mark) == 1
    head, *rest = _split(text, parts)
    return (head + "".join(parts[mark] + after for mark, after in rest)).encode(), policy


def _split(text, marks):
    """The text before the first mark, then each mark with what follows it; what is filled in is not looked at."""
    at = sorted((text.index(mark), mark) for mark in marks)
    ends = [position for position, _ in at[1:]] + [len(text)]
    return [text[: at[0][0]], *((m, text[p + len(m) : end]) for (p, m), end in zip(at, ends))]
