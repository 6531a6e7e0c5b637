"""One library with one number of threads, in a process of its own; told by lines of JSON what to time."""

import importlib.metadata
import json
import os
import resource
import sys
import time
import traceback

import numpy as np

from . import case as matrix_case
from .case import Case


def _limits(threads):
    """Read bandwidth: a dot product of 512 MB, best of ten (BLAS threads are set by the environment)."""
    x = np.ones(32 << 20)
    y = np.ones(32 << 20)
    best = 1e9
    for _ in range(10):
        start = time.perf_counter()
        np.dot(x, y)
        best = min(best, time.perf_counter() - start)
    return {"read_bandwidth": 2 * x.nbytes / best}


#: seconds of a call from which on it is long enough to need no warming up, and few repetitions
LONG = 0.25


class Worker:
    def __init__(self, name, threads, kernels=False):
        """kernels: the named kernels of the compiler are timed, not products and conversions of a matrix."""
        from .kernels import cases, peer as kernel_peers
        from .peers import peer

        self.name = name
        self.case = cases.KernelCase if kernels else Case
        self.fingerprint = cases.fingerprint if kernels else matrix_case.fingerprint
        self.peer = kernel_peers.kernel_peer(name, threads) if kernels else peer(name, threads)
        self.prepared = None

    def open(self, case, variants=None):
        """Prepares every variant (or those named), times each shortly, keeps the fastest."""
        self.close()
        case = self.case(**case)
        a, x = case.data()
        found, refused, front = {}, {}, []
        for name in variants or self.peer.variants(case, a):
            try:
                p = self.peer.prepare(case, a, x, name)
                start = time.perf_counter()
                p.run()
                first = time.perf_counter() - start
            except Exception as e:  # a peer without this conversion or dtype is no failure of the benchmark
                refused[name] = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
                continue
            seconds = min(self._time(p, 0.15))
            found[name] = {
                "seconds": seconds,
                "first": first,
                "prepare": p.seconds,
                "note": p.note() if callable(p.note) else p.note,
            }
            front = sorted([*front, (seconds, name, p)], key=lambda f: f[0])[:2]
            del p
        if not front:
            return {"refused": refused}
        # The two best once more, in turn: one disturbed moment must not choose.
        if len(front) > 1 and front[1][0] < 1.5 * front[0][0]:
            for _ in range(2 if front[0][0] < LONG else 1):
                for _, name, p in front:
                    found[name]["seconds"] = min(found[name]["seconds"], min(self._time(p, 0.1)))
            front.sort(key=lambda f: found[f[1]]["seconds"])
        best, self.prepared = front[0][1:]
        self.seconds = found[best]["seconds"]
        answer = {
            "best": best,
            "variants": found,
            "refused": refused,
            "nse": int(a.nnz),
            "shape": list(map(int, a.shape)),
            "dtype": str(a.dtype),
        }
        result = self.prepared.result() if case.op == "product" else None
        if result is not None:
            answer["fingerprint"] = self.fingerprint(result)
        return answer

    def close(self):
        self.prepared = None
        return {}

    def time(self, budget):
        if self.seconds < LONG:
            self.prepared.run()
        return {"times": self._time(self.prepared, budget)}

    def _time(self, p, budget):
        """Up to twenty timings within the budget, at least one; calls of microseconds are timed by the hundred. The caller warms up."""
        start = time.perf_counter()
        p.run()
        once = time.perf_counter() - start
        inner = max(1, int(2e-4 / max(once, 1e-7)))
        times, end = [once] if inner == 1 else [], start + budget
        while not times or (time.perf_counter() + once < end and len(times) < 20):
            start = time.perf_counter()
            for _ in range(inner):
                p.run()
            times.append((time.perf_counter() - start) / inner)
        if hasattr(self.peer, "rest"):
            self.peer.rest()
        return times


def version(name):
    """Of the library behind a peer."""
    from .kernels.peer import PEERS

    try:
        return importlib.metadata.version(PEERS[name][2])
    except importlib.metadata.PackageNotFoundError:
        return "not from PyPI"


def main():
    name, threads, kernels = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["kernels"]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to stderr

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        if kernels:  # a library that wants it all gets a MemoryError, not the machine
            half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
            resource.setrlimit(resource.RLIMIT_DATA, (half, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        worker = None if name == "limits" else Worker(name, threads, kernels)
        answer({"ready": True, "version": version(name) if kernels else None} if worker else _limits(threads))
    except Exception as e:
        answer({"error": f"{type(e).__name__}: {e}"})
        return
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(getattr(worker, request.pop("do"))(**request))
        except MemoryError:
            worker.close()
            answer({"error": "MemoryError"})
        except Exception:
            answer({"error": traceback.format_exc().strip().splitlines()[-1]})


if __name__ == "__main__":
    main()
