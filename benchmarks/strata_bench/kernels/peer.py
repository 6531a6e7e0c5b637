"""The libraries that time the named kernels. Each is a class with a method for each kernel that it offers, with "-" and "+" as
"_"; it gets the operands and returns {variant: function to be timed}. What a library would have its users do around a call
is timed too."""

import importlib

import numpy as np

from strata._timing.peers import latest

from .cases import KERNELS, plain


class KernelPeer:
    why = "has no such kernel"  # said of every kernel without a method,
    whys = {}  # except of these
    operands = calls = None  # those last asked for, and the variants of their kernel

    def _calls(self, case, d):
        if self.operands is not d:
            kernel = KERNELS[case.kernel].like or case.kernel
            f = getattr(self, kernel.replace("-", "_").replace("+", "_"), None)
            self.operands, self.calls = d, f(d) if f else {}
        return self.calls

    def variants(self, case, d):
        return list(self._calls(case, d) or ["-"])

    def prepare(self, case, d, _, variant):
        call = self._calls(case, d).get(variant)
        if call is None:
            raise LookupError(self.whys.get(case.kernel, self.why))
        p = latest(call)
        result, reads = p.result, getattr(call, "reads", None)
        p.result = lambda: self.plain(result())
        if reads is not None:  # compulsory bytes: operands and result once
            p.note = lambda: f"{reads + getattr(result(), 'nbytes', 8)} bytes"
        return p

    def plain(self, result):
        """What fingerprint() takes."""
        import scipy.sparse as sp

        if sp.issparse(result):
            c = result.tocoo()
            return plain((c.row, c.col), c.data, c.shape)
        return result


def routed(d):
    """Of mixture of experts: for each token and expert of it, the token's weighted features."""
    rows = np.repeat(np.arange(d.A.shape[0]), np.diff(d.A.indptr))
    return d.A.data[:, None] * d.X[rows]


def coordinates(a):
    return np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr)), a.indices


def leaky(x):
    return np.maximum(x, x / 5)


#: name: (module, class, package on PyPI)
PEERS = {
    "strata": ("ours", "Strata", "strata"),
    "scipy": ("scipy", "SciPy", "scipy"),
    "torch": ("torch", "Torch", "torch"),
    "mkl": ("mkl", "MKL", "mkl"),
    "numba": ("loops", "Loops", "numba"),
    "strata-limit": ("limit", "Limit", "numba"),
    "graphblas": ("graphblas", "GraphBLAS", "python-graphblas"),
    "sparse": ("others", "PyData", "sparse"),
    "jax": ("others", "JAX", "jax"),
    "tensora": ("others", "Tensora", "tensora"),
    "sesum": ("others", "Sesum", "sesum"),
    "finch": ("others", "Finch", "finch-tensor-lite"),
}


def kernel_peer(name, threads):
    """A peer by name; ImportError or OSError where it is not installed."""
    module, kind, _ = PEERS[name]
    return getattr(importlib.import_module(f".{module}", __package__), kind)(threads)


def packages():
    """{peer: package on PyPI} of the libraries beside ours."""
    return {name: package for name, (_, _, package) in PEERS.items() if not name.startswith("strata")}
