"""How each library computes A @ x in each of its formats."""

import numpy as np

from strata._timing.peers import Prepared, latest

from . import delta_kernel
from .cases import Stencil

#: the formats of the stencil, and what each library calls them
STENCIL = ("COO", "CSR", "DIA")
#: Strata's formats of the weights; the last one is run by a kernel that a user registers
WEIGHTS = ("dense", "CSR", "CSR uint16", "bitmap", "delta(4)", "delta(4), user's kernel")


class Strata:
    """Our own kernels alone."""

    def __init__(self, threads):
        import strata as st

        self.st, self.threads = st, threads
        st.settings.threads, st.settings.vendor = threads, False

    def series(self, case):
        return STENCIL if isinstance(case, Stencil) else WEIGHTS

    def prepare(self, case, a, x, name):
        st = self.st
        delta_kernel.unregister()
        if name.endswith("user's kernel"):
            delta_kernel.register(self.threads)
        format, _, crd = name.partition(",")[0].partition(" ")
        t = st.from_scipy(a).to(format) if isinstance(case, Stencil) else st.from_dense(a, format)
        if crd:
            t = t.to(format, crd_dtype=crd)
        y = np.empty(a.shape[0], a.dtype)
        product = st.Matmul(t, x, y, beta=0)  # planned once
        plan = product.plan()
        delta_kernel.unregister()
        return Prepared(product.execute, lambda: y, note=f"{plan.kernel_name}, {t.nbytes:,} bytes")


def csr_of(a):
    """(pos, crd, values) of a dense array or of SciPy's CSR."""
    if hasattr(a, "indptr"):
        return a.indptr, a.indices, a.data
    import strata as st

    t = st.from_dense(a, "CSR")
    return t.pos(1), t.crd(1), t.values


class SciPy:
    """SciPy's sparse formats, NumPy's dense array; only the latter has threads."""

    def __init__(self, threads):
        pass

    def series(self, case):
        return STENCIL if isinstance(case, Stencil) else ("dense", "CSR")

    def prepare(self, case, a, x, name):
        import scipy.sparse as sp

        m = a
        if name != "dense":
            if a.dtype == np.float16:
                raise TypeError(
                    "SciPy's sparse arrays have no float16"
                )  # it takes the arrays, and converts them at each product
            pos, crd, values = csr_of(a)
            m = sp.csr_array((values, crd, pos), a.shape).asformat(name.lower())
        return latest(lambda: m @ x)


class Torch:
    """torch.sparse with the index types that it takes; its default is int64."""

    def __init__(self, threads):
        import warnings

        import torch

        warnings.filterwarnings("ignore")
        torch.set_num_threads(threads)
        self.torch = torch

    def series(self, case):
        return ("COO", "CSR int32", "CSR int64") if isinstance(case, Stencil) else ("dense", "CSR int32", "CSR int64")

    def prepare(self, case, a, x, name):
        import scipy.sparse as sp

        t, v = self.torch, self.torch.from_numpy(x)
        if name == "dense":
            m = t.from_numpy(a)
        elif name == "COO":
            c = sp.coo_array(a)
            indices = t.from_numpy(np.stack([c.row, c.col]).astype(np.int64))
            m = t.sparse_coo_tensor(indices, t.from_numpy(c.data), c.shape, is_coalesced=True)
        else:
            index = getattr(t, name.split()[1])
            pos, crd, values = map(t.from_numpy, csr_of(a))
            m = t.sparse_csr_tensor(pos.to(index), crd.to(index), values, a.shape)
        p = latest(lambda: m @ v)
        result = p.result
        p.result = lambda: result().numpy()
        return p


PEERS = {"Strata": Strata, "SciPy": SciPy, "torch": Torch}
