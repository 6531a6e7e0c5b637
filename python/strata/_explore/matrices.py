"""Small matrices: presets, and matrices as JSON has them: a shape, and the stored elements with their values as typed."""

import math

import numpy as np

from .. import _core
from ..demo.draw import example
from ..errors import ArgumentError, DTypeError, TensorError

#: rows and columns at most
LARGEST = 32
#: characters of a value
LONGEST = 32
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int8")

_BLOG = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def _random(rng, rows, columns):
    return rng.random((rows, columns)) < 0.25


def _banded(rng, rows, columns):
    return np.abs(np.subtract.outer(np.arange(rows), np.arange(columns))) <= 1


def _blocks(rng, rows, columns):
    """Full blocks of 2 x 2, and one element outside of them."""
    kept = np.kron(rng.random(((rows + 1) // 2, (columns + 1) // 2)) < 0.3, np.ones((2, 2), bool))[:rows, :columns]
    free = np.argwhere(~kept)
    if len(free):
        kept[tuple(rng.choice(free))] = True
    return kept


def _power_law(rng, rows, columns):
    """The longest row is full, the next half as long, then a third; likewise which columns they have."""
    kept = np.zeros((rows, columns), bool)
    weights = 1 / np.arange(1.0, columns + 1)
    for rank, row in enumerate(rng.permutation(rows if columns else 0)):
        length = round(columns / (rank + 1))
        kept[row, rng.choice(columns, length, replace=False, p=weights / weights.sum())] = True
    return kept


def _two_of_four(rng, rows, columns):
    kept = np.zeros((rows, columns), bool)
    for row in range(rows):
        for first in range(0, columns, 4):
            width = min(4, columns - first)
            kept[row, first + rng.choice(width, min(2, width), replace=False)] = True
    return kept


def _empty(rng, rows, columns):
    return np.zeros((rows, columns), bool)


_PATTERNS = {
    "random": _random,
    "banded": _banded,
    "blocks": _blocks,
    "power law": _power_law,
    "2:4": _two_of_four,
    "empty": _empty,
}
#: of a shape of their own
_FIXED = {"example": lambda: example(2), "blog": lambda: _BLOG}
PRESETS = (*_FIXED, *_PATTERNS)


def preset(name, rows=8, columns=8, seed=0):
    """A preset as JSON. ArgumentError: no such name; TensorError: too large."""
    if name not in PRESETS:
        raise ArgumentError("there is no such preset", expected=", ".join(PRESETS), got=str(name))
    if name in _FIXED:
        return of_array(_FIXED[name]())
    check_shape(rows, columns)
    rng = np.random.default_rng(_whole("seed", seed, 1 << 32))
    kept = _PATTERNS[name](rng, rows, columns)
    return of_array(np.where(kept, rng.integers(1, 10, (rows, columns)), 0))


def of_array(array):
    """A dense matrix as JSON."""
    rows, columns = array.shape
    cells = [[int(i), int(j), _typed(array[i, j])] for i, j in np.argwhere(array)]
    return {"rows": rows, "columns": columns, "cells": cells}


def of_tensor(t):
    """A tensor of any format as JSON, explicit zeros too. TensorError: it is no small matrix."""
    if t.ndim != 2:
        raise TensorError("the explorer shows matrices", expected="2 dimensions", got=f"{t.ndim} dimensions")
    check_shape(*t.shape)
    return {"rows": t.shape[0], "columns": t.shape[1], "cells": [[*map(int, at), _typed(v)] for at, v in t.items()]}


def _typed(value):
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, complex):
        raise DTypeError("the explorer shows real matrices", expected="a real dtype", got="complex values")
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _whole(what, value, below=None):
    if not isinstance(value, int) or isinstance(value, bool) or value < 0 or (below is not None and value >= below):
        raise ArgumentError(
            f"{what} is a whole number",
            expected="0 or more" if below is None else f"0 to {below - 1}",
            got=str(value)[:LONGEST],
        )
    return value


def check_shape(rows, columns):
    for what, n in (("rows", rows), ("columns", columns)):
        if _whole(f"the number of {what}", n) > LARGEST:
            raise TensorError(
                "the explorer shows small matrices",
                expected=f"at most {LARGEST} x {LARGEST}",
                got=f"{rows} x {columns}",
                fix="strata draw FILE --raw shows larger ones",
            )


def tensor(matrix, dtype, format):
    """The tensor of a matrix from JSON, in this format. Whatever comes is checked: ArgumentError, TensorError."""
    if not isinstance(matrix, dict) or not isinstance(matrix.get("cells"), list):
        raise ArgumentError("a matrix is given by its shape and cells", expected="{rows, columns, cells}")
    rows, columns = matrix.get("rows"), matrix.get("columns")
    check_shape(rows, columns)
    if dtype not in DTYPES:
        raise ArgumentError("there is no such dtype here", expected=", ".join(DTYPES), got=str(dtype)[:LONGEST])
    if len(matrix["cells"]) > rows * columns:
        raise ArgumentError("a matrix has more cells than its shape", expected=f"at most {rows * columns}")
    coordinates, values = np.zeros((2, len(matrix["cells"])), np.int64), np.zeros(len(matrix["cells"]), dtype)
    for k, cell in enumerate(matrix["cells"]):
        if not isinstance(cell, list) or len(cell) != 3 or not isinstance(cell[2], str):
            raise ArgumentError("a cell is its row, its column and the text of its value", expected='[0, 3, "1.5"]')
        i, j = _whole("a row", cell[0], rows), _whole("a column", cell[1], columns)
        coordinates[:, k] = i, j
        try:
            values[k] = _number(cell[2].strip(), values.dtype)
        except (ValueError, OverflowError):
            e = TensorError(
                f"the element at ({i}, {j}) is no {dtype}", expected=_numbers(values.dtype), got=cell[2][:LONGEST]
            )
            e.cell = [i, j]
            raise e from None
    return _core.from_coo(tuple(coordinates), values, (rows, columns), format)


def _number(text, dtype):
    if len(text) > LONGEST or not text.isascii() or "_" in text:
        raise ValueError
    if dtype.kind == "i":
        n = int(text)
        if not np.iinfo(dtype).min <= n <= np.iinfo(dtype).max:
            raise OverflowError
        return n
    x = float(text)
    with np.errstate(over="ignore"):
        if math.isinf(dtype.type(x)) and (not math.isinf(x) or "inf" not in text.lower()):
            raise OverflowError
    return x


def _numbers(dtype):
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        return f"a whole number from {limits.min} to {limits.max}"
    return f"a number of magnitude up to {np.finfo(dtype).max:.4g}, inf or nan"
