"""strata bench --torch: what is timed is right for every library, and the page says what came out."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")

from strata._timing.case import fingerprint, same
from strata._timing.matrices import prepare, save
from strata_bench import machines, matrices, records, run
from strata_bench.layers import cases, memory, peers, report

WEIGHTS = {"elements": lambda: matrices.pruned(64, 80), "blocks": lambda: matrices.blocked(64, 16, 60)}


@pytest.fixture(scope="module", params=WEIGHTS)
def folder(request, tmp_path_factory):
    return save(prepare(WEIGHTS[request.param]()), tmp_path_factory.mktemp(request.param))


@pytest.fixture
def own_kernels():
    import strata as st

    before = st.settings.vendor, st.settings.threads
    yield
    st.settings.vendor, st.settings.threads = before


def results(name, case):
    """{variant: fingerprint}, each after two calls: the second must not add to what the first left."""
    a, operands = case.data()
    library, out = peers.PEERS[name][0](2), {}
    for variant in library.variants(case, a):
        try:
            p = library.prepare(case, a, operands, variant)
        except LookupError:
            continue
        p.run()
        p.run()
        result = p.result()
        out[variant] = None if result is None else fingerprint(result)
    return out


@pytest.mark.parametrize("op", cases.OPS)
def test_libraries_agree(op, folder, own_kernels):
    want = results("dense", case := cases.LayerCase(op, 8, folder))["-"]
    assert want[-1][0] > 0
    for name in peers.PEERS:
        try:
            found = results(name, case)
        except (ImportError, OSError):
            continue  # not installed
        assert found or name in ("mkl", "sparselab")
        for variant, got in found.items():
            assert got is None if name == "bf16" else same(got, want, "float32"), (name, variant)


def test_what_is_timed():
    full = cases.all_cases(False)
    assert len(full) == len(set(full)) == 3 * 14 * 3 + 1 + 3
    assert ("step", "4096-90", 256) in full and ("dw", "1024-b32-80", 1) in full and ("input", "4096-80", 256) in full
    assert {w for _, w, _ in full} == set(cases.FULL) and memory.WEIGHT in cases.FULL
    args = run.parser().parse_args(["--torch", "--quick", "--only", "dx"])
    assert {name.split()[0] for name, _, _ in run.cases(args)} == {"dx"}
    a = prepare(matrices.blocked(64, 16, 50))
    assert peers.block_of(a) == 16 and peers.block_of(prepare(matrices.pruned(64, 50))) == 0


def test_page():
    def timed(**seconds):
        return {f"{p}/2": {"seconds": s, "variant": "CSR", "spread": 1.0} for p, s in seconds.items()}

    runs = [timed(strata=1e-3, dense=4e-3, bf16=2e-3, torch=3e-3, sparselab=5e-3)] * 2
    results = {
        "date": "2026-01-01",
        "layers": True,
        "peers": dict.fromkeys(peers.PEERS, "1"),
        "machines": [],
        "measured": {},
        "memory": {"strata": {"peak": 5e7}, "dense": {"peak": 5e8}, "torch": {"error": "RuntimeError: no"}},
        "cases": {"dx 4096-90 x1": runs, "dx 4096-95 x1": [timed(strata=1e-3, dense=1e-3, torch=12e-3)]},
    }
    (of,) = report.summary(results).values()
    assert np.allclose(of["sparse"], (6, 3)) and np.allclose(of["dense"], (2, 1)) and of["cases"] == 2
    page = run.page(results)
    assert "| dx | elements | 1 | 2 | 6.00 | 3.00 | 2.00 | 1.00 | 2.00 | 2.00 | 2 |" in page
    assert "| dx | 4096-90 | 1 | 2 | 1.00 ms | CSR | 4.00 | 2.00 | 3.00 | - | - | 5.00 |  |" in page
    assert "| strata | 50 | 10% |" in page and "| torch | RuntimeError: no |  |" in page


def test_bench(tmp_path):
    path, peers = tmp_path / "r.jsonl", "strata,dense,torch"
    how = f"--torch --quick --only dw --threads 1 --peers {peers} --rounds 1 --budget 0.01 --out {path}".split()
    environment = {**os.environ, "STRATA_BENCH_CACHE": str(tmp_path)}
    command = [sys.executable, "-m", "strata", "bench", *how]
    out = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert out.returncode == 0, out.stderr
    results = records.read(path)
    assert (
        results["layers"]
        and len(results["cases"]) == 6
        and results["machines"][0]["processor"] == machines.here()["processor"]
    )
    for (one,) in results["cases"].values():
        assert set(one) == {f"{p}/1" for p in peers.split(",")} and not any("error" in r for r in one.values())
    assert path.with_suffix(".md").read_text() == run.page(results)
