"""Counts of genes in cells, as single-cell analysis begins: every cell scaled to 10,000, the logarithm, mean and variance
of each gene."""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

cells, genes, density = pick(small=(500, 300, 0.1), full=(20_000, 5_000, 0.08))
rng = np.random.default_rng(0)
counts = sp.random_array((cells, genes), density=density, format="csr", rng=rng)
counts.data = rng.geometric(0.4, counts.nnz).astype(float)
C = st.from_scipy(counts)


def strata():
    N = st.evaluate("N(i,j) = log(1 + 10000 * C(i,j) / s(i))", C=C, s=np.maximum(C.sum(axis=1), 1))
    return N, N.mean(axis=0), N.var(axis=0)


def scipy():
    n = counts.copy()
    n.data *= np.repeat(10000 / np.maximum(counts.sum(axis=1), 1), np.diff(n.indptr))
    np.log1p(n.data, out=n.data)
    mean = n.mean(axis=0)
    return n, mean, n.power(2).mean(axis=0) - mean**2


compare(f"{cells:,} cells, {genes:,} genes, {counts.nnz:,} counts", strata, scipy, "SciPy")
