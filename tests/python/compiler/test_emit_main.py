"""strata emit --name --main: a program of C11 that no compiler has anything to say about, and that checks itself."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import strata as st
from strata import _core
from strata.cli import main

GCC = shutil.which("gcc")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-march=native", "-ffp-contract=off"]
SPMV, SPMM = "y(i) = A(i,j) * x(j)", "Y(i,k) = A(i,j) * X(j,k)"


def built(text, tmp_path):
    (tmp_path / "it.c").write_text(text)
    subprocess.run([GCC, *STRICT, "it.c", "-o", "it", "-lm"], check=True, cwd=tmp_path)
    return subprocess.run([tmp_path / "it"], capture_output=True, text=True)


@pytest.mark.skipif(GCC is None, reason="no gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "float16", "bfloat16"])
@pytest.mark.parametrize("spec", [SPMV, SPMM, "y(j) = A(i,j) * x(i)", "s = A(i,j) * x(j) * z(i)"])
@pytest.mark.parametrize(
    "format", ["csr", "csc", "coo", "dia", "BSR(2, 2)", "BSR(3, 3)", "delta(2)", "structured(2, 4)", "ELL(2)", "dense"]
)
def test_main_runs(spec, format, dtype, tmp_path):
    text = _core.emit_expression(spec, {"A": format}, 1000, dtype, name="mine", main=True)
    out = built(text, tmp_path)
    assert out.returncode == 0, out.stdout
    printed = np.array(out.stdout.split(), float)
    # The comment says from which extent on vectors serve: main() has as many columns.
    least = re.search(r"of index k from (\d+) on", text)
    assert len(printed) >= max(1, int(least[1]) if least else 0) and np.abs(printed).max() < 1e5


@pytest.mark.skipif(GCC is None, reason="no gcc")
def test_the_command(tmp_path, capsys):
    assert main(["emit", SPMV, "A=csr", "--name", "spmv", "--main"]) == 0
    text = capsys.readouterr().out
    assert "int spmv(void* const* buffers" in text and "kernel" not in text
    # Rows 1 2, 3 4, 5 6 and 8 7 (the last one wraps around) times 1 2 3 4.
    assert built(text, tmp_path).stdout.split() == ["5", "18", "39", "36"]
    assert main(["emit", SPMM, "A=csr", "--extent", "5", "--main"]) == 0
    assert built(capsys.readouterr().out, tmp_path).returncode == 0


@pytest.mark.skipif(GCC is None, reason="no gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex64", "int8", "bool"])
@pytest.mark.parametrize(
    "spec", ["C(i,j) = tanh(A(i,j))", "C(i,k) = A(i,j) * B(j,k)", "C(i,j) = A(i,j) + B(i,j)", SPMM]
)
def test_no_warning(spec, dtype, tmp_path):
    try:
        text = _core.emit_expression(spec, {"A": "csr"} | ({"B": "csr"} if "B" in spec else {}), 1000, dtype)
    except st.Unsupported:
        return
    (tmp_path / "it.c").write_text(text)
    subprocess.run([GCC, *STRICT, "-c", "it.c"], check=True, cwd=tmp_path)


def test_what_is_refused():
    with pytest.raises(st.ExpressionError, match="cannot be called so"):
        _core.emit_expression(SPMV, {"A": "csr"}, name="my kernel")
    for word in ("for", "main", "", "2x", "f64", "__x"):
        with pytest.raises(st.ExpressionError):
            _core.emit_expression(SPMV, {"A": "csr"}, name=word)
    with pytest.raises(st.Unsupported, match="one product with a dense result"):
        _core.emit_expression("C(i,k) = A(i,j) * B(j,k)", {"A": "csr", "B": "csr"}, main=True)
    with pytest.raises(st.Unsupported, match="plain type"):
        _core.emit_expression(SPMV, {"A": "csr"}, 1000, "complex64", main=True)


def test_operands_keep_their_names():
    text = _core.emit_expression("y(i) = kernel(i,j) * x(j)", {"kernel": "csr"}, name="spmv")
    assert "y(i) = kernel(i,j) * x(j)" in text and "pos of level 1 of kernel" in text and "int spmv(" in text
