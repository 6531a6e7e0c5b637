"""Level types that are registered from outside: everything that a level is walked for follows from their texts."""

import pickle

import numpy as np
import pytest
from differential import check_conversion, check_expression
from own_levels import REGISTERED, gaps, skyline
from random_expressions import check as check_evaluation

import strata as st

OWN = [
    "(i, j) -> (i: dense, j: skyline)",
    "(i, j) -> (i: compressed, j: gaps)",
    "(i, j) -> (j: dense, i: halves(3))",
    "(i, j) -> (i: gaps, j: dense)",
    "(i, j) -> (i: compressed, j: whole)",
    "(i, j) -> (i / 2: dense, j / 3: skyline, i % 2: dense, j % 3: dense)",
    "(i, j) -> (j - i: halves(4), i: range)",
    "(i, j) -> (i / 2: skyline, i % 2: gaps, j: halves(2))",
    "(i, j) -> (i: skyline, j: skyline) + COO",
]
BESIDE = ["(i, j) -> (i: dense, j: skyline)", "(i, j) -> (i: dense, j: gaps)", "(i, j) -> (i: dense, j: halves(3))"]
OTHERS = ["CSR", "COO", "DCSR", "ELL", "delta(4)", "(i, j) -> (i: dense, j: bitmap)", "CSC", "BSR(2, 2)", "DIA"]


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def matrix(rng, *shape):
    return np.where(rng.random(shape) < 0.35, rng.integers(-4, 5, shape), 0).astype(float)


@pytest.mark.parametrize("kind", [check_conversion, check_expression, check_evaluation])
def test_random_formats(kind, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", "interpreter")
    for seed in range(REGISTERED, REGISTERED + 300):
        kind(seed)


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize("format", OWN)
def test_products_and_conversions(format, engine, rng, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", engine)
    d, x, y = matrix(rng, 7, 9), matrix(rng, 9), matrix(rng, 9, 4)
    a = st.from_dense(d, format)
    a.validate()
    assert np.array_equal(a.to_dense(), d)
    for other in ("CSR", "CSC", "COO", "BSR(2, 3)", "DIA"):
        assert np.array_equal(a.to(other).to_dense(), d)
        assert a.to(other).to(format).equal(a)
    assert np.array_equal(a @ x, d @ x) and np.array_equal(a @ y, d @ y)
    z = matrix(rng, 7)
    assert np.array_equal(a.T @ z, d.T @ z)
    assert np.array_equal(st.einsum("ij->j", a), d.sum(0)) and np.array_equal(st.einsum("ij,ij->", a, a), (d * d).sum())
    assert np.array_equal((a * 2 + a).to_dense(), 3 * d)
    assert np.array_equal(a[2:6, ::2].to_dense(), d[2:6, ::2])
    assert np.array_equal(a.T.to_dense(), d.T)


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("format", BESIDE)
def test_beside_others(format, other, rng):
    x, y = matrix(rng, 6, 8), matrix(rng, 6, 8)
    a, b = st.from_dense(x, format), st.from_dense(y, other)
    assert np.array_equal((a * b).to_dense(), x * y)
    assert np.array_equal((a + b).to_dense(), x + y)
    assert np.array_equal((a @ st.from_dense(y.T.copy(), other)).to_dense(), x @ y.T)
    assert np.array_equal((b @ st.from_dense(x.T.copy(), format)).to_dense(), y @ x.T)


@pytest.mark.parametrize("format", BESIDE)
@pytest.mark.parametrize("other", ["CSR", "ELL", "delta(4)"])
def test_they_are_walked_in_place(format, other, rng):
    x = matrix(rng, 6, 8)
    for text in ("C(i,j) = A(i,j) * B(i,j)", "C(i,j) = A(i,j) + B(i,j)"):
        said = str(st.explain(text, A=st.from_dense(x, format), B=st.from_dense(x, other)))
        assert "for j in t0" in said and "first A to" not in said and "first B to" not in said, said


def test_arrays_and_what_they_show(rng):
    k = np.array([[4.0, 1, 0, 0], [1, 4, 0, 2], [0, 0, 0, 0], [0, 2, 1, 6]])
    a = st.from_dense(k, OWN[0])
    assert a.pos(1).tolist() == [0, 2, 6, 6, 9] and a.crd(1).tolist() == [0, 0, 0, 1]
    assert a.values.tolist() == [4, 1, 1, 4, 0, 2, 2, 1, 6]
    assert a.nbytes == 5 * 4 + 4 * 4 + 9 * 8
    assert "<LevelFormat.SKYLINE>" in repr(a) and "#4" in repr(a).split("crd[1]")[1].split("\n")[0]
    assert "fill-in" in str(a.draw())
    assert a.draw().svg.startswith("<svg") and "skyline" in a.draw_storage().svg
    assert "crd  0  0  0  1 " in str(a.draw_storage())
    level = a.format.levels[1]
    assert (level.kind, level.has_pos, level.has_crd) == ("skyline", True, True)
    assert st.Format(str(a.format)) == a.format and st.Format(a.format.blog_string()) == a.format
    assert "skyline" in st._core.level_types()


def test_files_and_pickles(tmp_path, rng):
    for format in OWN[:7]:
        a = st.from_dense(matrix(rng, 5, 7), format)
        assert pickle.loads(pickle.dumps(a)).equal(a, storage=True)
        st.save(tmp_path / "a.st", a)
        assert st.load(tmp_path / "a.st").equal(a, storage=True)
        narrow = a.to(crd_dtype="int16", pos_dtype="int64")
        assert narrow.equal(a) and np.array_equal(narrow @ np.ones(7), a @ np.ones(7))


def test_imports_are_checked():
    good = dict(pos={1: [0, 2, 3]}, crd={1: [1, 0]}, values=[1.0, 2.0, 3.0])
    a = st.Tensor(OWN[0], (2, 4), **good)
    assert a.to_dense().tolist() == [[0, 1, 2, 0], [3, 0, 0, 0]]
    for wrong, what in (
        (dict(crd={1: [3, 0]}), "coordinate out of range"),
        (dict(crd={1: [-1, 0]}), "coordinate out of range"),
        (dict(crd={1: [1]}), "crd is too short"),
        (dict(pos={1: [0, 3, 2]}), "pos decreases"),
        (dict(values=[1.0]), "values are too short"),
    ):
        with pytest.raises(st.TensorError, match=what):
            st.Tensor(OWN[0], (2, 4), **(good | wrong))
    st.register_level("unsorted", "crd[p]")
    with pytest.raises(st.TensorError, match="do not ascend"):
        st.Tensor("(i) -> (i: unsorted)", (4,), pos={0: [0, 2]}, crd={0: [2, 1]}, values=[1.0, 2.0])
    st.register_level("beyond", "crd[p + 1]")
    with pytest.raises(st.TensorError, match="reads beyond crd"):
        st.Tensor("(i) -> (i: beyond)", (4,), pos={0: [0, 2]}, crd={0: [2, 1]}, values=[1.0, 2.0])
    st.register_level("large", "crd[p] * 4611686018427387904 * 4")
    with pytest.raises(st.TensorError, match="exceeds 64 bits"):
        st.Tensor("(i) -> (i: large)", (4,), pos={0: [0, 1]}, crd={0: [2]}, values=[1.0])


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("crd[q]", "'q' has no meaning here"),
        ("crd[p", "']' is missing"),
        ("p / size", "a divisor must be known"),
        ("p % 0", "a divisor must be known"),
        ("p +", "an operand is missing"),
        ("p p", "unexpected 'p'"),
        ("min(p)", "',' is missing"),
        ("99999999999999999999", "a number is too large"),
        ("(" * 100 + "p" + ")" * 100, "nested too deeply"),
    ],
)
def test_texts_that_have_no_meaning(text, place):
    with pytest.raises(st.FormatError, match=place.replace("(", r"\(").replace(")", r"\)").replace("+", r"\+")):
        st.register_level("nonsense", text)
    with pytest.raises(st.FormatError, match="no level type"):
        st.Format("(i) -> (i: nonsense)")


def test_names():
    for name in ("dense", "Compressed", "unique", "", "3d", "a b", "ä", "LevelFormat"):
        with pytest.raises(st.FormatError):
            st.register_level(name, "crd[p]")
    for _ in range(100):  # as before: case is ignored, and no place is taken
        st.register_level("GAPS", "previous + crd[p] + 1", build=gaps)
    with pytest.raises(st.FormatError, match="another level type is called 'gaps'"):
        st.register_level("gaps", "crd[p]")
    with pytest.raises(st.FormatError, match="needs a number"):
        st.Format("(i) -> (i: halves)")
    with pytest.raises(st.FormatError, match="takes no number"):
        st.Format("(i) -> (i: gaps(2))")
    with pytest.raises(st.FormatError, match="cannot be 'nonunique'"):
        st.Format("(i) -> (i: gaps(nonunique))")
    with pytest.raises(st.FormatError, match="write 'skyline'"):
        st.Format("(i, j) -> (i: dense, j: skylin)")
    with pytest.raises(st.FormatError, match="register_level"):
        st.Format("(i, j) -> (i: dense, j: hashed)")


def test_a_build_that_is_wrong():
    def moved(parent, coordinate, *rest):
        pos, crd, position = gaps(parent, coordinate, *rest)
        return pos, crd, position[::-1]

    def other(parent, coordinate, *rest):
        pos, crd, position = gaps(parent, coordinate, *rest)
        return pos, crd + 1, position

    def failing(*_):
        raise KeyError("mine")

    for build, what in (
        (moved, r"position\[0\]"),
        (other, "its `build` is wrong"),
        (lambda *e: (gaps(*e)[0], gaps(*e)[1][:-1], gaps(*e)[2]), "crd is too short|length of crd"),
        (lambda *e: gaps(*e)[:2], "something else than its arrays"),
        (lambda *e: (gaps(*e)[0].astype(float), *gaps(*e)[1:]), "a wrong pos"),
    ):
        with pytest.raises(st.FormatError, match=what):
            st.register_level("wrong", "previous + crd[p] + 1", build=build)
    with pytest.raises(KeyError, match="mine"):
        st.register_level("wrong", "previous + crd[p] + 1", build=failing)
    with pytest.raises(st.FormatError, match="without `fills`"):
        st.register_level("wrong", "crd[parent] + p - first", crd_entries="parents", build=skyline)
    with pytest.raises(st.FormatError, match="no level type"):
        st.Format("(i) -> (i: wrong)")
    st.register_level("readable", "crd[p]")  # without build
    a = st.Tensor("(i) -> (i: readable)", (4,), pos={0: [0, 2]}, crd={0: [1, 3]}, values=[1.0, 2.0])
    assert a.to_dense().tolist() == [0, 1, 0, 2]
    with pytest.raises(st.TensorError, match="nothing makes this level"):
        st.from_dense(np.ones(4), "(i) -> (i: readable)")
