"""Shortest paths: Bellman-Ford is a product over the semiring min-plus, repeated until nothing changes.

`*` is plus and `+` is minimum; what is not stored is no edge, which is infinitely far.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

import strata as st

n = 1000
roads = sp.random(n, n, density=0.004, format="csr", rng=np.random.default_rng(13))
W = st.from_scipy(roads)

d = np.full(n, np.inf)
d[0] = 0
for rounds in range(1, n):
    shorter = st.evaluate("e(j) = d(j) + W(i,j) * d(i)", W=W, d=d, semiring="min-plus")
    if np.array_equal(shorter, d):
        break
    d = shorter
assert np.allclose(d, dijkstra(roads, indices=0))
reached = np.isfinite(d)
print(f"{np.count_nonzero(reached)} of {n} places reached in {rounds} rounds; the farthest at {d[reached].max():.3f}")

widest = st.Semiring(add="max(a, b)", multiply="min(a, b)", zero=-np.inf)  # one of your own: a bottleneck's width
v = st.evaluate("e(j) = W(i,j) * d(i)", W=W, d=np.where(np.arange(n) == 0, np.inf, -np.inf), semiring=widest)
first = roads[0].toarray().ravel()
assert np.array_equal(v, np.where(first != 0, first, -np.inf))
print(f"widest road out of place 0: {v.max():.3f} to {int(np.argmax(v))}")
