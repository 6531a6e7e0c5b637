"""pydata/sparse, JAX, PyTorch Geometric, networkx, pandas: in and out, shared where that can be."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

DENSE = np.array([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]])
CUBE = np.where(np.random.default_rng(0).random((3, 4, 5)) < 0.3, np.arange(60.0).reshape(3, 4, 5), 0)
FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "delta(4)", "bitmap", "BSR(4, 4) + COO"]


def quiet(f, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arguments, **options)


# ---------------------------------------------------------------- pydata/sparse


def test_pydata_coo_is_borrowed():
    sparse = pytest.importorskip("sparse")
    for dense in (DENSE, CUBE, DENSE[0], DENSE.astype("complex64"), np.zeros((2, 3))):
        x = sparse.COO.from_numpy(dense)
        t = st.from_package(x)
        assert t.format == st.Format("COO", rank=dense.ndim) and np.array_equal(t.to_dense(), dense)
        assert t.dtype == dense.dtype
        if len(x.data):
            assert np.shares_memory(t.values, x.data) and np.shares_memory(t.crd(0), x.coords)
    x = sparse.COO.from_numpy(np.where(DENSE == 0, 7, DENSE), fill_value=7)
    assert st.from_package(x).fill == 7 and np.array_equal(st.from_package(x).to_dense(), x.todense())


def test_pydata_gcxs_and_dok():
    sparse = pytest.importorskip("sparse")
    for axis, name in ((0, "CSR"), (1, "CSC")):
        x = sparse.GCXS.from_numpy(DENSE, compressed_axes=(axis,))
        t = st.from_package(x)
        assert t.format == st.Format(name) and np.array_equal(t.to_dense(), DENSE)
        assert np.shares_memory(t.values, x.data) and np.shares_memory(t.crd(1), x.indices)
    for x in (sparse.GCXS.from_numpy(CUBE), sparse.DOK.from_numpy(CUBE)):
        with pytest.warns(st.CopyWarning, match="became COO"):
            t = st.from_package(x)
        assert np.array_equal(t.to_dense(), CUBE)


@pytest.mark.parametrize("format", FORMATS)
def test_to_pydata(format):
    sparse = pytest.importorskip("sparse")
    t = st.from_dense(DENSE, format)
    x = t.to_package("sparse")
    assert isinstance(x, sparse.SparseArray) and np.array_equal(x.todense(), DENSE)
    assert np.array_equal((x @ np.ones(4)), DENSE @ np.ones(4))
    if format in ("CSR", "CSC"):
        assert isinstance(x, sparse.GCXS) and np.shares_memory(x.data, t.values)
        assert not np.shares_memory(t.to_package("sparse", copy=True).data, t.values)
    assert st.equal(st.from_package(x).to("COO"), t.to("COO"))
    assert isinstance(t.to_package(x), sparse.SparseArray)


def test_to_pydata_of_any_rank_and_fill():
    pytest.importorskip("sparse")
    assert np.array_equal(st.from_dense(CUBE, "CSF").to_package("sparse").todense(), CUBE)
    filled = np.where(DENSE == 0, 7.0, DENSE)
    for format in ("CSR", "COO"):
        x = st.from_dense(filled, format, fill=7).to_package("sparse")
        assert x.fill_value == 7 and np.array_equal(x.todense(), filled)


# ---------------------------------------------------------------- JAX


def test_jax_in():
    pytest.importorskip("jax")
    from jax.experimental import sparse

    for dense in (DENSE, CUBE, DENSE[0]):
        dense = dense.astype("float32")
        x = sparse.BCOO.fromdense(dense)
        t = quiet(st.from_package, x)
        assert t.format == st.Format("COO", rank=dense.ndim) and np.array_equal(t.to_dense(), dense)
        assert np.shares_memory(t.values, np.asarray(x.data))
    x = sparse.BCSR.fromdense(DENSE.astype("float32"))
    t = st.from_package(x)
    assert t.format == st.formats.CSR and np.array_equal(t.to_dense(), DENSE)
    assert np.shares_memory(t.values, np.asarray(x.data)) and np.shares_memory(t.crd(1), np.asarray(x.indices))
    hybrid = sparse.BCOO.fromdense(CUBE.astype("float32"), n_dense=1)
    assert np.array_equal(quiet(st.from_package, hybrid).to_dense(), CUBE.astype("float32"))


def test_jax_padding_and_disorder():
    jax = pytest.importorskip("jax")
    from jax.experimental import sparse

    padded = sparse.BCOO.fromdense(DENSE.astype("float32"), nse=9)
    t = quiet(st.from_package, padded)
    assert t.nse == 4 and np.array_equal(t.to_dense(), DENSE)
    values, indices = jax.numpy.arange(1.0, 4), jax.numpy.array([[2, 0], [0, 1], [2, 0]])
    t = quiet(st.from_package, sparse.BCOO((values, indices), shape=(3, 4)))
    expected = np.zeros((3, 4))
    expected[2, 0], expected[0, 1] = 4, 2
    assert np.array_equal(t.to("CSR").to_dense(), expected)
    with pytest.raises(st.Unsupported, match="batch"):
        st.from_package(sparse.BCOO.fromdense(CUBE.astype("float32"), n_batch=1))
    assert np.array_equal(st.from_package(jax.numpy.ones((2, 3))).to_dense(), np.ones((2, 3)))


@pytest.mark.parametrize("format", [*FORMATS, "dense"])
def test_to_jax(format):
    jax = pytest.importorskip("jax")
    t = st.from_dense(DENSE.astype("float32"), format)
    x = t.to_package("jax")
    assert np.array_equal(x if format == "dense" else x.todense(), DENSE)
    assert np.array_equal(x @ jax.numpy.ones(4), DENSE @ np.ones(4))
    if format != "dense":
        assert type(x).__name__ == ("BCSR" if format == "CSR" else "BCOO")
    if not jax.config.jax_enable_x64:
        with pytest.raises(st.Unsupported, match="float32"):
            st.from_dense(DENSE, format).to_package("jax")


# ---------------------------------------------------------------- PyTorch Geometric


def test_edge_index():
    pytest.importorskip("torch_geometric")
    import torch
    from torch_geometric import EdgeIndex

    edges = torch.tensor([[0, 0, 1, 2], [1, 2, 2, 0]])
    x = EdgeIndex(edges, sparse_size=(3, 4))
    t = st.from_package(x)
    expected = np.zeros((3, 4))
    expected[edges[0], edges[1]] = 1
    assert np.array_equal(t.to_dense(), expected) and t.dtype == np.float32
    assert np.shares_memory(t.crd(0), edges.numpy()) and t.values.strides == (0,)
    x = np.random.default_rng(0).random((4, 5)).astype("float32")
    np.testing.assert_allclose(t @ x, expected @ x, rtol=1e-5)
    twice = st.from_package(EdgeIndex(torch.tensor([[2, 0, 2], [1, 0, 1]]), sparse_size=(3, 3)))
    assert twice.to("CSR")[2, 1] == 2
    with pytest.raises(st.TensorError, match="sparse_size"):
        st.from_package(EdgeIndex(edges))
    back = st.from_dense(expected, "CSR").to_package("torch_geometric")
    assert isinstance(back, EdgeIndex) and back.sparse_size() == (3, 4)
    assert torch.equal(back.as_tensor(), edges)
    assert st.from_package(EdgeIndex(torch.zeros((2, 0), dtype=torch.int64), sparse_size=(3, 3))).nse == 0


# ---------------------------------------------------------------- networkx


def test_networkx():
    networkx = pytest.importorskip("networkx")
    g = networkx.DiGraph()
    g.add_nodes_from("abcd")
    g.add_edge("a", "b", weight=2.5)
    g.add_edge("c", "a")
    g.add_edge("d", "d", weight=-1)
    with pytest.warns(st.CopyWarning, match="networkx"):
        t = st.from_package(g)
    assert np.array_equal(t.to_dense(), networkx.to_numpy_array(g))
    h = networkx.karate_club_graph()
    assert np.array_equal(quiet(st.from_package, h).to_dense(), networkx.to_numpy_array(h))
    back = quiet(st.from_package, h).to("delta(4)").to_package("networkx")
    assert networkx.utils.graphs_equal(
        back, networkx.from_scipy_sparse_array(networkx.to_scipy_sparse_array(h), create_using=networkx.DiGraph)
    )
    assert quiet(st.from_package, networkx.Graph()).shape == (0, 0)
    with pytest.raises(st.Unsupported, match="square"):
        st.from_dense(DENSE, "CSR").to_package("networkx")


# ---------------------------------------------------------------- pandas


def test_pandas_in():
    pandas = pytest.importorskip("pandas")
    for dense, fill in ((DENSE[0], 0.0), (np.where(DENSE[0] == 0, 5.0, DENSE[0]), 5.0)):
        s = pandas.Series(pandas.arrays.SparseArray(dense, fill_value=fill))
        t = st.from_package(s)
        assert t.format == st.formats.SparseVector and t.fill == fill and np.array_equal(t.to_dense(), dense)
        assert np.shares_memory(t.values, s.array.sp_values)
    frame = pandas.DataFrame(DENSE).astype(pandas.SparseDtype("float64", 0.0))
    t = st.from_package(frame)
    assert t.format == st.formats.CSC and np.array_equal(t.to_dense(), DENSE)
    assert np.array_equal(st.from_package(pandas.DataFrame(DENSE)).to_dense(), DENSE)
    assert np.array_equal(st.from_package(pandas.Series([1, 2, 3])).to_dense(), [1, 2, 3])
    mixed = pandas.DataFrame({"a": frame[0], "b": DENSE[:, 1]})
    with pytest.raises(st.TensorError, match="some are not"):
        st.from_package(mixed)
    with pytest.raises(st.DTypeError, match="not all numbers"):
        st.from_package(pandas.DataFrame({"a": [1.0], "b": ["x"]}))


@pytest.mark.parametrize("format", [*FORMATS, "dense"])
def test_to_pandas(format):
    pandas = pytest.importorskip("pandas")
    t = st.from_dense(DENSE, format)
    frame = t.to_package("pandas")
    assert isinstance(frame, pandas.DataFrame) and np.array_equal(frame.to_numpy(), DENSE)
    if format != "dense":
        assert frame.sparse.density == pytest.approx(4 / 12)
        assert np.array_equal(st.from_package(frame).to_dense(), DENSE)
    assert isinstance(t.to_package(frame), pandas.DataFrame)


def test_to_pandas_vectors_and_fills():
    pandas = pytest.importorskip("pandas")
    s = st.from_dense(DENSE[0], "SparseVector").to_package("pandas")
    assert isinstance(s, pandas.Series) and s.sparse.npoints == 2 and s.tolist() == DENSE[0].tolist()
    filled = np.where(DENSE == 0, 7.0, DENSE)
    assert np.array_equal(st.from_dense(filled, "CSR", fill=7).to_package("pandas").to_numpy(), filled)
    with pytest.raises(st.Unsupported, match="dimensions"):
        st.from_dense(CUBE, "CSF").to_package("pandas")


# ---------------------------------------------------------------- all of them


def test_products_take_scipy_s_neighbours():
    sparse = pytest.importorskip("sparse")
    a = sp.csr_array(DENSE)
    assert np.allclose(st.from_package(sparse.COO.from_scipy_sparse(a)) @ np.ones(4), a @ np.ones(4))


def test_packages_that_are_missing(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] in ("sparse", "jax", "torch_geometric", "networkx", "pandas"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for package in ("sparse", "jax", "torch_geometric", "networkx", "pandas"):
        with pytest.raises(st.Unsupported, match="pip install"):
            st.from_dense(DENSE, "CSR").to_package(package)
