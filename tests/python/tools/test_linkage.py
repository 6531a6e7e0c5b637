"""What the installed binaries need and show: nothing of torch, CUDA or OpenMP, no symbol that could meet another library's."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import strata
import strata._core

SYSTEM = {
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
CORE = pathlib.Path(strata._core.__file__)
JIT = CORE.parent / "libstrata_jit.so"

pytestmark = pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf (binutils)")


def needed(path):
    text = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))


def exported(path):
    text = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", str(path)], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in text.splitlines()]
    return {r[7] for r in rows if len(r) > 7 and r[4] in ("GLOBAL", "WEAK") and r[6] != "UND"}


def test_the_extension_needs_only_the_system():
    assert needed(CORE) <= SYSTEM
    assert needed(CORE) & {"libc.so.6"}


def test_the_extension_shows_one_symbol():
    assert exported(CORE) == {"PyInit__core"}


@pytest.mark.skipif(not JIT.exists(), reason="built without the in-process compiler")
def test_the_compiler_library_is_sealed():
    assert needed(JIT) <= SYSTEM | {"libz.so.1", "libzstd.so.1"}
    names = exported(JIT)
    assert "strata_jit_compile" in names
    assert all(n.startswith(("strata_jit_", "__jit_debug_")) for n in names), names


def test_importing_loads_no_compiler_and_no_torch():
    program = (
        "import strata, sys; maps = open('/proc/self/maps').read(); "
        "assert 'libstrata_jit' not in maps; assert 'torch' not in sys.modules and 'scipy' not in sys.modules; print('fine')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout == "fine\n", result.stderr
