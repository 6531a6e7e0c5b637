"""Files by their suffix, packed ones too."""

import bz2
import gzip
import lzma
import os
import stat
import tempfile
import zlib

from . import _core
from .errors import ArgumentError, FileError

_PACKED = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_PIECE = 1 << 20


def _kind(path):
    """What unpacks this file: a function, or None for a plain one. FileError."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError("a file is given by its path", expected="a str or os.PathLike", got=type(path).__name__)
    name = os.fspath(path)
    name = os.fsdecode(name).lower()
    stem, suffix = os.path.splitext(name)
    if suffix == ".mtx":
        return None
    if suffix in _PACKED and stem.endswith(".mtx"):
        return _PACKED[suffix]
    tool = "tar xf" if ".tar" in name or suffix == ".tgz" else "unzip" if suffix == ".zip" else None
    raise FileError(
        f"files of suffix '{suffix}' are not known" if suffix else "this file has no suffix that says what it is",
        expected="'.mtx' (Matrix Market), also packed: '.mtx.gz', '.mtx.bz2', '.mtx.xz'",
        got=os.fspath(path),
        fix=f"unpack it first: {tool} {os.fspath(path)}" if tool else "",
    )


def _packing(path):
    """The same for what is a Matrix Market file whatever its name."""
    return _PACKED.get(os.path.splitext(os.fsdecode(os.fspath(path)).lower())[1])


def _unpacked(open_packed, path):
    pieces = []
    try:
        with open_packed(path, "rb") as file:
            while piece := file.read(_PIECE):  # piece by piece: Ctrl-C is heard in between
                pieces.append(piece)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        broken = not isinstance(error, OSError) or error.errno is None
        raise FileError(
            f"cannot {'unpack' if broken else 'open'} '{os.fspath(path)}'",
            got=str(error) if broken else error.strerror,
        ) from None
    return b"".join(pieces)


def read_matrix_market(path, progress=None):
    """Reads a Matrix Market file, also one packed as .gz, .bz2 or .xz: coordinate files give COO (sorted, duplicates
    added), array files a dense tensor. `progress` is called with the share done. FileError with line and column."""
    packed = _packing(path)
    if packed is None:
        return _core.read_matrix_market(path, progress)
    return _core.parse_matrix_market(_unpacked(packed, path), os.fsdecode(os.fspath(path)), progress)


def write_matrix_market(path, t):
    """Writes a 2-D tensor, packed where the suffix is .gz, .bz2 or .xz; values read back bit for bit. FileError."""
    packed = _packing(path)
    if packed is None:
        return _core.write_matrix_market(path, t)
    target = os.path.realpath(path)  # a link stays a link
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        raise FileError("a packed file takes the place of a plain file only", got=os.fspath(path))
    try:
        with tempfile.TemporaryDirectory(dir=os.path.dirname(target) or None, prefix=".strata-") as folder:
            plain, whole = os.path.join(folder, "plain.mtx"), os.path.join(folder, "packed")
            _core.write_matrix_market(plain, t)
            with open(plain, "rb") as source, packed(whole, "wb") as file:
                while piece := source.read(_PIECE):
                    file.write(piece)
            os.replace(whole, target)
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(
            f"cannot write '{os.fspath(path)}'", got=getattr(error, "strerror", None) or str(error)
        ) from None


def read(path, *, progress=None):
    """Reads a tensor from a file (.mtx, .mtx.gz, .mtx.bz2, .mtx.xz). `progress(share)` is called now and then.
    FileError."""
    _kind(path)
    return read_matrix_market(path, progress)


def write(path, t):
    """Writes a tensor to a file (.mtx, .mtx.gz, .mtx.bz2, .mtx.xz). FileError."""
    _kind(path)
    if not isinstance(t, _core.Tensor):
        raise ArgumentError(
            "write() takes a tensor",
            expected="a strata.Tensor",
            got=type(t).__name__,
            fix="take it in first: st.from_package(x)",
        )
    write_matrix_market(path, t)
