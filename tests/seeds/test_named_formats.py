"""nvmath's named formats and builders: its names, its parameters (also by keyword, in any order), what they print."""

import pickle

import numpy as np
import pytest

import strata as st
from strata import ust
from strata.ust import NamedFormats

D, C, S, R, B = (f"<LevelFormat.{n}>" for n in ("DENSE", "COMPRESSED", "SINGLETON", "RANGE", "BATCH"))
N = f"({C}, <LevelProperty.NONUNIQUE>)"

DIRECT = {
    "Scalar": "[] -> ()",
    "DenseVector": f"[i] -> (i: {D})",
    "SparseVector": f"[i] -> (i: {C})",
    "DenseMatrixRight": f"[i, j] -> (i: {D}, j: {D})",
    "DenseMatrixLeft": f"[i, j] -> (j: {D}, i: {D})",
    "COO": f"[i, j] -> (i: {N}, j: {S})",
    "CSR": f"[i, j] -> (i: {D}, j: {C})",
    "CSC": f"[i, j] -> (j: {D}, i: {C})",
    "DCSR": f"[i, j] -> (i: {C}, j: {C})",
    "DCSC": f"[i, j] -> (j: {C}, i: {C})",
    "CROW": f"[i, j] -> (i: {C}, j: {D})",
    "CCOL": f"[i, j] -> (j: {C}, i: {D})",
    "DIAI": f"[i, j] -> ((j - i): {C}, i: {R})",
    "DIAJ": f"[i, j] -> ((j - i): {C}, j: {R})",
    "SkewDIAI": f"[i, j] -> ((i + j): {C}, i: {R})",
    "SkewDIAJ": f"[i, j] -> ((i + j): {C}, j: {R})",
    "BatchedCSR": f"[b, i, j] -> (b: {D}, i: {D}, j: {C})",
    "BatchedDIAINonUniform": f"[b, i, j] -> (b: {D}, (j - i): {C}, i: {R})",
    "BatchedDIAIUniform": f"[b, i, j] -> ((j - i): {C}, b: {D}, i: {R})",
}


@pytest.mark.parametrize("name", DIRECT)
def test_formats_print_as_nvmath_prints_them(name):
    f = getattr(NamedFormats, name)
    assert isinstance(f, ust.TensorFormat) and f.name == name and repr(f) == DIRECT[name]
    assert name in dir(NamedFormats)
    again = ust.TensorFormat(f.dimensions, f.levels)  # the objects mean what the format says
    assert again == f and repr(again) == repr(f)
    assert pickle.loads(pickle.dumps(f)) == f


ROWS, COLUMNS = f"(i // 2): {D}, (j // 3): {C}", f"(j // 3): {D}, (i // 2): {C}"
RIGHT, LEFT = f"(i % 2): {D}, (j % 3): {D}", f"(j % 3): {D}, (i % 2): {D}"
BUILDERS = [
    ("BlockVector", {"blocksize": 3}, f"[i] -> ((i // 3): {C}, (i % 3): {D})", "BlockVector3"),
    ("BSRRight", {"blocksize": (2, 3)}, f"[i, j] -> ({ROWS}, {RIGHT})", "BSRRight2x3"),
    ("BSRLeft", {"blocksize": (2, 3)}, f"[i, j] -> ({ROWS}, {LEFT})", "BSRLeft2x3"),
    ("BSCRight", {"blocksize": (2, 3)}, f"[i, j] -> ({COLUMNS}, {RIGHT})", "BSCRow2x3"),
    ("BSCLeft", {"blocksize": (2, 3)}, f"[i, j] -> ({COLUMNS}, {LEFT})", "BSCCol2x3"),
    ("DELTA", {"delta": 2}, f"[i, j] -> (i: {D}, j: (<LevelFormat.DELTA>, 2))", "Delta2"),
    (
        "Structured",
        {"N": 2, "M": 4},
        f"[i, j] -> (i: {D}, (j // 4): {D}, (j % 4): (<LevelFormat.STRUCTURED>, 2))",
        "Structured2:4",
    ),
    (
        "BSR3",
        {"blocksize": (2, 3, 4)},
        f"[i, j, k] -> ((i // 2): {D}, (j // 3): {C}, (k // 4): {C}, (i % 2): {D}, (j % 3): {D}, (k % 4): {D})",
        "BSR32x3x4",
    ),
    ("DensedRight", {"dim": 3}, f"[i, j, k] -> (i: {D}, j: {D}, k: {D})", "Dense3Right"),
    ("DensedLeft", {"dim": 3}, f"[i, j, k] -> (k: {D}, j: {D}, i: {D})", "Dense3Left"),
    ("COOd", {"sparse_dim": 2}, DIRECT["COO"], "COO"),
    ("COOd", {"sparse_dim": 1, "dense_dim": 2}, f"[i, j, k] -> (i: {C}, j: {D}, k: {D})", None),
    ("COOd", {"sparse_dim": 3, "dense_dim": 0}, f"[i, j, k] -> (i: {N}, j: {S}, k: {S})", "COO3"),
    ("CSRd", {}, DIRECT["CSR"], "CSR"),
    ("CSRd", {"dense_dim": 1}, f"[i, j, k] -> (i: {D}, j: {C}, k: {D})", "CSR-d1"),
    ("CSRd", {"batch_dim": 1, "dense_dim": 1}, f"[i, j, k, l] -> (i: {B}, j: {D}, k: {C}, l: {D})", "CSR-b1-d1"),
    ("CSCd", {"batch_dim": 0, "dense_dim": 1}, f"[i, j, k] -> (j: {D}, i: {C}, k: {D})", "CSC-d1"),
    ("CSCd", {"batch_dim": 1}, f"[i, j, k] -> (i: {B}, k: {D}, j: {C})", "CSC-b1"),
    ("BSRRightd", {"blocksize": (2, 3), "dense_dim": 1}, f"[i, j, k] -> ({ROWS}, {RIGHT}, k: {D})", "BSRRight2x3-d1"),
    (
        "BSCRightd",
        {"blocksize": (2, 3), "batch_dim": 1, "dense_dim": 0},
        f"[i, j, k] -> (i: {B}, (k // 3): {D}, (j // 2): {C}, (j % 2): {D}, (k % 3): {D})",
        "BSCRight2x3-b1",
    ),
    ("CSFd", {"dim": 3}, f"[i, j, k] -> (i: {C}, j: {C}, k: {C})", "CSF3"),
]


@pytest.mark.parametrize("builder, arguments, text, name", BUILDERS)
def test_builders_take_nvmaths_parameters(builder, arguments, text, name):
    build = getattr(NamedFormats, builder)
    f = build(**arguments)
    assert repr(f) == text and build(**dict(reversed(arguments.items()))) == f
    if name:
        assert f.name == name
    assert ust.TensorFormat(f.dimensions, f.levels) == f


def test_builders_refuse_what_is_no_block():
    for wrong in (2, (2,), (2, 3, 4), None, (2.5, 3), (0, 3)):
        with pytest.raises(st.FormatError):
            NamedFormats.BSRRight(wrong)
    for build in (lambda: NamedFormats.DELTA(0), lambda: NamedFormats.Structured(4, 2), lambda: NamedFormats.COOd(0)):
        with pytest.raises(st.FormatError):
            build()
    for name in ("nonsense", "names", "Builder", "__wrapped__"):
        with pytest.raises(AttributeError):
            getattr(NamedFormats, name)


def test_stratas_own_names_stand_beside_them():
    assert NamedFormats.ELL == ust.TensorFormat.parse("ELL")
    assert NamedFormats.Bitmap == ust.TensorFormat.parse("(i, j) -> (i: dense, j: bitmap)")
    assert NamedFormats.TiledCSR(64, 32).num_levels == 4
    assert NamedFormats.NestedBSR(32, 32, 4, 4).num_levels == 6


def test_identity_means_levels_in_the_order_of_dimensions():
    assert NamedFormats.CSR.is_identity and NamedFormats.COO.is_identity and NamedFormats.Scalar.is_identity
    assert not NamedFormats.CSC.is_identity and not NamedFormats.DenseMatrixLeft.is_identity
    assert not NamedFormats.DIAI.is_identity and not NamedFormats.BSRRight((2, 2)).is_identity


I, J = ust.Dimension(dimension_name="i"), ust.Dimension(dimension_name="j")
DENSE, DELTA, COMPRESSED = ust.LevelFormat.DENSE, ust.LevelFormat.DELTA, ust.LevelFormat.COMPRESSED


def repeated(operation, n):
    e = I
    for _ in range(n):
        e = operation(e)
    return e


@pytest.mark.parametrize(
    "build",
    [
        lambda: ust.TensorFormat([I], {I: ()}),
        lambda: ust.TensorFormat([I], {I: (DELTA,)}),
        lambda: ust.TensorFormat([I], {I: (DELTA, True)}),
        lambda: ust.TensorFormat([I], {I: (DELTA, 2.0)}),
        lambda: ust.TensorFormat([I], {I: (DENSE, 3)}),
        lambda: ust.TensorFormat([I], {I: (DENSE, ust.LevelProperty.NONUNIQUE)}),
        lambda: ust.TensorFormat([I], {I: ust.LevelFormat.SINGLETON}),
        lambda: ust.TensorFormat([I, J], {I - I: COMPRESSED, I: ust.LevelFormat.RANGE, J: DENSE}),
        lambda: ust.TensorFormat([I], {I // 2: DENSE, I % 2: DENSE, I: DENSE}),
        lambda: ust.TensorFormat([I], {I // 2: DENSE, I % 3: DENSE}),
        lambda: ust.TensorFormat([I, J], {I: DENSE}),
        lambda: ust.TensorFormat(None, {}),
        lambda: ust.TensorFormat([I], {J: DENSE}),
        lambda: ust.TensorFormat([I], {"i": DENSE}),
        lambda: ust.TensorFormat([I], [(I, DENSE)]),
        lambda: ust.Dimension(dimension_name=3),
        lambda: I // 0,
        lambda: I % -1,
        lambda: I // 2.0,
        lambda: I + 1,
        lambda: repeated(lambda e: e // 2, 100_000),  # deeper than Python's stack
        lambda: repeated(lambda e: e + e, 64),  # a text of 2^64 names
        lambda: ust.TensorFormat([I, J], {repeated(lambda e: e + e, 8): DENSE, repeated(lambda e: e + e, 8): DENSE}),
    ],
)
def test_objects_without_meaning_are_refused(build):
    with pytest.raises(st.FormatError):
        build()


def test_numbers_may_be_numpys():
    assert ust.TensorFormat([I, J], {I: DENSE, J: (DELTA, np.int64(2))}) == NamedFormats.DELTA(np.int8(2))
    assert repr(I // np.int32(4)) == "(i // 4)" and repr(I // True) == "(i // 1)"


def test_names_of_dimensions_may_be_words_of_python():
    f = ust.TensorFormat.parse("(for, None) -> (None - for: compressed, for / 2: dense, for % 2: dense)")
    assert repr(f).startswith("[for, None] -> ((None - for): <LevelFormat.COMPRESSED>, (for // 2): ")
    assert ust.TensorFormat(f.dimensions, f.levels) == f
