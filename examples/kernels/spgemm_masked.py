"""Masked SpGEMM: only those elements of a sparse product that a mask asks for, or all but those.

A mask is structural: it decides which elements exist and is never a factor. Here: who knows somebody who knows me, and
is known to me already (the mask), or is not (the complement).
"""

import numpy as np
import scipy.sparse as sp

import strata as st

a = sp.random(1500, 1500, density=0.004, format="csr", rng=np.random.default_rng(3))
a.data[:] = 1
A = st.from_scipy(a)
product, known = (a @ a).toarray(), a.toarray() != 0

text = "C(i,k) = A(i,j) * B(j,k)"
friends = st.evaluate(text, A=A, B=A, mask=A)
strangers = st.evaluate(text, A=A, B=A, mask=A, complement_mask=True)

assert np.array_equal(friends.to_dense(), np.where(known, product, 0))
assert np.array_equal(strangers.to_dense(), np.where(known, 0, product))
i, k = np.unravel_index(np.argmax(strangers.to_dense()), a.shape)
print(f"{A.nse} acquaintances; {friends.nse} have a common one, {strangers.nse} pairs could be introduced,")
print(f"first {i} to {k}, who have {strangers[int(i), int(k)]:.0f} in common")
