"""The reference site (scripts/site) tells of everything, and what it tells is so. Blocks on its pages run in test_docs.py."""

import inspect
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import strata as st
from strata import _ufuncs, errors, split, ust

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import check_links  # noqa: E402
import docstrings  # noqa: E402
import site_extension  # noqa: E402
from generated import environment, errors as error_page, formats, functions, headers, levels  # noqa: E402

PAGES = {p: p.read_text() for p in sorted((ROOT / "docs").rglob("*.md"))}
NAMED = site_extension.named(PAGES.values())


def test_every_public_name_is_documented():
    wanted = {f"strata.{n}" for n in st.__all__ if n not in ("formats", "settings", "split")}
    wanted |= {"strata.formats.names", "strata._core.Settings"}
    wanted |= {f"strata.split.{n}" for n in split.__all__} | {f"strata.ust.{n}" for n in ust.__all__}
    on_error_page = {f"strata.{n}" for n in [*error_page.EXAMPLES, *error_page.OTHERS]}
    assert wanted - on_error_page <= NAMED
    for name in NAMED:
        site_extension.resolve(name)


def members():
    """(name, object) of what the site documents, members of classes too."""
    for name in sorted(NAMED):
        obj, _ = site_extension.resolve(name)
        yield name, obj
        if inspect.isclass(obj):
            yield from ((f"{name}.{n}", inspect.getattr_static(obj, n)) for n in vars(obj) if not n.startswith("_"))


def test_everything_has_words_of_its_own():
    bare = re.compile(r"\s*(\w*\(.*\) -> [^\n]*)?\s*")  # what nanobind says where nothing else is said
    empty = [
        name
        for name, obj in members()
        if (callable(obj) or isinstance(obj, property)) and bare.fullmatch(obj.__doc__ or "")
    ]
    assert not empty


@pytest.mark.parametrize(
    "name,obj",
    [(n, o) for n, o in members() if isinstance(o.__doc__, str)],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_examples_in_docstrings_run(name, obj, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    rng = np.random.default_rng(0)
    tensors = {n: st.from_dense(rng.integers(0, 3, (3, 3)).astype(float), "CSR") for n in "ABW"}
    arrays = {n: rng.random((3, 3)) for n in "abcUV"} | {n: rng.random(3) for n in ("x", "d0")}
    i, j = ust.Dimension(dimension_name="i"), ust.Dimension(dimension_name="j")
    package = ust if name.startswith("strata.ust") else st
    scope = {"np": np, **vars(package), "i": i, "j": j, **tensors, **arrays, "scipy_matrix": tensors["A"].to_scipy()}
    if name.startswith("strata.torch"):
        scope |= {"torch": pytest.importorskip("torch"), "stt": st.torch}
    if name == "strata.evaluate":
        scope["b"] = rng.random(3)
    for example in docstrings.examples(obj.__doc__):
        exec(example, scope)
    st.unregister_kernel("mine")


def test_every_type_of_level_is_told_of():
    with pytest.raises(st.FormatError) as e:
        st.Format("(i) -> (i : none)")
    told = set(e.value.expected.split(", "))
    assert set(levels.TYPES) == told - set(st._core.level_types()[len(levels.TYPES) :])  # registered by other tests
    for name, facts in levels.TYPES.items():
        format = st.Format(facts[3])
        assert name in [level.kind for level in format.levels]
        array = levels.example.of_rank(format.rank)
        assert (st.from_dense(array, format).to_dense() == array).all()


def test_every_named_format_is_told_of():
    # In a process of its own: other tests register names.
    code = "from generated import formats; print(*formats.families())"
    path = ":".join([str(ROOT / "docs" / "_ext"), *sys.path])
    known = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert known.stdout.split() and set(known.stdout.split()) == {n for group in formats.GROUPS.values() for n in group}


@pytest.mark.parametrize("name,facts", [(n, f) for group in formats.GROUPS.values() for n, f in group.items()])
def test_bytes_of_named_formats(name, facts):
    numbers, formula, _ = facts
    format, t = formats.example_of(name, numbers)
    assert format.name.partition("(")[0] in (name, "dense", "DenseVector")
    assert (t.to_dense() == formats.example.of_rank(format.rank)).all()
    if formula:
        formats.check(name, numbers, formula)


def test_every_error_is_told_of():
    assert {*error_page.EXAMPLES, *error_page.OTHERS, "Error"} == set(errors.__all__)
    for name, code in error_page.EXAMPLES.items():
        cls, text = error_page.message(code)
        assert cls is getattr(st, name) and text


def test_every_environment_variable_is_told_of():
    told = {variable for _, variable, _ in environment.settings()}
    assert len(told) == len(repr(st.settings).splitlines())
    assert environment.read_by_sources() == told | set(environment.OTHERS)


def test_every_header_has_its_place():
    public = {p.name for p in (ROOT / "include" / "strata").glob("*.h") if not p.name.startswith("format_")} - {
        "strata.h"
    }
    shown = re.findall(r"^<!-- generated: headers (.*) -->$", "\n".join(PAGES.values()), re.MULTILINE)
    assert sorted(" ".join(shown).split()) == sorted(public)
    assert "language of formats" in headers.head("format.h")


def test_every_function_of_numpy_is_told_of():
    assert {f.__name__ for f in _ufuncs._CALLS} == set(functions._CALLS)
    table = functions.ufuncs_text()
    assert all(f"`np.{f.__name__}`" in table for f in [*_ufuncs._TEXTS, *_ufuncs._CALLS])


def test_docstrings_become_restructured_text():
    text = ["Sums |x| of a Tensor.", "", "    f(x)", "", "a, b : of `f`", "    and *g", "c : one; d : two"]
    assert docstrings.to_rst(text, {"Tensor"}) == [
        "Sums \\|x\\| of a :py:obj:`~strata.Tensor`.",
        "",
        ".. code-block:: python",
        "",
        "    f(x)",
        "",
        "``a``, ``b``",
        "    of ``f`` and \\*g",
        "``c``",
        "    one",
        "``d``",
        "    two",
        "",
    ]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there"></a><a href="#here"></a><a href="https://x.org/">'
    )
    (tmp_path / "b.html").write_text('<a href="c.html"></a><img src="d.png"><a href="a.html#here"></a>')
    broken, elsewhere = check_links.check(tmp_path)
    assert broken == [
        "a.html: b.html#there: no such place in the page",
        "b.html: c.html: no such file",
        "b.html: d.png: no such file",
    ]
    assert dict(elsewhere) == {"https://x.org/": {"a.html"}}


def test_markdown_outside_the_site_is_given_as_a_file():
    page = ROOT / "docs" / "tutorial.md"
    linked = lambda target: site_extension._MARKDOWN.sub(
        lambda m: site_extension._as_file(m, page, ROOT / "docs"), f"[x]({target})"
    )
    assert linked("../README.md#speed") == "[x](path:../README.md)"
    for target in ("decisions.md", "reference/zeros.md#masks", "https://x.org/a.md", "missing.md"):
        assert linked(target) == f"[x]({target})"


def test_the_grammar_and_the_cmake_lines_are_those_that_are_used():
    grammar = re.search(
        r"^```\n(format  = .*?)^```$", PAGES[ROOT / "docs/reference/format-language.md"], re.MULTILINE | re.DOTALL
    )
    assert "```c++\n" + grammar[1] + "```" in headers.head("format.h")
    cmake = re.search(r"^```cmake\n(.*?)^```$", PAGES[ROOT / "docs/reference/cpp.md"], re.MULTILINE | re.DOTALL)
    assert cmake[1] in (ROOT / "tests/consumer/CMakeLists.txt").read_text()
