#!/usr/bin/env python3
"""Writes the table of measured ratios into README.md, from the newest full results in benchmarks/results/."""

import json
import math
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(root / "python"))  # behind an installed strata, which has its extension


#: one of each kind; all others stand in the results
SHOWN = (
    "stencil7",
    "elasticity600",
    "fem3x3",
    "uniform1m",
    "rmat20",
    "rmat20-permuted",
    "pruned4096-90",
    "blocked4096-b16-90",
)


def said_of_runs(table):
    names = {1: "one", 2: "two", 3: "three"}
    counts = [names[n] for n in sorted({min(r["runs"], 3) for r in table})]
    return (
        f"medians of {' to '.join(dict.fromkeys((counts[0], counts[-1])))} runs"
        if counts != ["one"]
        else "of one run so far"
    )


def days(results):
    """Of the runs, the first and the last."""
    found = sorted({run["day"] for runs in results["measured"].values() for run in runs})
    return " to ".join(dict.fromkeys((found[0], found[-1])))


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def newest(pattern):
    found = sorted((root / "benchmarks" / "results").glob(f"[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]{pattern}"))
    return found[-1] if found else None


def by_kernel(means):
    """Of {(kernel, threads): mean}: each kernel with its means on one thread and on two."""
    return ", ".join(
        f"{kernel} {' / '.join(f'{means[kernel, n]:.2f}' for n in (1, 2) if (kernel, n) in means)}"
        for kernel in dict.fromkeys(k for k, _ in means)
    )


def named_kernels():
    """The table of the compiler's kernels: over the inputs of each the mean, and the worst."""
    from strata.bench.kernels.cases import KERNELS
    from strata.bench.kernels.report import ceilings, summary
    from strata.bench.machines import processors

    path = newest("-kernels.json")
    if not path:
        return []
    results = json.loads(path.read_text())
    found = summary(results)
    others = [name for name in results["peers"] if not name.startswith("strata")]
    lines = [
        "",
        f"The named kernels of the compiler on uniform, power-law, banded and blocked inputs, beside the fastest of {', '.join(others)} "
        f"({processors(results)}, {days(results)}; [all results](benchmarks/results/{path.with_suffix('.md').name})): geometric mean, and the worst input.",
        "",
        "| | 1 thread | 2 threads |",
        "|---|---|---|",
    ]
    for kernel in dict.fromkeys(k for k, _ in found):
        cells = [
            f"{found[kernel, n][0]:.2f} ({found[kernel, n][1]:.2f})" if (kernel, n) in found else "-" for n in (1, 2)
        ]
        lines.append(f"| {kernel}: `{KERNELS[kernel].text}` | " + " | ".join(cells) + " |")
    alone = ceilings(results)
    reached = by_kernel(alone)
    if reached:
        lines += [
            "",
            f"A loop that only reads the lines of the dense operand that the elements choose, and asks for none ahead, beside the same libraries: {reached}.",
        ]
    return lines


def on_other_machines():
    """A line for each file of named kernels that was measured on another machine than the table's."""
    from strata.bench.kernels.report import summary
    from strata.bench.machines import processors

    path = newest("-kernels.json")
    lines, table = [], processors(json.loads(path.read_text())) if path else ""
    for other in sorted((root / "benchmarks" / "results").glob("*-kernels-*.json")):
        results = json.loads(other.read_text())
        if processors(results) == table:
            continue
        reached = by_kernel({k: mean for k, (mean, _, _) in summary(results).items()})
        others = [name for name in results["peers"] if not name.startswith("strata")]
        lines += [
            "",
            f"On {processors(results)}, beside the fastest of {', '.join(others)}, 1 / 2 threads ({days(results)}; [all results](benchmarks/results/{other.with_suffix('.md').name})): {reached}.",
        ]
    return lines


def on_matrices(what, pattern, rows):
    """One line: products on the matrices of the first table, all cases together, each machine for itself."""
    path = newest(pattern)
    if not path:
        return []
    from strata.bench.machines import apart
    from strata.bench.report import libraries

    results = json.loads(path.read_text())
    sorts = lambda r: {case.split()[0] for case in r["cases"]}
    told = []
    for machine, part in apart(results):
        cells = []
        some = "" if sorts(part) == sorts(results) else f", {' and '.join(sorted(sorts(part)))} alone"
        some += "".join(
            f", without {name}"
            for name in results["peers"]
            if name.lower() not in libraries(part) and not name.startswith("strata")
        )
        for n in (1, 2):
            ratios = [r["ratio"] for r in rows(part) if r["threads"] == n and r["ratio"]]
            cells.append(
                f"{geometric(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} cases) on {n}"
            )
        told.append(f"{machine['processor']} ({days(part)}{some}): {', '.join(cells)} threads")
    return [
        "",
        f"{what} on the matrices of the first table, beside the fastest of "
        f"{', '.join(name for name in results['peers'] if not name.startswith('strata'))} "
        f"([all results](benchmarks/results/{path.with_suffix('.md').name})). {'. '.join(told)}.",
    ]


def main() -> int:
    from strata.bench.kernels.report import rows as kernel_rows
    from strata.bench.machines import processors
    from strata.bench.report import rows

    path = newest(".json")
    if not path:
        print("no full results in benchmarks/results/", file=sys.stderr)
        return 1
    results = json.loads(path.read_text())
    table = [r for r in rows(results) if r["ratio"]]
    threads = sorted({r["threads"] for r in table})
    lines = [
        f"Time of the fastest of {', '.join(results['peers'])} over ours, our own kernels only ({processors(results)}, {days(results)}; "
        f"[all results](benchmarks/results/{path.with_suffix('.md').name})), {said_of_runs(table)}:",
        "",
        "| | " + " | ".join(f"{n} thread{'s' if n > 1 else ''}" for n in threads) + " |",
        "|---|" + "---|" * len(threads),
    ]
    matrices = []
    for r in table:
        kind, matrix = r["case"].split()[:2]
        if (kind, matrix) not in matrices:
            matrices.append((kind, matrix))
    for label, test in (
        ("product with a vector", lambda k: k == "spmv"),
        ("product with 16 to 128 columns", lambda k: k.startswith("spmm")),
        ("conversions", lambda k: "->" in k),
    ):
        cells = []
        for n in threads:
            values = [r["ratio"] for r in table if test(r["case"].split()[0]) and r["threads"] == n]
            cells.append(
                f"{geometric(values):.2f} ({min(values):.2f} to {max(values):.2f}, {len(values)} cases)"
                if values
                else "-"
            )
        if any(c != "-" for c in cells):
            lines.append(f"| {label}: geometric mean | " + " | ".join(cells) + " |")
    for kind, matrix in matrices:
        if kind not in ("spmv", "spmm64") or matrix not in SHOWN:
            continue
        cells = []
        for n in threads:
            r = next((r for r in table if r["threads"] == n and r["case"].split()[:2] == [kind, matrix]), None)
            cells.append(f"{r['ratio']:.2f} ({r['format']}, beside {r['peer']})" if r else "-")
        lines.append(f"| {matrix}, {'one vector' if kind == 'spmv' else '64 columns'} | " + " | ".join(cells) + " |")
    behind = [f"{r['case']} on {r['threads']} ({r['ratio']:.2f})" for r in table if r["ratio"] < 0.9]
    lines += ["", f"Below 0.9: {', '.join(behind) or 'none'}.", *named_kernels()]
    lines += on_other_machines()
    lines += on_matrices("SpMV", "-spmv.json", rows)
    lines += on_matrices("SpMM with 16, 64 and 128 columns", "-spmm.json", rows)
    lines += on_matrices("SDDMM with 16, 64 and 128 columns", "-sddmm.json", kernel_rows)
    readme = root / "README.md"
    text = readme.read_text()
    new = re.sub(
        r"(<!-- ratios: begin -->\n).*?(<!-- ratios: end -->)",
        lambda m: m[1] + "\n".join(lines) + "\n" + m[2],
        text,
        flags=re.DOTALL,
    )
    readme.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
