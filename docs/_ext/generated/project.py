"""The pages that tell of the project itself, as far as they are there."""

import pathlib

DOCS = pathlib.Path(__file__).resolve().parents[2]


def text():
    pages = ["reference/glossary", "decisions", "performance", "notebook/README"]
    there = [page for page in pages if (DOCS / f"{page}.md").exists()]
    return "\n".join([":::{toctree}", ":hidden:", ":caption: The project", "", *there, ":::", ""])
