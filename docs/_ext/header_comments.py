"""The doc comments of the public headers as XML, for breathe: runs doxygen (docs/Doxyfile), then joins the lines of each
paragraph, which breathe would make paragraphs of their own."""

import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

OUTPUT = pathlib.Path("build/site-doxygen")
_AS_WRITTEN = {"verbatim", "programlisting", "preformatted"}


def _join(element):
    if element.tag in _AS_WRITTEN:
        return
    if element.text:
        element.text = element.text.replace("\n", " ")
    for child in element:
        _join(child)
        if child.tail:
            child.tail = child.tail.replace("\n", " ")


def main():
    shutil.rmtree(OUTPUT, ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    if subprocess.run(["doxygen", "docs/Doxyfile"]).returncode:
        return 1
    for path in (OUTPUT / "xml").glob("*.xml"):
        tree = xml.parse(path)
        for paragraph in tree.iter("para"):
            _join(paragraph)
        tree.write(path, encoding="utf-8", xml_declaration=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
