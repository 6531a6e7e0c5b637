"""Sparse attention: each place looks at those just before it and at every 64th place (Child et al., 2019).

Scores are computed where the pattern has something, and lie there side by side for all heads; torch computes all scores
and masks them.
"""

import numpy as np
import scipy.sparse as sp
import torch
from compare import compare, pick

import strata as st

n, heads, d, window, stride = pick(small=(200, 2, 16, 16, 32), full=(4_096, 8, 64, 64, 64))
rng = np.random.default_rng(0)
Q, K, V = rng.standard_normal((3, n, heads, d), np.float32)
Q /= np.sqrt(d, dtype=np.float32)
i, j = np.indices((n, n), sparse=True)
seen = (j <= i) & ((i - j < window) | (j % stride == 0))
P = st.from_scipy(sp.csr_array(seen.astype(np.float32)))
q, k, v, mask = (torch.from_numpy(np.ascontiguousarray(x)) for x in (*(t.swapaxes(0, 1) for t in (Q, K, V)), seen))


def strata():
    heads_inside = "(i, j, h) -> (i: dense, j: compressed, h: dense)"
    W = st.evaluate("W(i,j,h) = P(i,j) * exp(sum(d, Q(i,h,d) * K(j,h,d)))", P=P, Q=Q, K=K, format=heads_inside)
    Y = st.evaluate("Y(i,h,d) = W(i,j,h) * V(j,h,d)", W=W, V=V)
    return Y / W.sum(axis=1)[:, :, None]


def pytorch():
    y = torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, scale=1.0)
    return y[0].swapaxes(0, 1).numpy()


compare(f"{n:,} places, {heads} heads of {d}, {P.nse / n**2:.1%} seen", strata, pytorch, "torch", rtol=1e-4)
