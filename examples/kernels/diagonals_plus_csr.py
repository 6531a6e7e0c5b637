"""A banded matrix plus scattered entries, gathered as coordinates: DIA + CSR to COO.

Discretizations give diagonals, couplings give scattered entries; a library for one format cannot add the other. Here the
three formats meet in one expression.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

n = 3000
band = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], shape=(n, n), format="dia")
couplings = sp.random(n, n, density=0.0005, format="csr", rng=np.random.default_rng(2))

D, A = st.from_scipy(band), st.from_scipy(couplings)
C = st.evaluate("C(i,j) = D(i,j) + A(i,j)", D=D, A=A, format="COO")

assert C.format == st.Format("COO") and abs(C.to_scipy() - (band + couplings)).max() < 1e-12
for name, t in (("D", D), ("A", A), ("C", C)):
    print(f"{name}  {t.format.name:5} {t.nse:6} elements {t.nbytes:7} bytes")
