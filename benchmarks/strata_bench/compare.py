"""benchmarks/compare REV1 REV2: what became faster or slower between two revisions. Each is built in a worktree and an environment
of its own below build/compare (minutes, once), "." stands for the working tree and its .venv as they are. The benchmarks of this
checkout time both, in turn, on the same inputs: products, conversions, the named kernels and small calls."""

import argparse
import dataclasses
import math
import pathlib
import statistics
import subprocess
import sys

from strata._terminal import Style, progress, seconds
from strata._timing.case import same

from . import run
from .calls import CALLS, Call
from .workers import pool

ROOT = pathlib.Path(__file__).resolve().parents[2]

#: a ratio this near to 1 is called the same, however sure it is
NOISE = 0.02


def parser():
    p = argparse.ArgumentParser(
        prog="benchmarks/compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("before", metavar="REV1", help='what git calls it: main~3, v0.1, a hash; "." is the working tree')
    p.add_argument("after", metavar="REV2")
    p.add_argument("--only", action="append", default=[], metavar="TEXT", help="cases whose name contains TEXT")
    p.add_argument(
        "--what",
        default="calls,kernels,matrices",
        help="of calls, kernels, matrices, layers (default: the first three)",
    )
    p.add_argument("--threads", default="1,2", help="numbers of threads (default 1,2)")
    p.add_argument("--columns", default="1,64", help="columns of X in the products of matrices (default 1,64)")
    p.add_argument("--rounds", type=int, default=9, help="visits of each revision (default 9)")
    p.add_argument("--budget", type=float, default=0.1, help="seconds of timing a visit (default 0.1)")
    p.add_argument("--quick", action="store_true", help="small inputs")
    p.add_argument("--list", action="store_true", help="print the cases")
    return p


def python_of(revision):
    """The interpreter of an environment with that revision, which is built if it is not there yet."""
    if revision == ".":
        return ROOT / ".venv/bin/python"
    git = lambda *args: subprocess.run(
        ["git", *args], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()  # noqa: E731
    sha = git("rev-parse", "--short=12", f"{revision}^{{commit}}")
    tree = ROOT / "build" / "compare" / sha
    python = tree / ".venv/bin/python"
    if not (tree / "built").exists():
        if not tree.exists():
            git("worktree", "add", "--detach", str(tree), sha)
        with progress(f"building {revision} ({sha}); all that it says: {tree}/build/install.log"):
            script = ". scripts/setup.sh && toolchain && install_strata test && .venv/bin/pip install -q scipy"
            built = subprocess.run(["bash", "-c", script], cwd=tree, capture_output=True, text=True)
        if built.returncode:
            sys.exit(f"{revision} could not be built:\n{built.stdout[-2000:]}{built.stderr[-2000:]}")
        (tree / "built").touch()
    return python


def cases(args):
    """(what, name, function that returns the case)."""
    found = []
    for what in args.what.split(","):
        if what == "calls":
            found += [(what, f"call {name}", lambda name=name: Call(name)) for name in CALLS]
            continue
        options = ["--columns", args.columns, *(["--quick"] if args.quick else [])]
        options += {"kernels": ["--kernels"], "layers": ["--torch"], "matrices": []}[what]
        found += [(what, name, make) for name, _, make in run.cases(run.parser().parse_args(options))]
    return [c for c in found if not args.only or any(text in c[1] for text in args.only)]


def compare(pools, what, case, threads, rounds, budget):
    """[ratio of a round: before / after], the two least times, and a remark; or a remark alone."""
    processes = [pools[what, side].get("strata", threads) for side in (0, 1)]
    request, first = dataclasses.asdict(case), []
    for process in processes:
        opened = process.first if "error" in process.first else process.ask(do="open", case=request)
        if "best" not in opened:
            return [], (0, 0), opened.get("error") or str(opened.get("refused"))
        first.append(opened)
    ratios, least = [], [math.inf, math.inf]
    for turn in range(rounds):
        took = [0, 0]
        for side in (0, 1) if turn % 2 else (1, 0):
            answer = processes[side].ask(do="time", budget=budget)
            if "error" in answer:
                return [], (0, 0), answer["error"]
            took[side] = min(answer["times"])
            least[side] = min(least[side], took[side])
        ratios.append(took[0] / took[1])
    for process in processes:
        process.ask(do="close")
    prints = [f.get("fingerprint") for f in first]
    remark = "" if None in prints or same(*prints, first[0]["dtype"]) else "THE RESULTS DIFFER"
    if first[0]["best"] != first[1]["best"]:
        remark = f"{remark} {first[0]['best']} -> {first[1]['best']}".strip()
    return ratios, least, remark


def verdict(ratios):
    """ "faster", "slower" or "": by the sign of all rounds but one in ten, and by more than NOISE."""
    middle = statistics.median(ratios)
    if abs(middle - 1) <= NOISE:
        return ""
    agree = sum((r > 1) == (middle > 1) for r in ratios)
    return ("faster" if middle > 1 else "slower") if agree >= 0.9 * len(ratios) else ""


def main(argv=None):
    args = parser().parse_args(argv)
    todo, style = cases(args), Style()
    if args.list:
        print("\n".join(name for _, name, _ in todo))
        return 0
    pythons = [str(python_of(revision)) for revision in (args.before, args.after)]
    kinds = {what for what, _, _ in todo}
    pools = {(what, side): pool(what, {"strata": python}) for what in kinds for side, python in enumerate(pythons)}
    medians, changed, failed = {}, [], 0
    try:
        for what, name, make in todo:
            try:
                with progress(f"preparing {name}", quiet=not sys.stderr.isatty()):
                    case = make()
            except ImportError as e:
                print(f"{name}: left out, {e}", file=sys.stderr)
                continue
            for n in map(int, args.threads.split(",")):
                ratios, least, remark = compare(pools, what, case, n, args.rounds, args.budget)
                if not ratios:
                    failed += 1
                    print(f"{name:<34} {n}T  {style.bad(remark)}", flush=True)
                    continue
                low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
                said = verdict(ratios)
                medians.setdefault(what, []).append(middle)
                failed += "DIFFER" in remark
                if said:
                    changed.append((middle, f"{name} {n}T"))
                paint = {"faster": style.good, "slower": style.bad}.get(said, style.dim)
                print(
                    f"{name:<34} {n}T  {seconds(least[0]):>9} {seconds(least[1]):>9}  "
                    f"{paint(f'{middle:5.2f}x {said:<6}')}  {style.dim(f'{low:.2f} to {high:.2f}')}  {remark}",
                    flush=True,
                )
    finally:
        for p in pools.values():
            p.__exit__()
    print(f"\n{args.before} over {args.after}, medians of {args.rounds} rounds (above 1: {args.after} is faster)")
    for what, of in medians.items():
        mean = math.exp(statistics.fmean(map(math.log, of)))
        print(f"  {what:<10} geometric mean {mean:.3f} of {len(of)}, least {min(of):.2f}, most {max(of):.2f}")
    print(f"  beyond noise: {', '.join(f'{name} {r:.2f}x' for r, name in sorted(changed)) or 'nothing'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
