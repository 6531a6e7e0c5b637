"""SpMM: a sparse matrix times a dense one with a few columns. Graph neural networks spend their time here.

Every stored element is read once and used for all columns, so it is worth far more than a SpMV per column.
"""

from timeit import repeat

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(0)
a = sp.random(5000, 5000, density=0.002, format="csr", rng=rng)
A, X = st.from_scipy(a), rng.random((5000, 64))


Y = st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=A, X=X)
assert np.allclose(Y, a @ X)

columns = [np.ascontiguousarray(X[:, k]) for k in range(64)]
for name, f in (
    ("64 columns at once", lambda: A @ X),
    ("one after the other", lambda: [A @ x for x in columns]),
    ("SciPy, at once", lambda: a @ X),
):
    print(f"{name:19} {min(repeat(f, number=1, repeat=5)) * 1e3:6.2f} ms")
