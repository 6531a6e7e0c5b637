"""Breadth-first search: one product with the graph a step, over the semiring or-and.

The mask keeps what has been seen from being found again; no queue, no loop over edges.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

import strata as st

n = 2000
graph = sp.random(n, n, density=0.001, format="csr", rng=np.random.default_rng(12))
graph = sp.csr_matrix((graph + graph.T) != 0)
A = st.from_scipy(graph)

front = np.zeros(n, bool)
front[0] = True
level = np.where(front, 0, -1)
step = 0
while front.any():
    step += 1
    seen = level >= 0
    front = st.evaluate(
        "y(j) = A(i,j) * v(i)", A=A, v=front, semiring="or-and", mask=seen, complement_mask=True, format="dense"
    )
    assert not (front & seen).any()
    level[front] = step
    print(f"step {step}: {np.count_nonzero(front)} new nodes")

distance = shortest_path(graph, unweighted=True, indices=0)
assert np.array_equal(level, np.where(np.isinf(distance), -1, distance))
