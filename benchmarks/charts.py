"""charts.py [--quick]: what figures 4 and 5 of the blog on the universal sparse tensor compare, on this CPU.

    python benchmarks/charts.py --quick     # does everything work? small, into a folder of its own
    python benchmarks/charts.py             # measures, writes benchmarks/results/DATE-charts.md, draws, renews docs/performance.md
    python benchmarks/charts.py --draw      # draws the newest record again

A process for each library, all visited in turn; the least time of each counts. Results are compared first. SciPy, torch and
matplotlib are needed, and a C compiler for the kernel that is registered.
"""

import argparse
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from strata._terminal import progress, seconds  # noqa: E402
from strata_bench import figures, pages, workers  # noqa: E402
from strata_bench.charts import draw, record  # noqa: E402
from strata_bench.charts.cases import Stencil, Weights, request, save  # noqa: E402
from strata_bench.charts.peers import PEERS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static" / "charts"


def cases(quick):
    yield Stencil(12, 20, 20) if quick else Stencil()
    for dtype in ("float32", "float16"):
        for percent in range(0, 101, 50 if quick else 10):
            yield Weights(percent, dtype, 512 if quick else 8192)


def measure(pool, case, folder, threads, rounds, budget, say):
    """({(library, series): seconds}, {(library, series): note}, {(library, series): why there is no time})."""
    notes, refused = {}, {}
    for library in PEERS:
        say(f"{case.name}: preparing {library}")
        answer = pool.get(library, threads).ask(do="open", case=request(case), folder=folder)
        if "error" in answer:
            refused[library, ""] = answer["error"]
            continue
        refused |= {(library, s): why for s, why in answer["refused"].items()}
        notes |= {(library, s): note for s, note in answer["series"].items()}
    times = {key: [] for key in notes}
    for turn in range(rounds):
        for (library, series), found in times.items():
            say(f"{case.name}: round {turn + 1}/{rounds}, {library} {series}")
            answer = pool.get(library, threads).ask(do="time", series=series, budget=budget)
            if "error" in answer:
                refused[library, series] = answer["error"]
            else:
                found.append(min(answer["times"]))
    for library in PEERS:
        pool.get(library, threads).ask(do="close")
    return {key: min(found) for key, found in times.items() if found}, notes, refused


def facts(limits, rounds, budget):
    versions = ", ".join(f"{p} {importlib.metadata.version(p.lower())}" for p in ("SciPy", "NumPy", "torch"))
    return [
        pages.machine(limits),
        f"beside {versions}; Strata's own kernels alone, planned once",
        f"microseconds: the least of {rounds} visits of {budget} s; a process for each library, visited in turn",
    ]


def called(library, series):
    """SciPy's process holds NumPy's dense arrays."""
    return "NumPy" if (library, series) == ("SciPy", "dense") else library


def part_of(case, found, parts, threads):
    """Adds the times of a case to the parts of the page."""
    times, notes, refused = found
    stencil = isinstance(case, Stencil)
    name = pages.heading("stencil" if stencil else case.dtype, threads)
    if name not in parts:
        n = f"{case.nx * case.ny * case.nz:,}" if stencil else f"{case.n:,}"
        sentence = (
            f"A 7-point stencil of {n} rows, float64."
            if stencil
            else f"{n} x {n}, {case.dtype}, elements absent uniformly at random."
        )
        parts[name] = (sentence, "library" if stencil else "% absent", {}, [])
    _, _, rows, remarks = parts[name]
    if stencil:
        for (library, series), t in times.items():
            rows.setdefault(library, {})[series] = t
    else:
        rows[case.percent] = {f"{s}, {called(library, s)}": t for (library, s), t in times.items()}
    for (library, series), note in notes.items():
        if note and (stencil or case.percent == 50):
            remarks.append(f"{library} {series}{'' if stencil else ', 50 %'}: {note}")
    for (library, series), why in refused.items():
        remark = f"no time: {library} {series}: {why}"
        if remark not in remarks:
            remarks.append(remark)


def renew(name):
    """Draws the charts of a record, and docs/performance.md with them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, text in draw.charts(name).items():
        (FOLDER / file).write_text(text)
        print(FOLDER / file)
    subprocess.run([sys.executable, str(ROOT / "scripts" / "performance.py")], check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument(
        "--quick", action="store_true", help="small, few visits: does everything work? (no figures to quote)"
    )
    p.add_argument("--draw", action="store_true", help="only draws the newest record again")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--rounds", type=int, help="visits of each series (default 8; quick 2)")
    p.add_argument("--budget", type=float, help="seconds of a visit (default 0.15; quick 0.02)")
    args = p.parse_args()
    if args.draw:
        renew(pages.newest(record.SUFFIX))
        return
    if args.quick:  # leaves the repository alone
        figures.RESULTS = pathlib.Path(tempfile.mkdtemp())
    rounds, budget = args.rounds or (2 if args.quick else 8), args.budget or (0.02 if args.quick else 0.15)
    threads = [int(n) for n in args.threads.split(",")]
    parts = {}
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with progress("measuring the machine's limits") as p, workers.pool("charts") as pool:
        limits = None if args.quick else workers.limits(threads)
        for case in cases(args.quick):
            with tempfile.TemporaryDirectory(dir=memory) as folder:
                p.say(f"{case.name}: making it")
                save(case, folder)
                for n in threads:
                    found = measure(pool, case, folder, n, rounds, budget, p.say)
                    part_of(case, found, parts, n)
                    line = "  ".join(f"{library} {s} {seconds(t)}" for (library, s), t in found[0].items())
                    print(f"{case.name}, {n} threads: {line}", flush=True)
    parts = dict(sorted(parts.items(), key=lambda part: int(part[0].split(", ")[1].split()[0])))
    title = "Formats side by side: a stencil, and weights of more and more absent elements"
    name = pages.write(record.SUFFIX, title, facts(limits, rounds, budget), parts)
    print(figures.RESULTS / name)
    if args.quick:
        for file, text in draw.charts(name).items():
            (figures.RESULTS / file).write_text(text)
            print(figures.RESULTS / file)
    else:
        renew(name)


if __name__ == "__main__":
    main()
