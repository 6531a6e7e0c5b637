"""PageRank: where does a walk along the links of a network end, that starts anew now and then?

The network is scaled by the links that leave each page and turned round, in one expression; each step is one product.
"""

import numpy as np
from compare import compare, network, pick

import strata as st

pages, links = pick(small=(2_000, 20_000), full=(300_000, 4_000_000))
graph = network(pages, links)
A = st.from_scipy(graph)
stay, steps = 0.85, 30


def strata():
    leaving = np.maximum(A.sum(axis=1), 1)
    M = st.evaluate("M(j,i) = A(i,j) / d(i)", A=A, d=leaving, format="CSR")
    rank = np.full(pages, 1 / pages)
    for _ in range(steps):
        rank = stay * (M @ rank)
        rank += (1 - rank.sum()) / pages
    return rank


def scipy():
    leaving = np.maximum(graph.sum(axis=1), 1)
    m = graph.multiply(1 / leaving[:, None]).T.tocsr()
    rank = np.full(pages, 1 / pages)
    for _ in range(steps):
        rank = stay * (m @ rank)
        rank += (1 - rank.sum()) / pages
    return rank


compare(f"{pages:,} pages, {graph.nnz:,} links, {steps} steps", strata, scipy, "SciPy")
