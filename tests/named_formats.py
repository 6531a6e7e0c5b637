"""Formats that tests share: common ones of matrices; every named one of ranks 0 to 5, with arguments worth trying, and elements for them."""

import itertools

import numpy as np

import strata as st

#: matrices in each way of storing: what every function is tried on
COMMON = ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "BSR(2, 3)", "DIA", "ELL", "delta(4)", "bitmap", "dense"]
COMMON += ["BSR(4, 4) + COO"]

RANKS = ["", "(1)", "(3)", "(4)", "(5)"]
BATCH_DENSE = [(1, 0), (2, 0), (0, 1), (1, 1), (3, 0), (0, 2), (2, 1), (1, 2)]
SPARSE_DENSE = [(2, 0), (1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 2), (4, 1)]
COMPRESSED = ["", *map(str, BATCH_DENSE)]
BLOCKED = ["(2, 3)", "(3, 2)", *(f"(2, 3, {b}, {d})" for b, d in BATCH_DENSE)]

ARGUMENTS = {
    "dense": RANKS,
    "DenseLeft": RANKS,
    "COO": RANKS,
    "CSF": RANKS,
    "COOd": [*map(str, SPARSE_DENSE)],
    "CSR": COMPRESSED,
    "CSC": COMPRESSED,
    "BSR": ["(1, 1)", "(9, 9)", *BLOCKED],  # an element a block, and one block that is larger than the matrix
    "BSRRight": BLOCKED,
    "BSRRightd": BLOCKED,
    "BSRLeft": BLOCKED,
    "BSRCol": BLOCKED,
    "BSC": BLOCKED,
    "BSCRight": BLOCKED,
    "BSCRightd": BLOCKED,
    "BSCLeft": BLOCKED,
    "BSR3": ["(2, 2, 3)", "(3, 1, 2)"],
    "BlockVector": ["(3)", "(2)", "(9)"],
    "delta": ["(3)", "(1)", "(32)"],  # one bit bridges every gap; 32 bits never do
    "structured": ["(4, 4)", "(3, 3)"],  # room for all, so that nothing has to be pruned
    "ELL": ["", "(60)"],
    "BlockedELL": ["(2, 3)", "(3, 2)", "(2, 3, 40)"],
    "TiledCSR": ["(4, 3)", "(3, 2)"],
    "NestedBSR": ["(4, 4, 2, 2)", "(4, 6, 3, 4)"],  # inner blocks that divide the outer ones, and that do not
}


def texts():
    """One text per structure, under every name and all of its arguments."""
    seen = {}
    for name in st.formats.names():
        plain = name.partition("(")[0]
        if "mine" in plain or "of_test" in plain:  # registered by another test
            continue
        for arguments in ARGUMENTS.get(plain, [""]):
            seen.setdefault(st.Format(plain + arguments), plain + arguments)
    return seen


FORMATS = texts()
BY_RANK = {rank: [t for f, t in FORMATS.items() if f.rank == rank] for rank in range(6)}
PRUNED = ["structured(2, 4)", "structured(3, 4)", "structured(4, 8)"]  # what 2 of 4 fits into


def sample(shape):
    """Random elements, a NaN at the first place and -0.0 at the last, and an empty slice."""
    rng = np.random.default_rng(len(shape))
    density = 0.3 if np.prod(shape) < 300 else 0.05
    dense = np.where(rng.random(shape) < density, rng.integers(1, 9, shape), 0).astype(float)
    if len(shape) > 1:
        dense[1] = 0
    dense[(0,) * len(shape)] = np.nan
    dense[(-1,) * len(shape)] = -0.0
    return dense


def unsigned(array):
    """The same elements, every zero +0."""
    return np.where(array == 0, np.zeros((), array.dtype), array)


def after(dense, *formats):
    """What is left of the elements on their way through these formats, written as texts: whoever leaves a format that can
    hold fill-in for another one drops zeros of either sign; a dense target keeps the sign."""
    for a, b in itertools.pairwise(map(st.Format, formats)):
        finds_its_width = any(v.kind == "padded" and v.arg == 0 for part in b.parts for v in part.levels)
        if (a != b or finds_its_width) and a.can_hold_fill and not b.is_all_dense:
            dense = unsigned(dense)
    return dense


def two_of_four(shape):
    """Weights of which two of each four remain."""
    rng = np.random.default_rng(24)
    weights, order = rng.integers(1, 9, shape).astype(float), rng.random(shape)
    for first in range(0, shape[1], 4):
        group = np.s_[:, first : first + 4]
        weights[group][order[group].argsort(axis=1).argsort(axis=1) >= 2] = 0
    return weights
