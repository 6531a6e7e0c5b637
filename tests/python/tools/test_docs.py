"""Every block of code in README.md, CONTRIBUTING.md and docs/ runs; where a block of output follows, it is what is printed. C++ blocks stand in an example."""

import contextlib
import io
import pathlib
import re

import pytest

import strata as st

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(page):
    """(language, text, line) of each fenced block."""
    text = page.read_text()
    for m in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield m[1], m[2], text[: m.start()].count("\n") + 2


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_python_blocks(page, tmp_path, monkeypatch):
    if page.name in ("pytorch.md", "model-sparsity.md", "coming-from.md") or page.parent.name == "model-sparsity":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(st.settings, "threads", 0)  # as a reader has it, whatever tests before this one left
    namespace = {}
    found = list(blocks(page))
    for k, (language, text, line) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + text, str(page), "exec"), namespace)
        if k + 1 < len(found) and found[k + 1][0] == "text":
            assert printed.getvalue() == found[k + 1][1], f"{page.name}, line {found[k + 1][2]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_cpp_blocks_are_compiled(page):
    programs = [re.sub(r"\s+", " ", p.read_text()) for p in (ROOT / "examples" / "cpp").glob("*.cpp")]
    for language, text, line in blocks(page):
        if language == "cpp":
            assert text.strip() and any(re.sub(r"\s+", " ", text).strip() in p for p in programs), (
                f"{page.name}, line {line}: in no example"
            )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("example", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda p: p.name)
def test_python_examples(example, capsys):
    import runpy
    import sys

    argv, sys.argv = sys.argv, [str(example)]
    try:
        runpy.run_path(str(example), run_name="__main__")
    finally:
        sys.argv = argv
    assert capsys.readouterr().out
