"""Objects that are not what their types promise: refused by a typed error, never believed."""

import copy
import ctypes
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

A = st.from_dense(np.array([[1.0, 0, 2], [0, 3, 1]]), "CSR")
X = np.ones(3)


class Unmade(st.Tensor):
    """Its constructor never runs."""

    def __init__(self):
        pass


ENTRIES = {
    "t @ x": lambda t: t @ X,
    "x @ t": lambda t: np.ones(2) @ t,
    "A @ t": lambda t: A @ t,
    "matmul": lambda t: st.matmul(t, X),
    "matmul, c": lambda t: st.matmul(A, X, t),
    "Matmul": lambda t: st.Matmul(A, t).plan(),
    "einsum": lambda t: st.einsum("ij,j->i", t, X),
    "evaluate": lambda t: st.evaluate("y(i) = A(i,j) * x(j)", A=t, x=X),
    "out": lambda t: st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=X, out=t),
    "mask": lambda t: st.evaluate("R(i,j) = A(i,j) * A(i,j)", A=A, mask=t),
    "explain": lambda t: st.explain("y(i) = A(i,j)", A=t),
    "show": lambda t: st.show("y(i) = A(i,j)", A=t),
    "plan": lambda t: st.plan("ij,j->i", t, X),
    "+": lambda t: t + 1,
    "A +": lambda t: A + t,
    "abs": abs,
    "exp": np.exp,
    "sum": lambda t: t.sum(),
    "equal": lambda t: st.equal(A, t),
    "bool": bool,
    "list": list,
    "repr": repr,
    "shape": lambda t: t.shape,
    "values": lambda t: t.values,
    "element": lambda t: t[0, 0],
    "slice": lambda t: t[0:1],
    "to": lambda t: t.to("CSC"),
    "to_dense": lambda t: t.to_dense(),
    "to_scipy": lambda t: t.to_scipy(),
    "from_dense": lambda t: st.from_dense(t, "CSR"),
    "split": lambda t: A.to("BSR(2, 2) + COO", split=t),
    "sum of parts": lambda t: st._core.make_sum([A, t]),
    "copy": copy.deepcopy,
    "pickle": pickle.dumps,
    "write": lambda t: st.write("/nowhere/a.mtx", t),
    "structure": st.describe_structure,
    "validate": lambda t: t.validate(),
}


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("make", [Unmade, lambda: st.Tensor.__new__(st.Tensor)], ids=["subclass", "__new__"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_tensors_whose_constructor_never_ran(entry, make):
    with pytest.raises((st.Error, TypeError)) as e:
        ENTRIES[entry](make())
    assert "cast" not in str(e.value)


@pytest.mark.filterwarnings("ignore:nanobind")
@pytest.mark.parametrize("cls,use", {
    "Format": (st.Format, A.to),
    "DType": (st.DType, lambda d: A.to(dtype=d)),
    "Semiring": (st.Semiring, lambda s: st.einsum("ij,j->i", A, X, semiring=s)),
    "Schedule": (st.Schedule, lambda s: st.einsum("ij,j->i", A, X, schedule=s)),
    "Memory": (st._core.Memory, lambda m: st.Tensor("dense(1)", (1,), values=m)),
    "Memory's buffer": (st._core.Memory, memoryview),
    "Plan": (st.Plan, lambda p: p.run(A, X)),
}.values(), ids=lambda v: getattr(v, "__name__", ""))  # fmt: skip
def test_other_objects_whose_constructor_never_ran(cls, use):
    with pytest.raises((st.Error, TypeError, BufferError)) as e:
        use(cls.__new__(cls))
    assert "std::" not in str(e.value)


def test_strided_views_beyond_their_memory():
    for shape, strides in (((10**6,), (8,)), ((3, 10**5), (8, 8)), ((4,), (8,))):
        with pytest.raises(st.TensorError, match="beyond the memory"):
            st.from_numpy(np.lib.stride_tricks.as_strided(np.ones(3), shape, strides))
    inside = np.lib.stride_tricks.as_strided(np.arange(4.0), (3, 2), (8, 8))
    assert st.from_numpy(inside).to("CSR").to_dense().tolist() == inside.tolist()


def test_resized_arrays():
    a = np.ones(100_000)
    view = a[50_000:]
    a.resize(10, refcheck=False)
    with pytest.raises(st.TensorError, match="beyond the memory"):
        st.from_numpy(view)


class TestTorch:
    torch = pytest.importorskip("torch")

    @pytest.mark.parametrize("left", [0, 8])
    def test_storages_that_were_resized(self, left):
        b = self.torch.ones(1000)
        b.untyped_storage().resize_(left)
        for call in (st.from_torch, lambda b: st.einsum("i->", b), lambda b: st.from_dense(b, "COO(1)")):
            with pytest.raises(st.Error):
                call(b)

    @pytest.mark.parametrize("field", ["values", "crow_indices", "col_indices"])
    def test_storages_of_sparse_tensors(self, field):
        torch = self.torch
        b = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 1]), torch.ones(2), (2, 2))
        getattr(b, field)().untyped_storage().resize_(0)
        with pytest.raises(st.Error):
            st.from_torch(b)

    def test_storages_of_coo(self):
        torch = self.torch
        for field in ("_indices", "_values"):
            b = torch.sparse_coo_tensor(torch.tensor([[0, 1], [0, 1]]), torch.ones(2), (2, 2))
            getattr(b, field)().untyped_storage().resize_(0)
            with pytest.raises(st.Error):
                st.from_torch(b)

    def test_subclasses_are_not_believed(self):
        torch = self.torch

        class Large(torch.Tensor):
            shape = torch.Size([10**9])

            def stride(self):
                return (1,)

            def data_ptr(self):
                return 8

            def numel(self):
                return 10**9

        class Other(torch.Tensor):
            @classmethod
            def __torch_function__(cls, f, types, args=(), kwargs=None):
                if f in (torch.Tensor.data_ptr, torch.Tensor.storage_offset):
                    return 8
                if f is torch.Tensor.shape.__get__:
                    return torch.Size([10**10])
                return super().__torch_function__(f, types, args, kwargs or {})

        for cls in (Large, Other):
            b = torch.arange(3.0).as_subclass(cls)
            assert np.asarray(A @ b).tolist() == [4, 5]
            assert st.from_torch(b).to("COO(1)").to_dense().tolist() == [0, 1, 2]

    def test_tensors_without_memory(self):
        torch = self.torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        with pytest.raises(st.Unsupported):
            A @ torch.ones(3, device="meta")
        with FakeTensorMode():
            fake = torch.ones(3)
        with pytest.raises(st.Error):
            A @ fake
        with pytest.raises(st.Unsupported):
            torch.func.vmap(lambda v: torch.as_tensor(A @ v))(torch.ones(4, 3))


@pytest.mark.parametrize("name", ["dltensor", "dltensor_versioned"])
@pytest.mark.parametrize("address", [8, 0x1234_5678_0000])
def test_capsules_of_any_number(name, address):
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    label = name.encode()
    with pytest.raises(st.TensorError):
        st.from_dlpack(make(address, label, None))


@pytest.mark.parametrize("change", [
    lambda m: setattr(m, "indptr", np.array([0, 1, 300_000_000])),
    lambda m: setattr(m, "indices", m.indices[:1]),
    lambda m: setattr(m, "data", m.data[:1]),
    lambda m: setattr(m, "_shape", (2, "a")),
    lambda m: setattr(m, "_shape", (10**12, 3)),
    lambda m: setattr(m, "_shape", (-2, 3)),
    lambda m: setattr(m, "indptr", None),
    lambda m: setattr(m, "indptr", "abc"),
    lambda m: setattr(m, "data", object()),
])  # fmt: skip
def test_fields_of_scipy(change):
    m = sps.csr_array(np.array([[1.0, 0, 2], [0, 3, 1]]))
    change(m)
    with pytest.raises(st.Error):
        st.from_scipy(m)


@pytest.mark.parametrize("rank", [10**9, -3, "a", None])
def test_ranks_that_are_none(rank):
    class Foreign:
        ndim = rank

        def __dlpack__(self, **options):
            return np.ones(3).__dlpack__()

    with pytest.raises((st.Error, TypeError)):
        A + Foreign()


@pytest.mark.parametrize("call", [
    lambda: st.evaluate("y(i) = A(i,j)", {5: A}),
    lambda: st.explain("y(i) = A(i,j)", {b"A": A}),
    lambda: st.evaluate("y(i) = A(i,j)", {"\ud800": A}),
    lambda: st.Schedule().reorder(5),
    lambda: A.format.rename([5, 6]),
    lambda: A.format.rename(["\ud800", "b"]),
    lambda: st.Format("\ud800"),
    lambda: st.einsum("\ud800", A),
    lambda: A.to(dtype="\ud800"),
])  # fmt: skip
def test_names_and_texts(call):
    with pytest.raises((st.Error, TypeError)) as e:
        call()
    assert "std::" not in str(e.value) and "bad_cast" not in str(e.value)


def test_a_second_interpreter_is_refused():
    code = """
    import numpy as np
    import strata as st
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    A = st.from_dense(np.eye(3), "CSR")
    before = st.Format("CSR")
    for options in ({}, {"isolated": False}):
        try:
            i = interpreters.create(**options)
        except TypeError:
            continue
        refused = '''
    try:
        import strata._core
    except ImportError as e:
        pass
    else:
        raise SystemError("imported")
    '''
        found = interpreters.run_string(i, __import__("textwrap").dedent(refused))
        assert found is None, found
        interpreters.destroy(i)
    assert (A @ np.ones(3)).tolist() == [1, 1, 1] and A.format == before and isinstance(A, st.Tensor)
    try:
        st.Format("nonsense(")
    except st.FormatError:
        pass
    """
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr[-2000:]
