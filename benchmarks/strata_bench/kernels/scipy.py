"""The named kernels by SciPy, and by NumPy where SciPy has no tensors."""

import numpy as np

from .cases import plain
from .peer import KernelPeer, coordinates, leaky, routed


class SciPy(KernelPeer):
    """SciPy, and NumPy where it has no tensors: the reference of every kernel. One thread, except in dense products."""

    def __init__(self, threads):
        pass

    def spmv(self, d):
        return {"csr": lambda: d.A @ d.x}

    def spmm64(self, d):
        return {"csr": lambda: d.A @ d.X}

    def sddmm64(self, d):
        import scipy.sparse as sp

        row, col = coordinates(d.A)

        def run():
            values = d.A.data * np.einsum("nk,nk->n", d.U[row], d.V[col])
            return sp.csr_matrix((values, d.A.indices, d.A.indptr), d.A.shape)

        return {"numpy": run}

    def spgemm(self, d, b=None):
        b = d.B if b is None else b

        def run():
            c = d.A @ b
            c.sort_indices()
            return c

        return {"csr, sorted": run}

    def spgemm_csc(self, d):
        return self.spgemm(d, d.B.tocsc())

    def spgemm_masked(self, d):
        there = d.A != 0
        return {"csr": lambda: (d.A @ d.B).multiply(there)}

    def spgemm_bsr(self, d):
        a, b = d.A.tobsr((4, 4)), d.B.tobsr((4, 4))
        return {"bsr4": lambda: a @ b}

    def spgemm_bsr_csc(self, d):
        a, b = d.A.tobsr((4, 4)), d.B.tocsc()
        return {"bsr4 csc": lambda: (a @ b).tocsr()}

    def chain(self, d):
        return {"left": lambda: (d.A @ d.B) @ d.C, "right": lambda: d.A @ (d.B @ d.C)}

    def add(self, d):
        return {"csr": lambda: d.A + d.B}

    def add3(self, d):
        return {"csr": lambda: d.A + d.B + d.C}

    def dia_csr(self, d):
        return {"dia csr": lambda: (d.D + d.A).tocoo()}

    def _rows(self, at, values, n):
        import scipy.sparse as sp

        return sp.csr_matrix((values, np.arange(len(values)), np.searchsorted(at, np.arange(n + 1))))

    def mttkrp3(self, d):
        (i, j, k), (_, B, C) = d.T.at, d.factors
        rows = self._rows(i, d.T.values, d.shape[0])
        return {"numpy": lambda: rows @ (B[j] * C[k])}

    def mttkrp4(self, d):
        (i, j, k, m), (_, B, C, D) = d.T.at, d.factors
        rows = self._rows(i, d.T.values, d.shape[0])
        return {"numpy": lambda: rows @ (B[j] * C[k] * D[m])}

    def ttm(self, d):
        (i, j, k), U = d.T.at, d.factors[2]

        def run():
            start = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (j[1:] != j[:-1])])
            values = np.add.reduceat(d.T.values[:, None] * U[k], start, axis=0)
            return plain((i[start], j[start]), values, (*d.shape[:2], U.shape[1]))

        return {"numpy": run}

    def ttv(self, d):
        i, j, k = d.T.at

        def run():
            start = np.flatnonzero(np.r_[True, (i[1:] != i[:-1]) | (j[1:] != j[:-1])])
            return plain((i[start], j[start]), np.add.reduceat(d.T.values * d.x[k], start), d.shape[:2])

        return {"numpy": run}

    def inner(self, d):
        def run():
            p, q = (np.ravel_multi_index(t.at, d.shape) for t in (d.T, d.S))
            _, m, n = np.intersect1d(p, q, assume_unique=True, return_indices=True)
            return np.array(np.dot(d.T.values[m], d.S.values[n]))

        return {"numpy": run}

    def moe(self, d):
        X, experts, shape = (
            routed(d),
            [np.flatnonzero(d.A.indices == n) for n in range(d.A.shape[1])],
            (*d.A.shape, 128),
        )
        row, col = coordinates(d.A)

        def run():
            Y = np.empty((d.A.nnz, d.W.shape[2]), d.dtype)
            for n, at in enumerate(experts):
                Y[at] = X[at] @ d.W[n]
            return plain((row, col), Y, shape)

        return {"a dense product for each expert": run}

    def attention(self, d):
        import scipy.sparse as sp

        (row, col), used = coordinates(d.A), np.diff(d.A.indptr) > 0
        start = d.A.indptr[:-1][used]

        def run():
            e = leaky(d.p[row] + d.q[col])
            m, s = np.zeros(d.A.shape[0], d.dtype), np.ones(d.A.shape[0], d.dtype)
            m[used] = np.maximum.reduceat(e, start)
            w = np.exp(e - m[row])
            s[used] = np.add.reduceat(w, start)
            return sp.csr_matrix((w / s[row], d.A.indices, d.A.indptr), d.A.shape) @ d.H

        return {"numpy": run}

    def triangles(self, d):
        return {"csr": lambda: np.array((d.A @ d.A).multiply(d.A).sum())}

    def bfs(self, d):
        v = d.front.astype(d.dtype)
        return {"csr": lambda: (d.A.T @ v > 0) & ~d.front}

    def sssp(self, d):
        row, col = coordinates(d.A)

        def run():
            e = d.far.copy()
            np.minimum.at(e, col, d.A.data + d.far[row])
            return e

        return {"numpy": run}

    def softmax(self, d):
        row, col = coordinates(d.A)

        def run():
            z = d.A.data * np.einsum("nk,nk->n", d.U[row], d.V[col])
            return np.bincount(row, np.exp(z), d.A.shape[0]).astype(d.dtype)

        return {"numpy": run}

    def distmult(self, d):
        (h, r, t), (E, R, F) = d.T.at, d.factors
        f = lambda: plain((h, r, t), d.T.values * np.einsum("nk,nk->n", E[h] * R[r], F[t]), d.shape)
        return {"numpy": f}

    def rescal(self, d):
        (h, r, t), (E, _, F) = d.T.at, d.factors
        groups = [np.flatnonzero(r == n) for n in range(d.shape[1])]

        def run():
            out = np.empty(len(h), d.dtype)
            for n, at in enumerate(groups):
                out[at] = np.einsum("nk,nk->n", E[h[at]] @ d.core[n], F[t[at]])
            return plain((h, r, t), d.T.values * out, d.shape)

        return {"a dense product for each relation": run}

    def convolution(self, d):
        import scipy.sparse as sp

        (row, col), (m, n) = coordinates(d.A), d.A.shape
        r, s = np.divmod(np.arange(9, dtype=np.int32), 3)

        def run():
            i, j = row[:, None] - r, col[:, None] - s
            values, here = d.A.data[:, None] * d.K.ravel(), (i >= 0) & (j >= 0) & (i < m - 2) & (j < n - 2)
            return sp.coo_matrix((values[here], (i[here], j[here])), (m - 2, n - 2)).tocsr()

        return {"numpy": run}
