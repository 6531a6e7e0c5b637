"""What Linux says of this machine."""

import os
import platform
import time


def cpuinfo(field):
    """What it says of the first core; "" where it says nothing."""
    try:
        with open("/proc/cpuinfo") as f:
            return next((line.partition(":")[2].strip() for line in f if line.startswith(field)), "")
    except OSError:
        return ""


def meminfo():
    """{name: kB} of what it says of the memory; {} where it says nothing."""
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


def _ticks():
    """(all, idle) of the processors that we may use, since the start of the machine; None where nothing tells."""
    try:
        mine = {f"cpu{n}" for n in os.sched_getaffinity(0)}
        with open("/proc/stat") as f:
            rows = [list(map(int, line.split()[1:9])) for line in f if line.split()[0] in mine]
    except (OSError, ValueError, IndexError):
        return None
    return sum(map(sum, rows)), sum(row[3] + row[4] for row in rows)  # idle, and waiting for a disk


def taken_by_others(seconds=0.3):
    """How many processors were busy while we slept; 0.0 where nothing tells."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    if before is None or after is None or after[0] <= before[0]:
        return 0.0
    share = 1 - (after[1] - before[1]) / (after[0] - before[0])
    return max(0.0, share) * len(os.sched_getaffinity(0))
