"""A matrix of yours from a Matrix Market file: what it looks like, and the storage that suits it."""

import sys
import tempfile

import numpy as np

import strata as st

if len(sys.argv) > 1:
    A = st.read(sys.argv[1])
else:  # none given: write one
    n = 200
    dense = np.diag(np.full(n, 2.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    with tempfile.TemporaryDirectory() as folder:
        st.write(f"{folder}/laplace.mtx", st.from_dense(dense, "CSR"))
        A = st.read(f"{folder}/laplace.mtx")

info = st.describe_structure(A)
print(info["text"])
print("store it as", info["recommended"], "-", info["why"])
B = A.to(info["recommended"])
x = np.ones(A.shape[1])
assert np.allclose(B @ x, A @ x)
