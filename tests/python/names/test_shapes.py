"""Other shapes and diagonals, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from named import array, dense, filled, pairs, same

import strata as st


def test_reshape():
    for A, a in pairs() + filled():
        for shape in ((6, 7), (-1,), (1, 42), (3, 2, 7), (7, -1)):
            same(A.reshape(shape), a.reshape(shape))
            same(A.reshape(*shape, order="F"), a.reshape(shape, order="F"))
        assert A.reshape(7, 6) is A
        assert A.reshape(6, 7, format="COO").format == st.formats.COO
        same(A.ravel(), a.ravel())
        same(A.flatten("F"), a.flatten("F"))
        same(A[:1].squeeze(), a[:1].squeeze())
        same(A[:1].squeeze(0), a[0])
        same(A.reshape(1, 7, 1, 6).squeeze((0, -2)), a)
        same(A.swapaxes(0, -1), a.T)
        assert A.reshape(6, 7).fill == A.fill
    for shape in ((5, 5), (-1, 5), (-1, -1)):
        with pytest.raises(st.TensorError, match="does not hold"):
            A.reshape(shape)
    with pytest.raises(st.TensorError, match="extents of 1"):
        A.squeeze(0)
    one = st.from_dense(np.array([[7.0]]), "CSR")
    assert one.squeeze().shape == () and one.squeeze()[()] == 7
    assert one.to("bfloat16").reshape(1).dtype == "bfloat16"
    huge = st.from_coo(([2**31], [2**30]), [1.0], (2**32, 2**32), "COO")
    with pytest.raises(st.TensorError, match="more elements"):
        huge.reshape(-1)


def test_reshape_keeps_explicit_zeros():
    t = st.from_coo(([0, 1], [1, 1]), [0.0, 2.0], (2, 2), "CSR").reshape(4)
    assert t.nse == 2 and t.coords[0].tolist() == [1, 3]


@pytest.mark.parametrize("dtype", ["float64", "int16", "complex64"])
def test_diagonals(dtype):
    for A, a in pairs(dtype=dtype) + filled():
        for k in (0, 1, -1, 5, -6, 9, -9):
            want = a.diagonal(k) if -7 < k < 6 else a[:0, 0]
            same(A.diagonal(k), want)
            same(A.trace(k), want.sum())
    cube = array(1, (3, 4, 5))
    C = st.from_dense(cube, "CSF")
    for axes in ((0, 1), (2, 0), (-1, 1)):
        same(C.diagonal(1, *axes), cube.diagonal(1, *axes))
        same(C.trace(-1, *axes), cube.trace(-1, *axes))
    with pytest.raises(st.TensorError, match="two dimensions"):
        C[0, 0].diagonal()
    with pytest.raises(st.ExpressionError, match="twice"):
        C.diagonal(0, 1, 1)


def test_setdiag():
    for A, a in pairs() + filled():
        for values, k in ((9.0, 0), (np.arange(6.0), 0), ([1, 2], 1), (4, -3), ([], 0), (1, -6), (5, 20)):
            want = np.array(a)
            n = len(want.diagonal(k)) if -7 < k < 6 else 0
            n = n if np.ndim(values) == 0 else len(values)
            want[np.arange(n) - min(k, 0), np.arange(n) + max(k, 0)] = values
            got = A.setdiag(values, k)
            same(got, want)
            if A.format.num_parts == 1 and not A.format.name.startswith("ELL"):
                assert got.format == A.format
        assert np.array_equal(dense(A), a)  # the tensor itself stays
    s = sp.csr_array(array())
    t = st.from_scipy(s.copy()).setdiag([1.0, 2.0, 3.0])
    s.setdiag([1.0, 2.0, 3.0])
    same(t, s.toarray())
    with pytest.raises(st.TensorError, match="do not fit"):
        A.setdiag(np.ones(7))
