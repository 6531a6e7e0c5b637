"""Three-way add: one pass over three sparse matrices instead of two sums with a matrix in between.

Mass, damping and stiffness of a structure: one effective matrix a time step.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(4)
n, h = 3000, 0.01
stiffness = sp.random(n, n, density=0.002, format="csr", rng=rng)
damping = sp.random(n, n, density=0.001, format="csc", rng=rng)
mass = sp.diags(rng.random(n), format="dia")

K, C, M = st.from_scipy(stiffness), st.from_scipy(damping), st.from_scipy(mass)  # CSR, CSC, DIA: as they come
E = st.evaluate(f"E(i,j) = M(i,j) / {h * h} + C(i,j) / {2 * h} + K(i,j)", M=M, C=C, K=K, format="CSR")

want = mass / h**2 + damping / (2 * h) + stiffness
assert abs(E.to_scipy() - want).max() < 1e-9 * abs(want).max()
print(" + ".join(f"{t.format.name} {t.nse}" for t in (M, C, K)), "->", E.format.name, E.nse, "elements")
