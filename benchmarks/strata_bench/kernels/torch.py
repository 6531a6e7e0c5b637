"""The named kernels by torch."""

import numpy as np

from .cases import plain
from .peer import KernelPeer, coordinates, routed


class Torch(KernelPeer):
    """torch.sparse with int32 indices where it takes them, and what is written with index_add and scatter otherwise."""

    def __init__(self, threads):
        import warnings

        import torch

        warnings.filterwarnings("ignore")
        torch.set_num_threads(threads)
        self.torch = torch

    def plain(self, result):
        t = self.torch
        if not isinstance(result, t.Tensor):
            return result
        if result.layout == t.strided:
            return result.numpy()
        c = result.to_sparse_coo().coalesce()
        return plain(tuple(c.indices().numpy()), c.values().numpy(), tuple(c.shape))

    def _csr(self, a, index="int32"):
        t = self.torch
        pos, crd = (t.from_numpy(x).to(getattr(t, index)) for x in (a.indptr, a.indices))
        return t.sparse_csr_tensor(pos, crd, t.from_numpy(a.data), a.shape)

    def _of(self, *arrays):
        return [self.torch.from_numpy(np.ascontiguousarray(a)) for a in arrays]

    def spmv(self, d):
        a, (x,) = self._csr(d.A), self._of(d.x)
        return {"csr": lambda: a @ x}

    def spmm64(self, d):
        a, (x,) = self._csr(d.A), self._of(d.X)
        return {"csr": lambda: a @ x}

    def sddmm64(self, d):
        t, a, (u, v) = self.torch, self._csr(d.A), self._of(d.U, d.V)
        pos, crd, values = a.crow_indices(), a.col_indices(), a.values()

        def run():
            c = t.sparse.sampled_addmm(a, u, v.T, beta=0)
            return t.sparse_csr_tensor(pos, crd, c.values() * values, a.shape)

        return {"sampled_addmm": run}

    def spgemm(self, d):
        a, b = self._csr(d.A), self._csr(d.B)
        return {"csr": lambda: a @ b}

    def chain(self, d):
        a, b, c = map(self._csr, (d.A, d.B, d.C))
        return {"right": lambda: a @ (b @ c)}

    def add(self, d):
        a, b = self._csr(d.A), self._csr(d.B)
        return {"csr": lambda: a + b}

    def add3(self, d):
        a, b, c = map(self._csr, (d.A, d.B, d.C))
        return {"csr": lambda: a + b + c}

    def _mttkrp(self, d):
        t, at, values = self.torch, self._of(*d.T.at.astype(np.int64)), self._of(d.T.values)[0][:, None]
        factors, n = self._of(*d.factors[1:]), d.shape[0]

        def run():
            w = values
            for f, k in zip(factors, at[1:]):
                w = w * f[k]
            return t.zeros(n, w.shape[1]).index_add_(0, at[0], w)

        return {"index_add": run}

    mttkrp3 = mttkrp4 = _mttkrp

    def inner(self, d):
        a, b = (self._coo(x) for x in (d.T, d.S))
        return {"coo": lambda: (a * b).sum()}

    def _coo(self, x):
        t = self.torch
        return t.sparse_coo_tensor(*self._of(x.at.astype(np.int64), x.values), x.shape).coalesce()

    def moe(self, d):
        t, (X, W) = self.torch, self._of(routed(d), d.W)
        row, col = coordinates(d.A)
        experts, shape = self._of(*(np.flatnonzero(d.A.indices == n) for n in range(d.A.shape[1]))), (*d.A.shape, 128)

        def run():
            Y = t.empty(X.shape[0], W.shape[2])
            for n, at in enumerate(experts):
                Y[at] = X[at] @ W[n]
            return plain((row, col), Y, shape)

        return {"a dense product for each expert": run}

    def attention(self, d):
        t, (p, q, H) = self.torch, self._of(d.p, d.q, d.H)
        row, col = (x.long() for x in self._of(*coordinates(d.A)))
        a = self._csr(d.A)

        def run():
            e = t.nn.functional.leaky_relu(p[row] + q[col], 0.2)
            m = t.full((a.shape[0],), -np.inf).scatter_reduce(0, row, e, "amax")
            w = t.exp(e - m[row])
            s = t.zeros(a.shape[0]).index_add_(0, row, w)
            return t.sparse_csr_tensor(a.crow_indices(), a.col_indices(), w / s[row], a.shape) @ H

        return {"scatter, csr": run}

    def bfs(self, d):
        a = self._csr(d.A.T.tocsr())
        v, seen = self._of(d.front.astype(d.dtype), d.front)
        return {"csr of the transpose": lambda: (a @ v > 0) & ~seen}

    def sssp(self, d):
        far, values = self._of(d.far, d.A.data)
        row, col = (x.long() for x in self._of(*coordinates(d.A)))
        return {"scatter_reduce": lambda: far.scatter_reduce(0, col, values + far[row], "amin")}

    def softmax(self, d):
        t, a, (u, v, values) = self.torch, self._csr(d.A), self._of(d.U, d.V, d.A.data)
        row = self._of(coordinates(d.A)[0])[0].long()

        def run():
            z = t.sparse.sampled_addmm(a, u, v.T, beta=0).values() * values
            return t.zeros(a.shape[0]).index_add_(0, row, t.exp(z))

        return {"sampled_addmm": run}

    def distmult(self, d):
        (h, r, s), values = self._of(*d.T.at.astype(np.int64)), self._of(d.T.values)[0]
        E, R, F = self._of(*d.factors)
        return {"gathered": lambda: plain(d.T.at, values * (E[h] * R[r] * F[s]).sum(1), d.shape)}

    def rescal(self, d):
        t, (h, r, s), (E, _, F), (M,) = self.torch, d.T.at, self._of(*d.factors), self._of(d.core)
        groups = [
            self._of(g, h[g].astype(int), s[g].astype(int)) for g in (np.flatnonzero(r == n) for n in range(d.shape[1]))
        ]
        values = self._of(d.T.values)[0]

        def run():
            out = t.empty(len(h))
            for n, (g, hg, sg) in enumerate(groups):
                out[g] = ((E[hg] @ M[n]) * F[sg]).sum(1)
            return plain(d.T.at, values * out, d.shape)

        return {"a dense product for each relation": run}
