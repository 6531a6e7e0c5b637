"""surface.py [--check]: docs/reference/surface.md, the names of SciPy, NumPy, torch and pydata/sparse beside ours.

Each public name that these packages have is looked up: it is there (the same name on tensors or in the package, or NumPy's own
function takes tensors), it is called otherwise, or it makes no sense. What strata._absent says of absent names is the one source
of the last two; tests/python/names/test_surface.py calls what is there, and finds that no name is left over. `--check` says
whether the page is what would be written, and writes nothing.
"""

import importlib
import inspect
import pathlib
import sys
import types
import warnings

import numpy as np

import strata as st
from strata import _absent, _array_function, _ufuncs, array_api

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "surface.md"
HEAD = """# Names of other packages

What SciPy, NumPy, torch.sparse and pydata/sparse have, name by name, and what it is here: *there* under the same name,
*called* otherwise, or *none*, and why. An AttributeError says the same. [Names of NumPy and SciPy](names.md) tells how those
work that are there; of what NumPy's functions make of tensors, see [its own functions](names.md#numpys-own-functions). `A` is a
tensor, `xp` is `A.__array_namespace__()`.

Made by `scripts/surface.py` with {versions}.
"""

THERE, CALLED, NONE = "there", "called", "none"


def member(whose, name):
    """(kind, words) of a member of another package's arrays."""
    if (whose, name) in _absent.OTHERWISE:
        return CALLED, _absent.OTHERWISE[whose, name]
    if name in dir(st.Tensor):
        return THERE, f"A.{name}"
    if name in _absent.MEMBERS:
        return CALLED, _absent.MEMBERS[name]
    if name in _absent.NO_MEMBER:
        return NONE, _absent.NO_MEMBER[name]
    return None, ""


def function(whose, name):
    """(kind, words) of a function of another package."""
    if (whose, name) in _absent.OTHERWISE:
        return CALLED, _absent.OTHERWISE[whose, name]
    module = {"numpy": np, "numpy.linalg": np.linalg}.get(whose)
    if module is not None:
        f = getattr(module, name)
        prefix = "np" + whose.removeprefix("numpy")
        of_ufuncs = isinstance(f, np.ufunc) and f in _ufuncs._SERVED
        if of_ufuncs or f in _array_function.FUNCTIONS or f in _array_function.COMPOSED:
            return THERE, f"{prefix}.{name}"
    if name in st.__all__ and not isinstance(getattr(st, name), types.ModuleType):
        return THERE, f"st.{name}"
    if whose == "sparse" and name in array_api.__all__:
        return THERE, f"xp.{name}"
    if name in _absent.FUNCTIONS:
        return CALLED, _absent.FUNCTIONS[name]
    if name in _absent.NO_FUNCTION:
        return NONE, _absent.NO_FUNCTION[name]
    return None, ""


def public(module, names=None):
    """Its functions and classes, not its modules; aliases of types and numbers are no functions."""
    for name in sorted(names if names is not None else dir(module)):
        if not name.startswith("_") and callable(getattr(module, name, None)):
            yield name


def functions(module, names=None):
    """Those that are no classes."""
    return [n for n in public(module, names) if not inspect.isclass(getattr(module, n))]


def _members(*classes):
    return sorted({n for cls in classes for n in dir(cls) if not n.startswith("_")})


def peers():
    """(heading, package, whose, names, how one is looked up) of all that are installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "NumPy: members of ndarray", "numpy", "numpy.ndarray", _members(np.ndarray), member
        plain = [n for n in functions(np) if not isinstance(getattr(np, n), np.ufunc)]
        yield "NumPy: functions", "numpy", "numpy", plain, function
        ufuncs = [n for n in functions(np) if isinstance(getattr(np, n), np.ufunc)]
        yield "NumPy: functions of elements", "numpy", "numpy", ufuncs, function
        yield "NumPy: linalg", "numpy", "numpy.linalg", functions(np.linalg), function
        yield from _scipy()
        yield from _torch()
        yield from _pydata()


def _import(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _scipy():
    sps = _import("scipy.sparse")
    if sps is None:
        return
    of = [getattr(sps, f"{kind}_array") for kind in ("csr", "csc", "coo", "bsr", "dia")]
    names = set(_members(*of)) | {n for cls in of for n in vars(cls((1, 1))) if not n.startswith("_")}
    names |= set(_members(sps.csr_matrix))
    yield "scipy.sparse: members", "scipy", "scipy.sparse.csr_array", sorted(names), member
    yield "scipy.sparse: functions", "scipy", "scipy.sparse", list(public(sps, sps.__all__)), function
    for part in ("linalg", "csgraph"):
        module = importlib.import_module(f"scipy.sparse.{part}")
        whose = f"scipy.sparse.{part}"
        yield f"{whose}", "scipy", whose, list(public(module, module.__all__)), function


_OF_STORAGE = ("sparse", "coalesce", "indices", "values", "dense")


def _torch():
    torch = _import("torch")
    if torch is None:
        return
    named = lambda n: any(word in n for word in _OF_STORAGE)
    yield (
        "torch.Tensor: members of sparse tensors",
        "torch",
        "torch.Tensor",
        list(filter(named, _members(torch.Tensor))),
        member,
    )
    yield (
        "torch.sparse",
        "torch",
        "torch.sparse",
        list(public(torch.sparse, {*torch.sparse.__all__, *_TORCH_SPARSE})),
        function,
    )
    names = [n for n in functions(torch) if "sparse" in n or n in ("hspmm", "smm", "sspaddmm")]
    yield "torch: functions of sparse tensors", "torch", "torch", names, function


#: of torch.sparse, and not in its __all__
_TORCH_SPARSE = ("sampled_addmm", "spdiags", "spsolve")


def _pydata():
    sparse = _import("sparse")
    if sparse is None:
        return
    yield "sparse (pydata): members of COO", "sparse", "sparse.COO", _members(sparse.COO), member
    names = [n for n in sparse.__all__ if callable(getattr(sparse, n)) and n not in _dtypes(sparse)]
    yield "sparse (pydata): functions", "sparse", "sparse", sorted(names), function


def _dtypes(module):
    return {
        n for n in dir(module) if inspect.isclass(getattr(module, n)) and issubclass(getattr(module, n), np.generic)
    }


def versions():
    """{package: version} of what is installed."""
    found = {name: _import(name) for name in ("numpy", "scipy", "torch", "sparse")}
    return {name: module.__version__ for name, module in found.items() if module is not None}


def page():
    """(the page, names without a verdict as 'whose.name')."""
    lines, left = [], []
    for heading, _, whose, names, look_up in peers():
        found = {name: look_up(whose, name) for name in names}
        left += [f"{whose}.{name}" for name, (kind, _) in found.items() if kind is None]
        counts = {kind: sum(k == kind for k, _ in found.values()) for kind in (THERE, CALLED, NONE)}
        lines += [
            f"\n## {heading}\n",
            f"{counts[THERE]} there, {counts[CALLED]} called otherwise, {counts[NONE]} none.\n",
        ]
        lines += ["| name | | here |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {kind} | {_words(whose, name, kind, words)} |" for name, (kind, words) in found.items()
        ]
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    return HEAD.format(versions=told) + "\n".join(lines) + "\n", left


def _words(whose, name, kind, words):
    """What is to be written stands as code; a reason does not."""
    plain = kind == NONE or (whose, name) in _absent.OTHERWISE
    return words if plain else f"`{words}`"


def main(arguments):
    text, left = page()
    if left:
        sys.exit("no verdict, see strata._absent: " + ", ".join(left))
    if "--check" in arguments:
        if PAGE.read_text() != text:
            sys.exit(f"{PAGE} is not what scripts/surface.py writes")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
