"""The libraries that products are timed beside. Each peer offers variants of a case; the best one counts."""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys
import time

import numpy as np

from .matrices import cache


def installed():
    """Name and version of what is here; importing nothing."""
    found = {}
    for name, package in (
        ("SciPy", "scipy"),
        ("torch", "torch"),
        ("MKL", "mkl"),
        ("numba", "numba"),
    ):
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    if "MKL" in found and not mkl_path():
        del found["MKL"]
    return found


class Prepared:
    """run() does the work; result() gives the product of the last run as an array. `note`: a text, or
    a function of no arguments that gives one once run() was called."""

    def __init__(self, run, result=lambda: None, seconds=0.0, note=""):
        self.run, self.result, self.seconds, self.note = run, result, seconds, note


def latest(f):
    """Keeps what f returns, so that its memory is freed as in a caller's loop."""
    box = [None]

    def run():
        box[0] = f()

    return Prepared(run, lambda: box[0])


class Strata:
    """Our own kernels alone."""

    def __init__(self, threads):
        import strata as st

        self.st = st
        st.settings.threads = threads
        st.settings.vendor = False

    def check(self, plan):
        """Raises where this plan is not what is to be timed."""

    def variants(self, case, a, limit=6):
        info = self.st.describe_structure(self.st.from_scipy(a))
        plain = next(f for f in info["formats"] if f["format"] == "CSR" and not f["crd_dtype"])
        best = info["formats"][0]["cost_ns"]
        names = ["CSR"]
        for f in info["formats"]:
            name = f["format"] + (f" {f['crd_dtype']}" if f["crd_dtype"] else "")
            if (
                name not in names
                and f["bytes"] < 2.5 * plain["bytes"]
                and f["cost_ns"] < 2 * best
                and f["format"] not in ("COO", "CSC")
            ):
                names.append(name)
        return list(dict.fromkeys(names[:limit] + self.tiles(case, a)))

    @staticmethod
    def tiles(case, a):
        """CSR in tiles that meet 32 to 128 KB of the dense operand, where a row has a dozen elements in each."""
        smallest = 1 << max(1, (32 << 10) // (case.columns * a.dtype.itemsize)).bit_length() - 1
        for columns in (smallest, 2 * smallest, 4 * smallest):
            if case.columns >= 16 and a.shape[1] >= 4 * columns and a.nnz / a.shape[0] * columns / a.shape[1] >= 12:
                return [f"TiledCSR(1024, {columns}) {'uint8' if columns <= 256 else 'uint16'}"]
        return []

    def prepare(self, case, a, x, variant):
        st = self.st
        name, crd = (variant.rsplit(" ", 1) + [""])[:2] if " uint" in variant else (variant, "")
        start = time.perf_counter()
        t = st.from_scipy(a).to(name, crd_dtype=crd or None)
        seconds = time.perf_counter() - start
        y = np.empty((a.shape[0],) + x.shape[1:], a.dtype)
        product = st.Matmul(t, x, y, beta=0)  # planned once, as the others' handles are
        plan = product.plan()
        self.check(plan)
        return Prepared(product.execute, lambda: y, seconds, f"{plan.kernel_name}, {t.nbytes} bytes")


class SciPy:
    """One thread, whatever is asked for."""

    def __init__(self, threads):
        pass

    def variants(self, case, a):
        names = ["csr"]
        offsets = (
            np.unique(a.indices - np.repeat(np.arange(a.shape[0], dtype=np.int64), np.diff(a.indptr)))
            if a.nnz < 50_000_000
            else []
        )
        if 0 < len(offsets) * a.shape[1] < 2.5 * a.nnz:
            names.append("dia")
        fills = []
        for b in (2, 3, 4, 16, 32):
            if a.shape[0] % b or a.shape[1] % b or not a.nnz:
                continue
            few = a[: max(1, 200_000 * a.shape[0] // a.nnz // b) * b]  # about 200,000 elements
            rows = np.repeat(np.arange(few.shape[0]) // b, np.diff(few.indptr))
            blocks = len(np.unique(rows * (a.shape[1] // b + 1) + few.indices // b))
            if blocks and few.nnz / (blocks * b * b) > 0.6:
                fills.append((few.nnz / (blocks * b * b), b))
        names += [f"bsr{b}" for _, b in sorted(fills, reverse=True)[:2]]
        return names

    def prepare(self, case, a, x, variant):
        start = time.perf_counter()
        m = {"csr": lambda: a, "dia": lambda: a.todia()}.get(variant, lambda: a.tobsr((int(variant[3:]),) * 2))()
        seconds = time.perf_counter() - start
        p = latest(lambda: m @ x)
        p.seconds = seconds
        return p


class Torch:
    """torch.sparse CSR; its default indices are 64 bits wide."""

    index = "int64"

    def __init__(self, threads):
        import warnings

        import torch

        warnings.filterwarnings("ignore")
        torch.set_num_threads(threads)
        self.torch = torch

    def variants(self, case, a):
        return ["csr"]

    def csr(self, a):
        t, index = self.torch, getattr(self.torch, self.index)
        return t.sparse_csr_tensor(
            t.from_numpy(a.indptr).to(index), t.from_numpy(a.indices).to(index), t.from_numpy(a.data), a.shape
        )

    def prepare(self, case, a, x, variant):
        m, v = self.csr(a), self.torch.from_numpy(x)
        return latest(lambda: m @ v)


class Torch32(Torch):
    index = "int32"


def mkl_path():
    """libmkl_rt of the PyPI package, or of the system."""
    try:
        for f in importlib.metadata.files("mkl") or ():
            if "libmkl_rt.so" in f.name:
                return str(pathlib.Path(f.locate()).resolve())
    except importlib.metadata.PackageNotFoundError:
        pass
    for folder in (os.path.join(sys.prefix, "lib"), "/opt/intel/oneapi/mkl/latest/lib"):
        for name in ("libmkl_rt.so.3", "libmkl_rt.so.2"):
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return None


def numba_of(threads):
    """Tells numba, before its first import, how many threads it has and where its loops are kept."""
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    os.environ["NUMBA_CACHE_DIR"] = str(cache() / "numba")


class Numba:
    """Loops over CSR as written by hand, in parallel over the rows."""

    def __init__(self, threads):
        numba_of(threads)
        from . import loops

        self.loops = loops

    def variants(self, case, a):
        return ["csr"]

    def prepare(self, case, a, x, variant):
        if x.ndim == 1:
            return latest(lambda: self.loops.spmv(a.indptr, a.indices, a.data, x))
        y = np.empty((a.shape[0], x.shape[1]), a.dtype)
        return Prepared(lambda: self.loops.spmm(a.indptr, a.indices, a.data, x, y), lambda: y)


def mkl(threads):
    from .mkl import MKL

    return MKL(threads)


#: name: (what makes the peer, the package that it needs as installed() calls it)
PEERS = {
    "strata": (Strata, None),
    "scipy": (SciPy, "SciPy"),
    "torch": (Torch, "torch"),
    "torch-int32": (Torch32, "torch"),
    "mkl": (mkl, "MKL"),
    "numba": (Numba, "numba"),
}


def names():
    """Peers that are installed, ours first."""
    here = installed()
    return [name for name, (_, package) in PEERS.items() if not package or package in here]
