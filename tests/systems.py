"""Matrices of linear systems, as SciPy's arrays, and the formats in which they are solved."""

import functools

import numpy as np
import scipy.sparse as sp
from named_formats import COMMON

FORMATS = COMMON
DTYPES = ["float32", "float64", "complex64", "complex128"]
#: relative error of a solution that is as good as the dtype allows, for matrices of moderate condition
RTOL = {"float32": 2e-3, "complex64": 2e-3, "float64": 1e-9, "complex128": 1e-9}


def values(rng, n, dtype):
    x = rng.standard_normal(n)
    return (x + 1j * rng.standard_normal(n) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def poisson(rows, columns, dtype="float64"):
    """The five-point stencil."""
    t = lambda n: sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(sp.eye_array(rows), t(columns)) + sp.kron(t(rows), sp.eye_array(columns))).astype(dtype)


@functools.lru_cache(None)
def system(kind, dtype="float64", n=40, seed=0):
    """A well-conditioned matrix of this structure, with no more order than its name says."""
    rng = np.random.default_rng(seed)
    a = sp.random_array((n, n), density=0.1, rng=rng, format="csr")
    a.data = values(rng, a.nnz, dtype)
    big = sp.diags_array(6 + rng.random(n))
    if kind == "general":
        a = (a + big)[rng.permutation(n)]
    elif kind == "diagonal":
        a = sp.diags_array(values(rng, n, dtype) + 3)
    elif kind == "lower":
        a = sp.tril(a) + big
    elif kind == "upper":
        a = sp.triu(a) + big
    elif kind == "tridiagonal":
        a = sp.diags_array(
            [values(rng, n - 1, dtype), values(rng, n, dtype), values(rng, n - 1, dtype)], offsets=[-1, 0, 1]
        )
    elif kind == "banded":
        a = sp.diags_array([values(rng, n - abs(k), dtype) for k in range(-2, 4)], offsets=range(-2, 4))
    elif kind == "positive":
        a = a + a.conj().T + 3 * big
    elif kind == "indefinite":
        signs = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
        a = a + a.conj().T + 3 * sp.diags_array(signs * big.diagonal())
    elif kind == "saddle":  # zeros on the diagonal: no LDL^H without pivoting
        b = sp.random_array((n // 2, n // 2), density=0.1, rng=rng) + 3 * sp.eye_array(n // 2)
        a = sp.block_array([[None, b], [b.T, None]])
    else:
        raise KeyError(kind)
    return sp.csr_array(a).astype(dtype)


KINDS = ["general", "diagonal", "lower", "upper", "tridiagonal", "banded", "positive", "indefinite", "saddle"]
