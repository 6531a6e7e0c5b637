"""CSR of complex numbers times columns: the hand-written loops, against SciPy and NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

TOLERANCE = {"complex64": 3e-6, "complex128": 1e-14}


def draw(rng, *shape):
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def problem(dtype, m, n, per_row, seed, mesh=False):
    """Rows of very different lengths, some of them empty; of a mesh: each about the one before."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.geometric(1 / (per_row + 1), m) - 1, n)
    rows = np.repeat(np.arange(m), lengths)
    near = rows * n // max(m, 1) + rng.integers(-per_row, per_row + 1, len(rows))
    columns = np.clip(near, 0, n - 1) if mesh else rng.integers(0, n, len(rows))
    a = sp.csr_array((draw(rng, len(rows)).astype(dtype), (rows, columns)), (m, n))
    a.sum_duplicates()
    return a, rng


def place(array, offset):
    """The same numbers, `offset` bytes behind the start of a cache line."""
    room = np.empty(array.nbytes + 128, np.uint8)
    start = (offset - room.ctypes.data) % 64
    out = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    return out


def close(got, want, dtype):
    return np.abs(got - want).max(initial=0) <= TOLERANCE[dtype] * max(1, np.abs(want).max(initial=0))


def kernel(A, x):
    plan = st.plan("ij,jk->ik", A, x)
    return plan.kernel_name


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("offset", [0, 8, 16, 48])
@pytest.mark.parametrize("columns", [4, 8, 11, 16, 21, 32, 64, 67])
def test_against_scipy(dtype, offset, columns):
    if offset % (np.dtype(dtype).itemsize // 2):
        pytest.skip("no place for such a number")
    for seed, (m, n, per_row, mesh) in enumerate(
        [(57, 40, 9, False), (300, 300, 12, True), (40, 3000, 200, False), (1, 1, 1, False)]
    ):
        a, rng = problem(dtype, m, n, per_row, seed, mesh)
        x = place(draw(rng, n, columns).astype(dtype), offset)
        A = st.from_scipy(a)
        assert close(A @ x, a @ x, dtype)
        # what is there takes part, with complex factors; and rows that are not all of their memory
        wide = draw(rng, n, columns + 5).astype(dtype)
        c = place(draw(rng, m, columns).astype(dtype), offset)
        want = (2 - 0.5j) * (a @ wide[:, 2:-3]) + (0.25 + 3j) * c
        with st.Matmul(A, wide[:, 2:-3], c, alpha=2 - 0.5j, beta=0.25 + 3j) as product:
            product.plan()
            product.execute()
        assert close(c, want, dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_which_kernel(dtype):
    a, rng = problem(dtype, 60, 60, 6, 0)
    A, line = st.from_scipy(a), 64 // np.dtype(dtype).itemsize
    assert kernel(A, draw(rng, 60, line).astype(dtype)) == "csr_product"
    assert kernel(A, draw(rng, 60, line - 1).astype(dtype)) == "generated code"
    conjugated = st.Matmul(A, draw(rng, 60, line).astype(dtype), conjugate_a=True)
    assert conjugated.plan().kernel_name == "generated code"


@pytest.mark.parametrize("indices", ["int32", "int64", "uint16"])
def test_index_types(indices):
    a, rng = problem("complex128", 200, 150, 10, 3)
    x = draw(rng, 150, 24)
    A = st.from_scipy(a).to("CSR", crd_dtype=indices, pos_dtype="int64" if indices == "int64" else "int32")
    assert close(A @ x, a @ x, "complex128")


def test_panels_and_far_rows():
    """x of 10 to 20 MB, that rows choose from in no order or as a mesh, and reads enough to pack panels of it."""
    for mesh, per_row in ((False, 40), (True, 8), (False, 4)):
        a, rng = problem("complex64", 9000, 9000, per_row, 5, mesh)
        for columns in (64, 136, 264):
            x = place(draw(rng, 9000, columns).astype("complex64"), 16)
            assert close(st.from_scipy(a) @ x, a @ x, "complex64")


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_threads_decide_nothing(threads, settings):
    a, rng = problem("complex128", 3000, 3000, 20, 7)
    x = draw(rng, 3000, 40)
    A = st.from_scipy(a)
    settings.threads = 1
    want = A @ x
    settings.threads = threads
    assert np.array_equal(A @ x, want)


def test_what_is_no_number_stays_in_its_row():
    """Infinities and NaN reach what they take part in, as in NumPy's products, and nothing else; signs of zero as well."""
    a, rng = problem("complex128", 50, 50, 8, 9)
    x = draw(rng, 50, 16)
    x[7, 3], x[9, 5] = np.inf, complex(np.nan, 1)
    got, want = st.from_scipy(a) @ x, a @ x
    assert np.array_equal(np.isfinite(got), np.isfinite(want))
    finite = np.isfinite(want)
    assert close(got[finite], want[finite], "complex128")
    assert not np.isfinite(want).all()
    empty = st.from_scipy(sp.csr_array((4, 5), dtype=complex)) @ np.full((5, 8), 1j)
    assert np.array_equal(empty, np.zeros((4, 8))) and not np.signbit(empty.real).any()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    "format",
    [
        "CSR",
        "CSC",
        "COO",
        "DCSR",
        "BSR(2, 2)",
        "DIAI",
        "ELL",
        "BSR(2, 2) + COO",
        "(i, j) -> (i: dense, j: delta(4))",
        "dense",
    ],
)
def test_complex_factors_in_any_format(format, dtype):
    """beta * c with an imaginary part reads both parts of what is there before it writes either."""
    a, rng = problem(dtype, 30, 25, 5, 11)
    A = st.from_scipy(a).to(format)
    for columns in ((), (3,), (8,), (16,)):
        x = draw(rng, 25, *columns).astype(dtype)
        c = draw(rng, 30, *columns).astype(dtype)
        for alpha, beta in ((1, 0.25 + 3j), (2 - 0.5j, 1j), (-1j, 2)):
            want = alpha * (a @ x) + beta * c
            with st.Matmul(A, x, c.copy(), alpha=alpha, beta=beta) as product:
                product.plan()
                assert close(product.execute(), want, dtype)
