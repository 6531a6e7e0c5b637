"""Matrices to time with: real ones that pyamg ships or assembles, and how all are handed to workers."""

import json
import os
import pathlib

import numpy as np


def example(name):
    """A real matrix that pyamg ships."""
    from pyamg.gallery import load_example

    return load_example(name)["A"]


def elasticity(n=600):
    """Linear elasticity on an n x n grid of bilinear elements: n = 600 gives 720,000 rows."""
    from pyamg.gallery import linear_elasticity

    return linear_elasticity((n, n))[0]


def prepare(a, fill_values=True):
    """Sorted CSR with int32 indices and values that are not all alike (patterns of ones hide mistakes)."""
    import scipy.sparse as sp

    a = sp.csr_matrix(a)
    a.sum_duplicates()
    a.sort_indices()
    if fill_values and a.nnz and np.all(a.data == a.data.flat[0]):
        a.data = np.random.default_rng(7).standard_normal(a.nnz).astype(a.dtype)
    return a


def save(a, folder):
    """A CSR matrix as .npy files that workers read."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "pos.npy", a.indptr.astype(np.int32 if a.nnz < 2**31 else np.int64))
    np.save(folder / "crd.npy", a.indices.astype(np.int32))
    np.save(folder / "values.npy", a.data)
    (folder / "shape.json").write_text(json.dumps(list(map(int, a.shape))))  # last: its presence says that all is there
    return str(folder)


def load(folder):
    import scipy.sparse as sp

    folder = pathlib.Path(folder)
    shape = tuple(json.loads((folder / "shape.json").read_text()))
    a = sp.csr_matrix((np.load(folder / "values.npy"), np.load(folder / "crd.npy"), np.load(folder / "pos.npy")), shape)
    a.has_sorted_indices = a.has_canonical_format = True
    return a


def cache():
    """Where what takes long to make is kept: matrices, compiled loops."""
    base = os.environ.get("STRATA_BENCH_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "strata", "bench"
    )
    return pathlib.Path(base)
