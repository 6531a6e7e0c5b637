"""The language of formats as Python sees it; the parser itself has its tests in C++."""

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest

import strata as st
from strata import ust


def test_text_name_and_object_agree():
    i, j = ust.Dimension(dimension_name="i"), ust.Dimension(dimension_name="j")
    built = ust.TensorFormat([i, j], {i: ust.LevelFormat.DENSE, j: ust.LevelFormat.COMPRESSED})
    for f in (
        "(i, j) -> (i: dense, j: compressed)",
        "csr",
        "CSR",
        "(row,col)->(row : dense, col : compressed)  # CSR",
        built,
    ):
        assert st.Format(f) == st.formats.CSR and hash(st.Format(f)) == hash(st.formats.CSR)
    assert st.formats.CSR.name == "CSR"
    assert str(st.formats.CSR) == "(i, j) -> (i : dense, j : compressed)"
    assert repr(st.formats.CSR) == "Format('(i, j) -> (i : dense, j : compressed)')"
    assert eval(repr(st.formats.CSR), {"Format": st.Format}) == st.formats.CSR


def test_every_name_parses_prints_and_pickles():
    for name, text in st.formats.names().items():
        plain = name.partition("(")[0]
        assert hasattr(st.formats, plain) and plain in dir(st.formats)
        found = getattr(st.formats, plain)
        f = found if isinstance(found, st.Format) else found() if "(" not in name else None
        if f is not None:
            assert st.Format(str(f)) == f and st.Format(f.blog_string()) == f and pickle.loads(pickle.dumps(f)) == f


def test_builders():
    assert st.formats.BSR(2, 3) == st.Format("(i, j) -> (i / 2: dense, j / 3: compressed, i % 2: dense, j % 3: dense)")
    assert st.formats.BSR((2, 3)) == st.formats.BSR(2, 3)
    assert st.formats.COO(3) == st.Format("COO", rank=3) and st.formats.COO() == st.Format("COO")
    assert st.from_dense(np.eye(3), st.formats.COO).format == st.Format("COO")
    assert st.from_dense(np.ones((2, 2, 2)), st.formats.COO).format == st.formats.COO(3)
    with pytest.raises(AttributeError, match="CSR"):
        st.formats.nonsense


@pytest.mark.parametrize("numbers", [(2.7, 3), ("2", 3), (None, 3), (2, 3.0)])
def test_builders_take_integers_only(numbers):
    with pytest.raises(st.FormatError, match="whole numbers"):
        st.formats.BSR(*numbers)
    assert st.formats.BSR(np.int64(2), np.uint8(3)) == st.formats.BSR(2, 3)


def test_names_of_one_rank():
    for name, text in [
        ("DenseMatrixRight", "(i, j) -> (i: dense, j: dense)"),
        ("DenseMatrixLeft", "(i, j) -> (j: dense, i: dense)"),
        ("DnMat", "dense(2)"),
        ("DnMatCol", "DenseLeft(2)"),
        ("Dn3", "dense(3)"),
        ("Dn4", "dense(4)"),
        ("Dn5", "dense(5)"),
        ("COO3", "COO(3)"),
        ("COO4", "COO(4)"),
        ("COO5", "COO(5)"),
        ("CSF3", "CSF(3)"),
        ("CSF4", "CSF(4)"),
        ("CSF5", "CSF(5)"),
    ]:
        f = st.Format(text)
        assert getattr(st.formats, name) == f and isinstance(getattr(st.formats, name), st.Format)
        assert st.Format(name, rank=1) == f  # never another rank than the name says
        assert st.Format(st.formats.names()[name]) == f
        with pytest.raises(st.FormatError, match="without numbers"):
            st.Format(f"{name}(2)")
    with pytest.raises(st.Error):
        st.from_dense(np.ones((2, 2, 2)), "DenseMatrixRight")


def test_coordinates_beyond_64_bits():
    for call in (st.formats.CSR.dim2lvl, st.formats.CSR.lvl2dim):
        for c in ((2**63, 0), (0, -(2**63) - 1), (10**5000, 0)):
            with pytest.raises(st.FormatError, match="64 bits"):
                call(c)
    assert st.formats.CSC.dim2lvl((2**63 - 1, -(2**63))) == (-(2**63), 2**63 - 1)


def test_levels_and_dimensions():
    f = st.Format("BSR(2, 3)")
    assert [(v.expr, v.kind) for v in f.levels] == [
        ("i / 2", "dense"),
        ("j / 3", "compressed"),
        ("i % 2", "dense"),
        ("j % 3", "dense"),
    ]
    assert f.rank == 2 and f.dims == ("i", "j") and f.num_levels == 4
    assert f.dim2lvl((5, 7)) == (2, 2, 1, 1) and f.lvl2dim((2, 2, 1, 1)) == (5, 7)
    assert f.level_ranges((5, 7)) == ((0, 3), (0, 3), (0, 2), (0, 3))
    d = st.Format("(i, j) -> (j - i: compressed, i: range)")
    assert d.level_ranges((3, 4)) == ((-2, 6), (0, 3)) and d.dim2lvl((2, 0)) == (-2, 2)
    nested = st.Format("(i) -> (i / 6: dense, (i % 6) / 2: compressed, (i % 6) % 2: dense)")
    assert [v.expr for v in nested.levels] == ["i / 6", "(i % 6) / 2", "(i % 6) % 2"]
    delta = st.Format("(i, j) -> (i: dense, j: delta(4))").levels[1]
    assert (delta.kind, delta.arg, delta.ordered, delta.unique) == ("delta", 4, True, True)
    assert not st.Format("COO").levels[0].unique


def test_transpose_and_rename():
    assert st.formats.CSR.transpose() == st.formats.CSC
    assert st.formats.CSR.transpose((1, 0)) == st.formats.CSC and st.formats.CSR.transpose((0, 1)) == st.formats.CSR
    assert st.formats.CSR.rename(["r", "c"]).dims == ("r", "c") and st.formats.CSR.rename(["r", "c"]) == st.formats.CSR
    with pytest.raises(st.FormatError):
        st.formats.CSR.transpose((0, 0))
    for names in (["i", "i"], ["i"], ["i", ""], ["i", "j j"], ["i", "j\0k"], ["i", "ü"]):
        with pytest.raises(st.FormatError):
            st.formats.CSR.rename(names)


def test_sums():
    f = st.Format("BSR(4, 4) + COO")
    assert f.num_parts == 2 and f.parts == (st.Format("BSR(4, 4)"), st.Format("COO"))
    assert st.Format("BSR(4, 4)") + "COO" == f == "BSR(4, 4)" + st.Format("COO")
    assert st.Format("COO + BSR(4, 4)") != f
    with pytest.raises(st.FormatError, match="sum"):
        f.levels


def test_register():
    st.register_format("mine_of_test", "(i, j) -> (j: compressed, i: dense)")
    assert st.Format("Mine_Of_Test") == st.formats.mine_of_test == st.Format("(a, b) -> (b: compressed, a: dense)")
    i, j = ust.Dimension(), ust.Dimension()
    st.register_format("object_of_test", ust.TensorFormat([i, j], {j: ust.LevelFormat.DENSE, i: ust.LevelFormat.DENSE}))
    assert st.formats.object_of_test == st.Format("DenseLeft")
    st.register_format("object_of_test", st.Format("CSR + COO"))  # a name of one's own may change its meaning
    assert st.Format("object_of_test + DIA").num_parts == 3
    with pytest.raises(st.FormatError):
        st.register_format("CSR", "(i, j) -> (i: dense, j: dense)")
    with pytest.raises(st.FormatError):
        st.register_format("bad name", "CSR")


def test_not_formats():
    for bad in (None, 3, object(), b"CSR", ["CSR"]):
        with pytest.raises(st.FormatError, match="not a format"):
            st.Format(bad)
    with pytest.raises(ValueError):
        st.Format("nonsense")
    assert st.formats.CSR == "CSR" != st.formats.CSC and (st.formats.CSR == 3) is False


def test_equality_ignores_names_only():
    assert st.Format("(a, b) -> (a: dense, b: compressed)") == st.formats.CSR
    assert st.Format("(b, a) -> (a: dense, b: compressed)") == st.formats.CSC
    assert st.Format("(i, j) -> (i: dense, j: compressed(unordered))") != st.formats.CSR
    assert len({st.Format("CSR"), st.Format("csr"), st.Format("CSC")}) == 2


def stored_by_level(dense, kinds):
    """The coordinates, up to each level, that a walk of the array finds stored: a dense level has its whole extent
    under every parent, a compressed one what occurs."""
    stored = [()]
    for k, kind in enumerate(kinds):
        at = [(*parent, c) for parent in stored for c in range(dense.shape[k])]
        stored = at if kind == "dense" else [c for c in at if dense[c].any()]
        yield stored


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
def test_every_dense_compressed_format(rank):
    """All n! * 2^n orders and kinds: the same elements, the same structure as a walk of the dense array in that
    order, the same product."""
    rng = np.random.default_rng(rank)
    shape = (3, 4, 2, 3)[:rank]
    dense = np.where(rng.random(shape) < 0.35, rng.integers(1, 9, shape), 0).astype(float)
    dense[1] = dense[..., 1] = 0  # so that outer compressed levels leave something out
    names = "ijkl"[:rank]
    x = rng.integers(0, 5, shape[-1]).astype(float)
    spec = f"{names},{names[-1]}->{names[:-1]}"
    expected = np.einsum(spec, dense, x)
    assert expected.any()
    for order in itertools.permutations(range(rank)):
        moved = np.transpose(dense, order)
        for kinds in itertools.product(("dense", "compressed"), repeat=rank):
            text = f"({', '.join(names)}) -> ({', '.join(f'{names[d]}: {k}' for d, k in zip(order, kinds))})"
            t = st.from_dense(dense, text)
            t.validate()
            assert np.array_equal(t.to_dense(), dense), text
            parents = [()]
            for k, stored in enumerate(stored_by_level(moved, kinds)):
                if kinds[k] == "compressed":
                    children = Counter(c[:-1] for c in stored)
                    assert np.array_equal(t.pos(k), np.cumsum([0, *(children[p] for p in parents)])), text
                    assert np.array_equal(t.crd(k), [c[-1] for c in stored]), text
                parents = stored
            assert t.nse == len(stored), text
            assert np.array_equal(t.values, [moved[c] for c in stored]), text
            assert np.array_equal(st.einsum(spec, t, x), expected), text
