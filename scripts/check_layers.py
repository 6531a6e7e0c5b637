#!/usr/bin/env python3
"""Checks that each folder and sub-folder of src/ includes only what stands above it.

A public header, include/strata/X.h, belongs to folder X: every room of that folder may include it.
"""

from __future__ import annotations

import pathlib
import re
import sys

# From the top: a folder includes only itself and what stands before it. A sub-folder is a room of its own.
ORDER = [
    "base",
    "machine",
    "backend",
    "backend/cpu/jit_library",
    "backend/cpu",
    "backend/cpu/aot",
    "ir",
    "format",
    "levels",
    "tensor",
    "expr",
    "compiler/passes",
    "compiler/emit",
    "compiler",
    "kernels/isa",
    "kernels",
    "kernels/vendor",
    "execute",
    "convert/fast",
    "convert",
    "reference",
    "plan",
    "plan/nest",
    "plan/rewrite",
    "plan/expression",
    "plan/aot_tool",
    "ops",
    "ops/emit_tool",
    "solve",
    "solve/krylov",
    "solve/direct",
    "solve/direct/found",
    "solve/direct/eigen",
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
    "level": "format",
    "structure": "ops",
    "expression": "expr",
    "semiring": "expr",
    "schedule": "expr",
    "evaluate": "plan",
    "evaluate_options": "expr",
    "build": "convert",
    "operators": "ops",
    "strata": "draw",
}

FOLDERS = {room.split("/")[0] for room in ORDER}

root = pathlib.Path(__file__).resolve().parent.parent


def room_of(include: str) -> str | None:
    """The room that an #include "..." reaches into; None for one beside the file."""
    path = pathlib.PurePosixPath(include)
    if len(path.parts) < 2:
        return None
    if path.parts[0] != "strata":
        return str(path.parent)
    name = path.name.removesuffix(".h")
    folder = HEADERS.get(name, name if name in FOLDERS else name.split("_")[0])  # format_parse.h is part of format
    return next((room for room in ORDER if room.split("/")[0] == folder), folder)


def check(file: pathlib.Path, room: str) -> list[str]:
    found = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        target = room_of(match[1]) if match else None
        if target is None:
            continue
        where = f"{file.relative_to(root)}:{number}"
        if target not in ORDER:
            found.append(
                f"{where}: '{match[1]}' belongs to no folder of src/ (see ORDER in {pathlib.Path(__file__).name})"
            )
        elif ORDER.index(target) > ORDER.index(room):
            found.append(f"{where}: {room} includes '{match[1]}' of {target}, which stands below it")
    return found


def main() -> int:
    found, rooms = [], {}
    for file in sorted((root / "src").rglob("*")):
        if file.suffix in {".h", ".cpp"}:
            rooms.setdefault(str(file.parent.relative_to(root / "src")), []).append(file)
    found += [
        f"src/{room} has no place in ORDER of {pathlib.Path(__file__).name}" for room in rooms if room not in ORDER
    ]
    found += [f"ORDER names src/{room}, where no sources are" for room in ORDER if room not in rooms]
    for file in sorted((root / "include" / "strata").glob("*.h")):
        rooms.setdefault(room_of(f"strata/{file.name}"), []).append(file)
    for room in ORDER:
        for file in rooms.get(room, []):
            found += check(file, room)
    files = sum(map(len, rooms.values()))
    print("\n".join(found) or f"{files} files in {len(ORDER)} folders include only what stands above them")
    return bool(found) or files == 0


if __name__ == "__main__":
    sys.exit(main())
