"""docs/reference/surface.md: each name of the other packages has its verdict, and what is called there is there and right."""

import pathlib
import re
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from named import array, dense, same

import strata as st
from strata import _absent

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
import surface  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    PEERS = {whose: dict(names=names, look_up=f) for _, _, whose, names, f in surface.peers()}


def there(whose):
    peer = PEERS.get(whose, {"names": ()})
    return {name for name in peer["names"] if peer["look_up"](whose, name)[0] == surface.THERE}


def sections(text):
    return dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def test_no_name_is_left_over_and_the_page_is_this():
    text, left = surface.page()
    assert not left
    page = surface.PAGE.read_text()
    told = dict(re.findall(r"(\w+) (\d[\w.+]*\w)", page.partition("Made by")[2].partition("\n")[0]))
    assert set(told) == {"numpy", "scipy", "torch", "sparse"}
    made, written = sections(text), sections(page)
    installed = surface.versions()
    for heading, package, *_ in surface.peers():
        if told[package] == installed[package]:  # others have other names
            assert made[heading].strip() == written[heading].strip(), f"{heading}: scripts/surface.py renews the page"


def test_reasons_are_no_leftovers():
    assert not set(_absent.NO_MEMBER) & {*_absent.MEMBERS, *dir(st.Tensor)}
    assert not set(_absent.NO_FUNCTION) & {*_absent.FUNCTIONS, *st.__all__}
    assert not set(_absent.MEMBERS) & set(dir(st.Tensor)) and not set(_absent.FUNCTIONS) & set(st.__all__)
    for whose, name in _absent.OTHERWISE:
        assert name in [*dir(st.Tensor), *st.__all__] and (whose not in PEERS or name in PEERS[whose]["names"])


#: of NumPy, on a tensor and on its array: each expression is computed with both
OF_NUMPY = """
np.all(x)  np.amax(x, 0)  np.amin(x, 1)  np.max(x, 0)  np.min(x)  np.any(x, axis=1)  np.sum(x)  np.prod(x, 0)  np.mean(x, 1)
np.std(x, 0)  np.var(x)  np.argmax(x, 1)  np.argmin(x)  np.count_nonzero(x, 0)  np.ptp(x, 0)  np.ptp(x)
np.nansum(n, 0)  np.nanprod(n, 1)  np.nanmean(n, 0)  np.nanmax(n, 0)  np.nanmin(n, 1)  np.nanargmax(n, 1)  np.nanargmin(n)
np.nansum(x, 0)  np.nanmean(x, 1)  np.nanmax(x)  np.nanmin(i, 0)  np.nanmax(i, 1)  np.nansum(i)  np.nanmean(i)
np.nonzero(x)  np.argwhere(x)  np.flatnonzero(x)  np.where(x > 0, x, y)  np.extract(x > 0, x)
np.allclose(x, y)  np.isclose(x, y)  np.array_equal(x, x)  np.isin(x, [0, 3])  np.isin(x, y)  np.can_cast(x, 'complex64')
np.iscomplexobj(x)  np.isrealobj(x)  np.iscomplex(x)  np.isreal(c)  np.isneginf(n)  np.isposinf(n)  np.result_type(x, 'f4')
np.angle(c)  np.i0(x)  np.sinc(x)  np.fix(x / 2)  np.digitize(x, [-2, 0, 1])  np.interp(x, [-5, 5], [0, 1])  np.nan_to_num(n)
np.round(x / 3, 1)  np.around(x / 3)  np.clip(x, -1, 2)  np.real(c)  np.imag(c)  np.copy(x)  np.astype(x, 'f4')
np.reshape(x, (6, 7))  np.ravel(x)  np.expand_dims(x, 1)  np.squeeze(x[:1])  np.transpose(x)  np.permute_dims(x, (1, 0))
np.matrix_transpose(x)  np.swapaxes(x, 0, 1)  np.moveaxis(x, 0, 1)  np.rollaxis(x, 1)  np.rollaxis(x, 0, 2)  np.rollaxis(x, 1, 2)
np.atleast_1d(x)  np.atleast_2d(x[0])  np.atleast_3d(x)  np.atleast_3d(x[0])  np.broadcast_to(x[0], (3, 6))
np.broadcast_arrays(x, y[0])  np.take(x, [2, 0], axis=1)  np.take(x, [2, 0])  np.take_along_axis(x, o, 1)
np.repeat(x, 2)  np.repeat(x, 2, 1)  np.repeat(x, [0, 1, 2, 0, 1, 3, 1], axis=0)  np.tile(x, 2)  np.tile(x, (2, 1, 3))
np.roll(x, 3)  np.roll(x, -1, 0)  np.roll(x, (1, 2), (0, 1))  np.rot90(x)  np.rot90(x, 2)  np.rot90(x, -1)  np.rot90(x, 4)
np.flip(x)  np.flip(x, 0)  np.fliplr(x)  np.flipud(x)  np.delete(x, 2, 0)  np.delete(x, [1, -1], 1)  np.delete(x, slice(3))
np.pad(x, 1)  np.pad(x, ((0, 2), (3, 1)))  np.diff(x)  np.diff(x, 2, 0)  np.diff(b)  np.diff(x, prepend=0)  np.diff(x, append=x)
np.concatenate([x, y])  np.concat([x, y], 1)  np.stack([x, y])  np.vstack([x, y])  np.hstack([x, y])  np.dstack([x, y])
np.dstack([x[0], y[0]])  np.row_stack([x, y])  np.column_stack([x, y[:, 0]])  np.append(x, y)  np.append(x, y, 0)
np.unstack(x)  np.unstack(x, axis=1)  np.split(x, 7)  np.array_split(x, 3, 1)  np.hsplit(x, 2)  np.vsplit(x, [1, 3])
np.dsplit(np.atleast_3d(x), 1)  np.tril(x)  np.triu(x, 1)  np.diagonal(x, 1)  np.trace(x)  np.diag(x)  np.diag(x[0], 2)
np.diagflat(x[0], -1)  np.diagflat(x)  np.tril_indices_from(x[:6], 1)  np.triu_indices_from(x[:6])  np.diag_indices_from(x[:6])
np.dot(x, y.T)  np.inner(x, y)  np.outer(x[0], y[1])  np.vdot(c, c)  np.tensordot(x, y)  np.tensordot(x, y.T, 1)  np.kron(x, y)
np.einsum('ij,kj->ik', x, y)  np.shape(x)  np.ndim(x)  np.size(x)  np.unique(x)  np.unique(n)  np.unique(x, return_counts=True)
np.unique_values(n)  np.unique_counts(x)  np.unique_counts(n)
np.zeros_like(x)  np.ones_like(x)  np.full_like(x, 7)  (np.empty_like(x) == 0) & False
np.linalg.norm(x)  np.linalg.norm(x, 1)  np.linalg.matrix_norm(x)  np.linalg.vector_norm(x)  np.linalg.vector_norm(x, axis=1)
np.linalg.vector_norm(x, axis=(0, 1), ord=1)  np.linalg.vector_norm(x, keepdims=True)  np.linalg.diagonal(x, offset=1)
np.linalg.trace(x)  np.linalg.matmul(x, y.T)  np.linalg.matrix_transpose(x)  np.linalg.outer(x[0], y[0])
np.linalg.tensordot(x, y)  np.linalg.vecdot(c, c)  np.linalg.vecdot(x, y, axis=0)  np.linalg.matrix_power(x[:6], 3)
np.linalg.matrix_power(x[:6], 0)  np.linalg.matrix_power(x[:6], 1)  np.linalg.multi_dot([x, y.T, x])
np.vecdot(c, c)  np.matvec(x, y[0])  np.vecmat(c[:, 0], c)
x.T  x.mT  x.all()  x.any(1)  x.argmax()  x.argmin(1)  x.astype('f4')  x.clip(0, 1)  c.conj()  c.conjugate()  x.copy()  x.device
x.diagonal()  x.dot(y.T)  x.dtype  x.flatten()  c.imag  c.real  x.item(3)  x.item(1, 2)  x[2:3, 2:3].item()  x.max(0)  x.mean(0)
x.min(0)  x.ndim  len(x.nonzero())  x.prod(0)  x.ravel()  x.repeat(2, 0)  x.reshape(6, 7)  (x / 3).round(1)  x.shape  x.size
x[:1].squeeze()  x.std(1)  x.sum(1)  x.swapaxes(0, 1)  x.take([1, 2], 0)  x.take([[1, 2], [3, -1]], 1)  x.to_device('cpu')  x.trace()
x.transpose(1, 0)  x.var(0)  x.nbytes > 0
""".strip()

#: of SciPy, with m the package
OF_SCIPY = """
x.T  x.arcsin()  x.arcsinh()  x.arctan()  x.arctanh()  x.argmax(1)  x.argmin(1)  x.asformat('csc')  x.astype('f4')  x.ceil()
x.conj()  x.conjugate()  x.copy()  x.count_nonzero(1)  x.deg2rad()  x.diagonal(1)  x.dot(y.T)  x.dtype  x.expm1()  x.floor()
x.format == 'csr'  x.imag  x.log1p()  x.max(1)  x.maximum(y)  x.mean(0)  x.min(0)  x.minimum(y)  x.multiply(y)  x.nanmax(1)
x.nanmin(0)  x.ndim  x.nnz  len(x.nonzero())  x.power(2)  x.rad2deg()  x.real  x.reshape(6, 7)  x.rint()  x.shape  x.sign()
x.sin()  x.sinh()  x.size > 0  x.sorted_indices()  abs(x).sqrt()  x.sum(1)  x.tan()  x.tanh()  x.toarray()  x.tobsr()  x.tocoo()
x.tocsc()  x.tocsr()  x.todense()  x.todia()  x.trace()  x.transpose()  x.trunc()  x.tocoo().coords  x.tocoo().nnz
m.bmat([[x, None], [None, y]])  m.block_diag([x, y])  m.diags([1.0, 2.0])  m.eye(3)  m.hstack([x, y])  m.kron(x, y)
m.random(3, 4, density=0) if m is sp else m.random((3, 4), density=0)  m.tril(x)  m.triu(x)  m.vstack([x, y])
x.setdiag(2)  x.H if m is st else x.T.conj()
""".strip()


def expressions(text):
    return re.split(r"\s{2,}|\n", text)


def called(text):
    """The names in expressions."""
    return set(re.findall(r"(?:\bnp(?:\.linalg)?|\bm|\b[xycni]|\)|\])\.(\w+)", text))


def test_all_that_is_there_is_called():
    ufuncs = {n for n in dir(np) if isinstance(getattr(np, n), np.ufunc)}  # test_numpy_functions.py, test_ufuncs.py
    of_numpy = there("numpy") | there("numpy.linalg") | there("numpy.ndarray")
    anew = {"array", "asarray", "bmat", "eye", "full", "ones", "zeros", "einsum", "from_dlpack"}  # no tensor goes in
    assert not of_numpy - ufuncs - anew - called(OF_NUMPY)
    assert not (there("scipy.sparse") | there("scipy.sparse.csr_array")) - called(OF_SCIPY)


def nan():
    a = array(5)
    a[2, 3] = a[0, 0] = a[6, 5] = np.nan
    a[1, 2], a[3, 1] = np.inf, -np.inf
    return a


def compare(got, want):
    if isinstance(want, (tuple, list)) and not isinstance(want, str):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            compare(g, w)
    elif isinstance(want, (str, np.dtype, type, bool)):
        assert got == want
    else:
        same(got, want.toarray() if sp.issparse(want) else want, rtol=1e-13)


def known(expression):
    """Does this NumPy have it?"""
    found = re.findall(r"\bnp\.(linalg\.)?(\w+)", expression)
    return all(hasattr(np.linalg if linalg else np, name) for linalg, name in found) and (
        hasattr(np.ndarray, "mT") or not re.search(r"\bx\.(mT|device|to_device)", expression)
    )


@pytest.mark.parametrize("expression", expressions(OF_NUMPY))
@pytest.mark.parametrize("format", ["CSR", "DIA", "BSR(4, 4) + COO", "dense"])
def test_numpy(expression, format):
    if not known(expression):
        pytest.skip("this NumPy lacks it")
    arrays = {"x": array(1), "y": array(2), "c": array(3, dtype="complex128"), "i": array(4, dtype="int16"), "n": nan()}
    arrays |= {"b": array(1) > 0}
    tensors = {k: st.from_dense(a, format) for k, a in arrays.items()}
    more = {"np": np, "o": np.argsort(arrays["y"], axis=1), "slice": slice}
    if "like" in expression or "full_like" in expression:  # a tensor
        arrays["x"] = np.array(arrays["x"])
    compare(eval(expression, {**tensors, **more}), eval(expression, {**arrays, **more}))


@pytest.mark.parametrize("expression", expressions(OF_SCIPY))
def test_scipy(expression):
    x, y = array(1) / 8, array(2) / 8
    if "count_nonzero" in expression and not hasattr(sp, "permute_dims"):
        pytest.skip("this SciPy counts without an axis")
    if "coords" in expression and not hasattr(sp.coo_array(x), "coords"):
        pytest.skip("this SciPy lacks it")
    got = eval(expression, {"x": st.from_dense(x, "CSR"), "y": st.from_dense(y, "CSR"), "m": st, "st": st, "sp": sp})
    s = {"x": sp.csr_array(x), "y": sp.csr_array(y), "m": sp, "st": st, "sp": sp}
    want = eval(expression, s)
    if isinstance(want, sp.coo_array) and want.ndim == 1:
        want = want.toarray()
    want = s["x"] if "setdiag" in expression else want  # SciPy's changes the matrix
    got = dense(got)
    want = want.toarray() if sp.issparse(want) else want
    if isinstance(want, np.ndarray):  # SciPy's own dtypes and shapes of sums vary from version to version
        same(np.asarray(got).reshape(want.shape), want, rtol=1e-13, dtype=False)
    else:
        compare(got, want)


def test_those_of_scipy_linalg_take_tensors():
    import scipy.sparse.linalg as linalg

    a = np.diag(np.arange(1.0, 31)) + 0.1 * array(1, (30, 30))
    a = a + a.T
    A, b = st.from_dense(a, "CSR"), np.ones(30)
    for name in "bicg bicgstab cg cgs gcrotmk gmres lgmres qmr tfqmr minres".split():
        assert np.allclose(a @ getattr(linalg, name)(A, b, rtol=1e-10)[0], b, atol=1e-6), name
    assert np.allclose(a @ linalg.lsqr(A, b, atol=1e-12, btol=1e-12, iter_lim=1000)[0], b)
    assert np.allclose(a @ linalg.lsmr(A, b, atol=1e-12, btol=1e-12, maxiter=1000)[0], b)
    largest = np.linalg.eigvalsh(a)[-1]
    assert np.isclose(linalg.eigsh(A, 1, which="LA")[0][0], largest)
    assert np.isclose(linalg.eigs(A, 1, which="LR")[0][0], largest)
    assert np.isclose(linalg.svds(A, 1)[1][0], np.linalg.norm(a, 2))
    assert np.isclose(linalg.lobpcg(A, np.eye(30)[:, -2:], tol=1e-9, maxiter=200)[0][0], largest)
    assert np.isclose(linalg.onenormest(A), abs(a).sum(0).max())
    assert np.allclose(linalg.aslinearoperator(A) @ b, a @ b)
    assert np.allclose(linalg.expm_multiply(A / 100, b, traceA=np.trace(a) / 100), linalg.expm_multiply(a / 100, b))


def test_sorted_indices():
    unsorted = sp.csr_array((np.ones(3), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    t = st.from_scipy(unsorted)
    assert not t.format.is_ordered and t.sorted_indices().format == st.formats.CSR
    same(t.sorted_indices(), unsorted.toarray())
    twice = st.from_scipy(sp.coo_array((np.ones(3), ([1, 0, 1], [2, 0, 2])), shape=(2, 3)))
    assert twice.sorted_indices().format == st.formats.COO and twice.sorted_indices().nse == 2
    assert st.eye(3).sorted_indices().format == st.formats.CSR


def test_in_and_out_of_nan():
    t = st.from_dense(np.array([[np.nan, np.nan], [1, np.nan], [0, -2.0]]), "CSR")
    a = t.to_dense()
    for keep in (False, True):
        same(t.nanmax(1, keepdims=keep), np.nanmax(a, 1, keepdims=keep))
        same(np.nanmean(t, 1, keepdims=keep), np.nanmean(a, 1, keepdims=keep))
    with pytest.raises(st.TensorError, match="NaN alone"):
        np.nanargmax(t, 1)
    full = st.full((2, 3), np.nan)
    same(np.nanmin(full, 0), np.nanmin(np.full((2, 3), np.nan), 0))
    same(np.unique_values(full) if hasattr(np, "unique_values") else np.full(6, np.nan), np.full(6, np.nan))
    with pytest.raises(st.Unsupported, match="places or an axis"):
        np.unique(t, return_index=True)


def test_dtypes_that_numpy_lacks():
    t = st.eye(3, dtype="bfloat16") * 2
    for f in (lambda t: np.roll(t, 1), lambda t: t.take([0, 1], 0), lambda t: np.diff(t), lambda t: t.sorted_indices()):
        assert f(t).dtype == "bfloat16"
    assert t.item(0) == float(t[:1, :1]) == 2 and np.unique(t).tolist() == [0, 2]
    pytest.importorskip("torch")
    for got in (
        t.nanmax(1),
        t.nanmin(1) + 2,
        np.nansum(t, 1),
        3 * np.nanmean(t, 1),
        t.__array_namespace__().sum(t, axis=1),
    ):
        assert str(got.dtype).endswith("bfloat16")
        assert np.allclose(
            np.asarray(got.astype("float32").to_dense() if hasattr(got, "nse") else got.float()), 2, rtol=0.01
        )


def test_what_has_a_fill_or_three_dimensions():
    a, cube = array(1), array(1, (3, 4, 5))
    a[a == 0] = 3
    A, K = st.from_dense(a, "CSR", fill=3), st.from_dense(cube, "CSF")
    for call in (
        "np.roll(x, 2)  np.roll(x, (1, 2), (0, -1))  np.rot90(x, 1, (0, -1))  np.flip(x, (0, -1))  np.tile(x, (2, 1, 2))  np.tile(x, 2)  "
        "np.repeat(x, 2, 1)  np.delete(x, [0, 2], 1)  np.diff(x, axis=0)  np.unstack(x, axis=1)  np.take(x, [[0, 1], [2, 2]], 1)  "
        "x.mT  np.moveaxis(x, 0, -1)  np.nanmax(x, 0)  np.nanmean(x, -1)  np.unique(x)  np.ptp(x, 1)  np.append(x, x)  np.vecdot(x, x)"
    ).split("  "):
        if known(call):
            for t, array_of in ((A, a), (K, cube)):
                compare(eval(call, {"np": np, "x": t}), eval(call, {"np": np, "x": array_of}))


def test_refused():
    A = st.eye(3)
    for call, error, text in (
        (lambda: np.pad(A, 1, "edge"), st.Unsupported, "its fill alone"),
        (lambda: np.pad(A + 1, 1), st.Unsupported, "its fill alone"),
        (lambda: np.pad(A, -1), st.TensorError, "negative"),
        (lambda: A.item(), st.TensorError, "one element"),
        (lambda: np.linalg.matrix_power(A, -1), st.Unsupported, "inverse"),
        (lambda: np.linalg.matrix_power(A[:2], 2), st.TensorError, "square"),
        (lambda: A[0].mT, st.TensorError, "of matrices"),
        (lambda: np.diff(A, -1), st.TensorError, "negative"),
        (lambda: np.tensordot(A[:, :1], A, 1), st.TensorError, "tensordot sums over"),
        (lambda: np.inner(A[:, :1], A), st.TensorError, "sums over"),
        (lambda: np.vdot(A[0], A[0, :1]), st.TensorError, "sums over"),
        (lambda: np.diagflat(A + 1), st.TensorError, "fill 0"),
        (lambda: float(A), st.TensorError, "one element"),
        (lambda: A.take(9, 0), IndexError, ""),
    ):
        with pytest.raises(error, match=text):
            call()
    same(np.pad(A + 1, 1, constant_values=1), np.pad(np.eye(3) + 1, 1, constant_values=1))


def test_numbers_of_one_element():
    one = st.from_dense(np.array([[7]]), "CSR")
    assert float(one) == 7 and int(one) == 7 and complex(one) == 7 and one.item() == 7
    zero = st.asarray(np.array(2))
    assert [10, 11, 12][zero] == 12
    with pytest.raises(TypeError):
        [1][one]
    index = st.asarray(np.array([2, 0]))
    same(st.eye(3)[index], np.eye(3)[[2, 0]])
    assert st.eye(3)[zero].shape == (3,)


def test_reductions_over_nothing():
    """Of no dimensions and over no axes, where nothing is added up."""
    for a in (np.array(3, "uint8"), np.array(0.0), np.array(2.5)):
        t = st.asarray(a)
        for name in ("sum", "any", "all", "max", "prod"):
            same(getattr(t, name)(), getattr(a, name)())
    a = array(1, dtype="uint8")
    A = st.from_dense(a, "CSR")
    for name in ("sum", "any", "all", "max"):
        same(getattr(A, name)(axis=()), getattr(a, name)(axis=()))
    same(np.sign(st.from_dense(array(1, dtype="complex128"), "CSR")), np.sign(array(1, dtype="complex128")), rtol=1e-15)
