"""Those of the named kernels that MKL has."""

import ctypes

import numpy as np

from .peer import KernelPeer

PLAIN = ("spmv", "spmm64")


class MKL(KernelPeer):
    """Inspector-executor sparse BLAS. Products are sorted afterwards, as ours are."""

    kept_for = None

    def __init__(self, threads):
        from strata._timing.mkl import MKL as Binding

        self.mkl = Binding(threads)
        self.rest = self.mkl.rest

    def variants(self, case, d):
        self._keep_for(d)
        return ["csr", "csr hinted"] if case.kernel in PLAIN else super().variants(case, d)

    def prepare(self, case, d, x, variant):
        """spmv and spmm as the other benchmark calls them."""
        self._keep_for(d)
        if case.kernel in PLAIN:
            return self.mkl.prepare(case, d.A, d.x if case.kernel == "spmv" else d.X, variant)
        return super().prepare(case, d, x, variant)

    def _keep_for(self, d):
        """Forgets what the handles of another case point to. (A later run asks for no variants.)"""
        if d is not self.kept_for:
            self.kept_for, self.mkl.keep = d, []

    def plain(self, handle):
        return super().plain(handle.to_scipy())

    def spgemm(self, d):
        a, b = self._handles(d.A, d.B)
        return {"csr, sorted": lambda: self._multiply(a, b)}

    def spgemm_bsr(self, d):
        a, b = self._handles(d.A.tobsr((4, 4)), d.B.tobsr((4, 4)))
        return {"bsr4, sorted": lambda: self._multiply(a, b)}

    def chain(self, d):
        a, b, c = self._handles(d.A, d.B, d.C)
        return {"right, sorted": lambda: self._multiply(a, self._multiply(b, c, False))}

    def add(self, d):
        a, b = self._handles(d.A, d.B)
        return {"csr": lambda: self._add(a, b)}

    def add3(self, d):
        a, b, c = self._handles(d.A, d.B, d.C)
        return {"csr": lambda: self._add(self._add(a, b), c)}

    def _handles(self, *matrices):
        return [Handle.of(self.mkl, m) for m in matrices]

    def _multiply(self, a, b, ordered=True):
        lib, out = self.mkl.lib, ctypes.c_void_p()
        self.mkl.check(lib.mkl_sparse_spmm(10, a.pointer, b.pointer, ctypes.byref(out)), "spmm")
        if ordered:
            self.mkl.check(lib.mkl_sparse_order(out), "order")
        return Handle(self.mkl, out, a.letter, a.block)

    def _add(self, a, b):
        lib, out = self.mkl.lib, ctypes.c_void_p()
        f = getattr(lib, f"mkl_sparse_{a.letter}_add")
        scalar = ctypes.c_float if a.letter == "s" else ctypes.c_double
        self.mkl.check(f(10, a.pointer, scalar(1), b.pointer, ctypes.byref(out)), "add")
        return Handle(self.mkl, out, a.letter, a.block)


class Handle:
    """A matrix of MKL's, freed with it."""

    def __init__(self, mkl, pointer, letter, block=0):
        self.mkl, self.pointer, self.letter, self.block = mkl, pointer, letter, block

    @classmethod
    def of(cls, mkl, a):
        if a.format == "csr":
            pointer, letter, _ = mkl.create(a)
            return cls(mkl, pointer, letter)
        letter, pointer = {"float32": "s", "float64": "d"}[str(a.dtype)], ctypes.c_void_p()
        mkl.keep += [a]
        address = lambda x, skip=0: ctypes.c_void_p(x.ctypes.data + skip)
        m, n = (ctypes.c_int(k // 4) for k in a.shape)
        f = getattr(mkl.lib, f"mkl_sparse_{letter}_create_bsr")
        pos = address(a.indptr), address(a.indptr, 4)
        mkl.check(
            f(ctypes.byref(pointer), 0, 101, m, n, ctypes.c_int(4), *pos, address(a.indices), address(a.data)),
            "create_bsr",
        )
        return cls(mkl, pointer, letter, 4)

    def to_scipy(self):
        import scipy.sparse as sp

        lib, pointers, b = self.mkl.lib, [ctypes.c_void_p() for _ in range(4)], self.block or 1
        base, layout, size, m, n = (ctypes.c_int() for _ in range(5))
        dimensions = [ctypes.byref(x) for x in ((layout, m, n, size) if self.block else (m, n))]
        f = getattr(lib, f"mkl_sparse_{self.letter}_export_{'bsr' if self.block else 'csr'}")
        self.mkl.check(f(self.pointer, ctypes.byref(base), *dimensions, *(ctypes.byref(p) for p in pointers)), "export")

        def array(pointer, count, kind):
            return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(kind)), (count,)).copy()

        begin, end = (array(p, m.value, ctypes.c_int) for p in pointers[:2])
        count = int(end[-1]) if len(end) else 0
        pos, crd = np.r_[begin[:1], end], array(pointers[2], count, ctypes.c_int)
        values = array(pointers[3], count * b * b, ctypes.c_float if self.letter == "s" else ctypes.c_double)
        if self.block:
            return sp.bsr_matrix((values.reshape(-1, 4, 4), crd, pos), (4 * m.value, 4 * n.value))
        return sp.csr_matrix((values, crd, pos), (m.value, n.value))

    def __del__(self):
        self.mkl.lib.mkl_sparse_destroy(self.pointer)
