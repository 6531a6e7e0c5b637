"""Kernels of one sparse tensor with dense ones, of three dimensions and more: MTTKRP, TTM, TTV, inner products, sums, against NumPy."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from differential import _restrided, random_dense, random_format

import strata as st

KERNELS = [
    "ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr", "ijk,kr->ijr", "ijk,jr->ikr", "ijk,k->ij", "ijk,j->ik", "ijk,i->jk", "ijk,ijk->",
    "ijk,j,k->i", "ijk,jr->ir", "ijk,ir->ir", "ijk,r->ir", "ijk,jr,kr,ir->ir", "ijk,jr,kr,i->ir", "ijk,jr,ks->irs", "ijk,ir,jr,kr->r",
    "ijkl,jr,kr,lr->ir", "ijkl,ir,jr,kr->lr", "ijkl,ir,kr,lr->jr", "ijkl,lr->ijkr", "ijkl,k,lr,jr->ir", "ijkl,ijkl->", "ijkl,j,l->ik",
    "ij,jr,i->ir", "ij,jr,ir->ir", "ij,jr,ir->r",
    "ijk->", "ijk->i", "ijk->k", "ijk->ij", "ijk->jk", "ij->", "ij->i", "ij->j", "i->", "ijkl->jl", "ij,i->i", "ij,j->",
]  # fmt: skip
PATTERN = ["ijk,jr,kr,ir->ijk", "ijk,k->ijk", "ijk,i->ijk", "ij->ij", "ij,i->ij", "ijk->ijk", "ijk,->ijk"]


def case(rng, spec, dtype):
    inputs, output = spec.split("->")
    extent = {c: int(rng.choice([1, 2, 3, 5, 8, 9])) for c in "ijkl"}
    extent |= {c: int(rng.choice([1, 3, 8, 16, 20, 32, 64, 130] if "l" not in inputs else [1, 8, 20])) for c in "rs"}
    arrays = [random_dense(rng, tuple(extent[c] for c in ids), dtype) for ids in inputs.split(",")]
    return arrays, [_restrided(rng, x) for x in arrays[1:]]


def tolerance(dtype):
    return {"rtol": 1e-4 if dtype == "float32" else 1e-11, "atol": 1e-4 if dtype == "float32" else 1e-11}


@pytest.mark.parametrize("spec", KERNELS)
def test_against_numpy(spec, settings):
    rng = np.random.default_rng([11, KERNELS.index(spec)])
    for n in range(8):
        dtype = str(rng.choice(["float64", "float32", "int32", "complex128"], p=[0.5, 0.3, 0.1, 0.1]))
        arrays, dense = case(rng, spec, dtype)
        text = random_format(rng, arrays[0].ndim) if n > 3 else ("CSF", "COO", "CSF", "COO")[n]
        a = st.from_dense(arrays[0], text)
        settings.engine = "jit" if n < 2 else "interpreter"
        expected = np.einsum(spec, *arrays)
        plan = st.plan(spec, a, *dense, format="dense")
        assert np.array_equal(plan.run(a, *dense), expected), f"{spec} {text} {dtype} {[x.shape for x in arrays]}"
        out = np.full_like(expected, 3)
        plan.run(a, *dense, out=out, alpha=2, beta=1)
        assert np.array_equal(out, 2 * expected + np.full_like(expected, 3)), f"{spec} {text} {dtype} alpha, beta"


@pytest.mark.parametrize("spec", KERNELS + PATTERN)
@pytest.mark.parametrize("text", ["CSF", "COO"])
def test_bits_do_not_depend_on_threads_or_engine(spec, text, settings):
    rng = np.random.default_rng(7)
    inputs = spec.split("->")[0].split(",")
    extent = dict(i=30, j=20, k=12, l=5, r=32, s=5)
    shape = tuple(extent[c] for c in inputs[0])
    x = np.where(rng.random(shape) < 0.15, rng.standard_normal(shape), 0).astype("float32")
    a = st.from_dense(x, text)
    dense = [rng.standard_normal(tuple(extent[c] for c in ids)).astype("float32") for ids in inputs[1:]]
    expected = np.einsum(spec, x.astype("float64"), *(d.astype("float64") for d in dense))

    def run():
        if spec in PATTERN:
            return st.plan(spec, a, *dense, format=a.format).run(a, *dense).to_dense()
        return np.asarray(st.plan(spec, a, *dense, format="dense").run(a, *dense))

    results = []
    for threads in (1, 2, 7):
        settings.threads = threads
        results.append(run())
    np.testing.assert_allclose(results[0], expected, rtol=1e-3, atol=1e-3)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
    if spec in PATTERN or st.plan(spec, a, *dense, format="dense").kernel_name == "generated code":
        settings.engine = "interpreter"
        assert run().tobytes() == results[0].tobytes()


def test_a_sum_over_nothing_is_not_multiplied(settings):
    # Fiber (0, 1) holds nothing, nor does row 1: the factors there are infinite, and no element asks for them.
    csf = st.Tensor("CSF", (3, 3, 4), pos={0: [0, 2], 1: [0, 2, 3], 2: [0, 2, 2, 3]}, crd={0: [0, 2], 1: [0, 1, 2], 2: [1, 3, 0]},
                    values=np.array([2.0, 3.0, 5.0]))  # fmt: skip
    b, c = np.ones((3, 16)), np.ones((4, 16))
    b[1] = np.inf
    for settings.engine in ("jit", "interpreter"):
        got = st.einsum("ijk,jr,kr->ir", csf, b, c)
        assert np.array_equal(got, np.broadcast_to([[5.0], [0], [5]], (3, 16)))
        rows = st.from_dense(np.array([[1.0, 2], [0, 0]]), "CSR")
        got = st.einsum("ij,jr,i->ir", rows, np.ones((2, 16)), np.array([2, np.nan]))
        assert np.array_equal(got, np.broadcast_to([[6.0], [0]], (2, 16)))
        stored = st.Tensor(
            "CSR", (1, 1), pos={1: [0, 1]}, crd={1: [0]}, values=np.zeros(1)
        )  # a stored zero is a number like any other
        assert np.isnan(st.einsum("ij,jr,i->ir", stored, np.ones((1, 16)), np.array([np.inf]))).all()


def test_factors_are_hoisted_to_the_level_that_knows_them(settings):
    settings.engine = "jit"
    t = st.from_dense(np.ones((4, 5, 6)), "CSF")
    m = [np.ones((n, 32)) for n in (4, 5, 6)]
    text = str(st.plan("ijk,ir,kr->jr", t, m[0], m[2]).show())
    inner = text[re.search(r"for plt0\w* = ", text).start() : text.index("found = true")]
    assert "t2_values" in inner and "t1_values" not in inner  # the row of the first factor multiplies the sums


@pytest.mark.parametrize("text", ["CSR", "COO", "CSC", "DCSR"])
def test_rows_of_large_operands_are_asked_for_ahead(text, settings):
    rng = np.random.default_rng(2)
    s = sp.random_array((300, 40000), density=3e-4, rng=rng, format="csr")
    x, y = rng.standard_normal((300, 32)), rng.standard_normal((40000, 32))
    a = st.from_scipy(s).to(text)
    spec = "C(i,j) = S(i,j) * X(i,k) * Y(j,k)"
    got = st.evaluate(spec, S=a, X=x, Y=y)
    i, j = s.nonzero()
    expected = sp.csr_array((s.data * (x[i] * y[j]).sum(1), (i, j)), s.shape)
    assert abs(got.to("CSR").to_scipy() - expected).max() < 1e-12
    settings.engine = "interpreter"
    assert st.evaluate(spec, S=a, X=x, Y=y).values.tobytes() == got.values.tobytes()
    settings.engine = "jit"
    if text in ("CSR", "DCSR"):
        assert "ahead" in st.plan("ij,ik,jk->ij", a, x, y).show()
        assert "ahead" not in st.plan("ij,ik,jk->ij", a, x[:, :4], y[:, :4]).show()


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8"])
def test_large_results_are_cleared_to_the_last_byte(dtype):
    rows, columns = 1001, (35 << 20) // 1001 // np.dtype(dtype).itemsize + 3
    s = sp.coo_array((np.ones(2, dtype), ([0, rows - 1], [1, 0])), (rows, 2)).tocsr()
    whole = np.full(rows * columns + 2, 7, dtype)
    out = whole[1:-1].reshape(rows, columns)
    x = np.full((2, columns), 3, dtype)
    st.plan("ij,jk->ik", st.from_scipy(s.tocsc()), x).run(st.from_scipy(s.tocsc()), x, out=out)
    assert (out[[0, -1]] == 3).all() and not out[1:-1].any() and whole[0] == whole[-1] == 7


def astray(x, offset):
    """x in memory that starts so many bytes after a cache line."""
    block = np.empty(x.nbytes + 128, np.uint8)
    at = -block.ctypes.data % 64 + offset
    out = block[at : at + x.nbytes].view(x.dtype).reshape(x.shape)
    out[...] = x
    return out


STRADDLING = [("ij,jk->ik", "CSR"), ("ij,jk->ik", "CSR + COO"), ("ijk,jr,kr->ir", "CSF"), ("ijk,jr,kr,ir->ijk", "COO")]


@pytest.mark.parametrize("spec,text", STRADDLING)
def test_rows_that_straddle_cache_lines_are_moved(spec, text, settings):
    rng = np.random.default_rng(3)
    inputs, output = spec.split("->")
    first, *others = inputs.split(",")
    extent = dict(i=90, j=9, k=8, r=16)
    shape = tuple(extent[c] for c in first)
    x = np.where(rng.random(shape) < 0.8, rng.standard_normal(shape), 0)
    a = st.from_dense(x, text)
    dense = [rng.standard_normal(tuple(extent[c] for c in ids)) for ids in others]
    in_pattern = output == first
    results = []
    for offset in (0, 8, 16, 32, 48):
        placed = [astray(d, offset) for d in dense]
        plan = st.plan(spec, a, *placed, format=None if in_pattern else "dense")
        assert ("packed" if text == "CSR" else "to the start of a cache line") in plan.explain()
        for threads in (1, 2):
            settings.threads = threads
            results.append(np.asarray(plan.run(a, *placed).to_dense() if in_pattern else plan.run(a, *placed)))
    np.testing.assert_allclose(results[0], np.einsum(spec, x, *dense), rtol=1e-12, atol=1e-12)
    assert all(r.tobytes() == results[0].tobytes() for r in results)


def test_few_elements_move_no_row():
    a, x = st.from_dense(np.eye(100), "COO"), astray(np.ones((100, 8)), 16)
    assert "where it stands elsewhere and at least 1200 values" in st.plan("ij,jk->ik", a, x).explain()
    assert "cache line" not in st.plan("ij,jk->ik", a, np.ones((100, 3))).explain()  # rows of 24 bytes straddle anyway
    assert "cache line" not in st.plan("ij,j->i", a, np.ones(100)).explain()
