"""One library with one number of threads, in a process of its own; told by lines of JSON what to time.

python -m strata._timing.worker LIBRARY THREADS < requests
"""

import json
import os
import sys
import time
import traceback

from .case import Case, fingerprint
from .peers import PEERS

#: seconds of a call from which on it is long enough to need no warming up, and few repetitions
LONG = 0.25


class Worker:
    """Times what `case(**request)` describes; `fingerprint` sums up a result for comparison."""

    def __init__(self, peer, case=Case, fingerprint=fingerprint):
        self.peer, self.case, self.fingerprint = peer, case, fingerprint
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
        result = self.prepared.result()
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


def serve(start):
    """Answers requests until there are no more. `start()` gives the worker and its first answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes to stderr

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    try:
        worker, first = start()
        answer(first)
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
    library, threads = sys.argv[1:]
    serve(lambda: (Worker(PEERS[library][0](int(threads))), {"ready": True}))
