"""What the compilers are asked to compute, and what TACO, Scorch and MLIR once took for it on another machine.

U and V are 100,000 x 100,000 with 10 elements in every row, uniform; P has 2.0 million elements in rows that follow Zipf's law (the longest has
11,000); T is 10,000 x 5,000 x 2,000 with a million elements. float32, int32.
"""

import dataclasses
import functools

import numpy as np
import scipy.sparse as sp

ROWS, COLUMNS, RANK = 100_000, 64, 32
SHAPE = (10_000, 5_000, 2_000)


@dataclasses.dataclass(frozen=True)
class Sparse3:
    """Coordinates (3 x elements, sorted) and values of a tensor of three dimensions."""

    at: np.ndarray
    data: np.ndarray
    shape: tuple

    def csf(self):
        """(pos, crd) of each of its three levels, all compressed."""
        levels, begins = [], np.array([0, self.at.shape[1]])  # where each node of the level begins among the elements
        for depth in range(3):
            new = np.any(np.diff(self.at[: depth + 1], axis=1, prepend=-1) != 0, axis=0)
            starts = np.flatnonzero(new)
            levels.append((np.searchsorted(starts, begins).astype(np.int32), self.at[depth, starts]))
            begins = np.append(starts, self.at.shape[1])
        return levels


def letters(text):
    """Of the operands, in the order of the text."""
    return [part.strip()[0] for part in text.split("=")[1].replace("+", "*").split("*")]


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    text: str
    names: tuple  # of the operands, in the order of the text: which array each letter stands for
    result: tuple  # the shape of the result
    sparse: bool = False  # CSR or dense
    theirs: dict = dataclasses.field(default_factory=dict)  # {threads: (compiler, milliseconds)} on the other machine

    @functools.cached_property
    def operands(self):
        return {letter: array(name) for letter, name in zip(self.letters, self.names)}

    @property
    def letters(self):
        return letters(self.text)

    def sum(self):
        """The sum of the values of the result, by SciPy and NumPy in float64."""
        ops = [
            a.astype(np.float64) if isinstance(a, (sp.csr_matrix, np.ndarray)) else a for a in self.operands.values()
        ]
        if self.name.startswith("SDDMM"):
            a, x, b = ops
            row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
            return sum(
                np.sum(a.data[s] * np.sum(x[row[s]] * b[a.indices[s]], axis=1))
                for s in np.array_split(np.arange(a.nnz), 16)
            )
        if self.name.startswith("MTTKRP"):
            t, c, d = ops
            return sum(
                np.sum(t.data[s, None] * c[t.at[1, s]] * d[t.at[2, s]])
                for s in np.array_split(np.arange(len(t.data)), 16)
            )
        return (ops[0] + ops[1] if "+" in self.text else ops[0] @ ops[1]).sum()


def uniform(seed, n=ROWS, each=10):
    r = np.random.default_rng(seed)
    crd = np.sort(r.integers(0, n - each + 1, (n, each)), axis=1) + np.arange(each)  # ascending, none twice
    return sp.csr_matrix(
        (r.random(n * each, np.float32), crd.ravel().astype(np.int32), np.arange(n + 1, dtype=np.int32) * each), (n, n)
    )


def power_law(seed, n=ROWS, count=2_000_000, longest=11_000):
    r = np.random.default_rng(seed)
    weight = 1 / (np.arange(n) + 1.0) ** 0.75
    rows = np.minimum(np.round(weight / weight.sum() * count), longest).astype(int) + 1
    pos = np.concatenate([[0], np.cumsum(r.permutation(rows))])
    at = np.unique(np.repeat(np.arange(n), np.diff(pos)) * n + r.integers(0, n, pos[-1]))
    return sp.csr_matrix((r.random(len(at), np.float32), (at // n, at % n)), (n, n))


def three_dimensions(seed, shape=SHAPE, count=1_000_000):
    r = np.random.default_rng(seed)
    at = np.unique(np.ravel_multi_index([r.integers(0, n, count) for n in shape], shape))
    return Sparse3(np.stack(np.unravel_index(at, shape)).astype(np.int32), r.random(len(at), np.float32), shape)


@functools.cache
def array(name):
    if name in "UVPT":
        return {"U": uniform, "V": uniform, "P": power_law, "T": three_dimensions}[name]("UVPT".index(name) + 1)
    shape = {"x": (ROWS,), "X": (ROWS, COLUMNS), "B": (ROWS, COLUMNS), "C": (SHAPE[1], RANK), "D": (SHAPE[2], RANK)}[
        name
    ]
    return np.random.default_rng(ord(name)).random(shape, np.float32)


VECTOR, MATRIX, SQUARE = (ROWS,), (ROWS, COLUMNS), (ROWS, ROWS)
TASKS = [
    Task("SpMV U", "y(i) = A(i,j) * x(j)", ("U", "x"), VECTOR, False, {1: ("TACO", 0.38), 2: ("TACO", 0.26)}),
    Task("SpMV P", "y(i) = A(i,j) * x(j)", ("P", "x"), VECTOR, False, {1: ("MLIR", 1.8), 2: ("TACO", 1.0)}),
    Task("SpMM U", "C(i,k) = A(i,j) * X(j,k)", ("U", "X"), MATRIX, False, {1: ("MLIR", 16), 2: ("TACO, Scorch", 17)}),
    Task("SpMM P", "C(i,k) = A(i,j) * X(j,k)", ("P", "X"), MATRIX, False, {1: ("MLIR", 36), 2: ("Scorch", 29)}),
    Task(
        "SDDMM U",
        "C(i,j) = A(i,j) * X(i,k) * B(j,k)",
        ("U", "X", "B"),
        SQUARE,
        True,
        {1: ("TACO", 30), 2: ("Scorch", 21)},
    ),
    Task("SpGEMM U V", "C(i,k) = A(i,j) * B(j,k)", ("U", "V"), SQUARE, True, {1: ("MLIR", 545), 2: ("Scorch", 238)}),
    Task(
        "MTTKRP T",
        "M(i,r) = T(i,j,k) * C(j,r) * D(k,r)",
        ("T", "C", "D"),
        (SHAPE[0], RANK),
        False,
        {1: ("MLIR", 4.6), 2: ("TACO", 3.6)},
    ),
    Task("U + V", "C(i,j) = A(i,j) + B(i,j)", ("U", "V"), SQUARE, True, {1: ("Scorch", 16), 2: ("TACO", 14)}),
]
