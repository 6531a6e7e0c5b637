"""pictures.py [--check]: the SVG files of docs/_static/pictures, which docs/pictures.md shows and tests compare.

`--check` says which differ from what the library draws now, and writes nothing.
"""

import pathlib
import sys

import numpy as np

import strata as st

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "docs" / "_static" / "pictures"

#: the matrix of the blog on the universal sparse tensor
BLOG = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def blocks():
    """6 x 8: full and half-full blocks, an element alone."""
    a = np.zeros((6, 8))
    a[0:2, 0:2] = [[1, 2], [3, 4]]
    a[2:4, 4:6] = [[5, 0], [6, 7]]
    a[5, 1] = 8
    return a


def cube():
    a = np.zeros((3, 3, 4), int)
    a[0, 0, 1], a[0, 2, 3], a[1, 1, 0], a[1, 1, 1], a[2, 0, 2] = range(1, 6)
    return a


def zeros():
    """An explicit zero, a NaN, and an element twice."""
    return st.from_coo(([0, 1, 2], [1, 3, 0]), np.array([2.5, 0.0, np.nan]), (3, 5), "COO")


def arrow(n):
    """Diagonals, one of them bent, an arrow, and a block that is fuller than the rest."""
    i = np.arange(n)
    rows, columns = [i, i, i, np.zeros(n, int), i], [i, (i + n // 7) % n, (i * i // n) % n, i, np.zeros(n, int)]
    block, spread = np.arange(n // 12), np.arange(16) * (n // 12) // 16
    rows.append(np.repeat(n // 2 + block, 16))
    columns.append((n // 4 + (block[:, None] + spread) % (n // 12)).ravel())
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    return st.from_coo((rows, columns), np.ones(len(rows)), (n, n), "CSR")


def beam(n=250):
    """Linear elasticity of n x n nodes, two unknowns each, as a solver numbers them: both halves, then the line between them."""
    from pyamg.gallery import linear_elasticity

    def dissected(nodes):
        if nodes.size <= 64:
            return nodes.ravel()
        if nodes.shape[0] < nodes.shape[1]:
            nodes = nodes.T
        middle = nodes.shape[0] // 2
        return np.concatenate([dissected(nodes[:middle]), dissected(nodes[middle + 1 :]), nodes[middle]])

    order = (2 * dissected(np.arange(n * n).reshape(n, n))[:, None] + [0, 1]).ravel()
    return st.from_scipy(linear_elasticity((n, n))[0].tocsr()[order][:, order]).to("CSR")


def shell(n):
    """Elements near the surface of a ball, and a diagonal through it."""
    i, j, k = np.indices((n, n, n)).reshape(3, -1)
    r = 4 * ((2 * i - n + 1) ** 2 + (2 * j - n + 1) ** 2 + (2 * k - n + 1) ** 2)
    keep = (r > (2 * n - 8) ** 2) & (r < (2 * n - 2) ** 2) & ((i < n // 2) | (j > n // 2) | (k < n // 2)) | (i == j) & (
        j == k
    )
    i, j, k = i[keep], j[keep], k[keep]
    return st.from_coo((i, j, k), np.ones(len(i)), (n, n, n), "COO")


def pictures():
    """Name -> Picture."""
    delta = st.from_dense(BLOG, "delta(2)")
    made = {
        "delta-storage": delta.draw_storage(),
        "delta-draw": delta.draw(),
        "csr-storage": st.from_dense(BLOG, "CSR").draw_storage(),
        "coo-storage": st.from_dense(BLOG, "COO").draw_storage(),
        "dia-storage": st.from_dense(BLOG[:, :4], "DIAI").draw_storage(),
        "ell-storage": st.from_dense(BLOG, "ELL").draw_storage(),
        "bitmap-storage": st.from_dense(BLOG, "Bitmap").draw_storage(),
        "csf-storage": st.from_dense(cube(), "CSF").draw_storage(),
        "bsr-storage": st.from_dense(blocks(), "BSR(2, 2)").draw_storage(),
        "bsr-draw": st.from_dense(blocks(), "BSR(2, 2)").draw(),
        "sum-draw": st.from_dense(blocks(), "BSR(2, 2) + COO").draw(),
        "sum-storage": st.from_dense(blocks(), "BSR(2, 2) + COO").draw_storage(),
        "zeros-draw": zeros().draw(),
        "cube-draw": st.from_dense(cube(), "CSF").draw(),
        "large-draw": arrow(1000).draw(limit=8),
        "csr-to-delta": st.draw_conversion(st.from_dense(BLOG, "CSR"), "delta(2)"),
        "csr-to-csc": st.draw_conversion(st.from_dense(blocks(), "CSR"), "CSC"),
        "matrix-raw": arrow(100_000).draw_raw(size=160),
        "beam-raw": beam().draw_raw(size=200),
        "cube-raw": shell(36).draw_raw(),
    }
    return made


def main(arguments):
    check = arguments == ["--check"]
    different = []
    made = pictures()
    for name, picture in made.items():
        path = FOLDER / f"{name}.svg"
        if not path.exists() or path.read_text(encoding="utf-8") != picture.svg:
            different.append(name)
            if not check:
                FOLDER.mkdir(parents=True, exist_ok=True)
                picture.save(path)
    different += [p.stem for p in FOLDER.glob("*.svg") if p.stem not in made]
    print(
        "\n".join(f"{FOLDER.name}/{name}.svg differs" for name in different) or f"{len(made)} pictures are as they were"
    )
    return 1 if check and different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
