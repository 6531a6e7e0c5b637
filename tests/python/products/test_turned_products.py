"""Many rows times a sparse matrix: computed in strips of rows, each turned, multiplied and turned back."""

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(4, 4)", "ELL", "DIA", "delta(4)", "structured(2, 4)", "CSR + COO"]


def operands(rows, inner=24, columns=40, dtype=np.float64):
    rng = np.random.default_rng(rows)
    matrix = rng.integers(-3, 4, (inner, columns)) * (rng.random((inner, columns)) < 0.3)
    return rng.integers(-3, 4, (rows, inner)).astype(dtype), matrix.astype(dtype)


def stored(matrix, format):
    if format == "structured(2, 4)":
        matrix = matrix * np.tile([1, 0, 0, 1], matrix.shape[1] // 4).astype(matrix.dtype)
    return st.from_dense(matrix, format), matrix


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("rows", [511, 512, 513, 700])
def test_any_number_of_rows(format, rows):
    x, matrix = operands(rows)
    A, matrix = stored(matrix, format)
    np.testing.assert_array_equal(x @ A, x @ matrix)
    np.testing.assert_array_equal(x[::-1, ::-1] @ A, x[::-1, ::-1] @ matrix)
    np.testing.assert_array_equal(np.asfortranarray(x) @ A, x @ matrix)


@pytest.mark.parametrize("order", ["C", "F"])
def test_into_what_is_there(order):
    x, matrix = operands(600)
    A = st.from_dense(matrix, "CSR")
    c = np.ones((600, 40), order=order)
    st.matmul(x, A, c, alpha=2, beta=3)
    np.testing.assert_array_equal(c, 2 * x @ matrix + 3)
    wide = np.full((600, 80), 7.0, order=order)
    st.matmul(x, A, wide[:, ::2], beta=0)
    np.testing.assert_array_equal(wide[:, ::2], x @ matrix)
    assert (wide[:, 1::2] == 7).all()


@pytest.mark.parametrize("rows", [9, 600])
def test_planned_once(rows):
    x, matrix = operands(rows)
    A = st.from_dense(matrix, "CSR")
    for left, right, a, b in ((x, A, x, matrix), (A.T, np.ascontiguousarray(x.T).T.T, matrix.T, x.T)):
        with st.Matmul(left, right, alpha=3) as product:
            product.plan()
            np.testing.assert_array_equal(product.execute(), 3 * a @ b)
            product.reset_operands(alpha=1)
            first, again = product.execute(), product.execute()
        np.testing.assert_array_equal(first, a @ b)
        assert not np.shares_memory(first, again)
        c = np.ones((a.shape[0], b.shape[1]))
        with st.Matmul(left, right, c, beta=2) as product:
            product.plan()
            assert product.execute() is c
        np.testing.assert_array_equal(c, a @ b + 2)


def test_into_memory_of_the_operand():
    x, matrix = operands(600, 40, 40)
    A, want = st.from_dense(matrix, "CSR"), x @ matrix
    st.matmul(x, A, x, beta=0)
    np.testing.assert_array_equal(x, want)
    both = np.zeros(601 * 40)
    both[40:] = operands(600, 40, 40)[0].ravel()
    st.matmul(both[40:].reshape(600, 40), A, both[:-40].reshape(600, 40), beta=0)
    np.testing.assert_array_equal(both[:-40].reshape(600, 40), want)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool", "complex64", "complex128"])
def test_dtypes(dtype):
    x, matrix = operands(600)
    x, matrix = x.astype(dtype), matrix.astype(dtype)
    y, want = x @ st.from_dense(matrix, "CSR"), x @ matrix
    assert y.dtype == want.dtype
    np.testing.assert_array_equal(y, want)
    mixed = x.astype("float32" if dtype in ("float16", "int8", "bool") else dtype) @ st.from_dense(matrix, "CSR")
    np.testing.assert_array_equal(mixed, x.astype(mixed.dtype) @ matrix.astype(mixed.dtype))


def test_the_same_bits_with_any_number_of_threads():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((700, 96), np.float32)
    matrix = rng.standard_normal((96, 130)).astype(np.float32) * (rng.random((96, 130)) < 0.2)
    A, before, results = st.from_dense(matrix, "CSR"), st.settings.threads, []
    try:
        for threads in (1, 2, 5):
            st.settings.threads = threads
            results.append(x @ A)
    finally:
        st.settings.threads = before
    np.testing.assert_allclose(results[0], x @ matrix, rtol=1e-4, atol=1e-4)
    assert all(np.array_equal(r, results[0]) for r in results)


def test_empty():
    for rows, inner, columns in ((600, 0, 5), (600, 5, 0), (0, 5, 5)):
        y = np.ones((rows, inner)) @ st.zeros((inner, columns))
        np.testing.assert_array_equal(y, np.zeros((rows, columns)))


SPELLINGS = ["ij,jk->ik", "ji,jk->ik", "ij,kj->ik", "ji,kj->ki", "ij,jk->ki", "ij,kj->ki"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling(format, spelling):
    """However it is written, and whichever operand comes first, loops over the sparse matrix take rows."""
    rng = np.random.default_rng(3)
    extents = {"i": 300, "j": 48, "k": 56}
    first, second = spelling.split("->")[0].split(",")
    x = rng.integers(-3, 4, [extents[i] for i in first]).astype(float)
    matrix = rng.integers(-3, 4, [extents[i] for i in second]) * (rng.random([extents[i] for i in second]) < 0.3)
    A, matrix = stored(matrix.astype(float), format)
    want = np.einsum(spelling, x, matrix)
    out = spelling.split("->")[1]
    for X in (x, np.asfortranarray(x), x[::-1, ::-1]):
        np.testing.assert_array_equal(st.einsum(spelling, X, A), np.einsum(spelling, X, matrix))
        got = st.einsum(f"{second},{first}->{out}", A, X)
        np.testing.assert_array_equal(got, np.einsum(spelling, X, matrix))
    out = np.ones(want.shape)
    plan = st.plan(spelling, x, A)
    plan.run(x, A, out=out, alpha=2, beta=3)
    np.testing.assert_array_equal(out, 2 * want + 3)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "CSR + COO"])
@pytest.mark.parametrize("shape", [(2, 300), (30, 2, 10), (1, 1, 600), (0, 5), (2, 0)])
def test_more_dimensions(format, shape):
    """As layers of a network have: the last of them is summed."""
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (*shape, 40)).astype(float)
    matrix = rng.integers(-3, 4, (40, 50)) * (rng.random((40, 50)) < 0.2).astype(float)
    A = st.from_dense(matrix, format)
    np.testing.assert_array_equal(x @ A, x @ matrix)
    np.testing.assert_array_equal(x @ st.from_dense(matrix.T.copy(), format).T, x @ matrix)
    np.testing.assert_array_equal(st.einsum("jk,...j->...k", A, x), x @ matrix)
    np.testing.assert_array_equal(x[..., ::-1] @ A, x[..., ::-1] @ matrix)
    turned = x.transpose(1, 0, *range(2, x.ndim))
    np.testing.assert_array_equal(turned @ A, turned @ matrix)


@pytest.mark.parametrize("format", [*FORMATS, "DCSR", "bitmap"])
def test_columns_of_a_dense_operand_become_rows_first(format):
    """Where each value is read often enough; the result has its rows already, and nothing is turned back."""
    x, matrix = operands(64, 144, 160)
    columns = x.T
    A, matrix = stored(matrix.T, format)
    np.testing.assert_array_equal(A @ columns, matrix @ columns)
    np.testing.assert_array_equal(A @ columns[::-1, ::-1], matrix @ columns[::-1, ::-1])
    text = "C(i,k) = max(j, A(i,j) * X(j,k))"
    want = (matrix[:, :, None] * columns[None]).max(axis=1)
    np.testing.assert_array_equal(st.evaluate(text, A=A, X=columns), want)
    if format in ("CSC", "COO", "ELL", "DCSR"):
        assert "copies along k" in st.explain("C(i,k) = A(i,j) * X(j,k)", A=A, X=columns)


def test_conjugates():
    rng = np.random.default_rng(6)
    x = rng.integers(-3, 4, (600, 40)) + 1j * rng.integers(-3, 4, (600, 40))
    matrix = (rng.integers(-3, 4, (40, 30)) + 1j * rng.integers(-3, 4, (40, 30))) * (rng.random((40, 30)) < 0.3)
    A = st.from_dense(matrix, "CSR")
    np.testing.assert_array_equal(st.evaluate("C(i,k) = conj(X(i,j)) * A(j,k)", X=x, A=A), x.conj() @ matrix)
    np.testing.assert_array_equal(st.evaluate("C(i,k) = X(i,j) * conj(A(j,k))", X=x, A=A), x @ matrix.conj())
    np.testing.assert_array_equal(st.matmul(x.T.copy(), A, transpose_a=True), x @ matrix)


def test_explain_says_so():
    x, matrix = operands(600)
    A = st.from_dense(matrix, "CSC")
    text = str(st.explain("C(i,k) = A(i,j) * B(j,k)", A=x, B=A))
    assert "after turning A" in text and "its rows become columns" in text
    plan = st.plan("ij,jk->ik", x, A)
    assert plan.kernel_name.endswith("after turning A") and str(plan.explain()) == text
    small, _ = operands(8)
    assert "turning" not in st.explain("C(i,k) = X(i,j) * A(j,k)", X=small, A=A)
    with st.Matmul(x, A) as product:
        assert product.plan().kernel_name == plan.kernel_name
