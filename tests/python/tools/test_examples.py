"""Every page of examples/kernels and examples/jobs runs, checks itself, and sees a wrong number; their READMEs list all. Those of
examples/torch train for some steps, those of examples/torch/applications compare two ways and see a wrong number, too."""

import contextlib
import io
import pathlib
import re
import runpy
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import strata as st

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
PAGES = sorted((EXAMPLES / "kernels").glob("*.py"))
JOBS = sorted(p for p in (EXAMPLES / "jobs").glob("*.py") if p.stem != "compare")
TRAINING = sorted((EXAMPLES / "torch").glob("train_*.py"))
APPLICATIONS = sorted(p for p in (EXAMPLES / "torch" / "applications").glob("*.py") if p.stem != "twins")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)


def needs(page):
    for module in ("networkx", "sklearn", "torch"):
        if re.search(rf"^(import|from) {module}\b", page.read_text(), re.MULTILINE):
            pytest.importorskip(module)


@pages
def test_page(page, capsys):
    needs(page)
    runpy.run_path(str(page), run_name="__main__")
    assert len(capsys.readouterr().out) > 40
    lines = page.read_text().splitlines()
    assert len(lines) <= 50 and lines[0].startswith('"""') and any("assert " in line for line in lines)


def wrong(result):
    """The same with its last stored element changed."""
    if isinstance(result, tuple):
        return (*result[:-1], wrong(result[-1]))
    if isinstance(result, st.Tensor):
        if result.nse:
            values = (result.parts[-1] if len(result.parts) > 1 else result)._array("values")
            values[-1] = ~values[-1] if values.dtype == bool else values[-1] * 3 + 1
        return result
    result = np.array(result)
    flat = result.reshape(-1)
    if flat.size:
        n = np.flatnonzero(np.isfinite(flat))[-1]
        flat[n] = ~flat[n] if flat.dtype == bool else flat[n] * 3 + 1
    return result


@pages
def test_page_sees_a_wrong_number(page, monkeypatch):
    needs(page)
    for name in ("evaluate", "einsum"):
        right = getattr(st, name)
        monkeypatch.setattr(st, name, lambda *a, right=right, **k: wrong(right(*a, **k)))
    with pytest.raises(AssertionError), contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(page), run_name="__main__")


@pytest.mark.parametrize("job", JOBS, ids=lambda p: p.stem)
def test_job(job, capsys, monkeypatch):
    needs(job)
    monkeypatch.setattr(sys, "argv", [str(job), "--small"])
    monkeypatch.syspath_prepend(str(job.parent))
    monkeypatch.delitem(sys.modules, "compare", raising=False)
    import compare

    right = compare.compare

    def both(size, strata, *rest, **options):
        right(size, strata, *rest, **options)
        with pytest.raises(AssertionError):
            right(size, lambda: wrong(strata()), *rest, **options)

    monkeypatch.setattr(compare, "compare", both)
    runpy.run_path(str(job), run_name="__main__")
    assert "same result" in capsys.readouterr().out
    lines = job.read_text().splitlines()
    assert len(lines) <= 90 and lines[0].startswith('"""')


@pytest.mark.parametrize("page", TRAINING, ids=lambda p: p.stem)
def test_training(page, capsys, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(sys, "argv", [str(page), "--short"])
    monkeypatch.syspath_prepend(str(page.parent))
    monkeypatch.chdir(tmp_path)
    for module in ("characters", "report"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    runpy.run_path(str(page), run_name="__main__")
    assert capsys.readouterr().out.count("% stored") > 10
    assert xml.etree.ElementTree.parse(tmp_path / f"{page.stem}.svg").getroot().tag.endswith("svg")
    lines = page.read_text().splitlines()
    assert len(lines) <= 70 and lines[0].startswith('"""')

    import characters
    import report

    import strata.torch as stt

    model = stt.sparsify_(characters.Transformer(8), "CSR", stt.Magnitude(0.5), filter="blocks.*weight")
    monkeypatch.setattr(report, "as_dense", lambda model: characters.Transformer(8))
    with pytest.raises(AssertionError), torch.no_grad():
        report.table({"other numbers": model}, {})


@pytest.mark.parametrize("page", APPLICATIONS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_application(page, capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(sys, "argv", [str(page)])
    monkeypatch.syspath_prepend(str(page.parent))
    monkeypatch.delitem(sys.modules, "twins", raising=False)
    import twins

    right = twins.twins

    def both(name, ours, plain, *, small):
        right(name, ours, plain, small=dict(small))
        with pytest.raises(AssertionError):
            right(name, lambda **sizes: lambda: tuple(2 * x + 1 for x in ours(**sizes)()), plain, small=dict(small))

    monkeypatch.setattr(twins, "twins", both)
    with torch.random.fork_rng(devices=[]):
        runpy.run_path(str(page), run_name="__main__")
    assert "plain torch's result and gradients" in capsys.readouterr().out
    lines = page.read_text().splitlines()
    assert len(lines) <= 90 and lines[0].startswith('"""')


def test_the_list_is_complete():
    text = (EXAMPLES / "README.md").read_text()
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert all((EXAMPLES / target).exists() for target in linked)
    for page in [*PAGES, *TRAINING, *APPLICATIONS, *(EXAMPLES / "python").glob("*.py")]:
        assert str(page.relative_to(EXAMPLES)) in linked, page.name
    linked = re.findall(r"\]\(([^)]+)\)", (EXAMPLES / "jobs" / "README.md").read_text())
    assert all((EXAMPLES / "jobs" / target).exists() for target in linked)
    assert {job.name for job in JOBS} <= set(linked)
