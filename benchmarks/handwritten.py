"""Do the loops written by hand justify themselves? Each beside the code that is generated for the same tensors.

    python benchmarks/handwritten.py --threads 1 > benchmarks/results/handwritten.md

Own loops and generated ones in turn, in one process; the minimum of each counts. A kernel stays that is at least 1.1 times
as fast somewhere: the last column is its best case.
"""

import argparse
import math
import time

import numpy as np
import scipy.sparse as sp

import strata as st
from strata._timing.machine import processor, vectors

ROWS, PER_ROW = 100_000, 10


def uniform(rng, rows=ROWS, per_row=PER_ROW):
    crd = rng.integers(0, rows, rows * per_row)
    return sp.csr_array((rng.random(len(crd)), crd, np.arange(0, len(crd) + 1, per_row)), (rows, rows))


def band(rng, rows=ROWS, width=9):
    return sp.diags_array(
        [rng.random(rows)] * width, offsets=range(-(width // 2), width // 2 + 1), shape=(rows, rows)
    ).tocsr()


def powers(rng, rows=ROWS):
    """Rows and columns of a power law."""
    at = (rows * rng.random((2, rows * PER_ROW)) ** 3).astype(np.int64)
    return sp.coo_array((rng.random(at.shape[1]), tuple(at)), (rows, rows)).tocsr()


def blocks(rng, rows=48_000, size=16, per_row=6):
    n = rows // size
    crd = np.sort(np.stack([rng.choice(n, per_row, replace=False) for _ in range(n)]), axis=1).reshape(-1)
    return sp.bsr_array(
        (rng.random((len(crd), size, size)), crd, np.arange(0, len(crd) + 1, per_row)), (rows, rows)
    ).tocsr()


MATRICES = {"uniform": uniform, "band": band, "power law": powers, "blocks": blocks}
#: kernel: (format, matrices)
PRODUCTS = {
    "CSR": ("CSR", ["uniform", "band", "power law", "blocks"]),
    "CSC": ("CSC", ["uniform", "band", "power law"]),
    "COO": ("COO", ["uniform", "band", "power law"]),
    "BSR": ("BSR(16, 16)", ["blocks"]),
    "BSR(4, 4)": ("BSR(4, 4)", ["blocks"]),
    "DIA": ("DIA", ["band"]),
    "bitmap": ("bitmap", ["pruned"]),
    "tiled CSR": ("TiledCSR(1024, 16384)", ["uniform"]),
}


def least(calls, seconds):
    """The least time of a call of each, in turn."""
    best, end = [math.inf] * len(calls), time.perf_counter() + seconds
    while math.inf in best or time.perf_counter() < end:
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def under(engine, make):
    """A call that was prepared under this engine, and runs under it."""
    st.settings.engine = engine
    run = make()
    run()

    def call():
        st.settings.engine = engine
        run()

    return call


def product(t, x, y):
    def make():
        matmul = st.Matmul(t, x, y, beta=0)
        matmul.plan()
        return matmul.execute

    return make


def cases(rng):
    """(kernel, case, make): make() prepares a call under the engine that is set."""
    for kernel, (format, names) in PRODUCTS.items():
        for name in names:
            if name == "pruned":
                m = sp.csr_array(np.where(rng.random((2048, 2048)) < 0.3, rng.random((2048, 2048)), 0))
            else:
                m = MATRICES[name](rng)
            for dtype in ("float64", "float32", "complex128"):
                t = st.from_scipy(m.astype(dtype)).to(format)
                for columns in (1, 16, 64):
                    shape = (m.shape[1],) if columns == 1 else (m.shape[1], columns)
                    x, y = rng.random(shape).astype(dtype), np.zeros((m.shape[0], *shape[1:]), dtype)
                    yield kernel, f"{name}, {dtype}, {columns}", product(t, x, y)
    for name in ("uniform", "band", "power law"):
        m = MATRICES[name](rng)
        for dtype in ("float64", "float32"):
            a, b = (st.from_scipy(x.astype(dtype)) for x in (m, MATRICES[name](rng)))
            yield (
                "sums of CSR",
                f"{name}, {dtype}",
                lambda a=a, b=b: lambda: st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=a, B=b),
            )
            yield "row sums", f"{name}, {dtype}", lambda a=a: lambda: st.einsum("ij->i", a)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing each case")
    args = parser.parse_args()
    st.settings.threads, st.settings.vendor = args.threads, False
    ratios = {}
    for kernel, case, make in cases(np.random.default_rng(0)):
        if args.only and kernel not in args.only:
            continue
        own, generated = least([under("auto", make), under("jit", make)], args.seconds)
        ratios.setdefault(kernel, []).append((generated / own, case))
    print(
        f"# Loops written by hand beside generated ones\n\n{processor()}, {vectors()}, {args.threads} thread(s). Times of generated"
    )
    print("code over those of loops written by hand.\n\n| kernel | cases | geometric mean | least | most | where |")
    print("|---|---|---|---|---|---|")
    for kernel, found in ratios.items():
        values = [r for r, _ in found]
        mean = math.exp(sum(map(math.log, values)) / len(values))
        best, where = max(found)
        print(f"| {kernel} | {len(found)} | {mean:.2f} | {min(values):.2f} | {best:.2f} | {where} |", flush=True)


if __name__ == "__main__":
    main()
