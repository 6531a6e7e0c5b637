"""SDDMM: entries of a dense product, computed only where a sparse matrix has something (factorization of ratings).

C(i,j) = S(i,j) * sum over k of U(i,k) * V(j,k). The result has the pattern of S; the dense product never exists.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(0)
users, films, features = 2000, 3000, 16
rated = sp.random(users, films, density=0.003, format="csr", rng=rng)
rated.data[:] = 1
U, V = rng.standard_normal((users, features)), rng.standard_normal((films, features))

S = st.from_scipy(rated)
C = st.evaluate("C(i,j) = S(i,j) * U(i,k) * V(j,k)", S=S, U=U, V=V)

i, j = rated.nonzero()
assert C.format == S.format and C.nse == S.nse
assert np.allclose(C.values, np.einsum("nk,nk->n", U[i], V[j]))
print(f"{C.nse} predicted ratings instead of {users * films}, in {C.nbytes} bytes")
why = st.explain("C(i,j) = S(i,j) * U(i,k) * V(j,k)", S=S, U=U, V=V)
print(next(line.strip() for line in why.splitlines() if "result" in line))
