"""t[...] with slices: as of NumPy's arrays, from every format, and what is stored stays so."""

import numpy as np
import pytest
import scipy.sparse as sp
from indexed import DTYPES, FORMATS, array

import strata as st


def some_key(r, shape):
    key = []
    for n in shape:
        kind = r.integers(0, 4)
        if kind == 0:
            key.append(int(r.integers(-n, n)))
        elif kind == 1:
            key.append(slice(None))
        else:
            ends = [None if r.random() < 0.3 else int(e) for e in r.integers(-n - 3, n + 4, 2)]
            key.append(slice(*ends, [None, 1, 2, 3, -1, -2, n + 5][r.integers(0, 7)]))
    return tuple(key)


@pytest.mark.parametrize("format", FORMATS)
def test_as_numpy(format):
    r = np.random.default_rng(FORMATS.index(format))
    for n in range(60):
        a = array(r, (int(r.integers(1, 9)), int(r.integers(1, 9))), DTYPES[n % len(DTYPES)])
        t, key = st.from_dense(a, format), some_key(r, a.shape)
        want, got = a[key], t[key]
        if not np.ndim(want):
            assert got == want
            continue
        assert got.shape == want.shape and got.dtype == want.dtype, key
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
        want, got = a[key], t[key]
        assert np.array_equal(got.to_dense() if np.ndim(want) else got, want), key


def test_dimensions_that_are_not_named():
    a = array(np.random.default_rng(0), (4, 5, 6), "float64")
    t = st.from_dense(a, "CSF")
    for key in (
        1,
        (1, 2),
        Ellipsis,
        (Ellipsis, 3),
        (2, Ellipsis, 1),
        slice(1, 3),
        (Ellipsis,),
        (slice(None), 2),
        np.int64(3),
    ):
        assert np.array_equal(t[key].to_dense(), a[key])
    assert t[...].format == t[1:3].format == t.format


def test_stored_values_survive():
    a = sp.csr_array(
        (np.array([0.0, -0.0, np.nan, np.inf, 5.0]), np.array([0, 2, 1, 3, 0]), np.array([0, 2, 2, 4, 5])), (4, 4)
    )
    t = st.from_scipy(a)
    for key in (
        slice(0, 3),
        slice(None, None, 2),
        (slice(None), slice(0, 3)),
        (slice(None, None, -1), slice(None, None, -1)),
    ):
        got, want = t[key], a[key]
        assert got.nse == want.nnz and got.format == t.format
        assert got.to_dense().tobytes() == want.toarray().tobytes() or np.isnan(want.toarray()).any()
    assert np.signbit(t[0:1, 2:3].values).all() and t[0:1, 2:3].nse == 1
    assert np.isnan(t[2, 1:2].values).all()


def test_fill_and_duplicates():
    d = np.full((5, 6), np.inf)
    d[1, 2], d[4, 0] = 1, 2
    t = st.from_dense(d, "CSR", fill=np.inf)
    assert (
        t[1:].fill == np.inf
        and np.array_equal(t[1:, ::2].to_dense(), d[1:, ::2])
        and np.array_equal(t[1].to_dense(), d[1])
    )
    twice = st.from_scipy(sp.coo_array((np.ones(3), ([0, 0, 1], [1, 1, 0])), (2, 2)))
    assert np.array_equal(twice[:, 1].to_dense(), [2, 0]) and np.array_equal(twice[::-1].to_dense(), [[1, 0], [0, 2]])


def test_neighbouring_rows_share_memory():
    a = sp.random_array((50, 40), density=0.2, format="csr", rng=np.random.default_rng(1))
    t = st.from_scipy(a)
    part = t[10:20]
    assert np.shares_memory(part.values, a.data) and np.array_equal(part.to_scipy().toarray(), a[10:20].toarray())
    del t
    part.validate()
    assert np.allclose(part @ np.ones(40), a[10:20] @ np.ones(40))
    shared = st.from_scipy(a.tocsc())[:, 5:7]
    assert np.array_equal(shared.to_dense(), a[:, 5:7].toarray())


def test_unaligned_and_shared_arrays():
    a = sp.random_array((30, 20), density=0.2, format="csr", rng=np.random.default_rng(2))
    odd = lambda x: np.frombuffer(b"\0" + x.astype(np.int32).tobytes(), np.uint8)[1:].view(np.int32)
    t = st.Tensor("CSR", a.shape, pos={1: odd(a.indptr)}, crd={1: odd(a.indices)}, values=a.data)
    assert np.array_equal(t[3:20:2, 4:].to_dense(), a.toarray()[3:20:2, 4:])
    twos = st.Tensor("CSR", a.shape, pos={1: a.indptr}, crd={1: a.indices}, values=np.broadcast_to(2.0, a.nnz))
    for key in (np.s_[2:9, ::3], np.s_[5:9], np.s_[::-2, ::-1], np.s_[4]):
        assert np.array_equal(twos[key].to_dense(), 2 * (a.toarray()[key] != 0))


@pytest.mark.parametrize("format", ("CSR", "CSC", "(i, j) -> (i : dense, j : compressed(unordered))"))
@pytest.mark.parametrize("density", (0.0005, 0.2))  # far more columns than elements, and long rows
def test_wide_matrices(format, density):
    r = np.random.default_rng(5)
    for n in range(40):
        a = array(r, (int(r.integers(1, 6)), 3000), DTYPES[n % len(DTYPES)], density)
        if format == "CSC":
            a = a.T.copy()
        t, key = st.from_dense(a, format), some_key(r, a.shape)
        if "unordered" in format and n % 2:  # columns that do not ascend
            backwards = lambda x: np.concatenate([row[::-1] for row in np.split(x, t.pos(1)[1:-1])])
            t = st.Tensor(format, a.shape, pos={1: t.pos(1)}, crd={1: backwards(t.crd(1))}, values=backwards(t.values))
        want, got = a[key], t[key]
        assert np.array_equal(got.to_dense() if np.ndim(want) else got, want), key
        if np.ndim(want):
            got.validate()


def test_cost_follows_what_is_taken():
    n = 2_000_000  # a row of it is asked for a thousand times: reading all of it each time would take minutes
    t = st.from_scipy(sp.csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), (n, n)))
    assert sum(t[k].nse for k in range(0, n, n // 1000)) == 1000


def test_what_is_refused():
    t = st.from_dense(np.eye(3), "CSR")
    with pytest.raises(st.DTypeError, match="integer or slice"):
        t["a"]
    with pytest.raises(st.IndexError, match=r"(?s)a coordinate leaves dimension 1.*from 0 to 2.*got +3$"):
        t[:, 3]
    with pytest.raises(st.IndexError, match=r"(?s)a coordinate leaves dimension 0.*got +-4$"):
        t[-4]
    with pytest.raises(st.IndexError, match="the dimension has extent 0"):
        t[:0][0]
    with pytest.raises(ValueError, match="zero"):
        t[::0]
