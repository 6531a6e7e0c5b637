"""A user's kernel for delta(4), as the blog on the universal sparse tensor registers MACKO's: compiled C behind st.register_kernel.

register(2)  # from here on products of delta(4) with a vector of float32 or float16 are its own, with two threads
"""

import ctypes
import functools
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

import strata as st

NAME, FORMAT = "delta by sixteens", "delta(4)"
SOURCE = pathlib.Path(__file__).with_suffix(".c")


@functools.lru_cache(None)
def library():
    """The compiled source. OSError without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise OSError("no C compiler")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "delta_kernel.so"
        flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC"]
        done = subprocess.run([compiler, *flags, str(SOURCE), "-o", str(path)], capture_output=True, text=True)
        if done.returncode:
            raise OSError(f"{compiler} refuses the kernel: {done.stderr.splitlines()[0]}")
        return ctypes.CDLL(str(path))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def register(threads):
    """Asks this kernel first; OSError where it cannot be compiled."""
    c = library()

    def spmv(A, x, *, out, alpha, beta):
        pos = A.pos(1).astype(np.int32, copy=False)
        x = np.ascontiguousarray(x, np.float32)
        y = np.ascontiguousarray(out)
        c[f"delta_{y.dtype}"](
            address(pos),
            address(A.crd(1, packed=True)),
            address(A.values),
            address(x),
            address(y),
            ctypes.c_int64(A.shape[0]),
            ctypes.c_double(alpha),
            ctypes.c_double(beta),
            threads,
        )
        if y is not out:
            out[:] = y

    for dtype in ("float32", "float16"):
        st.register_kernel(f"{NAME}, {dtype}", "ij,j->i", [FORMAT, "dense(1)"], spmv, dtype)


def unregister():
    for dtype in ("float32", "float16"):
        st.unregister_kernel(f"{NAME}, {dtype}")
