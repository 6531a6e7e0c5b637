"""Files by their suffix."""

import os

from . import _core
from .errors import ArgumentError, FileError


def _kind(path):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError("a file is given by its path", expected="a str or os.PathLike", got=type(path).__name__)
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
    if not isinstance(t, _core.Tensor):
        raise ArgumentError(
            "write() takes a tensor",
            expected="a strata.Tensor",
            got=type(t).__name__,
            fix="take it in first: st.from_package(x)",
        )
    _core.write_matrix_market(path, t)
