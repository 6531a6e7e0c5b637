"""The public headers: the words at their head, then what doxygen finds in them."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
INCLUDE = ROOT / "include" / "strata"


def public():
    """Every header but strata.h, which includes them, and the parser of formats in format_*.h."""
    return [p.name for p in sorted(INCLUDE.glob("*.h")) if p.name != "strata.h" and not p.name.startswith("format_")]


def head(header):
    """The comment at the head of a header, as Markdown: indented lines are code."""
    lines = []
    for line in (INCLUDE / header).read_text().splitlines()[1:]:
        if not line.startswith("//") or line.startswith("///"):
            break
        lines.append(line[3:])
    out, code = [], []
    for line in [*lines, ""]:
        if line.startswith("  "):
            code.append(line[2:])
            continue
        if code:
            out += ["```c++", *code, "```"]
            code = []
        out.append(re.sub(r" \(design [\d.]+\)", "", line).replace("<", "\\<"))
    return "\n".join(out).strip()


#: what is shown of a header: nothing private
_SECTIONS = (
    "briefdescription detaileddescription innernamespace innerclass public-type public-func public-static-func public-attrib "
    "public-static-attrib enum typedef func var"
)


def text(*headers):
    return "\n".join(
        f"## strata/{header}\n\n{head(header)}\n\n```{{doxygenfile}} {header}\n:sections: {_SECTIONS}\n```\n"
        for header in headers
    )
