"""TTM: a sparse tensor times a matrix along one dimension, the kernel of Tucker decomposition.

Y(i,j,r) = X(i,j,k) * U(k,r). Where (i,j) has nothing, Y has nothing: with `format=` the result says so and stays small.
"""

import numpy as np

import strata as st

rng = np.random.default_rng(7)
shape, rank = (200, 150, 100), 8
at = [rng.integers(0, n, 3000) for n in shape]
X = st.from_coo(at, rng.random(3000), shape, "CSF")
U = rng.random((shape[2], rank))
want = np.einsum("ijk,kr->ijr", X.to_dense(), U)

text = "Y(i,j,r) = X(i,j,k) * U(k,r)"
Y = st.evaluate(text, X=X, U=U)  # U is dense, so is the result unless told otherwise
assert np.allclose(Y, want)
S = st.evaluate(text, X=X, U=U, format="(i, j, r) -> (i : compressed, j : compressed, r : dense)")
assert np.allclose(S.to_dense(), want)
print(f"dense result {Y.nbytes} bytes, fibres of {rank} where there is something {S.nbytes} bytes")
