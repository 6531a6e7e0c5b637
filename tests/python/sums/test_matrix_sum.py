"""Sums of CSR matrices by hand-written loops: against SciPy, and bit by bit (but for NaN) against generated code."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

TEXTS = {
    "A(i,j) + B(i,j)": lambda a, b, c: a + b,
    "A(i,j) - B(i,j)": lambda a, b, c: a - b,
    "A(i,j) - B(i,j) + C(i,j)": lambda a, b, c: a - b + c,
    "A(i,j) + A(i,j)": lambda a, b, c: a + a,
}


def check(text, a, b, c, want, settings):
    operands = {k: st.from_scipy(v) for k, v in zip("ABC", (a, b, c)) if k in text}
    told = st.explain("R(i,j) = " + text, operands)
    one_pattern = len(operands) == 1
    assert (
        "they share one pattern" in told
        if one_pattern
        else "a sum of matrices, by hand-written loops, serves" in told or "the processor lacks AVX2" in told
    )
    got = st.evaluate("R(i,j) = " + text, operands)
    got.validate()
    np.testing.assert_allclose(got.to_dense(), want.toarray(), rtol=1e-6, atol=1e-6)
    settings.engine = "jit"
    other = st.evaluate("R(i,j) = " + text, operands)
    settings.engine = "auto"
    assert got.format == other.format
    for mine, theirs in ((got.pos(1), other.pos(1)), (got.crd(1), other.crd(1)), (got.values, other.values)):
        mine, theirs = np.array(mine), np.array(theirs)
        # Which of two NaN a sum hands on, with its sign, the order of the operands decides.
        assert mine.dtype == theirs.dtype and np.array_equal(np.isnan(mine), np.isnan(theirs))
        mine[np.isnan(mine)] = theirs[np.isnan(theirs)] = 0
        assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "shape,density",
    [((100, 80), 0.1), ((1000, 5000), 0.02), ((3, 2000), 0.5), ((0, 5), 0), ((50, 0), 0), ((2000, 40), 0.9)],
)
def test_beside_scipy(dtype, text, shape, density, settings):
    r = np.random.default_rng(1)
    a, b, c = (sp.random_array(shape, density=density, rng=r, dtype=dtype, format="csr") for _ in range(3))
    check(text, a, b, c, TEXTS[text](a, b, c), settings)


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_any_length(seed, settings):
    """Rows of 0 to 70 elements, many of them in both; explicit zeros of either sign, infinities and NaN."""
    r = np.random.default_rng(seed)
    dtype, columns = ("float32", "float64")[seed % 2], int(r.choice([20, 75, 3000]))

    def one():
        most = 71 if seed < 30 else 2  # in the last ones most rows are empty, here or there or both
        rows = [np.sort(r.choice(columns, min(columns, r.integers(0, most)), replace=False)) for _ in range(60)]
        pos, crd = np.cumsum([0] + [len(x) for x in rows]), np.concatenate(rows)
        values = r.choice(
            [0.0, -0.0, 1.5, -2.0, 7.0, np.inf, np.nan], len(crd), p=[0.1, 0.1, 0.3, 0.2, 0.2, 0.05, 0.05]
        )
        return sp.csr_matrix((values.astype(dtype), crd.astype(np.int32), pos.astype(np.int32)), (60, columns))

    a, b, c = one(), one(), one()
    for text, want in TEXTS.items():
        with np.errstate(invalid="ignore"):
            check(text, a, b, c, sp.csr_matrix(want(a.toarray(), b.toarray(), c.toarray())), settings)


def test_columns_positions_and_threads(settings):
    r = np.random.default_rng(7)
    a, b = (sp.random_array((30000, 200), density=0.05, rng=r, format="csr") for _ in range(2))
    A, B = (st.from_scipy(x) for x in (a, b))
    for n in (1, 2, 5):
        settings.threads = n
        for f in ("CSR", "CSC"):
            got = st.evaluate("R(i,j) = A(i,j) - B(i,j)", A=A.to(f), B=B.to(f))
            assert got.format == st.Format(f)
            np.testing.assert_array_equal(got.to_dense(), (a - b).toarray())
    wide = [
        st.Tensor(
            "CSR", x.shape, pos={1: x.indptr.astype(np.int64)}, crd={1: x.indices.astype(np.int32)}, values=x.data
        )
        for x in (a, b)
    ]
    np.testing.assert_array_equal(
        st.evaluate("R(i,j) = A(i,j) + B(i,j)", A=wide[0], B=wide[1]).to_dense(), (a + b).toarray()
    )


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int32", "int64"])
def test_positions_of_any_width(dtype):
    def one(columns):
        return st.Tensor(
            "CSR",
            (2, 3),
            pos={1: np.array([0, 2, 3], dtype)},
            crd={1: np.array(columns, np.int32)},
            values=np.array([1.0, 2, 3]),
        )

    A, B = one([0, 2, 1]), one([0, 1, 1])
    told = st.explain("R(i,j) = A(i,j) + B(i,j)", A=A, B=B)
    assert ("positions are neither int32 nor int64" in told) == (dtype[-2:] not in ("32", "64") or dtype == "uint32")
    got = st.evaluate("R(i,j) = A(i,j) + B(i,j)", A=A, B=B)
    got.validate()
    assert np.array_equal(got.to_dense(), A.to_dense() + B.to_dense())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_terms_some_rows_at_a_time(dtype, settings):
    """Several windows of rows, one row longer than a window, rows without elements in front of and behind them."""
    r = np.random.default_rng(8)

    def one(long):
        a = sp.random_array((3000, 60000), density=4e-4, rng=r, dtype=dtype, format="lil")
        a[:40] = a[2900:] = 0
        if long:
            a[700] = r.standard_normal(60000).astype(dtype)
        return a.tocsr()

    terms = [one(k % 2) for k in range(5)]
    operands = {f"T{k}": st.from_scipy(t) for k, t in enumerate(terms)}
    text = "R(i,j) = T0(i,j) - T1(i,j) + T2(i,j) + T3(i,j) - T4(i,j)"
    for n in (1, 3):
        settings.threads = n
        got = st.evaluate(text, operands)
        got.validate()
        settings.engine = "jit"
        other = st.evaluate(text, operands)
        settings.engine = "auto"
        for mine, theirs in ((got.pos(1), other.pos(1)), (got.crd(1), other.crd(1)), (got.values, other.values)):
            assert np.array(mine).tobytes() == np.array(theirs).tobytes()
    want = terms[0] - terms[1] + terms[2] + terms[3] - terms[4]
    np.testing.assert_allclose((got.to_scipy() - want).data, 0, atol=1e-5)


def test_results_much_smaller_than_their_terms(settings):
    r = np.random.default_rng(9)
    same = sp.random_array((4000, 500), density=0.05, rng=r, format="csr")

    def one(row):
        extra = sp.coo_array(([1.0], ([row], [3])), same.shape)
        return sp.csr_array(same * (row + 2) + extra)

    terms = [one(k) for k in range(4)]
    for n in (1, 2, 5):
        settings.threads = n
        got = st.evaluate(
            "R(i,j) = T0(i,j) + T1(i,j) + T2(i,j) + T3(i,j)",
            {f"T{k}": st.from_scipy(t) for k, t in enumerate(terms)},
        )
        got.validate()
        want = sum(terms[1:], terms[0])
        assert got.nse == want.nnz and got.nbytes < 1.1 * (12 * want.nnz + 4 * 4001)
        np.testing.assert_allclose(got.to_dense(), want.toarray(), rtol=1e-12)


@pytest.mark.parametrize(
    "text,change,why",
    [
        ("A(i,j) + B(j,i)", {}, "not a sum of matrices under the same indices"),
        ("A(i,j) + (B(i,j) + A(i,j))", {}, "not a sum of matrices under the same indices"),
        ("A(i,j) + B(i,j)", {"format": "COO"}, "the result has another format"),
        ("A(i,j) + B(i,j)", {"dtype": "float32", "compute_dtype": "float64"}, "the result has another dtype"),
    ],
)
def test_the_rest_is_generated(text, change, why):
    r = np.random.default_rng(8)
    a, b = (sp.random_array((40, 40), density=0.2, rng=r, format="csr") for _ in range(2))
    operands = dict(A=st.from_scipy(a), B=st.from_scipy(b))
    assert why in st.explain("R(i,j) = " + text, operands, **change)
    want = {"A(i,j) + B(j,i)": a + b.T, "A(i,j) + (B(i,j) + A(i,j))": a + (b + a)}.get(text, a + b).toarray()
    np.testing.assert_allclose(st.evaluate("R(i,j) = " + text, operands, **change).to_dense(), want, rtol=1e-6)


def test_gradients_share_the_pattern_of_weights():
    r = np.random.default_rng(30)
    w = sp.random(50, 60, density=0.2, format="csr", rng=r)
    W = st.from_scipy(w)
    G = W * 0.5
    told = st.explain("C(i,j) = A(i,j) + B(i,j)", A=W, B=G)
    assert "one loop over the slots of A" in told, told
    got = W + G
    assert np.array_equal(got.values, w.data + w.data * 0.5) and got.crd(1).ctypes.data == W.crd(1).ctypes.data
