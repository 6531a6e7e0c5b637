"""Beside products: reading the lines of dense operands that the stored elements choose, and nothing else."""

from .cases import LINE
from .loops import Loops


class Limit(Loops):
    why = "what it waits for is not lines that elements choose"

    def plain(self, result):
        return None  # there is nothing to compare

    def _lines(self, d, chosen):
        step = max(1, LINE // chosen.dtype.itemsize)
        rows = chosen.reshape(len(chosen), -1)
        return {"lines": lambda: self.f.lines(d.A.indptr, d.A.indices, rows, step)}

    def spmv(self, d):
        return self._lines(d, d.x)

    def spmm64(self, d):
        return self._lines(d, d.X)

    def sddmm64(self, d):
        return self._lines(d, d.V)
