"""Beside products: reading the lines of dense operands that the stored elements choose, and nothing else."""

from .cases import LINE
from .loops import Loops


class Limit(Loops):
    why = "what it waits for is not lines that elements choose"

    def plain(self, result):
        return None  # there is nothing to compare

    def _lines(self, d, chosen):
        size = chosen.dtype.itemsize
        rows = chosen.reshape(len(chosen), -1)
        # NumPy's arrays begin 16 bytes behind a line: then a row of whole lines has part of one more.
        first = -rows.ctypes.data % LINE // size
        return {"lines": lambda: self.f.lines(d.A.indptr, d.A.indices, rows, first, LINE // size)}

    def spmv(self, d):
        return self._lines(d, d.x)

    def spmm64(self, d):
        return self._lines(d, d.X)

    def sddmm64(self, d):
        return self._lines(d, d.V)
