"""CP decomposition of a sparse tensor of three dimensions: it is taken for a sum of a few outer products.

All the work is MTTKRP, one line of index notation a mode. NumPy has nothing like it; SciPy sums rows by a matrix of ones.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

shape, count, rank = pick(small=((60, 50, 40), 3_000, 4), full=((4_000, 3_000, 2_000), 1_500_000, 16))
rng = np.random.default_rng(0)
coords = [(n * rng.random(count) ** 1.5).astype(np.int32) for n in shape]
X = st.from_coo(coords, rng.random(count), shape, "CSF")
start = [rng.random((n, rank)) for n in shape]

coords, values = X.coords, X.to("COO(3)").values  # sorted, duplicates added
one = np.ones(len(values))
rows = [sp.csr_array((one, (c, np.arange(len(values)))), shape=(n, len(values))) for c, n in zip(coords, shape)]


def strata():
    A, B, C = start
    A = st.evaluate("M(i,r) = X(i,j,k) * B(j,r) * C(k,r)", X=X, B=B, C=C) @ np.linalg.pinv((B.T @ B) * (C.T @ C))
    B = st.evaluate("M(j,r) = X(i,j,k) * A(i,r) * C(k,r)", X=X, A=A, C=C) @ np.linalg.pinv((A.T @ A) * (C.T @ C))
    C = st.evaluate("M(k,r) = X(i,j,k) * A(i,r) * B(j,r)", X=X, A=A, B=B) @ np.linalg.pinv((A.T @ A) * (B.T @ B))
    return A, B, C


def scipy():
    factors = list(start)
    for mode in range(3):
        p, q = (m for m in range(3) if m != mode)
        products = values[:, None] * factors[p][coords[p]] * factors[q][coords[q]]
        gram = (factors[p].T @ factors[p]) * (factors[q].T @ factors[q])
        factors[mode] = (rows[mode] @ products) @ np.linalg.pinv(gram)
    return tuple(factors)


compare(f"{X.nse:,} elements, rank {rank}, one sweep", strata, scipy, "SciPy", rtol=1e-6)
