"""Dtypes as texts: NumPy's names, ours, NumPy's codes, and those that have two meanings."""

import sys

import numpy as np
import pytest

import strata as st

A = st.from_dense(np.array([[1.0, 0], [0, 2]]), "CSR")
NAMES = [
    "f2",
    "f4",
    "f8",
    "i1",
    "i2",
    "i4",
    "u1",
    "u2",
    "u4",
    "c8",
    "c16",
    "?",
    "b1",
    "<i8",
    "=u8",
    "|u1",
    "<f4",
    "<c8",
]
WORDS = ["double", "single", "half", "intp", "int_", "cdouble", "d", "F", "B"]


@pytest.mark.parametrize("name", NAMES + WORDS)
def test_numpys_names(name):
    want = np.dtype(name)
    assert A.astype(name).dtype == want
    assert A.to(dtype=name).dtype == want
    assert st.zeros((2, 2), name).dtype == want
    assert st.eye(2, dtype=name).dtype == want
    assert st.from_coo(([0], [1]), [1], (2, 2), "CSR", dtype=name).dtype == want
    assert st.evaluate("y(i) = A(i,j)", A=st.zeros((2, 2), bool), dtype=name).dtype == want
    if name in NAMES:  # words might be those of formats
        assert A.to(name).dtype == want and A.to(name).format == A.format


def test_ours():
    for name, want in (
        ("f64", "float64"),
        ("f16", "float16"),
        ("c64", "complex64"),
        ("u32", "uint32"),
        ("bool", "bool"),
    ):
        assert A.to(name).dtype == np.dtype(want)
    assert A.to("bf16").dtype == "bfloat16" and A.astype("bfloat16").dtype == "bfloat16"


@pytest.mark.parametrize("name", ["i8", "u8"])
def test_two_meanings(name):
    for call in (
        A.to,
        A.astype,
        lambda n: st.zeros((2, 2), n),
        lambda n: A.to(dtype=n),
        lambda n: A.to("CSC", dtype=n),
    ):
        with pytest.raises(st.DTypeError, match="counts bits to some") as e:
            call(name)
        assert "int64" in e.value.fix
    assert A.astype(np.dtype(name)).dtype.itemsize == 8


def test_what_is_no_dtype():
    for name in ("S3", "O", "i4,i4", "f3", "<", "", "float46", "g", "M8[s]", "f128"):
        with pytest.raises(st.DTypeError):
            A.astype(name)
    with pytest.raises(st.DTypeError, match="write 'float64'"):
        A.astype("float46")
    with pytest.raises(st.FormatError):
        A.to("double")
    if sys.byteorder == "little":
        with pytest.raises(st.DTypeError, match="byte order"):
            A.astype(">f8")


def test_formats_are_not_called_like_dtypes():
    for name in ("f4", "i8", "F64", "float32", "bool"):
        with pytest.raises(st.FormatError, match="name of a dtype"):
            st.register_format(name, "CSR")
    with pytest.raises(st.FormatError):
        A.to("csrr")
