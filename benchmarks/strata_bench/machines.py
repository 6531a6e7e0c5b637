"""The machines that results were measured on. Runs of several may stand in one file: a ratio holds within its run."""

import collections
import os
import platform

from strata._timing.machine import meminfo, processor, vectors


def here():
    """What identifies this machine among those of a file."""
    found = {
        "processor": processor(),
        "vectors": vectors(),
        "cores": len(os.sched_getaffinity(0)),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    total = meminfo().get("MemTotal")
    return found | {"memory_gb": round(total / 1e6, 1)} if total else found


def number_of(machines, measure_limits):
    """Where this machine stands among `machines`; a new one is added, its limits measured."""
    this = here()
    for n, machine in enumerate(machines):
        if {k: v for k, v in machine.items() if k != "limits"} == this:
            return n
    machines.append({**this, "limits": measure_limits()})
    return len(machines) - 1


def bandwidth(results, run, threads):
    """Bytes a second that the machine of a run's record reads with so many threads, or None."""
    return results["machines"][run["machine"]]["limits"].get(str(threads), {}).get("read_bandwidth")


def lines(results):
    """For a page: each machine, its limits and the number of runs on it."""
    runs = collections.Counter(run["machine"] for of in results["measured"].values() for run in of)
    out = []
    for n, m in enumerate(results["machines"]):
        days = sorted({run["day"] for of in results["measured"].values() for run in of if run["machine"] == n})
        text = f"- {m['processor']}, {m['vectors']}, {m['cores']} cores, {m.get('memory_gb', '?')} GB, {m['system']}, Python {m['python']}"
        limits = [
            f"{limit['read_bandwidth'] / 1e9:.1f} GB/s on {k}"
            for k, limit in m["limits"].items()
            if "read_bandwidth" in limit
        ]
        text += f"; reads {', '.join(limits)} thread{'s' * (len(limits) > 1)}" if limits else ""
        out.append(f"{text}: {runs[n]} runs, {' to '.join(dict.fromkeys((days[0], days[-1])))}" if days else text)
    return out


def processors(results):
    """Their names, each once."""
    return ", ".join(dict.fromkeys(m["processor"] for m in results["machines"]))


def apart(results):
    """[(machine, the results of its runs alone)], machines without runs left out."""
    out = []
    for n, machine in enumerate(results["machines"]):
        chosen = {
            case: [k for k, run in enumerate(runs) if run["machine"] == n] for case, runs in results["measured"].items()
        }
        chosen = {case: picked for case, picked in chosen.items() if picked}
        if chosen:
            kept = {
                key: {case: [results[key][case][k] for k in picked] for case, picked in chosen.items()}
                for key in ("cases", "measured")
            }
            out.append((machine, {**results, **kept}))
    return out


__all__ = ["apart", "bandwidth", "lines", "number_of", "processors"]
