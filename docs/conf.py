"""The reference site: Sphinx over the Markdown pages of docs/, docstrings and doc comments. Built by scripts/site."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

project = "Strata"
author = "the authors of Strata"
release = version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "breathe", "site_extension"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_ext"]
highlight_language = "none"

# Pages: Markdown as the rest of the repository writes it, anchors as GitHub makes them.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Every name that is referred to must be documented, or stand here: other people's types, and our words for kinds of arguments.
smartquotes = False
nitpicky = True
nitpick_ignore_regex = [
    ("cpp:.*", r"((std|detail|strata::detail)(::.*)?|Impl|\w+_)"),
    ("py:.*", r"(numpy|scipy|torch|cupy|collections)\..*|strata\.StoredIterator"),
]

# Each header opens the namespace again.
suppress_warnings = ["duplicate_declaration.cpp"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
cpp_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

breathe_projects = {"strata": str(ROOT / "build" / "site-doxygen" / "xml")}
breathe_default_project = "strata"
breathe_default_members = ("members",)
breathe_show_include = False

html_theme = "furo"
html_title = f"Strata {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
