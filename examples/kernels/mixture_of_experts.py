"""Mixture of experts: each token goes to a few of many experts, `einsum("bnd,ndh->bnh", X, W)`.

X holds a row of d features where token b was sent to expert n, and nothing elsewhere: (b, n) is sparse, d is dense. Most
of the dense einsum multiplies zeros; here only what was routed is computed.
"""

from timeit import repeat

import numpy as np

import strata as st

rng = np.random.default_rng(10)
tokens, experts, d, h, chosen = 128, 32, 64, 48, 2
x, W = rng.standard_normal((tokens, d)), rng.standard_normal((experts, d, h))
gate = np.zeros((tokens, experts))
np.put_along_axis(gate, rng.random((tokens, experts)).argsort(1)[:, :chosen], 1 / chosen, 1)
dense = np.where(gate[:, :, None] != 0, gate[:, :, None] * x[:, None, :], 0)  # +0 where nothing is sent

X = st.from_dense(dense, "(b, n, d) -> (b : dense, n : compressed, d : dense)")
Y = st.einsum("bnd,ndh->bnh", X, W, format=X.format)  # only the pairs (b, n) that X has
want = np.einsum("bnd,ndh->bnh", dense, W, optimize=True)
assert np.allclose(Y.to_dense(), want)

y = st.evaluate("y(b,h) = Y(b,n,h)", Y=Y, format="dense")  # a token's experts are added
assert np.allclose(y, want.sum(1))

print(f"{tokens} tokens, {chosen} of {experts} experts each: {Y.nse} of {want.size} elements")
for name, f in (
    ("sparse", lambda: st.einsum("bnd,ndh->bnh", X, W, format=X.format)),
    ("NumPy, dense", lambda: np.einsum("bnd,ndh->bnh", dense, W, optimize=True)),
):
    print(f"{name:12} {min(repeat(f, number=1, repeat=5)) * 1e3:6.2f} ms")
