"""Conversions between all pairs of formats: nanoseconds per stored element, best of three, one thread.

    python benchmarks/conversions.py > benchmarks/results/DATE-conversions.md

The matrix has blocks, bands and rows of about equal length, so that no format stores much besides. The goal: below 100 ns.
"""

import datetime
import time

import strata as st
from strata._terminal import progress
from strata_bench import machines, matrices

FORMATS = (
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "DCSC",
    "BSR(3, 3)",
    "BSC(3, 3)",
    "DIAI",
    "DIAJ",
    "ELL",
    "Delta(8)",
    "Bitmap",
    "TiledCSR(1024, 256)",
    "BSR(3, 3) + COO",
    "DIAI + CSR",
)
GOAL = 100


def seconds(f, times=3):
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def main():
    st.settings.threads = 1
    a = matrices.fem(16).tocsr()
    a.sort_indices()
    csr = st.from_scipy(a)
    tensors = {f: csr.to(f) for f in FORMATS}
    table, slow = {}, []
    with progress("conversions") as p:
        for k, (source, t) in enumerate(tensors.items()):
            for target in FORMATS:
                table[source, target] = seconds(lambda t=t, to=target: t.to(to)) / a.nnz * 1e9
                if table[source, target] > GOAL:
                    slow.append((source, target))
            p(k / len(tensors))
    print(f"# Conversions between all pairs of {len(FORMATS)} formats, {datetime.date.today()}\n")
    print(
        f"A FEM-like matrix of 3 x 3 blocks, {a.shape[0]:,} rows, {a.nnz:,} stored elements (float64); {machines.here()['processor']}, one"
    )
    print(
        f"thread; nanoseconds per stored element, best of three. {len(slow)} of {len(table)} pairs above {GOAL}{': ' if slow else ''}{', '.join(f'{s} -> {t}' for s, t in slow)}.\n"
    )
    print("| from \\ to | " + " | ".join(FORMATS) + " |")
    print("|---|" + "---|" * len(FORMATS))
    for source in FORMATS:
        print(f"| {source} | " + " | ".join(f"{table[source, t]:.0f}" for t in FORMATS) + " |")


if __name__ == "__main__":
    main()
