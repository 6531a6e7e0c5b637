"""What the site adds to Sphinx. Pages stay plain Markdown, in which two kinds of comments, each a line of its own, stand for

<!-- generated: NAME ... -->    what generated/ makes of the library as it is
<!-- api: strata.X strata.Y --> the documentation of these, from their docstrings
"""

import enum
import importlib
import inspect
import pathlib
import re

import docstrings
import generated

_GENERATED = re.compile(r"^<!-- generated: (\w+)(.*) -->$", re.MULTILINE)
_API = re.compile(r"^<!-- api: ([\w.\s]+?) -->$", re.MULTILINE)
_MARKDOWN = re.compile(r"\]\(((?!\w+:)[^)#\s]+\.md)(?:#[^)]*)?\)")

#: Arguments and results that say nothing of their type.
_SAYS_NOTHING = re.compile(r": object( \| None)?(?=[,)= ])")


def named(pages):
    """Every name that these pages (texts) document."""
    return {name for text in pages for m in _API.finditer(text) for name in m[1].split()}


def resolve(name):
    """The object of a dotted name, and whether it belongs to a class."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            owner = obj = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            owner, obj = obj, getattr(obj, part)
        return obj, inspect.isclass(owner)
    raise ImportError(f"nothing is called {name}")


def _directive(name, elsewhere):
    obj, of_class = resolve(name)
    if inspect.ismodule(obj):
        return [f".. automodule:: {name}"]
    if inspect.isclass(obj):
        if issubclass(obj, BaseException):
            return [f".. autoexception:: {name}"]
        # What a page of its own tells of the class does not stand here again.
        members = ["   :members:"] + ["   :undoc-members:"] * issubclass(obj, enum.Enum)
        told = sorted(n.rpartition(".")[2] for n in elsewhere if n.startswith(name + "."))
        return [f".. autoclass:: {name}{_constructor(obj)}", *members] + (
            [f"   :exclude-members: {', '.join(told)}"] if told else []
        )
    kind = (
        "property" if isinstance(obj, property) else "method" if of_class else "function" if callable(obj) else "data"
    )
    return [f".. auto{kind}:: {name}"]


def _constructor(cls):
    """The signature of a bound class, which only the docstring of its __init__ tells; "" for others."""
    m = re.match(r"__init__(\(.*\)) -> None$", cls.__init__.__doc__ or "")
    return _clean(m[1]) if m else ""


def _fill_in(app, docname, source):
    text = _GENERATED.sub(lambda m: generated.texts[m[1]](*m[2].split()), source[0])

    def api(m):
        lines = [line for name in m[1].split() for line in (*_directive(name, app.env.strata_named), "")]
        return "\n".join(["```{eval-rst}", *lines, "```"])

    source[0] = _MARKDOWN.sub(lambda m: _as_file(m, app.env.doc2path(docname), app.srcdir), _API.sub(api, text))
    if docname.endswith("/README"):  # of a folder of pages, which it introduces
        source[0] += "\n:::{toctree}\n:hidden:\n:glob:\n\n*\n:::\n"


def _as_file(link, page, docs):
    """A link to Markdown that is no page of the site, such as a table of benchmarks, gives the file itself."""
    target = pathlib.Path(page).parent.joinpath(link[1]).resolve()
    outside = target.is_file() and not target.is_relative_to(docs)
    return f"](path:{link[1]})" if outside else link[0]


def _read_pages(app, env, docnames):
    env.strata_named = named(open(env.doc2path(d), encoding="utf-8").read() for d in env.found_docs)


def _docstring(app, what, name, obj, options, lines):
    import strata

    lines[:] = docstrings.to_rst(lines, _linked(strata, name))


def _linked(strata, name):
    """Classes of the package are linked where a docstring names them, but for the one that speaks. strata.ust has some of the
    names for its own."""
    known = {n: getattr(strata, n) for n in strata.__all__ if n[0].isupper() and n != name.rpartition(".")[2]}
    return {n for n, obj in known.items() if not name.startswith("strata.ust") or issubclass(obj, BaseException)}


def _signature(app, what, name, obj, options, signature, result):
    """Bound functions name themselves, and types by where they are made. Errors are caught, not made."""
    if what == "exception":
        return signature and "", None
    return _clean(signature), None if result in ("object", "None") else _clean(result)


def _clean(text):
    return text and re.sub(r"^\(self(, )?", "(", _SAYS_NOTHING.sub("", text.replace("strata._core.", "strata.")))


def _record_explorer(app, exception):
    if exception is None:
        generated.explorer.write(app.outdir)


def setup(app):
    app.connect("env-before-read-docs", _read_pages)
    app.connect("source-read", _fill_in)
    app.connect("build-finished", _record_explorer)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
