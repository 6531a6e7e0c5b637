"""strata cache: what lies in the kernel cache; strata cache --clear: nothing any more."""

import json
import os
import stat
import time

from .. import settings
from .._terminal import Style, grouped, size
from ..errors import Error

#: beyond this the library removes what was longest unused (src/backend/disk_cache.cpp)
LIMIT = 64_000_000
_BLOCK = 4096  # counted as there: what file systems give out
#: the names of entries, and of those that are being written
_SUFFIX, _BEGUN = ".kernel", ".new-"


def entries(directory):
    """(path, stat) of every file that is the cache's; none where there is no such folder."""
    try:
        listing = list(os.scandir(directory))
    except FileNotFoundError:
        return []
    found = []
    for e in listing:
        if not (e.name.endswith(_SUFFIX) or e.name.startswith(_BEGUN)):
            continue
        try:
            status = e.stat(follow_symlinks=False)
        except FileNotFoundError:  # another process has removed it
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((e.path, status))
    return found


def facts():
    directory = os.path.abspath(settings.cache_dir) if settings.cache_dir else ""
    found = entries(directory) if directory else []
    return {
        "directory": directory,
        "used": settings.cache != "off" and bool(directory),
        "kernels": len(found),
        "bytes": sum(-(-s.st_size // _BLOCK) * _BLOCK for _, s in found),
        "limit": LIMIT,
        "longest_unused_days": max(((time.time() - s.st_mtime) / 86400 for _, s in found), default=0.0),
    }


def clear():
    """Removes every entry; gives their number and bytes. Other files and the folder stay."""
    removed, failed = 0, []
    for path, _ in entries(settings.cache_dir):
        try:
            os.unlink(path)
            removed += 1
        except FileNotFoundError:
            pass
        except OSError as e:
            failed.append(str(e))
    if failed:
        raise Error(f"{len(failed)} entries could not be removed", got=failed[0])
    return removed


def main(args):
    known = facts()
    if args.clear:
        known["removed"] = clear()
    if args.json:
        print(json.dumps(known, indent=2))
        return
    style = Style()
    if args.clear:
        kernels = f"{grouped(known['removed'])} kernel{'s' * (known['removed'] != 1)}"
        print(f"removed {kernels}, {size(known['bytes'])}, from {known['directory']}")
        return
    print(style.title("Kernel cache"))
    print(f"  folder     {known['directory'] or 'none'}" + ("" if known["used"] else "  (not used: STRATA_CACHE=off)"))
    print(f"  kernels    {grouped(known['kernels'])}")
    print(f"  bytes      {size(known['bytes'])} of at most {size(known['limit'])}: what is longest unused leaves first")
    if known["kernels"]:
        print(f"  oldest     not used for {known['longest_unused_days']:.0f} days")
        print(style.dim("  strata cache --clear removes them; they are compiled again when they are needed"))
