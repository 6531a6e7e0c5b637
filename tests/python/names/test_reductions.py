"""Reductions, clip and round, against NumPy; those over stored elements against masked arrays."""

import numpy as np
import pytest
from named import array, filled, pairs, same

import strata as st

AXES = (None, 0, 1, -1, (0, 1), (1,), ())


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bool", "complex128"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "prod", "min", "max", "any", "all"])
def test_beside_numpy(name, dtype):
    if dtype == "complex128" and name in ("min", "max"):
        return
    for A, a in pairs(5, dtype=dtype) + (filled(5) if dtype == "float64" else []):
        for axis in AXES:
            if axis == () and name in ("sum", "mean", "min", "max", "any", "all"):
                continue
            for keep in (False, True):
                want = getattr(np, name)(a, axis=axis, keepdims=keep)
                same(getattr(A, name)(axis, keepdims=keep), want, rtol=2e-6 if dtype == "float32" else 1e-14)
    cube = array(1, (3, 4, 5), dtype)
    for axis in ((0, 2), (-1, 0), 1):
        want = getattr(np, name)(cube, axis=axis)
        same(getattr(st.from_dense(cube, "CSF"), name)(axis), want, rtol=2e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("dtype", ["float64", "int16", "uint8", "bool"])
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_arguments(name, dtype):
    for seed in range(6):
        for density in (0.2, 0.9, 1.1):
            a = array(seed, (7, 6), dtype, density)
            if density > 1 and seed % 2:
                a = (abs(a.astype(int)) + 1).astype(dtype) * (-1 if dtype == "float64" else 1)
            for A in [st.from_dense(a, f) for f in ("CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "bitmap", "dense")]:
                for axis in (None, 0, 1, -1):
                    for keep in (False, True):
                        same(getattr(A, name)(axis, keepdims=keep), getattr(a, name)(axis, keepdims=keep))
    for A, a in filled():
        same(getattr(A, name)(1), getattr(a, name)(1))
        same(getattr(A, name)((0, 1)), getattr(a, name)())
    nan = np.array([[0, np.nan, 2], [0, 0, 0], [np.nan, 1, np.nan], [-1, -2, -3]])
    for axis in (None, 0, 1):
        same(getattr(st.from_dense(nan, "CSR"), name)(axis), getattr(nan, name)(axis))
    holes = st.from_dense(np.where(nan == 0, np.nan, nan), "CSR", fill=np.nan)
    same(getattr(holes, name)(1), getattr(holes.to_dense(), name)(1))
    out = np.zeros(7, int)
    assert getattr(A, name)(1, out=out) is out and np.array_equal(out, getattr(a, name)(1))
    with pytest.raises(st.TensorError, match="of nothing"):
        getattr(st.zeros((3, 0)), name)(1)


def test_stored():
    for A, a in pairs(5, density=0.3):
        a = np.ma.masked_equal(a, 0)
        for axis in (None, 0, 1):
            for name in ("min", "max", "mean", "sum"):
                want = np.ma.filled(getattr(a, name)(axis), 0)
                same(getattr(A, name)(axis, stored=True), want, rtol=1e-15)
    a = np.array([[-1.0, 0, -3], [0, 0, 0]])
    t = st.from_dense(a, "CSR")
    assert t.max(1).tolist() == [0, 0] and t.max(1, stored=True).tolist() == [-1, 0]
    assert t.mean(1, stored=True, keepdims=True).tolist() == [[-2], [0]]
    far = st.from_dense(np.array([[1.0, np.inf], [np.inf, np.inf]]), "CSR", fill=np.inf)
    assert far.max(1, stored=True).tolist() == [1, np.inf]
    whole = st.from_dense(np.array([[3, 0, 4]], "int32"), "COO")
    assert whole.mean(stored=True) == 3.5 and whole.sum(stored=True).dtype == np.int64
    explicit = st.from_coo(([0, 0], [0, 1]), [0.0, 2.0], (1, 3), "CSR")
    assert explicit.mean(stored=True) == 1


def test_options():
    for A, a in pairs(6):
        same(A.var(0, ddof=1), a.var(0, ddof=1), rtol=1e-14)
        same(A.std(1, "float32"), a.std(1, "float32"), rtol=1e-6)
        same(A.prod(1, dtype="float32"), a.prod(1, dtype="float32"))
        out = np.empty(6)
        assert A.std(0, out=out) is out
        same(out, a.std(0), rtol=1e-14)
    for name in ("var", "prod", "argmax"):
        with pytest.raises(st.ExpressionError, match="no such axis"):
            getattr(A, name)(2)


def test_small_variance_far_from_zero():
    a = 1e8 + np.arange(12.0).reshape(3, 4)
    same(st.from_dense(a, "CSR").var(1), a.var(1), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "int16"])
def test_clip_and_round(dtype):
    for A, a in pairs(dtype=dtype) + (filled() if dtype == "float64" else []):
        for lo, hi in ((-1, 2), (1, 3), (None, 0), (-2, None)):
            same(A.clip(lo, hi), a.clip(lo, hi))
        same(A.clip(np.zeros(6, dtype), 3), a.clip(np.zeros(6, dtype), 3))
        assert A.clip() is A
        same(A.round(), a.round())
        if dtype == "float64":
            same((A / 8).round(2), (a / 8).round(2))
            if A.format.num_parts == 1 and not A.format.is_all_dense:
                assert A.round().format == A.format
