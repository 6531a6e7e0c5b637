"""Environment variables, in one table: those of st.settings as the library prints them, and the few that are read elsewhere."""

import pathlib
import re

import strata as st

from .markdown import table

ROOT = pathlib.Path(__file__).resolve().parents[3]

#: variable: what for. Those of st.settings are not among them: the library says what they mean.
OTHERS = {
    "OMP_NUM_THREADS": "lowers the number of threads where `STRATA_NUM_THREADS` is not set; of `4,2` the first counts",
    "MKLROOT": "where MKL is looked for, unless `STRATA_MKL` says where it is",
    "STRATA_SUITESPARSE": "the folder of CHOLMOD and UMFPACK, where `library=` names them; `off`: never",
    "CONDA_PREFIX": "where MKL is looked for, behind `MKLROOT`, and SuiteSparse",
    "VIRTUAL_ENV": "the same",
    "MKL_THREADING_LAYER": "the user's choice is kept; otherwise MKL is loaded without threads of its own",
    "MKL_INTERFACE_LAYER": "with `ILP64` in it, MKL is given 64-bit indices",
    "STRATA_JIT_LIBRARY": "the path of `libstrata_jit.so`; otherwise it is looked for beside the library. Not read by programs with raised privileges",
    "STRATA_JIT_GDB": "any value: debuggers and profilers learn the names and lines of compiled kernels",
    "STRATA_FAIL_ALLOCATION": "for tests: the n-th allocation fails",
    "STRATA_BENCH_CACHE": "where `strata bench` keeps matrices it made; otherwise `strata/bench` in `XDG_CACHE_HOME`",
    "XDG_CACHE_HOME": "the folder of caches, `strata/v1` in it being `cache_dir`; otherwise `~/.cache`",
    "HOME": "where `~` is, for the default of `cache_dir`",
    "TMPDIR": "where the subprocess compiler has its scratch folders; otherwise `/tmp`",
    "PATH": "where C compilers are looked for",
    "NO_COLOR": "any value: the command line prints no colours",
    "BROWSER": "which browser `strata explore` opens, as Python's `webbrowser` reads it",
    "DISPLAY": "without a desktop (and without `BROWSER`) `strata explore` opens no browser",
    "WAYLAND_DISPLAY": "the same",
    "TERM": "`dumb`: neither colours nor lines that move",
}


def settings():
    """(setting, variable, meaning) of st.settings, in its own words."""
    out = []
    for line in repr(st.settings).splitlines():
        m = re.match(r"(\S+) .*? (STRATA_\w+) +(.*)", line)
        out.append((m[1], m[2], m[3]))
    return out


def text():
    rows = [(f"`{variable}`", "" if name == "-" else f"`{name}`", meaning) for name, variable, meaning in settings()]
    rows += [(f"`{variable}`", "", meaning) for variable, meaning in OTHERS.items()]
    return table(("variable", "of `st.settings`", "meaning"), rows)


_READS = re.compile(r"getenv|environment\(|environ\b|read_(?:int|word|words|text)\(|\bvariable\b")
_SETS = re.compile(r"environ\[[^]]*\]\s*=[^=]|setdefault")
_NAME = re.compile(r"""["']([A-Z][A-Z0-9_]+)["']""")


def read_by_sources():
    """Every variable that the sources of the library, of the package and of `strata bench` read."""
    found = set()
    for folder in ("src", "include", "python", "benchmarks/strata_bench"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".py"):
                for line in path.read_text().splitlines():
                    if _READS.search(line) and not _SETS.search(line):
                        found |= set(_NAME.findall(line))
    return found
