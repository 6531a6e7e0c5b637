"""HDF5 files in the binsparse layout, and AnnData's .h5ad, through h5py."""

import contextlib
import json
import os
import types

import numpy as np

from .. import _core
from ..errors import FileError
from ..interop import scipy as interop
from . import _binsparse
from ._container import pick
from ._replace import name_of, needed, reading, replacing

#: a dataset of more claims to unpack to more than deflate can; a smaller one may
_MOST, _FREE = 1040, 1 << 20


def _h5py():
    return needed("h5py", "an HDF5 file")


def dataset(path, group, name):
    """A whole dataset, once the file is seen to hold its bytes."""
    h5py = _h5py()
    where = f"{name_of(path)}, {group.name}"
    item = group.get(name)
    if not isinstance(item, h5py.Dataset):
        raise FileError(f"{where}: no array '{name}'", got=", ".join(map(str, list(group)[:8])) or "nothing")
    if item.dtype.hasobject:
        raise FileError(f"{where}: array '{name}' holds no numbers", got=str(item.dtype))
    if item.is_virtual or item.external:
        raise FileError(f"{where}: array '{name}' lies in other files", expected="an array in this file")
    stored = item.id.get_storage_size()
    if item.nbytes > _FREE and item.nbytes > _MOST * stored:
        raise FileError(
            f"{where}: array '{name}' claims more than the file holds",
            expected=f"at most {_MOST * stored} bytes of the {stored} that are stored",
            got=str(item.nbytes),
        )
    return item[()] if item.shape else np.asarray(item[()])


class _Sink:
    """A file for HDF5 to write into that never fails: HDF5 cannot close a file whose disk is full, and crashes at exit. The
    first error is kept, and what would have been written after it; `check` raises it."""

    _SMALL = 1 << 20  # HDF5 reads its own tables again, never the arrays

    def __init__(self, path):
        self.file, self.error, self.later, self.at = open(path, "r+b", buffering=0), None, [], 0

    def check(self):
        if self.error is not None:
            raise self.error

    def _try(self, f, *args):
        if self.error is None:
            try:
                f(*args)
            except OSError as e:
                self.error = e

    def _write_all(self, at, data):
        self.file.seek(at)
        while data:
            data = data[self.file.write(data[: 1 << 24]) :]

    def seek(self, offset, whence=os.SEEK_SET):
        if whence == os.SEEK_END:
            self.at = max([self.file.seek(0, os.SEEK_END), *(at + len(data) for at, data in self.later)])
        self.at = offset + (0 if whence == os.SEEK_SET else self.at)
        return self.at

    def tell(self):
        return self.at

    def write(self, data):
        view = memoryview(data).cast("B")
        self._try(self._write_all, self.at, view)
        if self.error is not None:
            self.later.append((self.at, bytes(view if len(view) <= self._SMALL else 0)))
        self.at += len(view)
        return len(view)

    def readinto(self, into):
        view = memoryview(into).cast("B")
        self.file.seek(self.at)
        n = self.file.readinto(view) or 0
        view[n:] = bytes(len(view) - n)
        for at, data in self.later:
            first, last = max(at, self.at), min(at + len(data), self.at + len(view))
            if first < last:
                view[first - self.at : last - self.at] = data[first - at : last - at]
        self.at += len(view)
        return len(view)

    def read(self, size):
        into = bytearray(size)
        self.readinto(into)
        return bytes(into)

    def truncate(self, size=None):
        size = self.at if size is None else size
        self._try(self.file.truncate, size)
        return size

    def flush(self):
        pass

    def close(self):
        self.file.close()


@contextlib.contextmanager
def _writing(path):
    """(the HDF5 file that becomes `path`, check()): check() raises what went wrong so far."""
    h5py = _h5py()
    with replacing(path) as temporary, contextlib.closing(_Sink(temporary)) as sink:
        with h5py.File(sink, "w") as file:
            yield file, sink.check
        sink.check()


# --- binsparse ---


def _binsparse_groups(file):
    """{name: group} of all that have a descriptor; the root's name is ""."""
    h5py = _h5py()
    found = {}

    def look(name, item):
        if isinstance(item, h5py.Group) and "binsparse" in item.attrs:
            found[name] = item

    look("", file)
    file.visititems(look)
    return found


def _descriptor(path, group):
    text = group.attrs["binsparse"]
    text = text.decode() if isinstance(text, bytes) else text
    if not isinstance(text, str):
        raise FileError(f"{name_of(path)}, {group.name}: the descriptor is no text", got=type(text).__name__)
    return json.loads(text)


def read(path, name, progress):
    h5py = _h5py()
    with reading(path), h5py.File(os.fsdecode(path), "r") as file:
        groups = _binsparse_groups(file)
        if not groups:
            raise FileError(
                f"{name_of(path)} holds nothing in the binsparse layout",
                expected="a group with an attribute 'binsparse'",
                got=", ".join(map(str, list(file)[:8])) or "an empty file",
            )
        group = pick(path, groups, name)
        where = f"{name_of(path)}, {group.name}"
        return _binsparse.tensor(where, _descriptor(path, group), lambda array: dataset(path, group, array))


def write(path, pairs):
    with _writing(path) as (file, check):
        for name, t in pairs:
            group = file.create_group(name) if name else file
            descriptor, arrays = _binsparse.described(t)
            for key, array in arrays.items():
                group.create_dataset(key, data=array)
                check()
            group.attrs["binsparse"] = json.dumps(descriptor)


def entries(path):
    h5py = _h5py()
    with reading(path), h5py.File(os.fsdecode(path), "r") as file:
        return [_binsparse.facts(name, _descriptor(path, group)) for name, group in _binsparse_groups(file).items()]


# --- AnnData ---

_ENCODINGS = {"csr_matrix": "csr", "csc_matrix": "csc"}


def _encoding(item):
    text = item.attrs.get("encoding-type", item.attrs.get("h5sparse_format", ""))
    text = text.decode() if isinstance(text, bytes) else str(text)
    return {"csr": "csr_matrix", "csc": "csc_matrix"}.get(text, text)


def _matrices(file):
    """{name: group or dataset}: X, and those of layers, obsp, varp."""
    h5py = _h5py()
    found = {}
    if "X" in file:
        found["X"] = file["X"]
    for folder in ("layers", "obsp", "varp"):
        group = file.get(folder)
        if isinstance(group, h5py.Group):
            found.update({f"{folder}/{name}": group[name] for name in group})
    return found


def _shape(path, item):
    shape = item.attrs.get("shape", item.attrs.get("h5sparse_shape"))
    if shape is None or np.shape(shape) != (2,) or np.asarray(shape).dtype.kind not in "iu":
        raise FileError(f"{name_of(path)}, {item.name}: no shape of a matrix", got=str(shape))
    return tuple(int(e) for e in shape)


def read_h5ad(path, name, progress):
    h5py = _h5py()
    with reading(path), h5py.File(os.fsdecode(path), "r") as file:
        found = _matrices(file)
        item = pick(path, found, "X" if name is None and "X" in found else name)
        if isinstance(item, h5py.Dataset):
            return _core.from_array(np.ascontiguousarray(dataset(path, item.parent, item.name.rpartition("/")[2])))
        kind = _encoding(item)
        if kind not in _ENCODINGS:
            raise FileError(
                f"{name_of(path)}, {item.name}: not a matrix",
                expected=", ".join([*_ENCODINGS, "array"]),
                got=kind or "none",
            )
        arrays = {key: dataset(path, item, key) for key in ("data", "indices", "indptr")}
        for key, array in arrays.items():
            if array.ndim != 1 or array.dtype.kind not in ("biufc" if key == "data" else "iu"):
                raise FileError(
                    f"{name_of(path)}, {item.name}: array '{key}' is no list of numbers",
                    got=f"{array.dtype}, shape {array.shape}",
                )
        return interop._IMPORT[_ENCODINGS[kind]](types.SimpleNamespace(shape=_shape(path, item), **arrays))


def write_h5ad(path, pairs):
    """Every tensor is a matrix of the same shape: X, or layers/NAME."""
    h5py = _h5py()
    matrices = {name or "X": t for name, t in pairs}
    shapes = {t.shape for t in matrices.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise FileError(
            "an .h5ad file holds matrices of one shape",
            expected="2 dimensions, all alike",
            got=", ".join(map(str, shapes)),
        )
    for name in matrices:
        if name != "X" and not (name.startswith("layers/") and name.count("/") == 1 and len(name) > 7):
            raise FileError(
                "not a place for a matrix in an .h5ad file", expected="'X' or 'layers/NAME'", got=repr(name)
            )
    rows, columns = next(iter(shapes))
    with _writing(path) as (file, check):
        _encode(file, "anndata", "0.1.0")
        for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
            _encode(file.create_group(name), "dict", "0.1.0")
        for name, extent in (("obs", rows), ("var", columns)):
            _index(h5py, file.create_group(name), extent)
        for name, t in matrices.items():
            _matrix(file, name, t)
            check()


def _encode(item, kind, version):
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version


def _index(h5py, frame, extent):
    """A table without columns, whose rows are called 0, 1, ..."""
    _encode(frame, "dataframe", "0.2.0")
    frame.attrs["_index"] = "_index"
    frame.attrs.create("column-order", np.zeros(0, h5py.string_dtype()))
    names = np.arange(extent).astype(str).astype(object)
    _encode(frame.create_dataset("_index", data=names, dtype=h5py.string_dtype()), "string-array", "0.2.0")


def _matrix(file, name, t):
    if t.format.is_all_dense:
        _encode(file.create_dataset(name, data=t.to_dense()), "array", "0.2.0")
        return
    a = t.to_scipy()
    if a.format not in ("csr", "csc"):
        from ..errors import warn

        warn(f"AnnData has no format {t.format.name or t.format}, so it is written as CSR")
        a = a.tocsr()
    group = file.create_group(name)
    _encode(group, f"{a.format}_matrix", "0.1.0")
    group.attrs["shape"] = np.array(a.shape, np.int64)
    for key in ("data", "indices", "indptr"):
        group.create_dataset(key, data=getattr(a, key))


def entries_h5ad(path):
    h5py = _h5py()
    with reading(path), h5py.File(os.fsdecode(path), "r") as file:
        out = []
        for name, item in _matrices(file).items():
            dense = isinstance(item, h5py.Dataset)
            data = item if dense else item.get("data")
            out.append(
                {
                    "name": name,
                    "format": "dense" if dense else _ENCODINGS.get(_encoding(item), _encoding(item)).upper(),
                    "shape": list(item.shape) if dense else list(_shape(path, item)),
                    "dtype": str(getattr(data, "dtype", "")),
                    "stored": int(data.size) if isinstance(data, h5py.Dataset) else None,
                }
            )
        return out
