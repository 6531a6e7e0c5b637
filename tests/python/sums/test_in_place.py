"""d + sum: the sum's memory becomes the result, and nobody's else."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

IN_PLACE = "in the memory of the step before"


def operands(seed=0, n=60):
    r = np.random.default_rng(seed)
    a = sp.random_array((n, n), density=0.1, format="csr", rng=r)
    return a, st.from_scipy(a), r.random(n)


@pytest.mark.parametrize("order", ["d(j) + {}", "{} + d(j)"])
@pytest.mark.parametrize(
    "semiring,text",
    [("plus-times", "sum(i, A(i,j) * d(i))"), ("min-plus", "A(i,j) * d(i)"), ("max-plus", "A(i,j) * d(i)")],
)
def test_against_numpy(order, semiring, text):
    a, A, d = operands()
    kept, spec = d.copy(), "e(j) = " + order.format(text)
    dense, missing = a.toarray(), {"min-plus": np.inf, "max-plus": -np.inf}.get(semiring)
    if semiring == "plus-times":
        want = d + dense.T @ d
    else:
        edges = np.where(dense != 0, dense + d[:, None], missing)
        want = np.minimum(d, edges.min(0)) if semiring == "min-plus" else np.maximum(d, edges.max(0))
    got = st.evaluate(spec, A=A, d=d, semiring=semiring)
    np.testing.assert_allclose(got, want, rtol=1e-13)
    assert np.array_equal(d, kept) and not np.shares_memory(got, d)
    assert IN_PLACE in st.explain(spec, A=A, d=d, semiring=semiring)
    other = st._core.evaluate(spec, {"A": A, "d": d}, semiring=semiring, general=True)
    np.testing.assert_allclose(got, np.asarray(other), rtol=1e-13)


def test_zeros_of_either_sign_and_nan():
    a = sp.csr_matrix(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    A, d = st.from_scipy(a), np.array([-0.0, np.nan, -0.0])
    spec = "e(j) = d(j) + A(i,j) * d(i)"
    got = st.evaluate(spec, A=A, d=d, semiring="min-plus")
    want = np.asarray(st._core.evaluate(spec, {"A": A, "d": d}, semiring="min-plus", general=True))
    np.testing.assert_array_equal(got, want)
    assert np.array_equal(np.signbit(got[[0, 2]]), np.signbit(want[[0, 2]]))


def test_what_others_have_is_left_alone():
    a, A, d = operands(1)
    wide = np.asfortranarray(np.random.default_rng(2).random((60, 60)))
    for spec, more, want in (
        ("e(j) = f(j) + sum(i, A(i,j) * d(i))", {"f": d.astype(np.float32)}, d.astype(np.float32) + a.T @ d),
        ("e(j,i) = B(j,i) + sum(k, A(j,k) * A(k,i))", {"B": wide}, wide + (a @ a).toarray()),
    ):
        used = {"A": A, **more, **({"d": d} if "d(" in spec else {})}
        assert IN_PLACE not in st.explain(spec, used, format="dense")
        np.testing.assert_allclose(st.evaluate(spec, used, format="dense"), want, rtol=1e-12)
