"""Graph attention (Velickovic et al., 2018): scores on the edges, a softmax over each node's edges, a weighted sum.

SDDMM-like, row-wise, SpMM: three kinds of kernel, five lines of index notation. Every intermediate has the edges' pattern.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(11)
n, features = 1000, 16
graph = sp.random(n, n, density=0.01, format="csr", rng=rng) + sp.identity(n, format="csr")  # everyone sees themselves
graph.data[:] = 1
H = rng.standard_normal((n, features))
left, right = H @ rng.standard_normal(features), H @ rng.standard_normal(features)

A = st.from_scipy(graph)
E = st.evaluate("E(i,j) = A(i,j) * (max(p(i) + q(j), 0) + 0.2 * min(p(i) + q(j), 0))", A=A, p=left, q=right)
m = st.evaluate("m(i) = E(i,j) * o(j)", E=E, o=np.zeros(n), semiring="max-plus")  # the largest of the row's edges
W = st.evaluate("W(i,j) = A(i,j) * exp(E(i,j) - m(i))", A=A, E=E, m=m)
s = st.evaluate("s(i) = W(i,j)", W=W, format="dense")
P = st.evaluate("P(i,j) = W(i,j) / s(i)", W=W, s=s)
Y = P @ H

score = left[:, None] + right[None, :]
score = np.where(graph.toarray() != 0, np.where(score > 0, score, 0.2 * score), -np.inf)
softmax = np.exp(score - score.max(1, keepdims=True))
softmax /= softmax.sum(1, keepdims=True)
assert P.nse == A.nse and np.allclose(P.to_dense(), softmax) and np.allclose(Y, softmax @ H)
strongest = np.argmax(softmax) // n, np.argmax(softmax) % n
print(f"{A.nse} edges; node {strongest[0]} looks at {strongest[1]} with weight {softmax.max():.3f}; Y is {Y.shape}")
