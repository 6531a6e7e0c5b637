"""st.spmm against loops of NumPy."""

import numpy as np
import pytest
from named import array, pairs, same

import strata as st


def wanted(a, x, reduce):
    out = np.zeros((len(a), x.shape[1]))
    for i, row in enumerate(a):
        on = np.flatnonzero(row)
        if len(on):
            out[i] = getattr(np, reduce)(row[on, None] * x[on], axis=0)
    return out


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
def test_spmm(reduce):
    x = np.random.default_rng(0).integers(-9, 10, (6, 5)).astype(float)
    for seed in range(4):
        for A, a in pairs(seed, density=0.25):
            same(st.spmm(A, x, reduce), wanted(a, x, reduce), rtol=1e-15)
    a = array(3, dtype="float32")
    got = st.spmm(st.from_dense(a, "CSR"), x.astype("float32"), reduce)
    same(got, wanted(a, x, reduce).astype("float32"), rtol=1e-6)


def test_stored_zeros_count():
    A = st.from_coo(([0, 0], [0, 1]), [0.0, 4.0], (2, 3), "CSR")
    x = np.array([[5.0], [-1], [7]])
    assert st.spmm(A, x, "max").tolist() == [[0], [0]] and st.spmm(A, x, "mean").tolist() == [[-2], [0]]
    assert st.spmm(A, x, "min").tolist() == [[-4], [0]]


def test_refused():
    A = st.eye(3)
    for call, text in (
        (lambda: st.spmm(A, np.ones((3, 2)), "prod"), "no such reduce"),
        (lambda: st.spmm(A, np.ones(3)), "two matrices"),
        (lambda: st.spmm(A + 1, np.ones((3, 2))), "fill 0"),
    ):
        with pytest.raises(ValueError, match=text):
            call()
