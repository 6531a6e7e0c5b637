#!/usr/bin/env python3
"""Checks that no two types of src/ and include/ share a name, whatever namespace, class or function they stand in.

A type is a class, struct, union or enum class with its body. What defines nothing new is no second one: declarations
ahead, specialisations, `struct Tensor::Impl`, and what only one branch of an #if has. Plain enums are not looked at:
they and their values are said with their class (Semiring::Kind).
"""

from __future__ import annotations

import collections
import pathlib
import re
import sys

DEFINITION = re.compile(
    r"\b(?:class|struct|union|enum\s+class|enum\s+struct)\s+(?:alignas\s*\([^)]*\)\s*|\[\[.*?\]\]\s*|[A-Z_]{4,}\s+)*"
    r"(?P<name>\w+)(?:\s+final)?\s*(?::(?!:)[^;{}()]*)?\{|^[ \t]*#[ \t]*(?P<directive>if|elif|else|endif)",
    re.MULTILINE,
)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)

root = pathlib.Path(__file__).resolve().parent.parent


def definitions(text: str) -> list[tuple[str, int]]:
    """Name and line of each type that a file defines; of those in several branches of an #if the first."""
    code = NOT_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    found: list[tuple[str, int, tuple]] = []
    branches: list[list[int]] = []  # the #if around a place: which of the file's, and which of its branches
    conditions = 0
    for m in DEFINITION.finditer(code):
        directive = m["directive"]
        if directive == "if":
            conditions += 1
            branches.append([conditions, 0])
        elif directive == "endif":
            branches.pop()
        elif directive:
            branches[-1][1] += 1
        else:
            here = dict(map(tuple, branches))
            if not any(
                name == m["name"] and any(here.get(which, branch) != branch for which, branch in there.items())
                for name, _, there in found
            ):
                found.append((m["name"], code.count("\n", 0, m.start("name")) + 1, here))
    return [(name, line) for name, line, _ in found]


def main() -> int:
    places = collections.defaultdict(list)
    for folder in ("include", "src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in {".h", ".cpp"}:
                for name, line in definitions(file.read_text()):
                    places[name].append(f"{file.relative_to(root)}:{line}")
    found = []
    for name, several in sorted(places.items()):
        if len(several) > 1:
            found.append(f"{name} names {len(several)} types: {', '.join(several)}")
    print("\n".join(found) or f"{len(places)} names of types, each of one")
    return bool(found) or not places


if __name__ == "__main__":
    sys.exit(main())
