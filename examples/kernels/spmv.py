"""SpMV: a sparse matrix times a vector. Iterative solvers, PageRank and pruned networks at batch 1 are little else.

The text of the algorithm is one line, whatever the storage; the storage decides how many bytes the product has to read.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

weights = sp.random(1000, 1000, density=0.1, format="csr", dtype=np.float32, rng=np.random.default_rng(0))  # pruned
x = np.sin(np.linspace(0, 3, 1000, dtype=np.float32))

A = st.from_scipy(weights)  # no copy
for text in ("CSR", "ELL", "(i, j) -> (i : dense, j : bitmap)", "(i, j) -> (i : dense, j : delta(8))"):
    B = A.to(text)
    y = st.evaluate("y(i) = B(i,j) * x(j)", B=B, x=x)  # also B @ x, and st.einsum("ij,j->i", B, x)
    assert np.allclose(y, weights @ x, rtol=1e-4)
    print(f"{text:35} {B.nbytes / B.nse:5.2f} bytes an element, the same y")
small = A.to("CSR", crd_dtype="uint16")
assert np.allclose(small @ x, weights @ x, rtol=1e-4)
print(f"{'CSR with 16-bit columns':35} {small.nbytes / small.nse:5.2f} bytes an element, the same y")
