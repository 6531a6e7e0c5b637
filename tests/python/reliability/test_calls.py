"""Mistakes in calls are told in our own form: no signature of a binding, no bare TypeError."""

import inspect
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

a, x = np.eye(4), np.ones(4)
A = st.from_dense(a, "CSR")

CALLS = {
    # what is left out
    "from_dense needs format": lambda: st.from_dense(a),
    "from_coo needs shape": lambda: st.from_coo(([0], [1]), [1.0]),
    "from_coo needs coords": lambda: st.from_coo(),
    "Tensor needs format": lambda: st.Tensor(),
    "Tensor needs shape": lambda: st.Tensor("CSR", pos={}, crd={}, values=x),
    "Format needs text": lambda: st.Format(),
    "Semiring needs zero": lambda: st.Semiring("a + b", "a * b"),
    "DType needs name": lambda: st.DType(),
    "matmul needs b": lambda: st.matmul(A),
    "Matmul needs b": lambda: st.Matmul(A),
    "evaluate needs spec": lambda: st.evaluate(A=A),
    "einsum needs spec": lambda: st.einsum(),
    "equal needs": lambda: st.equal(A),
    "read needs path": lambda: st.read(),
    "write needs t": lambda: st.write("x.mtx"),
    "from_package needs x": lambda: st.from_package(),
    "register_format needs format": lambda: st.register_format("mine"),
    "Tensor.pos needs level": lambda: A.pos(),
    "rows needs k": lambda: st.split.rows(),
    # what is misspelt
    "write threshold=": lambda: st.from_dense(a, "CSR", tresh=1),
    "write format=": lambda: A.to(formt="CSR"),
    "write axis=": lambda: A.sum(ax=1),
    "write beta=": lambda: st.matmul(A, x, bet=1),
    "no argument 'crds'": lambda: st.Tensor("CSR", (2, 2), crds={}),
    "no argument 'order'": lambda: st.Format("CSR", order=2),
    "no argument 'optimize'": lambda: st.einsum("ij,j->i", A, x, optimize=True),
    "give operands by name: evaluate": lambda: st.evaluate("y(i) = A(i,j) * x(j)", A, x),
    "operands are given by name": lambda: st.show("y(i) = A(i,j) * x(j)", A),
    # what is of another kind
    "another kind of 'array'": lambda: st.from_dense(None, "CSR"),
    "another kind of 'a'": lambda: st.matmul(None, x),
    "another kind of 't'": lambda: st.describe_structure(a),
    "another kind of 'other'": lambda: A.equal(None),
    "an expression as a text": lambda: st.plan(None),
    "evaluate() takes an expression as a text": lambda: st.evaluate(None, A=A),
    "a file is given by its path": lambda: st.read(3),
    "write() takes a tensor": lambda: st.write("x.mtx", a),
    "rank is an integer": lambda: st.Format("CSR", rank="two"),
    "text is a text": lambda: st.Schedule(3),
    "cc is a text": lambda: setattr(st.settings, "cc", 3),
    "vendor is True or False": lambda: setattr(st.settings, "vendor", "no"),
    "lo is a number": lambda: st.split.band("x", 1),
}


@pytest.mark.parametrize("said", CALLS)
def test_a_wrong_call(said):
    with pytest.raises(st.ArgumentError) as e:
        CALLS[said]()
    function, needs, name = said.partition(" needs")
    assert (f"{function}() needs{name}" if needs else said) in str(e.value)
    assert "incompatible function arguments" not in str(e.value) and "Invoked with" not in str(e.value)
    assert isinstance(e.value, TypeError) and (e.value.got or e.value.fix) and e.value.expected
    assert e.value.__cause__ is None and e.value.__suppress_context__ or e.value.__context__ is None
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)


def test_other_mistakes_are_errors_of_ours():
    for mistake in (
        lambda: A.to(np.longdouble),
        lambda: st.from_dense(a.astype(np.longdouble), "CSR"),
        lambda: A @ x.astype(np.longdouble),
        lambda: st.from_cupy(None),
        lambda: st.to_package(None),
        lambda: A.to_scipy(like=3),
        lambda: A.__setitem__((0, 0), 1),
        lambda: st.evaluate("y(i) = A(i,j) * x(j)", A=None, x=x),
        lambda: st.Tensor(None, (2, 2)),
    ):
        with pytest.raises(st.Error):
            mistake()


def test_what_goes_wrong_within_stays_what_it_is():
    class Odd:
        shape = (2,)

        def __array__(self, dtype=None, copy=None):
            raise TypeError("mine")

    with pytest.raises(TypeError, match="mine") as e:
        st.from_package(Odd())
    assert not isinstance(e.value, st.Error)


def test_functions_stay_what_they_are():
    assert str(inspect.signature(st.from_dense)).startswith("(array")
    assert st.from_dense.__doc__ and st.from_dense.__name__ == "from_dense"
    for name in st.__all__:
        f = getattr(st, name)
        if callable(f):
            assert pickle.loads(pickle.dumps(f)) is f


def test_a_tensor_cannot_be_written_through_its_views():
    source = sp.random(6, 8, density=0.5, format="csr", random_state=np.random.RandomState(0))
    for format in ("CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "delta(4)", "bitmap", "dense"):
        t = st.from_scipy(source).to(format)
        before = t.to_dense()
        views = [t.values]
        for k, level in enumerate(t.format.levels):
            views += [t.pos(k)] if level.kind in ("compressed",) else []
            views += [t.crd(k)] if level.kind in ("compressed", "singleton") else []
        for view in views:
            assert not view.flags.writeable
            with pytest.raises(ValueError):
                view[...] = 0
            with pytest.raises(ValueError):
                view.flags.writeable = True
        assert np.array_equal(t.to_dense(), before)
    t = st.from_scipy(source)
    assert np.shares_memory(t.values, source.data)  # still no copy
    shared = st.Tensor("COO", (4, 4), pos={0: [0, 2]}, crd={0: [0, 1], 1: [1, 2]}, values=np.broadcast_to(2.0, 2))
    assert not shared.values.flags.writeable and shared.values.tolist() == [2, 2]


def test_exports_can_be_written_where_their_source_could():
    source = sp.random(6, 8, density=0.5, format="csr", random_state=np.random.RandomState(0))
    t = st.from_scipy(source)
    out = t.to_scipy()
    assert out.data.flags.writeable and out.indices.flags.writeable and np.shares_memory(out.data, source.data)
    for kind in ("csc", "coo", "bsr", "dia"):
        out = st.from_scipy(source.asformat(kind)).to_scipy()
        assert out.format == kind and out.data.flags.writeable
    source.data.flags.writeable = False
    assert not st.from_scipy(source).to_scipy().data.flags.writeable
    apart = st.from_scipy(source).to_scipy(copy=True)
    assert apart.data.flags.writeable and not np.shares_memory(apart.data, source.data)
    assert not np.shares_memory(apart.indices, source.indices) and (apart != source).nnz == 0


def test_copies_are_apart():
    dense = np.arange(6.0).reshape(2, 3)
    t = st.from_numpy(dense)
    assert np.shares_memory(t.to_numpy(), dense) and not np.shares_memory(t.to_numpy(copy=True), dense)
    assert not np.shares_memory(t.to_package("numpy", copy=True), dense)
    assert np.array_equal(t.to_numpy(copy=True), dense)
    c = st.from_scipy(sp.csr_array(dense))
    assert not np.shares_memory(c.to_package("scipy", copy=True).data, c.values)
    assert c.to_package(c, copy=True) is not c
    torch = pytest.importorskip("torch")
    apart = c.to_torch(copy=True)
    apart.values()[0] = 100
    assert c.values[0] == 1 and torch.equal(c.to_torch().to_dense(), torch.from_numpy(dense))


def test_warnings_point_at_the_line_of_the_caller():
    half = st.from_dense(a, "CSR").to(crd_dtype="int16")
    dia = sp.dia_array((np.ones((1, 3)), [0]), shape=(4, 4))
    for copied in (
        lambda: half.to_scipy(),
        lambda: st.to_package(half, "scipy"),
        lambda: st.from_scipy(dia),
        lambda: st.from_package(dia),
        lambda: st.from_dense(a, "delta(4)").to_scipy(),
        lambda: st.Tensor("DCSR", (4, 4), pos={1: [0, 3]}, crd={0: [], 1: [0, 1, 2]}, values=np.ones(3)),
    ):
        with pytest.warns(st.CopyWarning) as said:
            try:
                copied()
            except st.TensorError:
                pass
        assert said[0].filename == __file__


def test_from_coo_called_as_elsewhere():
    i, j, v = np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([1.0, 2, 3])
    lists = [[i, j, v], [i.tolist(), j.tolist(), v.tolist()], [i.astype("int8"), j, v.astype("float32")]]
    calls = [lambda i, j, v: (i, j, v), lambda i, j, v: (i, j, v, (3, 3)), lambda i, j, v: (v, (i, j), (3, 3))]
    for rows, columns, values in lists:
        for call in calls:
            with pytest.raises(st.TensorError, match="one list, not one per dimension") as e:
                st.from_coo(*call(rows, columns, values))
            assert "from_coo((rows, columns), values, shape)" in e.value.expected and "tuple" in e.value.fix
    with pytest.raises(st.TensorError, match=re.escape("coords.T")):
        st.from_coo(np.array([[0, 1], [1, 2], [2, 0]]), v, (3, 3))
    with pytest.raises(st.ArgumentError, match="needs shape"):
        st.from_coo((i, j), v)
    torch = pytest.importorskip("torch")
    with pytest.raises(st.TensorError, match=re.escape("from_coo((rows, columns), values, shape)")):
        st.from_coo(torch.tensor([0, 1]), torch.tensor([1, 0]), torch.ones(2))
