"""Triangle counting: how clustered is a network? Of its lower triangle L: the sum of L(i,j) * L(j,k) * L(i,k).

As GraphBLAS does it: a product L L under the mask L, then a sum. Or the three factors at once.
"""

import networkx as nx
import numpy as np
import scipy.sparse as sp

import strata as st

graph = nx.powerlaw_cluster_graph(1500, 6, 0.3, seed=1)
lower = sp.csr_matrix(sp.tril(nx.to_scipy_sparse_array(graph, dtype=np.int64), -1))
want = sum(nx.triangles(graph).values()) // 3

L = st.from_scipy(lower)
support = st.evaluate("C(i,k) = L(i,j) * L(j,k)", L=L, mask=L)  # of each edge: triangles that it closes
count = int(st.evaluate("t = C(i,k)", C=support))
assert count == want == int(st.evaluate("t = L(i,j) * L(j,k) * L(i,k)", L=L))
print(
    f"{graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges, {count} triangles; one edge closes {support.values.max()}"
)
