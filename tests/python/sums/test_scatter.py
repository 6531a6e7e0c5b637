"""Sums over the outermost loop that scatter into a dense result, and graphs whose edges share one value."""

import numpy as np
import pytest

import strata as st

RINGS = {
    "plus-times": lambda A, v: v @ A,
    "min-plus": lambda A, v: np.min(np.where(A != 0, v[:, None] + A, np.inf), axis=0, initial=np.inf),
    "max-plus": lambda A, v: np.max(np.where(A != 0, v[:, None] + A, -np.inf), axis=0, initial=-np.inf),
    "or-and": lambda A, v: ((A != 0) & (v != 0)[:, None]).any(axis=0),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("ring", RINGS)
@pytest.mark.parametrize("engine", ["jit", "interpreter"])
def test_results_beside_each_other(ring, dtype, engine, monkeypatch):
    """Large enough that chunks have results of their own, and with factors that annihilate."""
    monkeypatch.setattr(st.settings, "engine", engine)
    rng = np.random.default_rng(3)
    m, n = 4000, 300
    A = (rng.integers(1, 5, (m, n)) * (rng.random((m, n)) < 0.4)).astype(dtype)
    v = rng.integers(0, 4, m).astype(dtype)
    if "plus" in ring and ring != "plus-times" and dtype != "int32":
        v[rng.random(m) < 0.5] = np.inf if ring == "min-plus" else -np.inf
    if ring == "or-and":
        A, v = A != 0, v > 1
    want = RINGS[ring](A.astype("float64") if ring != "or-and" else A, v)
    B = st.from_dense((A != 0).astype(A.dtype), "CSR")
    results = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(st.settings, "threads", threads)
        # A second sparse operand keeps plans away in plus-times.
        text = "y(j) = A(i,j) * v(i)" if ring != "plus-times" else "y(j) = A(i,j) * B(i,j) * v(i)"
        operands = dict(A=st.from_dense(A, "CSR"), v=v) | (dict(B=B) if "B(" in text else {})
        how = {} if ring == "plus-times" else dict(semiring=ring)
        got = st.evaluate(text, **operands, **how, format="dense")
        results.append(np.asarray(got.to_dense() if isinstance(got, st.Tensor) else got))
        assert np.allclose(results[-1], want)
    assert all(r.tobytes() == results[0].tobytes() for r in results)


@pytest.mark.parametrize("ring", ["min-plus", "max-plus"])
def test_infinity_annihilates_whatever_it_meets(ring):
    """As a path that does not exist: of a dense vector as of a sparse one."""
    nothing = np.inf if ring == "min-plus" else -np.inf
    A = st.from_scipy(__import__("scipy.sparse").sparse.csr_array(np.array([[np.nan, -nothing, 1.0], [2.0, 3.0, 4.0]])))
    v = np.array([nothing, 1.0])
    dense = np.asarray(st.evaluate("y(j) = A(i,j) * v(i)", A=A, v=v, semiring=ring))
    general = st._core.evaluate("y(j) = A(i,j) * v(i)", dict(A=A, v=v), semiring=ring, general=True)
    general = np.asarray(general.to_dense() if isinstance(general, st.Tensor) else general)
    assert np.array_equal(dense, [3, 4, 5]) and np.array_equal(general, [3, 4, 5])


@pytest.mark.parametrize("format", ["CSR", "COO", "CSC"])
def test_one_value_for_all_edges(format):
    rng = np.random.default_rng(5)
    A = (rng.random((30, 40)) < 0.2).astype(np.float32)
    full = st.from_dense(A, "CSR")
    shared = st.Tensor(
        "CSR", A.shape, pos={1: full.pos(1)}, crd={1: full.crd(1)}, values=np.broadcast_to(np.float32(3), full.nse)
    )
    p, q = rng.random(30).astype("float32"), rng.random(40).astype("float32")
    want = 3 * A * np.maximum(p[:, None], q[None])
    X = shared if format == "CSR" else shared.to(format)
    for text in ("E(i,j) = A(i,j) * max(p(i), q(j))", "E(i,j) = A(i,j) * max(p(i), q(j)) + 0 * A(i,j)"):
        E = st.evaluate(text, A=X, p=p, q=q)
        E.validate()
        assert E.nse == full.nse and np.allclose(np.asarray(E.to_dense()), want)
    B = st.from_dense(2 * A[::-1], "CSR")
    assert np.allclose(np.asarray(st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=X, B=B).to_dense()), 3 * A + 2 * A[::-1])
    assert np.allclose(
        np.asarray(st.evaluate("C(i,k) = A(i,j) * B(k,j)", A=X, B=B).to_dense()), 3 * A @ (2 * A[::-1]).T
    )
