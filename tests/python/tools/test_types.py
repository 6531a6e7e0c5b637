"""A type checker passes ordinary code, and finds what is wrong in other code."""

import os
import pathlib
import runpy
import subprocess
import sys

import pytest

import strata as st

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "tests" / "typing" / "user_code.py"


def mypy(path, cache):
    pytest.importorskip("mypy")
    folder = pathlib.Path(st.__file__).resolve().parent.parent
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if "site-packages" not in str(folder):
        environment["MYPYPATH"] = str(folder)
    # As where the package is installed: its own modules are no concern of the user's.
    (cache / "mypy.ini").write_text(
        "[mypy]\ncheck_untyped_defs = True\nignore_missing_imports = True\n[mypy-strata.*]\nfollow_imports = silent\n"
    )
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", "cache", str(path)],
        capture_output=True,
        text=True,
        cwd=cache,
        env=environment,
    )


def test_the_page_passes_and_runs(tmp_path):
    threads = st.settings.threads
    try:
        runpy.run_path(str(PAGE), run_name="__main__")
    finally:
        st.settings.threads = threads
    out = mypy(PAGE, tmp_path)
    assert out.returncode == 0, out.stdout


def test_mistakes_are_found(tmp_path):
    page = tmp_path / "wrong.py"
    page.write_text(
        "import strata as st\n"
        'A = st.from_coo(([0], [1]), [1.0], (2, 2), "CSR")\n'
        "A.fromat\n"
        "st.from_denze\n"
        'A.to("CSR", colour=1)\n'
        "x: str = A.values\n"
        'st.Tensor("CSR")\n'
    )
    out = mypy(page, tmp_path)
    assert out.returncode == 1
    found = [line.split(":")[1] for line in out.stdout.splitlines() if ": error:" in line]
    assert found == ["3", "4", "5", "6", "7"], out.stdout


def test_every_name_is_in_the_stubs():
    text = (ROOT / "python" / "strata" / "_core.pyi").read_text()
    tensor = text[text.index("\nclass Tensor:") :]
    for name in dir(st.Tensor):
        if not name.startswith("_"):
            assert f"def {name}(" in tensor, f"{name}: scripts/stubs.sh renews the stubs"
