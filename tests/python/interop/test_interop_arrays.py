"""NumPy, DLPack, CuPy by protocol: strides, read-only memory, odd byte orders, capsules, wrong dtypes."""

import array
import ctypes
import sys

import numpy as np
import pytest
from dlpack import Capsule

import strata as st


@pytest.mark.parametrize(
    "make",
    [
        lambda b: b,
        lambda b: b.T,
        lambda b: b[:, ::2],
        lambda b: b[::-1],
        lambda b: b[::-1, ::-3],
        lambda b: np.broadcast_to(b[0], (3, 6)),
        lambda b: b[1],
        lambda b: b[1:1],
        lambda b: b[2, 3],
        lambda b: b.reshape(2, 2, 6).transpose(2, 0, 1),
        lambda b: np.lib.stride_tricks.sliding_window_view(b[0], 3),
    ],
)
def test_any_strides_without_a_copy(make, no_copies):
    base = np.arange(24.0).reshape(4, 6)
    x = make(base)
    t = st.from_package(x)
    assert t.shape == np.shape(x) and t.format.is_all_dense
    back = t.to_numpy()
    assert np.array_equal(back, x) and back.dtype == np.asarray(x).dtype
    if isinstance(x, np.ndarray) and x.size:
        assert np.shares_memory(back, base) and back.strides == x.strides or 1 in x.shape or x.ndim == 0
    assert np.array_equal(t.to_dense(), x)


def test_writes_are_seen():
    a = np.zeros((2, 3))
    t = st.from_numpy(a)
    a[1, 2] = 5
    assert t[1, 2] == 5 and t.to_numpy()[1, 2] == 5


def test_read_only_stays_read_only():
    a = np.arange(6.0)
    a.flags.writeable = False
    t = st.from_numpy(a)
    assert not t.values.flags.writeable
    with pytest.raises(st.TensorError, match="read-only"):
        st.matmul(st.from_dense(np.eye(6), "CSR"), np.ones(6), a)


def test_foreign_byte_order_is_copied_and_says_so():
    a = np.arange(6, dtype=">f8").reshape(2, 3)
    with pytest.warns(st.CopyWarning, match="order"):
        t = st.from_numpy(a)
    assert t.dtype == np.float64 and (t.to_dense() == a).all()


def test_unaligned_is_copied_and_says_so():
    raw = np.zeros(8 * 4 + 1, np.uint8)
    a = raw[1:].view(np.float64)
    a[:] = [1, 2, 3, 4]
    with pytest.warns(st.CopyWarning, match="aligned"):
        t = st.from_numpy(a)
    assert t.to_dense().tolist() == [1, 2, 3, 4]


def test_field_of_a_record_array():
    records = np.zeros(3, dtype=[("a", "i4"), ("b", "f8")])
    records["b"] = [1, 2, 3]
    with pytest.warns(st.CopyWarning):
        assert st.from_numpy(records["b"]).to_dense().tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "bad",
    [
        np.array([1, None]),
        np.array(["a"]),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(2, [("a", "i4")]),
        np.ones(2, np.longdouble),
        np.array([b"x"]),
    ],
)
def test_dtypes_without_numbers(bad):
    with pytest.raises(st.DTypeError, match="dtype"):
        st.from_numpy(bad)
    with pytest.raises(TypeError):
        st.from_numpy(bad)


def test_masked_arrays_are_refused():
    with pytest.raises(st.DTypeError, match="masked"):
        st.from_numpy(np.ma.masked_equal([1, 2], 1))


def test_memmap(tmp_path):
    path = tmp_path / "x.bin"
    np.arange(6.0).tofile(path)
    m = np.memmap(path, dtype=np.float64, mode="r", shape=(2, 3))
    t = st.from_numpy(m)
    del m
    assert t.to_dense().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_other_buffers(no_copies):
    a = array.array("d", [1, 2, 3])
    assert st.from_dense(a, "(i) -> (i: compressed)").nse == 3
    assert st.einsum("ij,j->i", st.from_dense(np.eye(3), "CSR"), memoryview(a)).tolist() == [1, 2, 3]


def test_dlpack_object_and_capsule(no_copies):
    a = np.arange(6.0).reshape(2, 3)[:, ::2]
    t = st.from_dlpack(a)
    assert np.shares_memory(t.to_numpy(), a) and (t.to_dense() == a).all()
    c = np.arange(4.0).__dlpack__()
    assert st.from_dlpack(c).to_dense().tolist() == [0, 1, 2, 3]
    with pytest.raises(st.TensorError, match="used_dltensor"):
        st.from_dlpack(c)


def test_dlpack_read_only():
    a = np.arange(3.0)
    a.flags.writeable = False
    t = st.from_dlpack(a)
    assert not t.values.flags.writeable


def test_our_memory_speaks_dlpack():
    t = st.from_dense(np.eye(3), "CSR")
    memory = t._raw(0, "values")
    assert memory.__dlpack_device__() == (1, 0)
    a = np.from_dlpack(memory)
    assert np.shares_memory(a, t.values) and a.tolist() == [1, 1, 1]
    assert np.asarray(memory).tolist() == [1, 1, 1]


class Exporter:
    """Speaks DLPack and nothing else; may lie."""

    def __init__(self, array, device=(1, 0), result=None):
        self.array, self.device, self.result = array, device, result

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if isinstance(self.result, Exception):
            raise self.result
        return self.array.__dlpack__() if self.result is None else self.result


def test_exporters_that_raise_or_lie():
    with pytest.raises(ZeroDivisionError):
        st.from_dlpack(Exporter(None, result=ZeroDivisionError("mine")))
    with pytest.raises(st.TensorError, match="no capsule"):
        st.from_dlpack(Exporter(None, result=17))
    with pytest.raises(st.Unsupported, match="device"):
        st.from_dlpack(Exporter(np.ones(3), device=(2, 0)))
    with pytest.raises(st.TensorError, match="from_dlpack needs"):
        st.from_dlpack(object())


def test_exception_after_the_capsule_is_taken_releases_it():
    """The memory behind a capsule with a dtype that we refuse is given back."""
    a = np.ones(4)
    before = sys.getrefcount(a)
    capsule = a.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(capsule, b"dltensor")
    ctypes.cast(address + 8 + 8 + 4 + 2, ctypes.POINTER(ctypes.c_uint16))[0] = 4  # lanes
    with pytest.raises(st.DTypeError, match="4 lanes"):
        st.from_dlpack(capsule)
    del capsule
    assert sys.getrefcount(a) == before


class FakeCuda:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (4096, False), "version": 3}
    shape = (3,)


FakeCuda.__module__ = "cupy"


def test_device_memory_is_refused():
    for call in (st.from_cupy, st.from_package, lambda x: st.from_dense(x, "dense")):
        with pytest.raises(st.Unsupported, match="CUDA device"):
            call(FakeCuda())


class FakeCupyMatrix:
    """A cupyx.scipy.sparse matrix whose arrays export memory of the host."""

    def __init__(self, a):
        self.format, self.shape, self.dtype = a.format, a.shape, a.dtype
        for name in ("indptr", "indices", "row", "col", "offsets", "data"):
            if hasattr(a, name):
                setattr(self, name, HostArray(getattr(a, name)))


class HostArray(Exporter):
    def __init__(self, array):
        super().__init__(array)
        self.shape = array.shape


FakeCupyMatrix.__module__ = "cupyx.scipy.sparse"


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia"])
def test_cupy_by_protocol(kind, no_copies):
    import scipy.sparse as sps

    a = sps.random_array((6, 5), density=0.4, rng=np.random.default_rng(1)).tocsr().asformat(kind)
    t = st.from_package(FakeCupyMatrix(a))
    assert t.equal(st.from_scipy(a), storage=True) and np.shares_memory(t.values, a.data)


def test_cupy_is_not_installed():
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(st.Unsupported, match="CuPy is needed"):
            st.from_dense(np.eye(2), "CSR").to_cupy()


def test_numpy_does_not_densify_behind_your_back():
    t = st.from_dense(np.eye(2), "CSR")
    for call in (np.asarray, np.array, np.sort, np.median, lambda x: np.cumsum(x, 0)):
        with pytest.raises(st.DTypeError, match="to_dense"):
            call(t)
    with pytest.raises(st.Unsupported, match="to_dense"):
        np.add.accumulate(t)
    assert np.sum(t) == 2 and np.add(t, t).format == t.format  # computed on what is stored


def test_numpy_operator_gives_way():
    t = st.from_dense(np.diag([1.0, 2.0]), "CSR")
    assert (np.array([1.0, 1.0]) @ t).tolist() == [1, 2]
    assert (np.ones((3, 2)) @ t).tolist() == [[1, 2]] * 3


def test_unknown_objects():
    with pytest.raises(st.TensorError, match="no package"):
        st.from_package(object())


def test_to_package():
    t = st.from_dense(np.eye(3), "CSR")
    import scipy.sparse as sps

    assert isinstance(t.to_package(), sps.csr_array)
    assert isinstance(t.to_package(like="numpy"), np.ndarray)
    assert isinstance(t.to_package(like=sps.csr_matrix((1, 1))), sps.csr_matrix)
    assert isinstance(t.to("dense").to_package(), np.ndarray)
    with pytest.raises(st.Unsupported, match="jax"):
        t.to_package(like="jax")


@pytest.mark.parametrize(
    "wrong",
    [
        dict(data=None),
        dict(byte_offset=2**63),
        dict(ndim=-1),
        dict(ndim=10**6),
        dict(lanes=4),
        dict(code=3),
        dict(shape=(-1,)),
        dict(shape=(2**32, 2**32)),
        dict(shape=(2, 2), strides=(2**62, 2**62)),
        dict(shape=(2,), strides=(-(2**63),)),
    ],
    ids=str,
)
def test_capsules_that_lie(wrong):
    """Refused before their memory is touched, and released once."""
    made = Capsule(np.arange(4.0), **{"shape": (3,), **wrong})
    with pytest.raises(st.Error):
        st.from_dlpack(made.capsule)
    assert made.released == [made.address]
