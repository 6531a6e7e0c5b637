"""Tensors of every named format leave for NumPy, SciPy, PyTorch and CuPy: equal numbers, in the package's own layout
where it has one."""

import sys
import types
import warnings

import numpy as np
import pytest
import scipy.sparse as sps
from named_formats import BY_RANK, PRUNED, after, sample, two_of_four, unsigned

import strata as st

try:
    import torch
except ImportError:
    torch = None

SUMS = ["CSR + COO", "BSR(2, 2) + COO", "DIA + dense", "dense + DenseLeft", "ELL + bitmap"]
MATRICES = BY_RANK[2] + PRUNED + SUMS
FORMATS = [text for rank in (1, 2, 3, 4, 5) for text in BY_RANK[rank]] + PRUNED + SUMS
SOURCES = {2: ["dense", "COO", "CSR", "CSC", "BSR(2, 3)", "DIA"]}
ODD = {1: (5,), 2: (7, 5), 3: (4, 5, 3), 4: (2, 5, 3, 4), 5: (2, 3, 5, 4, 2)}
EVEN = {1: (6,), 2: (6, 12), 3: (6, 6, 6), 4: (6, 6, 6, 6), 5: (2, 3, 6, 6, 6)}  # blocks divide them

needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
beta = pytest.mark.filterwarnings("ignore:Sparse")  # what torch says of its own layouts


def alike(shape):
    """Batches of multiples of one matrix: each stores as much as the others."""
    factors = np.arange(1.0, 1 + np.prod(shape[:-2], dtype=int)).reshape(*shape[:-2], 1, 1)
    return factors * np.nan_to_num(sample(shape[-2:])) if len(shape) > 2 else sample(shape)


def tensors(text):
    """(array, tensor in this format, do blocks and batches fit), after a conversion from each of several others; the array
    without the signs of zeros that went on the way."""
    rank = st.Format(text).rank
    arrays = [(sample(ODD[rank]), False), (alike(EVEN[rank]), True)]
    if text in PRUNED:
        arrays = [(two_of_four(ODD[2]), False), (two_of_four(EVEN[2]), True)]
    for dense, fits in arrays:
        for source in SOURCES.get(rank, [f"dense({rank})", f"COO({rank})"]):
            yield after(dense, source, text), st.from_dense(dense, source, threshold=None).to(text), fits


def leaving(call):
    """What the call returns, and whether it said that something was copied."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = call()
    return out, any(issubclass(w.category, st.CopyWarning) for w in caught)


def parsed(text):
    """("BSR", [2, 3]) of "BSR(2, 3)"."""
    name, _, numbers = text.partition("(")
    return ("a sum", []) if "+" in text else (name, [int(n) for n in numbers.strip(")").split(",") if n])


def blocks_fit(numbers, shape):
    return all(e % b == 0 for e, b in zip(shape, numbers[:2]))


@pytest.mark.parametrize("text", FORMATS)
def test_numpy(text):
    for dense, t, _ in tensors(text):
        for out in (t.to_numpy(), t.to_package("numpy"), t.to_package(like=dense), t.to_dense()):
            assert type(out) is np.ndarray and out.dtype == dense.dtype and out.tobytes() == dense.tobytes()


def check_way_back(back, dense, t, own):
    """The bits of every element; where a format that can hold fill-in was left, not the signs of zeros."""
    got = back.to_dense()
    if own is None and t.format.can_hold_fill:
        got, dense = unsigned(got), unsigned(dense)
    assert got.tobytes() == dense.tobytes()


def scipy_kind(text, shape):
    """The class that holds this format as it is, or None."""
    name, numbers = parsed(text)
    if name == "SparseVector" or name == "COO":
        return "coo"
    if len(shape) == 2 and (name in ("CSR", "CSC") or (name == "BSR" and blocks_fit(numbers, shape))):
        return name.lower()
    return "dia" if name == "DIAJ" else None


@pytest.mark.parametrize("text", FORMATS)
def test_scipy(text):
    for dense, t, _ in tensors(text):
        own = scipy_kind(text, dense.shape)
        out, copied = leaving(t.to_scipy)
        assert isinstance(out, sps.sparray) and out.format == (own or ("csr" if dense.ndim == 2 else "coo"))
        assert copied == (own is None) and (own is None or np.shares_memory(out.data, t.values))
        assert np.array_equal(out.todense(), dense, equal_nan=True)
        check_way_back(st.from_scipy(out), dense, t, own)
        if dense.ndim == 2:
            x = np.arange(dense.shape[1])
            np.testing.assert_allclose(out @ x, dense @ x)
            assert isinstance(t.to_package(like=sps.csr_matrix((1, 1))), sps.spmatrix)
        if hasattr(out, "check_format"):
            out.check_format(full_check=True)


def test_scipy_has_no_scalar():
    with pytest.raises(st.Unsupported, match="no sparse scalar"):
        st.from_dense(np.array(3.0), "Scalar").to_scipy()


def torch_layout(text, shape, fits):
    """The layout that holds this format as it is, or None."""
    name, numbers = parsed(text)
    if name in ("dense", "DenseLeft", "DenseVector"):
        return torch.strided
    if name in ("COO", "COOd", "CROW", "SparseVector"):
        return torch.sparse_coo
    if name in ("CSR", "CSC", "BSR", "BSC"):
        block, rest = (numbers[:2], numbers[2:]) if name.startswith("BS") else ([1, 1], numbers)
        batch = rest[0] if rest else 0
        if blocks_fit(block, shape[batch:]) and (fits or batch == 0):
            return getattr(torch, f"sparse_{name.lower()}")
    return None


def checked_by_torch(x):
    """The same tensor, made anew with torch's own checks."""
    if x.layout == torch.strided:
        return x
    if x.layout == torch.sparse_coo:
        assert x.is_coalesced()
        return torch.sparse_coo_tensor(x.indices(), x.values(), x.shape, check_invariants=True)
    rows = x.layout in (torch.sparse_csr, torch.sparse_bsr)
    pos, crd = (x.crow_indices(), x.col_indices()) if rows else (x.ccol_indices(), x.row_indices())
    return torch.sparse_compressed_tensor(pos, crd, x.values(), x.shape, layout=x.layout, check_invariants=True)


@beta
@needs_torch
@pytest.mark.parametrize("text", FORMATS)
def test_torch(text):
    for dense, t, fits in tensors(text):
        own = torch_layout(text, dense.shape, fits)
        out, copied = leaving(t.to_torch)
        assert out.layout == (own or (torch.sparse_csr if dense.ndim == 2 else torch.sparse_coo))
        assert copied == (own in (None, torch.sparse_coo))  # COO: its indices
        assert out.dtype == torch.float64 and tuple(out.shape) == dense.shape
        assert np.array_equal(checked_by_torch(out).to_dense().numpy(), dense, equal_nan=True)
        check_way_back(st.from_torch(out), dense, t, own)


class DeviceArray:
    """What cupy.asarray returns, as far as it matters here."""

    def __init__(self, host):
        self.host = np.array(host)

    def get(self):
        return self.host


class DeviceMatrix:
    """A matrix of cupyx.scipy.sparse, made from one of SciPy; refuses what CuPy's refuse, in their words."""

    def __init__(self, a):
        assert sps.issparse(a)
        if len(a.shape) != 2:
            raise ValueError("invalid shape (must be a 2-tuple of int)")
        if self.format != "dia" and a.dtype.char not in "?fdFD":
            raise ValueError("Only bool, float32, float64, complex64 and complex128 are supported")
        self.host = a.asformat(self.format)

    def get(self):
        return self.host


@pytest.fixture
def cupy(monkeypatch):
    """A module that looks like CuPy, and lives in the host's memory."""
    top, cupyx, scipy, sparse = map(types.ModuleType, ("cupy", "cupyx", "cupyx.scipy", "cupyx.scipy.sparse"))
    top.ndarray, top.asarray, cupyx.scipy, scipy.sparse = DeviceArray, DeviceArray, scipy, sparse
    for kind in ("csr", "csc", "coo", "dia"):
        made = type(f"{kind}_matrix", (DeviceMatrix,), {"format": kind, "__module__": sparse.__name__})
        setattr(sparse, made.__name__, made)
    for module in (top, cupyx, scipy, sparse):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return sparse


@pytest.mark.parametrize("text", MATRICES)
def test_cupy_matrices(text, cupy):
    kind = {"CSR": "csr", "CSC": "csc", "COO": "coo", "DIAJ": "dia"}.get(text, "csr")
    for dense, t, _ in tensors(text):
        out, copied = leaving(t.to_cupy)
        if t.format.is_all_dense:
            assert type(out) is DeviceArray and out.get().tobytes() == dense.tobytes()
            continue
        assert type(out) is getattr(cupy, f"{kind}_matrix")
        assert np.array_equal(out.get().toarray(), dense, equal_nan=True)
        assert copied == (scipy_kind(text, dense.shape) is None)
        assert type(t.to_package("cupy")) is type(t.to_package(like=out)) is type(out)


@pytest.mark.parametrize("rank", [1, 3, 4, 5])
def test_cupy_arrays(rank, cupy):
    for text in (f"dense({rank})", f"DenseLeft({rank})"):
        for dense, t, _ in tensors(text):
            assert t.to_cupy().get().tobytes() == dense.tobytes()


@pytest.mark.parametrize("text", ["SparseVector", "COO(3)", "CSF(4)", "BSR(2, 3, 1, 0)", "COOd(2, 3)"])
def test_cupy_has_matrices_only(text, cupy):
    for _, t, _ in tensors(text):
        with pytest.raises(st.Unsupported) as e:
            t.to_cupy()
        assert e.value.fix


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint32"])
def test_cupy_matrices_have_no_integers(dtype, cupy):
    t = st.from_dense(two_of_four((4, 8)).astype(dtype), "CSR")
    with pytest.raises(st.Unsupported) as e:
        t.to_cupy()
    assert "float" in e.value.fix


def test_what_a_package_lacks_says_what_to_do(cupy):
    """Another fill, and numbers that a package does not have."""
    filled = st.from_dense(np.array([[1.0, 5.0], [5.0, 2.0]]), "CSR", fill=5)
    assert filled.to_numpy().tolist() == [[1, 5], [5, 2]]
    half = st.from_dense(np.eye(2, dtype="float16"), "BSR(2, 2)")
    brain = half.to("bfloat16")
    for t, packages, fix in [
        (filled, ("scipy", "torch", "cupy"), "to_dense"),
        (half, ("scipy", "cupy"), "float32"),
        (brain, ("numpy", "scipy", "cupy"), "float32"),
    ]:
        for package in packages:
            if package == "torch" and torch is None:
                continue
            with pytest.raises(st.Unsupported) as e:
                t.to_package(package)
            assert fix in e.value.fix, (package, str(e.value))


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "dense"])
def test_arrays_of_no_element_that_numpy_cannot_count(format):
    """It counts in bytes what an array would hold without its dimensions of 0."""
    extents = [(0, 2**63 - 1), (2**61, 0)]
    for shape in {"CSR": extents[:1], "CSC": extents[1:]}.get(format, extents):
        t = st.zeros(shape, format=format)
        for leave in (t.to_dense, t.to_numpy, lambda t=t: t.to_package("numpy")):
            with pytest.raises(st.TensorError, match="NumPy has no array of this shape") as e:
                leave()
            assert str(shape) in str(e.value) and "slice" in e.value.fix
        largest = tuple(extent and 2**59 for extent in shape)
        assert st.zeros(largest, format=format).to_dense().shape == largest == np.empty(largest).shape


INDICES = [("int8", "int8"), ("uint8", "uint8"), ("int16", "uint16"), ("uint16", "uint32"), ("uint64", "int64")]


@beta
@pytest.mark.parametrize("pos, crd", INDICES)
def test_narrow_indices(pos, crd):
    """No package but ours computes with all index types: the others get int32 or int64, and the same numbers."""
    for text in MATRICES + BY_RANK[3]:
        dense = two_of_four((6, 12)) if text in MATRICES else np.nan_to_num(sample((4, 5, 3)))
        t = st.from_dense(dense, "COO", threshold=None)
        if crd.startswith("u") and "DIA" in text and "Skew" not in text:
            with pytest.raises(st.TensorError, match="signed crd"):
                t.to(text, pos_dtype=pos, crd_dtype=crd)
            continue
        t = t.to(text, pos_dtype=pos, crd_dtype=crd)
        kinds = {v.kind for p in t.parts for v in p.format.levels}
        assert t.pos_dtype == pos or not kinds & {"compressed", "delta", "bitmap"}, text
        assert t.crd_dtype == crd or not kinds & {"compressed", "singleton", "padded"}, text
        assert t.to_numpy().tobytes() == dense.tobytes(), text
        out = t.to_scipy()
        assert np.array_equal(out.todense(), dense), text
        index = out.offsets if out.format == "dia" else out.coords[0] if out.format == "coo" else out.indices
        assert index.dtype in (np.int32, np.int64), text
        if dense.ndim == 2:
            assert np.array_equal(out @ np.arange(12.0), dense @ np.arange(12.0)), text
        if torch:
            assert np.array_equal(t.to_torch().to_dense().numpy(), dense), text


@pytest.mark.parametrize("pos, crd", [("int32", "int64"), ("int64", "int32"), ("int8", "uint32")])
@pytest.mark.parametrize("text", ["CSR", "CSC", "BSR(2, 3)"])
def test_scipy_computes_with_one_index_type(text, pos, crd):
    dense = two_of_four((6, 12))
    out = st.from_dense(dense, text).to(pos_dtype=pos, crd_dtype=crd).to_scipy()
    assert np.array_equal((out @ out.T).toarray(), dense @ dense.T)
    out.eliminate_zeros()
    assert np.array_equal(out.toarray(), dense) and out.indptr.dtype == out.indices.dtype
