"""Reachability: to which places does a way lead from each of 32 starts? Products over the semiring or-and, until no new
ones are found. SciPy searches from one start after the other."""

import numpy as np
from compare import compare, network, pick
from scipy.sparse.csgraph import breadth_first_order

import strata as st

places, ways = pick(small=(1_000, 3_000), full=(200_000, 600_000))
graph = network(places, ways)
starts = np.argsort(np.diff(graph.indptr))[-32:]  # those of most ways
A = st.from_scipy(graph.astype(bool))


def strata():
    seen = np.zeros((places, len(starts)), bool)
    seen[starts, np.arange(len(starts))] = True
    while True:
        more = st.evaluate("R(j,s) = seen(j,s) + A(i,j) * seen(i,s)", A=A, seen=seen, semiring="or-and")
        if np.array_equal(more, seen):
            return seen
        seen = more


def scipy():
    seen = np.zeros((places, len(starts)), bool)
    for s, start in enumerate(starts):
        seen[breadth_first_order(graph, start, return_predecessors=False), s] = True
    return seen


compare(f"{places:,} places, {graph.nnz:,} ways, {len(starts)} starts", strata, scipy, "SciPy")
