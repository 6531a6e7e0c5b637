"""Every page of examples/kernels runs, checks itself, and sees a wrong number; examples/README.md lists them all."""

import contextlib
import io
import pathlib
import re
import runpy

import numpy as np
import pytest

import strata as st

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"
PAGES = sorted((EXAMPLES / "kernels").glob("*.py"))
pages = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)


def needs(page):
    for module in ("networkx",):
        if f"import {module}" in page.read_text():
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


def test_the_list_is_complete():
    text = (EXAMPLES / "README.md").read_text()
    linked = re.findall(r"\]\(([^)]+)\)", text)
    assert all((EXAMPLES / target).exists() for target in linked)
    for page in [*PAGES, *(EXAMPLES / "python").glob("*.py")]:
        assert str(page.relative_to(EXAMPLES)) in linked, page.name
