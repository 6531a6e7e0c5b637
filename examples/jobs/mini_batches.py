"""Logistic regression by mini-batches: some rows of a large sparse matrix, a product, and one with the transpose."""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

samples, features, each, batch = pick(small=(1_000, 500, 20, 100), full=(200_000, 20_000, 50, 1_000))
rng = np.random.default_rng(0)
column = (features * rng.random(samples * each) ** 2).astype(np.int32)
row = np.repeat(np.arange(samples, dtype=np.int32), each)
data = sp.coo_array((rng.random(len(row)), (row, column)), shape=(samples, features)).tocsr()
label = rng.integers(0, 2, samples).astype(float)
batches = np.array_split(rng.permutation(samples), samples // batch)
X = st.from_scipy(data)


def strata():
    w = np.zeros(features)
    for rows in batches:
        B = X[rows]
        guess = 1 / (1 + np.exp(-(B @ w)))
        w -= 0.1 / batch * (B.T @ (guess - label[rows]))
    return w


def scipy():
    w = np.zeros(features)
    for rows in batches:
        b = data[rows]
        guess = 1 / (1 + np.exp(-(b @ w)))
        w -= 0.1 / batch * (b.T @ (guess - label[rows]))
    return w


compare(f"{len(batches)} batches of {batch:,} rows, {data.nnz:,} elements", strata, scipy, "SciPy")
