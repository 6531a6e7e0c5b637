"""A matrix of yours: what it looks like, the storage that suits it, a linear system, and a file that keeps it. `own_matrix.py FILE`
takes .mtx, .npz, .mat, .tns, .h5, ...; without one a stencil is made."""

import pathlib
import sys
import tempfile

import numpy as np

import strata as st

folder = pathlib.Path(tempfile.mkdtemp())
if len(sys.argv) > 1:
    path = pathlib.Path(sys.argv[1])
else:
    path, n = folder / "laplace.mtx", 200
    st.write(path, st.diags([2.0, -1.0, -1.0], [0, 1, -1], shape=(n, n)))

A = st.read(path)
print(A.draw_raw(width=40))
A.draw_raw().save(folder / "structure.svg")

info = st.describe_structure(A)
print(info["text"])
print("store it as", info["recommended"], "-", info["why"])
B = A.to(info["recommended"])
x = np.linspace(0, 1, A.shape[1])
assert np.allclose(B @ x, A @ x)

if A.shape[0] == A.shape[1]:
    try:
        y, how = st.solve(B, B @ x, info=True)
        print(f"solved by {how.method}: largest difference {np.max(np.abs(y - x), initial=0):.1e}")
    except st.SingularError as e:
        print(e)

st.save(folder / f"{path.stem}.st", B)  # the storage that was chosen, exactly
assert st.load(folder / f"{path.stem}.st").equal(B, storage=True)
print(f"{folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}")
