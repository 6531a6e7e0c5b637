"""How long a call takes before any work is done: first calls, calls from Python, planned calls.

    python benchmarks/latency.py

Each figure is the least of many, in a fresh process where it is a first call. The goals are the project's; a first call is
counted once the compiler's library is loaded and with a warm page cache.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

# A process of its own: loads the library, warms the compiler with another kernel, then times one first call.
FIRST = """
import json, sys, time
import numpy as np, strata as st
matrix, vector = st.from_dense(np.eye(8), "CSR"), np.ones(8)
kind = sys.argv[1]
if kind in ("new", "cached"):
    st.einsum("ij,j->", st.from_dense(np.eye(8), "CSC"), vector)  # loads the compiler (and compiles a kernel of its own)
    A, args = st.from_dense(np.eye(64), "(i, j) -> (j: compressed, i: compressed)"), ("ij,jk->ki", np.ones((64, 5)))
else:
    st.from_dense(np.eye(8), "CSC") @ np.ones(8)
    A, args = st.from_dense(np.eye(64), "CSR"), ("ij,jk->ik", np.ones((64, 16)))
start = time.perf_counter()
st.einsum(args[0], A, args[1])
print(json.dumps(time.perf_counter() - start))
"""


def first_call(kind, repeats):
    least = float("inf")
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "STRATA_CACHE_DIR": cache, "STRATA_CACHE": "auto" if kind == "cached" else "off"}
        for repeat in range(repeats + 1):
            result = subprocess.run(
                [sys.executable, "-c", FIRST, kind], env=environment, capture_output=True, text=True
            )
            if result.returncode != 0:
                raise SystemExit(result.stderr)
            if repeat > 0:  # the first one warms the page cache, and fills ours
                least = min(least, json.loads(result.stdout))
    return least


def best(call, seconds=1.0):
    """The least time of one call, over batches long enough for the clock."""
    count, least, end = 1, float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - start
        least = min(least, took / count)
        if took < 1e-4:
            count *= 2
    return least


def python_calls():
    import numpy as np
    import scipy.sparse as sps

    import strata as st

    rng = np.random.default_rng(0)
    a = sps.random_array((100, 100), density=0.05, rng=rng, format="csr")
    x, y = rng.random(100), np.zeros(100)
    A = st.from_scipy(a)
    with st.Matmul(A, x, y, beta=0) as planned:
        planned.plan()
        return {
            "SciPy's own a @ x": best(lambda: a @ x),
            "st.matmul(A, x)": best(lambda: st.matmul(A, x)),
            "A @ x": best(lambda: A @ x),
            "st.matmul(A, x, y, beta=0)": best(lambda: st.matmul(A, x, y, beta=0)),
            "Matmul.execute()": best(planned.execute),
            "st.einsum": best(lambda: st.einsum("ij,j->i", A, x)),
        }


def main():
    rows = [
        ("first call of a common kernel", first_call("common", 5), 5e-3),
        ("first call of a new kernel", first_call("new", 5), 40e-3),
        ("first call, cached on disk", first_call("cached", 5), 2e-3),
    ]
    calls = python_calls()
    scipy = calls["SciPy's own a @ x"]
    for name, seconds in calls.items():
        rows.append((f"100 x 100 CSR: {name}", seconds, 2 * scipy if name in ("st.matmul(A, x)", "A @ x") else None))
    for name, seconds, goal in rows:
        verdict = "" if goal is None else f"goal {goal * 1e6:9.2f} us  {'met' if seconds <= goal else 'MISSED'}"
        print(f"{name:42}  {seconds * 1e6:10.2f} us  {verdict}".rstrip())


if __name__ == "__main__":
    main()
