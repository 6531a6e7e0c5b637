"""Finite elements with a conductivity that changes: the stiffness matrix gets new values in the pattern it has.

Its values are linear in the conductivity of the elements, so that a product fills them; then a step towards equilibrium.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

n, steps = pick(small=(20, 3), full=(500, 10))
corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()  # of each square, which is cut into two triangles
triangles = np.concatenate([corner[:, None] + [0, 1, n + 1], corner[:, None] + [n + 2, n + 1, 1]])
nodes, elements = (n + 1) ** 2, len(triangles)
local = np.array([[1, -0.5, -0.5], [-0.5, 0.5, 0], [-0.5, 0, 0.5]])  # of a triangle with a right angle

rows = triangles[:, :, None].repeat(3, 2).ravel()
columns = triangles[:, None, :].repeat(3, 1).ravel()
places, slot = np.unique(rows * nodes + columns, return_inverse=True)
element = np.repeat(np.arange(elements), 9)
load = np.full(nodes, 1 / nodes)

K0 = st.from_coo((places // nodes, places % nodes), np.ones(len(places)), (nodes, nodes), "CSR")
G = st.from_coo((slot, element), np.tile(local.ravel(), elements), (len(places), elements), "CSR")
T = st.from_coo((element, rows), np.full(len(rows), 1 / 9), (elements, nodes), "CSR")  # the mean of the three corners
k0, g, t = (tensor.to_scipy(copy=True) for tensor in (K0, G, T))


def strata():
    u = np.zeros(nodes)
    for _ in range(steps):
        K = K0.with_values(G @ (1 + (T @ u) ** 2))
        u = u + 0.2 * (load - K @ u)
    return u


def scipy():
    u = np.zeros(nodes)
    for _ in range(steps):
        k = sp.csr_array((g @ (1 + (t @ u) ** 2), k0.indices, k0.indptr), k0.shape)
        u = u + 0.2 * (load - k @ u)
    return u


compare(f"{elements:,} triangles, {len(places):,} elements, {steps} steps", strata, scipy, "SciPy")
