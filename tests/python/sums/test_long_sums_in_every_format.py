"""A sum of float32 that has more than 2,048 terms keeps its digits, wherever these stand in the storage: one place of the
result has as many as its dimensions allow, all others few. Compared with NumPy's sum in float64."""

import numpy as np
import pytest

import strata as st

MATRICES = [
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "(i, j) -> (j : compressed(nonunique), i : singleton)",
    "BSR(2, 8)",
    "ELL",
    "(i, j) -> (i : dense, j : delta(4))",
    "(i, j) -> (j : dense, i : delta(4))",
    "(i, j) -> (i : dense, j : bitmap)",
    "(i, j) -> (j : dense, i : bitmap)",
    "(i, j) -> (j - i : compressed, i : range)",
    "(i, j) -> (j - i : compressed, j : range)",
    "(i, j) -> (j / 4 : dense, i : compressed, j % 4 : dense)",
    "(i, j) -> (i / 4 : compressed, j : compressed, i % 4 : dense)",
]
TENSORS = [
    "CSF",
    "COO",
    "(i, j, k) -> (j : compressed, i : compressed, k : compressed)",
    "(i, j, k) -> (i : dense, k : compressed, j : compressed)",
    "(i, j, k) -> (j : dense, i : compressed, k : dense)",
    "(i, j, k) -> (i : dense, j : bitmap, k : dense)",
    "(i, j, k) -> (i : batch, j : dense, k : compressed)",
    "(i, j, k) -> (i : batch, k : dense, j : compressed)",
    "(i, j, k) -> (i : compressed(nonunique), k : singleton, j : singleton)",
    "(i, j, k) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense, k : dense)",
]
#: The shape, and the dimensions that are summed.
OF_MATRICES = [((16, 32768), (1,)), ((32768, 16), (0,)), ((512, 96), (0, 1))]
OF_TENSORS = [
    ((4, 10000, 24), (1,)),
    ((10000, 4, 24), (0,)),
    ((4, 24, 10000), (2,)),
    ((64, 512, 8), (0, 1)),
    ((64, 8, 512), (0, 2)),
    ((8, 64, 512), (1, 2)),
]


@pytest.mark.parametrize(
    ("format", "shape", "summed"),
    [(f, *c) for f in MATRICES for c in OF_MATRICES] + [(f, *c) for f in TENSORS for c in OF_TENSORS],
)
def test_keep_their_digits(format, shape, summed):
    dense = np.zeros(shape, "float32")
    dense[np.random.default_rng(0).random(shape) < 0.002] = 0.1
    dense[tuple(slice(None) if d in summed else n // 2 for d, n in enumerate(shape))] = 0.1
    exact = dense.astype("float64").sum(summed)
    names = "ijk"[: len(shape)]
    kept = [n for d, n in enumerate(names) if d not in summed]
    a, sums = f"A({', '.join(names)})", [names[d] for d in summed]
    ones = {f"v{n}": np.ones(shape[names.index(n)], "float32") for n in sums}
    rows = {n: v for n, v in ones.items() if n != f"v{sums[-1]}"} | {"X": np.ones((shape[summed[-1]], 8), "float32")}

    def product(operands, last=""):
        return " * ".join([a, *(f"{n}({n[1]})" for n in operands if n != "X")]) + last

    y = f"y({', '.join(kept)})" if kept else "y"
    texts = {
        f"{y} = {product(ones)}": ones,
        f"{y} = sum({', '.join(sums)}, relu({a}))": {},
        f"y({', '.join([*kept, 'c'])}) = {product(rows, f' * X({sums[-1]}, c)')}": rows,
    }
    A = st.from_dense(dense, "COO").to(format)
    for text, operands in texts.items():
        got = st.evaluate(text, A=A, **operands, format="dense")
        want = exact[..., None] if "X" in operands else exact
        np.testing.assert_allclose(np.asarray(got), np.broadcast_to(want, got.shape), rtol=2e-5, err_msg=text)
