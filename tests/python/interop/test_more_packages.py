"""TensorFlow, DGL, python-graphblas: in and out, shared where that can be."""

import warnings

import numpy as np
import pytest

import strata as st

DENSE = np.array([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4, 0]])
CUBE = np.where(np.random.default_rng(0).random((3, 4, 5)) < 0.3, np.arange(60.0).reshape(3, 4, 5), 0)
SQUARE = np.array([[0, 2.0, 0], [0, 0, 3.0], [1.0, 0, 0]])
FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "delta(4)", "bitmap", "BSR(4, 4) + COO"]


def quiet(f, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arguments, **options)


# ---------------------------------------------------------------- TensorFlow


def test_tensorflow_in():
    tf = pytest.importorskip("tensorflow")
    for dense in (DENSE, CUBE, DENSE[0], DENSE.astype("complex64"), DENSE.astype("int16"), np.zeros((2, 3))):
        x = tf.sparse.from_dense(dense)
        t = quiet(st.asarray, x)
        assert t.format == st.Format("COO", rank=dense.ndim) and np.array_equal(t.to_dense(), dense)
        assert t.dtype == dense.dtype
        if t.nse:
            assert np.shares_memory(t.values, np.asarray(x.values))
    with pytest.warns(st.CopyWarning, match="side by side"):
        st.from_package(tf.sparse.from_dense(DENSE))
    unordered = tf.SparseTensor([[2, 0], [0, 1], [2, 0]], [1.0, 2.0, 3.0], (3, 4))
    assert quiet(st.from_package, unordered).to("CSR")[2, 0] == 4
    assert np.array_equal(st.from_package(tf.constant(DENSE)).to_dense(), DENSE)
    half = tf.SparseTensor([[0, 1]], tf.constant([1.5], tf.bfloat16), (2, 2))
    assert quiet(st.from_package, half).dtype == "bfloat16" and quiet(st.from_package, half)[0, 1] == 1.5


@pytest.mark.parametrize("format", [*FORMATS, "dense"])
def test_to_tensorflow(format):
    tf = pytest.importorskip("tensorflow")
    t = st.from_dense(DENSE, format)
    x = t.to_package("tensorflow")
    assert isinstance(x, tf.Tensor if format == "dense" else tf.SparseTensor)
    assert np.array_equal(x if format == "dense" else tf.sparse.to_dense(x), DENSE)
    if format != "dense":
        assert np.array_equal(tf.sparse.sparse_dense_matmul(x, np.ones((4, 2))), DENSE @ np.ones((4, 2)))
        assert st.equal(quiet(st.from_package, x), t)
    with pytest.raises(st.Unsupported, match="absent elements are 0"):
        st.from_dense(DENSE + 1, "CSR", fill=1).to_package("tensorflow")


# ---------------------------------------------------------------- DGL


def test_dgl():
    dgl = pytest.importorskip("dgl")
    torch = pytest.importorskip("torch")
    edges = torch.tensor([2, 0, 1]), torch.tensor([0, 1, 2])
    g = dgl.graph(edges, num_nodes=3)
    g.edata["w"] = torch.tensor([1.0, 2, 3])
    t = st.from_package(g)
    assert np.array_equal(t.to_dense(), SQUARE != 0) and t.dtype == np.float32 and t.values.strides == (0,)
    from strata.interop.dgl import from_dgl

    for made, name in ((["coo"], None), (["csr"], "CSR"), (["csc"], "CSC")):
        h = g.formats(made)
        h.create_formats_()
        t = from_dgl(h, weight="w")
        assert np.array_equal(t.to_dense(), SQUARE)
        if name:
            assert t.format == st.Format(name)
            assert np.shares_memory(t.crd(1), h.adj_tensors(made[0])[1].numpy())
    twice = dgl.graph((torch.tensor([0, 0]), torch.tensor([1, 1])), num_nodes=2)
    assert st.from_package(twice).to("CSR")[0, 1] == 2
    wide = dgl.heterograph({("u", "r", "v"): (torch.tensor([0, 1]), torch.tensor([2, 0]))})
    assert st.from_package(wide).shape == (2, 3)
    several = dgl.heterograph({("u", k, "v"): edges for k in "ab"})
    with pytest.raises(st.Unsupported, match="several types"):
        st.from_package(several)
    assert st.from_package(dgl.graph((torch.tensor([], dtype=torch.int64),) * 2, num_nodes=2)).nse == 0
    for format in FORMATS:
        back = quiet(st.from_dense(SQUARE, format).to_package, "dgl")
        assert np.array_equal(from_dgl(back, weight="weight").to_dense(), SQUARE)
    with pytest.raises(st.Unsupported, match="square"):
        st.from_dense(DENSE, "CSR").to_package("dgl")


# ---------------------------------------------------------------- python-graphblas


@pytest.mark.parametrize("layout", ["csr", "csc", "hypercsr", "hypercsc", "bitmapr", "coo"])
def test_graphblas_in(layout):
    gb = pytest.importorskip("graphblas")
    for dense in (DENSE, DENSE.astype("int8"), DENSE != 0):
        at = np.nonzero(dense)
        x = gb.Matrix.from_coo(*at, dense[at], nrows=3, ncols=4)
        if layout != "coo":
            x.ss.config["format"] = "by_row" if layout[-1] == "r" else "by_col"
            x.ss.config["sparsity_control"] = {"h": "hypersparse", "b": "bitmap"}.get(layout[0], "sparse")
        t = quiet(st.from_package, x)
        assert np.array_equal(t.to_dense(), dense) and t.dtype == dense.dtype
        if layout in ("csr", "csc", "hypercsr"):
            assert t.format == st.Format({"csr": "CSR", "csc": "CSC", "hypercsr": "DCSR"}[layout])
        y = quiet(st.from_package, gb.Vector.from_coo(np.nonzero(dense[0])[0], dense[0][dense[0] != 0], size=4))
        assert y.format == st.Format("SparseVector") and np.array_equal(y.to_dense(), dense[0])
    with pytest.warns(st.CopyWarning, match="GraphBLAS"):
        st.asarray(x)
    assert quiet(st.from_package, gb.Matrix(float, 2, 3)).nse == 0


@pytest.mark.parametrize("format", FORMATS)
def test_to_graphblas(format):
    gb = pytest.importorskip("graphblas")
    t = st.from_dense(DENSE, format)
    x = t.to_package("graphblas")
    assert isinstance(x, gb.Matrix) and x.shape == (3, 4) and x.nvals == t.to("COO").nse
    assert np.array_equal(quiet(st.from_package, x).to_dense(), DENSE)
    assert st.from_dense(DENSE[0], "SparseVector").to_package(x).nvals == 2
    with pytest.raises(st.Unsupported, match="no fill"):
        st.from_dense(DENSE + 1, "CSR", fill=1).to_package("graphblas")
    with pytest.raises(st.Unsupported, match="vectors and matrices"):
        st.from_dense(CUBE, "CSF").to_package("graphblas")


def test_packages_that_are_missing(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *arguments, **options):
        if name.partition(".")[0] in ("tensorflow", "dgl", "graphblas"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    for package in ("tensorflow", "dgl", "graphblas"):
        with pytest.raises(st.Unsupported, match="pip install"):
            st.from_dense(SQUARE, "CSR").to_package(package)
