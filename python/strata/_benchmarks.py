"""`strata bench` runs the benchmarks of a checkout: they are no part of the package."""

import importlib.metadata
import json
import pathlib
import sys
import urllib.parse
import urllib.request

from .errors import FileError


def checkout():
    """The checkout of Strata around the current folder, or the one that this package is from; None where there is neither."""
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents, pathlib.Path(__file__).resolve().parents[2], _installed_from()):
        if folder and (folder / "benchmarks" / "strata_bench" / "__init__.py").is_file():
            return folder
    return None


def _installed_from():
    """The folder that pip says it installed this package from, if it was a folder (PEP 610)."""
    try:
        text = importlib.metadata.distribution("strata").read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    url = urllib.parse.urlsplit(json.loads(text)["url"] if text else "")
    return pathlib.Path(urllib.request.url2pathname(url.path)) if url.scheme == "file" else None


def main(argv):
    found = checkout()
    if found is None:
        raise FileError(
            "strata bench is in the sources of Strata, not in the package",
            expected="a checkout of Strata, as the current folder or above it",
            got=str(pathlib.Path.cwd()),
            fix="clone Strata's repository, and run strata bench in its folder",
        )
    sys.path.append(str(found / "benchmarks"))
    from strata_bench import run

    return run.main(argv)
