"""strata bench: SpMV, SpMM and conversions on generated and real matrices, beside other libraries.
strata bench --kernels: the named kernels of the sparse compiler (SpGEMM, SDDMM, MTTKRP, attention, ...), beside more of them.
strata bench --torch: linear layers with sparse weights, their gradients and a training step, beside dense ones.

One process per library and number of threads, visited in turn; the minimum of each run counts, and the median over runs is
reported. Results are saved after every case: run it again to go on where it stopped.
"""

import argparse
import datetime
import os
import pathlib
import sys

from strata._terminal import Style, progress, seconds
from strata._timing.case import Case
from strata._timing.measure import best_peer, measure

from . import machines, matrices, peers as matrix_peers, records
from .conversions import Conversion
from .kernels import peer as kernel_peers, report as kernel_report
from .kernels.cases import KERNELS, ON_MATRICES, KernelCase, folder_of
from .layers import cases as layer_cases, peers as layer_peers, report as layer_report
from .report import markdown
from .workers import limits, memory, pool

#: conversions, and which matrices each is measured on
CONVERTED = {
    ("CSR", "CSC"): ("stencil7", "uniform", "fem3x3", "bar"),
    ("CSC", "CSR"): ("stencil7", "uniform"),
    ("COO", "CSR"): ("stencil7", "uniform", "fem3x3"),
    ("CSR", "BSR(3, 3)"): ("fem3x3",),
    ("BSR(3, 3)", "CSR"): ("fem3x3",),
    ("CSR", "DIA"): ("stencil7",),
    ("DIA", "CSR"): ("stencil7",),
    ("dense", "CSR"): ("pruned4096-50", "pruned4096-90", "pruned512"),
    ("CSR", "dense"): ("pruned4096-50", "pruned4096-90", "pruned512"),
}


def parser():
    p = argparse.ArgumentParser(
        prog="strata bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument(
        "--quick", action="store_true", help="small matrices, few rounds: does everything work? (no figures to quote)"
    )
    p.add_argument(
        "--kernels", action="store_true", help="the named kernels of the sparse compiler instead, beside more libraries"
    )
    p.add_argument(
        "--torch",
        action="store_true",
        help="linear layers with sparse weights instead, beside dense ones and other libraries",
    )
    p.add_argument(
        "--matrices",
        action="store_true",
        help="with --kernels: SDDMM of 16, 64 and 128 columns on the matrices of products",
    )
    p.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEXT",
        help="cases whose name contains TEXT (repeatable: any of them)",
    )
    p.add_argument("--columns", default="1,16,64,128", help="columns of X (default 1,16,64,128)")
    p.add_argument("--threads", default="", help="numbers of threads (default 1,2; with --torch all cores)")
    p.add_argument("--dtype", default="", help="float64, float32, ... (default: the matrix's own)")
    p.add_argument(
        "--peers", default="", help="libraries beside Strata's own kernels, as a,b (default: all that are installed)"
    )
    p.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="LIBRARY=PATH",
        help="the interpreter to run a library with, where its packages fit beside no other's (repeatable)",
    )
    p.add_argument("--rounds", type=int, help="visits of each process in a run (default 8; quick 2)")
    p.add_argument("--budget", type=float, help="seconds of timing a visit (default 0.3; quick 0.05)")
    p.add_argument("--runs", type=int, help="separate runs over all cases (default 3; quick 1)")
    p.add_argument("--minutes", type=float, help="stop after so long (run again to go on)")
    p.add_argument("--no-conversions", action="store_true")
    p.add_argument("--no-products", action="store_true")
    p.add_argument(
        "--out",
        metavar="FILE.jsonl",
        help="results (default benchmarks/results/DATE.jsonl, DATE-kernels.jsonl; a .md beside it)",
    )
    p.add_argument("--report", metavar="FILE.jsonl", help="only write the .md of earlier results")
    p.add_argument("--list", action="store_true", help="print the cases")
    p.add_argument("--priority", action="store_true", help="ask for a higher scheduling priority first (root)")
    return p


def cases(args):
    """(name, input, function that generates the input and returns the case) of everything asked for."""
    if args.torch:

        def layer_case(op, weight, batch):
            return lambda: layer_cases.LayerCase(op, batch, layer_cases.folder_of(weight, args.quick))

        found = [
            (f"{op} {w} x{batch}", w, layer_case(op, w, batch)) for op, w, batch in layer_cases.all_cases(args.quick)
        ]
        return [c for c in found if not args.only or any(text in c[0] for text in args.only)]
    if args.kernels:

        def kernel_case(kernel, kind):
            return lambda: KernelCase(kernel, folder_of(kernel, kind, args.quick), args.dtype)

        table = matrices.QUICK if args.quick else matrices.FULL
        inputs = {k: table for k in ON_MATRICES} if args.matrices else {k: of.kinds for k, of in KERNELS.items()}
        found = [(f"{k} {kind}", kind, kernel_case(k, kind)) for k, kinds in inputs.items() for kind in kinds]
        return [c for c in found if not args.only or any(text in c[0] for text in args.only)]

    def matrix_case(kind, matrix, **spec):
        return lambda: kind(matrices.folder_of(matrix, args.quick), dtype=args.dtype, **spec)

    table = matrices.QUICK if args.quick else matrices.FULL
    out = []
    if not args.no_products:
        for matrix in table:
            for k in map(int, args.columns.split(",")):
                out.append(
                    (
                        f"{'spmv' if k == 1 else f'spmm{k}'} {matrix}",
                        matrix,
                        matrix_case(Case, matrix, columns=k),
                    )
                )
    if not args.no_conversions:
        for source, target in CONVERTED:
            for matrix in table:
                if any(matrix.startswith(m) for m in CONVERTED[source, target]):
                    out.append(
                        (
                            f"{source.replace(' ', '')}->{target.replace(' ', '')} {matrix}",
                            matrix,
                            matrix_case(Conversion, matrix, source=source, target=target),
                        )
                    )
    return [c for c in out if not args.only or any(text in c[0] for text in args.only)]


def ask_for_priority():
    """Autogrouping makes plain nice useless: a session of our own with a better autogroup."""
    try:
        os.setsid()
    except OSError:
        pass
    for action in (lambda: pathlib.Path("/proc/self/autogroup").write_text("-10"), lambda: os.nice(-10)):
        try:
            action()
        except OSError as e:
            print(f"no higher priority: {e}", file=sys.stderr)


def default_out(quick, kind):
    folder = pathlib.Path("benchmarks/results") if pathlib.Path("benchmarks").is_dir() else pathlib.Path(".")
    return folder / f"{'quick-' if quick else ''}{datetime.date.today()}{kind and '-' + kind}.jsonl"


def page(results):
    if results.get("layers"):
        return layer_report.markdown(results)
    return (kernel_report.markdown if results.get("kernels") else markdown)(results)


def main(argv):
    args = parser().parse_args(argv)
    if args.report:
        path = pathlib.Path(args.report)
        path.with_suffix(".md").write_text(page(records.read(path)))
        print(path.with_suffix(".md"))
        return 0
    todo = cases(args)
    if args.list:
        print("\n".join(name for name, _, _ in todo))
        return 0
    if not todo:
        print("no case matches; see --list", file=sys.stderr)
        return 1
    rounds = args.rounds or (2 if args.quick else 8)
    budget = args.budget or (0.05 if args.quick else 0.3)
    runs = args.runs or (1 if args.quick else 3)
    kind = "layers" if args.torch else "kernels" if args.kernels else "matrices"
    usual = [len(os.sched_getaffinity(0))] if args.torch else [1, 2]
    threads = [int(n) for n in args.threads.split(",")] if args.threads else usual
    known = list({"layers": layer_peers.PEERS, "kernels": kernel_peers.PEERS, "matrices": matrix_peers.PEERS}[kind])
    here = matrix_peers.names() if kind == "matrices" else known
    asked = args.peers.split(",") if args.peers else here
    if unknown := [name for name in asked if name not in known]:
        print(f"--peers: there is no {', '.join(unknown)} among {', '.join(known)}", file=sys.stderr)
        return 2
    peers = list(dict.fromkeys(["strata", *asked]))
    pythons = dict(p.split("=", 1) for p in args.python)
    if args.priority:
        ask_for_priority()
    path = pathlib.Path(args.out) if args.out else default_out(args.quick, "" if kind == "matrices" else kind)
    style = Style()
    results = records.read(path) if path.exists() else None
    if results is None:
        results = {
            "date": str(datetime.date.today()),
            "quick": args.quick,
            "kernels": args.kernels,
            **({"layers": True} if args.torch else {}),
            "peers": {},
            "machines": [],
            "measured": {},
            "cases": {},
        }
    if kind == "matrices":
        asked = {p.split("-")[0] for p in peers}
        results["peers"].update({k: v for k, v in matrix_peers.installed().items() if k.lower() in asked})
    with progress("measuring the machine's limits"):
        this = machines.number_of(results["machines"], lambda: limits(threads))
    end = None if args.minutes is None else datetime.datetime.now() + datetime.timedelta(minutes=args.minutes)
    with pool(kind, pythons) as workers:
        if kind != "matrices":  # versions, or why a library is not here
            first = {name: workers.get(name, threads[0]).first for name in peers}
            results["peers"].update({name: f.get("version") or f["error"] for name, f in first.items()})
        for run in range(runs):
            for name, matrix, make in todo:
                name += f" {args.dtype}" if args.dtype else ""
                done = results["cases"].setdefault(name, [])
                if len(done) > run:
                    continue
                if end and datetime.datetime.now() > end:
                    print(f"stopped after {args.minutes} minutes; run it again to go on", file=sys.stderr)
                    return 0
                with progress(f"generating {matrix}", quiet=not sys.stderr.isatty()) as p:
                    try:
                        case = make()
                    except ImportError as e:
                        print(f"{name}: skipped, {e}", file=sys.stderr)
                        results["cases"].pop(name)
                        continue
                    p.say(name)
                    # What was fast elsewhere need not be fast here.
                    same = done and results["measured"][name][-1]["machine"] == this
                    earlier = done[-1] if same else None
                    serial = ("scipy",) if kind == "matrices" else ()
                    one = measure(workers, case, peers, threads, rounds, budget, p, earlier=earlier, serial=serial)
                done.append(one)
                record = {"day": str(datetime.date.today()), "machine": this, "rounds": rounds, "budget": budget}
                results["measured"].setdefault(name, []).append(record)
                records.write(path, results)
                print(one_line(style, run, name, one, threads), flush=True)
    if args.torch and not args.only:
        with progress("memory of training"):
            results["memory"] = memory([p for p in peers if "error" not in first[p]], threads[-1], pythons)
        records.write(path, results)
    path.with_suffix(".md").write_text(page(records.read(path)))
    print(style.dim(f"{path}  {path.with_suffix('.md')}"))
    return 0


def one_line(style, run, name, one, threads):
    cells = []
    for n in threads:
        own = one.get(f"strata/{n}", {})
        key, peer = best_peer(one, n)
        if "seconds" not in own or "error" in own:
            cells.append(f"{n}T {style.bad(own.get('error') or 'refused: ' + str(own.get('refused')))}")
            continue
        text = f"{n}T {seconds(own['seconds'])} {own['variant']}"
        if peer:
            ratio = peer["seconds"] / own["seconds"]
            paint = style.good if ratio >= 1 else style.warm if ratio >= 0.9 else style.bad
            text += f", {key.split('/')[0]} {seconds(peer['seconds'])} {paint(f'{ratio:.2f}x')}"
        cells.append(text)
    return f"run {run + 1}  {name:<28} " + "   ".join(cells)
