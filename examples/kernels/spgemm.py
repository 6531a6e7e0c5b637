"""SpGEMM: a sparse matrix times a sparse one. Multigrid builds its coarse grids so, and graphs their paths of length two.

CSR times CSR goes row by row. CSR times CSC wants rows of one beside columns of the other, and gives the same result.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

n = 64
grid = sp.kronsum(*2 * [sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))], format="csr")  # 5-point stencil
coarse = np.arange(n * n) // 2
P = sp.csr_matrix((np.ones(n * n), (np.arange(n * n), coarse)))  # pairs of points become one

A, R = st.from_scipy(grid), st.from_scipy(sp.csr_matrix(P.T))
for text in ("CSR", "CSC"):
    Q = st.from_scipy(P).to(text)
    AQ = st.evaluate("C(i,k) = A(i,j) * Q(j,k)", A=A, Q=Q)  # also A @ Q
    assert AQ.format == st.Format("CSR") and abs(AQ.to_scipy() - grid @ P).max() < 1e-12
    print(f"CSR times {text}: {AQ.nse} elements in rows, sorted")

galerkin = st.einsum("ij,jk,kl->il", R, A, st.from_scipy(P))
assert abs(galerkin.to_scipy() - P.T @ grid @ P).max() < 1e-12
print(f"coarse operator: {galerkin.shape[0]} of {A.shape[0]} rows, {galerkin.nse} of {A.nse} elements")
