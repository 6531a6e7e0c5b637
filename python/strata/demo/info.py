"""strata info: version, compiler, threads, settings, and the peers that the demo would find."""

import json
import platform

from .. import __version__, _core, settings
from .._terminal import Style


def facts():
    from ..bench.peers import installed

    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": processor(),
        "threads": settings.threads,
        "compiler": _core.compiler_description(),
        "engine": settings.engine,
        "peers": installed(),
        "settings": {
            k: getattr(settings, k)
            for k in ("threads", "engine", "jit", "cc", "cache", "cache_dir", "dump", "int32_limit", "vendor")
        },
    }


def cpuinfo(field):
    """What Linux says of the first core; "" where it says nothing."""
    try:
        with open("/proc/cpuinfo") as f:
            return next((line.partition(":")[2].strip() for line in f if line.startswith(field)), "")
    except OSError:
        return ""


def meminfo():
    """{name: kB} of what Linux says of the memory; {} where it says nothing."""
    try:
        with open("/proc/meminfo") as f:
            return {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in f)}
    except OSError:
        return {}


def processor():
    """Its name; a virtual machine may hide which model it is, then its family and model number stand behind."""
    name = cpuinfo("model name")
    if not name:
        return platform.processor() or "unknown"
    numbers = cpuinfo("cpu family"), cpuinfo("model\t")
    return (
        name if any(c.isdigit() for c in name) or not all(numbers) else "{}, family {}, model {}".format(name, *numbers)
    )


def vectors():
    """The widest vector units; a virtual machine may call two generations of a processor by one name."""
    flags = cpuinfo("flags").split()
    return "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else platform.machine()


def main(args):
    known = facts()
    if args.json:
        print(json.dumps(known, indent=2))
        return
    style = Style()
    print(style.title(f"Strata {known['version']}"))
    for name in ("processor", "threads", "compiler", "python"):
        print(f"  {name:<10} {known[name]}")
    print(f"  {'peers':<10} " + (", ".join(f"{k} {v}" for k, v in known["peers"].items()) or "none installed"))
    print(style.title("Settings"))
    for line in repr(settings).splitlines():
        print("  " + line)
