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
        [
            CC,
            "-O3",
            "-march=native",
            "-ffp-contract=off",
            "-fwrapv",
            "-Wall",
            "-Werror",
            "-shared",
            "-fPIC",
            path,
            "-o",
            library,
        ],
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
        "values of the result": y,
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
        "elements between neighbours along index i of the result": columns,
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
    with pytest.raises(st.Unsupported, match="not one kernel"):
        _core.emit_expression("C(i,k) = A(i,j) * B(j,k) + B(i,k)", {"A": "CSR", "B": "CSR"})
    with pytest.raises(st.Unsupported, match="sum of parts"):
        _core.emit_expression("y(i) = A(i,j) * x(j)", {"A": "CSR + COO"})


def test_a_format_a_mask_and_a_semiring():
    """As evaluate() takes them, without data."""
    spec = "C(i,k) = A(i,j) * B(j,k)"
    given = {"A": "CSR", "B": "CSR"}
    assert "result  COO: as asked for" in _core.show_expression(spec, given | {"C": "COO"}, 100, code=False)
    shown = _core.show_expression(spec, given, 100, code=False, semiring="min-plus", mask="CSR", complement_mask=True)
    assert "semiring  min-plus" in shown and "mask  complement of CSR 100 x 100, bool" in shown
    plain, tropical = (_core.emit_expression(spec, given, semiring=s) for s in (None, "min-plus"))
    assert "inf" not in plain.lower() and "inf" in tropical.lower()
    assert "crd of level 1 of mask" in _core.emit_expression(spec, given, mask="CSR")
    with pytest.raises(st.ExpressionError, match="'D'"):
        _core.show_expression(spec, {"D": "CSR"})
    with pytest.raises(st.ExpressionError, match="does not fit its format"):
        _core.show_expression(spec, {"C": "(i) -> (i: compressed)"})


def test_on_the_command_line(capsys):
    assert (
        main(
            [
                "show",
                "C(i,k) = A(i,j) * B(j,k)",
                "A=csr",
                "B=csr",
                "C=coo",
                "--semiring",
                "max-plus",
                "--mask",
                "csr",
                "--extent",
                "60",
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert "COO: as asked for" in out and "max-plus" in out and "mask  CSR 60 x 60" in out


def matrix(seed, n=300, dtype=float):
    a = sp.random(n, n, 0.03, format="csr", random_state=seed, dtype=float)
    a.data = np.ceil(9 * a.data).astype(dtype)
    return a


def arrays(name, a):
    return {
        f"pos of level 1 of {name}": a.indptr.astype(np.int32),
        f"crd of level 1 of {name}": a.indices.astype(np.int32),
        f"values of {name}": a.data,
    }


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize(
    "spec", ["C(i,j) = A(i,j) + 2 * B(i,j)", "C(i,j) = A(i,j) * B(i,j)", "C(i,k) = A(i,j) * B(j,k)"]
)
def test_a_sparse_result_is_appended_to(spec, tmp_path):
    a, b, n = matrix(1), matrix(2), 300
    expected = {"+": a + 2 * b, ",": a.multiply(b), "k": a @ b}[
        "+" if "+" in spec else "k" if "k" in spec else ","
    ].tocsr()
    expected.sort_indices()
    path = tmp_path / "kernel.c"
    assert main(["emit", spec, "A=csr", "B=csr", "-o", str(path)]) == 0
    text, kernel = path.read_text(), compiled(path, tmp_path)
    sizes, counts = np.zeros(2, np.int64), np.zeros(n, np.int64)
    given = arrays("A", a) | arrays("B", b)
    given |= {f"extent of index {i}": n for i in "ijk"} | {
        "children of each coordinate of level 0 of the result": counts
    }
    given["elements of each level of the result, in and out"] = sizes
    given["a value for each coordinate of index k: 0, as it is left"] = np.zeros(n)
    given["a bit for each coordinate of index k, in whole words: 0, as it is left"] = np.zeros(64, np.int64)
    given["a bit for each of these before, in whole words: 0, as it is left"] = np.zeros(64, np.int64)
    for room in (5, expected.nnz):  # the first call tells how much there is
        sizes[:] = 0
        given["elements of level 1 of the result that there is room for"] = room
        given["crd of level 1 of the result"] = crd = np.full(room, -1, np.int32)
        given["values of the result"] = values = np.full(room, np.nan)
        call(kernel, text, given, 0, n)
        assert sizes[1] == expected.nnz
    assert np.array_equal(np.cumsum(counts), expected.indptr[1:])
    assert np.array_equal(crd, expected.indices) and np.array_equal(values, expected.data)


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_dense_results_of_several_sparse_operands(tmp_path):
    a, b, n = matrix(3), matrix(4), 300
    given = arrays("A", a) | arrays("B", b) | {f"extent of index {i}": n for i in "ij"}
    for spec, expected in (
        ("s = A(i,j) * B(i,j)", [a.multiply(b).sum()]),
        ("y(i) = max(j, A(i,j) - B(i,j))", (a - b).toarray().max(1)),
    ):
        path = tmp_path / f"{spec[0]}.c"
        assert main(["emit", spec, "A=csr", "B=csr", "-o", str(path)]) == 0
        given["values of the result"] = out = np.zeros(len(expected))
        call(compiled(path, tmp_path), path.read_text(), given, 0, n)
        assert np.array_equal(out, expected)


def test_values_in_a_pattern(tmp_path, capsys):
    assert main(["emit", "C(i,j) = A(i,j) * exp(E(i,j)) / s(i)", "A=csr", "E=csr"]) == 0
    text = capsys.readouterr().out
    assert "values of s" in text and "generated by Strata" in text
    assert main(["emit", "C(i,k) = A(i,j) * B(j,k)", "A=BSR(4,4)", "B=BSR(4,4)"]) == 0
    assert "a block of values for each coordinate of index" in capsys.readouterr().out


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_a_result_in_blocks_is_appended_to(tmp_path):
    a, b, n = matrix(5), matrix(6), 300
    path = tmp_path / "kernel.c"
    assert main(["emit", "C(i,k) = A(i,j) * B(j,k)", "A=csr", "B=csr", "C=BSR(4,3)", "-o", str(path)]) == 0
    text, kernel = path.read_text(), compiled(path, tmp_path)
    expected = (a @ b).tobsr((4, 3))
    expected.sort_indices()
    sizes, counts = np.zeros(2, np.int64), np.zeros(n // 4, np.int64)
    given = arrays("A", a) | arrays("B", b) | {f"extent of index {i}": n for i in "ijk"}
    given["children of each coordinate of level 0 of the result"] = counts
    given["elements of each level of the result, in and out"] = sizes
    given["a block of values for each 3 coordinates of index k: 0, as it is left"] = np.zeros(4 * n)
    given["a bit for each 3 coordinates of index k, in whole words: 0, as it is left"] = np.zeros(64, np.int64)
    given["a bit for each of these before, in whole words: 0, as it is left"] = np.zeros(64, np.int64)
    room = len(expected.indices)
    given["elements of level 1 of the result that there is room for"] = room
    given["crd of level 1 of the result"] = crd = np.full(room, -1, np.int32)
    given["values of the result"] = values = np.full((room, 4, 3), np.nan)
    assert "a part of the runs of 4 coordinates of index i" in text
    call(kernel, text, given, 0, 30)
    call(kernel, text, given, 30, n // 4)
    assert sizes[1] == room and np.array_equal(np.cumsum(counts), expected.indptr[1:])
    assert np.array_equal(crd, expected.indices) and np.array_equal(values, expected.data)


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("fmt", ["ELL", "COO", "delta(4)"])
def test_functions_of_values_in_any_storage(fmt, tmp_path):
    path = tmp_path / "kernel.c"
    assert main(["emit", "C(i,j) = abs(A(i,j)) * 3", f"A={fmt}", "-o", str(path)]) == 0
    text, kernel = path.read_text(), compiled(path, tmp_path)
    values = np.random.default_rng(7).standard_normal(100)
    out = np.full(100, np.nan)
    given = {"values of A": values, "values of the result": out, "elements before the first one of A": 0}
    assert "a part of the coordinates of index slot" in text
    call(kernel, text, given, 0, 40)
    call(kernel, text, given, 40, 100)
    assert np.array_equal(out, abs(values) * 3)


@pytest.mark.skipif(CC is None, reason="no C compiler")
def test_values_of_indices(capsys, tmp_path):
    """Where only types are known, too: an index that no operand is given for is a vector 0, 1, 2, ..."""
    a, at, n = matrix(7), np.arange(300), 300
    path = tmp_path / "kernel.c"
    assert main(["emit", "y(i) = A(i,j) * (j - 2*i)", "A=csr", "-o", str(path)]) == 0
    text, y = path.read_text(), np.full(n, np.nan)
    assert text.count(": 0, 1, 2, ...\n") == 2
    given = arrays("A", a) | {"values of #i": at, "values of #j": at, "values of the result": y, "extent of index i": n}
    given |= {f"elements before the first one of #{i}": 0 for i in "ij"}
    call(compiled(path, tmp_path), text, given, 0, n)
    np.testing.assert_allclose(y, (a.toarray() * (at - 2 * at[:, None])).sum(1))
    capsys.readouterr()
    for spec in ("Y(i,j) = A(i,j) * (i > j)", "y(i) = A(i,j) * j", "Y(i,j) = A(i,j) * (i + 1)"):
        assert main(["show", spec, "A=csr"]) == 0
        assert "Scalar" not in capsys.readouterr().out
    assert main(["emit", "y(i) = A(i,j) * j", "A=csr", "--main"]) == 1
    assert "main() is written for one product" in capsys.readouterr().err
    assert main(["show", "y(i) = A(i,j) * j", "A=csr", "j=dense", "--explain"]) == 0
    assert "j  Scalar" in capsys.readouterr().out


def test_padded_accesses(capsys):
    spec = "Y(i,j) = A(i + k - 1?, j) * K(k)"
    assert main(["emit", spec, "A=csr"]) == 1
    assert "pad the operand first" in capsys.readouterr().err
    assert main(["show", spec, "A=csr"]) == 0
    assert "A[-1:" in capsys.readouterr().out
