"""Borrowed memory lives exactly as long as someone looks at it, in every order of deletion."""

import gc
import itertools
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sps
from dlpack import Capsule

import strata as st


def churn():
    """Reuses whatever was freed."""
    gc.collect()
    for k in range(50):
        np.full(64 + k, -1, np.int64)


class Owner(np.ndarray):
    """An array that can be watched."""


def watched(values, dtype=float):
    return np.array(values, dtype).view(Owner)


@pytest.mark.parametrize("order", list(itertools.permutations(["source", "tensor", "export"])))
def test_any_order_of_deletion(order):
    a = {"source": sps.random_array((40, 50), density=0.2, rng=np.random.default_rng(0), format="csr")}
    expected = a["source"].toarray()
    a["tensor"] = st.from_scipy(a["source"])
    a["export"] = a["tensor"].to_scipy()
    for name in order[:-1]:
        del a[name]
        churn()
        left = a[order[-1]]
        now = left.to_dense() if isinstance(left, st.Tensor) else left.toarray()
        assert (now == expected).all()


def test_tensor_keeps_the_source_and_lets_it_go():
    v = watched([1.0, 2.0])
    r = weakref.ref(v)
    t = st.Tensor("(i) -> (i: compressed)", (5,), pos={0: [0, 2]}, crd={0: [1, 3]}, values=v)
    del v
    churn()
    assert r() is not None and t.to_dense().tolist() == [0, 1, 0, 2, 0]
    view = t.values
    del t
    churn()
    assert r() is not None and view.tolist() == [1, 2]
    del view
    gc.collect()
    assert r() is None


@pytest.mark.parametrize(
    "derive",
    [
        lambda t: t.T,
        lambda t: t.values,
        lambda t: t._raw(0, "values"),
        lambda t: t.to_scipy(),
        lambda t: iter(t.parts).__next__(),
        lambda t: t.values[::2],
    ],
)
def test_what_is_derived_keeps_the_source(derive):
    v = watched([1.0, 2.0])
    r = weakref.ref(v)
    t = st.Tensor("CSR", (1, 3), pos={1: np.array([0, 2], "int32")}, crd={1: np.array([0, 2], "int32")}, values=v)
    d = derive(t)
    del t, v
    churn()
    assert r() is not None
    del d
    gc.collect()
    assert r() is None


def test_reference_counts_are_restored():
    a = np.arange(12.0).reshape(3, 4)
    x, c = np.ones(4), np.zeros(3)
    m = sps.csr_array(a)
    objects = [a, x, c, m.data, m.indices, m.indptr]
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(100):
        t = st.from_scipy(m)
        t @ x
        st.matmul(t, x, c)
        st.einsum("ij,j->i", t, x, out=c)
        st.from_numpy(a).to("CSR").to_scipy()
        for bad in (
            lambda: st.matmul(t, np.ones(7)),  # noqa: F821
            lambda: st.Tensor("CSR", (3, 4), pos={1: m.indptr}, crd={1: m.indptr}, values=m.data),
            lambda: st.from_dense(a, "nonsense"),
        ):
            with pytest.raises(st.Error):
                bad()
    del t
    gc.collect()
    assert [sys.getrefcount(o) for o in objects] == before


def test_torch_chain():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    t = st.from_torch(x)
    address = x.data_ptr()
    del x
    churn()
    y = t.to_torch()
    del t
    churn()
    t2 = st.from_torch(y)
    del y
    churn()
    assert t2.to_dense().tolist() == [[0, 1, 2], [3, 4, 5]] and t2.to_torch().data_ptr() == address


def test_torch_resize_of_the_source_does_not_pull_the_rug():
    torch = pytest.importorskip("torch")
    x = torch.arange(4.0)
    t = st.from_torch(x)
    x.set_(torch.zeros(10))
    churn()
    assert t.to_dense().tolist() == [0, 1, 2, 3]


def test_numpy_resize_is_refused_while_borrowed():
    a = np.arange(10.0)
    t = st.from_numpy(a)
    with pytest.raises(ValueError):
        a.resize(1000)
    assert t.nse == 10


def test_deletion_in_another_thread():
    v = watched(np.arange(1000.0))
    r = weakref.ref(v)
    box = [st.from_numpy(v)]
    del v
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()
    gc.collect()
    assert r() is None


@pytest.mark.parametrize(
    "format, arrays",
    [
        ("CSR", dict(pos={1: [0, 4, 8, 12, 16]}, crd={1: np.tile(np.arange(4), 4)})),
        ("BSR(2, 2)", dict(pos={1: [0, 2, 4]}, crd={1: [0, 1, 0, 1]})),
        ("DIA", dict(pos={0: [0, 4]}, crd={0: [-1, 0, 1, 2]})),
    ],
)
def test_a_cycle_through_what_is_kept_with_a_tensor(format, arrays):
    """Its transpose and its view share the array that knows the tensor: the collector sees all of them."""
    v = watched(np.ones(16))
    r = weakref.ref(v)
    v.tensor = t = st.Tensor(format, (4, 4), **arrays, values=v)
    x = np.ones(4)
    np.testing.assert_array_equal(t @ x, t.to_dense() @ x)
    np.testing.assert_array_equal(t.T @ x, x @ t.to_dense())
    del v, t
    gc.collect()
    assert r() is None


def test_dlpack_deleter_runs_once_when_the_last_user_goes():
    made = Capsule(np.array([1.0, 2.0, 3.0]))
    t = st.from_dlpack(made.capsule)
    values = t.values
    del made.capsule, t
    gc.collect()
    assert not made.released and values.tolist() == [1, 2, 3]
    del values
    gc.collect()
    assert len(made.released) == 1


@pytest.mark.parametrize("damage", [dict(code=9), dict(bits=48), dict(device=(2, 0)), dict(shape=(-1,))], ids=str)
def test_dlpack_deleter_runs_when_the_import_fails(damage):
    made = Capsule(np.array([1.0, 2.0]), **damage)
    with pytest.raises(st.Error):
        st.from_dlpack(made.capsule)
    gc.collect()
    assert len(made.released) == 1
    with pytest.raises(st.TensorError):
        st.from_dlpack(made.capsule)
    del made.capsule
    assert len(made.released) == 1


def test_our_capsules_release_their_memory():
    v = watched([1.0, 2.0])
    r = weakref.ref(v)
    memory = st.from_numpy(v)._raw(0, "values")
    del v
    c = memory.__dlpack__()
    used = np.from_dlpack(memory)
    del memory
    gc.collect()
    assert r() is not None
    del used
    assert r() is not None
    del c  # never consumed
    gc.collect()
    assert r() is None


def test_iterators_outlive_the_tensor():
    it = st.from_dense(np.eye(3), "CSR").items()
    churn()
    assert len(list(it)) == 3


def test_first_use_by_many_threads():
    """What the extension looks up once (NumPy, dtypes, torch's classes) may be looked up by all at once."""
    script = """
import sys, threading
import numpy as np
sys.setswitchinterval(1e-6)
import strata as st
start, wrong = threading.Barrier(8), []
def work():
    start.wait()
    for name in ("int8", "uint16", "float32", "complex64", "bool"):
        t = st.from_numpy(np.ones((2, 2), name))
        if t.dtype != np.dtype(name) or t[0, 0] != 1 or str(st.DType("bfloat16")) != "bfloat16":
            wrong.append(name)
threads = [threading.Thread(target=work) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, wrong
a = [st.from_numpy(np.ones(1, "int8")).dtype for _ in range(2)]
assert a[0] is a[1]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_stored_elements_handed_out_to_many_threads():
    t = st.from_dense(np.arange(1, 2001.0).reshape(40, 50), "CSR")
    it, seen = t.items(), [[] for _ in range(8)]
    threads = [threading.Thread(target=lambda k=k: seen[k].extend(v for _, v in it)) for k in range(8)]
    for x in threads:
        x.start()
    for x in threads:
        x.join()
    assert sorted(v for s in seen for v in s) == list(np.arange(1, 2001.0))


@pytest.mark.parametrize(
    "borrow",
    [
        st.from_numpy,
        lambda a: st.Tensor("COO(1)", (9,), crd={0: [1, 3, 5]}, values=a),
        lambda a: st.Tensor("COO(1)", (9,), crd={0: a}, values=[1.0, 2, 3]),
        lambda a: st._core.memory(a),
        lambda a: [st.from_numpy(a)],
    ],
    ids=["dense", "values", "crd", "memory", "list"],
)
def test_an_array_that_knows_the_tensor_is_collected(borrow):
    """The array holds the tensor, which holds the array."""
    a = watched([1, 3, 5], np.int64)
    r = weakref.ref(a)
    a.tensor = borrow(a)
    del a
    gc.collect()
    assert r() is None


def test_what_is_shared_is_not_collected_too_early():
    a = watched([1.0, 2.0])
    r = weakref.ref(a)
    a.tensor = t = st.from_numpy(a)
    others = [t.T, t.copy(), t.values]
    a.others = others[:1]
    del a
    churn()
    assert r() is not None and t.to_dense().tolist() == [1, 2] and others[0].to_dense().tolist() == [1, 2]
    del t, others
    gc.collect()
