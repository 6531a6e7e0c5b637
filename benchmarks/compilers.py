"""The tasks on which TACO, Scorch and MLIR's sparse compiler were measured once, by our compiler and, as a bridge between the
machines, by torch and SciPy, which stand in that table too.

    python benchmarks/compilers.py [FILE.md]

Their figures (milliseconds, the best of each compiler, without compiling) were measured on an AMD EPYC (Zen 5) with 2 cores: those
compilers are not on PyPI. U and V are 100,000 x 100,000, 10 elements a row, uniform; P has 2.0 million elements in rows that follow
Zipf's law; T is 10,000 x 5,000 x 2,000 with a million elements. float32. Libraries are called in turn, the least of many calls counts.
"""

import datetime
import os
import pathlib
import sys
import time

import numpy as np
import scipy.sparse as sp

THREADS = int(sys.argv.pop()) if len(sys.argv) > 1 and sys.argv[-1].isdigit() else 0
if not THREADS:  # each number of threads in a process of its own
    import subprocess

    tables = []
    for n in ("1", "2"):
        environment = {**os.environ, "OMP_NUM_THREADS": n, "MKL_NUM_THREADS": n, "STRATA_NUM_THREADS": n, "PYTHONWARNINGS": "ignore"}
        run = subprocess.run([sys.executable, __file__, n], env=environment, stdout=subprocess.PIPE, text=True, check=True)
        tables.append(run.stdout)
    from strata.demo.info import processor

    text = f"# Beside the compilers of others\n\n{processor()}, {datetime.date.today()}.\n\n" + __doc__.split("\n\n", 2)[2] + "\n" + "\n".join(tables)
    text += (
        "\nThere over ours: as measured on two machines. Scaled: what the best compiler would take here if torch (SciPy for sums) told how "
        "the machines differ, over our time. torch calls MKL, which is nearer to the limits of some processors than of others.\n"
    )
    pathlib.Path(sys.argv[1]).write_text(text) if len(sys.argv) > 1 else print(text)
    raise SystemExit

import strata as st  # noqa: E402
import torch  # noqa: E402

st.settings.vendor = False
N, K, R = 100_000, 64, 32
# Of the table: the best compiler's time and the bridge's, on one and on two threads.
THEIRS = {
    "SpMV U": {1: ("TACO", 0.38, 0.40), 2: ("TACO", 0.26, 0.22)},
    "SpMV P": {1: ("MLIR", 1.8, 2.0), 2: ("TACO", 1.0, 1.0)},
    "SpMM U": {1: ("MLIR", 16, 36), 2: ("TACO, Scorch", 17, 26)},
    "SpMM P": {1: ("MLIR", 36, 85), 2: ("Scorch", 29, 65)},
    "SDDMM U": {1: ("TACO", 30, 32), 2: ("Scorch", 21, 21)},
    "SpGEMM U V": {1: ("MLIR", 545, 236), 2: ("Scorch", 238, 141)},
    "MTTKRP T": {1: ("MLIR", 4.6, None), 2: ("TACO", 3.6, None)},
    "U + V": {1: ("Scorch", 16, 11), 2: ("TACO", 14, 11)},
}


def uniform(seed, n=N, each=10):
    r = np.random.default_rng(seed)
    at = np.unique(r.integers(0, n, n * each) * n + r.integers(0, n, n * each))
    return sp.csr_matrix((r.random(len(at), np.float32), (at // n, at % n)), (n, n))


def power_law(seed, n=N, count=2_000_000, longest=11_000):
    r = np.random.default_rng(seed)
    weight = 1 / (np.arange(n) + 1.0) ** 0.75
    rows = np.minimum(np.round(weight / weight.sum() * count), longest).astype(int) + 1
    pos = np.concatenate([[0], np.cumsum(r.permutation(rows))])
    at = np.unique(np.repeat(np.arange(n), np.diff(pos)) * n + r.integers(0, n, pos[-1]))
    return sp.csr_matrix((r.random(len(at), np.float32), (at // n, at % n)), (n, n))


def in_turn(calls, seconds=6.0):
    """{name: least milliseconds}."""
    least, end = dict.fromkeys(calls, float("inf")), time.perf_counter() + seconds
    for f in calls.values():
        f()
    while time.perf_counter() < end:
        for name, f in calls.items():
            start = time.perf_counter()
            f()
            least[name] = min(least[name], 1e3 * (time.perf_counter() - start))
    return least


def as_torch(a):
    return torch.sparse_csr_tensor(torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape)


def tasks():
    r = np.random.default_rng(0)
    U, V, P = uniform(1), uniform(2), power_law(3)
    dense = lambda *shape: r.random(shape, np.float32)
    x, X, B = dense(N), dense(N, K), dense(N, K)
    tx, tX, tB = map(torch.from_numpy, (x, X, B))
    u, v, p, tu, tv, tp = *map(st.from_scipy, (U, V, P)), *map(as_torch, (U, V, P))
    yield "SpMV U", lambda: u @ x, lambda: tu @ tx
    yield "SpMV P", lambda: p @ x, lambda: tp @ tx
    yield "SpMM U", lambda: u @ X, lambda: tu @ tX
    yield "SpMM P", lambda: p @ X, lambda: tp @ tX
    yield (
        "SDDMM U",
        lambda: st.evaluate("C(i,j) = A(i,j) * X(i,k) * B(j,k)", A=u, X=X, B=B),
        lambda: torch.sparse.sampled_addmm(tu, tX, tB.T, beta=0),
    )
    yield "SpGEMM U V", lambda: u @ v, lambda: tu @ tv
    shape = (10_000, 5_000, 2_000)
    at = np.unique(np.ravel_multi_index([r.integers(0, n, 1_000_000) for n in shape], shape))
    T = st.from_coo(np.stack(np.unravel_index(at, shape)).astype(np.int32), r.random(len(at), np.float32), shape, "COO(3)")
    C, D = dense(shape[1], R), dense(shape[2], R)
    T3 = T.to("CSF(3)")
    yield "MTTKRP T", lambda: st.evaluate("M(i,r) = T(i,j,k) * C(j,r) * D(k,r)", T=T3, C=C, D=D), None
    yield "U + V", lambda: st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=u, B=v), lambda: U + V


def main():
    print(f"## {THREADS} thread{'s' * (THREADS > 1)}\n")
    print("| task | ours, ms | best compiler there | there over ours | bridge here | bridge there | scaled |")
    print("|---|---|---|---|---|---|---|")
    for name, ours, bridge in tasks():
        least = in_turn({"ours": ours} | ({"bridge": bridge} if bridge else {}))
        who, theirs, there = THEIRS[name][THREADS]
        kind = "SciPy" if name == "U + V" else "torch"
        scaled = theirs * least["bridge"] / there if bridge else theirs
        here, there = (f"{kind} {least['bridge']:.3g}", f"{kind} {there:g}") if bridge else ("-", "-")
        ratio = f"{scaled / least['ours']:.2f}" if bridge else "-"
        print(
            f"| {name} | {least['ours']:.3g} | {who} {theirs:g} | {theirs / least['ours']:.2f} | {here} | {there} | {ratio} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
