"""Sparse convolution: accesses may be affine, so A(i + r, j + s) slides a small kernel over a sparse image.

Strides are factors (2*i + r), and a mask keeps the result to chosen places: "submanifold" convolution of point clouds
(Graham, van der Maaten, 2017) computes only where the input has something.
"""

import numpy as np
import scipy.signal
import scipy.sparse as sp

import strata as st

image = sp.random(120, 120, density=0.01, format="csr", rng=np.random.default_rng(16))
K = np.array([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
A = st.from_scipy(image)
want = scipy.signal.correlate2d(image.toarray(), K, "valid")

Y = st.evaluate("Y(i,j) = A(i + r, j + s) * K(r,s)", A=A, K=K, format="CSR")
assert np.allclose(Y.to_dense(), want)
rows = st.evaluate("Y(i,j) = A(i + r, j) * w(r)", A=A, w=K[:, 1].copy(), format="CSR")
assert np.allclose(rows.to_dense(), scipy.signal.correlate2d(image.toarray(), K[:, 1:2], "valid"))
half = st.evaluate("Y(i,j) = A(2*i + r, 2*j + s) * K(r,s)", A=A, K=K, format="CSR")
assert np.allclose(half.to_dense(), want[::2, ::2])

centre = st.from_scipy(image[1:-1, 1:-1])  # what lies below the middle of the kernel
same_places = st.evaluate("Y(i,j) = A(i + r, j + s) * K(r,s)", A=A, K=K, format="CSR", mask=centre)
assert np.allclose(same_places.to_dense(), np.where(image.toarray()[1:-1, 1:-1] != 0, want, 0))
print(f"{A.nse} points blur to {Y.nse}; with stride 2 {half.nse}; only where there was one: {same_places.nse}")
