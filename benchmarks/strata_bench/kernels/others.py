"""The named kernels by pydata/sparse, JAX, tensora, sesum and Finch, as far as each of them goes."""

import os

import numpy as np

from .cases import plain
from .peer import KernelPeer, coordinates


class PyData(KernelPeer):
    """pydata/sparse: one thread, compiled by numba."""

    why = "cannot say it without a dense intermediate"

    def __init__(self, threads):
        import sparse

        self.sparse = sparse

    def plain(self, result):
        if isinstance(result, self.sparse.SparseArray):
            c = result.tocoo() if hasattr(result, "tocoo") else result
            return plain(tuple(c.coords), c.data, c.shape) if c.ndim else np.array(c.todense())
        return np.asarray(result)

    def _of(self, *matrices):
        return [self.sparse.GCXS.from_scipy_sparse(m) for m in matrices]

    def _coo(self, *tensors):
        return [self.sparse.COO(t.at, t.values, t.shape, has_duplicates=False, sorted=True) for t in tensors]

    def spmv(self, d):
        (A,) = self._of(d.A)
        return {"gcxs": lambda: A @ d.x}

    def spmm64(self, d):
        (A,) = self._of(d.A)
        return {"gcxs": lambda: A @ d.X}

    def spgemm(self, d):
        A, B = self._of(d.A, d.B)
        return {"gcxs": lambda: A @ B}

    def spgemm_csc(self, d):
        A, B = self._of(d.A, d.B.tocsc())
        return {"gcxs": lambda: A @ B}

    def spgemm_masked(self, d):
        A, B = self._of(d.A, d.B)
        return {"gcxs": lambda: (A @ B) * (A != 0)}

    def chain(self, d):
        A, B, C = self._of(d.A, d.B, d.C)
        return {"right": lambda: A @ (B @ C)}

    def add(self, d):
        (A, B), s = self._of(d.A, d.B), self.sparse.COO
        a, b = s.from_scipy_sparse(d.A), s.from_scipy_sparse(d.B)
        return {"gcxs": lambda: A + B, "coo": lambda: a + b}

    def add3(self, d):
        a, b, c = (self.sparse.COO.from_scipy_sparse(m) for m in (d.A, d.B, d.C))
        return {"coo": lambda: a + b + c}

    def dia_csr(self, d):
        a, b = (self.sparse.COO.from_scipy_sparse(m) for m in (d.D, d.A))
        return {"coo": lambda: a + b}

    def ttv(self, d):
        (T,) = self._coo(d.T)
        return {"coo": lambda: self.sparse.tensordot(T, d.x, 1, return_type=self.sparse.COO)}

    def inner(self, d):
        T, S = self._coo(d.T, d.S)
        return {"coo": lambda: (T * S).sum()}

    def triangles(self, d):
        (L,) = self._of(d.A)
        return {"gcxs": lambda: ((L @ L) * L).sum()}


class JAX(KernelPeer):
    """JAX's BCOO, compiled by XLA; it sees as many cores as it may have threads."""

    why = "BCOO cannot say it"
    whys = dict.fromkeys(
        ("spgemm", "spgemm-csc", "chain", "triangles"),
        "a product of two BCOO reserves room for every element of the dense result: out of memory",
    )

    def __init__(self, threads):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        import jax
        from jax.experimental import sparse

        self.jax, self.np, self.sparse = jax, jax.numpy, sparse

    def plain(self, result):
        if isinstance(result, self.sparse.BCOO):
            at = np.asarray(result.indices)
            inside = (at < np.array(result.shape)).all(1)  # what lies beyond is padding
            return plain(tuple(at[inside].T), np.asarray(result.data)[inside], result.shape)
        return result if isinstance(result, tuple) else np.asarray(result)

    def _bcoo(self, at, values, shape):
        at = self.np.asarray(np.stack(at, axis=1))
        return self.sparse.BCOO((self.np.asarray(values), at), shape=shape, indices_sorted=True, unique_indices=True)

    def _matrix(self, a):
        return self._bcoo(coordinates(a), a.data, a.shape)

    def _call(self, f, *arguments):
        compiled = self.jax.jit(f)
        return {"bcoo": lambda: self.jax.block_until_ready(compiled(*arguments))}

    def spmv(self, d):
        return self._call(lambda a, x: a @ x, self._matrix(d.A), self.np.asarray(d.x))

    def spmm64(self, d):
        return self._call(lambda a, x: a @ x, self._matrix(d.A), self.np.asarray(d.X))

    def sddmm64(self, d):
        A, (U, V) = self._matrix(d.A), map(self.np.asarray, (d.U, d.V))
        dims = (((1,), (1,)), ((), ()))

        def f(A, U, V):
            z = self.sparse.bcoo_dot_general_sampled(U, V, A.indices, dimension_numbers=dims)
            return self.sparse.BCOO((A.data * z, A.indices), shape=A.shape)

        return self._call(f, A, U, V)

    def add(self, d):
        return self._call(lambda a, b: (a + b).sum_duplicates(nse=a.nse + b.nse), self._matrix(d.A), self._matrix(d.B))

    def add3(self, d):
        f = lambda a, b, c: (a + b + c).sum_duplicates(nse=a.nse + b.nse + c.nse)
        return self._call(f, *map(self._matrix, (d.A, d.B, d.C)))

    def _mttkrp(self, d):
        n, factors = d.shape[0], [self.np.asarray(f) for f in d.factors[1:]]

        def f(at, values, *factors):
            w = values[:, None]
            for column, factor in enumerate(factors):
                w = w * factor[at[:, column + 1]]
            return self.jax.ops.segment_sum(w, at[:, 0], n, indices_are_sorted=True)

        return self._call(f, self.np.asarray(d.T.at.T), self.np.asarray(d.T.values), *factors)

    mttkrp3 = mttkrp4 = _mttkrp

    def attention(self, d):
        n, (row, col), ops = d.A.shape[0], map(self.np.asarray, coordinates(d.A)), self.jax.ops

        def f(row, col, p, q, H):
            e = self.jax.nn.leaky_relu(p[row] + q[col], 0.2)
            w = self.np.exp(e - ops.segment_max(e, row, n, indices_are_sorted=True)[row])
            s = ops.segment_sum(w, row, n, indices_are_sorted=True)
            return ops.segment_sum((w / s[row])[:, None] * H[col], row, n, indices_are_sorted=True)

        return self._call(f, row, col, *map(self.np.asarray, (d.p, d.q, d.H)))

    def sssp(self, d):
        n, (row, col) = d.A.shape[0], map(self.np.asarray, coordinates(d.A))
        f = lambda row, col, values, far: self.np.minimum(far, self.jax.ops.segment_min(values + far[row], col, n))
        return self._call(f, row, col, *map(self.np.asarray, (d.A.data, d.far)))

    def bfs(self, d):
        n, (row, col), v = d.A.shape[0], map(self.np.asarray, coordinates(d.A)), self.np.asarray(d.front)
        f = lambda row, col, v: (self.jax.ops.segment_sum(v[row].astype(self.np.int32), col, n) > 0) & ~v
        return self._call(f, row, col, v)

    def softmax(self, d):
        n, (row, col) = d.A.shape[0], map(self.np.asarray, coordinates(d.A))

        def f(row, col, values, U, V):
            z = values * (U[row] * V[col]).sum(1)
            return self.jax.ops.segment_sum(self.np.exp(z), row, n, indices_are_sorted=True)

        return self._call(f, row, col, *map(self.np.asarray, (d.A.data, d.U, d.V)))

    def distmult(self, d):
        def f(at, values, E, R, F):
            return values * (E[at[0]] * R[at[1]] * F[at[2]]).sum(1)

        compiled, a = self.jax.jit(f), [self.np.asarray(x) for x in (d.T.at, d.T.values, *d.factors)]
        return {"gathered": lambda: plain(d.T.at, np.asarray(compiled(*a)), d.shape)}

    def moe(self, d):
        from .peer import routed

        (row, col), W = coordinates(d.A), self.np.asarray(d.W)
        order = np.argsort(col, kind="stable")
        X, sizes = self.np.asarray(routed(d)[order]), self.np.asarray(np.bincount(col, minlength=d.W.shape[0]))
        compiled = self.jax.jit(self.jax.lax.ragged_dot)
        shape = (*d.A.shape, d.W.shape[2])
        return {"ragged_dot": lambda: plain((row[order], col[order]), np.asarray(compiled(X, W, sizes)), shape)}


class Tensora(KernelPeer):
    """tensora, once a wrapper of TACO: float64 only, one thread, kernels compiled by LLVM."""

    why = "has no such expression or format"
    whys = {"ttm": "a result of 32 million elements can only be read one by one, for minutes"}

    def __init__(self, threads):
        import tensora

        self.t = tensora

    def plain(self, result):
        if result.format.deparse().count("s") == 0:
            return result.to_numpy()
        items = list(result.items())
        at = np.array([k for k, _ in items]).reshape(-1, result.order).T
        return plain(tuple(at), np.array([v for _, v in items]), result.dimensions)

    def _of(self, x):
        if hasattr(x, "at"):
            at, values = x.at.tolist(), x.values.tolist()
            return self.t.Tensor.from_soa(at, values, dimensions=x.shape, format="s" * len(x.shape))
        if hasattr(x, "indptr"):
            return self.t.Tensor.from_scipy_sparse(x, format="ds")
        return self.t.Tensor.from_numpy(np.asarray(x, np.float64))

    def _call(self, text, out, **operands):
        operands = {k: self._of(v) for k, v in operands.items()}
        return {out: lambda: self.t.evaluate(text, out, **operands)}

    def spmv(self, d):
        return self._call("y(i) = A(i,j) * x(j)", "d", A=d.A, x=d.x)

    def spmm64(self, d):
        return self._call("Y(i,k) = A(i,j) * X(j,k)", "dd", A=d.A, X=d.X)

    def sddmm64(self, d):
        return self._call("C(i,j) = A(i,j) * U(i,k) * V(j,k)", "ds", A=d.A, U=d.U, V=d.V)

    def spgemm(self, d):
        return self._call("C(i,k) = A(i,j) * B(j,k)", "ds", A=d.A, B=d.B)

    def add(self, d):
        return self._call("C(i,j) = A(i,j) + B(i,j)", "ds", A=d.A, B=d.B)

    def add3(self, d):
        return self._call("E(i,j) = A(i,j) + B(i,j) + C(i,j)", "ds", A=d.A, B=d.B, C=d.C)

    def mttkrp3(self, d):
        _, B, C = d.factors
        return self._call("M(i,r) = T(i,j,k) * B(j,r) * C(k,r)", "dd", T=d.T, B=B, C=C)

    def mttkrp4(self, d):
        _, B, C, D = d.factors
        return self._call("M(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * D(l,r)", "dd", T=d.T, B=B, C=C, D=D)

    def ttv(self, d):
        return self._call("Y(i,j) = T(i,j,k) * x(k)", "ss", T=d.T, x=d.x)

    def inner(self, d):
        found = self._call("s() = T(i,j,k) * S(i,j,k)", "", T=d.T, S=d.S)
        return {"number": found[""]}


class Sesum(KernelPeer):
    """sesum's sparse back end: einsum of pairs, coordinates in hash order."""

    why = "has products of sparse tensors only, and dense results or unsorted ones"

    def __init__(self, threads):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import sesum

        self.s = sesum

    def plain(self, result):
        if hasattr(result, "coords"):
            return plain(
                tuple(np.asarray(result.coords()).astype(np.int64).T), np.asarray(result.values()), result.shape
            )
        return np.asarray(result)

    def _of(self, x):
        if hasattr(x, "at"):
            return self.s.sparse_coo_tensor(x.at.astype(np.int64), x.values, size=x.shape)
        if hasattr(x, "indptr"):
            return self.s.sparse_coo_tensor(np.stack(coordinates(x)).astype(np.int64), x.data, size=x.shape)
        at = np.indices(x.shape).reshape(x.ndim, -1)  # its sparse back end wants every operand sparse
        return self.s.sparse_coo_tensor(at, np.ascontiguousarray(x).ravel(), size=x.shape)

    def _call(self, spec, *operands, output="sparse"):
        operands = [self._of(x) for x in operands]
        path = self.s.compute_path(spec, *operands)[0] if len(operands) > 1 else None
        return {output: lambda: self.s.sesum(spec, *operands, path=path, backend="sparse", output=output)}

    def spmv(self, d):
        return self._call("ij,j->i", d.A, d.x, output="dense")

    def spmm64(self, d):
        return self._call("ij,jk->ik", d.A, d.X, output="dense")

    def sddmm64(self, d):
        return self._call("ij,ik,jk->ij", d.A, d.U, d.V)

    def spgemm(self, d):
        return self._call("ij,jk->ik", d.A, d.B)

    def chain(self, d):
        return self._call("ij,jk,kl->il", d.A, d.B, d.C)

    def mttkrp3(self, d):
        return self._call("ijk,jr,kr->ir", d.T, *d.factors[1:], output="dense")

    def ttm(self, d):
        return self._call("ijk,kr->ijr", d.T, d.factors[2])

    def ttv(self, d):
        return self._call("ijk,k->ij", d.T, d.x)

    def inner(self, d):
        return self._call("ijk,ijk->", d.T, d.S, output="dense")

    def triangles(self, d):
        return self._call("ij,jk,ik->", d.A, d.A, d.A, output="dense")


class Finch(KernelPeer):
    """finch-tensor-lite with its compiler (numba); the older packages of that name call Julia."""

    why = "compiles at every call, gives dense results, and raises errors for products of sparse matrices"

    def __init__(self, threads):
        import finchlite
        from finchlite.tensor.level import dense_level, element_level, sparse_list_level

        finchlite.set_default_scheduler(ctx=finchlite.COMPILE_NUMBA)
        self.f = finchlite
        self.levels = dense_level.DenseLevel, sparse_list_level.SparseListLevel, element_level.ElementLevel

    def plain(self, result):
        return np.asarray(result.to_numpy() if hasattr(result, "to_numpy") else result)

    def _of(self, a):
        f, buffer, zero = self.f, self.f.NumpyBuffer, a.dtype.type(0)
        dense, sparse_list, element = self.levels
        values = element(f.element(zero, f.ftype(zero), None), buffer(a.data))
        pos, crd = (buffer(x.astype(np.intp)) for x in (a.indptr, a.indices))
        return f.FiberTensor(dense(sparse_list(values, np.intp(a.shape[1]), pos, crd), np.intp(a.shape[0])))

    def spmv(self, d):
        A, x = self._of(d.A), self.f.asarray(d.x)
        return {"dense, sparse_list": lambda: self.f.einsum("ij,j->i", A, x)}

    def spmm64(self, d):
        A, X = self._of(d.A), self.f.asarray(d.X)
        return {"dense, sparse_list": lambda: self.f.einsum("ij,jk->ik", A, X)}
