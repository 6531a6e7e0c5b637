"""What errors say: what is wrong, what was expected, what came, how to mend it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def message(call):
    with pytest.raises(st.Error) as e:
        call()
    return str(e.value)


def test_classes():
    assert (
        issubclass(st.FormatError, ValueError)
        and issubclass(st.TensorError, ValueError)
        and issubclass(st.DTypeError, (TypeError, st.TensorError))
    )
    assert (
        issubclass(st.DTypeError, TypeError)
        and issubclass(st.IndexError, (IndexError,))
        and issubclass(st.IndexError, st.TensorError)
    )
    assert (
        issubclass(st.Unsupported, NotImplementedError)
        and issubclass(st.FileError, OSError)
        and issubclass(st.CopyWarning, UserWarning)
    )
    for name in (
        "FormatError",
        "TensorError",
        "DTypeError",
        "IndexError",
        "ExpressionError",
        "PlanError",
        "ScheduleError",
        "FileError",
        "Unsupported",
    ):
        cls = getattr(st, name)
        assert issubclass(cls, st.Error) and cls.__module__ == "strata" and cls.__doc__


def test_carets():
    with pytest.raises(st.FormatError) as e:
        st.Format("(i, j) -> (i: dense, j: compresed)")
    registered = "".join(", " + name for name in st._core.level_types()[9:])  # by other tests
    assert str(e.value).replace(registered, "") == (
        "no level type 'compresed'\n"
        "    (i, j) -> (i: dense, j: compresed)\n"
        "                            ^~~~~~~~~\n"
        "  expected  batch, bitmap, compressed, delta, dense, padded, range, singleton, structured\n"
        "  got       compresed\n"
        "  fix       write 'compressed'"
    )
    assert (
        e.value.fix == "write 'compressed'"
        and e.value.text[slice(*e.value.where)] == "compresed"
        and e.value.got == "compresed"
    )


def test_errors_can_be_raised_and_pickled():
    e = st.TensorError("something is wrong", expected="this", got="that", fix="do it")
    assert str(e).splitlines() == ["something is wrong", "  expected  this", "  got       that", "  fix       do it"]
    again = pickle.loads(pickle.dumps(e))
    assert type(again) is st.TensorError and str(again) == str(e) and again.fix == "do it"
    f = st.FileError("cannot")
    assert str(f) == "cannot" and str(pickle.loads(pickle.dumps(f))) == "cannot"


@pytest.mark.parametrize(
    "call,words",
    [
        (lambda: st.Format("(i, j -> (i: dense)"), ["^"]),
        (lambda: st.Format(""), ["format"]),
        (lambda: st.Format("CSRR"), ["CSRR", "CSR"]),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2]}, crd={1: [0, 5]}, values=[1.0, 2.0]), ["level 1", "5"]),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 2, 1]}, crd={1: [0, 1]}, values=[1.0, 2.0]), ["level 1", "pos"]),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 1]}, crd={1: [0]}, values=[1.0]), ["level 1", "pos"]),
        (
            lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 0, 2]}, crd={1: [1, 0]}, values=[1.0, 2.0]),
            ["level 1", "unordered"],
        ),
        (
            lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 0, 2]}, crd={1: [1, 1]}, values=[1.0, 2.0]),
            ["level 1", "nonunique"],
        ),
        (lambda: st.Tensor("CSR", (2, 2), crd={1: [0, 1]}, values=[1.0, 2.0]), ["level 1", "pos"]),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2]}, crd={1: [0, 1]}), ["values"]),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2]}, crd={1: [0, 1]}, values=[1.0]), ["values"]),
        (lambda: st.Tensor("CSR", (2,), pos={1: [0, 1, 2]}, crd={1: [0, 1]}, values=[1.0, 2.0]), ["2"]),
        (lambda: st.Tensor("CSR", (2, -2), values=[1.0]), ["negative"]),
        (lambda: st.Tensor("CSR", (2, 2), pos=[0, 1, 2], crd={1: [0, 1]}, values=[1.0, 2.0]), ["dict"]),
        (
            lambda: st.Tensor("CSR", (2, 2), pos={1: [0.0, 1.0, 2.0]}, crd={1: [0, 1]}, values=[1.0, 2.0]),
            ["pos[1]", "float64", "integer"],
        ),
        (
            lambda: st.Tensor("CSR", (2, 2), pos={1: [[0, 1, 2]]}, crd={1: [0, 1]}, values=[1.0, 2.0]),
            ["pos[1]", "one dimension"],
        ),
        (lambda: st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2], 7: [0]}, crd={1: [0, 1]}, values=[1.0, 2.0]), ["7"]),
        (lambda: st.Tensor("CSR", 2.5, values=[1.0]), ["shape"]),
        (lambda: st.from_dense(np.ones((2, 2)), "CSR").pos(0), ["level 0", "dense", "pos"]),
        (lambda: st.from_dense(np.ones((2, 2)), "CSR").crd(5), ["no level 5", "0 to 1"]),
        (lambda: st.from_dense(np.ones((2, 2, 2)), "CSR"), ["3", "2"]),
        (
            lambda: st.from_dense(np.ones((2, 8)), "(i, j) -> (i: dense, j / 4: dense, j % 4: structured(2))"),
            ["structured"],
        ),
        (lambda: st.einsum("ij,k->i", st.from_dense(np.ones((2, 2)), "CSR"), np.ones((3, 3))), ["k"]),
        (lambda: st.einsum("ij,j->i", st.from_dense(np.ones((2, 2)), "CSR"), np.ones(3)), ["j", "2", "3"]),
        (lambda: st.read("nothing.xyz"), [".xyz", ".mtx"]),
        (lambda: st.read_matrix_market("/nonexistent/file.mtx"), ["/nonexistent/file.mtx"]),
        (lambda: st.from_dense(np.ones((2, 2)), "CSR").to("floaty32"), ["floaty32"]),
        (lambda: st.from_dense(np.ones((2, 2)), "CSR").to(dtype="float33"), ["float33", "float32"]),
    ],
)
def test_messages_name_place_and_thing(call, words):
    text = message(call)
    for w in words:
        assert w in text, text


def test_int_shapes_and_settings():
    assert st.from_coo(([0],), [1.0], 3).shape == (3,)
    assert "STRATA_NUM_THREADS" in repr(st.settings)


def test_settings_refuse_what_they_do_not_know():
    before = repr(st.settings)
    for name, value, expected in (
        ("engine", "jitt", "interpreter"),
        ("jit", "on", "subprocess"),
        ("cache", "", "off"),
        ("threads", -1, "4096"),
        ("threads", 5000, "4096"),
        ("threads", 2**70, "4096"),
        ("int32_limit", 2**31, "2147483647"),  # would make indices that wrap
        ("int32_limit", -1, "2147483647"),
    ):
        with pytest.raises(st.PlanError, match=f"'{name}'") as e:
            setattr(st.settings, name, value)
        assert expected in e.value.expected and e.value.got == str(value)
    with pytest.raises(st.DTypeError, match="'threads' is a number"):
        st.settings.threads = "two"
    assert repr(st.settings) == before
    engine = st.settings.engine
    for word in ("kernels", "vendor", "jit", "interpreter", "auto", engine):
        st.settings.engine = word
        assert st.settings.engine == word


class Raises(Exception):
    pass


class Integer:
    """An integer whose __index__ returns or raises what it was given."""

    def __init__(self, what):
        self.what = what

    def __index__(self):
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


T = st.from_dense(np.eye(2), "CSR")
TAKES_AN_INTEGER = [
    lambda i: T[i, 0],
    lambda i: T.get((i, 0)),
    lambda i: T.transpose(i, 0),
    lambda i: T.pos(i),
    lambda i: T.crd(i),
    lambda i: st.Tensor("COO(1)", (i,), crd={0: [0]}, values=[1.0]),
    lambda i: st.Tensor("COO(1)", i, crd={0: [0]}, values=[1.0]),
    lambda i: st.Tensor("CSR", (1, 1), pos={i: [0, 1]}, crd={1: [0]}, values=[1.0]),
    lambda i: st.from_coo([[0]], [1.0], (i,)),
]


@pytest.mark.parametrize("call", TAKES_AN_INTEGER)
@pytest.mark.parametrize(
    "error", [Raises("mine"), KeyboardInterrupt(), TypeError("mine")], ids=lambda e: type(e).__name__
)
def test_what_index_raises_comes_back(call, error):
    with pytest.raises(type(error)) as e:
        call(Integer(error))
    assert e.value is error


@pytest.mark.parametrize("call", TAKES_AN_INTEGER)
@pytest.mark.parametrize("value", [2**40, 2**63, 2**70, -(2**40), -(2**63), -(2**70)])
def test_integers_beyond_all_bounds(call, value):
    for given in (value, Integer(value)):
        try:
            call(given)
        except st.Error:
            continue
        assert 0 < value < 2**63  # an extent may be large


def test_a_shape_that_grows_while_it_is_read():
    shape = []

    class Grows:
        def __index__(self):
            if len(shape) < 1000:
                shape.append(self)
            return 1

    shape.append(Grows())
    st.Tensor("COO(1)", shape, crd={0: [0]}, values=[1.0])
    assert len(shape) == 2  # it was looked at once


@pytest.mark.parametrize("device", ["cpu", (), (1,), (1.5, 0), None, 1])
def test_a_device_that_is_none(device):
    class Lies:
        def __dlpack__(self, **_):
            return np.ones(3).__dlpack__()

        def __dlpack_device__(self):
            return device

    with pytest.raises(st.TensorError, match="gave no device"):
        st.from_dlpack(Lies())


@pytest.mark.parametrize(
    "split",
    [
        st.split.rows(-1),
        st.split.band(3, 1),
        st.split.blocks(-0.5),
        st.split.blocks(1.5),
        st.split.blocks(float("nan")),
        "rows",
    ],
)
def test_splits_without_a_meaning(split):
    with pytest.raises(st.TensorError, match="split"):
        T.to("BSR(2, 2) + COO", split=split)


@pytest.mark.parametrize(
    "answer", [None, (), ("rows",), ("rows", "a"), ("rows", 2**70), ("band", 1), ("nope", 1), "rows"]
)
def test_objects_that_claim_to_be_splits(answer):
    class Claims:
        def __strata_split__(self):
            return answer

    with pytest.raises(st.TensorError, match="split="):
        T.to("BSR(2, 2) + COO", split=Claims())


def test_a_split_needs_parts():
    for call in (
        lambda: T.to("CSR", split=st.split.rows(1)),
        lambda: T.to(split=st.split.rows(1)),
        lambda: st.from_coo([[0], [0]], [1.0], (2, 2), "CSR", split=st.split.rows(1)),
    ):
        with pytest.raises(st.TensorError, match="which elements go to which part"):
            call()


@pytest.mark.parametrize(
    "spec,message",
    [
        ("y(i) = sqr(A(i,j))", "there is no function 'sqr'"),
        ("y(i) = sqr(A(i,j))", "write 'sqrt'"),
        ("y(i) = foo(A(i,j))", "abs, sign"),
        ("y[i] = A[i,j] * x[j]", "write y(i) for y[i]"),
        ("y(i) = A[i,j] * x[j]", "write A(i) for A[i]"),
        ("y = A @ x", "call matmul"),
        ("A(i,j) * x(j)", "name the result first"),
        ("A", "the end of the text"),
    ],
)
def test_what_newcomers_write(spec, message):
    with pytest.raises(st.ExpressionError, match="\\^") as e:
        st._core.expression_operands(spec)
    assert message in str(e.value)


def test_a_quotient_of_products_asks_for_no_more_than_its_result():
    """A numerator that is absent stays absent whatever divides it; it was NaN in 90 billion places."""
    n = 300_000
    eye = sp.identity(n, dtype=np.int64, format="csr")
    A, V = st.from_scipy(eye), np.ones((n, 4), np.int64)
    for numerator in ("A(i,j) * V(j,d)", "sum(j, A(i,j) * V(j,d))"):
        got = st.evaluate(f"Y(i,d) = {numerator} / sum(j, A(i,j))", A=A, V=V)
        assert type(got) is np.ndarray and np.array_equal(got, V)
