"""Conversions from one storage to another, by Strata and by the libraries that have some."""

import ctypes
import dataclasses

import numpy as np

from strata._timing.matrices import load
from strata._timing.mkl import NON_TRANSPOSE, ROW_MAJOR, SCALARS, TRANSPOSE
from strata._timing.peers import Prepared, latest


@dataclasses.dataclass(frozen=True)
class Conversion:
    """What a worker is asked to time. Storages: CSR, CSC, BSR(3, 3), DIA, dense; as a source also COO (in no order, every fourth
    element twice)."""

    matrix: str  # folder of the .npy files
    source: str
    target: str
    dtype: str = ""  # "" keeps the matrix's

    def data(self):
        """(A, None): the same for every worker."""
        a = load(self.matrix)
        return (a.astype(self.dtype) if self.dtype else a), None


def coordinates(a):
    """(rows, columns, values) in random order, every fourth element split in two: what COO to CSR has to sort and add."""
    r = np.random.default_rng(17)
    rows = np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))
    again = r.integers(0, a.nnz, a.nnz // 4) if a.nnz else np.zeros(0, np.int64)
    order = r.permutation(a.nnz + len(again))
    take = np.concatenate([np.arange(a.nnz), again])[order]
    return rows[take], a.indices[take].astype(np.int32), a.data[take]


def by_strata(strata, case, a):
    st = strata.st
    if case.source == "COO":
        rows, cols, values = coordinates(a)
        return lambda: st.from_coo((rows, cols), values, a.shape, case.target)
    if case.source == "dense":
        dense = a.toarray()
        return lambda: st.from_dense(dense, case.target)
    source = st.from_scipy(a).to(case.source)
    return lambda: source.to(case.target)


def by_scipy(_, case, a):
    import scipy.sparse as sp

    if case.source == "COO":
        rows, cols, values = coordinates(a)
        coo = sp.coo_matrix((values, (rows, cols)), a.shape)
        return lambda: coo.tocsr()
    if case.source == "dense":
        dense = a.toarray()
        return lambda: sp.csr_matrix(dense)
    convert = {
        "CSR": lambda m: m.tocsr(),
        "CSC": lambda m: m.tocsc(),
        "DIA": lambda m: m.todia(),
        "BSR(3, 3)": lambda m: m.tobsr((3, 3)),
        "dense": lambda m: m.toarray(),
    }
    source = convert[case.source](a)
    return lambda: convert[case.target](source)


def by_torch(torch, case, a):
    t = torch.torch
    if case.source == "COO":
        rows, cols, values = coordinates(a)
        where, values = t.from_numpy(np.stack([rows, cols]).astype(np.int64)), t.from_numpy(values)
        return lambda: t.sparse_coo_tensor(where, values, a.shape).coalesce().to_sparse_csr()
    if case.source == "dense":
        return t.from_numpy(a.toarray()).to_sparse_csr
    m = torch.csr(a)
    if case.target == "CSC":
        return m.to_sparse_csc
    if case.source == "CSC":
        return m.to_sparse_csc().to_sparse_csr
    if case.target == "dense":
        return m.to_dense
    if case.target.startswith("BSR") and a.shape[0] <= 20_000:  # its algorithm is quadratic in the block grid
        return lambda: m.to_sparse_bsr((3, 3))
    raise LookupError("torch has no such conversion, or is quadratic in it")


def by_mkl(mkl, case, a):
    lib, mkl.keep = mkl.lib, []
    if case.source == "COO":
        source, how = _coo_of_mkl(mkl, a), ("csr", NON_TRANSPOSE)
    elif (case.source, case.target) in (("CSR", "CSC"), ("CSC", "CSR")):  # of CSC: the transpose's rows
        source, how = mkl.create(a if case.source == "CSR" else a.T.tocsr())[0], ("csr", TRANSPOSE)
    elif case.source == "CSR" and case.target.startswith("BSR") and a.shape[0] % 3 == 0:
        source, how = mkl.create(a)[0], ("bsr", ctypes.c_int(3), ROW_MAJOR, NON_TRANSPOSE)
    else:
        raise LookupError("MKL has no such conversion")
    convert = getattr(lib, f"mkl_sparse_convert_{how[0]}")

    def run():
        out = ctypes.c_void_p()
        mkl.check(convert(source, *how[1:], ctypes.byref(out)), f"convert_{how[0]}")
        lib.mkl_sparse_destroy(out)

    return run


def _coo_of_mkl(mkl, a):
    rows, cols, values = coordinates(a)
    mkl.keep += [rows, cols, values]
    coo = ctypes.c_void_p()
    create = getattr(mkl.lib, f"mkl_sparse_{SCALARS[str(a.dtype)][0]}_create_coo")
    sizes = (ctypes.c_int(n) for n in (*a.shape, len(values)))
    arrays = (ctypes.c_void_p(x.ctypes.data) for x in (rows, cols, values))
    mkl.check(create(ctypes.byref(coo), 0, *sizes, *arrays), "create_coo")
    return coo


BY = {"strata": by_strata, "scipy": by_scipy, "torch": by_torch, "torch-int32": by_torch, "mkl": by_mkl}


def prepare(name, library, case, a):
    """There is no result to compare: it stays in the library's own storage."""
    return Prepared(latest(BY[name](library, case, a)).run)
