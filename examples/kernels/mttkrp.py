"""MTTKRP: the kernel of CP decomposition, a sparse tensor times all factors but one, summed (3-D and 4-D).

M(i,r) = X(i,j,k) * B(j,r) * C(k,r). Here it drives a few sweeps of alternating least squares, which find the two hidden
components of a sparse tensor.
"""

import numpy as np

import strata as st

rng = np.random.default_rng(6)
hidden = [(rng.random((n, 2)) < 0.3) * rng.random((n, 2)) for n in (40, 30, 20)]
dense = np.einsum("ir,jr,kr->ijk", *hidden)
X = st.from_dense(dense, "CSF")

factors = [rng.random((n, 2)) for n in dense.shape]
specs = (
    "M(i,r) = X(i,j,k) * B(j,r) * C(k,r)",
    "M(j,r) = X(i,j,k) * B(i,r) * C(k,r)",
    "M(k,r) = X(i,j,k) * B(i,r) * C(j,r)",
)
for sweep in range(12):
    for mode, spec in enumerate(specs):
        B, C = (factors[m] for m in range(3) if m != mode)
        factors[mode] = st.evaluate(spec, X=X, B=B, C=C) @ np.linalg.pinv((B.T @ B) * (C.T @ C))
    error = np.linalg.norm(np.einsum("ir,jr,kr->ijk", *factors) - dense) / np.linalg.norm(dense)
    if sweep % 4 == 3:
        print(f"sweep {sweep + 1:2}: relative error {error:.1e}")
assert error < 1e-3

four = np.where(rng.random((12, 10, 8, 6)) < 0.05, rng.random((12, 10, 8, 6)), 0)  # one dimension more: one letter more
A, B, C = (rng.random((n, 4)) for n in four.shape[1:])
M = st.einsum("ijkl,jr,kr,lr->ir", st.from_dense(four, "CSF"), A, B, C)
assert np.allclose(M, np.einsum("ijkl,jr,kr,lr->ir", four, A, B, C))
print(f"4-D: {np.count_nonzero(four)} elements into {M.shape}")
