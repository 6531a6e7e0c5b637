"""Expressions over several sparse operands, compiled: against SciPy and NumPy at sizes that need many chunks."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def matrix(rng, rows, columns, density, dtype=np.float64):
    n = int(rows * columns * density)
    values = rng.integers(1, 9, n).astype(dtype)
    return sp.coo_matrix((values, (rng.integers(0, rows, n), rng.integers(0, columns, n))), (rows, columns)).tocsr()


def same(result, reference):
    """Equal as matrices; the values are small integers, so every order of summation gives the same bits."""
    result.validate()
    difference = abs(sp.csr_array(result.to_scipy()) - sp.csr_array(reference))
    assert difference.nnz == 0 or difference.max() == 0


FORMATS = ["CSR", "CSC", "COO", "DCSR", "DCSC", "BSR(2, 3)", "ELL", "bitmap", "delta(3)", "DIAI"]


@pytest.mark.parametrize("seed", range(12))
def test_formats_in_and_out(seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(20, 90, 2)
    A, B, C = (matrix(rng, rows, columns, d) for d in (0.05, 0.2, 0.02))
    fa, fb, fc, out = rng.choice(FORMATS, 4)
    a, b, c = (st.from_scipy(m).to(f) for m, f in ((A, fa), (B, fb), (C, fc)))
    same(st.evaluate("R(i,j) = A(i,j) + B(i,j)", A=a, B=b, format=out), A + B)
    same(st.evaluate("R(i,j) = A(i,j) * B(i,j)", A=a, B=b, format=out), A.multiply(B))
    same(st.evaluate("R(i,j) = A(i,j) - B(i,j) + 2 * C(i,j)", A=a, B=b, C=c, format=out), A - B + 2 * C)
    same(st.evaluate("R(i,j) = (A(i,j) + C(i,j)) * B(i,j)", A=a, B=b, C=c, format=out), (A + C).multiply(B))
    same(st.evaluate("R(i,k) = A(i,j) * B(k,j)", A=a, B=b, format=out), A @ B.T)
    same(st.evaluate("R(j,k) = A(i,j) * B(i,k)", A=a, B=b, format=out), A.T @ B)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_many_chunks(threads, monkeypatch, settings):
    rng = np.random.default_rng(5)
    A, B, C = (matrix(rng, 20_000, 20_000, 4e-4) for _ in range(3))
    a, b, c = map(st.from_scipy, (A, B, C))
    settings.threads = threads
    same(st.evaluate("R(i,j) = A(i,j) + B(i,j) + C(i,j)", A=a, B=b, C=c), A + B + C)
    same(st.evaluate("R(i,k) = A(i,j) * B(j,k) + C(i,k)", A=a, B=b, C=c), A @ B + C)
    same(st.evaluate("R(i,j) = A(i,j) * B(j,i)", A=a, B=b), A.multiply(B.T))
    total = st.evaluate("r = A(i,j) * B(i,j)", A=a, B=b)
    assert total == A.multiply(B).sum()


def test_a_result_larger_than_expected_grows():
    # One full row and one full column: the product is full, though both operands are nearly empty.
    n = 700
    A = sp.coo_matrix((np.ones(n), (np.arange(n), np.zeros(n, int))), (n, n)).tocsr()
    B = sp.coo_matrix((np.ones(n), (np.zeros(n, int), np.arange(n))), (n, n)).tocsr()
    a, b = st.from_scipy(A), st.from_scipy(B)
    out = st.evaluate("R(i,k) = A(i,j) * B(j,k) * 2", A=a, B=b)
    assert out.nse == n * n
    same(out, 2 * (A @ B))


def test_masks():
    rng = np.random.default_rng(6)
    A, B, M = (matrix(rng, 400, 400, 0.02) for _ in range(3))
    a, b, m = map(st.from_scipy, (A, B, M))
    full = (A @ B).toarray()
    inside = M.toarray() != 0
    out = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=a, B=b, mask=m)
    assert np.array_equal(out.to_dense(), np.where(inside, full, 0))
    out = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=a, B=b, mask=m.to("COO"), complement_mask=True)
    assert np.array_equal(out.to_dense(), np.where(inside, 0, full))


def test_triangles():
    rng = np.random.default_rng(7)
    G = matrix(rng, 300, 300, 0.05)
    G = ((G + G.T) != 0).astype(np.int64)
    G.setdiag(0)
    G.eliminate_zeros()
    g = st.from_scipy(G)
    assert st.evaluate("t = A(i,j) * A(j,k) * A(k,i)", A=g) == (G @ G).multiply(G).sum()


@pytest.mark.parametrize("semiring,zero", [("min-plus", np.inf), ("max-plus", -np.inf)])
def test_shortest_paths(semiring, zero):
    rng = np.random.default_rng(8)
    W = matrix(rng, 60, 60, 0.1)
    dense = np.where(W.toarray() != 0, W.toarray(), zero)
    best = np.min if semiring == "min-plus" else np.max
    want = best(dense[:, :, None] + dense[None, :, :], axis=1)
    w = st.from_scipy(W)
    out = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=w, B=w.to("CSC"), semiring=semiring)
    assert np.array_equal(out.to_dense(), want)
    v = st.from_coo((np.array([3]),), np.array([0.0]), (60,), "(i) -> (i : compressed)")
    out = st.evaluate("r(j) = v(i) * A(i,j) + v(j)", v=v, A=w, semiring=semiring)
    start = np.full(60, zero)
    start[3] = 0
    pick = np.minimum if semiring == "min-plus" else np.maximum
    assert np.array_equal(out, pick(best(start[:, None] + dense, axis=0), start))


def test_three_dimensions():
    rng = np.random.default_rng(9)
    shape = (30, 20, 25)
    x, y = ((rng.random(shape) < 0.05) * rng.integers(1, 9, shape).astype(float) for _ in range(2))
    u = (rng.random((20, 7)) < 0.3) * rng.integers(1, 9, (20, 7)).astype(float)
    sx, sy = (st.from_dense(t, "CSF") for t in (x, y))
    su = st.from_dense(u, "CSR")
    for spec, ops, want in (
        ("R(i,j,k) = A(i,j,k) + B(i,j,k)", dict(A=sx, B=sy), x + y),
        ("R(i,j,k) = A(i,j,k) * B(i,j,k)", dict(A=sx, B=sy.to("COO(3)")), x * y),
        ("R(i,r,k) = A(i,j,k) * U(j,r)", dict(A=sx, U=su), np.einsum("ijk,jr->irk", x, u)),
        ("R(k,i) = A(i,j,k) * B(i,j,k)", dict(A=sx, B=sy), np.einsum("ijk,ijk->ki", x, y)),
        ("R(i,r) = A(i,j,k) * B(i,j,k) * U(j,r)", dict(A=sx, B=sy, U=su), np.einsum("ijk,ijk,jr->ir", x, y, u)),
    ):
        out = st.evaluate(spec, ops)
        assert np.array_equal(np.asarray(out.to_dense()), want), spec


def test_absent_is_not_zero():
    """What is not stored annihilates NaN and Inf; what is stored does not."""
    a = st.from_coo((np.array([0, 1]), np.array([0, 1])), np.array([np.nan, 0.0]), (2, 2), "CSR")
    b = st.from_coo((np.array([0, 1]), np.array([1, 1])), np.array([1.0, np.inf]), (2, 2), "CSR")
    out = st.evaluate("R(i,j) = A(i,j) * B(i,j)", A=a, B=b)
    assert out.nse == 1 and np.isnan(out[1, 1])
    out = st.evaluate("R(i,j) = A(i,j) + B(i,j)", A=a, B=b)
    assert out.nse == 3 and np.isnan(out[0, 0]) and out[0, 1] == 1 and out[1, 1] == np.inf


def test_interpreter_agrees(settings):
    A, B = (sp.random(50, 40, 0.1, random_state=k, format="csr") for k in (1, 2))
    a, b = map(st.from_scipy, (A, B))
    specs = (
        "R(i,j) = A(i,j) + B(i,j)",
        "R(i,k) = A(i,j) * B(k,j)",
        "R(j,k) = A(i,j) * B(i,k)",
        "R(i) = A(i,j) * B(i,j)",
    )
    compiled = [st.evaluate(s, A=a, B=b) for s in specs]
    settings.engine = "interpreter"
    for spec, want in zip(specs, compiled):
        got = st.evaluate(spec, A=a, B=b)
        if isinstance(want, st.Tensor):
            assert got.format == want.format
            got, want = got.to_dense(), want.to_dense()
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


TAILS = ["(i,j,r)->(i: compressed, j: compressed, r: dense)", "(i,j,r)->(i: dense, j: compressed, r: dense)"]
TAILS += ["(i,j,r)->(i: compressed, j: dense, r: dense)", "(i,j,r)->(j: compressed, r: dense, i: dense)"]


@pytest.mark.parametrize("format", TAILS)
def test_dense_blocks_below_the_last_compressed_level(format):
    rng = np.random.default_rng(3)
    a = np.where(rng.random((5, 5, 5)) < 0.3, rng.integers(-3, 4, (5, 5, 5)), 0.0)
    b = np.where(rng.random((5, 5)) < 0.5, rng.integers(-3, 4, (5, 5)), 0.0)
    A = st.from_dense(a, "CSF")
    for B in (b, st.from_dense(b, "CSR")):
        for spec, want in [
            ("Y(i,j,r) = A(i,j,k) * B(k,r)", np.einsum("ijk,kr->ijr", a, b)),
            ("Y(i,j,r) = 2 * A(i,j,k) * B(k,r) + A(i,r,j)", 2 * np.einsum("ijk,kr->ijr", a, b) + a.transpose(0, 2, 1)),
            ("Y(i,j,r) = max(k, A(i,j,k) * B(r,k))", (a[:, :, None, :] * b[None, None]).max(3)),
            ("Y(i,j,r) = exp(A(i,j,r)) + 0 * B(i,j)", np.exp(a)),
        ]:
            got = st.evaluate(spec, A=A, B=B, format=format)
            assert got.format == st.Format(format)
            np.testing.assert_allclose(got.to_dense(), want, err_msg=spec)
            other = st._core.evaluate(spec, dict(A=A, B=B), format=format, general=True)
            assert got.nse == other.nse and np.array_equal(got.to_dense(), other.to_dense()), spec


def test_one_value_for_all_slots():
    torch = pytest.importorskip("torch")
    shared = torch.full((1,), 2.0, dtype=torch.float64).expand(3)
    A = st.Tensor("CSR", (3, 3), values=shared, pos={1: np.array([0, 1, 2, 3])}, crd={1: np.array([0, 2, 1])})
    a = A.to_dense()
    assert A._shares_value and np.array_equal((A @ A).to_dense(), a @ a)
    for spec, want in [
        ("C(i,j) = A(i,j) * A(j,i)", a * a.T),
        ("C(i,j) = 3 * abs(A(i,j))", 3 * a),
        ("C(i,j) = A(i,j) + A(j,i)", a + a.T),
    ]:
        assert np.array_equal(st.evaluate(spec, A=A).to_dense(), want), spec


def test_functions_share_the_pattern():
    a = np.where(np.random.default_rng(0).random((6, 7)) < 0.4, 1.5, 0)
    for f in ("CSR", "DCSR", "CSC", "(i, j) -> (i: compressed, j: dense)"):
        A = st.from_dense(a, f)
        for spec, want in [
            ("C(i,j) = exp(A(i,j))", np.exp(a)),
            ("C(i,j) = A(i,j) > 1", a > 1),
            ("C(i,j) = A(i,j) * A(i,j) + A(i,j)", a * a + a),
        ]:
            got = st.evaluate(spec, A=A)
            assert got.format == A.format and got.nse == A.nse, (f, spec)
            np.testing.assert_allclose(got.to_dense(), want, rtol=3e-16 if "exp" in spec else 0)
            assert str(st.explain(spec, A=A)).count("into the pattern of A") == 1
    csr = st.from_dense(a, "CSR")
    assert np.shares_memory(st.evaluate("C(i,j) = abs(A(i,j))", A=csr).crd(1), csr.crd(1))


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", ["CSR", "DCSR", "COO", "(i,k)->(i: dense, k: dense)"])
def test_a_mask_beside_the_workspace(format, complement):
    """Rows of the mask that are empty, full, and longer than a word of bits."""
    rng = np.random.default_rng(8)
    A, B = matrix(rng, 60, 200, 0.05), matrix(rng, 200, 300, 0.05)
    pattern = rng.random((60, 300)) < rng.choice([0, 0.1, 1], 60)[:, None]
    mask = st.from_dense(pattern if "k: dense" in format else pattern.astype(float), format)
    out = st.evaluate(
        "R(i,k) = A(i,j) * B(j,k)", A=st.from_scipy(A), B=st.from_scipy(B), mask=mask, complement_mask=complement
    )
    out = out if isinstance(out, np.ndarray) else out.to_dense()
    assert np.array_equal(out, np.where(pattern != complement, (A @ B).toarray(), 0))
    # A vector's mask has one row.
    seen = st.from_dense(pattern[7].astype(float), "(k) -> (k : compressed)")
    x = st.from_dense(np.where(np.arange(200) % 9 == 0, 1.0, 0.0), "(j) -> (j : compressed)")
    out = st.evaluate("r(k) = x(j) * B(j,k)", x=x, B=st.from_scipy(B), mask=seen, complement_mask=complement)
    want = np.where(pattern[7] != complement, np.asarray(x.to_dense()) @ B.toarray(), 0)
    assert np.array_equal(np.asarray(out if isinstance(out, np.ndarray) else out.to_dense()), want)


@pytest.mark.parametrize("order", ["C", "F"])
def test_affine_views_of_dense_operands_in_any_order(order):
    rng = np.random.default_rng(9)
    x = np.asarray(rng.integers(-4, 5, (6, 5, 7)).astype(float), order=order)
    a, b = matrix(rng, 4, 5, 0.5), matrix(rng, 4, 5, 0.5)
    A, B = st.from_scipy(a), st.from_scipy(b).to("CSC")
    got = st.evaluate("R(i,j) = A(i,j) * X(i+2, j, 3) * B(i,j)", A=A, B=B, X=x)
    assert np.array_equal(got.to_dense(), a.toarray() * x[2:, :, 3] * b.toarray())
    x = x.transpose(1, 2, 0)
    got = st.evaluate("R(i,j) = A(i,j) * X(j, 2*i, i+1) + B(i,j)", A=A, B=B, X=x)
    want = a.toarray() * np.array([[x[j, 2 * i, i + 1] for j in range(5)] for i in range(4)]) + b.toarray()
    assert np.array_equal(got.to_dense(), want)


SEMIRINGS = [
    ("max(a, b); min(a, b); -inf", lambda x: x.max(1), np.minimum, -np.inf),
    ("min(b, a); max(b, a); inf", lambda x: x.min(1), np.maximum, np.inf),
    ("min(a, b); a * b; inf", lambda x: x.min(1), np.multiply, np.inf),
    ("a + b; min(a, b); 0", lambda x: x.sum(1), np.minimum, 0),
    ("a + b; b + a; 0", lambda x: x.sum(1), np.add, 0),
]


@pytest.mark.parametrize("definition,add,multiply,zero", SEMIRINGS)
@pytest.mark.parametrize("format", ["CSR", "COO", "BSR(2, 2)"])
def test_semirings_of_users(definition, add, multiply, zero, format):
    rng = np.random.default_rng(10)
    a, b = matrix(rng, 30, 40, 0.1), matrix(rng, 40, 20, 0.1)
    A, B = st.from_scipy(a).to(format), st.from_scipy(b).to(format)
    assert "generated code serves" in st.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, semiring=definition)
    got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, semiring=definition)
    x, y = a.toarray()[:, :, None], b.toarray()[None]
    products = np.where((x != 0) & (y != 0), multiply(x, y), zero)
    assert np.array_equal(got.to_dense(), add(products))
    other = st._core.evaluate("C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), semiring=definition, general=True)
    assert np.array_equal(got.to_dense(), other.to_dense())
    # What is not of these operators alone, or has a zero of its own, goes the way that looks at samples.
    with pytest.raises(st.ExpressionError, match="makes no semiring"):
        st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, semiring="min(a, b); a + b; 0")


def edges(seed, n=60, features=5):
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.1, format="csr", random_state=seed)
    q, k, v = (rng.standard_normal((n, features)) for _ in range(3))
    return a, q, k, v


def test_attention_in_one_expression():
    """SDDMM, exp, row sums and SpMM; rows without an edge stay without a value."""
    a, q, k, v = edges(1)
    a.data[a.indptr[7] : a.indptr[8]] = 0
    a.eliminate_zeros()
    A, D = st.from_scipy(a), a.toarray()
    weight = "A(i,j) * exp(sum(k, Q(i,k) * K(j,k)))"
    got = st.evaluate(f"Y(i,d) = sum(j, {weight} * V(j,d)) / sum(j, {weight})", A=A, Q=q, K=k, V=v)
    w = D * np.exp(q @ k.T)
    with np.errstate(invalid="ignore"):
        want = (w @ v) / w.sum(1)[:, None]
    assert np.isnan(want[7]).all()
    want[7] = 0
    np.testing.assert_allclose(np.asarray(got), want)


def test_elements_are_worked_on_once_and_then_multiplied():
    a, q, k, v = edges(2)
    A = st.from_scipy(a)
    E = st.evaluate("E(i,j) = A(i,j) * Q(i,k) * K(j,k)", A=A, Q=q, K=k)
    how = st.explain("Y(i,d) = A(i,j) * exp(E(i,j)) * V(j,d)", A=A, E=E, V=v)
    assert (
        "in 2 steps" in how
        and "1. #work3(i,j) = A(i,j) * exp(E(i,j))" in how
        and "2. Y(i,d) = #work3(i,j) * V(j,d)" in how
    )
    got = st.evaluate("Y(i,d) = A(i,j) * exp(E(i,j)) * V(j,d)", A=A, E=E, V=v)
    D = a.toarray()
    np.testing.assert_allclose(got, (D * np.exp(D * (q @ k.T))) @ v)
    # Of another dtype, or with elements elsewhere, it stays one nest.
    B = st.from_scipy(sp.random(60, 60, 0.1, format="csr", random_state=5))
    for other in (E.to(dtype="float32"), B):
        assert "loops over" in st.explain("Y(i,d) = A(i,j) * exp(E(i,j)) * V(j,d)", A=A, E=other, V=v)
        got = st.evaluate("Y(i,d) = A(i,j) * exp(E(i,j)) * V(j,d)", A=A, E=other, V=v)
        np.testing.assert_allclose(got, (D * np.exp(other.to_dense())) @ v, rtol=1e-4, atol=1e-6)


def test_tensors_that_differ_in_values_alone_are_walked_once():
    a, q, k, v = edges(3)
    A = st.from_scipy(a)
    E = st.evaluate("E(i,j) = exp(A(i,j)) * A(i,j)", A=A)
    F = st.evaluate("F(i,j) = -A(i,j)", A=A)
    spec = "R(i,j) = A(i,j) * E(i,j) + F(i,j) / x(j)"
    x = np.arange(1.0, 61)
    d = a.toarray()
    want = d * d * np.exp(d) - d / x
    how = st.explain(spec, A=A, E=E, F=F, x=x)
    assert "for j in t0\n" in how and "into the pattern of A" in how
    np.testing.assert_allclose(st.evaluate(spec, A=A, E=E, F=F, x=x).to_dense(), want)
    got = st.evaluate("y(i) = sum(j, A(i,j) * E(i,j) + F(i,j) / x(j))", A=A, E=E, F=F, x=x)
    np.testing.assert_allclose(got, want.sum(1))
    # Equal patterns in arrays of their own are merged as ever.
    G = st.from_scipy(sp.csr_array(-a))
    assert "for j in t0 or t2" in st.explain(spec, A=A, E=E, F=G, x=x)
    np.testing.assert_allclose(st.evaluate(spec, A=A, E=E, F=G, x=x).to_dense(), want)


def test_dense_expressions_are_compiled():
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((30, 40)), rng.standard_normal(30)
    for x in (a, np.asfortranarray(a)):
        got = st.evaluate("R(i,j) = exp(A(i,j)) / (1 + abs(b(i)))", A=x, b=b)
        np.testing.assert_allclose(got, np.exp(a) / (1 + abs(b))[:, None])
        np.testing.assert_allclose(st.evaluate("m(j) = max(i, A(i,j) - b(i))", A=x, b=b), (a - b[:, None]).max(0))
    assert "generated code serves" in st.explain("R(i,j) = exp(A(i,j)) / b(i)", A=a, b=b)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8"])
def test_sign(dtype):
    a = np.array([[0, 3, -2], [5, 0, 0]]).astype(dtype)
    A = st.from_dense(a, "CSR")
    assert "generated code serves" in st.explain("R(i,j) = sign(A(i,j))", A=A)
    got = st.evaluate("R(i,j) = sign(A(i,j))", A=A)
    assert got.dtype == dtype and np.array_equal(got.to_dense(), np.sign(a)) and got.nse == A.nse
    if dtype.startswith("float"):
        x = np.array([np.nan, -0.0, np.inf, -np.inf], dtype)
        got = st.evaluate("r(i) = sign(X(i))", X=st.from_dense(x, "(i) -> (i : compressed)", threshold=None))
        assert np.array_equal(got.to_dense(), np.sign(x), equal_nan=True)
