"""draw_conversion(): the same element has the same colour in both storages, and a line from one to the other."""

import re

import numpy as np
import pytest
from read_svg import Read

import strata as st

SVG = "{http://www.w3.org/2000/svg}"
BLOG = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def colours(read, side):
    """{coordinates: colour} of the value cells of one side; None where a cell has no colour of its own."""
    (under,) = read.groups("data-side", side)
    found = {}
    for array in read.groups("data-array", "values", under):
        for cell in array.iter(SVG + "g"):
            at = re.search(r" at \(([\d, ]*)\)", cell.findtext(SVG + "title") or "")
            if cell is not array and at:
                style = re.search(r"fill:(#\w+)", cell.find(SVG + "rect").get("style") or "")
                found.setdefault(at[1], []).append(style and style[1])
    return found


@pytest.mark.parametrize(
    "a,b", [("CSR", "delta(2)"), ("CSR", "CSC"), ("COO", "DIAI"), ("BSR(2, 2)", "Bitmap"), ("DCSR", "BSR(2, 4) + COO")]
)
def test_one_colour_an_element(a, b):
    before = st.from_dense(BLOG, a)
    read = Read(st.draw_conversion(before, b))
    left, right = colours(read, "before"), colours(read, "after")
    elements = [f"{i}, {j}" for i, j in zip(*np.nonzero(BLOG))]
    assert len({left[e][0] for e in elements}) == 5
    for e in elements:
        assert left[e] == right[e] and left[e][0] is not None
    for side in (left, right):  # fill-in has none
        assert all(c == [None] for e, c in side.items() if e not in elements)
    (ribbons,) = read.groups("data-ribbons")
    strokes = sorted(re.search(r"stroke:(#\w+)", p.get("style"))[1] for p in ribbons.iter(SVG + "path"))
    assert strokes == sorted(left[e][0] for e in elements)


def test_lines_go_from_cell_to_cell():
    read = Read(st.draw_conversion(st.from_dense(BLOG, "CSR"), "CSC"))
    at = {}
    for side in ("before", "after"):
        (under,) = read.groups("data-side", side)
        (array,) = read.groups("data-array", "values", under)
        at[side] = {t.split(" at ")[1]: x + w / 2 for t, _, (x, _, w, _), _ in read.cells(array)}
    (ribbons,) = read.groups("data-ribbons")
    lines = set()
    for p in ribbons.iter(SVG + "path"):
        n = [float(v) for v in re.findall(r"-?[\d.]+", p.get("d"))]
        lines.add((n[0], n[-2]))
    assert lines == {(round(at["before"][e], 2), round(at["after"][e], 2)) for e in at["before"]}


def test_what_is_dropped_has_no_line():
    a = st.from_coo(([0, 1], [1, 1]), np.array([0.0, 2.0]), (2, 2), "COO")
    b = a.drop_zeros()
    read = Read(st.draw_conversion(a, b))
    (ribbons,) = read.groups("data-ribbons")
    assert len(list(ribbons.iter(SVG + "path"))) == 1
    assert set(colours(read, "before")) == {"0, 1", "1, 1"} and set(colours(read, "after")) == {"1, 1"}


def test_text_has_both():
    a = st.from_dense(BLOG, "CSR")
    text = str(st.draw_conversion(a, "COO"))
    assert str(a.draw_storage()) in text and str(a.to("COO").draw_storage()) in text and "↓" in text


def test_batches_and_long_ones():
    b = np.zeros((5, 2, 3))
    b[:, 0, 1] = np.arange(1, 6)
    t = st.from_dense(b, "(b, i, j) -> (b : batch, i : dense, j : compressed)")
    assert "batch 2 of 5" in Read(st.draw_conversion(t, "CSF")).words()
    long = st.from_dense(np.eye(500), "CSR")
    picture = st.draw_conversion(long, "COO", limit=10)
    assert len(colours(Read(picture), "before")) == 10 and any("limit" in w for w in Read(picture).words())


def test_what_is_no_conversion():
    a = st.from_dense(BLOG, "CSR")
    with pytest.raises(st.TensorError, match="does not change the shape") as e:
        st.draw_conversion(a, a.T)
    assert (e.value.expected, e.value.got) == ("3 x 8", "8 x 3")
    with pytest.raises(st.ArgumentError, match="from_package"):
        st.draw_conversion(BLOG, "CSR")
    with pytest.raises(st.FormatError):
        st.draw_conversion(a, "CSRR")
