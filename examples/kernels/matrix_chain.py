"""A chain of sparse matrices whose result is sparse too: which product comes first is chosen by what it costs.

Paths author - paper - word - topic: from whom does one get to what, in three steps. In between nothing is dense.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(17)
written = sp.random(3000, 6000, density=0.0005, format="csr", rng=rng)
words = sp.random(6000, 4000, density=0.004, format="csr", rng=rng)
topics = sp.random(4000, 12, density=0.01, format="csr", rng=rng)
W, V, T = map(st.from_scipy, (written, words, topics))

D = st.einsum("ij,jk,kl->il", W, V, T)  # also "D(i,l) = W(i,j) * V(j,k) * T(k,l)"
want = written @ words @ topics
assert isinstance(D, st.Tensor) and abs(D.to_scipy() - want).max() < 1e-12
print(f"{W.nse} x {V.nse} x {T.nse} elements -> {D.nse}, in {D.format.name}")

d = rng.random(6000) + 1
scaled = st.einsum("ij,j,kj->ik", W, d, W, format="CSR")  # W diag(d) W^T: who writes together
assert abs(scaled.to_scipy() - written @ sp.diags(d) @ written.T).max() < 1e-12
print(f"W diag(d) W^T has {scaled.nse} elements, its trace is {scaled.to_scipy().trace():.2f}")
