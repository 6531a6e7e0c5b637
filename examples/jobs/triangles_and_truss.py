"""Triangles and the 5-truss: the part of a network in which each edge closes at least three triangles.

A product of the network with itself, needed only at its edges: the mask keeps the rest from being computed.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, network, pick

import strata as st

nodes, edges = pick(small=(300, 3_000), full=(15_000, 250_000))
graph = network(nodes, edges)
graph = sp.csr_array((graph + graph.T) != 0).astype(np.int32)
A = st.from_scipy(graph)


def strata():
    E, triangles = A, None
    while True:
        S = st.evaluate("S(i,j) = E(i,k) * E(k,j)", E=E, mask=E)
        triangles = S.sum() // 6 if triangles is None else triangles
        kept = (S >= 3).drop_zeros()
        if kept.nse == E.nse:
            return triangles, E
        E = kept.astype(np.int32)


def scipy():
    e, triangles = graph, None
    while True:
        s = (e @ e).multiply(e)
        triangles = s.sum() // 6 if triangles is None else triangles
        kept = s >= 3
        if kept.nnz == e.nnz:
            return triangles, e
        e = kept.astype(np.int32)


compare(f"{nodes:,} nodes, {graph.nnz:,} elements", strata, scipy, "SciPy")
