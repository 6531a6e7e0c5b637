"""Converts a matrix to every sensible format and checks every product against SciPy."""

import time

import numpy as np

from .. import _core
from ..errors import Error

#: beyond this a format is named but not made
_LARGEST = 4 << 30


def label(estimate):
    return estimate["format"] + (f" {estimate['crd_dtype']}" if estimate["crd_dtype"] else "")


def sensible(info):
    """The formats worth showing: at most four times the bytes of CSR, and COO and CSC for comparison."""
    plain = next(f for f in info["formats"] if f["format"] == "CSR" and not f["crd_dtype"])
    return [f for f in info["formats"] if f["bytes"] <= max(4 * plain["bytes"], 4096) and f["bytes"] < _LARGEST]


def operands(a, columns=64):
    from .._timing.case import operand

    return operand(a, 1), operand(a, columns)


def bound(a, x):
    """|A| |x| per row, x the largest of its columns: rounding errors of any order of summation stay below a multiple of it."""
    with np.errstate(invalid="ignore"):
        magnitude = abs(a) @ (abs(x) if x.ndim == 1 else abs(x).max(axis=1, initial=0))
    if not np.issubdtype(a.dtype, np.inexact):
        return np.maximum(magnitude, 1)
    scale = np.maximum(magnitude, np.finfo(a.dtype).tiny)
    return scale if x.ndim == 1 else np.broadcast_to(scale[:, None], (a.shape[0], x.shape[1]))


def error(y, expected, scale):
    """Largest error in units of eps |A| |x|; integers must be equal."""
    if y.size == 0:
        return 0.0
    if not np.issubdtype(expected.dtype, np.inexact):
        return 0.0 if np.array_equal(y, expected) else float("inf")
    # Where NaN or Inf take part there is nothing to measure: the results must be alike.
    with np.errstate(invalid="ignore", over="ignore"):
        odd = ~np.isfinite(scale)
        if not np.array_equal(np.where(odd, y, 0), np.where(odd, expected, 0), equal_nan=True):
            return float("inf")
        difference = np.where(odd, 0, np.abs(y - expected))
        return float((difference / np.where(odd, 1, scale)).max() / np.finfo(expected.dtype).eps)


def survey(t, a, info, progress):
    """One dict per format: bytes, slots, seconds of the conversion, errors of A @ x and A @ X in units of eps |A| |x|."""
    x, xs = operands(a)
    with np.errstate(invalid="ignore"):
        y, ys = a @ x, a @ xs
    scale, scales = bound(a, x), bound(a, xs)
    longest = int(np.diff(a.indptr).max()) if a.shape[0] else 0
    out = []
    for k, estimate in enumerate(sensible(info)):
        name = label(estimate)
        progress.say(f"{name}")
        progress((k + 1) / len(info["formats"]))
        row = {"format": name, "note": estimate["note"], "estimated_bytes": estimate["bytes"]}
        out.append(row)
        try:
            start = time.perf_counter()
            made = t.to(estimate["format"], crd_dtype=estimate["crd_dtype"])
            row["convert_seconds"] = time.perf_counter() - start
            row.update(bytes=made.nbytes, nse=made.nse, text=str(made.format))
            row["spmv_error"] = error(_core.matmul(made, x), y, scale)
            row["spmm_error"] = error(_core.matmul(made, xs), ys, scales)
            row["right"] = max(row["spmv_error"], row["spmm_error"]) <= 4 + 2 * longest
        except (Error, MemoryError) as e:
            row["refused"] = str(e).splitlines()[0]
    return out
