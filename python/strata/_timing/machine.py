"""What Linux says of this machine."""

import platform


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
