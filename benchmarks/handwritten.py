"""Do the loops written by hand justify themselves? Each beside the code that is generated for the same tensors.

    python benchmarks/handwritten.py        # measures, writes benchmarks/results/DATE-handwritten.md

Own loops and generated ones in turn, in one process; the minimum of each counts. Cases that no own loops serve are left
out. A kernel stays that is at least 1.1 times as fast somewhere: the last column is its best case.
"""

import argparse
import math
import time
from datetime import date
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import strata as st
from strata._timing.machine import processor, vectors
from strata_bench.figures import GENERATIONS

ROWS, PER_ROW = 100_000, 10


def from_coo(data, at, rows):
    return int32(sp.coo_array((data, at), (rows, rows)))


def int32(m):
    """CSR as most have it: sorted, each place once, int32."""
    m = m.tocsr()
    m.sum_duplicates()
    m.indices, m.indptr = m.indices.astype(np.int32), m.indptr.astype(np.int32)
    return m


def uniform(rng, rows=ROWS, per_row=PER_ROW):
    n = rows * per_row
    return from_coo(rng.random(n), (np.repeat(np.arange(rows), per_row), rng.integers(0, rows, n)), rows)


def small(rng):
    return uniform(rng, 100, 5)


def random(rng, per_row, rows=ROWS):
    """Rows of any length: where one ends is a guess."""
    return sp.random_array((rows, rows), density=per_row / rows, format="csr", rng=rng)


def band(rng, rows=ROWS, width=9):
    first = -(width // 2) + int(rng.integers(0, 3))
    return int32(sp.diags_array([rng.random(rows)] * width, offsets=range(first, first + width), shape=(rows, rows)))


def powers(rng, rows=ROWS):
    """Rows and columns of a power law."""
    at = (rows * rng.random((2, rows * PER_ROW)) ** 3).astype(np.int64)
    return from_coo(rng.random(at.shape[1]), tuple(at), rows)


def blocks(rng, size=4, rows=48_000, per_row=6):
    n = rows // size
    crd = np.sort(np.stack([rng.choice(n, per_row, replace=False) for _ in range(n)]), axis=1).reshape(-1)
    pos = np.arange(0, len(crd) + 1, per_row)
    return int32(sp.bsr_array((rng.random((len(crd), size, size)), crd, pos), (rows, rows)))


def pruned(rng):
    return int32(sp.csr_array(np.where(rng.random((2048, 2048)) < 0.3, rng.random((2048, 2048)), 0)))


def weights(rng):
    """A tenth of 4096 x 4096, in blocks of 32 x 32."""
    return blocks(rng, 32, 4096, 12)


MATRICES = {"uniform": uniform, "band": band, "power law": powers, "blocks": blocks, "small": small, "pruned": pruned}
MATRICES |= {"weights": weights} | {f"blocks of {n}": lambda rng, n=n: blocks(rng, n) for n in (3, 32)}
MATRICES |= {"random": lambda rng: random(rng, 10), "graph": lambda rng: random(rng, 3)}
MATRICES["mesh of blocks of 3"] = lambda rng: blocks(rng, 3, 48_000, 27)
#: kernel: (format, matrices, columns)
MANY = (1, 16, 64)
PRODUCTS = {
    "CSR": ("CSR", ["uniform", "band", "power law", "blocks", "small"], MANY),
    "COO times a vector": ("COO", ["uniform", "random", "graph", "band", "power law"], (1,)),
    "BSR(3, 3)": ("BSR(3, 3)", ["blocks of 3", "mesh of blocks of 3"], (1,)),
    "BSR(32, 32), few columns": ("BSR(32, 32)", ["blocks of 32", "weights"], (2, 8, 16)),
    "DIA": ("DIA", ["band"], MANY),
    "bitmap times a vector": ("bitmap", ["pruned"], (1,)),
    "tiled CSR": ("TiledCSR(1024, 16384)", ["uniform"], MANY),
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


def by_hand(text, *operands):
    st.settings.engine = "auto"
    return ["engine", "hand-written"] in [line.split() for line in st.plan(text, *operands).explain().splitlines()]


def cases(rng, only):
    """(kernel, case, make): make() prepares a call under the engine that is set."""
    for kernel, (format, names, columns_of) in PRODUCTS.items():
        for name in names if not only or kernel in only else ():
            m = MATRICES[name](rng)
            for dtype in ("float64", "float32", "complex128"):
                t = st.from_scipy(m.astype(dtype)).to(format)
                for columns in columns_of:
                    shape = (m.shape[1],) if columns == 1 else (m.shape[1], columns)
                    x, y = rng.random(shape).astype(dtype), np.zeros((m.shape[0], *shape[1:]), dtype)
                    if by_hand("ij,j->i" if columns == 1 else "ij,jk->ik", t, x):
                        yield kernel, f"{name}, {dtype}, {columns}", product(t, x, y)
    for name in ("uniform", "band", "power law", "blocks", "small"):
        a, b = MATRICES[name](rng), MATRICES[name](rng)
        for dtype in ("float64", "float32"):
            pair = {k: st.from_scipy(x.astype(dtype)) for k, x in zip("AB", (a, b), strict=True)}
            text, st.settings.engine = "C(i,j) = A(i,j) + B(i,j)", "auto"
            if "by hand-written loops, serves" in st.explain(text, **pair):
                yield (
                    "sums of CSR",
                    f"{name}, {dtype}",
                    lambda pair=pair, text=text: lambda: st.evaluate(text, **pair),
                )
            if by_hand("ij->i", pair["A"]):
                yield "row sums", f"{name}, {dtype}", lambda a=pair["A"]: lambda: st.einsum("ij->i", a)


def table(ratios, threads):
    name = processor()
    known = f"{GENERATIONS[name]} ({name})" if name in GENERATIONS else name
    yield f"# Loops written by hand beside generated ones, {date.today()}\n"
    yield f"{known}, {vectors()}, {threads} thread(s). Times of generated code over those of loops written by hand.\n"
    yield "| kernel | cases | geometric mean | least | most | where |\n|---|---|---|---|---|---|"
    for kernel, found in ratios.items():
        values = [r for r, _ in found]
        mean = math.exp(sum(map(math.log, values)) / len(values))
        best, where = max(found)
        yield f"| {kernel} | {len(found)} | {mean:.2f} | {min(values):.2f} | {best:.2f} | {where} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing each case")
    args = parser.parse_args()
    st.settings.threads, st.settings.vendor = args.threads, False
    ratios = {}
    for kernel, case, make in cases(np.random.default_rng(0), args.only):
        if args.only and kernel not in args.only:
            continue
        own, generated = least([under("auto", make), under("jit", make)], args.seconds)
        ratios.setdefault(kernel, []).append((generated / own, case))
    text = "\n".join(table(ratios, args.threads)) + "\n"
    print(text)
    if not args.only:
        (Path(__file__).parent / "results" / f"{date.today()}-handwritten.md").write_text(text)


if __name__ == "__main__":
    main()
