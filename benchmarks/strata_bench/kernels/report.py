"""Results of the named kernels as a page of Markdown: ratios by kernel, every case, every library, and why one is missing."""

from strata._terminal import seconds
from strata._timing.measure import best_peer

from .. import machines
from ..report import _bound, _median, _ratio, _seconds, _share, _times, geometric
from .cases import KERNELS
from .peer import PEERS


def rows(results):
    """One dict for each case and number of threads, kernels in their order (cases stand in that of their measurement)."""
    out, order = [], list(KERNELS)
    for name, runs in sorted(results["cases"].items(), key=lambda case: order.index(case[0].split()[0])):
        for n in sorted({int(k.split("/")[1]) for k in runs[0]}) if runs else ():
            own, last = f"strata/{n}", runs[-1].get(f"strata/{n}", {})
            key, peer = best_peer(runs[-1], n)
            refused = "refused: " + "; ".join((last.get("refused") or {}).values())
            out.append(
                {
                    "case": name,
                    "kernel": name.split()[0],
                    "threads": n,
                    "own": _median(runs, _seconds(own)),
                    "format": last.get("variant"),
                    "first": runs[0].get(own, {}).get("variants", {}).get(last.get("variant"), {}).get("first"),
                    "peer": key and f"{key.split('/')[0]} {peer['variant']}",
                    "peer_seconds": _median(runs, lambda r, n=n: (best_peer(r, n)[1] or {}).get("seconds")),
                    "ratio": _median(runs, _ratio("strata", n)),
                    "lines": _median(runs, _over(f"strata-limit/{n}", own)),
                    "ceiling": key and _median(runs, _over(key, f"strata-limit/{n}")),
                    "spread": max((r.get(own, {}).get("spread", 1) for r in runs), default=1),
                    "bandwidth_share": _share(results, name, n, _bytes),
                    "runs": len(runs),
                    "error": last.get("error") or (None if "seconds" in last else refused),
                }
            )
    return out


def summary(results):
    """{(kernel, threads): (geometric mean of the ratio to the best peer, the worst, cases)}, own kernels only."""
    table, out = rows(results), {}
    for kernel, n in dict.fromkeys((r["kernel"], r["threads"]) for r in table):
        ratios = [r["ratio"] for r in table if (r["kernel"], r["threads"]) == (kernel, n) and r["ratio"]]
        if ratios:
            out[kernel, n] = (geometric(ratios), min(ratios), len(ratios))
    return out


def ceilings(results):
    """{(kernel, threads): geometric mean of the best library's time over that of reading the chosen lines alone}."""
    found = {}
    for r in rows(results):
        if r["ceiling"]:
            found.setdefault((r["kernel"], r["threads"]), []).append(r["ceiling"])
    return {k: geometric(ratios) for k, ratios in found.items()}


def against(results):
    """{(kernel, threads): {library: geometric mean of its time over ours, where both ran}}."""
    out = {}
    for name, runs in sorted(results["cases"].items(), key=lambda case: list(KERNELS).index(case[0].split()[0])):
        for key in dict.fromkeys(k for r in runs for k in r):
            library, n = key.split("/")
            ratio = _median(runs, _over(key, f"strata/{n}"))
            if ratio and not library.startswith("strata"):
                out.setdefault((name.split()[0], int(n)), {}).setdefault(library, []).append(ratio)
    return {k: {library: geometric(ratios) for library, ratios in of.items()} for k, of in out.items()}


def _bytes(run, n, _):
    """Operands and result once, as our own call tells."""
    own = run.get(f"strata/{n}", {})
    note = own.get("variants", {}).get(own.get("variant"), {}).get("note") or ""
    return int(note.split()[0]) if note.endswith("bytes") else None


def _over(theirs, ours):
    def pick(run):
        a, b = _seconds(theirs)(run), _seconds(ours)(run)
        return a / b if a and b else None

    return pick


def _note(r):
    notes = [r["error"].replace("|", "/")] if r["error"] else []
    if r["ratio"] is not None and r["ratio"] < 0.9:
        binds = KERNELS[r["kernel"]].binds
        notes.append("**below 0.9**" + (f": {binds}" if binds else _bound(r["bandwidth_share"])))
    if r["lines"] is not None:
        notes.append(f"lines alone: {100 * r['lines']:.0f} %")
    if r["spread"] > 1.3:
        notes.append(f"noisy ({r['spread']:.1f})")
    return "; ".join(notes)


def _libraries(results):
    """A column for each library: its version and what it does not do, with the reason."""
    lines = ["## Libraries", "", "| library | version, or why it is not here | not timed, and why |", "|---|---|---|"]
    for name, version in results["peers"].items():
        why = {}
        for case, runs in results["cases"].items():
            for r in runs[:1]:
                for key, one in r.items():
                    if key.split("/")[0] == name and ("error" in one or "seconds" not in one) and "ready" not in one:
                        reason = (
                            one.get("error")
                            or one.get("behind")
                            or "; ".join(dict.fromkeys((one.get("refused") or {}).values()))
                        )
                        why.setdefault(_short(reason), {})[case.split()[0]] = None
        missing = "; ".join(
            f"{', '.join(cases)}: {reason}" for reason, cases in why.items() if _short(version) != reason
        )
        lines.append(f"| {name} ({PEERS[name][2]}) | {_short(version)} | {missing} |")
    return [*lines, ""]


def _short(text):
    text = text.replace("LookupError: ", "").replace("|", "/").replace("\n", " ")
    return text if len(text) < 160 else text[:157] + "..."


def _times_of_all(results):
    names = [n for n in results["peers"]]
    lines = ["## Every library", "", "Milliseconds, medians over the runs.", ""]
    lines += ["| case | threads | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for r in rows(results):
        runs, cells = results["cases"][r["case"]], []
        for name in names:
            s = _median(runs, _seconds(f"{name}/{r['threads']}"))
            cells.append("-" if s is None else f"{s * 1e3:.3g}")
        lines.append(f"| {r['case']} | {r['threads']} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def markdown(results):
    lines = [f"# The named kernels, {results['date']}", ""]
    if results.get("quick"):
        lines += ["A quick run on small inputs: it shows that everything works, its figures mean little.", ""]
    lines += [
        *machines.lines(results),
        "",
        "Each process (library and number of threads) is visited in turn; a run keeps the minimum, the table shows medians over "
        "the runs. Libraries count with their best variant, SciPy's one thread for any number. Ours is the call of a user "
        "(st.evaluate), with our own kernels alone. Ratio: the best library's time over ours (above 1: we are faster). Results "
        "are checked against SciPy's and NumPy's; those of sparse products are sorted. First call: with compiling, or from the "
        "cache on disk. Limit: the share of the read bandwidth that the compulsory bytes (operands and result once) reach; what "
        "stays in the cache can exceed 100 %. Lines alone: the share of our time that a loop takes which reads one number of each "
        "line of X or V that the elements choose, and does nothing else (timed in the same run); of a kernel, the mean ratio that "
        "this loop would have: what a product in this storage can reach here that does not ask for rows before it reads them (the loop does not).",
        "",
        "| kernel | computes | threads | geometric mean of the ratio | worst | lines alone | cases |",
        "|---|---|---|---|---|---|---|",
    ]
    alone = ceilings(results)
    for (kernel, n), (mean, worst, count) in summary(results).items():
        most = _times(alone.get((kernel, n)))
        lines.append(f"| {kernel} | {KERNELS[kernel].text} | {n} | {mean:.2f} | {worst:.2f} | {most} | {count} |")
    names = [n for n in results["peers"] if not n.startswith("strata")]
    lines += [
        "",
        "## Against each library",
        "",
        "Geometric means of its time over ours, over the inputs on which it ran.",
        "",
    ]
    lines += ["| kernel | threads | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for (kernel, n), of in against(results).items():
        lines.append(f"| {kernel} | {n} | " + " | ".join(_times(of.get(name)) for name in names) + " |")
    lines += ["", "## Cases", ""]
    lines += [
        "| case | threads | own | format | first call | best library | its time | ratio | limit | runs | note |",
        "|---" * 11 + "|",
    ]
    for r in rows(results):
        share = "-" if r["bandwidth_share"] is None else f"{100 * r['bandwidth_share']:.0f} %"
        own, first, theirs = (seconds(r[k]) if r[k] else "-" for k in ("own", "first", "peer_seconds"))
        lines.append(
            f"| {r['case']} | {r['threads']} | {own} | {r['format'] or '-'} | {first} | {r['peer'] or '-'} | {theirs} | "
            f"{_times(r['ratio'])} | {share} | {r['runs']} | {_note(r)} |"
        )
    return "\n".join([*lines, "", *_times_of_all(results), *_libraries(results)])
