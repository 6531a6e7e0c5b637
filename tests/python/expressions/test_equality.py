"""== and != element by element, as NumPy's; st.equal of whole tensors, as np.array_equal."""

import operator

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = "CSR CSC COO BSR(2,2) DIA DCSR ELL delta(4) bitmap dense".split() + ["BSR(4, 4) + COO"]
DTYPES = ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
SIGN = [operator.eq, operator.ne]


def numbers(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


def same(got, want):
    assert numbers(got).dtype == want.dtype == bool
    np.testing.assert_array_equal(numbers(got), want)


def array(seed, dtype="float64", shape=(5, 6)):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 4, shape) * (rng.random(shape) < 0.6)).astype(dtype)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("f", SIGN)
def test_as_numpy(format, f):
    torch = pytest.importorskip("torch")
    a, b = array(1), array(2)
    A = st.from_dense(a, format)
    for other in (0, 1, 2.5, np.float32(1), np.int64(3), b, b[0], b[:, :1], b.tolist(), torch.from_numpy(b)):
        plain = other.numpy() if isinstance(other, torch.Tensor) else other
        same(f(A, other), f(a, plain))
        same(f(other, A), f(plain, a))
    for other in FORMATS:
        same(f(A, st.from_dense(b, other)), f(a, b))
        same(f(A, A.to(other)), f(a, a))
    same(f(A, A), f(a, a))
    for s in (sp.csr_array(b), sp.coo_array(b), sp.csr_matrix(b), sp.dia_array(b)):
        same(f(A, s), f(a, b))
        same(f(s, A), f(b, a))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", SIGN)
def test_dtypes(dtype, f):
    a = array(3, dtype)
    A = st.from_dense(a, "CSR")
    for other in DTYPES:
        b = array(4, other)
        same(f(A, st.from_dense(b, "COO")), f(a, b))
        same(f(A, b), f(a, b))


def test_a_comparison_is_a_factor():
    a = np.array([[1.0, 0, 2], [0, 3, 1]])
    A = st.from_dense(a, "CSR")
    np.testing.assert_array_equal((A * (A == 1)).to_dense(), a * (a == 1))
    assert (A == 1).format == A.format and (A == 1).nse == A.nse and (A == 0).fill


@pytest.mark.parametrize("format", FORMATS)
def test_special_values(format):
    a = np.array([[np.nan, 0.0, np.inf], [-0.0, 1.0, 0.0]])
    A = st.from_dense(a, format)
    for f in SIGN:
        same(f(A, A), f(a, a))
        same(f(A, np.nan), f(a, np.nan))
        same(f(A, np.float64("inf")), f(a, np.inf))
    assert not st.equal(A, A) and not st.equal(A, A.copy())
    assert A.equal(A, storage=True) and A.equal(A.copy(), storage=True)
    b = np.nan_to_num(a)
    B = st.from_dense(b, format)
    assert st.equal(B, b + 0.0) and st.equal(B, np.where(b == 0, -0.0, b)) and st.equal(-B, -b)


def test_no_operand():
    A = st.from_dense(np.eye(2), "CSR")
    for other in (None, "CSR", object(), {}):
        assert (A == other) is False and (A != other) is True and (other == A) is False
    with pytest.raises(st.Error):
        A == np.ones(3)  # NumPy refuses shapes that do not broadcast


@pytest.mark.parametrize("format", FORMATS)
def test_equal(format):
    torch = pytest.importorskip("torch")
    a = array(5)
    A = st.from_dense(a, format)
    b = a.copy()
    b[4, 5] += 1
    for other in FORMATS:
        assert st.equal(A, st.from_dense(a, other)) is True and A.equal(st.from_dense(a, other)) is True
        assert st.equal(A, st.from_dense(b, other)) is False
    for like in (a, a.tolist(), a.astype("float32"), a.astype("int8"), sp.csr_array(a), torch.from_numpy(a)):
        assert st.equal(A, like) is True and st.equal(like, A) is True
    for unlike in (b, b.tolist(), sp.coo_array(b), torch.from_numpy(b), a[:4], a[0], a[None], 0):
        assert st.equal(A, unlike) is False and st.equal(unlike, A) is False
    assert np.array_equal(A, A) is True and np.array_equal(a, A) is True and np.array_equal(A, b) is False


def test_equal_is_of_elements():
    a = array(6)
    A = st.from_dense(a, "CSR")
    wide = st.from_dense(a, "CSR").to(pos_dtype="int64", crd_dtype="int64")
    assert st.equal(A, wide)
    rows, cols = np.nonzero(a)
    halves = st.from_scipy(sp.coo_array((np.tile(a[rows, cols] / 2, 2), (np.tile(rows, 2), np.tile(cols, 2))), a.shape))
    assert st.equal(halves, A) and not halves.equal(A, storage=True)  # duplicates are added
    zeros = A * (A != 2)
    assert st.equal(zeros, a * (a != 2)) and not zeros.equal(st.from_dense(a * (a != 2), "CSR"), storage=True)
    # Of the same slots: the fills count where something is absent.
    one = st.from_dense(np.ones((2, 2)), "CSR")
    assert st.equal(one, st.Tensor("CSR", (2, 2), {1: one.pos(1)}, {1: one.crd(1)}, one.values, fill=5))
    eye = st.from_dense(np.eye(2), "CSR")
    assert not st.equal(eye, st.Tensor("CSR", (2, 2), {1: eye.pos(1)}, {1: eye.crd(1)}, eye.values, fill=5))
    assert st.equal(eye == 0, np.eye(2) == 0) and st.equal(eye + 1, np.eye(2) + 1)


def test_equal_of_64_bits():
    """NumPy's promotion of int64 and uint64 is float64, which cannot tell such numbers apart; its == does."""
    for signed, unsigned in (([2**63 - 1], [2**63]), ([-1], [2**64 - 1]), ([2**62 + 1], [2**62 + 1]), ([0], [1])):
        i, u = np.array(signed, "int64"), np.array(unsigned, "uint64")
        want = int(i[0]) == int(u[0])
        for format in ("COO", "dense"):
            I, U = st.from_dense(i, format), st.from_dense(u, format)
            assert st.equal(I, U) == st.equal(U, I) == want == np.array_equal(i, u)


def test_equal_beyond_memory():
    n = 2**40
    make = lambda last, **fill: st.Tensor(
        "COO", (n, n), {0: [0, 2]}, {0: [3, n - 1], 1: [5, 0]}, np.array([1.0, last]), **fill
    )
    assert st.equal(make(2), make(2)) and not st.equal(make(2), make(3))
    assert st.equal(make(2), make(2).to("DCSR")) and not st.equal(make(2), make(3).to("DCSR"))
    assert not st.equal(make(2), make(2, fill=1.0))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (0,), (0, 3), (3, 0), (2, 1, 3)])
def test_shapes(shape):
    a = np.full(shape, 2.0)
    for format in ("dense", "COO") if shape else ("dense",):
        A = st.from_dense(a, format)
        assert st.equal(A, a) and st.equal(A, A)
        assert st.equal(A, a + 1) == np.array_equal(a, a + 1)
        same(A == 2, a == 2)


def test_hash_is_identity():
    A = st.from_dense(np.eye(2), "CSR")
    B = A.copy()
    assert hash(A) == hash(A) and {A: 1, B: 2}[A] == 1 and len({A, B, A}) == 2
    found = {id(t): t for t in (A, B)}
    assert found[id(A)] is A and any(t is B for t in [A, B])


@pytest.mark.parametrize("format", FORMATS)
def test_truth(format):
    for shape in ((1, 1), (3, 2)):
        if format == "DIA" or shape == (3, 2):
            continue
        assert bool(st.from_dense(np.ones(shape), format)) is True
        assert bool(st.from_dense(np.zeros(shape), format)) is False
    for shape in ((3, 2), (1, 2), (0, 1)):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(st.from_dense(np.ones(shape), format))
    with pytest.raises(ValueError, match="ambiguous"):
        assert st.from_dense(np.eye(2), format) == st.from_dense(np.eye(2), format)


def test_formats_equal_their_text():
    for text in FORMATS:
        A = st.from_dense(np.eye(4), text)
        if text != "ELL":  # converted, it has a width
            assert A.format == text and not A.format != text and text == A.format
        assert A.format == str(A.format) == repr(A.format)[8:-2]
    f = st.Format("CSR")
    assert f == "csr" and f == "(i, j) -> (i: dense, j: compressed)" and f == "(u, v)->(u:dense, v:compressed)"
    assert f != "CSC" and f != "no format" and f != "" and f != "CSR +" and f != None and f != 3  # noqa: E711
    assert st.Format("COO", 3) == "COO" and st.Format("COO", 3) == "COO(3)" and st.Format("COO", 3) != "COO(2)"
    assert "CSC" not in [f] and "CSR" in [f]
