"""What a worker is asked to time."""

import dataclasses

import numpy as np

from .matrices import load

LINE = 64  # bytes


@dataclasses.dataclass(frozen=True)
class Case:
    """A @ X with `columns` columns (1: a vector)."""

    matrix: str  # folder of the .npy files
    columns: int = 1
    dtype: str = ""  # "" keeps the matrix's

    def data(self):
        """(A, X): the same for every worker."""
        a = load(self.matrix)
        if self.dtype:
            a = a.astype(self.dtype)
        return a, operand(a, self.columns)


def operand(a, columns):
    r = np.random.default_rng(11)
    shape = (a.shape[1],) if columns == 1 else (a.shape[1], columns)
    x = r.random(shape, dtype=np.float32 if a.dtype.itemsize == 4 or a.dtype == np.complex64 else np.float64) - 0.5
    return placed(x.astype(a.dtype, copy=False))


def placed(x):
    """A copy that begins 16 bytes behind a line, as NumPy's large arrays mostly do. Left to itself that differs from process to process,
    and rows that straddle one line more decide on a third of the time."""
    space = np.empty(x.nbytes + 2 * LINE, np.uint8)
    at = -space.ctypes.data % LINE + 16
    out = space[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


def fingerprint(y):
    """Four weighted sums of a result: enough to see a wrong one, small enough to send."""
    y = np.asarray(y)
    flat = y.reshape(y.shape[0], -1) if y.ndim > 1 else y.reshape(-1, 1)
    r = np.random.default_rng(13)
    out = []
    for _ in range(4):
        w = r.standard_normal(flat.shape[0])
        column = flat.sum(axis=1, dtype=np.complex128 if np.iscomplexobj(flat) else np.float64)
        s = complex(w @ column)
        out.append([s.real, s.imag])
    return out + [[float(np.abs(flat).sum(dtype=np.float64)), 0.0]]


def same(a, b, dtype):
    """Do two fingerprints agree up to rounding? The last entry gives the scale."""
    tolerance = 3e-5 if np.dtype(dtype).itemsize in (4,) or np.dtype(dtype) == np.complex64 else 1e-10
    scale = max(abs(a[-1][0]), abs(b[-1][0]), 1e-300)
    return all(abs(complex(*p) - complex(*q)) <= tolerance * scale for p, q in zip(a, b))
