"""files.py [--quick] [--seconds S] [--entries N]: reading and writing files, beside fast_matrix_market, SciPy, NumPy and safetensors.

    python benchmarks/files.py --quick      # does everything work? small, into a folder of its own
    python benchmarks/files.py              # measures, writes benchmarks/results/DATE-files.md, renews docs/files.md

Each case is timed in turn with its peers, round after round, in one process; the least time of each counts. What all have read is
compared first. The files lie in memory (/dev/shm, where there is one): a disk would be the same for all, but that ours are synced
and renamed when they are whole, and theirs are not.
"""

import argparse
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np  # noqa: E402
import scipy.io  # noqa: E402
import scipy.io._fast_matrix_market  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import strata as st  # noqa: E402
from strata_bench import figures, pages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]


def matrix(entries, kind):
    rng = np.random.default_rng(0)
    n = max(1000, entries // 10)
    rows, columns = rng.integers(0, n, entries), rng.integers(0, n, entries)
    values = rng.standard_normal(entries) if kind == "real" else rng.integers(-1000, 1000, entries).astype(np.int64)
    return sp.csr_array(sp.coo_array((values, (rows, columns)), (n, n)))


def least(calls, seconds):
    """{name: least time} of the calls, visited in turn for so long each."""
    times = {name: [] for name in calls}
    until = time.perf_counter() + seconds * len(calls)
    for call in calls.values():
        call()
    while time.perf_counter() < until or min(map(len, times.values())) < 3:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(t) for name, t in times.items()}


def optional(module):
    try:
        return __import__(module, fromlist=["*"])
    except ImportError:
        return None


def text_files(folder, entries, threads):
    """Matrix Market: SciPy's code is fast_matrix_market's, and takes its number of threads from a variable."""
    scipy.io._fast_matrix_market.PARALLELISM = threads
    fmm = optional("fast_matrix_market")
    for kind in ("real", "integer"):
        a = matrix(entries, kind)
        t = st.from_scipy(a).to("COO")
        path = folder / f"{kind}.mtx"
        st.write(path, t)
        read = {"Strata": lambda: st.read(path), "SciPy": lambda: scipy.io.mmread(path)}
        write = {
            "Strata": lambda: st.write(folder / "o.mtx", t),
            "SciPy": lambda: scipy.io.mmwrite(folder / "p.mtx", a),  # by default the shortest texts with the same bits
        }
        if fmm:
            read["fast_matrix_market"] = lambda: fmm.mmread(path, parallelism=threads)
            write["fast_matrix_market"] = lambda: fmm.mmwrite(folder / "q.mtx", a, parallelism=threads)
        for call in read.values():
            assert same(call(), a)
        yield f"read .mtx, {kind}", path, read
        yield f"write .mtx, {kind}", path, write
        for name in ("p.mtx", "q.mtx"):
            assert not (folder / name).exists() or same(st.read(folder / name), a)
    a = matrix(entries, "real")
    tns = folder / "a.tns"
    st.write(tns, st.from_scipy(a))
    part = folder / "part.tns"  # NumPy takes several times as long
    with open(tns) as whole:
        whole.readline()
        part.write_text("".join(whole.readline() for _ in range(a.nnz // 50)))
    yield "read .tns", tns, {"Strata": lambda: st.read(tns)}
    yield "read .tns, a fiftieth of it", part, {"Strata": lambda: st.read(part), "NumPy": lambda: np.loadtxt(part)}


def binary_files(folder, entries):
    a = matrix(entries, "real")
    t = st.from_scipy(a)
    own, npz = folder / "a.st", folder / "s.npz"
    st.save(own, t)
    sp.save_npz(npz, a, compressed=False)
    read = {"Strata": lambda: st.read(npz), "SciPy": lambda: sp.load_npz(npz)}
    assert all(same(call(), a) for call in read.values()) and same(st.load(own), a)
    yield "read .npz", npz, read
    write = {"Strata": lambda: st.write(folder / "n.npz", t), "SciPy": lambda: sp.save_npz(folder / "z.npz", a)}
    yield "write .npz, compressed as SciPy's are", npz, write
    beside = {"SciPy": lambda: sp.load_npz(npz)}
    saves = {
        "Strata": lambda: st.save(folder / "o.st", t),
        "SciPy": lambda: sp.save_npz(folder / "o.npz", a, compressed=False),
    }
    if optional("safetensors"):
        from safetensors.numpy import load_file, save_file

        arrays = {"data": a.data, "indices": a.indices, "indptr": a.indptr}
        save_file(arrays, folder / "a.safetensors")
        beside["safetensors"] = lambda: load_file(folder / "a.safetensors")
        saves["safetensors"] = lambda: save_file(arrays, folder / "o.safetensors")
    for how, options in {
        "": {},
        ", mmap=False": {"mmap": False},
        ', verify="structure"': {"verify": "structure"},
        ', verify="header"': {"verify": "header"},
    }.items():
        yield f"load .st{how}", own, {"Strata": lambda o=options: st.load(own, **o), **beside}
    yield "save .st", own, saves


def same(found, a):
    found = found.to_scipy() if isinstance(found, st.Tensor) else found
    found = sp.csr_array(found)
    found.sum_duplicates()
    return found.shape == a.shape and (found != a).nnz == 0


def measure(folder, entries, seconds, threads):
    """A part of the page."""
    st.settings.threads = threads
    rows = {}
    for cases in (text_files(folder, entries, threads), binary_files(folder, entries)):
        for name, path, calls in cases:
            times = least(calls, seconds)
            megabytes = path.stat().st_size / 1e6
            rows[f"{name} ({megabytes:.1f} MB)"] = times
            ours = times["Strata"]
            print(f"{name}, {threads} threads, {megabytes:.0f} MB")
            for library, t in times.items():
                print(f"  {library:<22} {1e3 * t:9.1f} ms  {megabytes / t:8.0f} MB/s  {t / ours:6.2f}", flush=True)
    return f"{entries:,} entries.", "case", rows, []


def facts():
    packages = ["SciPy", "NumPy"] + [p for p in ("fast_matrix_market", "safetensors") if optional(p)]
    versions = ", ".join(f"{p} {importlib.metadata.version(p.lower())}" for p in packages)
    return [
        pages.machine(),
        f"beside {versions}",
        "microseconds: the least of all visits in turn",
        "the files lie in memory; ours are synced, checked when they are read, and renamed when they are whole; SciPy checks zip's "
        "checksums, safetensors nothing, and neither looks at indices",
    ]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument(
        "--quick", action="store_true", help="small, few visits: does everything work? (no figures to quote)"
    )
    p.add_argument("--seconds", type=float, help="for each library and case (default 5; quick 0.02)")
    p.add_argument("--entries", type=int, help="of the matrix (default 3,000,000; quick 20,000)")
    p.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    p.add_argument("--folder", help="where the files lie (default /dev/shm, where there is one)")
    args = p.parse_args()
    entries = args.entries or (20_000 if args.quick else 3_000_000)
    seconds = args.seconds or (0.02 if args.quick else 5)
    if args.quick:  # leaves the repository alone
        figures.RESULTS = pathlib.Path(tempfile.mkdtemp())
    parts = {}
    with tempfile.TemporaryDirectory(dir=args.folder or ("/dev/shm" if os.path.isdir("/dev/shm") else None)) as folder:
        for n in args.threads:
            parts[pages.heading("files", n)] = measure(pathlib.Path(folder), entries, seconds, n)
    name = pages.write("files", "Reading and writing files", facts(), parts)
    print(figures.RESULTS / name)
    if not args.quick:
        subprocess.run([sys.executable, str(ROOT / "scripts" / "performance.py")], check=True)


if __name__ == "__main__":
    main()
