"""Long runs of the random tests.

    python tests/campaign.py [--kind KIND] [--start N] [--count N] [--minutes M] [--engine auto|jit|interpreter]
                             [--no-ledger]

Kinds: conversions (between random formats), expressions (products of one sparse operand, planned and compiled) and
evaluate (any expression of several sparse operands, by the general path and by the way that comes first).

Each run adds a line to tests/ledger.csv: date, kind, engine, first seed, count, commit, failures, seconds; also where
it is told to end early (Ctrl-C, SIGTERM). A seed that fails is printed, and belongs into the list of its kind in
tests/python/expressions/test_differential.py before it is mended.
"""

import argparse
import csv
import datetime
import pathlib
import signal
import subprocess
import sys
import time

import random_expressions
from differential import check_conversion, check_expression

import strata

KINDS = {"conversions": check_conversion, "expressions": check_expression, "evaluate": random_expressions.check}

HERE = pathlib.Path(__file__).resolve().parent
LEDGER = HERE / "ledger.csv"
FIELDS = ["date", "kind", "engine", "first_seed", "count", "commit", "failures", "seconds"]


def next_seed(kind, engine):
    """The first seed that the ledger has not seen."""
    if not LEDGER.exists():
        return 0
    with LEDGER.open() as f:
        ends = [
            int(r["first_seed"]) + int(r["count"])
            for r in csv.DictReader(f)
            if (r["kind"], r["engine"]) == (kind, engine)
        ]
    return max(ends, default=0)


def commit():
    run = lambda *a: subprocess.run(["git", "-C", str(HERE), *a], capture_output=True, text=True).stdout.strip()  # noqa: E731
    return (run("rev-parse", "--short", "HEAD") or "unknown") + (
        "+changes" if run("status", "--porcelain", "--untracked-files=no", "--", ":!ledger.csv") else ""
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kind", choices=KINDS, default="conversions")
    p.add_argument("--start", type=int, help="first seed (default: after the last one of the ledger)")
    p.add_argument("--count", type=int, default=10_000)
    p.add_argument("--minutes", type=float, help="stop after this time")
    p.add_argument("--engine", default="auto", help="auto, kernels, jit or interpreter")
    p.add_argument("--no-ledger", action="store_true")
    a = p.parse_args()
    check = KINDS[a.kind]
    first = next_seed(a.kind, a.engine) if a.start is None else a.start
    strata.settings.engine = a.engine
    begin, done, failures, shown = time.monotonic(), 0, 0, 0.0
    told = []
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, lambda *_: told.append(True))
    for seed in range(first, first + a.count):
        try:
            check(seed)
        except AssertionError as e:
            failures += 1
            print(f"FAILED {e}", flush=True)
        done += 1
        elapsed = time.monotonic() - begin
        if sys.stderr.isatty() and elapsed - shown > 1:
            shown = elapsed
            print(
                f"\r{done}/{a.count} {a.kind}, {failures} failures, {done / elapsed:.0f} a second ",
                end="",
                file=sys.stderr,
                flush=True,
            )
        if told or (a.minutes and elapsed > 60 * a.minutes):
            break
    elapsed = time.monotonic() - begin
    print(f"{a.kind}: seeds {first} to {first + done - 1}, {failures} failures, {elapsed:.1f} s")
    if not a.no_ledger:
        new = not LEDGER.exists()
        with LEDGER.open("a", newline="") as f:
            w = csv.DictWriter(f, FIELDS, lineterminator="\n")
            if new:
                w.writeheader()
            w.writerow(
                dict(
                    date=datetime.date.today().isoformat(),
                    kind=a.kind,
                    engine=a.engine,
                    first_seed=first,
                    count=done,
                    commit=commit(),
                    failures=failures,
                    seconds=round(elapsed),
                )
            )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
