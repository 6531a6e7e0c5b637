"""Recommendations: ratings are factored into users times films by alternating least squares.

Each user's normal equations are a sum over the films that he rated: one expression for all users, then small solves.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

users, films, ratings, k = pick(small=(300, 200, 5_000, 8), full=(30_000, 8_000, 1_500_000, 16))
rng = np.random.default_rng(0)
places = (users * rng.random(ratings)).astype(np.int32), (films * rng.random(ratings) ** 2).astype(np.int32)
rated = sp.coo_array((np.ones(ratings), places), shape=(users, films)).tocsr()
rated.data = rng.integers(1, 6, rated.nnz).astype(float)
start = rng.random((films, k))
R = st.from_scipy(rated)
small = 0.1 * np.eye(k)


def strata():
    def factors(R, V):
        N = st.evaluate("N(i,k,l) = P(i,j) * V(j,k) * V(j,l)", P=R.with_values(np.ones(R.nse)), V=V)
        return np.linalg.solve(N + small, (R @ V)[..., None])[..., 0]

    U = factors(R, start)
    V = factors(R.T.to("CSR"), U)
    return U, V


def scipy():
    def factors(r, v):
        ones = sp.csr_array((np.ones(r.nnz), r.indices, r.indptr), r.shape)
        n = ones @ (v[:, :, None] * v[:, None, :]).reshape(-1, k * k)
        return np.linalg.solve(n.reshape(-1, k, k) + small, (r @ v)[..., None])[..., 0]

    u = factors(rated, start)
    v = factors(rated.T.tocsr(), u)
    return u, v


compare(f"{users:,} users, {films:,} films, {rated.nnz:,} ratings", strata, scipy, "SciPy", rtol=1e-6)
