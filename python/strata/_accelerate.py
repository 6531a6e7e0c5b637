"""SciPy's products by our kernels, for code that is not ours to change."""

import contextlib
import functools
import threading

import numpy as np

from . import _core
from .errors import Error, Unsupported

#: what both compute alike; the rest is left to SciPy
_DTYPES = frozenset(np.dtype(name) for name in "float32 float64 complex64 complex128 int32 int64".split())
_INDICES = frozenset((np.dtype(np.int32), np.dtype(np.int64)))
#: nothing is promised of the order of columns, so nothing needs to be looked at
_LOOSE = "compressed(unordered, nonunique)"
_CSR, _CSC = f"(i, j) -> (i: dense, j: {_LOOSE})", f"(i, j) -> (j: dense, i: {_LOOSE})"
_COO = f"(i, j) -> (i: {_LOOSE}, j: singleton(unordered, nonunique))"
_DIA = f"(i, j) -> (j - i: {_LOOSE}, j: range)"

_lock = threading.Lock()
_active = []
_originals = {}


class Acceleration:
    """What accelerate_scipy() has done: `calls` products by our kernels, `left` to SciPy."""

    def __init__(self):
        self.calls = self.left = 0

    def __repr__(self):
        return f"<strata.Acceleration: {self.calls} products, {self.left} left to SciPy>"


@contextlib.contextmanager
def accelerate_scipy():
    """SciPy's sparse products (`@`, `dot`, `*` of matrices) by our kernels, within a `with` block and in all threads.

        with accelerate_scipy() as done:
            y = scipy_matrix @ x
        assert done.calls == 1

    So do scikit-learn and others speed up that multiply SciPy's arrays and matrices: csr, csc, bsr, dia and coo times a
    vector or an array, csr times csr and csc times csc. The matrices are
    neither copied nor converted. Of float32, float64, complex64,
    complex128, int32 and int64; whatever else comes, and whatever we refuse, SciPy computes. Sums may be rounded in
    another order. Blocks may be nested; afterwards, also after an exception, SciPy is as it was.

    Gives an Acceleration, which counts. Unsupported where SciPy is missing or keeps its products elsewhere.
    """
    counts = Acceleration()
    with _lock:
        if not _active:
            _patch()
        _active.append(counts)
    try:
        yield counts
    finally:
        with _lock:
            _active[:] = [c for c in _active if c is not counts]
            if not _active:
                _restore()


def _classes():
    """{class of SciPy's: function that views a matrix of it as a tensor, or gives None}."""
    try:
        from scipy.sparse import _bsr, _compressed, _coo, _dia
    except ImportError:
        raise Unsupported("SciPy is needed here and is not installed", fix="pip install scipy") from None
    return {
        getattr(_compressed, "_cs_matrix", None): _of_compressed,
        getattr(_bsr, "_bsr_base", None): _of_blocks,
        getattr(_coo, "_coo_base", None): _of_coordinates,
        getattr(_dia, "_dia_base", None): _of_diagonals,
    }


def _patch():
    import scipy

    found = {}
    for cls, view in _classes().items():
        # The second names are those of before SciPy 1.13.
        for names, replacement in (
            (("_matmul_vector", "_mul_vector"), _dense),
            (("_matmul_multivector", "_mul_multivector"), _dense),
            (("_matmul_sparse", "_mul_sparse_matrix"), _sparse),
        ):
            name = next((n for n in names if n in vars(cls or object)), None)
            if name is None:
                raise Unsupported(
                    f"SciPy {scipy.__version__} keeps its products elsewhere",
                    expected="scipy.sparse as it is from 1.8 to 1.17",
                    got=f"no {names[0]} of {getattr(cls, '__name__', 'a class that is missing')}",
                )
            if replacement is _dense or view is _of_compressed:
                found[cls, name] = replacement(vars(cls)[name], view)
    for (cls, name), f in found.items():
        _originals[cls, name] = vars(cls)[name]
        setattr(cls, name, f)


def _restore():
    for (cls, name), f in _originals.items():
        setattr(cls, name, f)
    _originals.clear()


def _count(name):
    with _lock:
        for counts in _active:
            setattr(counts, name, getattr(counts, name) + 1)


def _dense(original, view):
    @functools.wraps(original)
    def product(self, other):
        if type(other) is np.ndarray and other.dtype in _DTYPES and self.ndim == 2:
            try:
                t = view(self)
                if t is not None:
                    found = _core.matmul(t, np.ascontiguousarray(other))  # SciPy copies other strides too
                    _count("calls")
                    return found
            except (Error, AttributeError):  # refused, or a matrix that lacks its arrays: SciPy says what is wrong
                pass
        _count("left")
        return original(self, other)

    return product


def _sparse(original, view):
    @functools.wraps(original)
    def product(self, other):
        try:
            a, b = (view(m, _canonical) for m in (self, other)) if _alike(self, other) else (None, None)
            if a is not None and b is not None:
                # Of CSC the transposes are multiplied, which are CSR; the result is its transpose again.
                csc = self.format == "csc"
                found = _core.matmul(b.T, a.T).T if csc else _core.matmul(a, b)
                out = found.to_scipy(like=self)
                if type(out) is type(self):
                    _count("calls")
                    return out
        except (Error, AttributeError):
            pass
        _count("left")
        return original(self, other)

    return product


def _alike(a, b):
    return getattr(b, "format", None) == a.format and a.ndim == b.ndim == 2 and a.dtype == b.dtype


def _made(format, shape, values, pos, crd):
    if values.dtype not in _DTYPES or any(x.dtype not in _INDICES for x in crd.values()):
        return None
    return _core.Tensor(format, shape, pos=pos, crd=crd, values=values, check=False)


def _canonical(m):
    return m.has_canonical_format


def _of_compressed(m, only=None):
    rows = m.format == "csr"
    if only is None:
        format = _CSR if rows else _CSC
    elif only(m):
        format = "CSR" if rows else "CSC"
    else:
        return None
    n = int(m.indptr[-1])
    return _made(format, m.shape, m.data[:n], {1: m.indptr}, {1: m.indices[:n]})


def _of_blocks(m):
    rows, columns = m.blocksize
    n = int(m.indptr[-1])
    values = m.data[:n]
    if not values.flags.c_contiguous:
        return None
    format = f"(i, j) -> (i / {rows}: dense, j / {columns}: {_LOOSE}, i % {rows}: dense, j % {columns}: dense)"
    return _made(format, m.shape, values.reshape(-1), {1: m.indptr}, {1: m.indices[:n]})


def _of_coordinates(m):
    if m.shape[0] == 1:  # of which SciPy may make a scalar
        return None
    crd = {0: m.row, 1: m.col}
    return _made(_COO, m.shape, m.data, {0: np.array([0, m.nnz], m.row.dtype)}, crd)


def _of_diagonals(m):
    """Where the diagonals are as long as the matrix is wide and lie in it: others SciPy cuts."""
    offsets, (rows, columns) = m.offsets, m.shape
    if (
        m.data.shape != (len(offsets), columns)
        or not m.data.flags.c_contiguous
        or len(set(offsets.tolist())) < len(offsets)
    ):
        return None
    if len(offsets) and not (-rows < offsets.min() and offsets.max() < columns):
        return None
    return _made(_DIA, m.shape, m.data.reshape(-1), {0: np.array([0, len(offsets)], offsets.dtype)}, {0: offsets})
