"""A graph network of two layers (Kipf, Welling, 2017): each node takes the weighted mean of its neighbours' features."""

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from compare import compare, network, pick

import strata as st

nodes, edges, features, hidden, classes = pick(small=(1_000, 8_000, 16, 8, 4), full=(100_000, 1_500_000, 128, 64, 16))
graph = (network(nodes, edges) + sp.eye_array(nodes)).tocsr().astype(np.float32)
rng = np.random.default_rng(0)
X = rng.standard_normal((nodes, features), np.float32)
W1 = rng.standard_normal((features, hidden), np.float32) / 8
W2 = rng.standard_normal((hidden, classes), np.float32) / 8

warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
d = 1 / np.sqrt(graph.sum(axis=1))
A = st.evaluate("N(i,j) = d(i) * A(i,j) * d(j)", A=st.from_scipy(graph), d=d)
a = A.to_torch()  # no copy
x, w1, w2 = (torch.from_numpy(array) for array in (X, W1, W2))


def strata():
    H = np.maximum(A @ (X @ W1), 0)
    return A @ (H @ W2)


def pytorch():
    h = torch.relu(a @ (x @ w1))
    return (a @ (h @ w2)).numpy()


compare(f"{nodes:,} nodes, {graph.nnz:,} edges, {features} features", strata, pytorch, "torch", rtol=1e-4)
