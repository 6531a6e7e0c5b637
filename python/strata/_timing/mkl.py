"""Intel MKL's sparse BLAS through ctypes (PyPI: mkl)."""

import ctypes
import os
import time

import numpy as np

from .peers import Prepared, mkl_path

NON_TRANSPOSE, TRANSPOSE, GENERAL, ROW_MAJOR = 10, 11, 20, 101


class _Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


class _Complex8(ctypes.Structure):
    _fields_ = [("re", ctypes.c_float), ("im", ctypes.c_float)]


class _Complex16(ctypes.Structure):
    _fields_ = [("re", ctypes.c_double), ("im", ctypes.c_double)]


SCALARS = {
    "float32": ("s", ctypes.c_float),
    "float64": ("d", ctypes.c_double),
    "complex64": ("c", _Complex8),
    "complex128": ("z", _Complex16),
}


class MKL:
    def __init__(self, threads):
        path = mkl_path()
        if not path:
            raise ImportError("MKL is not installed")
        os.environ["MKL_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(threads)
        self.lib = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.lib.MKL_Set_Num_Threads(threads)
        self.keep = []

    def variants(self, case, a):
        return ["csr", "csr hinted"]

    def check(self, status, what):
        if status != 0:
            raise RuntimeError(f"{what} returned {status}")

    def create(self, a):
        letter, scalar = SCALARS[str(a.dtype)]
        handle = ctypes.c_void_p()
        pos, crd = a.indptr.astype(np.int32, copy=False), a.indices.astype(np.int32, copy=False)
        self.keep += [pos, crd, a.data]
        create = getattr(self.lib, f"mkl_sparse_{letter}_create_csr")
        address = lambda v, offset=0: ctypes.c_void_p(v.ctypes.data + offset)
        self.check(
            create(
                ctypes.byref(handle),
                0,
                ctypes.c_int(a.shape[0]),
                ctypes.c_int(a.shape[1]),
                address(pos),
                address(pos, 4),
                address(crd),
                address(a.data),
            ),
            "create_csr",
        )
        return handle, letter, scalar

    def prepare(self, case, a, x, variant):
        self.keep = [x]
        lib = self.lib
        start = time.perf_counter()
        handle, letter, scalar = self.create(a)
        general = _Description(GENERAL, 0, 0)
        columns = 1 if x.ndim == 1 else x.shape[1]
        if "hinted" in variant:
            if x.ndim == 1:
                lib.mkl_sparse_set_mv_hint(handle, NON_TRANSPOSE, general, 100000)
            else:
                lib.mkl_sparse_set_mm_hint(handle, NON_TRANSPOSE, general, ROW_MAJOR, ctypes.c_int(columns), 100000)
            self.check(lib.mkl_sparse_optimize(handle), "optimize")
        seconds = time.perf_counter() - start
        y = np.zeros((a.shape[0],) + x.shape[1:], a.dtype)
        one, zero = (
            (scalar(1.0), scalar(0.0))
            if not isinstance(scalar, ctypes.Structure)
            else (scalar(1.0, 0.0), scalar(0.0, 0.0))
        )
        px, py = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data)
        if x.ndim == 1:
            f = getattr(lib, f"mkl_sparse_{letter}_mv")
            call = lambda: self.check(f(NON_TRANSPOSE, one, handle, general, px, zero, py), "mv")
        else:
            f = getattr(lib, f"mkl_sparse_{letter}_mm")
            n = ctypes.c_int(columns)
            call = lambda: self.check(f(NON_TRANSPOSE, one, handle, general, ROW_MAJOR, px, n, n, zero, py, n), "mm")
        return Prepared(call, lambda: y, seconds)

    def rest(self):
        """libiomp5 spins for 200 ms behind a parallel region: others should not pay for it."""
        time.sleep(0.22)
