"""The structure of matrices, against what NumPy and SciPy say, and the bytes of formats against those that they really take."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def describe(a):
    return st.describe_structure(st.from_scipy(sp.csr_array(a)))


def random(m, n, density, seed=0):
    return sp.random_array((m, n), density=density, format="csr", rng=np.random.default_rng(seed))


@pytest.mark.parametrize("shape", [(1, 1), (30, 30), (40, 17), (5, 200), (0, 4), (4, 0)])
def test_counts(shape):
    a = random(*shape, 0.1)
    info = describe(a)
    lengths = np.diff(a.indptr)
    assert info["nse"] == a.nnz and info["shape"] == shape
    if shape[0]:
        assert (info["rows"]["shortest"], info["rows"]["longest"], info["rows"]["empty"]) == (
            lengths.min(),
            lengths.max(),
            (lengths == 0).sum(),
        )
        assert info["rows"]["mean"] == pytest.approx(lengths.mean()) and info["rows"]["deviation"] == pytest.approx(
            lengths.std()
        )
    assert info["rows"]["empty_columns"] == shape[1] - len(np.unique(a.indices))
    coo = a.tocoo()
    offsets = coo.col.astype(int) - coo.row
    assert info["bands"]["diagonals"] == len(np.unique(offsets))
    assert info["bands"]["lower"] == max(0, -offsets.min(initial=0)) and info["bands"]["upper"] == max(
        0, offsets.max(initial=0)
    )
    for d in info["bands"]["fullest"]:
        assert d["stored"] == (offsets == d["offset"]).sum()
        assert d["fill"] == pytest.approx(d["stored"] / len(np.diagonal(np.zeros(shape), d["offset"])))


def test_blocks():
    blocks = sp.kron(random(40, 40, 0.1), np.ones((3, 3)), format="csr")
    info = describe(blocks)
    assert (info["block"]["rows"], info["block"]["columns"]) == (3, 3) and info["block"]["fill"] == 1.0
    assert info["block"]["blocks"] == blocks.tobsr((3, 3)).indices.size
    assert info["recommended"] == "BSR(3, 3)"
    assert describe(random(300, 300, 0.01))["block"]["rows"] * describe(random(300, 300, 0.01))["block"]["columns"] == 1


@pytest.mark.parametrize("kind", ["symmetric", "pattern", "skew", "hermitian", "none"])
def test_symmetry(kind):
    a = random(50, 50, 0.05).toarray()
    if kind == "symmetric":
        a = a + a.T
    elif kind == "pattern":
        a = np.where(a + a.T != 0, np.random.default_rng(1).random((50, 50)), 0)
    elif kind == "skew":
        a = a - a.T
    elif kind == "hermitian":
        a = a + 1j * np.triu(a, 1)
        a = a + a.conj().T
    found = describe(a)["symmetry"]
    assert found["pattern"] == (kind != "none")
    assert found["symmetric"] == (kind == "symmetric")
    assert found["skew"] == (kind == "skew")
    assert found["hermitian"] == (kind in ("symmetric", "hermitian"))


def test_triangles():
    a = random(30, 30, 0.2)
    assert (
        describe(sp.tril(a))["symmetry"]["lower_triangular"]
        and not describe(sp.tril(a))["symmetry"]["upper_triangular"]
    )
    assert describe(sp.triu(a))["symmetry"]["upper_triangular"]


@pytest.mark.skipif(st.settings.int32_limit < 2**31 - 1, reason="arrays are wider than these extents ask for")
@pytest.mark.parametrize("name", ["stencil", "blocks", "random", "dense", "short rows", "long rows", "one full row"])
def test_bytes_are_those_of_the_conversion(name):
    a = {
        "stencil": lambda: sp.diags_array(
            [np.full(99, -1.0), np.full(100, 2.0), np.full(99, -1.0)], offsets=[-1, 0, 1]
        ),
        "blocks": lambda: sp.kron(random(30, 30, 0.1), np.ones((4, 4))),
        "random": lambda: random(200, 300, 0.02),
        "dense": lambda: random(60, 60, 0.7),
        "short rows": lambda: random(500, 500, 0.001),
        "long rows": lambda: random(60, 2100, 0.1),
        "one full row": lambda: sp.vstack([sp.csr_array(np.ones((1, 400))), random(399, 400, 0.005)]),
    }[name]()
    t = st.from_scipy(sp.csr_array(a))
    info = st.describe_structure(t)
    assert len(info["formats"]) >= 4
    for f in info["formats"]:
        if (
            "+" in f["format"]
            or f["format"].startswith("BSR")
            and f["format"] != f"BSR({info['block']['rows']}, {info['block']['columns']})"
        ):
            continue  # estimates: what goes to which part, and a sample of blocks
        made = t.to(f["format"], crd_dtype=f["crd_dtype"])
        # Packed streams and pos of two entries: allow a few bytes.
        assert abs(made.nbytes - f["bytes"]) <= 24 + 0.01 * f["bytes"], f["format"]
    costs = [f["cost_ns"] for f in info["formats"]]
    assert costs == sorted(costs) and info["recommended"] == info["formats"][0]["format"]


def test_recommendations():
    stencil = sp.diags_array([np.full(999, -1.0), np.full(1000, 2.0), np.full(999, -1.0)], offsets=[-1, 0, 1])
    assert describe(stencil)["recommended"] == "DIAI"
    assert describe(random(2000, 100000, 0.001))["recommended"] in ("CSR", "ELL")


def test_any_format_and_refusals():
    a = random(30, 30, 0.1)
    for text in ("COO", "CSC", "BSR(2, 2)", "dense"):
        assert st.describe_structure(st.from_scipy(a).to(text))["nse"] == a.nnz
    with pytest.raises(st.TensorError, match="2 dimensions"):
        st.describe_structure(st.from_dense(np.ones(4), "SparseVector"))
    huge = st.from_coo((np.array([0, 10**14]), np.array([5, 10**14])), np.ones(2), (10**15, 10**15), "COO")
    assert st.describe_structure(huge)["nse"] == 2
