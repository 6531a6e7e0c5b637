"""The libraries of `strata bench`: those of strata._timing.peers, MKL through our own plans, Eigen and GraphBLAS."""

import importlib.metadata
import os

from strata._timing import peers
from strata._timing.case import Case
from strata._timing.peers import Strata, latest, mkl_path

from . import conversions, eigen


class StrataVendor(Strata):
    """A vendor's kernels through our plans, wherever they serve: elsewhere the figures would be those of our own once more."""

    def __init__(self, threads):
        super().__init__(threads)
        os.environ.setdefault("STRATA_MKL", mkl_path() or "")
        self.st.settings.vendor = True
        self.st.settings.engine = "vendor"

    def variants(self, case, a):
        """CSR and the blocks that suit the matrix; plans have the last word."""
        return [v for v in super().variants(case, a) if v == "CSR" or v.startswith("BSR") and "+" not in v]

    def check(self, plan):
        if "vendor's library" not in plan.explain():
            raise NotImplementedError("no vendor's kernel serves this")


class GraphBLAS:
    def __init__(self, threads):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import graphblas as gb

        gb.init("suitesparse", blocking=True)
        gb.ss.config["nthreads"] = threads
        self.gb = gb

    def variants(self, case, a):
        return ["csr"]

    def prepare(self, case, a, x, variant):
        gb = self.gb
        m = gb.io.from_scipy_sparse(a)
        if x.ndim == 1:
            v = gb.Vector.from_dense(x)
            p = latest(lambda: m.mxv(v, gb.semiring.plus_times).new())
            result = p.result
            p.result = lambda: result().to_dense(fill_value=0)
            return p
        v = gb.Matrix.from_dense(x)
        p = latest(lambda: m.mxm(v, gb.semiring.plus_times).new())
        result = p.result
        p.result = lambda: result().to_dense(fill_value=0)
        return p


PEERS = {
    "strata": peers.PEERS["strata"],
    "strata-vendor": (StrataVendor, "MKL"),
    **{name: of for name, of in peers.PEERS.items() if name != "strata"},
    "eigen": (eigen.Eigen, "Eigen"),
    "graphblas": (GraphBLAS, "GraphBLAS"),
}  # as those of strata._timing.peers


def installed():
    """Name and version of what is here; importing nothing."""
    found = peers.installed()
    try:
        found["GraphBLAS"] = importlib.metadata.version("python-graphblas")
    except importlib.metadata.PackageNotFoundError:
        pass
    return found | ({"Eigen": eigen.version()} if eigen.headers() else {})


def names():
    """Peers that are installed, ours first."""
    here = installed()
    return [name for name, (_, package) in PEERS.items() if not package or package in here]


class Peer:
    """A library's products, and its conversions where it has some; ImportError or OSError where it is not installed."""

    def __init__(self, name, threads):
        self.name, self.products = name, PEERS[name][0](threads)
        if hasattr(self.products, "rest"):
            self.rest = self.products.rest

    def variants(self, case, a):
        if isinstance(case, conversions.Conversion):
            return ["convert"] if self.name in conversions.BY else []
        return self.products.variants(case, a)

    def prepare(self, case, a, x, variant):
        if isinstance(case, conversions.Conversion):
            return conversions.prepare(self.name, self.products, case, a)
        return self.products.prepare(case, a, x, variant)


def case(**request):
    """What a worker is asked to time."""
    return (conversions.Conversion if "source" in request else Case)(**request)
