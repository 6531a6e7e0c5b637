"""Files by their suffix."""

import os

from . import _core
from .errors import FileError


def _kind(path):
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix != ".mtx":
        tools = {".gz": "gunzip", ".bz2": "bunzip2", ".xz": "unxz", ".zip": "unzip", ".tar": "tar xf", ".tgz": "tar xf"}
        tool = "tar xf" if ".tar." in os.path.basename(os.fspath(path)).lower() else tools.get(suffix)
        raise FileError(
            f"files of suffix '{suffix}' are not known" if suffix else "this file has no suffix that says what it is",
            expected="'.mtx' (Matrix Market)",
            got=os.fspath(path),
            fix=f"unpack it first: {tool} {os.fspath(path)}" if tool else "",
        )


def read(path, *, progress=None):
    """Reads a tensor from a file (.mtx). `progress(share)` is called now and then. FileError."""
    _kind(path)
    return _core.read_matrix_market(path, progress)


def write(path, t):
    """Writes a tensor to a file (.mtx). FileError."""
    _kind(path)
    _core.write_matrix_market(path, t)
