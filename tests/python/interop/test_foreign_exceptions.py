"""What a foreign object raises reaches the caller as it is, and what it answers wrongly is refused by a typed error."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

A = st.from_dense(np.diag([1.0, 2.0, 3.0]), "CSR")
X = np.ones(3)
TEXT = "y(i) = A(i,j) * x(j)"


class Own(ValueError):
    """An exception that Strata knows nothing of."""


ERRORS = {e.__name__: e for e in (Own, KeyboardInterrupt, TypeError, BufferError, RuntimeError, MemoryError)}

OPERANDS = {
    "from_package": st.from_package,
    "from_dense": lambda o: st.from_dense(o, "CSR"),
    "A @ o": lambda o: A @ o,
    "o @ A": lambda o: o @ A,
    "matmul": lambda o: st.matmul(A, o),
    "Matmul": lambda o: st.Matmul(A, o),
    "einsum": lambda o: st.einsum("ij,j->i", A, o),
    "evaluate": lambda o: st.evaluate(TEXT, A=A, x=o),
    "evaluate +=": lambda o: st.evaluate("y(i) += A(i,j) * x(j)", A=A, x=X, y=o),
    "evaluate, mask": lambda o: st.evaluate(TEXT, A=A, x=X, mask=o),
    "explain": lambda o: st.explain(TEXT, A=A, x=o),
    "plan": lambda o: st.plan("ij,j->i", A, o),
    "plan.run": lambda o: st.plan("ij,j->i", A, X).run(A, o),
}
ARRAYS = {
    "values": lambda o: st.Tensor("CSR", (1, 3), pos={1: [0, 1]}, crd={1: [0]}, values=o),
    "pos": lambda o: st.Tensor("CSR", (1, 3), pos={1: o}, crd={1: [0]}, values=[1.0]),
    "crd": lambda o: st.Tensor("CSR", (1, 3), pos={1: [0, 1]}, crd={1: o}, values=[1.0]),
    "from_coo, coordinates": lambda o: st.from_coo([[0], o], [1.0], (3, 3)),
    "from_coo, values": lambda o: st.from_coo([[0], [0]], o, (3, 3)),
}
OUTPUTS = {
    "matmul, c": lambda o: st.matmul(A, X, o),
    "einsum, out": lambda o: st.einsum("ij,j->i", A, X, out=o),
    "evaluate, out": lambda o: st.evaluate(TEXT, A=A, x=X, out=o),
    "plan.run, out": lambda o: st.plan("ij,j->i", A, X).run(A, X, out=o),
}
ITERABLES = {
    "from_coo": lambda o: st.from_coo(o, [1.0], (3, 3)),
    "sum": lambda o: A.sum(o),
    "dim2lvl": lambda o: A.format.dim2lvl(o),
    "lvl2dim": lambda o: A.format.lvl2dim(o),
}
SEQUENCES = {
    "shape": lambda o: st.from_coo([[0], [0]], [1.0], o),
    "shape of Tensor": lambda o: st.Tensor("COO", o, crd={0: [0], 1: [0]}, values=[1.0]),
    "transpose": lambda o: A.transpose(o),
}


def raises(name, error, **others):
    """An object whose method of this name raises the error."""

    def method(self, *args, **options):
        raise error

    return type("Foreign", (), {**others, name: method})()


def answers(name, answer, **others):
    return type("Foreign", (), {**others, name: lambda self, *args, **options: answer})()


def comes_back(call, given, error):
    with pytest.raises(type(error)) as e:
        call(given)
    assert e.value is error
    assert (A @ X).tolist() == [1, 2, 3]  # nothing is left behind


def cases(*tables):
    return pytest.mark.parametrize("call", [pytest.param(f, id=name) for table in tables for name, f in table.items()])


def capsule(self, **options):
    return np.ones(3).__dlpack__()


# -- what is raised ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS)
@cases(OPERANDS, ARRAYS)
def test_array(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__array__", error), error)


@pytest.mark.parametrize("error", ERRORS)
@cases(OPERANDS, ARRAYS, OUTPUTS, {"from_dlpack": st.from_dlpack})
def test_dlpack(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__dlpack__", error), error)
    comes_back(call, raises("__dlpack__", error, __dlpack_device__=lambda self: (1, 0)), error)


@pytest.mark.parametrize("error", ERRORS)
@cases(OPERANDS, ARRAYS, OUTPUTS, {"from_dlpack": st.from_dlpack})
def test_dlpack_device(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__dlpack_device__", error, __dlpack__=capsule), error)


@pytest.mark.parametrize("error", ERRORS)
@cases(OPERANDS)
def test_strata_tensor(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__strata_tensor__", error), error)


@pytest.mark.parametrize("error", ERRORS)
@cases(ITERABLES)
def test_iterators(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__iter__", error), error)
    comes_back(call, raises("__next__", error, __iter__=lambda self: self), error)

    def late():
        yield [0]
        raise error

    if call is ITERABLES["from_coo"]:
        comes_back(call, late(), error)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("method", ["__getitem__", "__iter__"])
@cases(SEQUENCES)
def test_sequences(call, method, error):
    error = ERRORS[error]("mine")
    others = {"__len__": lambda self: 2, "__getitem__": lambda self, k: [1, 0][k]}
    comes_back(call, raises(method, error, **others), error)


@pytest.mark.parametrize("error", ERRORS)
@cases({"transpose": SEQUENCES["transpose"]})
def test_lengths(call, error):
    error = ERRORS[error]("mine")
    comes_back(call, raises("__len__", error, __getitem__=lambda self, k: [1, 0][k]), error)


@pytest.mark.parametrize("error", ["Own", "KeyboardInterrupt"])
@cases(ARRAYS)
def test_what_has_no_length_is_no_array(call, error):
    """NumPy takes it for one object, and clears what its __len__ raised before anybody sees it."""
    with pytest.raises(st.DTypeError, match="object"):
        call(raises("__len__", ERRORS[error]("mine"), __getitem__=lambda self, k: [0.0][k]))


@pytest.mark.parametrize("error", ["Own", "KeyboardInterrupt"])
@pytest.mark.parametrize("name", ["__array__", "__dlpack__", "__strata_tensor__"])
@cases(OPERANDS)
def test_methods_that_cannot_be_had(call, name, error):
    error = ERRORS[error]("mine")

    def get(self):
        raise error

    comes_back(call, type("Foreign", (), {name: property(get)})(), error)


@cases({name: OPERANDS[name] for name in ("from_package", "A @ o", "evaluate")}, OUTPUTS)
def test_a_device_that_cannot_be_had(call):
    error = KeyboardInterrupt()

    def get(self):
        raise error

    comes_back(call, type("Foreign", (), {"__dlpack_device__": property(get), "__dlpack__": capsule})(), error)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("name", ["indices", "indptr", "data"])
def test_attributes_of_scipys_arrays(name, error):
    error = ERRORS[error]("mine")
    a = sp.csr_array(np.eye(3))

    class Breaks(sp.csr_array):
        pass

    b = Breaks(a)

    def get(self):
        raise error

    setattr(Breaks, name, property(get, lambda self, value: None))
    for call in (st.from_scipy, OPERANDS["matmul"], OPERANDS["evaluate"]):
        comes_back(call, b, error)


# -- what is answered wrongly ------------------------------------------------------------------------------------------

WRONG = {"None": None, "a list": [1.0, 2.0], "a number": 5, "a text": "x", "an array": X, "a class": st.Tensor}


@pytest.mark.parametrize("answer", WRONG)
@cases(OPERANDS)
def test_strata_tensor_that_is_none(call, answer):
    with pytest.raises((TypeError, st.Error), match="__strata_tensor__"):
        call(answers("__strata_tensor__", WRONG[answer]))


@pytest.mark.parametrize("answer", ["None", "a list", "a number", "a text", "a class"])
@cases(OPERANDS, ARRAYS)
def test_array_that_is_none(call, answer):
    with pytest.raises((TypeError, ValueError), match="__array__|array"):  # NumPy's own words
        call(answers("__array__", WRONG[answer]))


@pytest.mark.parametrize("answer", WRONG)
@cases(OPERANDS, ARRAYS, OUTPUTS, {"from_dlpack": st.from_dlpack})
def test_dlpack_that_is_no_capsule(call, answer):
    with pytest.raises(st.TensorError, match="no capsule"):
        call(answers("__dlpack__", WRONG[answer], __dlpack_device__=lambda self: (1, 0)))


@pytest.mark.parametrize("dtype", ["object", "U1", "datetime64[s]", "f8, f8"])
@cases(OPERANDS, ARRAYS)
def test_arrays_without_numbers(call, dtype):
    with pytest.raises(st.DTypeError, match="dtype"):
        call(answers("__array__", np.zeros(3, dtype)))


def test_right_answers_are_taken():
    """What the tests above refuse is refused for its answer, not for its kind."""
    for name, answer in (("__array__", 2 * X), ("__strata_tensor__", st.from_numpy(2 * X))):
        for call in ("A @ o", "matmul", "einsum", "evaluate", "plan.run"):
            assert OPERANDS[call](answers(name, answer)).tolist() == [2, 4, 6]
    assert (A @ answers("__dlpack__", capsule(None), __dlpack_device__=lambda self: (1, 0))).tolist() == [1, 2, 3]


MASKED = np.ma.masked_equal([1.0, 2.0, 3.0], 2.0)


@pytest.mark.parametrize("call", ["A @ o", "matmul", "einsum", "evaluate", "plan.run", "from_coo, values"])
def test_masked_arrays_are_refused(call):
    call = {**OPERANDS, "from_coo, values": lambda o: st.from_coo([[0, 1, 2]], o, (3,))}[call]
    with pytest.raises(st.DTypeError, match="masked"):
        call(MASKED)
