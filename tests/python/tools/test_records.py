"""The benchmarks' records: nothing that a page shows is lost, every page is what its record gives, and the package holds none of it."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

import strata as st
from strata import _benchmarks
from strata._timing.measure import contenders
from strata_bench import records, run

ROOT = _benchmarks.checkout()
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.jsonl"))


def timed(seconds, variant="csr", **more):
    one = {"seconds": seconds, "variant": variant, "spread": 1.23456789, "variants": {variant: {"seconds": seconds}}}
    return one | {"nse": 3, "shape": [2, 2], "dtype": "float32"} | more


def results():
    own = timed(1.23456789e-4, "CSR")
    own["variants"]["CSR"] |= {"first": 0.25, "note": "csr_product, 99 bytes"}
    own["variants"]["ELL"] = {"seconds": 2e-4, "first": 0.5, "note": ""}
    refused, behind = {"refused": {"-": "LookupError: has none"}}, {"behind": "too far"}
    scipy, here = timed(3e-4), {"day": "2026-01-01", "machine": 0, "rounds": 8, "budget": 0.3}
    return {
        "date": "2026-01-01",
        "kernels": False,
        "peers": {"SciPy": "1"},
        "machines": [{"processor": "a"}],
        "measured": {"spmv a": [here, here, here | {"day": "2026-01-02"}]},
        "cases": {
            "spmv a": [
                {"strata/1": own, "mkl/1": timed(7e-5, "csr hinted"), "scipy/1": scipy, "scipy/2": scipy},
                {"strata/1": timed(2e-4, "ELL"), "mkl/1": timed(6e-5), "torch/1": behind, "mkl/2": refused},
                {"strata/1": {"error": "differs"}, "mkl/1": refused, "torch/1": timed(1.5)},
            ]
        },
    }


def test_a_record_keeps_what_pages_show(tmp_path):
    path, given = tmp_path / "folder" / "r.jsonl", results()
    records.write(path, given)
    got = records.read(path)
    assert {k: v for k, v in got.items() if k != "cases"} == {k: v for k, v in given.items() if k != "cases"}
    first, second, third = got["cases"]["spmv a"]
    assert first["strata/1"]["seconds"] == 1.234568e-4 and first["strata/1"]["spread"] == 1.2346
    assert first["strata/1"]["variants"] == {
        "CSR": {"note": "csr_product, 99 bytes", "first": 0.25},
        "ELL": {"first": 0.5},
    }
    assert first["strata/1"]["shape"] == [2, 2] and first["strata/1"]["dtype"] == "float32"
    assert [r["mkl/1"].get("variant") for r in (first, second, third)] == ["csr hinted", "csr", None]
    assert "scipy/2" not in first  # one thread, which serves for any number
    assert second["torch/1"] == {"behind": "too far"} and second["mkl/2"] == third["mkl/1"]
    assert third["mkl/1"] == {"refused": {"-": "LookupError: has none"}} and third["strata/1"] == {"error": "differs"}
    assert set(third) == {"strata/1", "mkl/1", "torch/1"}
    assert len(path.read_text().splitlines()) == 2


def test_a_record_is_written_as_it_was_read(tmp_path):
    for path in RESULTS:
        records.write(tmp_path / path.name, records.read(path))
        assert (tmp_path / path.name).read_text() == path.read_text()


def test_runs_are_added(tmp_path):
    path, given = tmp_path / "r.jsonl", results()
    records.write(path, given)
    got = records.read(path)
    got["cases"]["spmv a"].append({"strata/1": timed(1e-4, "CSR")})
    got["measured"]["spmv a"].append({"day": "2026-01-03", "machine": 0})
    records.write(path, got)
    assert [r["strata/1"].get("seconds") for r in records.read(path)["cases"]["spmv a"]] == [
        1.234568e-4,
        2e-4,
        None,
        1e-4,
    ]


def test_a_run_that_goes_on_from_a_record_tries_every_variant(tmp_path):
    """A record knows the best one only."""
    records.write(tmp_path / "r.jsonl", results())
    assert contenders(records.read(tmp_path / "r.jsonl")["cases"]["spmv a"][0]["strata/1"]) is None
    assert contenders(results()["cases"]["spmv a"][0]["strata/1"]) == ["CSR"] and contenders({}) is None


def test_what_is_no_record_is_refused(tmp_path):
    path = tmp_path / "old.json"
    path.write_text('{\n "date": "2026-01-01"\n}\n')
    with pytest.raises(st.FileError, match="is no record of benchmarks"):
        records.read(path)


@pytest.mark.parametrize("path", RESULTS, ids=lambda p: p.stem)
def test_pages_are_what_records_give(path):
    assert path.with_suffix(".md").read_text() == run.page(records.read(path))


def test_results_are_small():
    files = list((ROOT / "benchmarks" / "results").iterdir())
    assert RESULTS and {p.suffix for p in files} == {".jsonl", ".md"}
    assert sum(p.stat().st_size for p in files) < 1_000_000


def test_figures_in_the_documents_are_what_records_give():
    script = ROOT / "scripts" / "performance.py"
    out = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr


def test_benchmarks_are_no_part_of_the_package():
    assert importlib.util.find_spec("strata.bench") is None
    names = {p.name for p in pathlib.Path(_benchmarks.__file__).resolve().parent.rglob("*.py")}
    assert "matrices.py" in names and not names & {"cases.py", "records.py", "eigen.py", "numba_loops.py"}


def test_bench_finds_the_checkout(tmp_path, monkeypatch):
    fake = tmp_path / "checkout"
    (fake / "benchmarks" / "strata_bench").mkdir(parents=True)
    (fake / "benchmarks" / "strata_bench" / "__init__.py").touch()
    (fake / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(fake / "deep" / "er")
    assert _benchmarks.checkout() == fake
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_benchmarks, "__file__", str(tmp_path / "lib" / "strata" / "_benchmarks.py"))
    record = type("Distribution", (), {"read_text": lambda self, name: f'{{"url": "{fake.as_uri()}"}}'})()
    monkeypatch.setattr(_benchmarks.importlib.metadata, "distribution", lambda name: record)
    assert _benchmarks.checkout() == fake


@pytest.mark.parametrize("told", [None, '{"url": "https://example.org/strata.whl"}', '{"url": "file:///nowhere"}'])
def test_bench_outside_of_a_checkout(told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_benchmarks, "__file__", str(tmp_path / "lib" / "strata" / "_benchmarks.py"))
    record = type("Distribution", (), {"read_text": lambda self, name: told})()
    monkeypatch.setattr(_benchmarks.importlib.metadata, "distribution", lambda name: record)
    with pytest.raises(st.FileError, match="not in the package") as e:
        _benchmarks.main(["--list"])
    assert "clone" in e.value.fix and e.value.got == str(tmp_path)
