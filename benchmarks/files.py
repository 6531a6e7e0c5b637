"""files.py [--seconds S] [--megabytes N]: reading and writing files, beside fast_matrix_market, SciPy, NumPy and safetensors.

Each case is timed in turn with its peers, round after round, in one process; the least time counts. The files lie in the
page cache. A ratio above 1: Strata is faster.
"""

import argparse
import json
import os
import pathlib
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse as sp

import strata as st


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


def fast_matrix_market():
    try:
        import fast_matrix_market
    except ImportError:
        return None
    return fast_matrix_market


def cases(folder, entries, threads):
    st.settings.threads = threads
    fmm = fast_matrix_market()
    for kind in ("real", "integer"):
        a = matrix(entries, kind)
        t = st.from_scipy(a).to("COO")
        path = folder / f"{kind}.mtx"
        st.write(path, t)
        megabytes = path.stat().st_size / 1e6
        read = {"strata": lambda: st.read(path), "scipy": lambda: scipy.io.mmread(path)}
        write = {
            "strata": lambda: st.write(folder / "o.mtx", t),
            "scipy": lambda: scipy.io.mmwrite(folder / "p.mtx", a, precision=17 if kind == "real" else None),
        }
        if fmm:
            read["fast_matrix_market"] = lambda: fmm.mmread(path, parallelism=threads)
            write["fast_matrix_market"] = lambda: fmm.mmwrite(folder / "q.mtx", a, parallelism=threads)
        yield f"read {kind} .mtx", megabytes, read
        yield f"write {kind} .mtx", megabytes, write
    a = matrix(entries, "real")
    t = st.from_scipy(a)
    tns = folder / "a.tns"
    st.write(tns, t)
    part = folder / "part.tns"  # NumPy takes several times as long
    with open(tns) as whole:
        whole.readline()
        part.write_text("".join(whole.readline() for _ in range(a.nnz // 50)))
    read = {
        "strata": lambda: st.read(part),
        "numpy.loadtxt": lambda: np.loadtxt(part),
    }
    yield "read .tns (a fiftieth)", part.stat().st_size / 1e6, read
    yield "read .tns", tns.stat().st_size / 1e6, {"strata": lambda: st.read(tns)}
    own = folder / "a.st"
    st.save(own, t)
    np.savez(folder / "a.npz", a=a.data, b=a.indices, c=a.indptr)
    sp.save_npz(folder / "s.npz", a, compressed=False)
    megabytes = own.stat().st_size / 1e6
    loads = {
        "strata": lambda: st.load(own),
        "strata, structure": lambda: st.load(own, verify="structure"),
        "strata, header": lambda: st.load(own, verify=False),
        "strata, read": lambda: st.load(own, mmap=False),
        "scipy .npz": lambda: sp.load_npz(folder / "s.npz"),
    }
    saves = {
        "strata": lambda: st.save(folder / "o.st", t),
        "scipy .npz": lambda: sp.save_npz(folder / "o.npz", a, compressed=False),
    }
    try:
        from safetensors.numpy import load_file, save_file

        arrays = {"data": a.data, "indices": a.indices, "indptr": a.indptr}
        save_file(arrays, folder / "a.safetensors")
        loads["safetensors"] = lambda: load_file(folder / "a.safetensors")
        saves["safetensors"] = lambda: save_file(arrays, folder / "o.safetensors")
    except ImportError:
        pass
    yield "load .st", megabytes, loads
    yield "save .st", megabytes, saves


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=5, help="for each library and case")
    p.add_argument("--entries", type=int, default=3_000_000)
    p.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    p.add_argument("--json", type=pathlib.Path)
    args = p.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for threads in args.threads:
            for name, megabytes, calls in cases(pathlib.Path(folder), args.entries, threads):
                times = least(calls, args.seconds)
                results.append({"case": name, "threads": threads, "megabytes": megabytes, "seconds": times})
                ours = times["strata"]
                print(f"{name}, {threads} threads, {megabytes:.0f} MB")
                for library, t in times.items():
                    print(f"  {library:<22} {1e3 * t:9.1f} ms  {megabytes / t:8.0f} MB/s  {t / ours:6.2f}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"cpus": os.cpu_count(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
