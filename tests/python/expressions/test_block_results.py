"""Results in blocks from operands that have none: gathered panel by panel, not converted behind the loops."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

BLOCKS = {
    "BSR(4, 4)": (4, 4),
    "BSR(3, 2)": (3, 2),
    "BSR(1, 7)": (1, 7),
    "BSR(5, 1)": (5, 1),
    "(i, j) -> (i / 2 : dense, j / 3 : compressed, j % 3 : dense, i % 2 : dense)": (2, 3),  # columns first inside
    "(i, j) -> (j / 3 : dense, i / 2 : compressed, j % 3 : dense, i % 2 : dense)": (2, 3),  # rows of the transpose
    "BSR(16, 8)": (16, 8),
}
each_format = pytest.mark.parametrize(
    "fmt", BLOCKS, ids=["4x4", "3x2", "1x7", "5x1", "column-major", "by columns", "16x8"]
)


def matrix(rows, columns, density, seed, dtype=np.float64):
    r = np.random.default_rng(seed)
    a = sp.random(rows, columns, density=density, format="csr", rng=r)
    a.data = r.integers(-9, 10, a.nnz).astype(dtype)  # zeros among them: they are stored
    return a.astype(dtype)


def blocks_of(dense, size):
    """Which blocks of this size have something."""
    (m, n), (r, c) = dense.shape, size
    padded = np.zeros((-(-m // r) * r, -(-n // c) * c), bool)
    padded[:m, :n] = dense
    return padded.reshape(padded.shape[0] // r, r, padded.shape[1] // c, c).any(axis=(1, 3))


def check(text, operands, want, came, fmt, **how):
    """The numbers, the blocks that are stored, and that nothing is converted; the same on any number of threads."""
    got = st.evaluate(text, operands, format=fmt, **how)
    assert got.format == st.Format(fmt)
    assert np.array_equal(got.to_numpy(), want)
    assert len(got.crd(1)) == blocks_of(came, BLOCKS[fmt]).sum()
    told = st.explain(text, operands, format=fmt, **how)
    assert "for so many rows of" in told and "then converts" not in told, told
    values = [got.values.copy()]
    before = st.settings.threads
    for threads in (1, 2, 7):
        st.settings.threads = threads
        values.append(st.evaluate(text, operands, format=fmt, **how).values)
    st.settings.threads = before
    assert all(v.tobytes() == values[0].tobytes() for v in values)


@each_format
@pytest.mark.parametrize("shape", [(64, 48, 80), (61, 47, 83), (1, 1, 1), (200, 30, 3)])
def test_sums_and_products(fmt, shape):
    m, n, k = shape
    a, b, c = matrix(m, n, 0.1, 1), matrix(m, n, 0.1, 2), matrix(n, k, 0.1, 3)
    A, B, C = (st.from_scipy(x).to("CSC" if fmt.startswith("(i, j) -> (j") else "CSR") for x in (a, b, c))
    there = lambda x: sp.csr_matrix((np.ones_like(x.data), x.indices, x.indptr), x.shape).toarray() != 0
    x, y, z = a.toarray(), b.toarray(), c.toarray()
    check("R(i,j) = A(i,j) + B(i,j)", dict(A=A, B=B), x + y, there(a) | there(b), fmt)
    check("R(i,j) = A(i,j) - 2 * B(i,j)", dict(A=A, B=B), x - 2 * y, there(a) | there(b), fmt)
    check("R(i,j) = A(i,j) * B(i,j)", dict(A=A, B=B), x * y, there(a) & there(b), fmt)
    came = there(a).astype(int) @ there(c) > 0
    check("R(i,k) = A(i,j) * C(j,k)", dict(A=A, C=C), x @ z, came, fmt)


def test_many_chunks():
    a, b = matrix(4001, 3003, 0.01, 10), matrix(3003, 2500, 0.01, 11)
    A, B = st.from_scipy(a), st.from_scipy(b)
    ones = lambda x: sp.csr_matrix((np.ones_like(x.data), x.indices, x.indptr), x.shape)
    came = (ones(a) @ ones(b)).toarray() > 0
    for fmt in list(BLOCKS)[:2]:
        check("R(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), (a @ b).toarray(), came, fmt)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex128, np.bool_])
def test_dtypes(dtype):
    a, b = matrix(50, 41, 0.2, 4, dtype), matrix(41, 37, 0.2, 5, dtype)
    A, B = st.from_scipy(a), st.from_scipy(b)
    want = np.einsum("ij,jk->ik", a.toarray(), b.toarray())
    got = st.einsum("ij,jk->ik", A, B, format="BSR(3, 4)")
    assert got.dtype == want.dtype and np.array_equal(got.to_numpy(), want)


def test_other_operands():
    """Blocks of another size, coordinates, diagonals, empty rows, three at once."""
    a, b, c = (matrix(60, 60, 0.05, s) for s in (6, 7, 8))
    want = a.toarray() + b.toarray() * c.toarray()
    for one, two, three in (("BSR(2, 2)", "CSR", "COO"), ("DCSR", "CSC", "ELL"), ("DIA", "Delta(4)", "BSR(5, 5)")):
        A, B, C = (st.from_scipy(x).to(f) for x, f in zip((a, b, c), (one, two, three)))
        got = st.evaluate("R(i,j) = A(i,j) + B(i,j) * C(i,j)", A=A, B=B, C=C, format="BSR(4, 3)")
        assert np.array_equal(got.to_numpy(), want), (one, two, three)


def test_what_is_stored_stays():
    a = sp.csr_matrix((np.array([-0.0, np.nan, 5.0]), ([0, 3, 9], [1, 8, 2])), (10, 11))
    A = st.from_scipy(a)
    got = st.evaluate("R(i,j) = A(i,j) * s", A=A, s=np.array(1.0), format="BSR(4, 4)").to_numpy()
    assert np.signbit(got[0, 1]) and np.isnan(got[3, 8]) and got[9, 2] == 5 and np.count_nonzero(got) == 2


def test_far_more_blocks_than_expected():
    """One element a block: the room that is made first is too small."""
    n = 3000
    a = sp.diags([np.arange(1.0, n + 1)], [0], format="csr")[np.random.default_rng(9).permutation(n)]
    A = st.from_scipy(a.tocsr())
    got = st.evaluate("R(i,j) = A(i,j) + A(i,j)", A=A, format="BSR(16, 16)")
    assert abs(got.to_scipy() - 2 * a).max() == 0 and got.nse >= 256 * 0.9 * n


def test_nothing_and_empty():
    for shape in ((0, 5), (5, 0), (7, 9)):
        A = st.from_scipy(sp.csr_matrix(shape))
        got = st.evaluate("R(i,j) = A(i,j) + A(i,j)", A=A, format="BSR(4, 4)")
        assert got.shape == shape and got.nse == 0 and got.format == st.Format("BSR(4, 4)")
