"""What products with a dense result ask of generated code beside other expressions, against NumPy."""

import numpy as np
import pytest

import strata as st

ENGINES = ["auto", "jit", "interpreter"]
SUMS = ["CSR + COO", "BSR(2, 2) + COO", "DIA + CSR", "ELL + COO", "CSR + DIA + COO"]


def sparse(rng, shape, dtype, density=0.3):
    x = rng.integers(-4, 5, shape) * (rng.random(shape) < density)
    return x.astype(dtype)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("format", SUMS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "complex128", "float16"])
def test_a_sum_of_parts_is_added_up(format, dtype, engine, settings):
    """Each part by its own kernel, into one result; of narrow floats the whole, which is rounded once."""
    settings.engine = engine
    rng = np.random.default_rng(1)
    a, x, y = sparse(rng, (24, 18), dtype), sparse(rng, (18, 5), dtype, 1), sparse(rng, (24, 5), dtype, 1)
    A = st.from_dense(a, format)
    np.testing.assert_array_equal(st.einsum("ij,jk->ik", A, x), a @ x)
    np.testing.assert_array_equal(st.einsum("ij,ik->jk", A, y), a.T @ y)
    np.testing.assert_array_equal(st.evaluate("y(i) = -A(i,j) * x(j) * z(i)", A=A, x=x[:, 0], z=y[:, 0]),
                                  -(a @ x[:, 0]) * y[:, 0])  # fmt: skip
    out = y.copy()
    st.einsum("ij,jk->ik", A, x, out=out, alpha=2, beta=3)
    np.testing.assert_array_equal(out, 2 * (a @ x) + 3 * y)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("format", ["CSR", "COO", "CSC", "DCSR", "ELL", "delta(2)", "BSR(1, 1)"])
def test_an_extent_of_one_stands_for_any(format, engine, settings):
    settings.engine = engine
    rng = np.random.default_rng(2)
    row, x, z = sparse(rng, (1, 12), "float64", 0.6), rng.integers(-3, 4, (7, 12)), rng.integers(-3, 4, (12, 4))
    A = st.from_dense(row, format)
    for spec, others in (("ij,ij->ij", [x]), ("ij,ij->i", [x]), ("ij,ij,jk->ik", [x, z]), ("ij,ij,jk->k", [x, z])):
        others = [o.astype("float64") for o in others]
        got = st.einsum(spec, A, *others, format="dense")
        np.testing.assert_array_equal(np.asarray(got), np.einsum(spec, np.broadcast_to(row, x.shape), *others))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("format", ["CSR", "CSC", "COO"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e4m3fn"])
def test_scaled_narrow_floats_are_rounded_once(dtype, format, engine, settings):
    """300 and 200 are beyond float8's 448 as a sum, and a quarter of it is not."""
    torch = pytest.importorskip("torch")
    settings.engine = engine
    t = getattr(torch, dtype)
    a = torch.tensor([[256.0, 192.0, 0.0], [0.0, 1.0, 3.0]])
    A = st.from_dense(a.to(t), format)
    x, held = torch.ones(3).to(t), torch.tensor([16.0, 1.0]).to(t)
    for out in (held.clone(), None):
        got = st.einsum("ij,j->i", A, x, alpha=0.25, **({} if out is None else {"out": out, "beta": 2.0}))
        want = 0.25 * (a @ torch.ones(3)) + (0 if out is None else 2 * held.float())
        got = torch.as_tensor(out if out is not None else got)
        assert torch.equal(got.float(), want.to(t).float())
    plan = st.plan("ij,j->i", A, x)
    assert torch.equal(torch.as_tensor(plan.run(A, x, alpha=0.25)).float(), torch.tensor([112.0, 1.0]))


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize("format", ["CSR", "COO", "CSC", "ELL", "BSR(2, 2)"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64", "int64"])
def test_integers_wrap_in_vectors_too(dtype, format, engine, settings):
    settings.engine = engine
    rng = np.random.default_rng(5)
    info = np.iinfo(dtype)
    whole = lambda shape: rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)  # noqa: E731
    a = whole((30, 26)) * (rng.random((30, 26)) < 0.3).astype(dtype)
    A = st.from_dense(a, format)
    for columns in (1, 3, 8, 33, 100):
        x = whole((26, columns))
        np.testing.assert_array_equal(st.einsum("ij,jk->ik", A, x), np.einsum("ij,jk->ik", a, x))
        y = whole((30, columns))
        np.testing.assert_array_equal(st.einsum("ij,ik->jk", A, y), np.einsum("ij,ik->jk", a, y))


@pytest.mark.parametrize("engine", ["jit", "interpreter"])
@pytest.mark.parametrize("rows, per_row", [(50, 40), (2, 100_000)])
def test_sums_of_float16_keep_the_digits_of_it(rows, per_row, engine, settings):
    """Short ones in float32; where a row is long, in float64: float32 would lose 25,000 of the small ones."""
    settings.engine = engine
    big, small = 4096.0, 2.0**-14
    values = np.full(rows * per_row, small, np.float16)
    values[::per_row] = big
    at = [np.repeat(np.arange(rows), per_row), np.tile(np.arange(per_row), rows)]
    A = st.from_coo(at, values, (rows, per_row)).to("CSR")
    x = np.ones(per_row, np.float16)
    got = st.einsum("ij,j->i", A, x, dtype="float32")
    expected = big + (per_row - 1) * small
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_chunks_that_add_to_the_same_places(threads, settings):
    """One after the other, or each to a result of its own: the same whatever the threads."""
    settings.engine, settings.threads = "jit", threads
    rng = np.random.default_rng(4)
    a = sparse(rng, (3000, 40), "float64", 0.5)
    x = rng.integers(-3, 4, (3000, 3)).astype("float64")
    A = st.from_dense(a, "CSR")
    np.testing.assert_array_equal(st.einsum("ij,ik->jk", A, x), a.T @ x)
    np.testing.assert_array_equal(st.einsum("ij->j", A), a.sum(0))
    np.testing.assert_array_equal(st.einsum("ij->", A), a.sum())


def test_where_nothing_compiles_nests_are_interpreted(settings):
    settings.jit = "off"
    rng = np.random.default_rng(5)
    a, b = sparse(rng, (9, 7), "float64"), sparse(rng, (9, 7), "float64")
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "COO")
    np.testing.assert_array_equal(st.evaluate("C(i,j) = 3 * A(i,j) - B(i,j)", A=A, B=B).to_dense(), 3 * a - b)
    text = str(st.explain("C(i,j) = 3 * A(i,j) - B(i,j)", A=A, B=B))
    assert "generated code serves" in text and "run by the interpreter, which is right but slow: no compiler" in text


def test_long_rows_leave_a_written_kernel(settings):
    """The kernel for bitmaps adds up in float32: rows of 8,000 times 0.1 go to generated code."""
    row = np.full((4, 8000), 0.1, "float32")
    row[0, 1:] = 0
    bitmap = "(i, j) -> (i : dense, j : bitmap)"
    A, x = st.from_dense(row, bitmap), np.ones(8000, "float32")
    plan = st.plan("ij,j->i", A, x)
    assert plan.kernel_name == "bitmap_product" and "guard: at most 2048 elements of A meet" in str(plan.explain())
    out = np.ones(4, "float32")
    plan.run(A, x, out=out, alpha=2, beta=-1)
    for got, want in ((plan.run(A, x), row.astype("float64") @ x), (out, 2 * (row.astype("float64") @ x) - 1)):
        np.testing.assert_allclose(got, want, rtol=3e-7)
    short = st.from_dense(row[:, :2000], bitmap)
    assert "guard" not in str(st.plan("ij,j->i", short, x[:2000]).explain())
