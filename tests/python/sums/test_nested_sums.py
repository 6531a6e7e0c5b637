"""Reductions inside of products: computed where the product's sparse factor stores something, and nowhere else."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

Z = "sum(d, Q(i,d) * K(j,d))"
CARRIERS = {  # factors that are missing where A stores nothing, and what they are
    "A(i,j)": lambda a: a,
    "(A(i,j) != 0)": lambda a: a != 0,
    "(0 < A(i,j))": lambda a: a > 0,
    "abs(A(i,j))": np.abs,
    "sqrt(abs(A(i,j)) / 2)": lambda a: np.sqrt(np.abs(a) / 2),
    "min(A(i,j), 1)": lambda a: np.minimum(a, 1),
}


def problem(n=40, d=6, density=0.2, seed=0):
    rng = np.random.default_rng(seed)
    a = sp.random(
        n, n, density, "csr", rng=rng, data_rvs=lambda k: rng.integers(-2, 3, k).astype(float)
    )  # stored zeros too
    Q, K, V = (rng.standard_normal((n, d)) for _ in "QKV")
    return a, Q, K, V


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_beside_a_sparse_factor(carrier, format):
    a, Q, K, V = problem()
    A, c = st.from_scipy(a).to(format), CARRIERS[carrier](a.toarray())
    e = np.exp(Q @ K.T)
    named = dict(A=A, Q=Q, K=K)
    assert np.allclose(st.evaluate(f"W(i,j) = {carrier} * exp({Z})", format="dense", **named), c * e)
    assert np.allclose(st.evaluate(f"Y(i,k) = exp({Z}) * {carrier} * V(j,k)", V=V, **named), (c * e) @ V)
    want = ((c * e) @ V) / np.abs(c * e).sum(1)[:, None]
    got = st.evaluate(
        f"Y(i,k) = sum(j, {carrier} * exp({Z}) * V(j,k)) / sum(j, abs({carrier} * exp({Z})))", V=V, **named
    )
    assert np.allclose(got, want, equal_nan=True)


def test_factors_with_a_value_where_nothing_is_stored():
    a, Q, K, _ = problem()
    A, d, e = st.from_scipy(a), a.toarray(), np.exp(Q @ K.T)
    for carrier, c in {
        "(A(i,j) == 0)": d == 0,
        "exp(A(i,j))": np.exp(d),
        "(A(i,j) + 1)": d + 1,
        "(A(i,j) < 1)": d < 1,
    }.items():
        assert np.allclose(st.evaluate(f"W(i,j) = {carrier} * exp({Z})", A=A, Q=Q, K=K, format="dense"), c * e)


@pytest.mark.parametrize("text", ["(A(i,j) != 0) * exp({})", "A(i,j) * exp({})", "exp({})"])
def test_work_grows_with_what_is_stored(text):
    """All 40,000,000,000 places would take minutes, and more memory than there is."""
    n, d = 200_000, 4
    rng = np.random.default_rng(1)
    row, col = rng.integers(0, n, (2, 1000))
    a = sp.csr_array((np.ones(1000), (row, col)), (n, n))
    a.data[:] = 1
    Q, K = rng.standard_normal((2, n, d))
    A = st.from_scipy(a)
    how = dict(A=A) if "A" in text else dict(mask=A)
    W = st.evaluate("W(i,j) = " + text.format(Z), Q=Q, K=K, **how)
    row, col = a.nonzero()
    assert W.nse == a.nnz and W.fill == 0
    assert np.allclose(np.asarray(W.values), np.exp((Q[row] * K[col]).sum(1)))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("density", [0.05, 0.5, 1])
def test_sums_of_quotients(density, dtype):
    """An implied sum stands around the quotient; what is absent stays so whatever its denominator is."""
    a, Q, K, V = problem(20, density=density, seed=4)
    V[:, 0] = 0
    A, d = st.from_scipy(a.astype(dtype)), a.toarray().astype(dtype)
    V = V.astype(dtype)
    here = np.zeros(d.shape, bool)
    here[np.repeat(np.arange(20), np.diff(a.indptr)), a.indices] = True
    with np.errstate(all="ignore"):
        terms = lambda: np.where(here[:, :, None], d[:, :, None] * V / d.sum(1)[:, None, None], 0).sum(1)  # noqa: E731
        want = terms()
        got = st.evaluate("Y(i,k) = A(i,j) * V(j,k) / sum(j, A(i,j))", A=A, V=V)
        assert np.isnan(want).any() and np.allclose(got, want, equal_nan=True, rtol=1e-4)
        d[:], d[0] = 0, 1
        d[0, 1] = 1 - len(
            d
        )  # cancels: infinities of both signs; of one sign in the column where V is 0 but for its first
        V[:], V[0] = 0, 1
        here = d != 0
        want = terms()
        got = st.evaluate("Y(i,k) = A(i,j) * V(j,k) / sum(j, A(i,j))", A=st.from_dense(d, "CSR"), V=V)
        assert np.allclose(got, want, equal_nan=True)


def test_softmax_with_an_implied_sum():
    n, d = 30_000, 8
    rng = np.random.default_rng(3)
    a = sp.random(n, n, 5 / n, "csr", np.float32, rng=rng)
    Q, K, V = rng.standard_normal((3, n, d), np.float32)
    z = f"A(i,j) * exp({Z})"
    A = st.from_scipy(a)
    got = st.evaluate(f"Y(i,k) = {z} * V(j,k) / sum(j, {z})", A=A, Q=Q, K=K, V=V)
    row, col = a.nonzero()
    w = sp.csr_array((a.data * np.exp((Q[row] * K[col]).sum(1)), (row, col)), a.shape)
    with np.errstate(all="ignore"):
        want = np.where(np.diff(w.indptr)[:, None] > 0, (w @ V) / w.sum(1)[:, None], 0)  # rows without an element
        assert np.allclose(got, want, equal_nan=True, rtol=1e-4, atol=1e-5)
    assert "as a quotient of sums" in st.explain(f"Y(i,k) = {z} * V(j,k) / sum(j, {z})", A=A, Q=Q, K=K, V=V)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR"])
@pytest.mark.parametrize("heads", ["i,h,d", "h,i,d"])
def test_heads_share_a_pattern(heads, format):
    rng = np.random.default_rng(5)
    a, *_ = problem(30, density=0.1)
    shape = {"i": 30, "h": 3, "d": 4}
    Q, K, V = (rng.standard_normal([shape[x] for x in heads.split(",")]) for _ in "QKV")
    A, z = st.from_scipy(a).to(format), f"A(i,j) * exp(sum(d, Q({heads}) * K({heads.replace('i', 'j')})))"
    named, letters = dict(A=A, Q=Q, K=K), heads.replace(",", "")
    w = a.toarray()[:, :, None] * np.exp(np.einsum(f"{letters},{letters.replace('i', 'j')}->ijh", Q, K))
    W = st.evaluate(f"W(i,j,h) = {z}", **named, format="(i, j, h) -> (i: dense, j: compressed, h: dense)")
    assert W.nse == 3 * a.nnz and np.allclose(W.to_dense(), w)
    y = st.evaluate(f"Y(h,i,k) = sum(j, {z} * V({heads.replace('i', 'j').replace('d', 'k')}))", V=V, **named)
    assert np.allclose(y, np.einsum(f"ijh,{letters.replace('i', 'j')}->hid", w, V))


@pytest.mark.parametrize("inner", ["sum(d, E(i,d) * F(k,d))", "sum(d, E(i,d) * F(k,d) * H(h,d))"])
def test_a_pattern_of_more_indices(inner):
    """Where some A(i,j,k) stores something; 40,000,000,000 pairs (i,k) would not fit."""
    rng = np.random.default_rng(6)
    n = 200_000
    crd = rng.integers(0, (n, 50, n), (1000, 3)).T
    A = st.Tensor(
        "COO(3)",
        (n, 50, n),
        pos={0: [0, 1000]},
        crd=dict(enumerate(crd[:, np.lexsort(crd[::-1])].astype(np.int32))),
        values=np.ones(1000),
    )
    E, F, H = (
        rng.standard_normal((n, 4)),
        rng.standard_normal((n, 4)),
        rng.standard_normal((5, 4)) if "H" in inner else None,
    )
    named = dict(A=A, E=E, F=F) | ({} if H is None else dict(H=H))
    i, _, k = (np.asarray(A.crd(level)) for level in range(3))
    scores = E[i] * F[k] if H is None else (E[i] * F[k])[:, None] * H
    got = st.evaluate(f"s{'' if H is None else '(h)'} = A(i,j,k) * exp({inner})", **named)
    assert np.allclose(got, np.exp(scores.sum(-1)).sum(0))


def test_under_a_mask():
    a, Q, K, _ = problem()
    e, d = np.exp(Q @ K.T), a.toarray()
    stored = sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), a.shape).toarray()
    M = st.from_scipy(a)
    W = st.evaluate(f"W(i,j) = exp({Z})", Q=Q, K=K, mask=M)
    assert W.nse == a.nnz and np.allclose(W.to_dense(), stored * e)
    W = st.evaluate(f"W(i,j) = exp({Z})", Q=Q, K=K, mask=M, complement_mask=True, format="dense")
    assert np.allclose(W, (1 - stored) * e)
    W = st.evaluate(f"W(i,j) = exp({Z}) + M(i,j)", Q=Q, K=K, M=M, mask=M)
    assert np.allclose(W.to_dense(), stored * (e + d))


def test_masks_of_masks():
    """Each sum inside has a pattern of its own."""
    a, Q, K, _ = problem(30)
    b = sp.random(30, 30, 0.2, "csr", rng=np.random.default_rng(9))
    X = np.random.default_rng(10).standard_normal((30, 30))
    M, B, e = st.from_scipy(a), st.from_scipy(b), np.exp(Q @ K.T)
    stored = sp.csr_array((np.ones(a.nnz), a.indices, a.indptr), a.shape).toarray()
    inner = "sum(k, B(i,k) * exp(sum(d, Q(i,d) * K(k,d))))"
    W = st.evaluate(f"W(i,j) = exp({Z}) + X(i,j) * {inner}", X=X, B=B, Q=Q, K=K, mask=M)
    assert np.allclose(W.to_dense(), stored * (e + X * (b.toarray() * e).sum(1)[:, None]))
    W = st.evaluate(f"W(i,j) = exp({Z}) * X(i,j) * sum(k, exp(sum(d, Q(i,d) * K(k,d))))", X=X, Q=Q, K=K, mask=M)
    assert np.allclose(W.to_dense(), stored * (e * X * e.sum(1)[:, None]))


def test_an_index_of_its_own_inside():
    """Where A stores something says nothing about the j that a sum inside counts."""
    a, *_ = problem(12)
    B = np.random.default_rng(2).standard_normal((12, 12, 3))
    s = B.sum(2)
    y = st.evaluate("y(i,j) = A(i,j) * sum(j, exp(sum(k, B(i,j,k))) * sum(k, B(i,j,k)))", A=st.from_scipy(a), B=B)
    assert np.allclose(y.to_dense(), a.toarray() * (np.exp(s) * s).sum(1)[:, None])
    y = st.evaluate("y(i,j) = sum(j, C(i,j)) + 0 * C(i,j)", C=B[:, :, 0])
    assert np.allclose(y, np.repeat(B[:, :, 0].sum(1)[:, None], 12, 1))


@pytest.mark.parametrize(
    "value", ["= sum(j, A(i,j))", "= sum(j, A(i,j)) * sum(j, x(j))", "+= sum(j, A(i,j) * x(j))", "+= max(j, A(i,j))"]
)
def test_an_output_index_that_the_whole_reduces(value):
    a, Q, *_ = problem(12)
    target = dict(y=np.zeros((12, 12))) if value[0] == "+" else {}
    for A in (st.from_scipy(a), a.toarray()):
        x = dict(x=Q[:, 0].copy()) if " x(j" in value else {}
        with pytest.raises(st.ExpressionError, match="the whole expression reduces") as error:
            st.evaluate(f"y(i,j) {value}", A=A, **x, **target)
        assert "call the reduced index otherwise" in str(error.value)
    y = st.evaluate("y(i,j) += sum(j, A(i,j)) * sum(j, x(j))", A=a.toarray(), x=Q[:, 0].copy(), y=np.ones((12, 12)))
    assert np.allclose(y, 1 + a.toarray().sum(1)[:, None] * Q[:, 0].sum() + np.zeros((12, 12)))  # its j is that of y


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32, np.bool_])
@pytest.mark.parametrize("stored", [0, 1, 30])
def test_counts_inside_keep_their_dtype(dtype, stored):
    rng = np.random.default_rng(stored)
    a, b = np.zeros(60, dtype), rng.integers(-1, 2, (3, 60, 5)).astype(dtype)
    a[rng.choice(60, stored, replace=False)] = 1
    A = st.from_dense(a, "(i) -> (i: compressed)")
    for op, f in {"==": np.equal, "!=": np.not_equal}.items():
        counts = f(a[:, None], b).sum(2)
        y = st.evaluate(f"y(l) = A(m) * sum(j, (A(m) {op} B(l,m,j)))", A=A, B=b)
        z = st.evaluate(f"z(l,m) = A(m) * sum(j, (A(m) {op} B(l,m,j)))", A=A, B=b, format="dense")
        for got, want in ((y, (a * counts).sum(1)), (z, a * counts)):
            assert got.dtype == want.dtype
            assert np.array_equal(got, want)
