"""Products as loops over CSR that a careful user of numba would write. fastmath lets it use vectors in reductions."""

import numpy as np
from numba import njit, prange

FAST = {"contract", "reassoc", "nsz", "arcp"}
loops = njit(parallel=True, cache=True, fastmath=FAST)
serial = njit(cache=True, fastmath=FAST)


@loops
def spmv(pos, crd, values, x):
    y = np.empty(len(pos) - 1, values.dtype)
    for i in prange(len(y)):
        s = values.dtype.type(0)
        for p in range(pos[i], pos[i + 1]):
            s += values[p] * x[crd[p]]
        y[i] = s
    return y


@loops
def spmm(pos, crd, values, X, Y):
    for i in prange(len(Y)):
        for k in range(X.shape[1]):
            Y[i, k] = 0
        for p in range(pos[i], pos[i + 1]):
            v, j = values[p], crd[p]
            for k in range(X.shape[1]):
                Y[i, k] += v * X[j, k]
    return Y
