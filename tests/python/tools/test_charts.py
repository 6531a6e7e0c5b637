"""benchmarks/charts.py and files.py: what they time is right, and charts are what their record gives."""

import pathlib
import re
import runpy
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st
from strata_bench import figures, pages
from strata_bench.charts import cases, delta_kernel, draw, peers, record, worker

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHARTS = ROOT / "docs" / "_static" / "charts"


@pytest.fixture
def settings():
    before = st.settings.threads, st.settings.vendor
    yield
    st.settings.threads, st.settings.vendor = before


@pytest.fixture
def registered():
    try:
        delta_kernel.register(2)
    except OSError as e:
        pytest.skip(str(e))
    yield
    delta_kernel.unregister()


@pytest.mark.parametrize("dtype,tolerance", [("float32", 1e-5), ("float16", 2e-3)])
def test_the_kernel_for_delta(dtype, tolerance, registered):
    """Rows of every length, odd beginnings, long gaps, no elements: beside SciPy in float64."""
    rng = np.random.default_rng(0)
    for shape, density in (((70, 300), 0.5), ((40, 1000), 0.02), ((30, 17), 1.0), ((9, 40), 0.0), ((0, 5), 0.5)):
        a = sp.random_array(shape, density=density, rng=rng, format="csr").toarray()
        a[: len(a) // 3, : shape[1] // 2] = 0  # bridges
        a = a.astype(dtype)
        x = (rng.random(shape[1]) - 0.5).astype(dtype)
        t = st.from_dense(a, "delta(4)")
        plan = st.plan("ij,j->i", t, x)
        assert plan.kernel_name == f"{delta_kernel.NAME}, {dtype}"
        want, scale = a.astype(float) @ x.astype(float), np.abs(a.astype(float)) @ np.abs(x.astype(float))
        for out, alpha, beta in ((None, 1, None), (np.ones(shape[0], dtype), 2, 0.5)):
            y = plan.run(t, x, out=out, alpha=alpha, beta=beta)
            off = np.abs(y - (alpha * want + (0 if out is None else 0.5)))
            assert (off <= tolerance * (2 * scale + 1)).all()
    wide = np.zeros((3, 5000), dtype)
    wide[1, [0, 17, 4999]] = [1, 2, 3]
    assert (
        st.from_dense(wide, "delta(4)") @ np.arange(5000).astype(dtype) == np.array([0, 34 + 3 * 4999, 0], dtype)
    ).all()


@pytest.mark.parametrize("case", [cases.Stencil(3, 4, 5), *(cases.Weights(50, d, 40) for d in ("float32", "float16"))])
def test_libraries_agree(case, settings, tmp_path):
    timed = {}
    cases.save(case, tmp_path)
    for library in peers.PEERS:
        try:
            w = worker.ChartWorker(library, 1)
        except ImportError:
            continue
        answer = w.open(cases.request(case), str(tmp_path))
        assert not [why for why in answer["refused"].values() if "wrong result" in why]
        timed[library] = answer["series"]
        assert all(min(w.time(name, 0.0)["times"]) > 0 for name in answer["series"])
    assert set(timed["Strata"]) >= set(peers.STENCIL if case.name == "stencil" else peers.WEIGHTS[:-1])
    assert not st.unregister_kernel(f"{delta_kernel.NAME}, float32")


def test_a_wrong_result_is_seen():
    a, x, want, scale = cases.Weights(30, "float32", 20).make()
    assert cases.error(a @ x, want, scale, x.dtype) < 1
    assert cases.error(want + 1e-3, want, scale, x.dtype) > 1
    assert not cases.error(want * np.nan, want, scale, x.dtype) <= 1


def made(tmp_path, monkeypatch):
    """A record of invented times."""
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    parts = {}
    for n in (1, 2):
        rows = {
            "Strata": {"COO": 3e-3, "CSR": 2e-3, "DIA": 1e-3},
            "SciPy": {"COO": 9e-3},
            "torch": {"CSR int32": 0.5, "CSR int64": 0.25},
        }
        parts[pages.heading("stencil", n)] = ("A stencil.", "library", rows, ["Strata CSR: csr_product"])
        for dtype in ("float32", "float16"):
            rows = {
                p: {"dense, torch": 1e-3, "delta(4), user's kernel, Strata": (101 - p) * 1e-6} for p in (0, 50, 100)
            }
            parts[pages.heading(dtype, n)] = (f"64 x 64, {dtype}, elements absent.", "% absent", rows, [])
    return pages.write(record.SUFFIX, "Charts", ["a machine", "others", "how"], parts)


def test_a_record_is_read_as_it_was_written(tmp_path, monkeypatch):
    name = made(tmp_path, monkeypatch)
    assert pages.newest(record.SUFFIX) == name and record.threads_of(name) == [1, 2]
    assert (
        pages.facts(name) == ["a machine", "others", "how"]
        and pages.sentence(name, "stencil, 1 thread") == "A stencil."
    )
    assert record.stencil(name, 2) == {
        "COO": {"Strata": 3e-3, "SciPy": 9e-3},
        "CSR": {"Strata": 2e-3, "torch": 0.25},
        "DIA": {"Strata": 1e-3},
    }
    assert record.weights(name, "float16", 1)["delta(4), user's kernel", "Strata"] == pytest.approx(
        {0: 101e-6, 50: 51e-6, 100: 1e-6}
    )


def test_charts_follow_the_reader_s_system(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    name = made(tmp_path, monkeypatch)
    charts = draw.charts(name)
    assert list(charts) == ["stencil.svg", "weights-1.svg", "weights-2.svg"]
    for text in charts.values():
        root = ET.fromstring(text)
        words = "".join(root.itertext())
        assert "milliseconds" in words and draw.description(name) in words
        assert text == draw.charts(name)[next(k for k, v in charts.items() if v == text)]  # the same every time
        colours = set(re.findall(r"(?:fill|stroke): (#\w{6})", text))
        assert colours <= set(draw.LIGHT.values())
        rules = dict(re.findall(r"\.([fs]-\w+)\{\w+:(#\w{6})!important\}", text))
        assert set(re.findall(r"[fs]-[a-z]+", " ".join(re.findall(r'class="([^"]*)"', text)))) == set(rules)
        assert all(dark == draw.COLOURS[c.partition("-")[2]][1] for c, dark in rules.items())
    assert "64 × 64" in charts["weights-2.svg"] and "none" in charts["stencil.svg"]


def test_checked_in_charts_are_those_of_the_newest_record():
    """`python benchmarks/charts.py --draw` renews them; look at the difference."""
    name = pages.newest(record.SUFFIX)
    wanted = {"stencil.svg", *(f"weights-{n}.svg" for n in record.threads_of(name))}
    files = {p.name: p.read_text() for p in CHARTS.glob("*")}
    assert set(files) == wanted and sum(map(len, files.values())) < 300_000
    assert all(draw.description(name) in text for text in files.values())


@pytest.mark.parametrize("script,needs", [("charts", "torch"), ("files", "scipy")])
def test_scripts_run(script, needs, monkeypatch, capsys, settings):
    pytest.importorskip(needs)
    pytest.importorskip("matplotlib")
    results = figures.RESULTS
    monkeypatch.setattr(figures, "RESULTS", results)  # given back
    arguments = ["--threads", "1"] + (["--rounds", "1"] if script == "charts" else ["--entries", "2000"])
    monkeypatch.setattr(sys, "argv", [f"{script}.py", "--quick", *arguments])
    runpy.run_path(str(ROOT / "benchmarks" / f"{script}.py"), run_name="__main__")
    page = figures.RESULTS / pages.newest(script)
    assert page.parent != results and str(page) in capsys.readouterr().out
    for part in pages.headings(page.name):
        rows = pages.times(page.name, part)
        assert rows and all(row for row in rows.values()), part
