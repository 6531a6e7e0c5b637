"""Large products that would add each stored element into a row of the result somewhere in memory, as those of transposed CSR do:
the same elements in another order, in which a row of the result is one sum. The order is worked out once for a pattern, the
values follow it by one gather a call."""

import re

import torch

from ._pattern import Pattern

#: with fewer stored values, fewer bytes of the result or fewer columns it is found in the cache, in whatever order
LARGE, BYTES, COLUMNS = 1 << 12, 1 << 17, 32


def in_row_order(pattern, values, x, transpose, left):
    """(matrix, values) for a product op(A) @ x, or x @ op(A) with `left`: the st.Tensor that acts, and its values. x: a vector or
    a matrix."""
    if x.dim() == 2 and pattern.whole and pattern.num_values >= LARGE:
        columns, rows = x.shape[0 if left else 1], pattern.shape[1 if transpose != left else 0]
        if columns >= COLUMNS and columns * rows * x.element_size() >= BYTES:
            found = _of(pattern, transpose, left)
            if found is not None:
                made, order = found
                return made.matrix(left), values.index_select(0, order)
    return pattern.matrix(transpose), pattern.of_slots(values)


def _of(pattern, transpose, left):
    """(the pattern with the rows of the result outermost, the slot of each of its values), or None where that changes nothing."""
    turned = transpose != left
    return pattern.derived("turned row order" if turned else "row order", lambda pattern: _made(pattern, turned))


def _made(pattern, turned):
    numbered = pattern.with_values(torch.arange(pattern.num_values, dtype=torch.int32))
    numbered = numbered.T if turned else numbered
    format = _with_rows_first(numbered.format)
    if format is None:
        return None
    moved = numbered.to(format, zeros="keep")
    made = Pattern(moved)
    return (made, made.values_of(moved)) if made.whole else None


def _with_rows_first(format):
    """CSR, or BSR of the same blocks, for a format whose columns are outermost; None for others."""
    levels = [level.expr for level in format.levels] if format.num_parts == 1 else []
    if not levels:
        return None
    row, column = format.dims
    if not re.fullmatch(rf"{column}( / \d+)?", levels[0]):
        return None
    inner = dict(re.fullmatch(r"(\w+) % (\d+)", level).groups() for level in levels if " % " in level)
    if row in inner and column in inner and len(levels) == 4:
        return f"BSR({inner[row]}, {inner[column]})"
    return "CSR"
