"""Labels spread over a graph: (L + I / 20) x = y / 20 with its Laplacian L, by conjugate gradients, preconditioned by its diagonal.

SciPy's cg takes a tensor as it takes a matrix: all that changes is who multiplies.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, network, pick
from scipy.sparse.linalg import cg

import strata as st

nodes, edges = pick(small=(2_000, 10_000), full=(200_000, 1_500_000))
graph = network(nodes, edges)
graph = (graph + graph.T).tocsr()
A = st.from_scipy(graph)
y = np.where(np.arange(nodes) % 100 == 0, np.random.default_rng(1).choice([-1.0, 1.0], nodes), 0)


def strata():
    d = A.sum(axis=1) + 0.05
    return cg(st.diags(d, format="CSR") - A, 0.05 * y, rtol=1e-10, M=st.diags(1 / d))[0]


def scipy():
    d = graph.sum(axis=1) + 0.05
    return cg(sp.diags_array(d, format="csr") - graph, 0.05 * y, rtol=1e-10, M=sp.diags_array(1 / d))[0]


compare(f"{nodes:,} nodes, {graph.nnz:,} elements", strata, scipy, "SciPy", rtol=1e-7)
