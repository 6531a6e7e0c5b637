"""Eigen, where its headers and g++ are installed: a small library is compiled once."""

import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np

from strata._timing.matrices import cache
from strata._timing.peers import Prepared

_SOURCE = r"""
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <complex>
template <class T> static void run(long m, long n, long nnz, const int* pos, const int* crd, const T* v, long k, const T* x, T* y) {
  using Matrix = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
  Eigen::Map<const Matrix> a(m, n, nnz, pos, crd, v);
  if (k == 1) {
    Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>> in(x, n);
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> out(y, m);
    out.noalias() = a * in;
  } else {
    using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    Eigen::Map<const Dense> in(x, n, k);
    Eigen::Map<Dense> out(y, m, k);
    out.noalias() = a * in;
  }
}
extern "C" void threads(int n) { Eigen::setNbThreads(n); }
extern "C" void multiply_float32(long m, long n, long z, const int* p, const int* c, const float* v, long k, const float* x, float* y) { run(m, n, z, p, c, v, k, x, y); }
extern "C" void multiply_float64(long m, long n, long z, const int* p, const int* c, const double* v, long k, const double* x, double* y) { run(m, n, z, p, c, v, k, x, y); }
extern "C" void multiply_complex128(long m, long n, long z, const int* p, const int* c, const std::complex<double>* v, long k, const std::complex<double>* x, std::complex<double>* y) { run(m, n, z, p, c, v, k, x, y); }
"""


def headers():
    for folder in ("/usr/include/eigen3", "/usr/local/include/eigen3"):
        if os.path.exists(os.path.join(folder, "Eigen", "Sparse")) and shutil.which("g++"):
            return folder
    return None


def version():
    text = pathlib.Path(headers(), "Eigen", "src", "Core", "util", "Macros.h").read_text()
    return ".".join(re.search(rf"define EIGEN_{part}_VERSION (\d+)", text)[1] for part in ("WORLD", "MAJOR", "MINOR"))


def _library():
    flags = ["-O3", "-march=native", "-fopenmp", "-DNDEBUG", "-shared", "-fPIC", "-I", headers()]
    key = hashlib.sha256((_SOURCE + " ".join(flags)).encode()).hexdigest()[:16]
    target = cache() / f"eigen-{key}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", "-x", "c++", "-", *flags, "-o", str(temporary)], input=_SOURCE, text=True, check=True)
        temporary.rename(target)
    return ctypes.CDLL(str(target))


class Eigen:
    def __init__(self, threads):
        if not headers():
            raise ImportError("Eigen is not installed")
        os.environ["OMP_NUM_THREADS"] = str(threads)
        self.lib = _library()
        self.lib.threads(threads)

    def variants(self, case, a):
        return ["csr"]

    def prepare(self, case, a, x, variant):
        f = getattr(self.lib, f"multiply_{a.dtype}")
        pos, crd = a.indptr.astype(np.int32, copy=False), a.indices.astype(np.int32, copy=False)
        y = np.empty((a.shape[0],) + x.shape[1:], a.dtype)
        address = lambda v: ctypes.c_void_p(v.ctypes.data)
        arguments = (
            ctypes.c_long(a.shape[0]),
            ctypes.c_long(a.shape[1]),
            ctypes.c_long(a.nnz),
            address(pos),
            address(crd),
            address(a.data),
            ctypes.c_long(1 if x.ndim == 1 else x.shape[1]),
            address(x),
            address(y),
        )
        return Prepared(lambda: f(*arguments), lambda: (pos, crd, a, x, y)[-1])
