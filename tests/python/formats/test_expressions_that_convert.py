"""B(j,i) = A(i,j) computes nothing: a conversion, with the meaning of every other expression."""

import numpy as np
import pytest

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(2, 3)",
    "DIAI",
    "ELL",
    "Bitmap",
    "Delta(4)",
    "BSR(2, 2) + COO",
    "(i, j) -> (j: compressed, i: compressed)",
]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def matrix(rng, fill=0.0):
    x = np.where(rng.random((7, 9)) < 0.4, rng.integers(1, 9, (7, 9)).astype(float), fill)
    x[2] = fill
    return x


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("spec", ["B(i,j) = A(i,j)", "B(j,i) = A(i,j)"])
def test_between_formats(source, target, spec, rng):
    x = matrix(rng)
    a = st.from_dense(x, source)
    got = st.evaluate(spec, A=a, format=target)
    np.testing.assert_array_equal(got.to_dense(), x if "B(i" in spec else x.T)


def test_the_format_is_inferred_as_ever(rng):
    x = matrix(rng)
    got = st.evaluate("B(j,i) = A(i,j)", A=st.from_dense(x, "CSR"))
    np.testing.assert_array_equal(got.to_dense(), x.T)


def test_a_result_is_memory_of_its_own(rng):
    x = matrix(rng)
    a = st.from_dense(x, "CSR")
    for target in ("CSR", "COO", "DCSR"):
        st.evaluate("B(i,j) = A(i,j)", A=a, format=target)._array("values")[:] = -1
        np.testing.assert_array_equal(a.to_dense(), x)


def test_a_fill_stays(rng):
    x = matrix(rng, fill=5.0)
    got = st.evaluate("B(j,i) = A(i,j)", A=st.from_dense(x, "CSR", fill=5.0), format="COO")
    assert got.fill == 5.0
    np.testing.assert_array_equal(got.to_dense(), x.T)


def test_explain_says_so(rng):
    a = st.from_dense(matrix(rng), "CSR")
    assert "a conversion serves" in st.explain("B(j,i) = A(i,j)", A=a, format="COO")
    assert "a conversion: no, it is not one operand as it is" in st.explain(
        "B(j,i) = 2 * A(i,j) + A(i,j)", A=a, format="COO"
    )
    assert "a conversion" in st.show("B(j,i) = A(i,j)", A=a, format="COO")
