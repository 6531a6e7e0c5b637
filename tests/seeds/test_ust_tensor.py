"""nvmath's Tensor beyond the blog post's snippets: its methods, and what they answer."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st
from strata import ust
from strata.ust import NamedFormats, Tensor

DENSE = np.array([[1.0, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def csr():
    return Tensor.from_package(sps.csr_array(DENSE))


def test_from_file(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 4\n3 1 5\n")
    t = Tensor.from_file(path)
    assert t.tensor_format == NamedFormats.COO and t.nse == 3
    assert t.to_package().toarray().tolist() == [[4, 0, 5], [0, 0, 0], [5, 0, 0]]
    with pytest.raises(st.FileError):
        Tensor.from_file(tmp_path / "nothing.mtx")


def test_arrays_of_levels():
    t = csr()
    assert t.pos(0) is None and t.crd(0) is None
    assert t.pos(1).tolist() == [0, 2, 4, 5] and t.crd(1).tolist() == [0, 7, 2, 3, 7]
    for level in (-1, 2):
        with pytest.raises(st.IndexError):
            t.pos(level)
    structured = t.convert(tensor_format=NamedFormats.Structured(2, 4))
    assert structured.pos(2) is None and structured.crd(2).tolist() == [0, 1, 0, 3, 2, 3, 0, 1, 0, 1, 0, 3]
    bitmap = t.convert(tensor_format=NamedFormats.bitmap)
    assert bitmap.pos(1).tolist() == [0, 2, 4, 5] and bitmap.crd(1).tolist() == [0, 7, 2, 3, 7]
    coo = t.convert(tensor_format=NamedFormats.COO)
    assert coo.pos(0).tolist() == [0, 5] and coo.pos(1) is None and coo.crd(1).tolist() == [0, 7, 2, 3, 7]


def test_what_is_no_tensor_is_refused():
    for wrong in (None, object(), "CSR", b"12345678", {1: 2}):
        with pytest.raises(st.Error):
            Tensor.from_package(wrong)
    with pytest.raises(st.TensorError):
        Tensor(sps.csr_array(DENSE))


def test_properties():
    t = csr()
    assert (t.extents, t.levels, t.size, t.num_dimensions, t.num_levels, t.nse) == ([3, 8], [3, 8], 24, 2, 2, 5)
    assert (t.dtype, t.index_type, t.device, t.device_id) == ("float64", "int32", "cpu", "cpu")
    assert isinstance(t.base, sps.csr_array)
    assert t.get_value((0, 7)) == 2 and t.get_value([0, 1]) is None


def test_convert_index_type_and_dtype():
    t = csr().convert(index_type="int16", dtype="float32")
    assert (t.index_type, t.dtype) == ("int16", "float32") and t.to_package().dtype == np.float32
    for wrong in ({"dtype": "float99"}, {"index_type": "float32"}, {"tensor_format": NamedFormats.DensedRight(3)}):
        with pytest.raises(st.TensorError):
            t.convert(**wrong)


def test_copies_and_pickles():
    t = csr()
    for other in (copy.copy(t), copy.deepcopy(t), pickle.loads(pickle.dumps(t)), t.clone()):
        assert repr(other) == repr(t) and (other.to_package().toarray() == DENSE).all()
    twice = Tensor.from_package(sps.csr_array(2 * DENSE))
    clone = t.clone()
    assert clone.copy_(twice) is clone and (clone.to_package().toarray() == 2 * DENSE).all()
    assert (t.to_package().toarray() == DENSE).all()
    for word in (ust.LevelFormat.DELTA, ust.LevelProperty.NONUNIQUE):
        assert pickle.loads(pickle.dumps(word)) is word


def test_draw_storage_writes_a_file(tmp_path):
    drawing = csr().draw_storage(name=str(tmp_path / "csr.txt"))
    assert (tmp_path / "csr.txt").read_text().strip() == str(drawing).strip()
    assert "crd  0  7 │  2  3 │  7" in str(drawing)
