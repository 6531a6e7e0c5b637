"""SpGEMM of blocked matrices: BSR times BSR, and BSR times CSC. Elasticity and multi-field problems have such blocks.

The result is compressed unless another format is asked for: in blocks, whole blocks are multiplied and stored.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(5)
beams = sp.kron(sp.random(150, 150, density=0.03, rng=rng), np.ones((3, 3)), format="csr")  # 3 unknowns a node
beams.data = rng.random(beams.nnz)
want = (beams @ beams).toarray()

A = st.from_scipy(beams).to("BSR(3, 3)")
text = "C(i,k) = A(i,j) * B(j,k)"
in_blocks = st.evaluate(text, A=A, B=A, format="BSR(3, 3)")
compressed = st.evaluate(text, A=A, B=A)
mixed = st.evaluate(text, A=A, B=A.to("CSC"))

for name, C in (("BSR * BSR in BSR", in_blocks), ("BSR * BSR", compressed), ("BSR * CSC", mixed)):
    assert np.allclose(C.to_dense(), want)
    print(f"{name:18} {C.nse} elements, {C.nbytes} bytes in {C.format.name}")
