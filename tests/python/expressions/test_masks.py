"""A boolean mask counts its true values, whatever stores them; a sparse one of another dtype what it stores."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = "CSR CSC COO BSR(2,2) DIA DCSR ELL delta(4) bitmap dense".split() + ["BSR(4, 4) + COO"]


def array(seed, shape=(6, 7)):
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, shape) * (rng.random(shape) < 0.5).astype(float)


def numbers(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


def sparse_count(x):
    """Elements that are not the fill: BSR and dense store more."""
    return int((numbers(x) != (x.fill if isinstance(x, st.Tensor) else 0)).sum())


def test_the_case_of_the_report():
    a = np.array([[1.0, 0, 2], [0, 3, 1]])
    for format in FORMATS:
        A = st.from_dense(a, format)
        R = st.evaluate("R(i,j) = X(i,j)", X=np.ones((2, 3)), mask=A > 1.5, format="COO")
        assert R.nse == 2 and sorted(c for c, _ in R.items()) == [(0, 2), (1, 1)], format


@pytest.mark.parametrize("complement", [False, True])
@pytest.mark.parametrize("format", FORMATS)
def test_by_value(format, complement):
    a, d = array(1), np.random.default_rng(2).random((6, 7)) + 1
    A = st.from_dense(a, format)
    X, Y = np.random.default_rng(3).random((6, 4)) + 1, np.random.default_rng(4).random((4, 7)) + 1
    S = st.from_dense(array(5), "CSR")
    masks = [(A > 0, a > 0), (A != 0, a != 0), (A == 0, a == 0), (A <= 0, a <= 0), (A >= -1, a >= -1), (A == A, a == a)]
    for mask, truth in masks:
        assert numbers(mask).tolist() == truth.tolist()
        keep = truth != complement
        how = dict(mask=mask, complement_mask=complement)
        R = st.evaluate("R(i,j) = D(i,j)", D=d, **how)
        np.testing.assert_array_equal(numbers(R), np.where(keep, d, 0))
        R = st.evaluate("R(i,j) = D(i,j)", D=d, format="COO", **how)
        assert R.nse == keep.sum()
        R = st.evaluate("R(i,j) = X(i,k) * Y(k,j)", X=X, Y=Y, **how)
        np.testing.assert_allclose(numbers(R), np.where(keep, X @ Y, 0))
        R = st.einsum("ik,kj->ij", X, Y, **how)
        np.testing.assert_allclose(numbers(R), np.where(keep, X @ Y, 0))
        R = st.evaluate("R(i,j) = S(i,j) + 2 * S(i,j)", S=S, format="COO", **how)
        np.testing.assert_allclose(R.to_dense(), np.where(keep, 3 * numbers(S), 0))
        assert R.nse == (keep & (numbers(S) != 0)).sum()
        R = st.evaluate("R(i,k) = S(i,j) * T(j,k)", S=S, T=st.from_dense(array(6, (7, 7)), "CSC"), format="COO", **how)
        np.testing.assert_allclose(R.to_dense(), np.where(keep, numbers(S) @ array(6, (7, 7)), 0))
        general = st._core.evaluate("R(i,j) = D(i,j)", {"D": d}, format="COO", general=True, **how)
        assert general.nse == keep.sum()
        assert "mask" in st.explain("R(i,j) = D(i,j)", D=d, **how)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "DCSR", "bitmap", "ELL"])
def test_another_dtype_is_structural(format):
    a = array(7)
    A = st.from_dense(a, format)
    zeros = A * (A > 0)  # zeros that are stored
    d = np.ones((6, 7))
    R = st.evaluate("R(i,j) = D(i,j)", D=d, mask=zeros, format="COO")
    assert R.nse == (a != 0).sum()
    assert st.evaluate("R(i,j) = D(i,j)", D=d, mask=zeros.drop_zeros(), format="COO").nse == (a > 0).sum()
    ints = st.from_dense(a.astype("int8"), format)
    assert st.evaluate("R(i,j) = D(i,j)", D=d, mask=ints, format="COO").nse == (a != 0).sum()


@pytest.mark.parametrize("mask", ["float64", "int32", "uint8", "complex64"])
def test_a_dense_mask_is_boolean(mask):
    torch = pytest.importorskip("torch")
    a = array(8)
    d = np.ones((6, 7))
    for wrong in (a.astype(mask), st.from_dense(a.astype(mask), "dense"), torch.from_numpy(a.astype(mask))):
        for call in (
            lambda m: st.evaluate("R(i,j) = D(i,j)", D=d, mask=m),
            lambda m: st.einsum("ij->ij", d, mask=m),
            lambda m: st.explain("R(i,j) = D(i,j)", D=d, mask=m),
            lambda m: st.show("R(i,j) = D(i,j)", D=d, mask=m),
            lambda m: st.evaluate("R(i,j) = D(i,j)", D=d, mask=m, out=np.ones((6, 7))),
        ):
            with pytest.raises(st.TensorError, match="mask != 0"):
                call(wrong)
    R = st.evaluate("R(i,j) = D(i,j)", D=d, mask=a.astype(mask) != 0, format="COO")
    assert R.nse == (a != 0).sum()


def test_what_other_packages_store():
    torch = pytest.importorskip("torch")
    truth = array(9) > 0
    d = np.random.default_rng(10).random((6, 7)) + 1
    rows, cols = (c.ravel() for c in np.indices(truth.shape))
    stored = sp.coo_array((truth.ravel(), (rows, cols)), truth.shape)  # false ones too
    for mask in (stored, stored.tocsr(), stored.tocsc(), truth, torch.from_numpy(truth)):
        R = st.evaluate("R(i,j) = D(i,j)", D=d, mask=mask, format="CSR")
        assert R.nse == truth.sum()
        np.testing.assert_array_equal(R.to_dense(), np.where(truth, d, 0))
    twice = sp.coo_array((np.r_[truth.ravel(), np.zeros(42, bool)], (np.tile(rows, 2), np.tile(cols, 2))), truth.shape)
    assert st.evaluate("R(i,j) = D(i,j)", D=d, mask=st.from_scipy(twice), format="CSR").nse == truth.sum()


def test_semirings_and_schedules():
    a = array(11, (6, 6))
    A = st.from_dense(a, "CSR")
    mask, truth = A > 0, a > 0
    d = np.random.default_rng(12).random((6, 6))
    R = st.evaluate("R(i,k) = A(i,j) + D(j,k)".replace("+", "*"), A=A, D=d, mask=mask, semiring="min-plus")
    want = np.where(a != 0, a, np.inf)[:, :, None] + d[None]
    np.testing.assert_allclose(numbers(R), np.where(truth, want.min(1), np.inf))
    R = st.evaluate("R(i,k) = A(i,j) * B(j,k)", A=A, B=A, mask=mask, schedule="reorder(i, j, k)", format="CSR")
    np.testing.assert_allclose(R.to_dense(), np.where(truth, a @ a, 0))


def test_a_boolean_factor_is_no_mask():
    """What restricts a sum to the places of a boolean factor is what that stores."""
    a = np.array([[1.0, 0, 2], [0, 3, 1], [1, 1, 0]])
    B = st.from_dense(a, "CSR") > 1.5
    X = np.random.default_rng(13).random((3, 40))
    R = st.evaluate("R(i,j) = B(i,j) * exp(sum(k, X(i,k) * X(j,k)))", B=B, X=X)
    np.testing.assert_allclose(numbers(R), (a > 1.5) * np.exp(X @ X.T))
    assert R.nse == B.nse


def test_splits():
    a = array(14, (8, 8))
    A = st.from_dense(a, "CSR")
    for mask, truth in ((A > 0, a > 0), (A <= 0, a <= 0), (st.from_dense(a > 0, "dense"), a > 0)):
        S = A.to("COO + CSR", split=mask)
        np.testing.assert_array_equal(S.parts[0].to_dense(), np.where(truth, a, 0))
        np.testing.assert_array_equal(S.to_dense(), a)


@pytest.mark.parametrize(
    "format", ["(i, j) -> (i - j: compressed, j: range) + (i, j) -> (j: dense, i: padded)", "BSR(2, 2) + ELL"]
)
def test_a_result_in_parts_has_room_for_its_own_rows(format):
    """To which part an element goes depends on its dtype: the widths that an operand's rows have need not do."""
    rng = np.random.default_rng(20)
    for _ in range(20):
        there = rng.random((6, 4)) < 0.5
        A = st.from_dense(there, format)
        X = rng.integers(1, 9, (6, 4))
        np.testing.assert_array_equal(st.evaluate("R(i,j) = X(i,j)", X=X, mask=A).to_dense(), np.where(there, X, 0))
        np.testing.assert_array_equal(st.evaluate("R(i,j) = A(i,j) * 2", A=A).to_dense(), there * 2)
        np.testing.assert_array_equal(st.evaluate("R(i,j) = abs(A(i,j) * 1.5)", A=A).to_dense(), there * 1.5)
