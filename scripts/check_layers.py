#!/usr/bin/env python3
"""Checks that a folder of src/ includes only folders above it (include/strata/X.h counts as folder X)."""

from __future__ import annotations

import pathlib
import re
import sys

ORDER = [
    "base",
    "backend",
    "ir",
    "format",
    "tensor",
    "expr",
    "compiler",
    "kernels",
    "plan",
    "ops",
    "solve",
    "io",
    "draw",
]
# Public headers that are not named after their folder.
HEADERS = {
    "error": "base",
    "dtype": "base",
    "settings": "base",
    "version": "base",
    "buffer": "backend",
    "static_format": "format",
    "structure": "ops",
    "expression": "expr",
    "semiring": "expr",
    "schedule": "expr",
    "evaluate": "ops",
    "build": "ops",
    "operators": "ops",
    "strata": "draw",
}

root = pathlib.Path(__file__).resolve().parent.parent


def folder_of(include: str) -> str | None:
    """The folder that an #include "..." reaches into; None for one beside the file."""
    parts = pathlib.PurePosixPath(include).parts
    if len(parts) < 2:
        return None
    if parts[0] != "strata":
        return parts[0]
    name = parts[1].removesuffix(".h")
    return HEADERS.get(name, name if name in ORDER else name.split("_")[0])  # format_parse.h is part of format


def check(file: pathlib.Path, folder: str) -> list[str]:
    found = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        target = folder_of(match[1]) if match else None
        if target is None:
            continue
        where = f"{file.relative_to(root)}:{number}"
        if target not in ORDER:
            found.append(
                f"{where}: '{match[1]}' belongs to no folder of src/ (see HEADERS in {pathlib.Path(__file__).name})"
            )
        elif ORDER.index(target) > ORDER.index(folder):
            found.append(f"{where}: {folder} includes '{match[1]}' of {target}, which stands below it")
    return found


def main() -> int:
    found, files = [], 0
    for folder in ORDER:
        for file in sorted((root / "src" / folder).rglob("*")):
            # Programs at the end of the chain (not part of any library) may use everything.
            if file.suffix in {".h", ".cpp"} and "aot_tool" not in file.parts:
                files += 1
                found += check(file, folder)
    for file in sorted((root / "include" / "strata").glob("*.h")):
        folder = folder_of(f"strata/{file.name}")
        if folder in ORDER:
            files += 1
            found += check(file, folder)
    print("\n".join(found) or f"{files} files include only folders above them")
    return bool(found) or files == 0


if __name__ == "__main__":
    sys.exit(main())
