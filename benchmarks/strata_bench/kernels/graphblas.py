"""Those of the named kernels that GraphBLAS has."""

import numpy as np

from .cases import plain
from .peer import KernelPeer


class GraphBLAS(KernelPeer):
    """python-graphblas over SuiteSparse."""

    why = "has matrices and vectors over semirings only"

    def __init__(self, threads):
        import graphblas as gb

        gb.init("suitesparse", blocking=True)
        gb.ss.config["nthreads"] = threads
        self.gb = gb

    def plain(self, result):
        gb = self.gb
        if isinstance(result, gb.Matrix):
            row, col, values = result.to_coo()
            return plain((row.astype(np.int64), col.astype(np.int64)), values, result.shape)
        if isinstance(result, tuple) and isinstance(result[0], gb.Vector):
            return result[0].to_dense(fill_value=result[1])
        if isinstance(result, tuple) and isinstance(result[0], gb.Matrix):
            return result[0].to_dense(fill_value=result[1])
        return np.array(result)

    def _of(self, *matrices):
        return [self.gb.io.from_scipy_sparse(m) for m in matrices]

    def spmv(self, d):
        (A,), x = self._of(d.A), self.gb.Vector.from_dense(d.x)
        return {"csr": lambda: (A.mxv(x).new(), 0)}

    def spmm64(self, d):
        (A,), X = self._of(d.A), self.gb.Matrix.from_dense(d.X)
        return {"csr": lambda: (A.mxm(X).new(), 0)}

    def sddmm64(self, d):
        (A,), U, V = self._of(d.A), self.gb.Matrix.from_dense(d.U), self.gb.Matrix.from_dense(d.V)
        return {"mask": lambda: A.ewise_mult(U.mxm(V.T).new(mask=A.S)).new()}

    def spgemm(self, d, mask=None):
        A, B = self._of(d.A, d.B)

        def run():
            C = A.mxm(B).new() if mask is None else A.mxm(B).new(mask=mask.S)
            C.ss.sort()
            return C

        return {"csr, sorted": run}

    def spgemm_csc(self, d):
        A, B = self._of(d.A, d.B)
        B.ss.config["format"] = "by_col"
        return {"csr csc": lambda: A.mxm(B).new()}

    def spgemm_masked(self, d):
        return self.spgemm(d, *self._of(d.A))

    def chain(self, d):
        A, B, C = self._of(d.A, d.B, d.C)
        return {"right": lambda: A.mxm(B.mxm(C).new()).new()}

    def add(self, d):
        A, B = self._of(d.A, d.B)
        return {"csr": lambda: A.ewise_add(B, "plus").new()}

    def add3(self, d):
        A, B, C = self._of(d.A, d.B, d.C)
        return {"csr": lambda: A.ewise_add(B, "plus").new().ewise_add(C, "plus").new()}

    def triangles(self, d):
        (L,) = self._of(d.A)
        plus_pair = self.gb.semiring.plus_pair
        return {"plus-pair": lambda: L.mxm(L, plus_pair).new(mask=L.S).reduce_scalar().new().value}

    def bfs(self, d):
        (A,) = self._of(d.A)
        v = self.gb.Vector.from_coo(np.flatnonzero(d.front), True, size=len(d.front))
        any_pair = self.gb.semiring.any_pair
        return {"any-pair": lambda: (v.vxm(A, any_pair[bool]).new(mask=~v.S), False)}

    def sssp(self, d):
        (A,) = self._of(d.A)
        at = np.flatnonzero(d.front)
        v = self.gb.Vector.from_coo(at, d.far[at], size=len(d.far))
        min_plus = self.gb.semiring.min_plus
        return {"min-plus": lambda: (v.ewise_add(v.vxm(A, min_plus).new(), "min").new(), np.inf)}
