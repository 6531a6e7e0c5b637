"""SciPy's .npz files (scipy.sparse.save_npz), read with NumPy alone: nothing in them is executed."""

import types
import zipfile

import numpy as np

from ..errors import FileError
from ..interop import scipy as interop
from ._container import pick
from ._replace import name_of, needed, reading, replacing

_KEYS = {
    "csr": ("data", "indices", "indptr"),
    "csc": ("data", "indices", "indptr"),
    "bsr": ("data", "indices", "indptr"),
    "dia": ("data", "offsets"),
    "coo": ("data",),
}
#: deflate makes at most 1032 bytes of one; a size beyond that is a lie
_MOST = 1040
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class _Archive:
    """The arrays of a zip file, each believed only as far as the file bears it out."""

    def __init__(self, path, zip):
        self.path, self.zip = path, zip
        self.infos = {}
        for info in zip.infolist():
            name = info.filename.removesuffix(".npy")
            if name in self.infos:
                self.fail(f"two arrays of the name '{name}'")
            self.infos[name] = info

    def fail(self, what, **more):
        raise FileError(f"{name_of(self.path)}: {what}", **more)

    def header(self, key):
        """(shape, dtype, is it Fortran's order?, the open member, its size)."""
        if key not in self.infos:
            self.fail(
                f"no array '{key}'",
                expected=f"what scipy.sparse.save_npz writes: '{key}' too",
                got=", ".join(self.infos),
            )
        info = self.infos[key]
        if info.file_size > _MOST * (info.compress_size + 1):
            self.fail(
                f"array '{key}' claims to unpack to more than it can",
                expected=f"at most {_MOST * (info.compress_size + 1)} bytes",
                got=str(info.file_size),
            )
        member = self.zip.open(info)
        version = np.lib.format.read_magic(member)
        if version not in _HEADERS:
            self.fail(f"array '{key}' has a version of NumPy's format that is not known", got=str(version))
        shape, fortran, dtype = _HEADERS[version](member)
        if dtype.hasobject:
            self.fail(f"array '{key}' holds objects of Python, which would have to be executed", expected="numbers")
        return shape, dtype, fortran, member, info.file_size

    def array(self, key, ndim=None):
        shape, dtype, fortran, member, size = self.header(key)
        count = 1
        for extent in shape:
            count *= extent
        if any(extent < 0 for extent in shape) or count * dtype.itemsize > size:
            self.fail(
                f"array '{key}' is shorter than it says",
                expected=f"{count * dtype.itemsize} bytes for shape {shape}",
                got=f"at most {size}",
            )
        if ndim is not None and len(shape) not in ndim:
            self.fail(
                f"array '{key}' has {len(shape)} dimensions", expected=" or ".join(map(str, ndim)), got=str(shape)
            )
        data = np.empty(count, dtype)
        view = memoryview(data).cast("B") if count else b""
        done = 0
        while done < len(view):  # in pieces that stay in a cache; Ctrl-C is heard in between
            if not (n := member.readinto(view[done : done + (1 << 18)])):
                self.fail(f"array '{key}' ends too early", expected=f"{len(view)} bytes", got=str(done))
            done += n
        if member.read(1):  # which also checks its CRC
            self.fail(f"array '{key}' goes on behind its last element")
        return data.reshape(shape, order="F" if fortran else "C")


def _text(value):
    value = value.item() if value.shape == () else None
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _matrix(archive):
    """What the archive holds, with the attributes that a SciPy array has."""
    if "format" not in archive.infos or "shape" not in archive.infos:
        archive.fail(
            "not a file of scipy.sparse.save_npz",
            expected="arrays format, shape, data, ...",
            got=", ".join(archive.infos),
            fix="of dense arrays: st.from_dense(np.load(path)[name], format)",
        )
    format = _text(archive.array("format"))
    if format not in _KEYS:
        archive.fail("no format of SciPy's", expected=", ".join(_KEYS), got=repr(format))
    shape = archive.array("shape", (1,))
    if shape.dtype.kind not in "iu" or (len(shape) != 2 and format in ("csc", "bsr", "dia")) or not len(shape):
        archive.fail("array 'shape' is no shape", expected="integers, one for each dimension", got=str(shape.tolist()))
    found = {"format": format, "shape": tuple(int(e) for e in shape), "data": archive.array("data")}
    data = found["data"]
    if data.dtype.kind not in "biufc":
        archive.fail("array 'data' holds no numbers", got=str(data.dtype))
    if data.ndim != {"bsr": 3, "dia": 2}.get(format, 1):
        archive.fail("array 'data' has another number of dimensions", got=str(data.shape))
    for key in _KEYS[format][1:]:
        found[key] = archive.array(key, (1,))
    if format == "bsr":
        found["blocksize"] = data.shape[1:]
        if 0 in data.shape[1:]:
            archive.fail("blocks without elements", got=str(data.shape))
    if format == "dia" and len(found["offsets"]) != len(data):
        archive.fail("as many offsets as diagonals are needed", expected=str(len(data)), got=str(len(found["offsets"])))
    if format == "coo":
        if "coords" in archive.infos:
            coords = archive.array("coords", (2,))
            if len(coords) != len(shape):
                archive.fail(
                    "array 'coords' has another number of rows than there are dimensions", got=str(len(coords))
                )
            found["coords"] = tuple(np.ascontiguousarray(c) for c in coords)
        else:
            found["coords"] = archive.array("row", (1,)), archive.array("col", (1,))
            if len(shape) != 2:
                archive.fail("rows and columns are of a matrix", got=f"shape {found['shape']}")
    for key, array in found.items():
        arrays = array if key == "coords" else (array,) if key in ("indices", "indptr", "offsets") else ()
        if any(a.dtype.kind not in "iu" for a in arrays):
            archive.fail(f"array '{key}' holds no integers", got=str(arrays[0].dtype))
    return types.SimpleNamespace(**found)


def read(path, name, progress):
    with reading(path), open(path, "rb") as file, zipfile.ZipFile(file) as zip:
        a = _matrix(_Archive(path, zip))
        t = interop._IMPORT[a.format](a)
    return pick(path, {"": t}, name)


def write(path, pairs):
    sparse = needed("scipy.sparse", "writing a .npz file")
    a = pairs[0][1].to_scipy()
    with replacing(path) as temporary, open(temporary, "wb") as file:
        sparse.save_npz(file, a)


def entries(path):
    with reading(path), open(path, "rb") as file, zipfile.ZipFile(file) as zip:
        archive = _Archive(path, zip)
        for key in ("format", "shape", "data"):
            archive.header(key)
        format = _text(archive.array("format"))
        shape, dtype, *_ = archive.header("data")
        return [
            {
                "name": "",
                "format": f"SciPy's {format}",
                "shape": archive.array("shape", (1,)).tolist(),
                "dtype": str(dtype),
                "stored": int(np.prod(shape, dtype=object)),
            }
        ]
