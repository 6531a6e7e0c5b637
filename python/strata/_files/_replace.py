"""Files that appear whole or not at all, and errors of packages as errors of ours."""

import contextlib
import os
import secrets
import shutil
import stat

from ..errors import Error, FileError, InternalError, RuntimeFailure, Unsupported

#: what is no fault of a file's: passes as it is
_NOT_OF_FILES = (MemoryError, InternalError, RuntimeFailure, Unsupported)


def name_of(path):
    return os.fsdecode(os.fspath(path))


def needed(package, purpose):
    """The module of an optional package. Unsupported where it is not installed."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as e:
        root = package.partition(".")[0]
        raise Unsupported(
            f"{purpose} needs {root}, which cannot be imported",
            got=str(e),
            fix=f"pip install {root}, or all that files need: pip install strata[files]",
        ) from None


def _because(error):
    text = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:300] + " ..."


@contextlib.contextmanager
def reading(path, what="read"):
    """What goes wrong in this block is the file's fault: FileError that names it."""
    try:
        yield
    except (FileError, *_NOT_OF_FILES):
        raise
    except Error as e:  # a tensor that does not obey its format
        raise FileError(f"{name_of(path)}: {e.what or e}", expected=e.expected, got=e.got, fix=e.fix) from None
    except Exception as e:  # packages raise whatever their own packages raise
        raise FileError(f"cannot {what} '{name_of(path)}'", got=_because(e)) from None


@contextlib.contextmanager
def replacing(path, folder=False):
    """The name of a temporary beside `path`, which takes its place, with its permissions, when this block ends well.
    Otherwise `path` stays what it is and nothing is left. `folder`: it is one, as a Zarr store."""
    target = os.path.realpath(name_of(path))  # a link stays a link
    temporary = None
    try:
        old = _replaced(path, target, folder)
        temporary = os.path.join(
            os.path.dirname(target), f".{os.path.basename(target)[:100]}.tmp{secrets.token_hex(6)}"
        )
        if folder:
            os.mkdir(temporary)
        else:
            # What replaces a private file is private while it is written.
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if old else 0o666))
        yield temporary
        if old:
            _keep_permissions(temporary, old)
        _sync(temporary)
        if folder and old:
            _exchange(temporary, target)
        else:
            os.replace(temporary, target)
        _sync(os.path.dirname(target) or ".")
    except (Error, *_NOT_OF_FILES):
        raise
    except Exception as e:
        raise FileError(f"cannot write '{name_of(path)}'", got=_because(e)) from None
    finally:
        if temporary is not None:
            _remove(temporary)


def _replaced(path, target, folder):
    """What stands there now (None: nothing)."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    if folder and not stat.S_ISDIR(old.st_mode):
        raise FileError(f"'{name_of(path)}' is no folder", expected="a folder of Zarr's, or nothing")
    if folder and not any(os.path.exists(os.path.join(target, n)) for n in ("zarr.json", ".zgroup", ".zarray")):
        if os.listdir(target):
            raise FileError(
                f"'{name_of(path)}' is a folder of other things, which would be lost",
                expected="a Zarr store, an empty folder, or nothing",
            )
    if not folder and not stat.S_ISREG(old.st_mode):
        raise FileError(
            "a file of this kind takes the place of a plain file only",
            expected="a plain file, or nothing",
            got=name_of(path),
        )
    return old


def _keep_permissions(temporary, old):
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(OSError):  # not ours to give: it becomes ours
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, stat.S_IMODE(old.st_mode) & 0o777)


def _sync(path):
    """On the disk, not only on its way there; a folder's file systems may not offer it."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError:
        if not os.path.isdir(path):
            raise
    finally:
        os.close(fd)


def _exchange(temporary, target):
    """A folder that is not empty cannot be renamed over: the old one steps aside first, and back where that fails."""
    aside = temporary + ".old"
    os.rename(target, aside)
    try:
        os.rename(temporary, target)
    except BaseException:
        os.rename(aside, target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _remove(temporary):
    if os.path.isdir(temporary) and not os.path.islink(temporary):
        shutil.rmtree(temporary, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        os.unlink(temporary)
