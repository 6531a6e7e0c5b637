"""A kernel of your own, in Python: asked first for its expression over exactly its formats."""

import numpy as np

import strata as st

calls = []


def spmv(A, x, *, out, alpha, beta):
    calls.append(A.format)
    y = alpha * (A.to_scipy() @ x)
    out[:] = y if beta == 0 else y + beta * out


st.register_kernel("mine", "ij,j->i", ["CSR", "dense(1)"], spmv)
A = st.from_dense(np.eye(4), "CSR")
y = st.einsum("ij,j->i", A, np.arange(4.0))
assert y.tolist() == [0, 1, 2, 3] and len(calls) == 1
print(st.plan("ij,j->i", A, np.arange(4.0)).explain())
st.unregister_kernel("mine")
