"""make_stubs.py PATTERNS OUT: the types that editors and checkers see, python/strata/_core.pyi, from the extension and from
what the package adds to Tensor."""

import inspect
import re
import sys
import types

from nanobind import stubgen

from strata import _calls, _core

#: what is an object to the binding, and more to a checker
KNOWN = {
    r"def values\(self\) -> object": "def values(self) -> numpy.ndarray",
    r"def (pos|crd)\(self, level: object(.*)\) -> object": r"def \1(self, level: object\2) -> numpy.ndarray",
    r"def shape\(self\) -> tuple:": "def shape(self) -> tuple[int, ...]:",
    r"def __reduce_ex__\(self, protocol: int\)": "def __reduce_ex__(self, protocol: SupportsIndex)",
    r"__hash__: None = None\n": "__hash__: None = None  # type: ignore[assignment]\n",
    r"-> object\b": "-> Any",
}
#: what a stub may take from elsewhere; what it does use is imported
IMPORTED = {
    "collections.abc": ("Callable", "Iterable", "Iterator", "Mapping", "Sequence"),
    "typing": ("Annotated", "Any", "SupportsIndex", "overload"),
}


def added(text):
    """The methods that Python adds to Tensor and the patterns do not tell of, as lines of its class."""
    told = set(re.findall(r"^    def (\w+)\(", _tensor(text), re.MULTILINE))
    lines = []
    for name, f in sorted(vars(_core.Tensor).items()):
        if (
            not isinstance(f, (types.FunctionType, property))
            or name in told
            or name in ("__hash__", "__setitem__", "__getattr__")
        ):
            continue
        doc = (inspect.getdoc(f) or "").split("\n\n")[0].replace("\n", " ")
        body = f'\n        """{doc}"""' if doc else " ..."
        if isinstance(f, property):
            lines.append(f"    @property\n    def {name}(self) -> Any:{body}\n")
        else:
            lines.append(f"    def {name}{_signature(f)} -> Any:{body}\n")
    return "\n".join(lines)


def _signature(f):
    """Its parameters without types; a default that is no plain value is written as '...'."""
    parameters = []
    for p in inspect.signature(f).parameters.values():
        plain = p.default is p.empty or p.default is None or isinstance(p.default, (bool, int, float, str))
        parameters.append(p.replace(annotation=p.empty, default=p.default if plain else ...))
    return str(inspect.Signature(parameters)).replace("=Ellipsis", "=...")


def _tensor(text):
    start = text.index("\nclass Tensor:")
    following = re.search(r"^(class|def) ", text[start + 7 :], re.MULTILINE)
    return text[start : start + 7 + following.start()]


def with_imports(text):
    """The generator imports by what it saw, which is less than what stands here in the end: all anew, by what is used."""
    text = re.sub(r"^(from (typing|collections\.abc) import [^\n]*|import numpy)\n+", "", text, flags=re.MULTILINE)
    lines = []
    for module, names in IMPORTED.items():
        used = [name for name in names if re.search(rf"(?<!\w|\.){name}\b", text)]
        if used:
            lines.append(f"from {module} import {', '.join(used)}\n")
    doc, quotes, rest = text.partition('"""\n\n')
    return doc + quotes + "".join(lines) + "\nimport numpy\n\n" + rest


def main(patterns, out):
    _calls.as_bound()
    stubgen.main(["-q", "-m", "strata._core", "-p", patterns, "-o", out])
    with open(out) as f:
        text = f.read()
    # Functions of Python that the generator imports are methods, and stand in their class.
    text = re.sub(r"^from strata\.\w+ import (\([^)]*\)|[^\n]*)\n+", "", text, flags=re.MULTILINE)
    for known, better in KNOWN.items():
        text = re.sub(known, better, text)
    body = _tensor(text)
    more = added(text)
    text = text.replace(body, body.rstrip("\n") + "\n\n" + more + "\n\n" if more else body, 1)
    text = with_imports(text)
    with open(out, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
