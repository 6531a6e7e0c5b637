"""Sparse plus sparse: the union of two patterns. Updates of a matrix, differences of two graphs.

Where both have an element the two are added, where one has it that one is taken. Any formats, any of + - min max.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(1)
a, b = (sp.random(4000, 4000, density=0.001, format="csr", rng=rng) for _ in range(2))
A, B = st.from_scipy(a), st.from_scipy(b)

C = st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=A, B=B)
assert C.format == st.Format("CSR") and abs(C.to_scipy() - (a + b)).max() < 1e-12
print(f"{A.nse} + {B.nse} elements unite to {C.nse}: {A.nse + B.nse - C.nse} places are in both")

D = st.evaluate("D(i,j) = A(i,j) - 2 * B(j,i)", A=A, B=B.to("BSR(2, 2)"))  # transposed, and in blocks
assert abs(D.to_scipy() - (a - 2 * b.T)).max() < 1e-12
M = st.evaluate("M(i,j) = max(A(i,j), B(i,j))", A=A, B=B)
assert abs(M.to_scipy() - a.maximum(b)).max() < 1e-12
print(f"A - 2 B^T has {D.nse}, their maximum {M.nse}")
