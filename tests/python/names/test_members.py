"""Names of SciPy's and NumPy's arrays on tensors, against theirs."""

import numpy as np
import pytest
import scipy.sparse as sp
from named import FORMATS, array, filled, pairs, same

import strata as st


def test_counts():
    for A, a in pairs() + filled():
        assert A.nnz == A.nse
        assert A.count_nonzero() == np.count_nonzero(a) and type(A.count_nonzero()) is int
        for axis in (0, 1, -1, (0, 1)):
            for keep in (False, True):
                same(A.count_nonzero(axis, keepdims=keep), np.count_nonzero(a, axis, keepdims=keep), dtype=False)
    with pytest.raises(st.ExpressionError, match="no such axis"):
        A.count_nonzero(2)
    explicit = st.from_coo(([0, 1], [1, 1]), [0.0, 2.0], (2, 2), "CSR")
    assert explicit.nnz == 2 and explicit.count_nonzero() == 1 and [list(c) for c in explicit.nonzero()] == [[1], [1]]


def test_nonzero_and_coords():
    for A, a in pairs():
        for got, want in zip(A.nonzero(), a.nonzero(), strict=True):
            same(got, want)
        assert np.array_equal(np.stack(A.coords), np.stack(A.to("COO").coords))
        assert np.array_equal(a[A.coords], A.to("COO").values)
    cube = array(1, (3, 4, 5))
    for got, want in zip(st.from_dense(cube, "CSF").nonzero(), cube.nonzero(), strict=True):
        same(got, want)
    with pytest.raises(st.Unsupported, match="all absent elements"):
        filled()[0][0].nonzero()
    s = sp.coo_array(array())
    assert all(np.shares_memory(c, d) for c, d in zip(st.from_scipy(s).coords, s.coords))


@pytest.mark.parametrize("dtype", ["float32", "int16", "complex128", "bool", np.float16])
def test_astype(dtype):
    for A, a in pairs():
        same(A.astype(dtype), a.astype(dtype))
        assert A.astype(dtype).format == A.format
    with pytest.raises(st.DTypeError, match="forbids this cast"):
        A.astype("int32", casting="safe")
    assert A.astype("bfloat16").dtype == "bfloat16"


def test_densified():
    for A, a in pairs() + filled():
        same(A.toarray(), a)
        same(A.todense(), a)
        assert A.toarray(order="F").flags.f_contiguous
        out = np.empty_like(a)
        assert A.toarray(out=out) is out and np.array_equal(out, a)


def test_conversions():
    for A, a in pairs():
        for name in ("csr", "csc", "coo", "dia", "bsr"):
            B = getattr(A, f"to{name}")()
            same(B, a)
            assert name == "bsr" or B.to_scipy().format == name
    A = st.eye(3)
    assert A.tocsr() is A and A.tocsc().tocsc().format == st.formats.CSC
    assert A.tobsr((2, 3)).format == st.Format("BSR(2, 3)")
    cube = st.from_dense(array(1, (3, 4, 5)), "CSF")
    assert cube.tocoo().format == st.Format("COO", 3)
    with pytest.raises(st.TensorError, match="two dimensions"):
        cube.tocsr()


def test_products():
    for (A, a), (B, b) in zip(pairs(1), reversed(pairs(2))):
        x = np.arange(6.0)
        same(A.dot(x), a.dot(x))
        same(A.dot(B.T), a.dot(b.T))
        same(A.dot(2.0), a.dot(2.0))
        same(A.multiply(B), a * b)
        same(A.multiply(x), a * x)
        same(A.multiply(3), a * 3)
        same(A.power(2), a**2)
        same(A.power(3, dtype="float32"), a.astype("float32") ** 3)
        same(A.maximum(B), np.maximum(a, b))
        same(A.minimum(1.0), np.minimum(a, 1.0))
    with pytest.raises(st.Unsupported, match="einsum"):
        st.from_dense(array(1, (3, 4, 5)), "CSF").dot(x)


def test_complex_parts():
    for A, a in pairs(3, dtype="complex128"):
        same(A.conj(), a.conj())
        same(A.conjugate(), a.conj())
        same(A.real, a.real)
        same(A.imag, a.imag)
        if A.format.num_parts == 1 and not A.format.is_all_dense:
            assert A.real.format == A.format
    for A, a in pairs():
        assert A.conj() is A and A.real is A
        same(A.imag, a.imag)


def test_len_rows_and_items():
    for A, a in pairs() + filled():
        assert len(A) == 7
        rows = list(A)
        assert len(rows) == 7
        for i, row in enumerate(rows):
            same(row, a[i])
            same(A[i], a[i])
        found = {c: v for c, v in A.items()}
        assert len(found) == A.nse and all(a[c] == v for c, v in found.items())
    assert all(row.fill == 3 for row in A)
    same(list(st.from_dense(array()[0], "(i) -> (i : compressed)")), array()[0])
    cube = array(1, (3, 4, 5))
    for format in ("CSF", "COO(3)", "dense"):
        for part, want in zip(st.from_dense(cube, format), cube, strict=True):
            same(part, want)
    scalar = st.Tensor("() -> ()", (), values=np.ones(1))
    for f in (len, iter):
        with pytest.raises(TypeError, match="no dimensions"):
            f(scalar)


def test_rows_take_one_pass():
    a = sp.csc_array(sp.random(20000, 300, density=0.01, format="csc", random_state=0))
    sums = [row.sum() for row in st.from_scipy(a)]  # a search of each row in CSC would take minutes
    np.testing.assert_allclose(sums, a.sum(axis=1))


def test_every_format_is_there():
    assert {str(A.format) for A, _ in pairs()} >= {str(st.Format(f)) for f in FORMATS if f not in ("ELL",)}
