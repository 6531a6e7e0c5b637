"""A picture as an object: text, notebooks, files, themes; the checked-in pictures; `strata draw`."""

import pathlib
import re
import runpy
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest

import strata as st
from strata.demo import draw as command

ROOT = pathlib.Path(__file__).resolve().parents[3]
BLOG = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def all_kinds():
    a = st.from_dense(BLOG, "CSR")
    return [a.draw(), a.draw_storage(), a.draw_raw(), st.draw_conversion(a, "COO")]


def test_it_prints_as_text():
    for picture in all_kinds():
        assert str(picture) == repr(picture) == picture.text() and "\n" in str(picture)
        assert str(picture).startswith("CSR   3 x 8   int64   5 stored   76 bytes\n")


def test_notebooks_get_svg():
    for picture in all_kinds():
        assert picture._repr_svg_() == picture.svg
        assert picture.svg in picture._repr_html_()
        root = ET.fromstring(picture.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.find("{*}title").text
        assert float(root.get("width")) > 0 and len(root.get("viewBox").split()) == 4


def test_svg_needs_nothing_from_elsewhere():
    for picture in all_kinds():
        svg = picture.svg
        assert "<script" not in svg and "href" not in svg and "url(" not in svg and " id=" not in svg
        # Every rule of the style sheet reaches into the picture alone.
        sheet = svg[svg.index("<style>") + 7 : svg.index("</style>")]
        assert all(r.strip().startswith((".strata-auto", "@media", "}")) for r in sheet.strip().split("\n"))


def test_every_class_has_a_rule_for_light_and_dark():
    for picture in all_kinds():
        svg = picture.svg
        sheet = svg[svg.index("<style>") : svg.index("</style>")]
        light, dark = sheet.split("@media (prefers-color-scheme:dark)")
        used = {c for m in re.finditer(r'class="([^"]+)"', svg) for c in m[1].split()} - {"strata-auto"}
        for name in used:
            assert f" .{name}{{" in light, name
        coloured = set(re.findall(r" \.([\w-]+)\{(?:fill|stroke):#", light))
        assert coloured == set(re.findall(r" \.([\w-]+)\{(?:fill|stroke):#", dark))


def luminance(colour):
    c = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(c @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_are_legible(theme):
    """WCAG's ratio of 4.5 between every text and what it stands on, on light pages and on dark ones."""
    deep = np.zeros((2,) * 8)  # a level of each colour
    deep[(1,) * 8] = 1
    svg = ""
    for t in (st.from_dense(deep, "CSF(8)"), st.from_dense(BLOG, "BSR(2, 2)"), st.from_dense(BLOG, "ELL")):
        svg += t.draw_storage()._drawn.svg(theme)
    fill = dict(re.findall(r"\.([\w-]+)\{fill:(#\w{6})", svg))
    for level in range(8):
        assert contrast(fill[f"t{level}"], fill[f"l{level}"]) >= 4.5
        assert contrast(fill[f"t{level}"], fill["page"]) >= 4.5
    for text, ground in (("ink", "value"), ("ink", "page"), ("muted", "page"), ("fill-in-text", "fill-in")):
        assert contrast(fill[text], fill[ground]) >= 4.5, (text, ground)


def test_files(tmp_path):
    picture = st.from_dense(BLOG, "delta(2)").draw_storage()
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == picture.svg
    picture.save(str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text() == str(picture) + "\n"
    picture.save(tmp_path / "dark.svg", theme="dark")
    dark = (tmp_path / "dark.svg").read_text()
    assert "@media" not in dark and "strata-dark" in dark
    with pytest.raises(st.FileError, match="suffix") as e:
        picture.save(tmp_path / "a.jpg")
    assert ".png" in e.value.expected
    with pytest.raises(st.FileError, match="no_such"):
        picture.save(tmp_path / "no_such" / "a.svg")
    with pytest.raises(st.ArgumentError, match="path"):
        picture.save(3)
    with pytest.raises(st.Error, match="no theme of that name"):
        picture.save(tmp_path / "a.svg", theme="blue")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.svg", "a.txt", "dark.svg"]


def test_png_and_pdf(tmp_path):
    pytest.importorskip("typst")
    picture = st.from_dense(BLOG, "CSR").draw()
    picture.save(tmp_path / "a.png")
    picture.save(tmp_path / "a.pdf")
    png, pdf = (tmp_path / "a.png").read_bytes(), (tmp_path / "a.pdf").read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n") and pdf.startswith(b"%PDF-")
    width, height = (int.from_bytes(png[k : k + 4], "big") for k in (16, 20))
    root = ET.fromstring(picture.svg)
    assert abs(width - 2 * float(root.get("width"))) <= 2 and abs(height - 2 * float(root.get("height"))) <= 2
    picture.save(tmp_path / "b.png", scale=1)
    assert abs(int.from_bytes((tmp_path / "b.png").read_bytes()[16:20], "big") - width / 2) <= 2
    # Light and dark are other pixels, and there is more than a blank page.
    picture.save(tmp_path / "c.png", theme="dark")
    assert zlib.crc32((tmp_path / "c.png").read_bytes()) != zlib.crc32(png) and len(png) > 3000
    for scale in (0, 1e9, "large"):
        with pytest.raises(st.ArgumentError, match="scale"):
            picture.save(tmp_path / "d.png", scale=scale)


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    with pytest.raises(st.Unsupported, match="typst") as e:
        st.from_dense(BLOG, "CSR").draw().save(tmp_path / "a.png")
    assert "strata[pictures]" in e.value.fix and not list(tmp_path.iterdir())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(st.Unsupported, match="matplotlib") as e:
        st.spy(st.from_dense(BLOG, "CSR"))
    assert "strata[pictures]" in e.value.fix


def test_checked_in_pictures_are_what_is_drawn():
    """`just golden` (or scripts/pictures.py) renews them; look at the difference."""
    made = runpy.run_path(str(ROOT / "scripts" / "pictures.py"))["pictures"]()
    files = {p.stem: p.read_text(encoding="utf-8") for p in (ROOT / "docs/_static/pictures").glob("*.svg")}
    assert set(files) == set(made)
    different = [name for name, picture in made.items() if picture.svg != files[name]]
    assert not different
    shown = (ROOT / "docs" / "pictures.md").read_text()
    assert [name for name in made if f"_static/pictures/{name}.svg" not in shown] == []
    assert sum(map(len, files.values())) < 700_000


def strata(*args, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "strata", "draw", *map(str, args)], capture_output=True, text=True, cwd=cwd, timeout=120
    )


def test_the_command(tmp_path):
    out = strata("BSR(2, 2)")
    assert out.returncode == 0 and "j / 2 : compressed" in out.stdout and "values" in out.stdout
    small, large = tmp_path / "small.mtx", tmp_path / "large.mtx"
    st.write(small, st.from_dense(BLOG, "COO"))
    st.write(large, st.from_coo((np.arange(200), np.arange(200)), np.ones(200), (200, 200), "COO"))
    assert strata("small.mtx", "-o", "x.svg", "--theme", "dark", cwd=tmp_path).stdout == ""
    assert "strata-dark" in (tmp_path / "x.svg").read_text()
    wrong = strata("CSRR")
    assert wrong.returncode == 1 and "CSR" in wrong.stderr and "Traceback" not in wrong.stderr

    def made(*args):
        from strata import cli

        return command.picture(cli.parser().parse_args(["draw", *map(str, args)]))

    t = st.read(small)
    assert str(made(small)) == str(t.draw()) and str(made(small, "--storage")) == str(t.draw_storage())
    assert str(made(large)) == str(st.read(large).draw_raw()) and str(made(large, "--grid")) == str(
        st.read(large).draw()
    )
    assert str(made(small, "--raw")) == str(t.draw_raw())
    assert str(made(small, "--format", "delta(2)", "--storage")) == str(t.to("delta(2)").draw_storage())
    assert str(made(small, "--convert", "CSC")) == str(st.draw_conversion(t, "CSC"))
    for format in ("dense(0)", "SparseVector", "CSF", "COO(4)", "(i) -> (i / 2 : compressed, i % 2 : dense)"):
        assert "stored" in str(made(format)) and "<svg" in made(format).svg
    for args, word in (
        ([tmp_path / "none.mtx"], "none.mtx"),
        (["data/none.txt"], "no file"),
        (["CSR", "--format", "COO"], "--format"),
    ):
        with pytest.raises(st.Error, match=word):
            made(*args)


def test_nvmath_s_names():
    from strata import ust

    t = ust.Tensor.from_package(BLOG)
    assert "stored" in str(t.draw()) and "stored" in str(t.draw_raw()) and "values" in str(t.draw_storage())
