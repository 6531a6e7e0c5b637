"""Files by their suffix. Each kind has a file here; what it needs is imported when it is used."""

import dataclasses
import importlib
import os

from .. import _core
from ..errors import ArgumentError, FileError
from . import _packed
from ._container import check_path, load, named, pick, save
from ._packed import read_frostt, read_matrix_market, write_frostt, write_matrix_market
from ._replace import name_of

__all__ = [
    "kind_of",
    "known",
    "load",
    "read",
    "read_frostt",
    "read_matrix_market",
    "save",
    "write",
    "write_frostt",
    "write_matrix_market",
]


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of file: what it is called, and the functions of a module that read and write it."""

    name: str
    module: str = ""
    several: bool = False  # does it hold tensors with names?
    suffix: str = ""  # of the functions

    def function(self, verb):
        return getattr(importlib.import_module(f"{__name__}.{self.module}"), verb + self.suffix)


KINDS = {
    ".st": Kind("Strata's own", "_container", several=True),
    ".mtx": Kind("Matrix Market"),
    ".tns": Kind("FROSTT"),
    ".npz": Kind("SciPy", "_npz"),
    ".mat": Kind("MATLAB", "_mat", several=True),
    ".h5": Kind("HDF5, binsparse", "_hdf5", several=True),
    ".hdf5": Kind("HDF5, binsparse", "_hdf5", several=True),
    ".zarr": Kind("Zarr, binsparse", "_zarr", several=True),
    ".h5ad": Kind("AnnData", "_hdf5", several=True, suffix="_h5ad"),
}
#: what others read, and how it comes from there
_BY_OTHERS = {
    ".npy": "st.from_dense(np.load(path), format)",
    ".csv": "a table: st.from_dense(np.loadtxt(path, delimiter=','), format); a line for each element: "
    "i, j, v = np.loadtxt(path, delimiter=',', unpack=True), then st.from_coo((i.astype(int), j.astype(int)), v, shape, format)",
    ".pt": "st.from_torch(torch.load(path))",
    ".safetensors": "st.from_dense(safetensors.numpy.load_file(path)[name], format)",
    ".rb": "st.from_scipy(scipy.io.hb_read(path)), of the Harwell-Boeing format",
    ".parquet": "st.from_package(pandas.read_parquet(path))",
}
_ALIKE = {".txt": ".csv", ".tsv": ".csv", ".dat": ".csv", ".pth": ".pt", ".rua": ".rb", ".rsa": ".rb", ".hb": ".rb"}
_TEXT = {
    ".mtx": (read_matrix_market, write_matrix_market),
    ".tns": (
        lambda path, progress: read_frostt(path, progress=progress),
        write_frostt,
    ),
}


def known():
    """What is known, for messages."""
    kinds = ", ".join(f"'{suffix}' ({kind.name})" for suffix, kind in KINDS.items())
    return f"{kinds}; '.mtx' and '.tns' also packed: .gz, .bz2, .xz"


def kind_of(path, call="read"):
    """(suffix, Kind) of a file, without that of packing. FileError for one that is not known."""
    check_path(path, call)
    name = name_of(path).rstrip("/").lower()
    stem, suffix = os.path.splitext(name)
    if suffix in _packed.PACKED and os.path.splitext(stem)[1] in _TEXT:
        suffix = os.path.splitext(stem)[1]
    if suffix in KINDS:
        return suffix, KINDS[suffix]
    tool = "tar xf" if ".tar" in name or suffix == ".tgz" else "unzip" if suffix == ".zip" else None
    otherwise = _BY_OTHERS.get(_ALIKE.get(suffix, suffix), "") if call == "read" else ""
    raise FileError(
        f"files of suffix '{suffix}' are not known" if suffix else "this file has no suffix that says what it is",
        expected=known(),
        got=os.fspath(path) if isinstance(path, str) else name_of(path),
        fix=f"unpack it first: {tool} {name_of(path)}" if tool else otherwise,
    )


def read(path, *, name=None, progress=None):
    """Reads a tensor from a file, whose suffix says what it is.

    path : .st (our own), .mtx (Matrix Market) and .tns (FROSTT), both also packed (.gz, .bz2, .xz), .npz (SciPy), .mat
        (MATLAB), .h5, .hdf5 and .zarr (the binsparse layout), .h5ad (AnnData's X)
    name : which tensor of a file of several, such as "layers/counts"
    progress : is called with the share done, where reading takes long

        write("a.mtx", A)
        B = read("a.mtx")

    FileError, which names the place; Unsupported where a package is missing, with what installs it.
    """
    suffix, kind = kind_of(path)
    if suffix in _TEXT:
        return pick(path, {"": _TEXT[suffix][0](path, progress)}, name)
    if progress:
        progress(0.0)
    t = kind.function("read")(path, name, progress)
    if progress:
        progress(1.0)
    return t


def write(path, t):
    """Writes a tensor, or a dict of them, to a file, whose suffix says what it becomes. The file appears whole or not at
    all; one that stood there keeps its permissions.

    path : as for read
    t : a tensor; for .st, .mat, .h5, .zarr and .h5ad also a dict from name to tensor

        write("a.mtx.gz", A)
        write("a.st", {"A": A, "B": B})

    Formats that a kind of file lacks are converted, with a CopyWarning. FileError; Unsupported where a package is missing.
    """
    suffix, kind = kind_of(path, "write")
    pairs = named("write", t)
    if not kind.several and (len(pairs) != 1 or not isinstance(t, _core.Tensor)):
        raise ArgumentError(
            f"a {suffix} file holds one tensor",
            expected="a strata.Tensor",
            got=f"a dict of {len(pairs)}",
            fix="write a .st file",
        )
    if suffix in _TEXT:
        _TEXT[suffix][1](path, t)
    else:
        kind.function("write")(path, pairs)
