"""Convolution of a sparse image, as of point clouds: accesses may be affine, so A(i + r, j + s) slides over it.

With SciPy, nine shifted images are added up; its ndimage and torch's conv2d, which go over all pixels, take ten times as
long.
"""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

n, density = pick(small=(150, 0.02), full=(4_000, 0.005))
image = sp.random_array((n, n), density=density, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
K = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 16
A = st.from_scipy(image)


def strata():
    return st.evaluate("Y(i,j) = A(i + r, j + s) * K(r,s)", A=A, K=K, format="CSR")


def scipy():
    return sum(K[r, s] * image[r : n - 2 + r, s : n - 2 + s] for r in range(3) for s in range(3))


compare(f"{n:,} x {n:,} pixels, {image.nnz:,} of them set", strata, scipy, "SciPy", rtol=1e-5)
