"""Slots beyond the extents cost nothing: here there are 2^32 of them and more, all sharing one value. A walk that looked
at each would take minutes; each of these tests takes milliseconds, and has ten seconds."""

import pickle
import time

import numpy as np
import pytest

import strata as st

BIG = 2**32


@pytest.fixture(autouse=True)
def quickly():
    start = time.monotonic()
    yield
    assert time.monotonic() - start < 10


def shared(slots, value=3):
    return np.broadcast_to(np.int8(value), (slots,))


def diagonals(name, offsets, shape=(BIG, BIG)):
    extent = shape[0] if name == "DIAI" else shape[1]
    pos = {0: [0, len(offsets)]}
    return st.Tensor(name, shape, pos=pos, crd={0: offsets}, values=shared(len(offsets) * extent))


def expected_of(offsets, shape=(BIG, BIG)):
    """What lies on diagonals that touch the matrix in a few elements only."""
    found = []
    for d in offsets:
        first, last = max(0, -d), min(shape[0], shape[1] - d)
        found += [(i, i + d) for i in range(first, last)]
    return sorted(found)


@pytest.mark.parametrize("name", ["DIAI", "DIAJ"])
@pytest.mark.parametrize("shape", [(BIG, BIG), (BIG, 7), (5, BIG), (BIG - 1, BIG // 2)])
def test_diagonals_at_the_corners(name, shape):
    offsets = [-shape[0] + 1, -shape[0] + 2, shape[1] - 3, shape[1] - 1]
    t = diagonals(name, offsets, shape)
    wanted = expected_of(offsets, shape)
    t.validate()
    assert t.nse == len(wanted)
    assert sorted(c for c, _ in t.items()) == wanted and {int(v) for _, v in t.items()} == {3}
    for target in ("COO", "DCSR", "(i, j) -> (j : compressed, i : compressed)"):
        to = t.to(target)
        assert sorted(c for c, _ in to.items()) == wanted
    assert t[wanted[0]] == 3 and t[wanted[-1]] == 3
    assert st.equal(t, pickle.loads(pickle.dumps(t)), storage=True)
    assert f"{len(wanted)} stored" in str(t.draw_storage())


def test_blocks_at_the_border():
    """One block of 2^31 x 2^31, of which 2 x 3 elements lie in the matrix."""
    side = 2**31
    shape = (side + 2, side + 3)
    t = st.Tensor(f"BSR({side}, {side})", shape, pos={1: [0, 0, 1]}, crd={1: [1]}, values=shared(side * side))
    wanted = [(side + i, side + j) for i in range(2) for j in range(3)]
    t.validate()
    assert t.nse == 6 and [c for c, _ in t.items()] == wanted
    assert sorted(c for c, _ in t.to("COO").items()) == wanted
    assert t[side + 1, side + 2] == 3


def test_skew_below_a_padded_level():
    shape = (4, BIG)
    t = st.Tensor(
        "(i, j) -> (i : dense, j / 4294967295 : padded(2), j % 4294967295 : dense)",
        shape,
        crd={1: np.array([1, -1, 1, -1, -1, -1, 1, -1], np.int32)},
        values=shared(8 * (BIG - 1)),
    )
    wanted = [(0, BIG - 1), (1, BIG - 1), (3, BIG - 1)]
    assert t.nse == 3 and [c for c, _ in t.items()] == wanted
    assert sorted(c for c, _ in t.to("COO").items()) == wanted


def test_batches_of_diagonals():
    t = st.Tensor(
        "(b, i, j) -> (b : dense, j - i : compressed, i : range)",
        (3, BIG, BIG),
        pos={1: [0, 1, 1, 2]},
        crd={1: [BIG - 1, -BIG + 1]},
        values=shared(2 * BIG),
    )
    wanted = [(0, 0, BIG - 1), (2, BIG - 1, 0)]
    assert t.nse == 2 and [c for c, _ in t.items()] == wanted
    assert sorted(c for c, _ in t.to("COO(3)").items()) == wanted


def test_more_elements_than_memory_holds_are_refused():
    """The main diagonal lies inside: 2^32 elements are no longer a few. Nothing is gathered before that is known."""
    t = diagonals("DIAI", [0], (BIG * 64, BIG * 64))
    assert t.nse == BIG * 64
    with pytest.raises(MemoryError):
        t.items()
    with pytest.raises(MemoryError):
        t.to("COO")


NESTED = [
    "(i, j) -> (j / 6 : dense, i : dense, (j % 6) / 2 : dense, (j % 6) % 2 : dense)",
    "(i, j) -> (i : dense, j / 12 : compressed, (j % 12) / 4 : dense, (j % 12) % 4 : dense)",
    "(i, j) -> (i / 8 : dense, j : compressed, (i % 8) / 2 : dense, (i % 8) % 2 : dense)",
    "(i, j) -> (i / 8 : compressed, j / 8 : compressed, (i % 8) / 2 : dense, (j % 8) / 2 : dense, (i % 8) % 2 : dense, (j % 8) % 2 : dense)",
]


@pytest.mark.parametrize("format", NESTED)
@pytest.mark.parametrize("engine", ["auto", "jit", "interpreter"])
def test_pieces_that_lie_outside_as_a_whole(format, engine, monkeypatch):
    """Of a block split once more the last pieces begin beyond the extent: nothing of them is read, in front of them neither."""
    monkeypatch.setattr(st.settings, "engine", engine)
    rng = np.random.default_rng(5)
    for rows, columns in ((6, 1), (1, 6), (3, 13), (13, 3), (9, 7), (17, 25)):
        d = np.where(rng.random((rows, columns)) < 0.6, rng.integers(1, 9, (rows, columns)), 0).astype(float)
        t, x = st.from_dense(d, format), rng.integers(-5, 5, (columns, 3)).astype(float)
        assert np.array_equal(t @ x, d @ x) and np.array_equal(t @ x[:, 0], d @ x[:, 0])
        assert np.array_equal(st.einsum("ij->", t), d.sum()) and np.array_equal(st.einsum("ij->j", t), d.sum(0))
        assert np.array_equal(st.einsum("ij,i->j", t, x[:1, 0].repeat(rows)), d.sum(0) * x[0, 0])
        assert np.array_equal(st.einsum("ij,ij->", t, d), (d * d).sum())
        wide = np.broadcast_to(rng.integers(-5, 5, (rows, 4)).astype(float), (rows, 4))
        if columns == 1:  # stretched
            assert np.array_equal(st.einsum("ki,ki->", t, wide), (d * wide).sum())
