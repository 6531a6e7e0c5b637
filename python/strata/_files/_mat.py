"""MATLAB's .mat files: up to version 7 through SciPy, version 7.3 (which is HDF5) through h5py."""

import re

import numpy as np

from .. import _core
from .._core import Tensor
from ..errors import FileError
from ..interop.scipy import from_scipy
from ._container import pick
from ._replace import needed, reading, replacing

_HDF5 = b"\x89HDF\r\n\x1a\n"


def _is_hdf5(path):
    with open(path, "rb") as file:
        for at in (0, 512):  # MATLAB puts a text of its own in front
            file.seek(at)
            if file.read(8) == _HDF5:
                return True
    return False


def _tensors(value, name="", kinds=()):
    """(name, tensor) of every matrix, those within structs too: SuiteSparse's files hold Problem.A. `kinds`: what the
    file calls each variable."""
    import scipy.sparse as sp

    if sp.issparse(value):
        # MATLAB keeps its columns sorted; SciPy's writer keeps whatever order there was.
        a = sp.csc_array(value)
        # Whole numbers may be written in fewer bytes than the doubles, or truth values, that they are.
        if a.dtype.kind in "iu":
            a = a.astype(bool if dict(kinds).get(name) == "logical" else np.float64)
        yield name, from_scipy(a)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not key.startswith("__"):
                yield from _tensors(inner, key, kinds)
    elif isinstance(value, np.ndarray) and value.dtype.names and value.shape == (1, 1):
        for key in value.dtype.names:
            yield from _tensors(value[0, 0][key], f"{name}.{key}")
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biufc" and value.size and value.ndim:
        yield name, _core.from_array(np.array(value))


def _found(path):
    with reading(path):
        if _is_hdf5(path):
            return _found_in_hdf5(path)
        scipy_io = needed("scipy.io", "reading a .mat file")
        try:
            with open(path, "rb") as file:
                kinds = [(name, kind) for name, _, kind in scipy_io.whosmat(file)]
                file.seek(0)
                content = scipy_io.loadmat(file, mat_dtype=True)
        except MemoryError:
            raise ValueError("it claims more than memory holds") from None
        return dict(_tensors(content, kinds=kinds))


def _found_in_hdf5(path):
    h5py = needed("h5py", "a .mat file of version 7.3")
    from ._hdf5 import dataset

    found = {}

    def look(name, item):
        if not isinstance(item, h5py.Group) or "MATLAB_sparse" not in item.attrs:
            return
        rows = int(item.attrs["MATLAB_sparse"])
        pos = dataset(path, item, "jc")
        if "ir" in item:
            crd, values = dataset(path, item, "ir"), dataset(path, item, "data")
        else:  # nothing is stored
            crd, values = np.zeros(0, pos.dtype), np.zeros(0)
        if values.dtype.names == ("real", "imag"):
            values = np.ascontiguousarray(values).view(np.complex128)
        if item.attrs.get("MATLAB_class") == b"logical":
            values = values.astype(bool)
        text = "(i, j) -> (j: dense, i: compressed)"
        name = name.replace("/", ".")
        found[name] = Tensor(text, (rows, len(pos) - 1), pos={1: pos}, crd={1: crd}, values=values)

    with h5py.File(path, "r") as file:
        file.visititems(look)
    return found


def read(path, name, progress):
    found = _found(path)
    if name is None and len(found) > 1:
        # A struct of scalars and texts around one matrix: the matrix is meant.
        matrices = {n: t for n, t in found.items() if t.ndim == 2 and not t.format.is_all_dense}
        found = matrices if len(matrices) == 1 else found
    return pick(path, found, name)


_LEAST, _MOST = -(2**53), 2**53


def _exported(t):
    a = t.to_numpy() if t.format.is_all_dense else t.to_scipy().tocsc()
    kind = a.dtype.kind
    if t.format.is_all_dense or kind == "b" or a.dtype in (np.float64, np.complex128):
        return a
    if kind in "iu" and a.dtype.itemsize == 8 and a.nnz and not (_LEAST <= a.data.min() and a.data.max() <= _MOST):
        raise FileError(
            "a sparse matrix of MATLAB's holds double or logical values",
            expected="integers of at most 2^53",
            got=f"{a.dtype} beyond",
            fix="write another kind of file, as .st, or convert it: t.to('float64')",
        )
    return a.astype(np.complex128 if kind == "c" else np.float64)


def write(path, pairs):
    scipy_io = needed("scipy.io", "writing a .mat file")
    variables = {}
    for name, t in pairs:
        name = name or "A"
        if not re.fullmatch(r"[A-Za-z]\w{0,30}", name, re.ASCII):
            raise FileError(
                "not a name of a variable in MATLAB",
                expected="a letter, then at most 30 letters, digits and _",
                got=name,
            )
        variables[name] = _exported(t)
    with replacing(path) as temporary, open(temporary, "wb") as file:
        scipy_io.savemat(file, variables, do_compression=True, oned_as="column")


def entries(path):
    with reading(path):
        if _is_hdf5(path):
            return None
        scipy_io = needed("scipy.io", "reading a .mat file")
        with open(path, "rb") as file:
            return [
                {"name": name, "format": f"MATLAB's {kind}", "shape": list(shape), "dtype": "", "stored": None}
                for name, shape, kind in scipy_io.whosmat(file)
            ]
