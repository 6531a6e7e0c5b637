"""The Python snippets of the blog post, run with only the import changed. README.md lists what was mended."""

import textwrap

import numpy as np
import pytest
import scipy.sparse as sps

IMPORTS = """
import numpy as np
import scipy.sparse as sps
from strata.ust import Dimension, LevelFormat, LevelProperty, Matmul, NamedFormats, Tensor, TensorFormat, matmul
"""

CSC = """
i, j = ( Dimension(dimension_name="i"), Dimension(dimension_name="j") )
CSC = TensorFormat( [i, j], {j: LevelFormat.DENSE, i: LevelFormat.COMPRESSED} )
"""

SCIPY_COO = """
row = np.array([0, 0, 1, 1, 2, 3], dtype=np.int32)
col = np.array([0, 1, 1, 3, 2, 3], dtype=np.int32)
val = np.array([1, 2, 3, 4, 5, 6], dtype=np.float32)
coo = sps.coo_array((val, (row, col)), shape=(4, 8))  # SciPy
ust = Tensor.from_package(coo)
"""

BACK = """
coo = ust.to_package()  # this yields a SciPy coo format again
"""

DELTA = """
A = torch.tensor([[1, 0, 0, 0, 0, 0, 0, 2],
                  [0, 0, 3, 4, 0, 0, 0, 0],
                  [0, 0, 0, 0, 0, 0, 0, 5]], dtype=torch.float64)
U = Tensor.from_package(A)  # dense UST
delta_format = TensorFormat([i, j], {i: LevelFormat.DENSE,
                                     j: (LevelFormat.DELTA, 2)})  # use 2-bit
S = U.convert(tensor_format=delta_format)  # sparse UST
"""

PRINTING = """
A = torch.arange(4 * 5).reshape(4, 5).cuda().to_sparse_csr()
U = Tensor.from_package(A)
print(U)
"""

PRINTED = """\
---- Sparse Tensor<VAL=int64,POS=int64,CRD=int64,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.COMPRESSED>)
device   : cuda
dim      : [4, 5]
lvl      : [4, 5]
nse      : 19
pos[1]   : [0, 4, 9, 14, 19] #5
crd[1]   : [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4] #19
values   : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] #19
data     : 344 bytes
sparsity : 5.00%
----
"""

MATMUL = """
# c := a @ b + c
with Matmul(a, b, c, beta=1.0) as mm:
    mm.plan()
    mm.execute()
"""

CPU_ONLY = {".cuda()": "", "device   : cuda": "device   : cpu"}


def mended(text):
    for printed, here in CPU_ONLY.items():
        text = text.replace(printed, here)
    return textwrap.dedent(text)


def run(*snippets, **names):
    """Runs the imports and the snippets in one namespace, which comes back."""
    space = dict(names)
    exec(IMPORTS, space)
    for s in snippets:
        exec(mended(s), space)
    return space


def test_csc_format():
    import strata as st

    csc = run(CSC)["CSC"]
    assert csc.format == st.formats.CSC
    assert repr(csc) == "[i, j] -> (j: <LevelFormat.DENSE>, i: <LevelFormat.COMPRESSED>)"
    assert csc == TensorFormatParse("(i, j) -> (j : dense, i : compressed)     \t# CSC")


def TensorFormatParse(text):
    from strata.ust import TensorFormat

    return TensorFormat.parse(text)


def test_scipy_coo_is_shared_both_ways(recwarn):
    s = run(SCIPY_COO)
    row, col, val, ust = (s[n] for n in ("row", "col", "val", "ust"))
    assert (
        repr(ust.tensor_format)
        == "[i, j] -> (i: (<LevelFormat.COMPRESSED>, <LevelProperty.NONUNIQUE>), j: <LevelFormat.SINGLETON>)"
    )
    assert np.shares_memory(ust.crd(0), row) and np.shares_memory(ust.crd(1), col) and np.shares_memory(ust.val, val)
    original = s["coo"]
    s = run(BACK, **s)
    coo = s["coo"]
    assert isinstance(coo, sps.coo_array) and coo is not original and (coo != original).nnz == 0
    assert (
        np.shares_memory(coo.data, val)
        and np.shares_memory(coo.coords[0], row)
        and np.shares_memory(coo.coords[1], col)
    )
    assert not [w for w in recwarn.list if "copied" in str(w.message)]


def test_delta_figure():
    torch = pytest.importorskip("torch")
    S = run(CSC, DELTA, torch=torch)["S"]
    assert S.pos(1).tolist() == [0, 3, 5, 7]
    assert S.crd(1).tolist() == [0, 3, 2, 2, 0, 3, 3]
    assert S.val.tolist() == [1, 0, 2, 3, 4, 0, 5]
    assert S.nse == 7 and S.dtype == "float64"
    assert "(<LevelFormat.DELTA>, 2)" in repr(S) and "CRD=uint2" in repr(S)
    assert S.to_package().__class__ is not None


def test_printed_tensor(capsys):
    torch = pytest.importorskip("torch")
    run(PRINTING, torch=torch)
    assert capsys.readouterr().out == mended(PRINTED)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("columns", [None, 3])
def test_matmul_in_two_phases(kind, columns):
    from strata.ust import Tensor

    rng = np.random.default_rng(1)
    matrix = sps.random_array((12, 8), density=0.3, rng=rng, format="csr", dtype=np.float64)
    a = Tensor.from_package(matrix.asformat(kind))
    b = rng.random(8 if columns is None else (8, columns))
    c = rng.random(12 if columns is None else (12, columns))
    expected = matrix @ b + c
    run(MATMUL, a=a, b=b, c=c)
    np.testing.assert_allclose(c, expected, rtol=1e-14)


def test_matmul_of_a_novel_format():
    torch = pytest.importorskip("torch")
    s = run(CSC, DELTA, torch=torch)
    b, c = torch.arange(8, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    expected = s["A"] @ b + c
    run(MATMUL, a=s["S"], b=b, c=c)
    assert torch.equal(c, expected)


def test_matmul_of_tensors_writes_into_the_array_behind_c():
    from strata.ust import Tensor, matmul

    a = Tensor.from_package(sps.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]])))
    b, c = np.array([1.0, 10.0]), np.array([5.0, 7.0])
    b_ust, c_ust = Tensor.from_package(b), Tensor.from_package(c)
    assert matmul(a, b_ust, c_ust) is c_ust
    assert c.tolist() == [25.0, 10.0]


def test_names_of_the_module():
    import strata.ust as ust

    for name in (
        "Dimension",
        "LevelExpr",
        "LevelFormat",
        "LevelProperty",
        "TensorFormat",
        "NamedFormats",
        "Tensor",
        "is_ordered",
        "is_unique",
    ):
        assert hasattr(ust, name)
    assert not ust.is_unique((ust.LevelProperty.NONUNIQUE, ust.LevelProperty.ORDERED)) and ust.is_ordered(
        ust.LevelProperty.UNIQUE
    )
    i, j = ust.Dimension(dimension_name="i"), ust.Dimension(dimension_name="j")
    blocks = ust.TensorFormat(
        [i, j],
        {
            i // 2: ust.LevelFormat.DENSE,
            j // 3: ust.LevelFormat.COMPRESSED,
            i % 2: ust.LevelFormat.DENSE,
            j % 3: ust.LevelFormat.DENSE,
        },
    )
    assert blocks == ust.NamedFormats.BSRRight((2, 3))
    assert blocks.dim2lvl((5, 7)) == (2, 2, 1, 1) and blocks.lvl2dim((2, 2, 1, 1)) == (5, 7)
    assert blocks.dim2lvl((4, 6), as_size=True) == (2, 2, 2, 3)
    assert (blocks.num_dimensions, blocks.num_levels, blocks.is_identity) == (2, 4, False)


def test_rivals_faults_are_not_ours():
    """What the original gets wrong (identity by name, to_package after convert, dropped structure) works here."""
    from strata.ust import Dimension, LevelFormat, Tensor, TensorFormat

    i, j = Dimension(), Dimension()
    anonymous = TensorFormat([i, j], {i: LevelFormat.DENSE, j: LevelFormat.COMPRESSED})
    dense = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    t = Tensor.from_package(dense).convert(tensor_format=anonymous)
    assert isinstance(t.to_package(), sps.csr_array) and (t.to_package().toarray() == dense).all()
    column_major = TensorFormat([i, j], {j: LevelFormat.DENSE, i: LevelFormat.DENSE})
    assert t.convert(tensor_format=column_major).val.tolist() == [0, 2, 1, 0, 0, 0]
    assert t.get_value((0, 1)) == 1.0 and t.get_value((0, 0)) is None
    assert t.convert(tensor_format=anonymous) is t and t.convert(copy=True) is not t
