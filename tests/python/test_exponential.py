"""exp in generated code: beside NumPy's in a wider type, at the ends of the range, and the same bits in vectors and alone."""

import numpy as np
import pytest
import scipy.sparse as sp
import strata as st

EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 88.72283, 88.72284, -87.33655, -103.97, -103.98, -104.1, 709.782712893384, 709.7827128933841, -708.4, -745.13, -745.14, 1e-45, -1e-300]


def exp_of(x):
    """The values of exp on a sparse matrix of rows of 0 to 40 elements: some in whole vectors, some left over."""
    rows = np.concatenate([[0], np.cumsum(np.arange(len(x)) % 41)])
    pos = rows[rows <= len(x)]
    pos = np.append(pos, len(x)).astype(np.int32)
    crd = np.concatenate([np.arange(n) for n in np.diff(pos)]).astype(np.int32)
    A, M = (st.from_scipy(sp.csr_matrix((v, crd, pos), (len(pos) - 1, int(np.diff(pos).max())))) for v in (x, np.ones_like(x)))
    m = np.zeros(len(pos) - 1, x.dtype)
    return np.asarray(st.evaluate("W(i,j) = M(i,j) * exp(A(i,j) - m(i))", A=A, M=M, m=m).values)


@pytest.mark.parametrize("dtype,wide,ends", [("float32", "float64", (-104, 88.8)), ("float64", "longdouble", (-745.2, 709.8))])
def test_less_than_one_unit_in_the_last_place(dtype, wide, ends):
    r = np.random.default_rng(5)
    x = np.concatenate([r.uniform(*ends, 200_000), r.uniform(-1, 1, 100_000), EDGES]).astype(dtype)
    r.shuffle(x)
    with np.errstate(over="ignore", under="ignore"):
        exact = np.exp(x.astype(wide))
        want = exact.astype(dtype)
    got = exp_of(x)
    normal = np.isfinite(want) & (want != 0) & (got != 0)
    error = np.abs(got[normal].astype(wide) - exact[normal]) / np.spacing(want[normal]).astype(wide)
    assert error.max() < 1.01
    rest = ~normal
    np.testing.assert_array_equal(got[rest], want[rest])


def test_the_same_bits_wherever_it_stands():
    x = np.resize(np.random.default_rng(6).uniform(-20, 20, 37).astype(np.float32), 37 * 100)
    got = exp_of(x).reshape(100, 37)
    assert (got == got[0]).all()
