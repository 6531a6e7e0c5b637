"""Files of others, there and back, beside the packages whose files they are; malformed ones are refused."""

import io
import json
import os
import subprocess
import sys
import zipfile

import dtypes
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from named_formats import COMMON
from packages import needed

import strata as st

FORMATS = [*COMMON, "DIAI"]


def array(dtype="float64", shape=(8, 9)):
    rng = np.random.default_rng(7)
    a = rng.standard_normal(shape) * 50
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    a = (abs(a) if np.dtype(dtype).kind == "u" else a).astype(dtype)
    a[rng.random(shape) < 0.6] = 0
    a[2] = 0
    return a


def bits(a):
    return np.ascontiguousarray(a).tobytes()


def quiet(f, *args):
    """Conversions to what a kind of file has are told; here that is no news."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", st.CopyWarning)
        return f(*args)


# --- FROSTT ---


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("text", ["COO", "CSF", "dense"])
def test_frostt(text, suffix, tmp_path):
    a = array(shape=(4, 5, 3))
    path = tmp_path / f"a.tns{suffix}"
    t = st.from_dense(a, text)
    st.write(path, t)
    back = st.read(path)
    assert back.format == st.Format("COO", 3) and bits(back.to_dense()) == bits(a)
    assert st.read_frostt(path, shape=(6, 5, 3)).shape == (6, 5, 3)
    with pytest.raises(st.FileError, match="line"):
        st.read_frostt(path, shape=(2, 5, 3))


@pytest.mark.parametrize("dtype", dtypes.NUMPY)
def test_frostt_dtypes(dtype, tmp_path):
    a = array(dtype)
    t = st.from_dense(a, "CSR")
    if a.dtype.kind == "c":
        with pytest.raises(st.FileError, match="real"):
            st.write(tmp_path / "a.tns", t)
        return
    st.write(tmp_path / "a.tns", t)
    assert bits(st.read(tmp_path / "a.tns").to_dense().astype(dtype)) == bits(a)
    if a.dtype.kind in "iu":
        back = st.read_frostt(tmp_path / "a.tns", dtype="int64")
        assert back.dtype == np.int64 and (back.to_dense() == a).all()


def test_frostt_of_others(tmp_path):
    """As the repository's files are: no header, values as integers, some entry twice."""
    path = tmp_path / "o.tns"
    path.write_text("1 1 1 3\n2 3 4 1\n1 1 1 2\n")
    t = st.read(path)
    assert t.shape == (2, 3, 4) and dict(t.items()) == {(0, 0, 0): 5, (1, 2, 3): 1}
    shares = []
    st.read(path, progress=shares.append)
    assert shares[-1] == 1 and shares == sorted(shares)
    for text, where in (("1 1 x\n", "line 1, column 5"), ("0 1 1\n", "start at 1"), ("", "shape=")):
        path.write_text(text)
        with pytest.raises(st.FileError, match=where):
            st.read(path)
    with pytest.raises(st.DTypeError):
        st.read_frostt(path, dtype="float32")


# --- SciPy ---


@pytest.mark.parametrize("dtype", [d for d in dtypes.NUMPY if d != "float16"])
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_scipy_npz(kind, dtype, tmp_path):
    a = array(dtype)
    for compressed in (True, False):
        for cls in (f"{kind}_array", f"{kind}_matrix"):
            m = getattr(sp, cls)(a)
            sp.save_npz(tmp_path / "a.npz", m, compressed=compressed)
            t = st.read(tmp_path / "a.npz")
            assert bits(t.to_dense()) == bits(a) and t.dtype == np.dtype(dtype)
            st.write(tmp_path / "b.npz", t)
            back = sp.load_npz(tmp_path / "b.npz")
            assert back.format == kind and bits(back.toarray()) == bits(a)


@pytest.mark.parametrize("text", FORMATS)
def test_npz_of_any_format(text, tmp_path):
    a = array()
    quiet(st.write, tmp_path / "a.npz", st.from_dense(a, text))
    assert bits(sp.load_npz(tmp_path / "a.npz").toarray()) == bits(a)
    assert bits(st.read(tmp_path / "a.npz").to_dense()) == bits(a)


def test_npz_in_more_dimensions(tmp_path):
    a = array(shape=(3, 4, 5))
    st.write(tmp_path / "a.npz", st.from_dense(a, "COO"))
    back = st.read(tmp_path / "a.npz")
    assert back.shape == a.shape and bits(back.to_dense()) == bits(a)
    unsorted = sp.coo_array((np.array([1.0, 2, 3]), ([1, 0, 1], [0, 1, 0])), (2, 2))
    sp.save_npz(tmp_path / "u.npz", unsorted)
    assert st.read(tmp_path / "u.npz").to("COO").to_dense().tolist() == [[0, 2], [4, 0]]


def npz(path, **arrays):
    np.savez(path, **arrays)


GOOD = dict(
    format=b"csr",
    shape=np.array([2, 3]),
    data=np.ones(2),
    indices=np.array([0, 2], np.int32),
    indptr=np.array([0, 1, 2], np.int32),
)
WRONG = {
    "no format": dict(format=None),
    "another format": dict(format=b"lil"),
    "format is an array": dict(format=np.array([b"csr", b"csr"])),
    "no data": dict(data=None),
    "no indptr": dict(indptr=None),
    "shape of one": dict(shape=np.array([2])),
    "shape of floats": dict(shape=np.array([2.0, 3.0])),
    "negative shape": dict(shape=np.array([-2, 3])),
    "nested shape": dict(shape=np.array([[2, 3]])),
    "indices of floats": dict(indices=np.array([0.0, 2.0])),
    "indices of another length": dict(indices=np.array([0], np.int32)),
    "index out of range": dict(indices=np.array([0, 3], np.int32)),
    "negative index": dict(indices=np.array([0, -1], np.int32)),
    "indptr too short": dict(indptr=np.array([0, 2], np.int32)),
    "indptr decreases": dict(indptr=np.array([0, 2, 1], np.int32)),
    "indptr starts late": dict(indptr=np.array([1, 1, 2], np.int32)),
    "texts": dict(data=np.array(["a", "b"])),
    "two-dimensional data": dict(data=np.ones((2, 1))),
    "blocks of nothing": dict(format=b"bsr", data=np.ones((2, 0, 1))),
    "diagonals without offsets": dict(format=b"dia", data=np.ones((2, 3))),
}


@pytest.mark.parametrize("name", WRONG)
def test_malformed_npz(name, tmp_path):
    path = tmp_path / "a.npz"
    npz(path, **{k: v for k, v in (GOOD | WRONG[name]).items() if v is not None})
    with pytest.raises(st.FileError, match="a.npz"):
        st.read(path)
    npz(path, **GOOD)
    assert st.read(path).nse == 2


def test_npz_executes_nothing(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / "a.npz"
    for key in GOOD:
        npz(path, **(GOOD | {key: np.array([Evil()], dtype=object)}))
        with pytest.raises(st.FileError, match="executed|objects"):
            st.read(path)
    assert not (tmp_path / "executed").exists()


def member(shape, dtype="<f8", data=b""):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue() + data


def test_npz_that_lies_about_sizes(tmp_path):
    path = tmp_path / "a.npz"
    for shape in ((10**12,), (2**62,), (2**62, 4), (2**32, 2**32), (3,)):
        npz(path, **GOOD)
        whole = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
            for info in old.infolist():
                text = member(shape, data=b"\0" * 16) if info.filename == "data.npy" else old.read(info)
                new.writestr(info.filename, text)
        with pytest.raises(st.FileError, match="data"):
            st.read(path)
    # A zip that claims to unpack to a terabyte.
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zip:
        for info in zipfile.ZipFile(io.BytesIO(whole)).infolist():
            zip.writestr(info.filename, zipfile.ZipFile(io.BytesIO(whole)).read(info))
    raw = bytearray(path.read_bytes())
    at = raw.rindex(b"data.npy") - 46
    raw[at + 24 : at + 28] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(raw)
    with pytest.raises(st.FileError, match="a.npz"):
        st.read(path)
    for n in range(0, len(whole), 7):
        path.write_bytes(whole[:n])
        with pytest.raises(st.FileError, match="a.npz"):
            st.read(path)


# --- MATLAB ---


@pytest.mark.parametrize("text", FORMATS)
def test_mat(text, tmp_path):
    a, path = array(), tmp_path / "a.mat"
    quiet(st.write, path, st.from_dense(a, text))
    found = scipy.io.loadmat(path)["A"]
    assert sp.issparse(found) == (text != "dense")
    assert bits(found.toarray() if sp.issparse(found) else found) == bits(a)
    assert bits(st.read(path).to_dense()) == bits(a)


@pytest.mark.parametrize("dtype", [d for d in dtypes.NUMPY if d != "float16"])
def test_mat_dtypes(dtype, tmp_path):
    a = array(dtype)
    st.write(tmp_path / "a.mat", st.from_dense(a, "CSC"))
    back = st.read(tmp_path / "a.mat")
    assert back.dtype == (np.complex128 if a.dtype.kind == "c" else bool if a.dtype == bool else np.float64)
    assert (back.to_dense() == a).all()


def test_mat_of_others(tmp_path):
    path, a = tmp_path / "a.mat", array()
    scipy.io.savemat(path, {"Problem": {"A": sp.csc_array(a), "name": "HB/x", "id": 3, "b": np.ones((8, 1))}})
    assert bits(st.read(path).to_dense()) == bits(a)  # the only sparse one
    assert st.read(path, name="Problem.b").shape == (8, 1)
    with pytest.raises(st.FileError, match="Problem.A"):
        st.read(path, name="x")
    st.write(path, {"A": st.from_dense(a, "CSR"), "B": st.from_dense(a, "CSC")})
    with pytest.raises(st.FileError, match="holds 2 tensors"):
        st.read(path)
    assert bits(st.read(path, name="B").to_dense()) == bits(a)
    for name in ("1a", "a b", "ä", "x" * 40, "__a"):
        with pytest.raises(st.FileError, match="MATLAB"):
            st.write(path, {name: st.from_dense(a, "CSR")})
    with pytest.raises(st.FileError, match="2\\^53"):
        st.write(path, st.from_dense(np.array([[2**60, 0]]), "CSR"))
    raw = path.read_bytes()
    for n in (0, 3, 100, 130, len(raw) // 2, len(raw) - 3):
        (tmp_path / "b.mat").write_bytes(raw[:n])
        with pytest.raises(st.FileError, match="b.mat"):
            st.read(tmp_path / "b.mat")


def test_mat_7_3(tmp_path):
    h5py = needed("h5py")
    path, a = tmp_path / "a.mat", sp.csc_array(array())
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("A")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(a.shape[0])
        group["data"], group["ir"], group["jc"] = a.data, a.indices.astype(np.uint64), a.indptr.astype(np.uint64)
        empty = file.create_group("E")
        empty.attrs["MATLAB_class"], empty.attrs["MATLAB_sparse"] = np.bytes_("double"), np.uint64(4)
        empty["jc"] = np.zeros(6, np.uint64)
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    assert bits(st.read(path, name="A").to_dense()) == bits(a.toarray())
    assert st.read(path, name="E").shape == (4, 5) and st.read(path, name="E").nse == 0


# --- binsparse in HDF5 and Zarr ---

BINSPARSE = {
    "CSR": "CSR",
    "CSC": "CSC",
    "COO": "COOR",
    "(i, j) -> (j: compressed(nonunique), i: singleton)": "COOC",
    "DCSR": "DCSR",
    "(i, j) -> (j: compressed, i: compressed)": "DCSC",
    "dense": "DMATR",
    "(i, j) -> (j: dense, i: dense)": "DMATC",
}
CUSTOM = {
    3: [
        "COO",
        "CSF",
        "(i, j, k) -> (i: dense, j: compressed, k: compressed)",
        "(i, j, k) -> (k: compressed, i: dense, j: dense)",
    ]
    + ["(i, j, k) -> (i: dense, j: compressed(nonunique), k: singleton)", "dense"],
    1: ["(i) -> (i: compressed)", "(i) -> (i: dense)"],
}


@pytest.fixture(params=[".h5", ".zarr"])
def store(request, tmp_path):
    needed({".h5": "h5py", ".zarr": "zarr"}[request.param])
    return tmp_path / f"a{request.param}"


@pytest.mark.parametrize("dtype", [d for d in dtypes.NUMPY if d != "float16"])
def test_binsparse_dtypes(dtype, store):
    a = array(dtype)
    t = st.from_dense(a, "CSR")
    st.write(store, t)
    back = st.read(store)
    assert back.equal(t, storage=True) and back.dtype == t.dtype and bits(back.to_dense()) == bits(a)
    assert back.crd_dtype == t.crd_dtype and back.pos_dtype == t.pos_dtype


@pytest.mark.parametrize("text", [*BINSPARSE, *FORMATS])
def test_binsparse_formats(text, store):
    a = array()
    t = st.from_dense(a, text)
    quiet(st.write, store, t)
    back = st.read(store)
    assert bits(back.to_dense()) == bits(a)
    if text in BINSPARSE:
        assert back.format == t.format and back.equal(t, storage=True)


@pytest.mark.parametrize("rank,text", [(r, f) for r, texts in CUSTOM.items() for f in texts])
def test_binsparse_custom_formats(rank, text, store):
    a = array(shape=(8, 9, 3)[:rank])
    t = st.from_dense(a, text)
    twice = st.from_dense(2 * a, text)
    st.write(store, {"x": t, "y/z": twice})
    assert st.read(store, name="x").equal(t, storage=True)
    assert st.read(store, name="y/z").equal(twice, storage=True)
    with pytest.raises(st.FileError, match="'y/z'"):
        st.read(store)


def test_binsparse_fill_iso_and_nothing(store):
    t = st.from_coo(([0, 2], [1, 1]), [1.0, 5.0], (3, 4), "CSR", fill=np.nan)
    st.write(store, t)
    assert st.read(store).equal(t, storage=True) and np.isnan(st.read(store).fill)
    ones = st.from_coo(([0, 2], [1, 1]), [1.0, 1.0], (3, 4), "CSR")
    shared = st.Tensor(
        ones.format, ones.shape, pos={1: ones.pos(1)}, crd={1: ones.crd(1)}, values=np.broadcast_to(np.float32(7), 2)
    )
    st.write(store, shared)
    back = st.read(store)
    assert back.equal(shared, storage=True) and back._shares_value
    for text in BINSPARSE:
        for shape in ((0, 4), (3, 0), (3, 4)):
            t = st.zeros(shape, format=text)
            st.write(store, t)
            assert st.read(store).equal(t, storage=True)
    for wrong in (st.from_dense(np.eye(2, dtype=np.float16), "CSR"), st.Tensor("() -> ()", (), values=np.ones(1))):
        with pytest.raises(st.FileError):
            st.write(store, wrong)


def test_binsparse_there_and_back_by_its_own_package(store):
    binsparse = needed("binsparse")
    container = {".h5": "HDF5BinsparseContainer", ".zarr": "ZarrBinsparseContainer"}[store.suffix]
    if not hasattr(binsparse, container):
        pytest.skip(f"binsparse has no {container}")

    def opened(mode):
        if store.suffix == ".h5":
            import h5py

            return h5py.File(store, mode)
        import contextlib

        import zarr

        return contextlib.nullcontext(zarr.open_group(store, mode=mode))

    a = array()
    for text, alias in BINSPARSE.items():
        t = st.from_dense(a, text)
        st.write(store, t)
        with opened("r") as file:
            theirs = binsparse.BinsparseTensor.parse(getattr(binsparse, container)(file))
        assert theirs.format == alias and tuple(theirs.shape) == a.shape
        np.testing.assert_array_equal(theirs.values, t.values)
        with opened("w") as file:
            theirs.serialize(getattr(binsparse, container)(file))
        assert st.read(store).equal(t, storage=True), text
        with opened("w") as file:
            theirs.serialize(getattr(binsparse, container)(file), alias=False)
        assert st.read(store).equal(t, storage=True), text


def h5_case(path, descriptor, **arrays):
    h5py = needed("h5py")
    with h5py.File(path, "w") as file:
        for name, a in arrays.items():
            file[name] = a
        file.attrs["binsparse"] = descriptor if isinstance(descriptor, (str, bytes)) else json.dumps(descriptor)


DESCRIPTOR = {
    "version": "0.1",
    "format": "CSR",
    "shape": [2, 3],
    "number_of_stored_values": 2,
    "data_types": {"pointers_to_1": "uint64", "indices_1": "uint64", "values": "float64"},
}
ARRAYS = dict(pointers_to_1=np.array([0, 1, 2], np.uint64), indices_1=np.array([0, 2], np.uint64), values=np.ones(2))


def test_binsparse_of_others(tmp_path):
    path = tmp_path / "a.h5"
    h5_case(path, DESCRIPTOR, **ARRAYS)
    assert st.read(path).to_dense().tolist() == [[1, 0, 0], [0, 0, 1]]
    h5_case(path, {"binsparse": DESCRIPTOR, "author": "x"}, **ARRAYS)  # the C library's
    assert st.read(path).nse == 2
    symmetric = DESCRIPTOR | {"shape": [3, 3], "structure": "symmetric_lower"}
    arrays = ARRAYS | {"pointers_to_1": np.array([0, 0, 1, 2], np.uint64), "values": np.array([5.0, 7.0])}
    h5_case(path, symmetric, **arrays)
    assert st.read(path).to_dense().tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 7]]
    h5_case(path, symmetric | {"structure": "skew_symmetric_lower"}, **arrays)
    assert st.read(path).to_dense().tolist() == [[0, -5, 0], [5, 0, 0], [0, 0, 7]]
    h5_case(path, symmetric | {"structure": "symmetric_upper"}, **arrays)
    with pytest.raises(st.FileError, match="upper"):
        st.read(path)


def changed(**more):
    return {k: v for k, v in (DESCRIPTOR | more).items() if v is not None}


TYPES = DESCRIPTOR["data_types"]
MALFORMED = {
    "no JSON": ("{", {}),
    "a list": ("[]", {}),
    "deep": ("[" * 30_000, {}),
    "no version": (changed(version=None), {}),
    "version 7": (changed(version="7.0"), {}),
    "no format": (changed(format=None), {}),
    "format is a number": (changed(format=3), {}),
    "another format": (changed(format="CSF"), {}),
    "another rank": (changed(format="CVEC"), {}),
    "no shape": (changed(shape=None), {}),
    "a negative shape": (changed(shape=[2, -3]), {}),
    "a shape of floats": (changed(shape=[2.0, 3.0]), {}),
    "a shape of truths": (changed(shape=[True, 3]), {}),
    "huge": (changed(shape=[2**70, 3]), {}),
    "another count": (changed(number_of_stored_values=3), {}),
    "a count of exabytes": (changed(number_of_stored_values=2**62, data_types=TYPES | {"values": "iso[float64]"}), {}),
    "no types": (changed(data_types=None), {}),
    "no type of values": (changed(data_types={k: v for k, v in TYPES.items() if k != "values"}), {}),
    "another type": (changed(data_types=TYPES | {"values": "float32"}), {}),
    "unknown type": (changed(data_types=TYPES | {"values": "iso[iso[float64]]"}), {}),
    "no array": (changed(), {"indices_1": None}),
    "too many pointers": (changed(), {"pointers_to_1": np.array([0, 1, 2, 2], np.uint64)}),
    "pointers decrease": (changed(), {"pointers_to_1": np.array([0, 2, 1], np.uint64)}),
    "out of range": (changed(), {"indices_1": np.array([0, 3], np.uint64)}),
    "wraps": (changed(), {"indices_1": np.array([0, 2**64 - 1], np.uint64)}),
    "not sorted": (
        changed(shape=[1, 3]),
        {"pointers_to_1": np.array([0, 2], np.uint64), "indices_1": np.array([2, 0], np.uint64)},
    ),
    "a table": (changed(), {"values": np.ones((2, 1))}),
    "custom without levels": (changed(format="custom"), {}),
    "custom of nothing": (changed(format="custom", custom={"level": {"level_desc": "element"}}), {}),
    "custom of an unknown level": (
        changed(format="custom", custom={"level": {"level_desc": "x", "rank": 2, "level": {}}}),
        {},
    ),
    "transposed twice": (
        changed(
            format="custom",
            custom={
                "transpose": [0, 0],
                "level": {"level_desc": "dense", "rank": 2, "level": {"level_desc": "element"}},
            },
        ),
        {},
    ),
    "a fill of another type": (
        changed(fill=True, data_types=TYPES | {"fill_value": "int8"}),
        {"fill_value": np.zeros(1, np.int8)},
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_binsparse(name, tmp_path):
    path = tmp_path / "a.h5"
    descriptor, arrays = MALFORMED[name]
    h5_case(path, descriptor, **{k: v for k, v in (ARRAYS | arrays).items() if v is not None})
    with pytest.raises(st.FileError, match="a.h5"):
        st.read(path)


def test_hdf5_that_lies_about_sizes(tmp_path):
    h5py = needed("h5py")
    path = tmp_path / "a.h5"
    h5_case(path, changed(number_of_stored_values=10**12), **{k: v for k, v in ARRAYS.items() if k != "values"})
    with h5py.File(path, "a") as file:  # a terabyte of which nothing is stored
        file.create_dataset("values", (10**12,), "f8", chunks=(1000,))
    with pytest.raises(st.FileError, match="claims more than the file holds"):
        st.read(path)
    with h5py.File(path, "w") as file:
        file["x"] = np.ones(3)
    with pytest.raises(st.FileError, match="binsparse layout"):
        st.read(path)
    raw = path.read_bytes()
    for n in (0, 7, 100, len(raw) - 1):
        path.write_bytes(raw[:n])
        with pytest.raises(st.FileError, match="a.h5"):
            st.read(path)


def test_zarr_stores_are_replaced_whole(tmp_path):
    needed("zarr")
    path, t = tmp_path / "a.zarr", st.from_dense(np.eye(3), "CSR")
    st.write(path, t)
    st.write(path, t * 2)
    assert st.equal(st.read(path), t * 2)
    with pytest.raises(st.FileError):
        st.write(path, st.from_dense(np.eye(2, dtype=np.float16), "CSR"))
    assert st.equal(st.read(path), t * 2)
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "thesis.txt").write_text("precious")
    with pytest.raises(st.FileError, match="lost"):
        st.write(tmp_path / "mine.zarr", t)
    (tmp_path / "plain.zarr").write_text("x")
    for verb in (lambda p: st.write(p, t), st.read):
        with pytest.raises(st.FileError):
            verb(tmp_path / "plain.zarr")
    with pytest.raises(st.FileError, match="No such"):
        st.read(tmp_path / "none.zarr")
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "mine.zarr", "plain.zarr"]


# --- AnnData ---


@pytest.mark.parametrize("text", FORMATS)
def test_h5ad(text, tmp_path):
    needed("h5py")
    a, path = array("float32"), tmp_path / "a.h5ad"
    t = st.from_dense(a, text)
    quiet(st.write, path, t)
    back = st.read(path)
    assert bits(back.to_dense()) == bits(a)
    if text in ("CSR", "CSC"):
        assert back.equal(t, storage=True)
    st.write(path, {"X": st.from_dense(a, "CSR"), "layers/counts": st.from_dense(a * 2, "CSC")})
    assert bits(st.read(path).to_dense()) == bits(a)
    assert bits(st.read(path, name="layers/counts").to_dense()) == bits(a * 2)
    for wrong in ({"Y": t}, {"layers/": t}, {"X": t, "layers/b": t.T}):
        with pytest.raises(st.FileError):
            st.write(path, wrong)
    with pytest.raises(st.FileError, match="layers/counts"):
        st.read(path, name="layers/x")


def test_h5ad_by_anndata(tmp_path):
    anndata = pytest.importorskip("anndata")
    a, path = array("float32"), tmp_path / "a.h5ad"
    st.write(
        path, {"X": st.from_dense(a, "CSR"), "layers/c": st.from_dense(a, "CSC"), "layers/d": st.from_dense(a, "dense")}
    )
    theirs = anndata.read_h5ad(path)
    assert theirs.shape == a.shape and theirs.X.format == "csr" and theirs.layers["c"].format == "csc"
    for m in (theirs.X.toarray(), theirs.layers["c"].toarray(), theirs.layers["d"]):
        assert bits(m) == bits(a)
    if hasattr(anndata.settings, "allow_write_nullable_strings"):
        anndata.settings.allow_write_nullable_strings = True  # what pandas 3 makes of names
    for cls in (sp.csr_matrix, sp.csc_matrix):
        anndata.AnnData(cls(a), layers={"c": cls(a)}).write_h5ad(path)
        assert bits(st.read(path).to_dense()) == bits(a)
        assert bits(st.read(path, name="layers/c").to_dense()) == bits(a)


def test_malformed_h5ad(tmp_path):
    h5py = needed("h5py")
    path = tmp_path / "a.h5ad"
    st.write(path, st.from_dense(array(), "CSR"))

    def attributes(**more):
        def change(file):
            for key, value in more.items():
                if value is None:
                    del file["X"].attrs[key.replace("_", "-", 1)]
                else:
                    file["X"].attrs[key.replace("encoding_", "encoding-")] = value

        return change

    def arrays(**more):
        def change(file):
            for key, value in more.items():
                del file["X"][key]
                if value is not None:
                    file["X"][key] = value

        return change

    for change in (
        attributes(encoding_type="dataframe"),
        attributes(shape=np.array([8])),
        attributes(shape=np.array([8.0, 9.0])),
        attributes(shape=np.array([7, 9])),
        attributes(shape=np.array([8, 3])),
        arrays(data=None),
        arrays(indices=np.zeros(3)),
        arrays(indptr=np.zeros((3, 3), int)),
        arrays(indptr=np.array([0, 5], int)),
        lambda file: file.__delitem__("X"),
    ):
        st.write(path, st.from_dense(array(), "CSR"))
        with h5py.File(path, "a") as file:
            change(file)
        with pytest.raises(st.FileError, match="a.h5ad"):
            st.read(path)


# --- all of them ---


def test_what_is_missing_is_named(tmp_path):
    """Without the packages: what to install, and everything else works."""
    code = """
import sys
for name in ("h5py", "zarr", "scipy", "binsparse", "anndata"):
    sys.modules[name] = None
import numpy as np, strata as st
t = st.from_dense(np.eye(3), "CSR")
for path in ("a.st", "a.mtx", "a.tns", "a.mtx.gz"):
    st.write(path, t)
    assert st.equal(st.read(path), t), path
open("x.npz", "wb").close(), open("x.mat", "wb").write(b"MATLAB 5.0"), open("x.h5", "wb").close()
for path, package in (("x.npz", "scipy"), ("x.mat", "scipy"), ("x.h5", "h5py"), ("x.hdf5", "h5py"), ("x.zarr", "zarr"), ("x.h5ad", "h5py")):
    for call in (lambda: st.write(path, t), lambda: st.read(path)):
        try:
            call()
        except st.Unsupported as e:
            assert f"pip install {package}" in e.fix and "strata[files]" in e.fix, e
        except st.FileError as e:
            assert path == "x.npz", e  # read by NumPy alone
        else:
            assert False, path
print("told")
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert out.stdout == "told\n", out.stderr


def test_suffixes(tmp_path):
    t = st.from_dense(np.eye(2), "CSR")
    for name in ("a", "a.csv", "a.st.gz", "a.npz.gz"):
        for verb in (lambda p: st.write(p, t), st.read):
            with pytest.raises(st.FileError, match="'.st'") as e:
                verb(tmp_path / name)
            assert all(s in e.value.expected for s in (".mtx", ".tns", ".npz", ".mat", ".h5", ".zarr", ".h5ad"))
    for name, way in (("a.npy", "np.load"), ("a.CSV", "np.loadtxt"), ("a.txt", "np.loadtxt"), ("a.pth", "torch.load")):
        with pytest.raises(st.FileError) as e:
            st.read(tmp_path / name)
        assert way in e.value.fix and "path" in e.value.fix
        with pytest.raises(st.FileError) as e:
            st.write(tmp_path / name, t)
        assert not e.value.fix
    for call in (st.write, st.save):
        with pytest.raises(st.ArgumentError) as e:
            call(t, tmp_path / "a.st")
        assert f"st.{call.__name__}(path, t)" in e.value.fix
    for name in ("a.mtx", "a.H5", "a.npz"):  # what no reader would find in it
        with pytest.raises(st.FileError, match="own kind") as e:
            st.save(tmp_path / name, t)
        assert "st.write" in e.value.fix
    np.savez(tmp_path / "dense.npz", a=np.eye(2))
    with pytest.raises(st.FileError, match="save_npz") as e:
        st.read(tmp_path / "dense.npz")
    assert "np.load" in e.value.fix
    (tmp_path / "dense.npz").unlink()
    for name in ("a.mtx", "a.tns.gz", "a.npz"):
        with pytest.raises(st.ArgumentError, match="one tensor"):
            st.write(tmp_path / name, {"a": t})
    st.write(os.fspath(tmp_path / "A.ST"), t)
    st.write(os.fsencode(tmp_path / "b.tns.GZ"), t)
    assert st.equal(st.read(os.fsencode(tmp_path / "A.ST")), t)
    assert st.equal(st.read(os.fspath(tmp_path / "b.tns.GZ")), t)
    for suffix in (".st", ".mtx", ".npz", ".mat"):
        st.write(tmp_path / f"a{suffix}", t)
        shares = []
        st.read(tmp_path / f"a{suffix}", progress=shares.append)
        assert shares[-1] == 1
    assert sorted(os.listdir(tmp_path)) == ["A.ST", "a.mat", "a.mtx", "a.npz", "a.st", "b.tns.GZ"]
