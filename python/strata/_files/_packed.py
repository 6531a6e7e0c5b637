"""Text files, plain or packed as .gz, .bz2, .xz: Matrix Market and FROSTT."""

import bz2
import gzip
import lzma
import os

from .. import _core
from ._replace import name_of, reading, replacing

PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_PIECE = 1 << 20


def packing(path):
    """What opens a packed file of this name; None for a plain one."""
    return PACKED.get(os.path.splitext(name_of(path).lower())[1])


def _unpacked(open_packed, path):
    pieces = []
    with reading(path, "unpack"):
        with open(path, "rb"):  # a file that is not there is no broken one
            pass
        with open_packed(path, "rb") as file:
            while piece := file.read(_PIECE):  # piece by piece: Ctrl-C is heard in between
                pieces.append(piece)
    return b"".join(pieces)


def _write_packed(open_packed, path, write):
    """`write(path)` writes a plain file, which is packed from there."""
    with replacing(path) as whole:
        plain = whole + ".plain"
        try:
            os.close(os.open(plain, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))  # whoever may read the target
            write(plain)
            with open(plain, "rb") as source, open_packed(whole, "wb") as file:
                while piece := source.read(_PIECE):
                    file.write(piece)
        finally:
            if os.path.exists(plain):
                os.unlink(plain)


def read_matrix_market(path, progress=None):
    """Reads a Matrix Market file, also one packed as .gz, .bz2 or .xz: coordinate files give COO (sorted, duplicates
    added), array files a dense tensor. `progress` is called with the share done. FileError with line and column.

        write_matrix_market("a.mtx", A)
        B = read_matrix_market("a.mtx")
    """
    packed = packing(path)
    if packed is None:
        return _core.read_matrix_market(path, progress)
    return _core.parse_matrix_market(_unpacked(packed, path), name_of(path), progress)


def write_matrix_market(path, t):
    """Writes a 2-D tensor, packed where the suffix is .gz, .bz2 or .xz; values read back bit for bit. FileError.

    write_matrix_market("a.mtx.gz", A)
    """
    packed = packing(path)
    if packed is None:
        return _core.write_matrix_market(path, t)
    _write_packed(packed, path, lambda plain: _core.write_matrix_market(plain, t))


def read_frostt(path, *, shape=None, dtype=None, progress=None):
    """Reads a FROSTT file (.tns), also one packed as .gz, .bz2 or .xz: a line for each element, its coordinates from 1 on
    and its value. Gives COO, sorted, duplicates added. FileError with line and column.

    shape : the extents; otherwise what a first line `# shape: 3 4 5` says, or the largest coordinate of each mode
    dtype : of the values, "float64" unless told; "int64" or "uint64" for files of integers
    progress : is called with the share done

        write_frostt("a.tns", A)
        B = read_frostt("a.tns", shape=(3, 3))
    """
    packed = packing(path)
    if packed is None:
        return _core.read_frostt(path, shape, dtype, progress)
    return _core.parse_frostt(_unpacked(packed, path), name_of(path), shape, dtype, progress)


def write_frostt(path, t):
    """Writes the stored elements of a tensor of one dimension or more, packed where the suffix is .gz, .bz2 or .xz. A
    first line, a comment to others, keeps the shape; values read back bit for bit. FileError.

        write_frostt("a.tns.gz", A)
    """
    packed = packing(path)
    if packed is None:
        return _core.write_frostt(path, t)
    _write_packed(packed, path, lambda plain: _core.write_frostt(plain, t))
