"""strata info: version, compiler, threads, settings, and the peers that the demo would find."""

import json
import platform

from .. import __version__, _core, settings
from .._terminal import Style, size
from .._timing.machine import processor
from .._timing.peers import installed
from ..errors import ArgumentError


def facts():
    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "kernels": _core.machine(),
        "threads": settings.threads,
        "compiler": _core.compiler_description(),
        "engine": settings.engine,
        "peers": installed(),
        "settings": {
            k: getattr(settings, k)
            for k in ("threads", "engine", "jit", "cc", "cache", "cache_dir", "dump", "int32_limit", "vendor")
        },
    }


def main(args):
    if args.name or args.header:
        raise ArgumentError("--name and --header are of a file", expected="strata info FILE --name NAME")
    known = facts()
    if args.json:
        print(json.dumps(known, indent=2))
        return
    style = Style()
    of = known["kernels"]
    known["kernels"] = (
        f"as measured on {of['measured on']}; vectors of {of['vectors']} bytes, caches of a core {size(of['first level'])} and "
        f"{size(of['second level'])}"
    )
    print(style.title(f"Strata {known['version']}"))
    for name in ("processor", "kernels", "threads", "compiler", "python"):
        print(f"  {name:<10} {known[name]}")
    print(f"  {'peers':<10} " + (", ".join(f"{k} {v}" for k, v in known["peers"].items()) or "none installed"))
    print(style.title("Settings"))
    for line in repr(settings).splitlines():
        print("  " + line)
