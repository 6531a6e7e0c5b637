"""Tensors made of several, against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from named import array, filled, pairs, same

import strata as st


def test_concatenate():
    for (A, a), (B, b) in zip(pairs(1), reversed(pairs(2, dtype="float32"))):
        for axis in (0, 1, -1):
            same(st.concatenate([A, B, A], axis), np.concatenate([a, b, a], axis))
            same(st.stack([A, B], axis), np.stack([a, b], axis))
        same(st.vstack([A, b, sp.csr_array(b)]), np.vstack([a, b, b]))
        same(st.hstack((A, B)), np.hstack((a, b)))
        same(st.vstack([A, A], dtype="float32"), np.vstack([a, a]).astype("float32"))
        assert st.vstack([A, B], format="CSC").format == st.formats.CSC
        if A.format.num_parts == 1 and "ELL" not in A.format.name:
            assert st.vstack([A, A]).format == A.format
    for A, a in filled():
        same(st.vstack([A, A]), np.vstack([a, a]))
        same(st.hstack([A, a]), np.hstack([a, a]))
        assert st.vstack([A, A]).fill == 3
    v = st.from_dense(a[0], "(i) -> (i : compressed)", fill=3)
    same(st.hstack([v, v]), np.hstack([a[0], a[0]]))
    same(st.vstack([v, A]), np.vstack([a[0], a]))
    cube = array(1, (3, 4, 5))
    C = st.from_dense(cube, "CSF")
    same(st.concatenate([C, C, cube], 2), np.concatenate([cube] * 3, 2))
    half = A.to("bfloat16")
    assert st.vstack([half, half]).dtype == "bfloat16" and st.vstack([half, A]).dtype == np.float64


def test_explicit_zeros_stay():
    t = st.from_coo(([0, 1], [1, 1]), [0.0, 2.0], (2, 2), "CSR")
    assert st.vstack([t, t]).nse == 4 and st.kron(t, t).nse == 4 and st.triu(t).nse == 2


def test_concatenate_refuses():
    A, B = st.eye(3), st.eye(4)
    for call, text in (
        (lambda: st.vstack([A, B]), "differ elsewhere"),
        (lambda: st.stack([A, B]), "one shape"),
        (lambda: st.vstack([]), "of nothing"),
        (lambda: st.vstack([A, A + 1]), "one fill"),
    ):
        with pytest.raises(st.TensorError, match=text):
            call()


def test_blocks():
    for (A, a), (B, b) in zip(pairs(1), reversed(pairs(2))):
        s = [sp.csr_array(x) for x in (a, b)]
        same(st.bmat([[A, None], [None, B]]), sp.block_array([[s[0], None], [None, s[1]]]).toarray())
        same(st.bmat([[A, B], [b, None]]), np.block([[a, b], [b, 0 * b]]))
        same(st.block_diag([A, B, 3.0, [[1.0, 2.0]]]), sp.block_diag([*s, 3.0, [[1.0, 2.0]]]).toarray())
    for wrong in ([[A, None], [B, None]], [[A, B[:2]]], [[A], [B, B]], []):
        with pytest.raises(st.TensorError):
            st.bmat(wrong)
    with pytest.raises(st.TensorError, match="fill 0"):
        st.block_diag([A, filled()[0][0]])


def test_kron():
    for (A, a), (B, b) in zip(pairs(1, (3, 4)), reversed(pairs(2, (2, 5), "int16"))):
        same(st.kron(A, B), np.kron(a, b))
        same(st.kron(A, b[0]), np.kron(a, b[0]))
        same(st.kron(2.0, A), np.kron(2.0, a))
    cube = array(1, (3, 4, 5))
    same(st.kron(st.from_dense(cube, "CSF"), A), np.kron(cube, a))


def test_triangles():
    for A, a in pairs():
        for k in (0, 2, -3, 9, -9):
            same(st.tril(A, k), np.tril(a, k))
            same(st.triu(A, k), np.triu(a, k))
    cube = array(1, (3, 4, 5))
    same(st.triu(st.from_dense(cube, "CSF"), 1), np.triu(cube, 1))
    with pytest.raises(st.TensorError, match="fill"):
        st.tril(filled()[0][0])
