"""Results as a page of Markdown."""

import math
import statistics

from strata._terminal import seconds
from strata._timing.measure import best_peer

from . import machines


def _median(runs, pick):
    values = [v for v in (pick(r) for r in runs) if v is not None]
    return statistics.median(values) if values else None


def _seconds(key):
    return lambda r: r[key]["seconds"] if key in r and "seconds" in r[key] and "error" not in r[key] else None


def _ratio(ours, n):
    def pick(run):
        own = _seconds(f"{ours}/{n}")(run)
        _, peer = best_peer(run, n)
        return peer["seconds"] / own if own and peer else None

    return pick


def _bytes(run, n, name):
    """Bytes that the product must move: the storage that was fastest, X once and Y once."""
    r = run.get(f"strata/{n}")
    if not r or "seconds" not in r:
        return None
    note = r["variants"][r["variant"]]["note"]
    stored = int(note.rsplit(", ", 1)[1].split()[0]) if note.endswith("bytes") else None
    if stored is None:
        return None
    width = {"float64": 8, "float32": 4, "complex128": 16, "complex64": 8}.get(r["dtype"], 8)
    columns = 1 if name.startswith("spmv") else int(name.split()[0][4:])
    return stored + sum(r["shape"]) * width * columns


def _share(results, name, n, count=_bytes):
    """Of the read bandwidth, each run's of its own machine; the median. `count(run, n, name)`: compulsory bytes."""
    shares = []
    for run, record in zip(results["cases"][name], results["measured"][name]):
        needed = None if "->" in name else count(run, n, name)
        own, bandwidth = _seconds(f"strata/{n}")(run), machines.bandwidth(results, record, n)
        if needed and own and bandwidth:
            shares.append(needed / own / bandwidth)
    return statistics.median(shares) if shares else None


def _times(x):
    return "-" if x is None else f"{x:.2f}"


def geometric(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def rows(results):
    """One dict per case and number of threads: what the tables and the README show."""
    out = []
    for name, runs in results["cases"].items():
        if not runs:
            continue
        threads = sorted({int(k.split("/")[1]) for k in runs[0]})
        for n in threads:
            own = _median(runs, _seconds(f"strata/{n}"))
            key, _ = best_peer(runs[-1], n)
            first = runs[-1].get(f"strata/{n}", {})
            out.append(
                {
                    "case": name,
                    "threads": n,
                    "own": own,
                    "format": first.get("variant"),
                    "vendor": _median(runs, _seconds(f"strata-vendor/{n}")),
                    "peer": key and f"{key.split('/')[0]} {runs[-1][key]['variant']}",
                    "peer_seconds": _median(runs, lambda r: (best_peer(r, n)[1] or {}).get("seconds")),
                    "ratio": _median(runs, _ratio("strata", n)),
                    "vendor_ratio": _median(runs, _ratio("strata-vendor", n)),
                    "bandwidth_share": _share(results, name, n),
                    "spread": max((r.get(f"strata/{n}", {}).get("spread", 1) for r in runs), default=1),
                    "runs": len(runs),
                    "error": first.get("error")
                    or (None if "seconds" in first else "refused: " + str(first.get("refused"))),
                }
            )
    return out


def summary(results):
    """Geometric means of the ratio to the best peer, own kernels only."""
    table = rows(results)
    out = {}
    for label, test in (
        ("SpMV", lambda r: r["case"].startswith("spmv")),
        ("SpMM", lambda r: r["case"].startswith("spmm")),
        ("conversions", lambda r: "->" in r["case"]),
    ):
        for n in sorted({r["threads"] for r in table}):
            values = [r["ratio"] for r in table if test(r) and r["threads"] == n and r["ratio"]]
            if values:
                out[label, n] = (geometric(values), min(values), len(values))
    return out


def libraries(results):
    """Those that were asked in any of its runs, each once."""
    return _of_runs(run for runs in results["cases"].values() for run in runs)


def _of_runs(runs):
    return dict.fromkeys(key.split("/")[0] for run in runs for key in run)


def _left_out(results):
    """A line for each machine and set of cases where a library of the other runs was not asked: a ratio there is beside the rest."""
    asked = libraries(results)
    lines = []
    for machine, part in machines.apart(results):
        cases = {}
        for name, runs in part["cases"].items():
            missing = tuple(library for library in asked if library not in _of_runs(runs))
            if missing and "->" not in name:
                cases.setdefault(missing, []).append(name)
        lines += [
            f"- on {machine['processor']}, {', '.join(missing)}: {', '.join(names)}" for missing, names in cases.items()
        ]
    return ["", "Not asked:", "", *lines] if lines else []


def markdown(results):
    lines = [f"# Benchmarks of {results['date']}", ""]
    if results.get("quick"):
        lines += ["A quick run on small matrices: it shows that everything works, its figures mean little.", ""]
    lines += [f"Peers: {', '.join(f'{k} {v}' for k, v in results['peers'].items())}. Machines:", ""]
    lines += machines.lines(results)
    lines += _left_out(results)
    lines += [
        "",
        "Each process (library and number of threads) is visited in turn; a run keeps the minimum, the table shows medians over the runs (times of several machines too, ratios always of one run). Peers count with their best variant; "
        "SciPy has one thread. 'Own' are our own kernels alone; 'vendor' is MKL called by our plans (engine 'vendor') on chunks of ours, each on one thread, in CSR or blocks. Ratio: best peer's time over ours (above 1: we are faster). "
        "Limit: the share of the read bandwidth that the compulsory bytes (storage, X and Y once) reach; X and Y of small matrices stay in the cache, so it can exceed 100 %.",
        "",
    ]
    each = machines.apart(results)
    parts = (
        [("", results), *((f" on {machine['processor']}", part) for machine, part in each)]
        if len(each) > 1
        else [("", results)]
    )
    means = [
        f"| {label}{where} | {n} | {mean:.2f} | {worst:.2f} | {count} |"
        for where, part in parts
        for (label, n), (mean, worst, count) in summary(part).items()
    ]
    if means:
        lines += [
            "| geometric mean of the ratio, own kernels | threads | mean | worst | cases |",
            "|---|---|---|---|---|",
            *means,
            "",
        ]
    table = rows(results)
    for title, test in (("Products", lambda r: "->" not in r["case"]), ("Conversions", lambda r: "->" in r["case"])):
        chosen = [r for r in table if test(r)]
        if not chosen:
            continue
        lines += [
            f"## {title}",
            "",
            "| case | threads | own | format | vendor | best peer | its time | ratio own | ratio vendor | of the limit | runs | note |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        for r in chosen:
            share = "-" if r["bandwidth_share"] is None else f"{100 * r['bandwidth_share']:.0f} %"
            lines.append(
                f"| {r['case']} | {r['threads']} | {seconds(r['own']) if r['own'] else '-'} | {r['format'] or '-'} | {seconds(r['vendor']) if r['vendor'] else '-'} | {r['peer'] or '-'} | "
                f"{seconds(r['peer_seconds']) if r['peer_seconds'] else '-'} | {_times(r['ratio'])} | {_times(r['vendor_ratio'])} | {share} | {r['runs']} | {_note(r)} |"
            )
        lines.append("")
    return "\n".join(lines)


def _bound(share):
    """What binds, as the share of the read bandwidth that compulsory bytes reach tells."""
    if share is None:
        return ""
    if share > 1:
        return ": in the cache, bound by instructions and the call"
    return ": bound by bandwidth" if share > 0.7 else ": bound by latency and instructions, not bandwidth"


def _note(r):
    notes = []
    if r["error"]:
        notes.append(r["error"].replace("|", "/"))
    if r["ratio"] is not None and r["ratio"] < 0.9:
        notes.append("**below 0.9**" + _bound(r["bandwidth_share"]))
    if r["spread"] > 1.3:
        notes.append(f"noisy ({r['spread']:.1f})")
    return "; ".join(notes)


__all__ = ["libraries", "markdown", "rows", "summary"]
