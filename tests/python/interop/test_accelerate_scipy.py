"""accelerate_scipy(): SciPy's own results, by our kernels, and SciPy as it was afterwards."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import _bsr, _compressed, _coo, _dia

import strata as st

FORMATS = ["csr", "csc", "bsr", "dia", "coo"]
CLASSES = (_compressed._cs_matrix, _bsr._bsr_base, _coo._coo_base, _dia._dia_base)
RNG = np.random.default_rng(0)


def state():
    return [dict(vars(cls)) for cls in CLASSES]


def matrix(shape=(30, 24), dtype="float64", density=0.2):
    dense = np.where(RNG.random(shape) < density, RNG.integers(-9, 9, shape), 0)
    return sp.csr_array(dense.astype(dtype))


def close(found, expected):
    assert type(found) is type(expected) and found.dtype == expected.dtype and found.shape == expected.shape
    if sp.issparse(found):
        assert found.format == expected.format
        found, expected = found.toarray(), expected.toarray()
    tolerance = 1e-5 if found.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(
        found, expected, rtol=tolerance, atol=tolerance * np.abs(np.asarray(expected)).max(initial=0)
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32", "int64"])
def test_products_are_scipy_s(format, dtype):
    a = matrix(dtype=dtype).asformat(format)
    x, xs = RNG.random(24), RNG.random((24, 5))
    cases = {
        "vector": lambda: a @ x,
        "dot": lambda: a.dot(x),
        "column": lambda: a @ x[:, None],
        "columns": lambda: a @ xs,
        "float32": lambda: a @ xs.astype("float32"),
        "int": lambda: a @ np.arange(24),
        "fortran": lambda: a @ np.asfortranarray(xs),
        "strided": lambda: a @ np.repeat(xs, 2, axis=1)[:, ::2],
        "reversed": lambda: a @ x[::-1],
        "transposed": lambda: a.T @ RNG_ROWS,
        "from the left": lambda: RNG_ROWS @ a,
        "rows from the left": lambda: np.vstack([RNG_ROWS, RNG_ROWS]) @ a,
        "no columns": lambda: a @ np.zeros((24, 0)),
    }
    for name, product in cases.items():
        expected = product()
        with st.accelerate_scipy() as done:
            found = product()
        assert (done.calls, done.left) == (1, 0), (name, done)
        close(found, expected)


RNG_ROWS = np.linspace(-1, 1, 30)


@pytest.mark.parametrize("format", FORMATS)
def test_matrices_as_well_as_arrays(format):
    m = sp.csr_matrix(matrix()).asformat(format)
    x = np.ones((24, 2))
    for product in (lambda: m * x, lambda: m @ x, lambda: m @ np.asmatrix(x), lambda: x.T @ m.T, lambda: m * 2.0):
        expected = product()
        with st.accelerate_scipy():
            close(product(), expected)


def test_unsorted_and_repeated_columns():
    a = sp.csr_array((np.arange(1.0, 6), [2, 0, 1, 1, 0], [0, 2, 5]), shape=(2, 3))
    for m in (a, a.T, a.tocoo()):
        x = np.arange(1.0, 1 + m.shape[1])
        expected = m @ x
        with st.accelerate_scipy() as done:
            close(m @ x, expected)
        assert done.calls == 1
    expected = a @ a.T.tocsr()
    with st.accelerate_scipy() as done:
        close(a @ a.T.tocsr(), expected)
    assert done.left == 1  # SciPy knows what to do with them


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_times_sparse(format, kind):
    cls = getattr(sp, f"{format}_{kind}")
    a, b = cls(matrix((20, 30))), cls(matrix((30, 25)))
    expected = a @ b
    with st.accelerate_scipy() as done:
        found = a @ b
        assert done.calls == 1
        close(found, expected)
        close(a @ b.tocoo(), expected)  # left to SciPy
        close(found @ found.T.asformat(format), expected @ expected.T.asformat(format))


def test_other_things_are_left_to_scipy():
    boolean, half = matrix(dtype="bool"), matrix()
    wide = sp.dia_array((np.ones((2, 40)), [0, 1]), shape=(30, 24))
    far = sp.dia_array((np.ones((2, 24)), [0, 100]), shape=(30, 24))
    for product in (
        lambda: boolean @ np.ones(24, bool),
        lambda: half @ np.ones(24, np.float16),
        lambda: half @ np.ones(24, np.longdouble),
        lambda: wide @ np.ones(24),
        lambda: far @ np.ones(24),
        lambda: half.tobsr((3, 4)) @ half.T.tobsr((4, 3)),
        lambda: half @ [1.0] * 24,
    ):
        try:
            expected = product()
        except ValueError as e:
            expected = e
        with st.accelerate_scipy():
            try:
                found = product()
            except ValueError as e:
                found = e
        if isinstance(expected, ValueError):
            assert str(found) == str(expected)
        else:
            close(found, expected)
    with st.accelerate_scipy(), pytest.raises(ValueError, match="dimension mismatch"):
        half @ np.ones(3)


def test_extreme_shapes():
    for shape in ((0, 5), (5, 0), (1, 1), (1, 40), (40, 1)):
        for format in FORMATS:
            a = matrix(shape).asformat(format)
            x = np.ones(shape[1])
            expected = a @ x
            with st.accelerate_scipy():
                close(a @ x, expected)


def test_nan_and_inf():
    a = matrix()
    a.data[:3] = np.nan, np.inf, -np.inf
    x = np.ones(24)
    x[5] = np.inf
    with np.errstate(invalid="ignore"):
        expected = a @ x
        with st.accelerate_scipy():
            np.testing.assert_array_equal(np.isnan(a @ x), np.isnan(expected))


def test_scipy_is_as_it_was():
    before = state()
    with st.accelerate_scipy() as outer:
        assert state() != before
        with st.accelerate_scipy() as inner:
            matrix() @ np.ones(24)
        matrix() @ np.ones(24)
        assert (outer.calls, inner.calls) == (2, 1)
    assert state() == before
    with pytest.raises(RuntimeError, match="mine"):
        with st.accelerate_scipy():
            raise RuntimeError("mine")
    assert state() == before
    assert "products" in repr(outer)


def test_many_threads():
    a, x = matrix((200, 200)), np.ones(200)
    expected, wrong = a @ x, []

    def work():
        for _ in range(50):
            with st.accelerate_scipy():
                if not np.allclose(a @ x, expected):
                    wrong.append(1)

    before = state()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and state() == before


def test_solvers_of_scipy():
    from scipy.sparse.linalg import cg, svds

    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(200, 200), format="csr")
    expected = cg(a, np.ones(200), rtol=1e-10)[0]
    with st.accelerate_scipy() as done:
        np.testing.assert_allclose(cg(a, np.ones(200), rtol=1e-10)[0], expected, rtol=1e-6)
    assert done.calls > 10
    m = matrix((80, 60))
    expected = svds(m, k=4, random_state=0)[1]
    with st.accelerate_scipy() as done:
        np.testing.assert_allclose(svds(m, k=4, random_state=0)[1], expected, rtol=1e-6)
    assert done.calls > 10


@pytest.mark.parametrize("name", ["TruncatedSVD", "NMF", "Ridge", "LogisticRegression"])
def test_scikit_learn(name):
    pytest.importorskip("sklearn")
    from sklearn.decomposition import NMF, TruncatedSVD
    from sklearn.linear_model import LogisticRegression, Ridge

    m = abs(sp.csr_matrix(matrix((300, 50))))
    y = np.asarray(m @ np.linspace(-1, 1, 50)).ravel()
    fit = {
        "TruncatedSVD": lambda: TruncatedSVD(5, random_state=0).fit_transform(m),
        "NMF": lambda: NMF(4, random_state=0, init="nndsvda", max_iter=50).fit_transform(m),
        "Ridge": lambda: Ridge(solver="sparse_cg", tol=1e-12).fit(m, y).coef_,
        "LogisticRegression": lambda: LogisticRegression(tol=1e-8, max_iter=500).fit(m, y > 0).coef_,
    }[name]
    expected = fit()
    with st.accelerate_scipy() as done:
        found = fit()
    assert done.calls > 0
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
