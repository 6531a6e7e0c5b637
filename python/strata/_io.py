"""Files by their suffix."""

import os

from . import _core
from .errors import FileError


def _kind(path):
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix != ".mtx":
        raise FileError(
            f"files of suffix '{suffix}' are not known", expected="'.mtx' (Matrix Market)", got=os.fspath(path)
        )


def read(path, *, progress=None):
    """Reads a tensor from a file (.mtx). `progress(share)` is called now and then. FileError."""
    _kind(path)
    return _core.read_matrix_market(path, progress)


def write(path, t):
    """Writes a tensor to a file (.mtx). FileError."""
    _kind(path)
    _core.write_matrix_market(path, t)
