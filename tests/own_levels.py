"""Level types that are registered from outside, for tests and campaigns: one of each shape that a definition can have."""

import re

import numpy as np

import strata as st

REGISTERED = 200_000_000  # seeds from here on draw these too


def _pos(parent, parents, slots=None):
    counts = np.zeros(parents, np.int64)
    np.add.at(counts, parent, 1 if slots is None else slots)
    return np.concatenate([[0], np.cumsum(counts)])


def skyline(parent, coordinate, parents, lo, size, n):
    """From the first element of each parent to its last: George and Liu's envelope."""
    first, last = np.zeros(parents, np.int64), np.full(parents, -1, np.int64)
    first[parent[::-1]], last[parent] = coordinate[::-1], coordinate
    pos = np.concatenate([[0], np.cumsum(last - first + 1)])
    return pos, first, pos[parent] + coordinate - first[parent]


def gaps(parent, coordinate, parents, lo, size, n):
    """How far from the element before, as delta has it, but without a limit."""
    crd = coordinate - lo
    same = parent[1:] == parent[:-1]
    crd[1:][same] = coordinate[1:][same] - coordinate[:-1][same] - 1
    return _pos(parent, parents), crd, np.arange(len(parent))


def halves(parent, coordinate, parents, lo, size, n):
    """Two digits of each coordinate."""
    digits = np.stack([(coordinate - lo) // n, (coordinate - lo) % n], axis=1)
    return _pos(parent, parents), digits.reshape(-1), np.arange(len(parent))


def whole(parent, coordinate, parents, lo, size, n):
    """Every coordinate, without an array."""
    return None, None, parent * size + coordinate - lo


st.register_level("skyline", "crd[parent] + p - first", crd_entries="parents", fills=True, build=skyline)
st.register_level("gaps", "previous + crd[p] + 1", build=gaps)
st.register_level("halves", "lo + n * crd[2 * p] + crd[2 * p + 1]", crd_entries="2 * positions", build=halves)
st.register_level("whole", "lo + p - first", slots="size", fills=True, build=whole)


def with_own_levels(rng, text):
    """The same format with some of its levels replaced."""

    def other(level):
        kind = level.group(1)
        if kind == "dense":
            return ": whole" if rng.random() < 0.15 else level.group(0)
        if rng.random() < 0.3:
            return level.group(0)
        return ": " + str(rng.choice(["skyline", "gaps", "halves(3)"]))

    return re.sub(r": (dense|compressed|bitmap|padded|delta\(\d+\))(?!\()", other, text)
