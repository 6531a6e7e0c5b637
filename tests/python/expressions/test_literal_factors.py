"""A number among the factors of a product waits until the sums are done: it costs no pass of its own."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(5)
a = sp.random_array((30, 40), density=0.2, rng=rng).tocsr()
x = rng.standard_normal(40)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "CSR + COO"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "float16", "int32"])
def test_against_numpy(format, dtype):
    A = st.from_scipy(a.astype(dtype) if dtype != "float16" else a.astype("float32")).to(format)
    A, v = A.to(dtype=dtype), x.astype(dtype)
    d = A.to_dense().astype(np.promote_types(dtype, np.float64))
    for text, factor in (
        ("2 * A(i,j) * x(j)", 2),
        ("A(i,j) * 0.5 * x(j)", 0.5),
        ("2 * A(i,j) * x(j) * 3", 6),
        ("sum(j, 3 * A(i,j) * x(j))", 3),
        ("1e-300 * A(i,j) * x(j)", 1e-300),
        ("0 * A(i,j) * x(j)", 0),
    ):
        for _ in range(2):  # the second time from memory
            got = st.evaluate(f"y(i) = {text}", A=A, x=v)
            want = factor * (d @ v)
            assert np.allclose(
                got, want, rtol=2e-2 if dtype == "float16" else 1e-5, atol=1e-2 if dtype == "float16" else 1e-5
            )
        assert got.dtype == (
            np.asarray(0.5 * v[:1]).dtype if dtype == "int32" and isinstance(factor, float) else got.dtype
        )


def test_dtypes_and_destinations():
    A = st.from_scipy(a)
    assert st.evaluate("y(i) = 2j * A(i,j) * x(j)", A=A, x=x).dtype == np.complex128
    assert np.allclose(
        st.evaluate("y(i) = 2j * A(i,j) * x(j)", A=A.to(dtype="complex64"), x=x.astype("complex64")), 2j * (a @ x)
    )
    assert st.evaluate("y(i) = 0.1 * A(i,j) * x(j)", A=A.to(dtype="float32"), x=x).dtype == np.float64
    assert np.array_equal(
        st.evaluate("y(i) = 2 * A(i,j) * x(j)", A=A.to(dtype="int64"), x=x.astype("int64")),
        2 * (a.astype("int64") @ x.astype("int64")),
    )
    out = np.zeros(30)
    st.evaluate("y(i) = 2 * A(i,j) * x(j)", A=A, x=x, out=out)
    assert np.allclose(out, 2 * (a @ x))
    assert np.allclose(st.evaluate("y(i) = 2 * A(i,j) * x(j)", A=A, x=x, dtype="float32"), 2 * (a @ x), rtol=1e-5)


def test_what_no_factor_may_do():
    """An infinity times an empty sum is nothing; what only the first factor keeps in range stays in range."""
    A = st.from_scipy(sp.csr_array(np.array([[0.0, 0.0], [1e30, 0.0]], "float32")))
    assert np.array_equal(st.evaluate("y(i) = inf * A(i,j) * x(j)", A=A, x=np.ones(2, "float32")), [0, np.inf])
    small = st.evaluate("y(i) = 1e-30 * A(i,j) * x(j)", A=A, x=np.full(2, 1e30, "float32"))
    assert np.allclose(small, [0, 1e30])


def test_explained():
    text = st.explain("y(i) = 2 * A(i,j) * x(j)", A=st.from_scipy(a), x=x)
    assert "a written kernel serves, its sums multiplied by 2" in text
