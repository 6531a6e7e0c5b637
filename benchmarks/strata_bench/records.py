"""Results in a file: lines of JSON, one a case. benchmarks/README.md says how they are read.

In memory they are {"date", "quick", "kernels", "peers", "machines", "measured": {case: [a record of each run]},
"cases": {case: [{"library/threads": what measure() gives} of each run]}}; a file keeps of them what pages need.
"""

import itertools
import json
import os

from strata.errors import FileError

from .kernels.peer import PEERS as KERNEL_PEERS
from .layers.peers import PEERS as LAYER_PEERS
from .peers import PEERS

#: of a time: enough for every figure of a page
DIGITS = 7

#: what stands in place of a time
MISSES = ("error", "refused", "behind")


def write(path, results):
    reasons = []  # in order of their first mention; lines tell the number
    lines = [_line(name, runs, results["measured"][name], reasons) for name, runs in results["cases"].items() if runs]
    head = {k: v for k, v in results.items() if k not in ("cases", "measured")} | {"reasons": reasons}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + f".{os.getpid()}")
    temporary.write_text("".join(json.dumps(line, separators=(", ", ":")) + "\n" for line in [head, *lines]))
    temporary.rename(path)


def read(path):
    try:
        head, *lines = map(json.loads, path.read_text().splitlines())
        reasons = head.pop("reasons")
    except (ValueError, KeyError):
        raise FileError(f"{path} is no record of benchmarks", fix="give another name with --out") from None
    results = {**head, "measured": {}, "cases": {}}
    for line in lines:
        results["measured"][line["case"]], results["cases"][line["case"]] = _runs(line, reasons)
    return results


def _line(name, runs, measured, reasons):
    us, notes, first, spread, missing = {}, {}, {}, {}, {}
    for n, run in enumerate(runs):
        for key, one in sorted(run.items(), key=_place):
            if key.startswith("scipy/") and key != "scipy/1" and one == run.get("scipy/1"):
                continue  # one thread, which serves for any number
            if "seconds" not in one or "error" in one:
                why = {k: one[k] for k in MISSES if k in one}
                if why not in reasons:
                    reasons.append(why)
                missing.setdefault((key, reasons.index(why)), []).append(n)
                continue
            variant, library = one["variant"], key.split("/")[0]
            us.setdefault(key, {}).setdefault(variant, [None] * len(runs))[n] = _us(one["seconds"])
            if note := one["variants"].get(variant, {}).get("note"):
                notes.setdefault(library, {})[variant] = note
            if library == "strata":
                spread.setdefault(key, [None] * len(runs))[n] = _short(one["spread"], 5)
    for key in spread:
        tried = runs[0].get(key, {}).get("variants", {})
        if found := {v: _us(tried[v]["first"]) for v in us[key] if tried.get(v, {}).get("first")}:
            first[key] = found
    parts = {"us": us, "spread": spread, "first": first, "notes": notes, "missing": _alike(missing, len(runs))}
    runs_of = [{**record, "times": len(list(same))} for record, same in itertools.groupby(measured)]
    return {"case": name, **_input(runs), "runs": runs_of, **{k: v for k, v in parts.items() if v}}


def _runs(line, reasons):
    """(records of the runs, {"library/threads": result} of each)."""
    measured = [
        {k: v for k, v in group.items() if k != "times"} for group in line["runs"] for _ in range(group["times"])
    ]
    runs, spread = [{} for _ in measured], line.get("spread", {})
    for key, by in line.get("us", {}).items():
        notes = line.get("notes", {}).get(key.split("/")[0], {})
        for variant, times in by.items():
            for n, us in enumerate(times):
                if us is not None:
                    one = {"variant": variant, "seconds": us / 1e6, **{k: line[k] for k in ("nse", "shape", "dtype")}}
                    one["variants"] = {variant: {"note": notes.get(variant, "")}}
                    runs[n][key] = one | ({"spread": spread[key][n]} if key in spread else {})
    for key, by in line.get("first", {}).items():
        for variant, us in by.items():
            runs[0][key]["variants"].setdefault(variant, {})["first"] = us / 1e6
    for miss in line.get("missing", ()):
        for key, n in itertools.product(miss["of"], miss.get("runs", range(len(runs)))):
            runs[n][key] = reasons[miss["reason"]]
    return measured, [dict(sorted(run.items(), key=_place)) for run in runs]


def _input(runs):
    """What is told of the sparse input."""
    one = next((r for run in runs for r in run.values() if "nse" in r), {})
    return {k: one.get(k) for k in ("shape", "nse", "dtype")}


def _alike(missing, count):
    """Libraries that miss the same runs for the same reason stand together; without "runs" it is all of them."""
    found = {}
    for (key, reason), runs in missing.items():
        found.setdefault((reason, tuple(runs)), []).append(key)
    return [
        {"reason": reason, "of": keys, **({"runs": list(runs)} if len(runs) < count else {})}
        for (reason, runs), keys in found.items()
    ]


def _us(seconds):
    return _short(seconds * 1e6, DIGITS)


def _short(x, digits):
    x = float(f"{x:.{digits}g}")
    return int(x) if x.is_integer() else x


def _place(item):
    """As measure() goes: by threads, then as the libraries are listed."""
    library, threads = item[0].split("/")
    return int(threads), ORDER.index(library)


ORDER = list(dict.fromkeys([*PEERS, *KERNEL_PEERS, *LAYER_PEERS]))

__all__ = ["read", "write"]
