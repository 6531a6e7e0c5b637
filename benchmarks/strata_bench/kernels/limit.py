"""Beside products: reading the lines of dense operands that the stored elements choose, and nothing else."""

from strata._timing.case import LINE

from .loops import Loops
from .peer import KernelPeer


class Limit(KernelPeer):
    why = "what it waits for is not lines that elements choose"

    def __init__(self, threads):
        self.f = Loops(threads).f

    def plain(self, result):
        return None  # there is nothing to compare

    def _lines(self, d, chosen):
        size = chosen.dtype.itemsize
        first = -chosen.ctypes.data % LINE // size  # rows may straddle: then each has part of one line more
        return {"lines": lambda: self.f.lines(d.A.indptr, d.A.indices, chosen, first, LINE // size)}

    def spmm64(self, d):
        return self._lines(d, d.X)

    def sddmm64(self, d):
        return self._lines(d, d.V)

    def softmax(self, d):
        return self._lines(d, d.V)
