"""The named kernels as loops written by hand and compiled by numba, in parallel where their rows are independent.

Sorted results as ours; rows of sparse results are counted, then filled, with a dense row of marks for each thread.
"""

import numpy as np

from strata._timing.peers import numba_of

from .cases import plain
from .peer import KernelPeer, coordinates, routed


def compiled(threads):
    """The loops, for so many threads; once a process."""
    numba_of(threads)
    from . import numba_loops

    return numba_loops


class Loops(KernelPeer):
    why = "is not written"

    def __init__(self, threads):
        self.f, self.threads = compiled(threads), threads

    def _csr(self, a):
        return a.indptr, a.indices, a.data

    def _sparse(self, shape, f, *arguments):
        """A function that returns (pos, crd, values) as SciPy's CSR."""
        import scipy.sparse as sp

        def run():
            pos, crd, values = f(*arguments)
            return sp.csr_matrix((values, crd, pos), shape)

        return {"loops": run}

    def spmv(self, d):
        return {"loops": lambda: self.f.spmv(*self._csr(d.A), d.x)}

    def spmm64(self, d):
        return {"loops": lambda: self.f.spmm(*self._csr(d.A), d.X, np.empty((d.A.shape[0], d.X.shape[1]), d.X.dtype))}

    def sddmm64(self, d):
        pos, crd, values = self._csr(d.A)
        return self._sparse(d.A.shape, lambda: (pos, crd, self.f.sddmm(pos, crd, values, d.U, d.V)))

    def spgemm(self, d):
        return self._sparse(d.A.shape, self.f.spgemm, *self._csr(d.A), *self._csr(d.B), d.A.shape[1], self.threads)

    def spgemm_masked(self, d):
        return self._sparse(d.A.shape, self.f.masked, *self._csr(d.A), *self._csr(d.B), d.A.shape[1], self.threads)

    def chain(self, d):
        b, c = self._csr(d.B), self._csr(d.C)

        def run():
            pos, crd, values = self.f.spgemm(*b, *c, 16, self.threads)
            return self.f.spgemm(*self._csr(d.A), pos, crd, values, 16, self.threads)

        return self._sparse(d.C.shape, run)

    def add(self, d):
        return self._sparse(d.A.shape, self.f.add, *self._csr(d.A), *self._csr(d.B))

    def add3(self, d):
        return self._sparse(d.A.shape, self.f.add3, *self._csr(d.A), *self._csr(d.B), *self._csr(d.C))

    def _fibres(self, d):
        pos = np.searchsorted(d.T.at[0], np.arange(d.shape[0] + 1))
        return (pos, *d.T.at[1:], d.T.values)

    def mttkrp3(self, d):
        a = self._fibres(d)
        return {"loops": lambda: self.f.mttkrp3(*a, *d.factors[1:])}

    def mttkrp4(self, d):
        a = self._fibres(d)
        return {"loops": lambda: self.f.mttkrp4(*a, *d.factors[1:])}

    def ttm(self, d):
        i, j, k = d.T.at

        def run():
            start, values = self.f.ttm(i, j, k, d.T.values, d.factors[2])
            return plain((i[start], j[start]), values, (*d.shape[:2], values.shape[1]))

        return {"loops": run}

    def ttv(self, d):
        i, j, k = d.T.at

        def run():
            start, values = self.f.ttv(i, j, k, d.T.values, d.x)
            return plain((i[start], j[start]), values, d.shape[:2])

        return {"loops": run}

    def inner(self, d):
        return {"loops": lambda: np.array(self.f.inner(*d.T.at, d.T.values, *d.S.at, d.S.values))}

    def moe(self, d):
        X, (row, col) = routed(d), coordinates(d.A)
        return {"loops": lambda: plain((row, col), self.f.moe(col, X, d.W), (*d.A.shape, d.W.shape[2]))}

    def attention(self, d):
        return {"loops, fused": lambda: self.f.attention(d.A.indptr, d.A.indices, d.p, d.q, d.H)}

    def triangles(self, d):
        return {"loops": lambda: np.array(float(self.f.triangles(d.A.indptr, d.A.indices)))}

    def bfs(self, d):
        return {"loops": lambda: self.f.bfs(d.A.indptr, d.A.indices, d.front)}

    def sssp(self, d):
        return {"loops": lambda: self.f.sssp(*self._csr(d.A), d.far)}

    def softmax(self, d):
        return {"loops, fused": lambda: self.f.softmax(*self._csr(d.A), d.U, d.V)}

    def distmult(self, d):
        return {"loops": lambda: plain(d.T.at, self.f.distmult(*d.T.at, d.T.values, *d.factors), d.shape)}

    def rescal(self, d):
        E, _, F = d.factors
        return {"loops": lambda: plain(d.T.at, self.f.rescal(*d.T.at, d.T.values, E, d.core, F), d.shape)}

    def convolution(self, d):
        m, n = d.A.shape
        return self._sparse((m - 2, n - 2), self.f.convolution, *self._csr(d.A), n, d.K)
