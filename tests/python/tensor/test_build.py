"""st.Builder, st.Assembly and fill=, against from_coo, NumPy and SciPy."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "BSR(3, 4)", "DIA", "dense", "delta(4)", "ELL", "BSR(2, 2) + COO"]


def triplets(n=5000, shape=(23, 31), seed=0):
    rng = np.random.default_rng(seed)
    coords = tuple(rng.integers(0, extent, n) for extent in shape)
    return coords, rng.standard_normal(n) * 10.0 ** rng.integers(-8, 8, n), shape


def same_bits(a, b):
    assert a.format == b.format and a.dtype == b.dtype
    for x, y in zip(a.parts, b.parts):
        assert np.asarray(x.values).tobytes() == np.asarray(y.values).tobytes()
    return st.equal(a, b)


@pytest.mark.parametrize("format", FORMATS)
def test_an_assembly_is_from_coo(format):
    coords, values, shape = triplets()
    assembly = st.Assembly(coords, shape, format)
    got = assembly(values)
    assert same_bits(got, st.from_coo(coords, values, shape, format))
    assert len(assembly) == 5000 and assembly.shape == shape and assembly.nse == got.nse
    dense = np.zeros(shape)
    np.add.at(dense, coords, values)
    np.testing.assert_allclose(got.to_dense(), dense, rtol=1e-6, atol=1e-6)
    other = np.arange(5000)
    assert same_bits(assembly.assemble(other), st.from_coo(coords, other, shape, format))


def test_it_is_scipy_s_matrix():
    coords, values, shape = triplets()
    a, s = st.Assembly(coords, shape, "CSR")(values), sp.coo_array((values, coords), shape).tocsr()
    s.sum_duplicates()
    assert (a.pos(1) == s.indptr).all() and (a.crd(1) == s.indices).all()
    np.testing.assert_allclose(a.values, s.data, rtol=1e-6, atol=1e-6)


def test_tensors_share_the_pattern():
    coords, values, shape = triplets()
    assembly = st.Assembly(coords, shape)
    a, b = assembly(values), assembly(2 * values)
    assert np.shares_memory(a.crd(1), b.crd(1)) and not np.shares_memory(a.values, b.values)
    assert assembly.format == st.formats.CSR and "5000 values into CSR 23 x 31" in repr(assembly)


def test_threads_change_no_bit(settings):
    coords, values, shape = triplets(200000)
    assembly = st.Assembly(coords, shape, "BSR(2, 2)")
    settings.threads = 1
    one = assembly(values)
    for n in (2, 3, 8):
        settings.threads = n
        assert same_bits(assembly(values), one)


def test_a_long_sum_keeps_its_digits():
    n = 1 << 20
    a = st.Assembly((np.zeros(n, int), np.zeros(n, int)), (1, 1))(np.full(n, 0.1, np.float32))
    assert abs(a[0, 0] - n * np.float64(np.float32(0.1))) < 1


def test_dtypes_fill_and_shapes():
    assembly = st.Assembly(([0, 0], [1, 1]), (2, 2), dtype="int64")
    assert assembly(np.array([200, 200], np.uint8))[0, 1] == 400
    t = st.Assembly(([0, 0], [1, 1]), (2, 2), "BSR(2, 2)").assemble([1.0, 2.0], fill=np.inf)
    assert t.fill == np.inf and t.to_dense().tolist() == [[np.inf, 3], [np.inf, np.inf]]
    three = st.Assembly(([0, 1, 0], [1, 1, 1], [2, 0, 2]), (2, 2, 3), "CSF")([1.0, 2.0, 3.0])
    assert three[0, 1, 2] == 4 and three.nse == 2
    assert st.Assembly((np.empty(0, int), np.empty(0, int)), (2, 2))([]).nse == 0
    strided = np.arange(8.0)[::2]
    assert st.Assembly(([0, 1, 1, 0], [0, 1, 1, 0]), (2, 2))(strided.reshape(2, 2))[1, 1] == 6


def test_what_an_assembly_refuses():
    assembly = st.Assembly(([0, 1], [1, 0]), (2, 2))
    with pytest.raises(st.TensorError, match="2 of them, one for each coordinate"):
        assembly([1.0])
    with pytest.raises(st.IndexError):
        st.Assembly(([0, 2], [1, 0]), (2, 2))
    with pytest.raises(st.TensorError, match="one list of coordinates per dimension"):
        st.Assembly(([0, 1],), (2, 2))
    with pytest.raises(st.TensorError, match="do not broadcast"):
        st.Assembly(([0, 1], [1, 0, 1]), (2, 2))
    with pytest.raises(st.DTypeError):
        st.Assembly(([0.5], [1.0]), (2, 2))
    with pytest.raises(st.TensorError, match="too many elements in group"):
        st.Assembly(([0, 0, 0], [0, 1, 2]), (1, 4), "structured(2, 4)")
    with pytest.raises(st.ArgumentError, match="no argument 'formt'"):
        st.Assembly(([0], [0]), (2, 2), formt="CSR")


@pytest.mark.parametrize("step", [1, 7, 4096, 5000])
def test_a_builder_is_from_coo(step):
    coords, values, shape = triplets()
    b = st.Builder(shape)
    for k in range(0, 5000, step):
        b.add([c[k : k + step] for c in coords], values[k : k + step])
    assert len(b) == 5000 and b.shape == shape and b.dtype == np.float64
    for format in ("CSR", "BSR(2, 2)"):
        assert same_bits(b.build(format), st.from_coo(coords, values, shape, format))


@pytest.mark.parametrize("step", [100, 6000])
def test_threads_and_order(step):
    coords, values, shape = triplets(60000)
    expected = st.from_coo(coords, values, shape, "CSR")
    b = st.Builder(shape)

    def some(first):
        for k in range(first, 60000 // step, 3):
            at = slice(k * step, (k + 1) * step)
            b.add([c[at] for c in coords], values[at], order=k)

    threads = [threading.Thread(target=some, args=(k,)) for k in (2, 1, 0)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert same_bits(b.build("CSR"), expected)


def test_what_a_builder_takes():
    b = st.Builder((3, 3), "float32")
    b.add((0, 1), 2)
    b.add((np.arange(3), 0), 1.0)
    b.add((np.arange(3)[:, None], np.arange(3)), np.ones((3, 3)))
    assert b.build("CSR").to_dense().tolist() == [[2, 3, 1], [2, 1, 1], [2, 1, 1]]
    assert b.build(fill=9).fill == 9 and b.build().dtype == np.float32
    assert repr(b) == "Builder((3, 3), 'float32'): 13 elements"
    b.clear()
    assert len(b) == 0 and b.build("CSR").nse == 0


def test_what_a_builder_refuses():
    b = st.Builder((2, 2))
    with pytest.raises(st.DTypeError, match="of a kind that the builder holds"):
        b.add(([0], [0]), np.array([1j]))
    with pytest.raises(st.IndexError):
        b.add(([0, 2], [0, 0]), [1.0, 2.0])
    with pytest.raises(st.TensorError, match="differ in length"):
        b.add(([0, 1], [0, 0]), [1.0, 2.0, 3.0])
    with pytest.raises(st.TensorError):
        st.Builder((-1, 2))
    with pytest.raises(st.TensorError, match="a list for each dimension"):
        b.add(3, [1.0])
    for order in ("x", 0.5, 2**70):
        with pytest.raises(st.TensorError, match="integer of 64 bits"):
            b.add(([0], [0]), [1.0], order=order)
    with pytest.raises(st.ArgumentError, match="no argument 'ordr'"):
        b.add(([0], [0]), [1.0], ordr=1)
    assert len(b) == 0


@pytest.mark.parametrize("format", FORMATS)
def test_from_coo_with_a_fill(format):
    t = st.from_coo(([0, 1, 0], [1, 2, 1]), [1.0, 5.0, 2.0], (2, 3), format, fill=np.inf)
    t.validate()
    assert t.fill == np.inf
    assert t.to_dense().tolist() == [[np.inf, 3, np.inf], [np.inf, np.inf, 5]]


def test_from_coo_s_fill_must_fit():
    with pytest.raises(st.DTypeError):
        st.from_coo(([0], [0]), np.array([1]), (1, 1), fill=0.5)
    assert st.from_coo(([0], [0]), [1.0], (2, 2), fill=-0.0).fill == 0


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "lil", "dok"])
def test_from_scipy_with_a_fill(layout):
    a = sp.coo_array(([1.0, 5.0], ([0, 3], [1, 2])), (4, 4))
    a = a.tobsr((1, 1)) if layout == "bsr" else a.asformat(layout)
    t = st.from_scipy(a, fill=np.inf)
    expected = np.full((4, 4), np.inf)
    expected[0, 1], expected[3, 2] = 1, 5
    assert t.fill == np.inf and (t.to_dense() == expected).all()


def test_zeros_that_scipy_stores_stay_zeros():
    d = sp.dia_array((np.array([[0.0, 2.0, 3.0]]), [0]), (3, 3))
    assert st.from_scipy(d, fill=np.inf)[0, 0] == 0 and st.from_scipy(d, fill=np.inf)[0, 1] == np.inf
    b = sp.csr_array(np.array([[1.0, 0], [0, 0]])).tobsr((2, 2))
    assert st.from_scipy(b, fill=7)[1, 1] == 0
