"""strata doctor: what is here, what is missing, and how to get it."""

import json
import os
import platform
import shutil
import subprocess
import sys
import time

import numpy as np

from .. import __version__, _core, settings
from .._evaluate import evaluate
from .._terminal import Style, seconds, size
from .._timing.machine import meminfo, processor, taken_by_others, vectors
from .._timing.peers import installed
from ..errors import Error
from . import cache
from .advice import BUSY

#: name: (what it is for, how to get it)
PACKAGES = {
    "SciPy": ("scipy matrices in and out; strata demo checks against it", "pip install scipy"),
    "torch": ("torch tensors in and out", "pip install torch"),
    "pyamg": ("the matrices of strata demo", "pip install pyamg"),
    "MKL": ("MKL's kernels where they were measured to be faster", "pip install mkl"),
}
_COMPILERS = ("cc", "gcc", "clang")


def _compilers():
    """{name: first line of its version} of the C compilers that are found."""
    found = {}
    for name in _COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
        except (OSError, subprocess.SubprocessError) as e:
            said = f"cannot be run: {e}"
        found[name] = (said.splitlines() or ["says nothing"])[0]
    return found


def _product():
    """Runs a product that no kernel is there for yet; gives the seconds and None, or what went wrong."""
    n = 3 + time.time_ns() % 100003
    t = _core.from_dense(np.diag(np.arange(1.0, 5.0)), "delta(3)")
    engine = settings.engine
    start = time.perf_counter()
    try:
        settings.engine = "auto"
        y = evaluate(f"y(i) = {n} * A(i,j) * x(j)", A=t, x=np.ones(4))
    except Error as e:
        return time.perf_counter() - start, str(e).splitlines()[0]
    finally:
        settings.engine = engine
    right = np.array_equal(y, n * np.arange(1.0, 5.0))
    return time.perf_counter() - start, None if right else f"the product is wrong: {y}"


def _cache_is_writable(directory):
    while directory and not os.path.exists(directory):
        directory = os.path.dirname(directory)
    return bool(directory) and os.access(directory, os.W_OK | os.X_OK)


def facts():
    took, problem = _product()
    packages = installed()
    for name, package in (("pyamg", "pyamg"), ("CuPy", "cupy")):
        version = _version(package)
        if version:
            packages[name] = version
    return {
        "version": __version__,
        "folder": os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        "python": f"{platform.python_version()}, {sys.executable}",
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}",
        "processor": processor(),
        "vectors": vectors(),
        "processors": len(os.sched_getaffinity(0)),
        "taken_by_others": round(taken_by_others(), 1),
        "memory": 1024 * meminfo().get("MemTotal", 0),
        "free": 1024 * meminfo().get("MemAvailable", 0),
        "threads": settings.threads,
        "compiler": _core.compiler_description(),
        "compilers": _compilers(),
        "first_product": took,
        "problem": problem,
        "cache": cache.facts(),
        "packages": packages,
    }


def _version(package):
    import importlib.metadata

    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def advice(known):
    """What could be better: (what, how to mend it) each, the gravest first."""
    out = []
    if known["problem"]:
        out.append((known["problem"], "run it again with STRATA_DUMP=source and report what is printed"))
    if known["compiler"].startswith("none"):
        how = "apt-get install gcc, or pip install ziglang" if settings.jit != "off" else "unset STRATA_JIT"
        out.append((f"kernels are interpreted, slowly: no compiler ({known['compiler'][6:]})", how))
    elif "in process" not in known["compiler"]:
        how = "apt-get install llvm-19-dev libclang-19-dev lld-19 libzstd-dev zlib1g-dev, then pip install . again"
        out.append(("kernels are compiled by a C compiler, which takes longer than inside the process", how))
    if not known["cache"]["used"]:
        out.append(
            ("kernels are compiled again in every process", "unset STRATA_CACHE; STRATA_CACHE_DIR names a folder")
        )
    elif not _cache_is_writable(known["cache"]["directory"]):
        out.append((f"{known['cache']['directory']} cannot be written", "STRATA_CACHE_DIR names another folder"))
    if known["threads"] < known["processors"]:
        how = f"unset STRATA_NUM_THREADS and OMP_NUM_THREADS, or st.settings.threads = {known['processors']}"
        out.append((f"{known['threads']} threads on {known['processors']} processors", how))
    if known["taken_by_others"] > BUSY:
        out.append((f"others use {known['taken_by_others']} processors", "timings made now are a hint, no more"))
    for name, (what, how) in PACKAGES.items():
        if name not in known["packages"]:
            out.append((f"{name} is not installed: {what}", how))
    return out


def main(args):
    known = facts()
    could = advice(known)
    if args.json:
        print(json.dumps({**known, "advice": [{"what": w, "how": h} for w, h in could]}, indent=2))
        return 1 if known["problem"] else 0
    style = Style()
    print(style.title(f"Strata {known['version']}") + style.dim(f"   {known['folder']}"))
    found = known["cache"]
    rows = {
        "python": known["python"],
        "numpy": known["numpy"],
        "system": known["system"],
        "processor": f"{known['processor']}, {known['vectors']}",
        "threads": f"{known['threads']} on {known['processors']} processors, {known['taken_by_others']} of them in use",
        "memory": f"{size(known['memory'])}, {size(known['free'])} free",
        "compiler": known["compiler"],
        "others": "; ".join(f"{k}: {v}" for k, v in known["compilers"].items()) or "no C compiler",
        "kernel": known["problem"] or f"a new one was made, run and checked in {seconds(known['first_product'])}",
        "cache": f"{found['directory'] or 'none'}, {found['kernels']} kernels, {size(found['bytes'])}",
        "packages": ", ".join(f"{k} {v}" for k, v in known["packages"].items()) or "none of those that it works with",
    }
    for name, text in rows.items():
        print(f"  {name:<10} {style.bad(text) if name == 'kernel' and known['problem'] else text}")
    print(style.title("What could be better") if could else style.good("Nothing is missing"))
    for what, how in could:
        print(f"  {what}\n{'':<6}{style.bold(how)}")
    return 1 if known["problem"] else 0
