"""How fast vendors' kernels are beside ours for the same tensor: where the table in src/kernels/vendor/measured.cpp comes from.

    python benchmarks/vendor_gain.py --threads 1 --only bar --only pruned4096-90 --dtypes float64,float32

Own and vendor's kernel in turn, in one process; the minimum of each counts; geometric means over the matrices last.
"""

import argparse
import math
import time

import numpy as np

import strata as st
from strata._timing.case import operand
from strata_bench import matrices

#: one of each kind; complex types also on the complex one
MATRICES = (
    "stencil7",
    "rmat20",
    "bar",
    "local_disc_galerkin_diffusion",
    "helmholtz_2D",
    "pruned4096-50",
    "pruned4096-90",
)
BLOCKED = ("bar", "fem3x3", "local_disc_galerkin_diffusion", "helmholtz_2D")
LARGEST = 3e8  # multiply-adds of one call


def prepare(engine, t, x, y):
    st.settings.engine = engine
    product = st.Matmul(t, x, y, beta=0)
    kernel = product.plan().kernel_name
    product.execute()
    return product, kernel


def least(products, seconds):
    """The least time of a call of each, in turn."""
    best, end = [math.inf] * len(products), time.perf_counter() + seconds
    while min(best) == math.inf or time.perf_counter() < end:
        for k, p in enumerate(products):
            inner = 1 if best[k] > 2e-4 else 10
            start = time.perf_counter()
            for _ in range(inner):
                p.execute()
            best[k] = min(best[k], (time.perf_counter() - start) / inner)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="MATRIX", help=f"(default {', '.join(MATRICES)})")
    parser.add_argument("--dtypes", default="float64,float32,complex128,complex64")
    parser.add_argument("--columns", default="1,16,64")
    parser.add_argument("--seconds", type=float, default=0.5, help="of timing each case")
    args = parser.parse_args()
    st.settings.threads = args.threads
    gains = {}
    for name in args.only or MATRICES:
        stored = matrices.load(matrices.folder_of(name))
        for dtype in args.dtypes.split(","):
            if np.iscomplexobj(stored) and not dtype.startswith("complex"):
                continue
            a = stored.astype(dtype)
            for format in ("CSR", "CSC", "BSR(3, 3)"):
                if format.startswith("BSR") and (name not in BLOCKED or a.shape[0] % 3):
                    continue
                t = st.from_scipy(a).to(format)
                for columns in map(int, args.columns.split(",")):
                    if a.nnz * columns > LARGEST:
                        continue
                    x = operand(a, columns)
                    ys = [np.empty((a.shape[0],) + x.shape[1:], a.dtype) for _ in range(2)]
                    (own, first), (vendor, second) = (prepare(e, t, x, y) for e, y in zip(("auto", "vendor"), ys))
                    if first == second:
                        continue
                    assert np.allclose(*ys, rtol=1e-3, atol=1e-3)
                    mine, theirs = least((own, vendor), args.seconds)
                    gains.setdefault((format, "vector" if columns == 1 else "matrix", dtype), []).append(mine / theirs)
                    print(
                        f"{name:30} {dtype:10} {format:9} {columns:3} columns  {first} {mine * 1e6:9.1f} us  "
                        f"{second} {theirs * 1e6:9.1f} us  gain {mine / theirs:.2f}",
                        flush=True,
                    )
    for key, values in gains.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(
            f"{args.threads} threads  {' '.join(key):34} gain {mean:.2f}  largest {max(values):.2f}  of {len(values)}"
        )


if __name__ == "__main__":
    main()
