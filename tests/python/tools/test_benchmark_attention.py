"""benchmarks/attention.py runs, and compares its results."""

import pathlib
import runpy
import sys

import pytest

import strata as st

torch = pytest.importorskip("torch")
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "attention.py"


def test_attention(monkeypatch, capsys):
    monkeypatch.setattr(st.settings, "threads", st.settings.threads)  # given back, as torch's number is
    threads = torch.get_num_threads()
    small = "attention.py --length 128 --features 8 --rounds 1 --threads 1 --no-flex".split()
    monkeypatch.setattr(sys, "argv", small)
    try:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    finally:
        torch.set_num_threads(threads)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert len(rows) == 6 * 2 * 3 and all(row.count("|") == 5 for row in rows)
