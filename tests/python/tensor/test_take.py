"""t[[2, 0, 2]], t[:, mask]: lists of coordinates and of truth values, as NumPy and SciPy index."""

import numpy as np
import pytest
import scipy.sparse as sp
from indexed import DTYPES, FORMATS, array

import strata as st


def some_list(r, n):
    kind = r.integers(0, 5)
    if kind == 0:
        return r.random(n) < 0.5  # truth values
    if kind == 1:
        return np.sort(r.choice(n, r.integers(0, n + 1), replace=False)).astype(r.choice(["int32", "uint8", "int64"]))
    return [int(c) for c in r.integers(-n, n, r.integers(0, 2 * n))]


def some_key(r, shape):
    """One list, the other dimensions by integers or slices, none of which stands between an integer and the list."""
    listed = int(r.integers(0, len(shape)))
    key = [slice(None, None, int(r.choice([1, 2, -1]))) for _ in shape]
    key[listed] = some_list(r, shape[listed])
    if len(shape) > 1 and r.random() < 0.4:
        beside = listed + 1 if listed + 1 < len(shape) else listed - 1
        key[beside] = int(r.integers(-shape[beside], shape[beside]))
    return tuple(key)


@pytest.mark.parametrize("format", FORMATS)
def test_as_numpy(format):
    r = np.random.default_rng(FORMATS.index(format))
    for n in range(60):
        a = array(r, (int(r.integers(1, 9)), int(r.integers(1, 9))), DTYPES[n % len(DTYPES)])
        t, key = st.from_dense(a, format), some_key(r, a.shape)
        want, got = a[key], t[key]
        assert got.shape == want.shape and got.dtype == want.dtype, key
        got.validate()
        assert np.array_equal(got.to_dense(), want), key
        assert got.format.is_all_dense == t.format.is_all_dense


@pytest.mark.parametrize("rank", (1, 3, 4))
def test_other_ranks(rank):
    r = np.random.default_rng(rank)
    for _ in range(60):
        a = array(r, tuple(r.integers(1, 7, rank)), "float64")
        t, key = (
            st.from_dense(a, "CSF" if rank == 3 else f"COO({rank})" if rank > 1 else "(i) -> (i : compressed)"),
            some_key(r, a.shape),
        )
        assert np.array_equal(t[key].to_dense(), a[key]), key


def test_ways_to_say_it():
    a = array(np.random.default_rng(0), (5, 6), "float64")
    t = st.from_dense(a, "CSR")
    for key in (
        [0, 2],
        np.array([4, -1]),
        ((1, 1, 0), slice(None)),
        (Ellipsis, [5, 0]),
        (slice(1, 4), [0, 3]),
        [],
        (2, [1, 0]),
        ([3, 3], -1),
        [True, False, True, False, False],
    ):
        assert np.array_equal(t[key].to_dense(), a[key]), key
    assert t[[1, 3]].format == t[:, [5, 0, 0]].format == t.format
    torch = pytest.importorskip("torch")
    assert np.array_equal(t[torch.tensor([3, 1])].to_dense(), a[[3, 1]])


@pytest.mark.parametrize("layout", ("csr", "csc"))
@pytest.mark.parametrize("columns", (300, 2_000_000))  # a table of places, and a search for them
def test_beside_scipy(layout, columns, settings):
    r = np.random.default_rng(1)
    a = sp.random_array((4000, columns), density=8 / columns, format=layout, rng=r)
    t = st.from_scipy(a)
    for threads in (1, 3):
        settings.threads = threads
        for k in range(2):
            rows, some = r.integers(0, 4000, 9000), r.integers(0, columns, 500)
            picked = np.unique(some) if k else some
            for got, want in ((t[rows], a[rows]), (t[:, picked], a[:, picked])):
                want.sort_indices()
                assert (
                    got.format == t.format
                    and np.array_equal(got.pos(1), want.indptr)
                    and np.array_equal(got.crd(1), want.indices)
                )
                assert np.array_equal(got.values, want.data)


def test_stored_values_survive():
    a = sp.csr_array(
        (np.array([0.0, -0.0, np.nan, np.inf, 5.0]), np.array([0, 2, 1, 3, 0]), np.array([0, 2, 2, 4, 5])), (4, 4)
    )
    for format in ("CSR", "CSC", "COO"):
        t = st.from_scipy(a).to(format)
        got = t[[0, 0, 2]]
        assert got.nse == 6 and np.signbit(got[:, [2]].values).all() and got[:, [2]].nse == 2
        assert np.isnan(t[[2], 1].values).all()
    d = np.full((5, 6), np.inf)
    d[1, 2] = 1
    t = st.from_dense(d, "CSR", fill=np.inf)
    assert (
        t[[4, 1]].fill == np.inf
        and np.array_equal(t[[4, 1, 1]].to_dense(), d[[4, 1, 1]])
        and np.array_equal(t[:, [2, 0]].to_dense(), d[:, [2, 0]])
    )
    one = st.Tensor("CSR", (4, 4), pos={1: a.indptr}, crd={1: a.indices}, values=np.broadcast_to(2.0, a.nnz))
    assert (
        np.array_equal(one[[3, 0]].to_dense(), 2.0 * np.array([[1, 0, 0, 0], [1, 0, 1, 0]])) and one[:, [0, 0]].nse == 4
    )


@pytest.mark.parametrize("dtype", ("int8", "uint8", "uint16", "int32", "int64"))
def test_narrow_positions(dtype):
    """Rows that repeat are more than 8 or 16 bits count."""
    a = np.array([[1.0, 0, 2], [0, 3, 0]])
    t = st.Tensor(
        "CSR",
        (2, 3),
        pos={1: np.array([0, 2, 3], dtype)},
        crd={1: np.array([0, 2, 1], np.int32)},
        values=np.array([1.0, 2, 3]),
    )
    for n in (5, 50, 200, 40_000):
        rows = np.arange(n) % 2
        got = t[rows]
        got.validate()
        assert np.array_equal(got.to_dense(), a[rows])
        assert np.array_equal(t[:, np.arange(n) % 3].to_dense(), a[:, np.arange(n) % 3])


def test_narrow_coordinates():
    a = np.eye(200)[:, :100]
    t = st.Tensor(
        "CSR",
        a.shape,
        pos={1: np.minimum(np.arange(201), 100)},
        crd={1: np.arange(100, dtype=np.uint8)},
        values=np.ones(100),
    )
    many = np.arange(1000) % 100  # more columns than 8 bits count
    assert np.array_equal(t[:, many].to_dense(), a[:, many])


def test_what_is_refused():
    t = st.from_dense(np.eye(3), "CSR")
    with pytest.raises(st.IndexError, match=r"(?s)a coordinate leaves dimension 0.*from 0 to 2.*got +3$"):
        t[[0, 3]]
    with pytest.raises(st.IndexError, match=r"(?s)a coordinate leaves dimension 1.*got +-4$"):
        t[:, [-4]]
    with pytest.raises(st.IndexError, match="truth values does not fit dimension 0"):
        t[[True, False]]
    with pytest.raises(st.DTypeError, match="(?s)holds no integers.*float64"):
        t[[0.0, 1.0]]
    with pytest.raises(st.Unsupported, match="(?s)lists that are paired, beside a slice.*t.rows..:, columns."):
        st.from_dense(np.ones((2, 2, 2)), "CSF")[[0, 1], [1, 0]]
    with pytest.raises(st.IndexError):
        t[np.array([2**64 - 1], np.uint64)]
    with pytest.raises(st.Unsupported, match="between an integer and a list"):
        st.from_dense(np.ones((2, 2, 2)), "CSF")[0, :, [1, 0]]
