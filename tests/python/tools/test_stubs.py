"""The types that editors and checkers see are those of the extension."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_the_stub_file_is_the_extension_s(tmp_path):
    pytest.importorskip("nanobind")
    made = tmp_path / "_core.pyi"
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "PYTHONPATH": ":".join(sys.path)}
    subprocess.run(["sh", str(ROOT / "scripts" / "stubs.sh"), str(made)], check=True, env=environment)
    assert made.read_text() == (ROOT / "python" / "strata" / "_core.pyi").read_text(), "scripts/stubs.sh renews it"
