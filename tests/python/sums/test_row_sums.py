"""Sums of rows (and of columns, where these are stored), with AVX-512 by their own kernel, beside SciPy's."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st
from strata._timing.machine import vectors


def matrix(dtype, seed=3, shape=(300, 1000)):
    r = np.random.default_rng(seed)
    a = sp.random_array(shape, density=0.03, rng=r, dtype=dtype, format="lil")
    a[7] = 0  # an empty row
    a[11] = r.random(shape[1])  # a full one
    return a.tocsr()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_rows_and_columns(dtype, index):
    a = matrix(dtype)
    a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
    A = st.from_scipy(a)
    own = "kernel  csr_row_sums" if vectors() == "AVX-512" else "csr_row_sums: generated code is faster without AVX-512"
    assert own in st.explain("s(i) = A(i,j)", A=A, format="dense")
    np.testing.assert_allclose(st.evaluate("s(i) = A(i,j)", A=A, format="dense"), a.sum(axis=1), rtol=1e-5)
    C = A.to("CSC")
    assert own in st.explain("s(j) = A(i,j)", A=C, format="dense")
    np.testing.assert_allclose(st.evaluate("s(j) = A(i,j)", A=C, format="dense"), a.sum(axis=0), rtol=1e-5)


def test_into_memory():
    a = matrix("float64", seed=4)
    A, out = st.from_scipy(a), np.full(a.shape[0], 10.0)
    st.einsum("ij->i", A, out=out, alpha=2, beta=0.5)
    np.testing.assert_allclose(out, 2 * a.sum(axis=1) + 5)


def test_the_same_bits_from_any_number_of_threads(settings):
    A = st.from_scipy(matrix("float64", seed=5, shape=(20000, 900)))
    settings.threads = 1
    one = np.asarray(st.einsum("ij->i", A))
    for n in (2, 7):
        settings.threads = n
        assert (np.asarray(st.einsum("ij->i", A)) == one).all()


def test_integers_are_summed_by_generated_code():
    A = st.from_scipy(matrix("float32").astype(np.int32))
    assert "generated code serves" in st.explain("s(i) = A(i,j)", A=A, format="dense")
    np.testing.assert_array_equal(st.evaluate("s(i) = A(i,j)", A=A, format="dense"), A.to_dense().sum(axis=1))
