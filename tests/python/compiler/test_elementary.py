"""exp, log and tanh in generated code: beside NumPy's in a wider type, at the ends of the range, and the same bits in vectors and alone."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

EDGES = {
    "exp": [
        88.72283,
        88.72284,
        -87.33655,
        -103.97,
        -103.98,
        -104.1,
        709.782712893384,
        709.7827128933841,
        -708.4,
        -745.13,
        -745.14,
    ],
    "log": [
        1.0,
        -1.0,
        1e38,
        1.4012985e-45,
        1.1754944e-38,
        1.1754943e-38,
        5e-324,
        2.2250738585072014e-308,
        1.7976931348623157e308,
    ],
    "tanh": [1e-40, -1e-40, 9.0, 9.1, 10.0, 18.9, 19.1, 20.0, -20.1, 44.0, 300.0, -1e30],
}
EVERYWHERE = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-300]


def of(name, x):
    """The values of a function on a sparse matrix of rows of 0 to 40 elements: some in whole vectors, some left over."""
    rows = np.concatenate([[0], np.cumsum(np.arange(len(x)) % 41)])
    pos = rows[rows <= len(x)]
    pos = np.append(pos, len(x)).astype(np.int32)
    crd = np.concatenate([np.arange(n) for n in np.diff(pos)]).astype(np.int32)
    A, M = (
        st.from_scipy(sp.csr_matrix((v, crd, pos), (len(pos) - 1, int(np.diff(pos).max()))))
        for v in (x, np.ones_like(x))
    )
    m = np.full(len(pos) - 1, -0.0, x.dtype)  # x + -0.0 is x, of zeros too
    return np.asarray(st.evaluate(f"W(i,j) = M(i,j) * {name}(A(i,j) + m(i))", A=A, M=M, m=m).values)


def some(name, dtype):
    r = np.random.default_rng(5)
    if name == "log":
        ends = (-44, 38) if dtype == "float32" else (-323, 308)
        pieces = [10.0 ** r.uniform(*ends, 200_000), r.uniform(0.5, 2, 100_000)]
    else:
        ends = {"exp": {"float32": (-104, 88.8), "float64": (-745.2, 709.8)}[dtype], "tanh": (-22, 22)}[name]
        pieces = [r.uniform(*ends, 200_000), r.uniform(-1, 1, 100_000)]
    with np.errstate(over="ignore", under="ignore"):
        x = np.concatenate([*pieces, EDGES[name], EVERYWHERE]).astype(dtype)
    r.shuffle(x)
    return x


@pytest.mark.parametrize("dtype,wide", [("float32", "float64"), ("float64", "longdouble")])
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_one_unit_in_the_last_place(name, dtype, wide):
    x = some(name, dtype)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(wide))
        want = exact.astype(dtype)
    got = of(name, x)
    normal = np.isfinite(want) & (want != 0) & (got != 0)
    error = np.abs(got[normal].astype(wide) - exact[normal]) / np.spacing(np.abs(want[normal])).astype(wide)
    assert error.max() < 1.03
    rest = ~normal
    np.testing.assert_array_equal(got[rest], want[rest])
    assert np.array_equal(np.signbit(got[rest & ~np.isnan(want)]), np.signbit(want[rest & ~np.isnan(want)]))


@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_the_same_bits_wherever_it_stands(name):
    x = np.resize(np.random.default_rng(6).uniform(0.01, 20, 37).astype(np.float32), 37 * 100)
    got = of(name, x).reshape(100, 37)
    assert (got == got[0]).all()
