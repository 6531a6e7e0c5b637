"""Masks, paired lists, np.ix_ and None as indices, against NumPy."""

import numpy as np
import pytest
from named import array, filled, pairs, same

import strata as st


def test_masks():
    for A, a in pairs() + filled():
        same(A[a > 1], a[a > 1])
        if A.fill == 0 and not A.format.is_all_dense:
            same(A[A > 1], a[a > 1])
            same(A[A < 0], a[a < 0])
    for (A, a), (B, b) in zip(pairs(1), reversed(pairs(2))):
        if not B.format.is_all_dense:
            same(A[B > 0], a[b > 0])
    with pytest.raises(st.Unsupported, match="nearly all"):
        pairs()[0][0][pairs()[0][0] < 1]
    with pytest.raises(st.IndexError, match="does not fit"):
        A[np.ones((2, 2), bool)]
    with pytest.raises(st.Unsupported, match="truth values"):
        A[A]
    rows = st.from_dense(array()[:, 0], "(i) -> (i : compressed)") > 0
    same(A[rows], a[array()[:, 0] > 0])


def test_paired_lists():
    rows, columns = [0, 3, -1, 3], np.array([1, -2, 5, 0], "int8")
    for A, a in pairs() + filled():
        same(A[rows, columns], a[rows, columns])
        same(A[[[0], [2]], [1, 2, 3]], a[[[0], [2]], [1, 2, 3]])
        same(A[a[:, 0] != 0, [1]], a[a[:, 0] != 0, [1]])
        same(A[np.array([[1, 2], [3, 4]])], a[np.array([[1, 2], [3, 4]])])
        same(A[[[1, 2], [3, 4]]], a[[[1, 2], [3, 4]]])
        same(A[:, np.array([[1, 2], [3, 4]])], a[:, np.array([[1, 2], [3, 4]])])
        same(A[[], []], a[[], []])
    for key in (([0, 7], [0, 0]), ([0, 1], [0, -7]), ([0, 1], [0, 1, 2]), ([0.5, 1], [0, 1])):
        with pytest.raises(IndexError):
            A[key]
    cube = array(1, (3, 4, 5))
    C = st.from_dense(cube, "CSF")
    same(C[[0, 2], [1, 3], 4], cube[[0, 2], [1, 3], 4])
    same(C[[0, 2], [1, 3], [4, 0]], cube[[0, 2], [1, 3], [4, 0]])
    with pytest.raises(st.Unsupported, match="beside a slice"):
        C[[0, 2], [1, 3]]


def test_ix():
    for A, a in pairs() + filled():
        for key in (np.ix_([0, 2, 2], [5, 1]), np.ix_(a[:, 0] != 0, [1]), np.ix_([], [0])):
            same(A[key], a[key])
    cube = array(1, (3, 4, 5))
    for key in (np.ix_([0, 2], [1, 3], [4]), (*np.ix_([0, 2], [1, 3]), slice(1, 4))):
        same(st.from_dense(cube, "CSF")[key], cube[key])


def test_new_dimensions():
    for A, a in pairs() + filled():
        for key in (
            None,
            (None, 1),
            (slice(None), None),
            (Ellipsis, None),
            (1, None, slice(2, 4)),
            (None, [0, 2], None, slice(None)),
            (2, 3, None),
        ):
            same(A[key], a[key])
    with pytest.raises(st.Unsupported, match="None beside lists"):
        A[None, [0], [1]]
