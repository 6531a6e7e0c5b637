"""draw(): every element where NumPy has it, by text and by SVG."""

import numpy as np
import pytest
import scipy.sparse as sp
from dtypes import NUMPY
from named_formats import COMMON
from read_svg import Read

import strata as st

FORMATS = [
    *COMMON,
    "DIAI",
    "SkewDIAI",
    "delta(2)",
    "DenseLeft",
    "CROW",
    "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(4))",
    "(i, j) -> (i / 2 : dense, j / 2 : padded, i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (i : bitmap, j / 4 : padded, j % 4 : bitmap)",
]


def matrix():
    return sp.random_array((7, 9), density=0.3, rng=np.random.default_rng(3), format="csr").toarray().round(2)


def stored(t):
    """Coordinates of what is stored and no fill-in, as SciPy lists them."""
    coo = sp.coo_array(t.to_dense())
    return set(zip(coo.row.tolist(), coo.col.tolist()))


@pytest.mark.parametrize("format", FORMATS)
def test_every_element_is_in_its_cell(format):
    a = matrix()
    t = st.from_dense(a, format)
    found = Read(t.draw()).elements()
    values = {at: float(text) for at, (text, slot) in found.items() if slot == "stored"}
    assert values == {at: a[at] for at in stored(t)}
    for at, (text, slot) in found.items():
        if slot != "stored":
            assert a[at] == 0 and float(text) == 0 and slot in ("fill-in", "stored zero")
    # Every slot that the storage has is drawn: as many cells as places that hold something.
    assert len(found) == len({tuple(int(c) for c in at) for at, _ in t.items()})


@pytest.mark.parametrize("format", ["CSR", "BSR(2, 3)", "DIAI", "dense", "BSR(4, 4) + COO"])
def test_cells_stand_in_rows_and_columns(format):
    a = matrix()
    read = Read(st.from_dense(a, format).draw())
    (group,) = read.groups("data-slice")
    boxes = {}
    for title, _, box, _ in read.cells(group):
        i, j = (int(c) for c in title[1 : title.index(")")].split(", "))
        boxes[i, j] = box
    for (i, j), (x, y, w, h) in boxes.items():
        for (k, l), (x2, y2, _, _) in boxes.items():
            assert (x == x2) == (j == l) and (y == y2) == (i == k)
            assert x2 >= x + w or l <= j
            assert y2 >= y + h or k <= i


def test_zeros_of_three_kinds():
    """A stored zero, fill-in and an absent element look different, and say what they are."""
    coo = st.from_coo(([0, 1], [1, 2]), np.array([5.0, 0.0]), (2, 4), "COO")
    assert Read(coo.draw()).elements() == {(0, 1): ("5", "stored"), (1, 2): ("0", "stored zero")}
    bsr = st.from_dense(np.array([[0, 5.0, 0, 0], [0, 0, 0, 0]]), "BSR(2, 2)")
    found = Read(bsr.draw()).elements()
    assert found.pop((0, 1)) == ("5", "stored") and set(found.values()) == {("0", "fill-in")} and len(found) == 3
    text = str(bsr.draw())
    assert text.count("○") == 4 and "○ fill-in" in text and "· absent" in text  # three, and the legend
    assert "○" not in str(coo.draw()) and str(coo.draw()).count(" 0 ") >= 2


def test_fill_in_of_delta_is_told_from_its_stored_zeros():
    """Only a distance that is the largest, with something behind it, is a bridge."""
    a = st.Tensor("delta(2)", (1, 12), pos={1: [0, 4]}, crd={1: [1, 3, 0, 3]}, values=np.array([0.0, 0.0, 7.0, 0.0]))
    found = {at[1]: slot for at, (_, slot) in Read(a.draw()).elements().items()}
    assert found == {1: "stored zero", 5: "fill-in", 6: "stored", 10: "stored zero"}


@pytest.mark.parametrize("dtype", NUMPY)
def test_dtypes(dtype):
    a = np.array([[1, 0, 1], [0, 1, 0]], dtype)
    t = st.from_dense(a, "CSR")
    found = Read(t.draw()).elements()
    assert set(found) == {(0, 0), (0, 2), (1, 1)}
    text = {"bool": "true"}.get(dtype, "1+0j" if dtype.startswith("complex") else "1")
    assert {v for v, _ in found.values()} == {text}
    assert dtype in str(t.draw()) and text in str(t.draw())


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_that_numpy_lacks(dtype):
    t = st.from_dense(np.array([[0.5, 0, 2.0]]), "CSR").to(dtype)
    assert {at: v for at, (v, _) in Read(t.draw()).elements().items()} == {(0, 0): "0.5", (0, 2): "2"}


def test_numbers_that_are_long_or_none():
    big = np.iinfo(np.int64).min
    found = Read(st.from_dense(np.array([[big, 0, 7]]), "CSR").draw()).elements()
    assert found[0, 0][0].endswith("…") and len(found[0, 0][0]) == 14 and found[0, 2][0] == "7"
    a = np.array([[np.nan, np.inf, -np.inf, 1 / 3, -0.0, 1e-300]])
    found = Read(st.from_coo((np.zeros(6, int), np.arange(6)), a[0], a.shape, "COO").draw()).elements()
    texts = [found[0, j][0] for j in range(6)]
    assert texts == ["nan", "inf", "-inf", "0.333333", "-0", "1e-300"]
    assert found[0, 4][1] == "stored zero"
    z = st.from_dense(np.array([[1 / 3 - 2j, 0]]), "CSR")
    assert Read(z.draw()).elements()[0, 0][0] == "0.3333-2j"


def test_duplicates_are_added():
    t = st.Tensor(
        "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
        (2, 3),
        pos={0: [0, 3]},
        crd={0: [0, 0, 1], 1: [1, 1, 2]},
        values=np.array([1.0, 2.5, 4.0]),
    )
    read = Read(t.draw())
    assert read.elements() == {(0, 1): ("3.5", "stored"), (1, 2): ("4", "stored")}
    assert "in 2 slots" in read.text


def test_parts_of_a_sum_have_their_colours():
    a = np.zeros((8, 8))
    a[:4, :4] = 1 + np.arange(16).reshape(4, 4)
    a[6, 1] = 5
    read = Read(st.from_dense(a, "BSR(4, 4) + COO").draw())
    (group,) = read.groups("data-slice")
    classes = {g.find("{*}title").text: g.find("{*}rect").get("class") for g in group if g.find("{*}rect") is not None}
    assert {c for t, c in classes.items() if "part 0" in t} == {"l0"} and classes["(6, 1) = 5, in part 1"] == "l1"
    assert any(w.startswith("BSR(4, 4)") for w in read.words()) and any(w.startswith("COO") for w in read.words())


def test_fill_other_than_zero():
    t = st.from_dense(np.array([[np.inf, 2.0, np.inf]]), "CSR", fill=np.inf)
    read = Read(t.draw())
    assert read.elements() == {(0, 1): ("2", "stored")} and "absent: inf" in read.words()
    assert "fill inf" in str(t.draw())


def test_one_and_three_dimensions():
    v = st.from_dense(np.array([0, 1, 0, 2]), "SparseVector")
    assert Read(v.draw()).elements() == {(1,): ("1", "stored"), (3,): ("2", "stored")}
    a = (sp.random_array((3, 20), density=0.3, rng=np.random.default_rng(0)).toarray() * 10).round(1).reshape(3, 4, 5)
    for format in ("CSF", "COO", "dense", "(i, j, k) -> (i / 2 : dense, j : compressed, k : dense, i % 2 : dense)"):
        t = st.from_dense(a, format)
        read = Read(t.draw())
        values = {at: float(v) for at, (v, slot) in read.elements().items() if slot == "stored"}
        assert values == {at: v for at, v in np.ndenumerate(a) if v}
        assert [g.get("data-slice") for g in read.groups("data-slice")] == ["0", "1", "2"]
        assert "i = 2" in read.words() and "i = 2" in str(t.draw())


def test_scalars_and_empty_tensors():
    assert Read(st.from_dense(np.array(7.5), "() -> ()").draw()).elements() == {(): ("7.5", "stored")}
    assert "7.5" in str(st.from_dense(np.array(7.5), "() -> ()").draw())
    for shape in ((0, 4), (4, 0), (0, 0)):
        for format in ("CSR", "COO", "dense", "BSR(2, 2)", "DIAI", "ELL"):
            t = st.from_dense(np.zeros(shape), format)
            assert "(empty)" in str(t.draw()) and Read(t.draw()).elements() == {}
    none = st.from_dense(np.zeros((2, 3)), "CSR").draw()
    assert Read(none).elements() == {} and Read(none).root.findall(".//{*}rect[@class='absent']")


def test_large_tensors_are_cut_and_name_what_shows_them():
    n = 5000
    t = st.from_scipy(sp.diags_array([np.arange(n), np.ones(n - 1)], offsets=[0, 1]).tocsr())
    read = Read(t.draw())
    shown = {i for i, _ in read.elements()}
    assert shown <= {*range(18), *range(n - 6, n)} and {17, n - 1} <= shown
    assert all(float(v) == (i if i == j else 1) for (i, j), (v, _) in read.elements().items())
    assert any("24 of 5 000 along i" in w and "draw_raw()" in w for w in read.words()) and "⋮" in read.words()
    text = str(t.draw(limit=6))
    assert "6 of 5 000 along i" in text and "draw_raw()" in text
    assert len(read.text) < 200_000
    dense = st.from_dense(np.arange(10_000).reshape(100, 100), "dense").draw(limit=4)
    assert set(Read(dense).elements()) == {(i, j) for i in (0, 1, 2, 99) for j in (0, 1, 2, 99)}


@pytest.mark.parametrize("format", FORMATS)
def test_text_holds_to_its_width(format):
    t = st.from_dense(matrix() * 1e5, format)
    for width in (24, 40, 80, 200):
        lines = t.draw(width=width).text().split("\n")
        assert max(map(len, lines)) <= width
    wide = t.draw().text(200)
    for (i, j), (text, slot) in Read(t.draw()).elements().items():
        row = next(line for line in wide.split("\n") if line.startswith(f"{i} │"))
        cells = row.split("│")[1].split()
        assert cells[j] == ("○" if slot == "fill-in" else text)


def test_what_cannot_be_drawn():
    t = st.from_dense(np.zeros((2, 2, 2, 2)), "CSF")
    for draw in (t.draw, t.draw_raw):
        with pytest.raises(st.TensorError, match="at most 3 dimensions") as e:
            draw()
        assert "draw_storage()" in e.value.fix
    small = st.from_dense(np.eye(2), "CSR")
    with pytest.raises(st.ArgumentError, match="limit is a number"):
        small.draw("ten")
    with pytest.raises(st.TensorError, match="limit is out of range"):
        small.draw(0)
    with pytest.raises(st.TensorError, match="size is out of range"):
        small.draw_raw(-1)
    with pytest.raises(st.ArgumentError, match="has no argument 'limits'"):
        small.draw(limits=3)
