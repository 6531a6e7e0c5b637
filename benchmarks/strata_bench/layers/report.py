"""Times of layers as a page of Markdown."""

from strata._terminal import seconds
from strata._timing.measure import best_peer

from .. import machines
from ..report import _median, _seconds, _times, geometric
from .cases import OPS
from .memory import BATCH, WEIGHT
from .peers import PEERS


def rows(results):
    """One dict for each case and number of threads; ratios are of one run each, the median counts."""
    out = []
    for name, runs in results["cases"].items():
        op, weight, batch = name.split()
        for n in sorted({int(k.split("/")[1]) for run in runs for k in run}):
            own = _seconds(f"strata/{n}")

            def ratio(other, own=own):
                return _median(runs, lambda run: other(run) / own(run) if other(run) and own(run) else None)

            last = runs[-1].get(f"strata/{n}", {})
            out.append(
                {
                    "op": op,
                    "weight": weight,
                    "kind": "blocks" if "b" in weight else "elements",
                    "batch": int(batch[1:]),
                    "threads": n,
                    "own": _median(runs, own),
                    "format": last.get("variant") or last.get("error") or "refused",
                    "sparse": ratio(lambda run, n=n: (best_peer(run, n)[1] or {}).get("seconds")),
                    "libraries": {p: ratio(_seconds(f"{p}/{n}")) for p in PEERS if p != "strata"},
                    "spread": max((r.get(f"strata/{n}", {}).get("spread", 1) for r in runs), default=1),
                }
            )
    return out


def summary(results):
    """{(op, kind, batch, threads): {"sparse" | "dense" | "bf16": (geometric mean of the ratio, the worst)}}."""
    out, table = {}, rows(results)
    key = lambda r: (r["op"], r["kind"], r["batch"], r["threads"])
    for k in sorted(dict.fromkeys(map(key, table)), key=lambda k: (list(OPS).index(k[0]), k[1] == "blocks", *k[2:])):
        of = [r for r in table if key(r) == k]
        found = {"sparse": [r["sparse"] for r in of]} | {p: [r["libraries"][p] for r in of] for p in ("dense", "bf16")}
        found = {what: [x for x in ratios if x] for what, ratios in found.items()}
        out[k] = {what: (geometric(x), min(x)) for what, x in found.items() if x} | {"cases": len(of)}
    return out


def _pair(of):
    return "- | -" if of is None else f"{of[0]:.2f} | {of[1]:.2f}"


def markdown(results):
    lines = [f"# Sparse linear layers, {results['date']}", ""]
    if results.get("quick"):
        lines += ["A quick run on small weights: it shows that everything works, its figures mean little.", ""]
    lines += [
        *machines.lines(results),
        "",
        "Weights of as many inputs as outputs in float32: `4096-90` has nine tenths of zeros, in `4096-b16-90` nine tenths of the "
        "blocks of 16 x 16 are absent. Each process (library and number of threads) is visited in turn; a run keeps the minimum, "
        "the tables show medians over the runs, ratios of one run each. Ratio: the other's time over ours (above 1: we are "
        "faster). Libraries count with their best variant, ours with own kernels alone. Results are compared with nn.Linear's, "
        "but those of bfloat16. *Sparse* is the fastest library that stores what is not zero.",
        "",
        *(f"- **{op}**: {text}" for op, text in OPS.items() if any(c.startswith(op + " ") for c in results["cases"])),
        "",
        "| | weights | batch | threads | sparse | worst | nn.Linear | worst | in bf16 | worst | cases |",
        "|---" * 11 + "|",
    ]
    for (op, kind, batch, n), of in summary(results).items():
        ratios = " | ".join(_pair(of.get(what)) for what in ("sparse", "dense", "bf16"))
        lines.append(f"| {op} | {kind} | {batch} | {n} | {ratios} | {of['cases']} |")
    others = [p for p in results["peers"] if p != "strata"]
    lines += ["", "## Cases", "", "Of ours the time, of the others the ratio.", ""]
    lines += [
        "| | weight | batch | threads | ours | as | " + " | ".join(others) + " | |",
        "|---" * (7 + len(others)) + "|",
    ]
    for r in rows(results):
        own = seconds(r["own"]) if r["own"] else "-"
        ratios = " | ".join(_times(r["libraries"][p]) for p in others)
        note = f"noisy ({r['spread']:.1f})" if r["spread"] > 1.3 else ""
        lines.append(
            f"| {r['op']} | {r['weight']} | {r['batch']} | {r['threads']} | {own} | {r['format']} | {ratios} | {note} |"
        )
    return "\n".join([*lines, "", *_memory(results), *_libraries(results)])


def _memory(results):
    found = results.get("memory", {})
    if not found:
        return []
    lines = [
        "## Memory",
        "",
        f"The most that steps with AdamW (weight {WEIGHT}, batch {BATCH}) hold beyond what the process had before it made the layer: "
        "weight, gradient, two states of the optimizer, indices, what the operations want for themselves, and 12 MB of x, "
        "y and their gradients.",
        "",
        "| library | MB | of nn.Linear's |",
        "|---|---|---|",
    ]
    dense = found.get("dense", {}).get("peak")
    for name, of in found.items():
        mb = f"{of['peak'] / 1e6:.0f}" if "peak" in of else of["error"].replace("|", "/")
        share = f"{of['peak'] / dense:.0%}" if dense and "peak" in of else ""
        lines.append(f"| {name} | {mb} | {share} |")
    return [*lines, ""]


def _libraries(results):
    lines = ["## Libraries", "", "| library | version, or why it is not here |", "|---|---|"]
    lines += [f"| {name} ({PEERS[name][1]}) | {version} |" for name, version in results["peers"].items()]
    return [*lines, ""]
