"""Any storage in one line, the algorithm once, and the reason why."""

import numpy as np
import scipy.sparse as sp

import strata as st

a = sp.random(600, 400, density=0.02, format="csr", random_state=1)
A = st.from_scipy(a)  # no copy
x = np.linspace(0, 1, 400)

for text in (
    "CSR",
    "CSC",
    "BSR(4, 4)",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (j - i : compressed, i : range)",
    "BSR(4, 4) + COO",
):
    B = A.to(text)
    assert np.allclose(B @ x, a @ x)
    print(f"{text:45} {B.nbytes:9} bytes")

print(st.plan("ij,j->i", A, x).explain())

try:
    A.to("(i, j) -> (i: dense, j: compresed)")
except st.FormatError as e:
    print(e)
