"""What a C++ compiler says to StaticFormat: mistakes read well, and other formats' branches leave no code."""

import pathlib
import shutil
import subprocess

import pytest

INCLUDE = pathlib.Path(__file__).resolve().parents[3] / "include"
COMPILERS = [c for c in ("g++", "clang++", "clang++-19") if shutil.which(c)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="no C++ compiler on this machine")


def compile_text(compiler, text, tmp_path, *flags):
    source = tmp_path / "a.cpp"
    source.write_text(text)
    command = [compiler, "-std=c++20", f"-I{INCLUDE}", *flags, "-c", str(source), "-o", str(tmp_path / "a.o")]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "text, message",
    [
        ("(i, j) -> (i: dense, j: compresed)", "no level type 'compresed'"),
        ("(i, j) -> (i: dense)", "no level stores dimension 'j'"),
        ("(i) -> (i: delta(40))", "delta cannot have 40 bits"),
        ("CRS", "no format is called 'CRS'"),
    ],
)
def test_a_mistake_is_a_compilers_error_that_says_what(compiler, text, message, tmp_path):
    result = compile_text(
        compiler,
        f'#include "strata/static_format.h"\nstatic_assert(strata::StaticFormat<"{text}">::rank >= 0);\n',
        tmp_path,
    )
    assert result.returncode != 0
    assert message in result.stderr.replace("\\'", "'")


DISPATCH = """
#include "strata/static_format.h"
template <class V, class F> struct StaticTensor { using Format = F; };
extern "C" void coo_code();
extern "C" void csr_code();
template <class TensorType> void foo(TensorType) {
  if constexpr (TensorType::Format::isCOO()) {
    coo_code();
  } else if constexpr (TensorType::Format::isCSR()) {
    csr_code();
  }
}
template void foo(StaticTensor<float, strata::StaticFormat<"(i, j) -> (i: dense, j: compressed)">>);
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimise", ["-O0", "-O2"])
def test_the_object_of_a_csr_instance_holds_no_coo_code(compiler, optimise, tmp_path):
    result = compile_text(
        compiler, DISPATCH, tmp_path, optimise, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"
    )
    assert result.returncode == 0, result.stderr
    data = (tmp_path / "a.o").read_bytes()
    assert b"csr_code" in data
    assert b"coo_code" not in data
