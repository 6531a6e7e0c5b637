"""draw_raw(): what a pixel counts is what NumPy's histogram of SciPy's coordinates counts."""

import numpy as np
import pytest
import scipy.sparse as sp
from named_formats import COMMON
from read_svg import Read

import strata as st

FORMATS = [*COMMON, "DIAI", "CROW", "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(4))"]


def histogram(coords, shape, cell):
    """NumPy's: cells of so many coordinates from 0 on."""
    edges = [np.arange(0, -(-n // c) * c + 1, c) - 0.5 for n, c in zip(shape, cell)]
    return np.histogramdd(np.array(coords).T.reshape(-1, len(shape)), bins=edges)[0].astype(int)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape,size", [((60, 60), 16), ((37, 101), 10), ((50, 40), 64), ((300, 7), 32)])
def test_counts_are_numpy_s(format, shape, size):
    a = sp.random_array(shape, density=0.1, rng=np.random.default_rng(1), format="coo")
    t = st.from_dense(a.toarray(), format)
    cell, counts, stored, left_out = st._core.density(t, size)
    wanted = np.histogram2d(*a.coords, bins=[np.arange(0, -(-n // c) * c + 1, c) - 0.5 for n, c in zip(shape, cell)])[0]
    assert counts.shape == wanted.shape and (counts == wanted).all()
    assert stored == a.nnz and left_out == t.nse - a.nnz
    assert max(counts.shape) <= size
    dots = Read(t.draw_raw(size)).dots()
    assert set(dots) == set(zip(*(i.tolist() for i in np.nonzero(wanted))))
    # The more elements, the darker.
    by_shade = [[int(wanted[at]) for at, s in dots.items() if s == shade] for shade in range(1, 7)]
    by_shade = [counts for counts in by_shade if counts]
    for fewer, more in zip(by_shade, by_shade[1:]):
        assert max(fewer) < min(more)


def test_explicit_zeros_count_and_fill_in_does_not():
    coo = st.from_coo(([0, 3], [1, 2]), np.array([0.0, 1.0]), (4, 4), "COO")
    assert st._core.density(coo, 4)[1].sum() == 2
    _, counts, stored, left_out = st._core.density(coo.to("BSR(2, 2)"), 4)
    assert counts.sum() == stored == 2 - 1 and left_out == 7
    assert any("7 slots that hold the fill" in w for w in Read(coo.to("BSR(2, 2)").draw_raw()).words())
    nan = st.from_dense(np.array([[np.nan, 0.0], [-0.0, 1.0]]), "dense")
    assert st._core.density(nan, 4)[1].tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "complex128", "bfloat16"])
def test_every_width_of_values(dtype):
    a = np.zeros((9, 9))
    a[1, 2] = a[5, 5] = a[8, 0] = 1
    for format in ("BSR(2, 2)", "dense", "CSR"):
        counts = st._core.density(st.from_dense(a, format).to(dtype), 16)[1]
        assert (counts == a).all(), format


def test_several_dimensions_and_batches():
    rng = np.random.default_rng(2)
    a = rng.random((12, 20, 9)) * (rng.random((12, 20, 9)) < 0.1)
    for format in ("CSF", "COO", "dense", "(b, i, j) -> (b : dense, i : dense, j : compressed)"):
        cell, counts, stored, _ = st._core.density(st.from_dense(a, format), 8)
        assert (counts == histogram(np.nonzero(a), a.shape, cell)).all() and stored == np.count_nonzero(a)
    b = np.zeros((3, 4, 5))
    b[:, 1, 2] = b[:, 3, 0] = 1
    t = st.from_dense(b, "(b, i, j) -> (b : batch, i : dense, j : compressed)")
    assert (st._core.density(t, 8)[1] == b).all()
    v = st.from_dense(np.eye(1, 1000, 700)[0], "SparseVector")
    assert np.flatnonzero(st._core.density(v, 10)[1]).tolist() == [7]
    assert st._core.density(st.from_dense(np.array(2.0), "() -> ()"), 4)[1].item() == 1


def test_millions_of_rows():
    n = 3_000_000
    i = np.arange(n)
    t = st.from_coo((i, (i * 7) % n), np.ones(n, np.float32), (n, n), "CSR")
    cell, counts, stored, _ = st._core.density(t, 256)
    wanted = np.bincount(i // cell[0] * counts.shape[1] + (i * 7) % n // cell[1], minlength=counts.size)
    assert (counts.ravel() == wanted).all() and stored == n
    picture = t.draw_raw()
    assert len(picture.svg) < 300_000 and "3000000 x 3000000" in str(picture)


def test_extents_beyond_doubles():
    """Coordinates that no double holds fall into their own cells."""
    n = 2**62
    at = np.array([0, n // 3, n - 1])
    t = st.Tensor("COO", (n, n), pos={0: [0, 3]}, crd={0: at, 1: at}, values=np.ones(3))
    cell, counts, _, _ = st._core.density(t, 100)
    assert {tuple(c) for c in np.argwhere(counts).tolist()} == {(int(c) // cell[0],) * 2 for c in at.tolist()}


def test_a_short_dimension_is_wide_enough_to_be_seen():
    t = st.from_coo((np.arange(0, 10_000, 3), np.zeros(3334, int)), np.ones(3334), (10_000, 40), "COO")
    _, counts, _, _ = st._core.density(t, 256)
    assert counts.shape == (250, 20)  # where pixels are square it would be one


def projected(counts):
    """What of a grid of cubes is seen from its corner: for each triangle the cube in front, worked out by sorting."""
    seen = {}
    i, j, k = np.nonzero(counts)
    for c in np.argsort(k + i - j, kind="stable"):  # from the back to the front
        p, q = int(k[c] + j[c]), int(i[c] + j[c])
        cube = (int(i[c]), int(j[c]), int(k[c]))
        for dp, dq, half, face in (
            (0, 0, 0, "a"),
            (0, 0, 1, "a"),
            (1, 0, 1, "b"),
            (1, 1, 0, "b"),
            (0, 1, 0, "c"),
            (1, 1, 1, "c"),
        ):
            seen[p + dp, q + dq, half] = (cube, face)
    return seen


def test_cubes_hide_what_is_behind_them():
    rng = np.random.default_rng(4)
    a = (rng.random((5, 6, 7)) < 0.3) * 1.0
    read = Read(st.from_dense(a, "COO").draw_raw())
    (group,) = read.groups("data-bins", "5 6 7")
    unit = min(28.0, 512 / (0.866 * 12))
    triangles = {}
    for path in group.iter("{http://www.w3.org/2000/svg}path"):
        face = path.get("class")[-1]
        for piece in path.get("d").split("M")[1:]:
            points = [tuple(map(float, p.split(" "))) for p in _pairs(piece.rstrip("z").replace("L", " "))]
            lattice = [
                (round(y / unit + x / (2 * 0.866 * unit), 2), round(y / unit - x / (2 * 0.866 * unit), 2))
                for x, y in points
            ]
            p, q = lattice[0]
            corners = [(a - p, b - q) for a, b in lattice]
            for half, third in ((0, (1, 0)), (1, (0, 1))):
                if any(abs(c[0] - third[0]) < 0.1 and abs(c[1] - third[1]) < 0.1 for c in corners):
                    triangles[round(p), round(q), half] = face
    assert triangles == {at: face for at, (_, face) in projected(a).items()}


def _pairs(text):
    n = text.split()
    return [f"{n[k]} {n[k + 1]}" for k in range(0, len(n), 2)]


def test_text_of_structure():
    n = 4000
    i = np.arange(n)
    sparse = str(st.from_coo((i, i), np.ones(n), (n, n), "CSR").draw_raw())
    rows = [line[1:-1] for line in sparse.split("\n") if line.startswith("│")]
    for r, row in enumerate(rows):  # Braille along the diagonal and nowhere else
        marks = [c for c, mark in enumerate(row) if mark != " "]
        assert marks and all(abs(c / len(row) - r / len(rows)) < 0.1 for c in marks)
        assert all(0x2800 < ord(row[c]) < 0x2900 for c in marks)
    dense = st.from_dense(np.triu(np.ones((60, 60))), "dense").draw_raw(width=40)
    rows = [line[1:-1] for line in str(dense).split("\n") if line.startswith("│")]
    assert rows[0].count("█") > rows[-1].count("█") and rows[-1].startswith("  ")
    for width in (24, 60, 120):
        assert max(map(len, st.from_dense(np.ones((70, 3)), "CSR").draw_raw(width=width).text().split("\n"))) <= width
    assert "summed along i" in str(st.from_dense(np.ones((2, 3, 4)), "COO").draw_raw())


def test_empty_ones():
    for shape in ((0, 4), (4, 0), (0,), (0, 2, 3)):
        t = st.from_dense(np.zeros(shape), "COO")
        assert "(empty)" in str(t.draw_raw()) and Read(t.draw_raw()).root.tag.endswith("svg")
    none = st.from_dense(np.zeros((5, 5)), "CSR")
    assert Read(none.draw_raw()).dots() == {} and "0 stored" in str(none.draw_raw())
    assert Read(st.from_dense(np.zeros((2, 2, 2)), "COO").draw_raw()).root.tag.endswith("svg")


def test_too_large_a_picture():
    t = st.from_dense(np.zeros((2, 2)), "CSR")
    with pytest.raises(st.TensorError, match="size is out of range"):
        t.draw_raw(10**6)
    n = 10_000
    cube = st.from_coo(([n - 1], [0], [5]), np.ones(1), (n, n, n), "COO")
    with pytest.raises(st.TensorError, match="too many cells") as e:
        cube.draw_raw(4096)
    assert e.value.fix == "give a smaller size"


def test_spy():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    a = sp.random_array((300, 200), density=0.02, rng=np.random.default_rng(0))
    figure, ax = pyplot.subplots()
    image = st.spy(st.from_scipy(a), ax, size=50)
    shown = np.nan_to_num(np.asarray(image.get_array().filled(np.nan))).astype(int)
    cell = 6
    assert (shown == histogram(a.tocoo().coords, a.shape, (cell, cell))).all() and shown.sum() == a.nnz
    assert ax.get_xlim() == (-0.5, 199.5) and ax.get_ylim() == (299.5, -0.5)
    pyplot.close(figure)
    with pytest.raises(st.TensorError, match="spy"):
        st.spy(st.from_dense(np.zeros((2, 2, 2)), "COO"), ax)
    with pytest.raises(st.ArgumentError, match="from_package"):
        st.spy(a, ax)
