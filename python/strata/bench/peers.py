"""The libraries that Strata is timed beside. Each peer offers variants of a case; the best one counts."""

import importlib.metadata
import importlib.util
import os
import pathlib
import sys
import time

import numpy as np

from .case import coordinates


def installed():
    """Name and version of what is here; importing nothing."""
    found = {}
    for name, package in (
        ("SciPy", "scipy"),
        ("torch", "torch"),
        ("MKL", "mkl"),
        ("numba", "numba"),
        ("GraphBLAS", "python-graphblas"),
    ):
        try:
            found[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    if "MKL" in found and not mkl_path():
        del found["MKL"]
    from . import eigen

    if eigen.headers():
        found["Eigen"] = eigen.version()
    return found


class Prepared:
    """run() does the work; result() gives the product of the last run as an array (None for conversions). `note`: a text, or
    a function of no arguments that gives one once run() was called."""

    def __init__(self, run, result=lambda: None, seconds=0.0, note=""):
        self.run, self.result, self.seconds, self.note = run, result, seconds, note


def _latest(f):
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
        if case.op == "convert":
            return ["convert"]
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
        if case.op == "convert":
            if case.source == "COO":
                rows, cols, values = coordinates(a)
                return _latest(lambda: st.from_coo((rows, cols), values, a.shape, case.target))
            if case.source == "dense":
                dense = a.toarray()
                return _latest(lambda: st.from_dense(dense, case.target))
            source = st.from_scipy(a).to(case.source)
            return _latest(lambda: source.to(case.target))
        name, crd = (variant.rsplit(" ", 1) + [""])[:2] if " uint" in variant else (variant, "")
        start = time.perf_counter()
        t = st.from_scipy(a).to(name, crd_dtype=crd or None)
        seconds = time.perf_counter() - start
        y = np.empty((a.shape[0],) + x.shape[1:], a.dtype)
        product = st.Matmul(t, x, y, beta=0)  # planned once, as the others' handles are
        plan = product.plan()
        self.check(plan)
        return Prepared(product.execute, lambda: y, seconds, f"{plan.kernel_name}, {t.nbytes} bytes")


class StrataVendor(Strata):
    """A vendor's kernels through our plans, wherever they serve: elsewhere the figures would be those of our own once more."""

    def __init__(self, threads):
        super().__init__(threads)
        os.environ.setdefault("STRATA_MKL", mkl_path() or "")
        self.st.settings.vendor = True
        self.st.settings.engine = "vendor"

    def variants(self, case, a):
        """CSR and the blocks that suit the matrix; plans have the last word."""
        if case.op == "convert":
            return []
        return [v for v in super().variants(case, a) if v == "CSR" or v.startswith("BSR") and "+" not in v]

    def check(self, plan):
        if "vendor's library" not in plan.explain():
            raise NotImplementedError("no vendor's kernel serves this")


class SciPy:
    """One thread, whatever is asked for."""

    def __init__(self, threads):
        pass

    def variants(self, case, a):
        if case.op == "convert":
            return ["convert"]
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
        import scipy.sparse as sp

        if case.op == "convert":
            if case.source == "COO":
                rows, cols, values = coordinates(a)
                coo = sp.coo_matrix((values, (rows, cols)), a.shape)
                return _latest(lambda: coo.tocsr())
            if case.source == "dense":
                dense = a.toarray()
                return _latest(lambda: sp.csr_matrix(dense))
            convert = {
                "CSR": lambda m: m.tocsr(),
                "CSC": lambda m: m.tocsc(),
                "DIA": lambda m: m.todia(),
                "BSR(3, 3)": lambda m: m.tobsr((3, 3)),
                "dense": lambda m: m.toarray(),
            }
            source = convert[case.source](a)
            return _latest(lambda: convert[case.target](source))
        start = time.perf_counter()
        m = {"csr": lambda: a, "dia": lambda: a.todia()}.get(variant, lambda: a.tobsr((int(variant[3:]),) * 2))()
        seconds = time.perf_counter() - start
        p = _latest(lambda: m @ x)
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
        return ["convert"] if case.op == "convert" else ["csr"]

    def _csr(self, a):
        t, index = self.torch, getattr(self.torch, self.index)
        return t.sparse_csr_tensor(
            t.from_numpy(a.indptr).to(index), t.from_numpy(a.indices).to(index), t.from_numpy(a.data), a.shape
        )

    def prepare(self, case, a, x, variant):
        t = self.torch
        if case.op == "convert":
            if case.source == "COO":
                rows, cols, values = coordinates(a)
                where, values = t.from_numpy(np.stack([rows, cols]).astype(np.int64)), t.from_numpy(values)
                return _latest(lambda: t.sparse_coo_tensor(where, values, a.shape).coalesce().to_sparse_csr())
            if case.source == "dense":
                dense = t.from_numpy(a.toarray())
                return _latest(dense.to_sparse_csr)
            m = self._csr(a)
            if case.target == "CSC":
                return _latest(m.to_sparse_csc)
            if case.source == "CSC":
                m = m.to_sparse_csc()
                return _latest(m.to_sparse_csr)
            if case.target == "dense":
                return _latest(m.to_dense)
            if case.target.startswith("BSR") and a.shape[0] <= 20_000:  # its algorithm is quadratic in the block grid
                return _latest(lambda: m.to_sparse_bsr((3, 3)))
            raise LookupError("torch has no such conversion, or is quadratic in it")
        m, v = self._csr(a), t.from_numpy(x)
        return _latest(lambda: m @ v)


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


class Numba:
    """Loops over CSR as written by hand, in parallel over the rows."""

    def __init__(self, threads):
        from .kernels.loops import compiled

        self.loops = compiled(threads)

    def variants(self, case, a):
        return ["csr"] if case.op == "product" else []

    def prepare(self, case, a, x, variant):
        if x.ndim == 1:
            return _latest(lambda: self.loops.spmv(a.indptr, a.indices, a.data, x))
        y = np.empty((a.shape[0], x.shape[1]), a.dtype)
        return Prepared(lambda: self.loops.spmm(a.indptr, a.indices, a.data, x, y), lambda: y)


class GraphBLAS:
    def __init__(self, threads):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import graphblas as gb

        gb.init("suitesparse", blocking=True)
        gb.ss.config["nthreads"] = threads
        self.gb = gb

    def variants(self, case, a):
        return ["csr"] if case.op == "product" else []

    def prepare(self, case, a, x, variant):
        gb = self.gb
        m = gb.io.from_scipy_sparse(a)
        if x.ndim == 1:
            v = gb.Vector.from_dense(x)
            p = _latest(lambda: m.mxv(v, gb.semiring.plus_times).new())
            result = p.result
            p.result = lambda: result().to_dense(fill_value=0)
            return p
        v = gb.Matrix.from_dense(x)
        p = _latest(lambda: m.mxm(v, gb.semiring.plus_times).new())
        result = p.result
        p.result = lambda: result().to_dense(fill_value=0)
        return p


def peer(name, threads):
    """A peer by name; ImportError or OSError where it is not installed."""
    if name == "mkl":
        from .mkl import MKL

        return MKL(threads)
    if name == "eigen":
        from .eigen import Eigen

        return Eigen(threads)
    return {
        "strata": Strata,
        "strata-vendor": StrataVendor,
        "scipy": SciPy,
        "torch": Torch,
        "torch-int32": Torch32,
        "numba": Numba,
        "graphblas": GraphBLAS,
    }[name](threads)


PACKAGES = {
    "strata": None,
    "strata-vendor": "MKL",
    "scipy": "SciPy",
    "torch": "torch",
    "torch-int32": "torch",
    "mkl": "MKL",
    "numba": "numba",
    "eigen": "Eigen",
    "graphblas": "GraphBLAS",
}  # that each peer needs, as installed() calls them


def names():
    """Peers that are installed, ours first."""
    here = installed()
    return [name for name, package in PACKAGES.items() if not package or package in here]
