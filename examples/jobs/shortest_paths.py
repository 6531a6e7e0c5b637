"""Shortest paths from one place: Bellman and Ford's rounds are products over the semiring min-plus.

`*` is plus, and `+` is minimum; what is not stored is no road. SciPy's way is Dijkstra's, one place after the other.
"""

import numpy as np
from compare import compare, network, pick
from scipy.sparse.csgraph import dijkstra

import strata as st

places, roads = pick(small=(1_000, 8_000), full=(200_000, 2_000_000))
graph = network(places, roads)
graph.data = np.random.default_rng(1).uniform(1, 2, graph.nnz)
start = np.argmax(np.diff(graph.indptr))  # the place of most roads
W = st.from_scipy(graph)


def strata():
    d = np.full(places, np.inf)
    d[start] = 0
    while True:
        shorter = st.evaluate("e(j) = d(j) + d(i) * W(i,j)", W=W, d=d, semiring="min-plus")
        if np.array_equal(shorter, d):
            return d
        d = shorter


def scipy():
    return dijkstra(graph, indices=start)


compare(f"{places:,} places, {graph.nnz:,} roads", strata, scipy, "SciPy")
