"""Products of many go pair by pair where that is much less work, with the numbers of one nest over all."""

import numpy as np
import pytest

import strata as st

N = 60


def operands(rng, dtypes):
    a = np.where(rng.random((N, N)) < 0.1, rng.integers(1, 100, (N, N)), 0).astype(dtypes[0])
    return a, *((rng.integers(-99, 100, (N, N)) / (3 if np.dtype(d).kind == "f" else 1)).astype(d) for d in dtypes[1:])


@pytest.mark.parametrize(
    "dtypes",
    [
        ("float64", "float64", "float64"),
        ("float32", "float64", "float64"),
        ("float64", "float32", "float32"),
        ("float32", "float32", "float64"),
        ("float32", "float64", "float32"),
        ("int8", "int64", "float64"),
        ("int8", "int8", "int64"),
        ("int16", "int64", "int16"),
        ("float32", "complex64", "float32"),
    ],
)
@pytest.mark.parametrize("spec", ["ij,jk,kl->il", "ij,jk,kl->lj"])
def test_dtypes_that_differ(dtypes, spec):
    x = operands(np.random.default_rng(1), dtypes)
    whole = np.result_type(*x)
    got = np.asarray(st.einsum(spec, st.from_dense(x[0], "CSR"), *x[1:]))
    want = np.einsum(spec, *(v.astype(whole) for v in x), optimize=True)
    assert got.dtype == whole
    if whole.kind == "i":
        assert np.array_equal(got, want)
    else:
        np.testing.assert_allclose(
            got,
            want,
            rtol=1e-4 if whole.itemsize < 8 or whole.kind == "c" else 1e-12,
            atol=1e-3 if whole.kind == "c" else 1e-6,
        )


@pytest.mark.parametrize(
    "dtypes, pairs",
    [
        (("float64", "float64", "float64"), True),
        (("float32", "float64", "float64"), True),
        (("float64", "float32", "float32"), True),
        (("int8", "int8", "int64"), True),
    ],
)
def test_explain_says_so(dtypes, pairs):
    a, b, c = operands(np.random.default_rng(2), dtypes)
    text = st.explain("R(i,l) = A(i,j) * B(j,k) * C(k,l)", A=st.from_dense(a, "CSR"), B=b, C=c)
    assert ("pair by pair it takes less than half" in text) == pairs


def test_a_pair_is_not_rounded_before_it_is_widened():
    """float32 times float32 would round: the pair that holds the float64 goes first, or none."""
    rng = np.random.default_rng(3)
    a, b, c = operands(rng, ("float32", "float32", "float64"))
    a[a != 0] += np.float32(1 / 3)
    got = np.asarray(st.einsum("ij,jk,kl->il", st.from_dense(a, "CSR"), b, c))
    want = a.astype(float) @ b.astype(float) @ c
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-8)
    assert abs((a @ b) @ c - want).max() > 1e-4  # what rounding would have done
