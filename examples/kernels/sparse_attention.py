"""Sparse attention (Child et al., 2019): each position looks at a window around it and at every 32nd position.

SDDMM, softmax by rows and SpMM in one expression. Scores are computed where the pattern has something and nowhere else, once for
numerator and denominator; the heads share the pattern.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(17)
n, heads, features, window, stride = 600, 4, 16, 8, 32
Q, K, V = rng.standard_normal((3, n, heads, features))
Q /= np.sqrt(features)

i, j = np.indices((n, n), sparse=True)
seen = (j <= i) & ((i - j < window) | (j % stride == 0))
A = st.from_scipy(sp.csr_array(seen.astype(float)))

weight = "A(i,j) * exp(sum(d, Q(i,h,d) * K(j,h,d)))"
Y = st.evaluate(f"Y(i,h,k) = sum(j, {weight} * V(j,h,k)) / sum(j, {weight})", A=A, Q=Q, K=K, V=V)

score = np.where(seen, np.exp(np.einsum("ihd,jhd->hij", Q, K)), 0)
assert np.allclose(Y, np.einsum("hij,jhk->ihk", score / score.sum(2, keepdims=True), V))
print(f"{heads * A.nse} scores instead of {heads * n * n}; Y is {Y.shape}")
