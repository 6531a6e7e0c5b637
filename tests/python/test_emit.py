"""strata emit: the C file alone, compiled by the machine's compiler and called with nothing of ours."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
import strata as st
from strata import _core
from strata.cli import main

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def compiled(path, tmp_path):
    library = tmp_path / (path.stem + ".so")
    subprocess.run(
        [CC, "-O3", "-march=native", "-ffp-contract=off", "-fwrapv", "-Wall", "-Werror", "-shared", "-fPIC", path, "-o", library],
        check=True,
    )
    return ctypes.CDLL(str(library)).kernel


def call(kernel, text, given, begin, end):
    """Buffers and scalars in the order that the file's comment says."""
    lines = [x[5:] for x in text.split(" */")[0].splitlines() if x.startswith(" *   ")]
    buffers = [given[x[38:]] for x in lines if x.startswith("buffers[")]
    scalars = [given[x[38:]] for x in lines if x.startswith("scalars[")]
    pointers = (ctypes.c_void_p * len(buffers))(*(b.ctypes.data for b in buffers))
    numbers = (ctypes.c_longlong * max(1, len(scalars)))(*scalars)
    wide = ctypes.c_longlong
    assert kernel(pointers, numbers, wide(begin), wide(end), wide(0)) == 0


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [None, 300])
def test_product(dtype, columns, tmp_path):
    rng = np.random.default_rng(0)
    a = sp.random_array((1000, 1000), density=0.01, format="csr", rng=rng, dtype=dtype)
    x = rng.random(1000 if columns is None else (1000, columns)).astype(dtype)
    spec = "y(i) = A(i,j) * x(j)" if columns is None else "Y(i,k) = A(i,j) * x(j,k)"
    path = tmp_path / "product.c"
    assert main(["emit", spec, "A=csr", "--dtype", dtype, "-o", str(path)]) == 0
    y = np.full(x.shape, np.nan, dtype)
    one, zero = np.ones(1, dtype), np.zeros(1, dtype)
    given = {
        "the result": y,
        "one number, which scales the expression": one,
        "one number, which scales what the result held (0: it is not read)": zero,
        "pos of level 1 of A": a.indptr.astype(np.int32),
        "crd of level 1 of A": a.indices.astype(np.int32),
        "values of A": a.data,
        "values of x": x,
        "elements before the first one of x": 0,
        "elements before the first one of the result": 0,
        "extent of index k": columns,
        "elements between neighbours along level 0 of x": columns,
        "elements between neighbours along dimension 0 of the result": columns,
        "coordinates of level 0 of A": 1000,
        "extent of index i": 1000,
        "extent of index j": 1000,
    }
    text = path.read_text()
    kernel = compiled(path, tmp_path)
    call(kernel, text, given, 0, 400)
    call(kernel, text, given, 400, 1000)
    np.testing.assert_allclose(y, a @ x, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_what_cannot_be_emitted():
    with pytest.raises(st.Unsupported, match="one product"):
        _core.emit_expression("C(i,j) = A(i,j) + B(i,j)", {"A": "CSR", "B": "CSR"})
    with pytest.raises(st.Unsupported, match="sum of parts"):
        _core.emit_expression("y(i) = A(i,j) * x(j)", {"A": "CSR + COO"})
