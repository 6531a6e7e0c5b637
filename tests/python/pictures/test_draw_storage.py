"""draw_storage(): every array as the tensor gives it, and lines from parents to children as pos says."""

import numpy as np
import pytest
from named_formats import BY_RANK, sample
from read_svg import Read

import strata as st

BLOG = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def numbers(texts):
    return [int(t) for t in texts]


def test_figure_1():
    """The figure of the blog: the 3 x 8 matrix in delta(2), its two pads in red."""
    read = Read(st.from_dense(BLOG, "delta(2)").draw_storage())
    assert read.array("pos", 1) == ["0", "3", "5", "7"]
    assert read.array("crd", 1) == ["0", "3", "2", "2", "0", "3", "3"]
    assert read.array("values") == ["1", "0", "2", "3", "4", "0", "5"]
    (values,) = read.groups("data-array", "values")
    assert [slot for _, _, _, slot in read.cells(values)] == [
        "stored", "fill-in", "stored", "stored", "stored", "fill-in", "stored"
    ]  # fmt: skip
    assert [t.split(" at ")[1].split(":")[0] for t, *_ in read.cells(values)] == [
        "(0, 0)", "(0, 4)", "(0, 7)", "(1, 2)", "(1, 3)", "(2, 3)", "(2, 7)"
    ]  # fmt: skip
    assert read.edges(1) == [(0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]


def children(t, level):
    """(parent, child) positions of a level, from the arrays that the tensor gives."""
    kind = t.format.levels[level].kind
    parents = positions(t, level - 1)
    if kind in ("compressed", "delta", "bitmap"):
        pos = t.pos(level)
        return [(p, q) for p in range(parents) for q in range(pos[p], pos[p + 1])]
    if kind == "singleton":
        return [(p, p) for p in range(parents)]
    width = positions(t, level) // max(parents, 1)
    return [(p, p * width + k) for p in range(parents) for k in range(width)]


def positions(t, level):
    """Positions of a level."""
    if level < 0:
        return 1
    kind = t.format.levels[level].kind
    if kind in ("compressed", "delta", "bitmap"):
        return int(t.pos(level)[-1])
    if kind in ("singleton", "structured", "padded"):
        return len(t.crd(level))
    return positions(t, level - 1) * t.format.level_ranges(t.shape)[level][1]


MATRICES = BY_RANK[2]


@pytest.mark.parametrize("format", MATRICES)
def test_arrays_and_lines_are_the_tensor_s(format):
    t = st.from_dense(sample((7, 9)), format)
    if len(t.parts) > 1 or any(level.kind == "batch" for level in t.format.levels):
        pytest.skip("several trees")
    read = Read(t.draw_storage(limit=2000))
    for level, facts in enumerate(t.format.levels):
        if facts.kind in ("compressed", "delta", "bitmap"):
            assert numbers(read.array("pos", level)) == t.pos(level).tolist()
        if facts.kind in ("compressed", "singleton", "structured"):
            assert numbers(read.array("crd", level)) == t.crd(level).tolist()
        if level > 0:
            assert sorted(read.edges(level)) == children(t, level)
    stored = [(text, slot) for text, slot in ((c[1], c[3]) for c in cells_of_values(read))]
    inside = [text for text, slot in stored if slot != "outside the tensor"]
    assert len(inside) == t.nse
    if not t.format.is_all_dense:
        values = [t.values[k] for k, (_, slot) in enumerate(stored) if slot != "outside the tensor"]
        assert inside == [f"{v:.6g}" for v in values]
        assert len(stored) == positions(t, len(t.format.levels) - 1)


def cells_of_values(read):
    return [c for g in read.groups("data-array", "values") for c in read.cells(g)]


@pytest.mark.parametrize("format", ["CSR", "DCSR", "delta(4)", "Bitmap"])
def test_pos_stands_at_the_edges_of_its_groups(format):
    """pos[p] is left of the children of p, and right of all before them."""
    t = st.from_dense(sample((6, 9)), format)
    read = Read(t.draw_storage(limit=200))
    centre = lambda box: box[0] + box[2] / 2
    of_level = lambda name: [g for g in read.groups("data-array", name) if g.get("data-level") == "1"]
    (pos,), (nodes,) = of_level("pos"), of_level("crd") or of_level("implied")
    edges = [centre(c[2]) for c in read.cells(pos)]
    at = [centre(c[2]) for c in read.cells(nodes)]
    assert edges == sorted(edges) and at == sorted(at)
    for p, (left, right) in enumerate(zip(edges, edges[1:])):
        low, high = t.pos(1)[p : p + 2]
        assert all(left < x < right for x in at[low:high])
        assert all(x < left for x in at[:low]) and all(x > right for x in at[high:])


def test_nothing_overlaps():
    """Cells of one array stand side by side, whatever the format and however long its numbers."""
    for format in MATRICES:
        read = Read(st.from_dense(sample((7, 9)) * 12345.678, format).draw_storage())
        for array in read.groups("data-array"):
            rows = {}
            for _, text, (x, y, w, _), _ in read.cells(array):
                rows.setdefault(y, []).append((x, x + w, text, w))
            for cells in rows.values():
                for (_, right, *_), (left, *_) in zip(cells, cells[1:]):
                    assert left >= right, format
                for _, _, text, w in cells:
                    assert w >= 7 * len(text), format


def test_slots_outside_the_tensor():
    dia = st.from_dense(np.array([[1, 2, 0], [0, 3, 4], [0, 0, 5]]), "DIAI")
    read = Read(dia.draw_storage())
    slots = [(c[1], c[3]) for c in cells_of_values(read)]
    assert slots == [
        ("1", "stored"), ("3", "stored"), ("5", "stored"), ("2", "stored"), ("4", "stored"), ("·", "outside the tensor")
    ]  # fmt: skip
    assert "outside the tensor" in read.words()
    ell = Read(st.from_dense(BLOG, "ELL").draw_storage())
    assert [c[1] for c in cells_of_values(ell)] == ["1", "2", "3", "4", "5", "·"]
    ragged = Read(st.from_dense(np.ones((3, 3)), "BSR(2, 2)").draw_storage())
    assert sum(c[3] == "outside the tensor" for c in cells_of_values(ragged)) == 16 - 9


def test_sums_and_batches():
    a = np.zeros((8, 8))
    a[:4, :4], a[6, 1] = 1, 5
    read = Read(st.from_dense(a, "BSR(4, 4) + COO").draw_storage())
    assert [len(read.cells(g)) for g in read.groups("data-array", "values")] == [16, 1]
    assert any(w.startswith("part 1 · COO") for w in read.words())
    b = np.zeros((6, 2, 3))
    b[:, 0, 1] = np.arange(1, 7)
    t = st.from_dense(b, "(b, i, j) -> (b : batch, i : dense, j : compressed)")
    read = Read(t.draw_storage())
    assert read.array("values") == ["1", "2", "3", "4"] and "and 2 more batches" in read.words()
    assert read.array("pos", 2) == ["0", "1", "1"] * 4


@pytest.mark.parametrize("rank", [0, 1, 3, 4, 5])
def test_other_ranks(rank):
    for format in BY_RANK[rank]:
        t = st.from_dense(sample((2, 3, 4, 2, 3)[:rank]), format)
        read = Read(t.draw_storage(limit=3000))
        if len(t.parts) == 1 and not any(level.kind == "batch" for level in t.format.levels):
            inside = [c for c in cells_of_values(read) if c[3] != "outside the tensor"]
            assert len(inside) == t.nse, format


def test_empty_tensors_and_scalars():
    for format in BY_RANK[2]:
        for shape in ((0, 4), (4, 0), (0, 0)):
            t = st.from_dense(np.zeros(shape), format)
            Read(t.draw_storage())
            assert f"{shape[0]} x {shape[1]}" in str(t.draw_storage())
    assert Read(st.from_dense(np.array(3), "() -> ()").draw_storage()).array("values") == ["3"]
    empty_rows = Read(st.from_dense(np.zeros((3, 2)), "CSR").draw_storage())
    assert empty_rows.array("pos", 1) == ["0", "0", "0", "0"] and empty_rows.array("values") == []


def test_one_value_for_all():
    t = st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2]}, crd={1: [0, 1]}, values=np.broadcast_to(np.float32(1), 2))
    read = Read(t.draw_storage())
    assert read.array("values") == ["1", "1"] and "float32, one for all" in read.words()


def test_long_ones_are_cut_and_counted():
    n = 100_000
    t = st.from_coo((np.arange(n), np.arange(n)), np.ones(n), (n, n), "CSR")
    read = Read(t.draw_storage())
    assert len(read.array("values")) == 32 and len(read.text) < 120_000
    assert read.words().count("… 99 968 more") == 4  # of rows, pos, crd and values
    assert any("draw_raw()" in w for w in read.words())
    assert len(Read(t.draw_storage(limit=5)).array("values")) == 5
    vector = st.from_dense(np.zeros(1_000_000, np.int8), "dense")
    assert len(Read(vector.draw_storage()).array("values")) == 32


def test_text_is_as_before():
    d = st.from_dense(BLOG, "CSR").draw_storage()
    assert str(d) == repr(d) == d.text() == d.text(100)
    assert str(d).split("\n")[4] == "│ crd  0  7 │  2  3 │  7                         │"
    assert max(map(len, str(st.from_dense(BLOG, "CSR").draw_storage(30)).split("\n"))) <= 30
