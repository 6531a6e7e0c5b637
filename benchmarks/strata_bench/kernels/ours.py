"""The named kernels by Strata: the expressions that a user would write."""

import numpy as np

from .cases import plain
from .peer import KernelPeer, routed


def reading(call, *operands):
    """The call, with the bytes of what it must read."""
    call.reads = sum(x.nbytes for x in operands)
    return call


class Strata(KernelPeer):
    """Our own kernels alone, by the expression that a user would write."""

    def __init__(self, threads):
        import strata as st

        self.st = st
        st.settings.threads = threads
        st.settings.vendor = False

    def plain(self, result):
        if not isinstance(result, self.st.Tensor):
            return result
        c = result.to(f"COO({result.ndim})")
        return plain([c.crd(level) for level in range(c.ndim)], c.values, c.shape)

    def _in(self, text, formats, a="A", operand=None, how=None, **named):
        """One variant for each format of the first sparse operand."""
        t = self._tensor(operand)
        return {f: self._call(text, {**named, a: t.to(f)}, how) for f in formats}

    def _call(self, text, named, how=None):
        return reading(lambda: self.st.evaluate(text, named, **(how or {})), *named.values())

    def _tensor(self, x):
        st = self.st
        if not hasattr(x, "at"):
            return st.from_scipy(x)
        return st.from_coo(x.at, x.values, x.shape, f"COO({len(x.shape)})")

    def _formats(self, a):
        found = self.st.describe_structure(self.st.from_scipy(a))["formats"]
        names = [f["format"] for f in found if f["format"] not in ("COO", "CSC")]
        return list(dict.fromkeys(["CSR", *names[:2]]))

    def spmv(self, d):
        return self._in("y(i) = A(i,j) * x(j)", self._formats(d.A), operand=d.A, x=d.x)

    def spmm64(self, d):
        return self._in("Y(i,k) = A(i,j) * X(j,k)", self._formats(d.A), operand=d.A, X=d.X)

    def sddmm64(self, d):
        return self._in("C(i,j) = A(i,j) * U(i,k) * V(j,k)", ["CSR"], operand=d.A, U=d.U, V=d.V)

    def _product(self, d, a="CSR", b="CSR", **how):
        A, B = self._tensor(d.A).to(a), self._tensor(d.B).to(b)
        return {f"{a} {b}": self._call("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), how)}

    def spgemm(self, d):
        return self._product(d)

    def spgemm_csc(self, d):
        return self._product(d, b="CSC")

    def spgemm_masked(self, d):
        return self._product(d, mask=self._tensor(d.A))

    def spgemm_bsr(self, d):
        return self._product(d, "BSR(4, 4)", "BSR(4, 4)", format="BSR(4, 4)")

    def spgemm_bsr_csc(self, d):
        return self._product(d, "BSR(4, 4)", "CSC")

    def chain(self, d):
        A, B, C = map(self._tensor, (d.A, d.B, d.C))
        return {"CSR": reading(lambda: self.st.einsum("ij,jk,kl->il", A, B, C), A, B, C)}

    def add(self, d):
        return self._in("C(i,j) = A(i,j) + B(i,j)", ["CSR"], operand=d.A, B=self._tensor(d.B))

    def add3(self, d):
        B, C = self._tensor(d.B), self._tensor(d.C)
        return self._in("E(i,j) = A(i,j) + B(i,j) + C(i,j)", ["CSR"], operand=d.A, B=B, C=C)

    def dia_csr(self, d):
        return self._in("C(i,j) = D(i,j) + A(i,j)", ["CSR"], operand=d.A, D=self._tensor(d.D), how={"format": "COO"})

    def mttkrp3(self, d):
        _, B, C = d.factors
        return self._in("M(i,r) = T(i,j,k) * B(j,r) * C(k,r)", ["CSF(3)", "COO(3)"], "T", operand=d.T, B=B, C=C)

    def mttkrp4(self, d):
        _, B, C, D = d.factors
        text = "M(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * D(l,r)"
        return self._in(text, ["CSF(4)", "COO(4)"], "T", operand=d.T, B=B, C=C, D=D)

    def ttm(self, d):
        f = "(i, j, r) -> (i : compressed, j : compressed, r : dense)"
        text = "Y(i,j,r) = T(i,j,k) * U(k,r)"
        return self._in(text, ["CSF(3)", "COO(3)"], "T", operand=d.T, U=d.factors[2], how={"format": f})

    def ttv(self, d):
        return self._in(
            "Y(i,j) = T(i,j,k) * x(k)", ["CSF(3)", "COO(3)"], "T", operand=d.T, x=d.x, how={"format": "CSR"}
        )

    def inner(self, d):
        S = self._tensor(d.S)
        return {
            f: self._call("s = T(i,j,k) * S(i,j,k)", dict(T=self._tensor(d.T).to(f), S=S.to(f)))
            for f in ("CSF(3)", "COO(3)")
        }

    def moe(self, d):
        st, f = self.st, "(b, n, d) -> (b : dense, n : compressed, d : dense)"
        shape = (*d.A.shape, d.X.shape[1])
        X = st.Tensor(f, shape, pos={1: d.A.indptr}, crd={1: d.A.indices}, values=routed(d).ravel())
        return {"fibres": reading(lambda: st.einsum("bnd,ndh->bnh", X, d.W, format=f), X, d.W)}

    def attention(self, d):
        st, A = self.st, pattern(self.st, d.A)

        def run():
            ev = st.evaluate
            E = ev("E(i,j) = A(i,j) * max(p(i) + q(j), (p(i) + q(j)) / 5)", A=A, p=d.p, q=d.q, dtype=d.dtype.name)
            m = ev("m(i) = E(i,j)", E=E, semiring="max-plus", format="dense")
            W = ev("W(i,j) = A(i,j) * exp(E(i,j) - m(i))", A=A, E=E, m=m)
            s = ev("s(i) = W(i,j)", W=W, format="dense")
            return ev("P(i,j) = W(i,j) / s(i)", W=W, s=s) @ d.H

        return {"five steps": reading(run, A, d.p, d.q, d.H)}

    def triangles(self, d):
        st, L = self.st, self._tensor(d.A)

        def masked():
            return st.evaluate("t = C(i,k)", C=st.evaluate("C(i,k) = L(i,j) * L(j,k)", L=L, mask=L))

        return {"masked product": reading(masked, L), "at once": self._call("t = L(i,j) * L(j,k) * L(i,k)", dict(L=L))}

    def bfs(self, d):
        A, how = (
            pattern(self.st, d.A, bool),
            dict(semiring="or-and", mask=d.front, complement_mask=True, format="dense"),
        )
        return {"CSR": self._call("y(j) = A(i,j) * v(i)", dict(A=A, v=d.front), how)}

    def sssp(self, d):
        how = dict(semiring="min-plus")
        return {"CSR": self._call("e(j) = d(j) + A(i,j) * d(i)", dict(A=self._tensor(d.A), d=d.far), how)}

    def softmax(self, d):
        st, A = self.st, self._tensor(d.A)

        def run():
            Z = st.evaluate("Z(i,j) = A(i,j) * U(i,k) * V(j,k)", A=A, U=d.U, V=d.V)
            return st.evaluate("s(i) = sum(j, (A(i,j) != 0) * exp(Z(i,j)))", A=A, Z=Z)

        return {"two steps": reading(run, A, d.U, d.V)}

    def distmult(self, d):
        E, R, F = d.factors
        text = "S(h,r,t) = T(h,r,t) * E(h,k) * R(r,k) * F(t,k)"
        return self._in(text, ["COO(3)", "CSF(3)"], "T", operand=d.T, E=E, R=R, F=F)

    def rescal(self, d):
        E, _, F = d.factors
        text = "S(h,r,t) = T(h,r,t) * E(h,a) * M(r,a,b) * F(t,b)"
        return self._in(text, ["COO(3)", "CSF(3)"], "T", operand=d.T, E=E, M=d.core, F=F)

    def convolution(self, d):
        return self._in("Y(i,j) = A(i + r, j + s) * K(r,s)", ["CSR"], operand=d.A, K=d.K, how={"format": "CSR"})


def pattern(st, a, dtype=None):
    """A graph's edges: one value for all of them."""
    ones = np.broadcast_to(np.ones(1, dtype or a.dtype), a.nnz)
    return st.Tensor("CSR", a.shape, pos={1: a.indptr}, crd={1: a.indices}, values=ones)
