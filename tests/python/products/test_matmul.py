"""Products against NumPy and SciPy: formats, dtypes, ranks, strides, transposes, alpha and beta, Matmul."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "DCSC",
    "BSR(2, 2)",
    "BSR(3, 2)",
    "DIAI",
    "DIAJ",
    "dense",
    "(i, j) -> (j: dense, i: dense)",
    "(i, j) -> (i: compressed, j: dense)",
    "(i, j) -> (i: dense, j: delta(2))",
    "(i, j) -> (i: dense, j: bitmap)",
    "(i, j) -> (i: dense, j: padded)",
    "BSR(2, 2) + COO",
    "(i, j) -> (i / 4: dense, j / 4: compressed, (i % 4) / 2: dense, (j % 4) / 2: compressed, (i % 4) % 2: dense, (j % 4) % 2: dense)",
    "(i, j) -> (i + j: compressed, i: range)",
]


def sample(shape, dtype="float64", seed=0, density=0.35):
    rng = np.random.default_rng(seed)
    a = rng.integers(-4, 5, shape) if np.dtype(dtype).kind in "fc" else rng.integers(0, 3, shape)
    a = np.where(rng.random(shape) < density, a, 0).astype(dtype)
    return a + 1j * a[::-1] if np.dtype(dtype).kind == "c" else a


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", [(7, 5), (1, 6), (6, 1), (0, 3), (3, 0)])
def test_formats(format, shape):
    a = sample(shape)
    A = st.from_dense(a, format)
    m, n = shape
    for b in (
        sample(n, seed=1),
        sample((n, 1), seed=2),
        sample((n, 4), seed=3),
        np.asfortranarray(sample((n, 5), seed=4)),
        sample((n, 6), seed=5)[:, ::2],
        sample((3, n, 2), seed=6),
    ):
        y = A @ b
        assert isinstance(y, np.ndarray) and np.array_equal(y, a @ b), b.shape
    for b in (
        sample(m, seed=1),
        sample((4, m), seed=2),
        np.asfortranarray(sample((4, m), seed=3)),
        sample((2, 3, m), seed=4),
    ):
        assert np.array_equal(b @ A, b @ a), b.shape


@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128", "bool"]
)
@pytest.mark.parametrize("format", ["CSR", "COO", "CSC", "BSR(2, 2)", "DIAJ", "dense"])
def test_dtypes(format, dtype):
    a, x, X = sample((6, 8), dtype), sample(8, dtype, 1), sample((8, 3), dtype, 2)
    A = st.from_dense(a, format)
    for b in (x, X):
        expected = a @ b
        got = A @ b
        assert got.dtype == expected.dtype and np.array_equal(got, expected)


@pytest.mark.parametrize(
    "da,db", list(itertools.permutations(["bool", "int8", "int32", "float32", "float64", "complex64"], 2))
)
def test_promotion_is_numpys(da, db):
    a, b = sample((4, 5), da), sample((5, 2), db, 1)
    got = st.from_dense(a, "CSR") @ b
    assert got.dtype == (a @ b).dtype and np.allclose(got, a @ b)


@pytest.mark.parametrize(
    "transpose_a,transpose_b,conjugate_a,conjugate_b", list(itertools.product([False, True], repeat=4))
)
def test_transpose_and_conjugate(transpose_a, transpose_b, conjugate_a, conjugate_b):
    a, b = (
        sample((4, 5) if not transpose_a else (5, 4), "complex128"),
        sample((5, 3) if not transpose_b else (3, 5), "complex128", 1),
    )
    op = lambda x, t, c: (x.T if t else x).conj() if c else (x.T if t else x)  # noqa: E731
    expected = op(a, transpose_a, conjugate_a) @ op(b, transpose_b, conjugate_b)
    for A, B in ((st.from_dense(a, "CSR"), b), (a, st.from_dense(b, "CSR")), (st.from_dense(a, "BSR(2, 2)"), b)):
        got = st.matmul(
            A, B, transpose_a=transpose_a, transpose_b=transpose_b, conjugate_a=conjugate_a, conjugate_b=conjugate_b
        )
        assert np.array_equal(got, expected)


def test_alpha_and_beta():
    a, x = sample((5, 6)), sample(6, seed=1)
    A = st.from_dense(a, "CSR")
    assert np.array_equal(st.matmul(A, x, alpha=3), 3 * (a @ x))
    c = np.arange(5.0)
    assert st.matmul(A, x, c) is c and np.array_equal(c, a @ x + np.arange(5))
    c = np.arange(5.0)
    st.matmul(A, x, c, alpha=2, beta=-1)
    assert np.array_equal(c, 2 * (a @ x) - np.arange(5))
    c = np.full(5, np.nan)
    st.matmul(A, x, c, beta=0)
    assert np.array_equal(c, a @ x)
    wide = np.zeros((5, 8))
    st.matmul(A, sample((6, 4), seed=2), wide[:, ::2])
    assert np.array_equal(wide[:, ::2], a @ sample((6, 4), seed=2)) and not wide[:, 1::2].any()
    with pytest.raises(st.PlanError, match="beta"):
        st.matmul(A, x, beta=2)


def test_absent_is_not_zero():
    A = st.from_dense(np.array([[0.0, 1.0], [2.0, 0.0]]), "CSR")
    assert (A @ np.array([np.nan, 3.0])).tolist()[0] == 3.0 and np.isnan((A @ np.array([np.nan, 3.0]))[1])


def test_operands_that_are_not_tensors():
    a = sps.random_array((5, 6), density=0.5, rng=np.random.default_rng(0), format="csr")
    x = np.ones(6)
    np.testing.assert_allclose(st.matmul(a, x), a @ x)
    np.testing.assert_allclose(st.matmul(st.from_scipy(a), [1.0] * 6), a @ x)
    with pytest.raises(st.TensorError):
        st.matmul(st.from_scipy(a), object())


def test_shapes_that_do_not_fit():
    A = st.from_dense(np.ones((3, 4)), "CSR")
    for b in (np.ones(3), np.ones((3, 2)), np.float64(2.0)):
        with pytest.raises((st.ExpressionError, st.TensorError)):
            A @ b
    for c in (np.ones(4), np.ones((3, 1)), np.ones(3, "int32"), [0.0] * 3):
        with pytest.raises(st.Error):
            st.matmul(A, np.ones(4), c)


def test_writing_over_an_operand():
    a = sample((5, 5))
    A = st.from_dense(a, "CSR")
    x = np.arange(5.0)
    expected = a @ x
    st.matmul(A, x, x, beta=0)
    assert np.array_equal(x, expected)
    X = np.arange(25.0).reshape(5, 5)
    expected = a @ X.T + X
    st.matmul(A, X.T, X)
    assert np.array_equal(X, expected)


def test_result_memory_is_fresh():
    A = st.from_dense(np.eye(3), "CSR")
    y1, y2 = A @ np.ones(3), A @ np.zeros(3)
    assert y1.tolist() == [1, 1, 1] and y2.tolist() == [0, 0, 0]


def test_matmul_class():
    a, b = sample((5, 6)), sample((6, 2), seed=1)
    c = np.zeros((5, 2))
    with st.Matmul(st.from_dense(a, "CSR"), b, c, beta=1.0) as mm:
        with pytest.raises(st.PlanError, match="plan"):
            mm.execute()
        plan = mm.plan()
        assert "csr" in str(plan.explain()).lower()
        assert mm.execute() is c
        mm.execute()
        assert np.array_equal(c, 2 * (a @ b))
        a2, b2, c2 = sample((5, 6), seed=5, density=0.8), sample((6, 2), seed=6), np.ones((5, 2))
        mm.reset_operands(st.from_dense(a2, "CSR"), b2, c2, alpha=2)
        assert mm.execute() is c2 and np.array_equal(c2, 2 * (a2 @ b2) + 1)
        with pytest.raises(st.Error):
            mm.reset_operands(b=np.ones((7, 2)))
        with pytest.raises(st.Error):
            mm.reset_operands(a=st.from_dense(a2, "CSC"))
        mm.release_operands()
        with pytest.raises(st.PlanError, match="released"):
            mm.execute()
        with pytest.raises(st.PlanError, match="released"):
            mm.reset_operands(b=b2)
    with pytest.raises(st.PlanError, match="freed"):
        mm.execute()
    mm = st.Matmul(st.from_dense(a, "COO"), b)
    mm.plan()
    first, second = mm.execute(), mm.execute()
    assert np.array_equal(first, a @ b) and not np.shares_memory(first, second)


def test_plan():
    a, x = sample((5, 6)), sample(6, seed=1)
    A = st.from_dense(a, "CSR")
    for p in (st.plan("ij,j->i", A, x), st.plan("y(i) = A(i,j) * x(j)", A=A, x=x)):
        assert np.array_equal(p.run(A, x), a @ x) and p.output_shape == (5,) and p.output_dtype == np.float64
        assert p.kernel_name and p.kernel_name in repr(p) and str(p.explain())
        out = np.ones(5)
        assert p.run(A, x, out=out, alpha=2, beta=1) is out and np.array_equal(out, 2 * (a @ x) + 1)
        with pytest.raises(st.PlanError):
            p.run(A.to("CSC"), x)
        with pytest.raises(st.PlanError):
            p.run(A, x, beta=1)
    assert np.array_equal(st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), a @ x)
    with pytest.raises(st.ExpressionError, match="A="):
        st.evaluate("y(i) = A(i,j) * x(j)", x=x)
    assert st.plan("ij,j->i", A, x, dtype="float32").output_dtype == np.float32


def test_einsum():
    a3 = sample((3, 4, 5))
    T = st.from_dense(a3, "CSF")
    B, C = sample((4, 6), seed=1), sample((5, 6), seed=2)
    assert np.array_equal(st.einsum("ijk,jr,kr->ir", T, B, C), np.einsum("ijk,jr,kr->ir", a3, B, C))
    assert np.array_equal(st.einsum("ijk->", T), np.einsum("ijk->", a3)) and st.einsum("ijk->", T).shape == ()
    square = sample((4, 4))
    assert st.einsum("ii", st.from_dense(square, "COO")) == np.trace(square)
    assert np.array_equal(st.einsum("ii->i", st.from_dense(square, "CSC")), np.diag(square))
    with pytest.raises(st.ExpressionError):
        st.einsum("ij,jk", T, B)
    with pytest.raises(st.ExpressionError):
        st.einsum("ijk,jr->i?", T, B)


def test_register_kernel():
    calls = []

    def mine(A, x, *, out, alpha, beta):
        calls.append((type(A), type(x)))
        out[...] = alpha * (A.to_scipy() @ x) + beta * out if beta else alpha * (A.to_scipy() @ x)

    f = "(i, j) -> (j: compressed, i: compressed)"
    a, x = sample((4, 5)), sample(5, seed=1)
    A = st.from_dense(a, f)
    st.register_kernel("mine", "ij,j->i", [f, "dense(1)"], lambda *o, **k: mine(o[0].to("CSR"), *o[1:], **k))
    try:
        assert np.array_equal(A @ x, a @ x) and calls and calls[0][1] is np.ndarray
        assert "mine" in str(st.plan("ij,j->i", A, x).explain())
        st.register_kernel("broken", "ij,j->i", [f, "dense(1)"], lambda *o, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            A @ x
    finally:
        assert st.unregister_kernel("mine")
        st.unregister_kernel("broken")
    assert not st.unregister_kernel("mine")
    assert np.array_equal(A @ x, a @ x)
    with pytest.raises(st.PlanError, match="callable"):
        st.register_kernel("bad", "ij,j->i", ["CSR", "dense(1)"], 3)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "BSR(2, 2)", "DIAJ", "(i, j) -> (i: dense, j: delta(4))"])
def test_same_bits_with_any_number_of_threads(format, settings):
    rng = np.random.default_rng(3)
    a = sps.random_array((3000, 2000), density=0.01, rng=rng).tocsr()
    A = st.from_scipy(a).to(format)
    x, X = rng.random(2000), rng.random((2000, 17))
    results = []
    for threads in (1, 2, 7):
        settings.threads = threads
        results.append(((A @ x).tobytes(), (A @ X).tobytes()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("format", FORMATS)
def test_a_complex_factor_of_one_leaves_infinities_alone(format):
    a = np.zeros((4, 6), complex)
    a[0, 0] = a[0, 3] = a[3, 4] = 1e308
    a[1, 1], a[2, 2], a[3, 5] = 1e308j, 3, 2 - 1j
    A = st.from_dense(a, format)
    inf = np.inf
    column = np.array([complex(inf, 0), complex(0, inf), 30, complex(inf, -10)])

    def same(got, expected):
        return all(np.array_equal(f(got), f(expected), equal_nan=True) for f in (np.real, np.imag))

    for shape in ((6,), (6, 1), (6, 3)):
        x = np.full(shape, 10 + 0j)
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(column.reshape((4,) + (1,) * (len(shape) - 1)), (4,) + shape[1:])
            assert same(A @ x, expected)
            c = np.full(expected.shape, 1 + 2j)
            c[0] = complex(0, inf)
            total, strided = c + expected, np.zeros((*expected.shape, 2), complex)[..., 0]
            strided[...] = c
            assert same(st.matmul(A, x, c), total) and same(st.matmul(A, x, strided), total)
            for alpha in (2.0, 1j, 2 - 1j):  # as NumPy multiplies
                assert same(st.matmul(A, x, alpha=alpha), np.complex128(alpha) * expected)


def test_diagonals_of_batches():
    a = np.arange(1.0, 17).reshape(2, 2, 2, 2)
    T = st.from_dense(a, "(i, j, k, l) -> (i: batch, j: batch, k: dense, l: compressed)")
    for spec in ("iikl->kl", "iikl->ikl", "iikl->", "iiii->i", "iiik->ik", "ijkk->ij", "ijij->ij"):
        found = st.einsum(spec, T)
        assert np.array_equal(found.to_dense() if isinstance(found, st.Tensor) else found, np.einsum(spec, a)), spec
        out = np.ones_like(np.einsum(spec, a))
        if out.ndim:
            st.einsum(spec, T, out=out, alpha=2, beta=3)
            assert np.array_equal(out, 2 * np.einsum(spec, a) + 3), spec


@pytest.mark.filterwarnings("ignore::strata.CopyWarning")
def test_memory_that_cannot_be_written_in_place_is_refused():
    A, x = st.from_dense(np.eye(3), "CSR"), np.ones(3)
    unaligned = np.zeros(25, np.uint8)[1:].view(float)
    for c in (unaligned, np.zeros(3, ">f8")):
        with pytest.raises(st.TensorError, match="where it lies"):
            st.matmul(A, x, c)
        with pytest.raises(st.TensorError, match="where it lies"):
            st.einsum("ij,j->i", A, x, out=c)
        assert not c.any()


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_csr_do_not_see_their_neighbours(seed):
    """A row's end is masked: what stands behind it, and x there, may be anything. Nothing is read behind the last row."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 60, 2)
    dtype = rng.choice(["float32", "float64"])
    a = sps.random(n, m, rng.choice([0.02, 0.1, 0.3, 0.9]), format="csr", random_state=seed)
    a.data = np.round(9 * a.data).astype(dtype)
    x = rng.integers(-5, 6, m).astype(dtype)
    x[rng.integers(m)], x[rng.integers(m)] = np.inf, np.nan
    with np.errstate(all="ignore"):
        expected = a @ x
    for index in ("int32", "int64", "uint16"):
        assert np.array_equal(st.from_scipy(a).to("CSR", crd_dtype=index) @ x, expected, equal_nan=True)


@pytest.mark.parametrize("dtype, columns", [("float64", 1_000_000), ("float32", 2_000_000)])
def test_a_vector_that_lies_in_memory_is_asked_for_early(dtype, columns):
    """Rows of all lengths (none, and up to the last element) whose columns lie far apart: values of more than 16 MiB, x of more than 7."""
    r = np.random.default_rng(5)
    stored = (17 << 20) // np.dtype(dtype).itemsize
    lengths = np.minimum(r.geometric(0.1, 700_000) - 1, 60)
    pos = np.concatenate([[0], np.cumsum(lengths)])
    rows = int(np.searchsorted(pos, stored))
    pos = pos[: rows + 1]
    a = sps.csr_array(
        (
            r.standard_normal(pos[-1]).astype(dtype),
            r.integers(0, columns, pos[-1], dtype=np.int32),
            pos.astype(np.int32),
        ),
        shape=(rows, columns),
    )
    x = r.standard_normal(columns).astype(dtype)
    plan = st.plan("ij,j->i", st.from_scipy(a), x)
    assert plan.kernel_name == "csr_product"
    expected = a.astype("float64") @ x.astype("float64")
    np.testing.assert_allclose(
        np.asarray(plan.run(st.from_scipy(a), x)), expected, rtol=0, atol=1e-4 if dtype == "float32" else 1e-12
    )


def test_the_summed_extent_is_not_stretched():
    column, square = np.ones((3, 1)), np.ones((3, 3))
    for a, b in ((column, square), (square, column.T)):
        for f in ("CSR", "CSC", "COO", "BSR(2, 2)", "DIAJ"):
            with pytest.raises(st.ExpressionError, match="the inner extents of a @ b differ"):
                st.from_dense(a, f) @ st.from_dense(b, "CSR")
    for a, b in ((column, square), (square[:1], square[:1, 0]), (square[0], square[:1])):
        with pytest.raises(st.ExpressionError, match="the inner extents of a @ b differ"):
            st.matmul(st.asarray(a, format=_coo(a)), st.asarray(b, format=_coo(b)))


def _coo(a):
    return st.Format("COO", a.ndim)
