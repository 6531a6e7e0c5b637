"""Pictures: a small matrix in every way there is, and a real one of 125,000 rows. `gallery.py FOLDER` keeps them."""

import pathlib
import sys
import tempfile

import numpy as np

import strata as st

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)

small = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])
for text in ("CSR", "COO", "DCSR", "BSR(2, 2)", "DIAI", "ELL", "Bitmap", "delta(2)", "BSR(2, 2) + COO"):
    A = st.from_dense(small, text)
    name = "".join(c for c in text.lower() if c.isalnum())
    A.draw().save(folder / f"{name}.svg")  # what stands where
    A.draw_storage().save(folder / f"{name}-storage.svg")  # which arrays hold it
st.draw_conversion(st.from_dense(small, "CSR"), "delta(2)").save(folder / "csr-to-delta.svg")
print(st.from_dense(small, "delta(2)").draw())

try:  # a steel beam under load: two unknowns a node, 3 x 3 neighbours
    from pyamg.gallery import linear_elasticity

    B = st.from_scipy(linear_elasticity((250, 250))[0]).to("BSR(2, 2)")
except ImportError:  # the five-point stencil of a square
    n = 354
    main, side = np.full(n * n, 4.0), np.full(n * n, -1.0)
    B = st.diags([side[n:], side[1:], main, side[1:], side[n:]], [-n, -1, 0, 1, n], format="CSR")
rows = np.random.default_rng(0).permutation(B.shape[0])
shuffled = B.to("CSR")[rows][:, rows]  # as a mesh generator may number it
for name, matrix in (("structure", B), ("structure-shuffled", shuffled)):
    matrix.draw_raw().save(folder / f"{name}.svg")
print(B.draw_raw(width=72))

points = np.random.default_rng(1).normal(size=(20_000, 3))
i, j, k = np.ascontiguousarray(np.clip((points * 20 + 64).astype(int), 0, 127).T)
st.from_coo((i, j, k), np.ones(len(i)), (128, 128, 128), "CSF").draw_raw().save(folder / "cloud.svg")
print(f"{len(list(folder.glob('*.svg')))} pictures in {folder}")
