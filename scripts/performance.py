#!/usr/bin/env python3
"""Writes docs/performance.md, and the tables of README.md and docs/files.md, from the records in benchmarks/results/.

    python scripts/performance.py            # writes them
    python scripts/performance.py --check    # fails where they are not what the records give

Needs an installed Strata. What has no record (the sparse compilers, one run on another machine) is read from its page.
"""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(root / "benchmarks"))

from strata_bench import pages as written, report  # noqa: E402
from strata_bench.charts import record as charts  # noqa: E402
from strata_bench.figures import (  # noqa: E402
    GENERATIONS,
    LOSS,
    RESULTS,
    found,
    named,
    newest,
    points,
    prose,
    short,
    spread_of,
    table,
    table_of,
)
from strata_bench.kernels import report as kernel_report  # noqa: E402
from strata_bench.kernels.cases import KERNELS  # noqa: E402

PAGE = root / "docs" / "performance.md"
FILES = root / "docs" / "files.md"
MARKS = "<!-- speed: begin -->\n", "<!-- speed: end -->"

#: README's rows
SHOWN = {
    "spmv": "SpMV",
    "spmm64": "SpMM, 64 columns",
    "sddmm64": "SDDMM, 64 columns",
    "spgemm": "SpGEMM",
    "add": "sum of two matrices",
    "mttkrp3": "MTTKRP",
}
#: of the matrices one of each kind; all others stand in the results
MATRICES = (
    "stencil7",
    "elasticity600",
    "fem3x3",
    "uniform1m",
    "rmat20",
    "rmat20-permuted",
    "pruned4096-90",
    "blocked4096-b16-90",
)
COMPILERS = "2026-11-25-compilers"
#: a run of which only ratios were kept
INTEL = "2026-11-26-kernels-intel"


def intel(kernel, kind):
    """ "1 thread / 2 threads" of the run of which only ratios were kept."""
    (row,) = (r for r in table_of(f"{INTEL}.md") if (r["kernel"], r["input"]) == (kernel, kind))
    return f"{row['1 thread']} / {row['2 threads']}"


def speed(kernels):
    """The rows of README's table."""
    means = kernel_report.summary(kernels.results)
    for kernel, name in SHOWN.items():
        best = [r["peer"].split()[0] for r in kernels.rows if r["kernel"] == kernel and r["ratio"]]
        beside = dict.fromkeys(named(b) for b in sorted(best, key=lambda b: -best.count(b)))
        cells = [f"{means[kernel, n][0]:.2f} ({means[kernel, n][1]:.2f})" for n in (1, 2)]
        formula = re.split(", [0-9]", KERNELS[kernel].text)[0]  # without the number of columns
        yield [name, f"`{formula}`", *cells, ", ".join(beside)]


def readme(machine, kernels):
    lines = [
        *prose(
            f"The fastest other library's time over ours (above 1: Strata is faster): the geometric mean over uniform, power-law, banded "
            f"and blocked inputs, in parentheses the worst of them. {short(machine)} ({machine['processor']}, {machine['vectors']}), "
            f"{machine['cores']} cores, {kernels.days}, beside {', '.join(kernels.others[:-1])} and {kernels.others[-1]}."
        ),
        *table(["", "computes", "1 thread", "2 threads", "fastest other"], speed(kernels)),
        *prose(
            f"Where it loses: on an Intel machine with AVX-512 SpMM has {intel('spmm64', 'geometric mean')} of MKL's speed on 1 / 2 "
            f"threads (banded inputs {intel('spmm64', 'banded')}), SpMV on power-law inputs {intel('spmv', 'powerlaw')}. "
            "[All figures, and how they were measured](docs/performance.md)."
        ),
    ]
    return "\n".join(lines)


def compared(kernels, others):
    versions = lambda r: ", ".join(
        f"{named(k)} {v}" for k, v in r.results["peers"].items() if not k.startswith("strata")
    )
    return [
        "## What is compared",
        "",
        *points(
            """**Strata** with its own kernels alone: no vendor's library takes part. Named kernels are the call that a user makes,
            `st.evaluate`; products with a matrix are planned once, as the others' handles are.""",
            f"""**Others**: {versions(kernels)} (loops written by hand); for the named kernels also {versions(others)}; the sparse
            compilers TACO, Scorch and MLIR. Each counts with the best of its variants (formats, hints, schedules), Strata with the
            best of its formats.""",
            """**Named kernels** on four kinds of input of about a million stored elements, float32: uniform, power-law, banded and
            blocked.""",
            """**Matrices**: a 7-point stencil of 1.5 million rows, FEM matrices, random and power-law graphs, pruned weights, pyamg's
            real ones, in the dtype of each.""",
        ),
    ]


def protocol():
    return [
        "## How it is measured",
        "",
        *points(
            """A **ratio** is the fastest other library's time over Strata's, on the same input in the same run: 2.00 means that Strata
            takes half the time, below 1 it loses. Means are geometric.""",
            """Each library with each number of threads is a process of its own. They are visited in turn, so that all see the same
            noise; a run keeps the minimum of each, and of several runs the median ratio counts.""",
            """A ratio holds within one run on one machine; runs of several machines are never divided by each other.""",
            """The results of products and kernels are compared with SciPy's or NumPy's; a wrong one counts as an error. Sparse results
            are sorted, everyone's.""",
            """Dense operands begin 16 bytes behind a line of the cache in every process.""",
        ),
        *prose("How to run them, and how a record is read: [benchmarks/README.md](../benchmarks/README.md)."),
    ]


def places(all_records):
    """The machines, each once, with the records that have runs on it."""
    seen = {}
    for record in all_records:
        for machine, _ in record.apart():
            key = short(machine), machine["processor"], machine["vectors"], str(machine["cores"])
            rates = [round(limit["read_bandwidth"] / 1e9) for limit in machine["limits"].values()]
            seen.setdefault(key, []).append((rates, record.link))
    between = lambda of: " to ".join(dict.fromkeys((str(min(of)), str(max(of)))))
    rows = []
    for key, of in seen.items():
        rates = " / ".join(map(between, zip(*(rates for rates, _ in of))))
        rows.append([*key, rates, ", ".join(dict.fromkeys(link for _, link in of))])
    return [
        "## Machines",
        "",
        *prose(
            "What a machine reads is measured anew for each record. One more machine has ratios only, see the losses below."
        ),
        *table(["", "processor", "vectors", "cores", "reads GB/s, 1 / 2 threads", "records"], rows),
    ]


def named_kernels(kernels):
    means, alone = kernel_report.summary(kernels.results), kernel_report.ceilings(kernels.results)
    of = lambda kernel, n: f"{means[kernel, n][0]:.2f} ({means[kernel, n][1]:.2f})" if (kernel, n) in means else "-"
    rows = [[k, f"`{KERNELS[k].text}`", of(k, 1), of(k, 2)] for k in dict.fromkeys(k for k, _ in means)]
    lines = ", ".join(f"{k} {alone[k, 1]:.2f} / {alone[k, 2]:.2f}" for k in dict.fromkeys(k for k, _ in alone))
    return [
        "## The named kernels",
        "",
        *prose(
            f"On {kernels.machines}, {kernels.days}, beside the fastest of {', '.join(kernels.others)} ({kernels.link}): the geometric "
            "mean of the ratio over the inputs, and in parentheses the worst of them."
        ),
        *table(["kernel", "computes", "1 thread", "2 threads"], rows),
        *prose(
            "What would be possible: the ratio of a loop that only reads the lines of the dense operand that the elements choose, and asks "
            f"for none ahead, on 1 / 2 threads: {lines}."
        ),
    ]


def elsewhere(others):
    """The same kernels on other machines, or beside other libraries: a column each."""
    means = [kernel_report.summary(r.results) for r in others]
    cell = lambda of, k, n: f"{of[k, n][0]:.2f} ({of[k, n][1]:.2f})" if (k, n) in of else "-"
    rows = [
        [k, *(f"{cell(of, k, 1)}, {cell(of, k, 2)}" if (k, 1) in of or (k, 2) in of else "-" for of in means)]
        for k in KERNELS
        if any((k, n) in of for of in means for n in (1, 2))
    ]
    return [
        "### On other machines, and beside other libraries",
        "",
        *points(*(f"{r.link}: {r.machines}, {r.days}, beside the fastest of {', '.join(r.others)}." for r in others)),
        *prose("Mean and worst input on 1 thread, and on 2."),
        *table(["kernel", *(r.path.stem for r in others)], rows),
    ]


def on_matrices(record):
    kinds = {
        "product with a vector": lambda c: c.startswith("spmv"),
        "product with 16 to 128 columns": lambda c: c.startswith("spmm"),
        "conversion": lambda c: "->" in c,
    }
    means = [
        [name, str(len(record.ratios(1, test))), *(spread_of(record.ratios(n, test)) for n in (1, 2))]
        for name, test in kinds.items()
    ]
    rows = []
    for name in dict.fromkeys(r["case"] for r in record.rows):
        kind, matrix = name.split()[:2]
        if kind in ("spmv", "spmm64") and matrix in MATRICES:
            of = {r["threads"]: r for r in record.rows if r["case"] == name and r["ratio"]}
            cells = [
                f"{of[n]['ratio']:.2f} ({of[n]['format']}, beside {of[n]['peer']})" if n in of else "-" for n in (1, 2)
            ]
            rows.append([matrix, "a vector" if kind == "spmv" else "64 columns", *cells])
    return [
        "## Products and conversions on matrices",
        "",
        *prose(
            f"On {record.machines}, {record.days}, medians over runs of several machines, beside the fastest of "
            f"{', '.join(record.others)} ({record.link}): geometric mean, worst and best case."
        ),
        *table(["", "cases", "1 thread", "2 threads"], means),
        *prose(f"Below {LOSS}: {', '.join(record.behind) or 'none'}."),
        *prose("One matrix of each kind, with Strata's fastest format and the library that came next:"),
        *table(["matrix", "times", "1 thread", "2 threads"], rows),
    ]


def by_machine(given):
    """Products on the matrices, each machine for itself: {what: record}."""
    rows = []
    for what, record in given.items():
        sorts = lambda r: sorted({case.split()[0] for case in r.results["cases"]})
        for machine, part in record.apart():
            asked = report.libraries(part.results)
            missing = [f"without {name}" for name in record.results["peers"] if name.lower() not in asked]
            missing = [m for m in missing if "strata" not in m]
            some = [] if sorts(part) == sorts(record) else [f"{' and '.join(sorts(part))} alone"]
            cells = [spread_of(part.ratios(n)) for n in (1, 2)]
            count = str(max(len(part.ratios(n)) for n in (1, 2)))
            rows.append([what, short(machine), part.days, count, *cells, ", ".join([*some, *missing])])
    return [
        "### Each machine for itself",
        "",
        *prose(
            "; ".join(f"{what} beside the fastest of {', '.join(r.others)} ({r.link})" for what, r in given.items())
            + ": geometric mean, worst and best case."
        ),
        *table(["", "processor", "measured", "cases", "1 thread", "2 threads", ""], rows),
    ]


def compilers():
    page = (RESULTS / f"{COMPILERS}.md").read_text().split("\n\n")
    name, day = page[1].rstrip(".").rsplit(", ", 1)
    rows = []
    for each in zip(*(table_of(f"{COMPILERS}.md", heading) for heading in ("1 thread", "2 threads"))):
        cells = [each[0]["task"]]
        for row in each:
            took = {c: float(row[f"{c}, ms"]) for c in ("TACO", "Scorch", "MLIR") if row[f"{c}, ms"] != "-"}
            cells += [row["Strata, ms"], f"{row['best compiler over ours']} ({min(took, key=took.get)})"]
            cells += [row["lines over ours"]]
        rows.append(cells)
    return [
        "## Beside the sparse compilers",
        "",
        *prose(
            f"TACO, Scorch and MLIR's sparse compiler on {GENERATIONS.get(name, name)}, {day}, all in one run, each with the best of its "
            "schedules and flags: Strata's milliseconds, the best compiler's time over ours, and the share of our time that reading the "
            f"chosen lines takes alone ([{COMPILERS}](../benchmarks/results/{COMPILERS}.md) has every time). {page[2]}"
        ),
        *table(["task", "ms, 1 thread", "ratio", "lines", "ms, 2 threads", "ratio", "lines"], rows),
    ]


def side_by_side():
    """The charts, and what they show."""
    name = written.newest(charts.SUFFIX)
    threads, link = charts.threads_of(name), f"[{name.removesuffix('.md')}](../benchmarks/results/{name})"
    machine, beside, how = written.facts(name)
    return [
        "## Formats side by side",
        "",
        *prose(
            f"What figures 4 and 5 of NVIDIA's blog on the universal sparse tensor compare on a GPU, here on a CPU ({link}, by "
            f"`benchmarks/charts.py`): {machine}; {beside}; {how}."
        ),
        *prose(written.sentence(name, written.heading("stencil", threads[0]))),
        "![SpMV of a stencil in COO, CSR and DIA](_static/charts/stencil.svg)",
        "",
        *table(["format", "threads", "Strata, ms", "the fastest other's time over ours"], stencil_rows(name, threads)),
        *prose(
            f"{written.sentence(name, written.heading('float32', threads[0])).partition(', float')[0]} weights, of which more and more are "
            "absent. `delta(4)` runs as generated code, and by [a kernel that the benchmark registers]"
            "(../benchmarks/strata_bench/charts/delta_kernel.c): sixteen slots at a time, rows that end without pads."
        ),
        *(line for n in threads for line in (f"![Weights on {n}](_static/charts/weights-{n}.svg)", "")),
        *prose(
            "From which share of absent elements on a format takes less time than the fastest dense product (NumPy's or torch's), and the "
            "ratio at 90 %:"
        ),
        *weight_rows(name, threads),
        *prose(f"Below {LOSS}, the fastest other's time in the same format over ours:"),
        *points(*(behind_in_charts(name, threads) or ["nothing."])),
    ]


def stencil_rows(name, threads):
    for n in threads:
        for format, of in charts.stencil(name, n).items():
            ours = of.pop("Strata")
            best = min(of, key=of.get)
            yield [format, str(n), f"{1e3 * ours:.3g}", f"{of[best] / ours:.2f} ({best})"]


def dense_times(of):
    """{percent: the least of the dense products beside ours}."""
    found = [times for (series, library), times in of.items() if series == "dense" and library != "Strata"]
    return {p: min(times[p] for times in found if p in times) for p in found[0]}


def weight_rows(name, threads):
    parts = {(dtype, n): charts.weights(name, dtype, n) for dtype in ("float32", "float16") for n in threads}
    rows = {}
    for of in parts.values():
        dense = dense_times(of)
        for (series, library), times in of.items():
            if library == "Strata":
                ahead = [p for p in times if all(times[q] < dense[q] for q in times if q >= p)]
                ratio = f"{dense[90] / times[90]:.2f}"
                rows.setdefault(series, []).append(f"{min(ahead)} % ({ratio})" if ahead else f"never ({ratio})")
    columns = [f"{dtype}, {n} thread{'s' * (n > 1)}" for dtype, n in parts]
    return table(["format", *columns], ([series, *cells] for series, cells in rows.items()))


def spread(ratios):
    return " to ".join(dict.fromkeys((f"{min(ratios):.2f}", f"{max(ratios):.2f}")))


def behind_in_charts(name, threads):
    """Where another library is faster with the same format."""
    found = []
    for n in threads:
        for format, of in charts.stencil(name, n).items():
            ratio = min(t for library, t in of.items() if library != "Strata") / of["Strata"]
            if ratio < LOSS:
                found.append(f"{format} of the stencil on {n}: {ratio:.2f}.")
        for dtype in ("float32", "float16"):
            of = charts.weights(name, dtype, n)
            for format in ("dense", "CSR"):
                others, ours = (
                    [times for (s, lib), times in of.items() if s.split()[0] == format and (lib == "Strata") == own]
                    for own in (False, True)
                )
                ratios = {
                    p: min(t[p] for t in others if p in t) / min(t[p] for t in ours)
                    for p in ours[0]
                    if any(p in t for t in others)
                }
                lost = {p: r for p, r in ratios.items() if r < LOSS}
                if lost:
                    at = f"{min(lost)} to {max(lost)} %" if len(lost) > 1 else f"{min(lost)} %"
                    found.append(
                        f"{format} {dtype} on {n}, at {len(lost)} of {len(ratios)} shares ({at} absent): "
                        f"{spread(lost.values())}."
                    )
            generated, own = (of["delta(4)" + s, "Strata"] for s in ("", ", user's kernel"))
            ratios = [own[p] / generated[p] for p in own if p < 100]
            if min(ratios) < LOSS:
                found.append(f"delta(4) {dtype} on {n}, generated code beside the registered kernel: {spread(ratios)}.")
    return found


def file_speed():
    """docs/files.md: what reading and writing takes."""
    name = written.newest("files")
    machine, beside, _, how = written.facts(name)
    by_threads = [written.times(name, part) for part in written.headings(name)]
    rows, behind = [], []
    for case in by_threads[0]:
        what, _, size = case.rpartition(" (")
        megabytes, cells = float(size.removesuffix(" MB)")), []
        for n, of in enumerate(by_threads, 1):
            ours = of[case]["Strata"]
            others = {library: t for library, t in of[case].items() if library != "Strata"}
            best = min(others, key=others.get, default=None)
            rate = "-" if "header" in what or "structure" in what else f"{megabytes / ours / 1e3:.2g}"
            ratio = f"{others[best] / ours:.3g} ({best})" if best else "-"
            cells += [rate, ratio]
            if best and others[best] / ours < LOSS:
                behind.append(f"{what} on {n} ({others[best] / ours:.2f}, {best})")
        rows.append([f"`{what}`" if "=" in what else what, f"{megabytes:.0f} MB", *cells])
    heads = [f"{n} thread{'s' * (n > 1)}" for n in range(1, len(by_threads) + 1)]
    columns = [c for head in heads for c in (f"GB/s, {head}", "fastest other's time over ours")]
    return "\n".join(
        [
            *prose(
                f"{written.sentence(name, written.headings(name)[0])[:-1]} of a random matrix in float64 and int64 "
                f"([{name.removesuffix('.md')}](../benchmarks/results/{name}), by `benchmarks/files.py`): {machine}; {beside}; {how}."
            ),
            *table(["", "file", *columns], rows),
            *prose(f"Below {LOSS}: {', '.join(behind) or 'nothing'}."),
        ]
    )


def losses(all_records):
    mean, rows = intel("spmm64", "geometric mean"), [list(r.values()) for r in table_of(f"{INTEL}.md")]
    behind = [
        f"{record.link}, {short(machine)}, {part.days}: {', '.join(part.behind)}."
        for record in all_records
        for machine, part in record.apart()
        if part.behind
    ]
    none = [r.link for r in all_records if not any(part.behind for _, part in r.apart())]
    return [
        "## Where Strata loses",
        "",
        *prose(
            f"**On an Intel machine with AVX-512** (family 6, model 207; [{INTEL}](../benchmarks/results/{INTEL}.md)) SpMM with 64 columns "
            f"has {mean} of MKL's speed on 1 / 2 threads, on banded inputs {intel('spmm64', 'banded')}; SpMV has {intel('spmv', 'powerlaw')} on "
            f"power-law and {intel('spmv', 'uniform')} on uniform inputs. All ratios of that run:"
        ),
        *table(["kernel", "input", "1 thread", "2 threads", "fastest other"], rows),
        *prose(
            f"**Below {LOSS}**, each machine for itself (a later record may have mended what an earlier one shows):"
        ),
        *points(*behind),
        *prose(f"None in {', '.join(none)}."),
    ]


def pages():
    known, rows = {r.path.stem: r for r in found("*")}, []
    for path in sorted(RESULTS.glob("*.md")):
        title, r = path.read_text().splitlines()[0].lstrip("# "), known.get(path.stem)
        if r:
            sorts = list(dict.fromkeys(case.split()[0] for case in r.results["cases"]))
            some = ", ".join(sorts) if len(sorts) <= 3 else f"{len(sorts)} kinds"
            title = f"{some}, {len(r.results['cases'])} cases, on {r.machines}, beside {', '.join(r.others)}"
        rows.append([f"[{path.stem}](../benchmarks/results/{path.name})", title])
    return [
        "## All results",
        "",
        *prose(
            "A page for each record: every case, its times, its formats, what libraries were there, and why one was not."
        ),
        *table(["page", "holds"], rows),
    ]


def performance(kernels):
    matrices, *single = newest(""), newest("-spmv"), newest("-spmm"), newest("-sddmm")
    others = [r for r in found("-kernels*") if r.path != kernels.path and len(r.results["cases"]) > 10]
    beside = next(r for r in others if r.path.stem.endswith("-others"))
    all_records = [kernels, *others, matrices, *single]
    given = dict(zip(("SpMV", "SpMM with 16, 64 and 128 columns", "SDDMM with 16, 64 and 128 columns"), single))
    lines = [
        "# Performance",
        "",
        "<!-- Written by scripts/performance.py from the records in benchmarks/results/: change those, not this page. -->",
        "",
        *compared(kernels, beside),
        *protocol(),
        *places(all_records),
        *named_kernels(kernels),
        *elsewhere(others),
        *on_matrices(matrices),
        *by_machine(given),
        *compilers(),
        *side_by_side(),
        *losses(all_records),
        *pages(),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def between_marks(path, new):
    """A page with another text between its marks; None where it has no place for it."""
    begin, end = MARKS
    text = path.read_text()
    if text.count(begin) != 1 or text.count(end) != 1:
        print(
            f"{path.relative_to(root)} has no place for the table: one line {begin.strip()} and one {end}",
            file=sys.stderr,
        )
        return None
    before, rest = text.split(begin)
    return before + begin + new + end + rest.split(end)[1]


def main(argv):
    machine, kernels = max(newest("-kernels").apart(), key=lambda of: len(of[1].results["cases"]))
    wanted = {
        root / "README.md": between_marks(root / "README.md", readme(machine, kernels)),
        FILES: between_marks(FILES, file_speed()),
        PAGE: performance(kernels),
    }
    if None in wanted.values():
        return 1
    stale = [p for p, new in wanted.items() if not p.exists() or p.read_text() != new]
    if "--check" in argv:
        for p in stale:
            print(f"{p.relative_to(root)} is not what the records give: python scripts/performance.py", file=sys.stderr)
        return int(bool(stale))
    for p in stale:
        p.write_text(wanted[p])
        print(p.relative_to(root))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
