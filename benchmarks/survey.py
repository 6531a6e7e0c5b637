"""Every operation in every format, to find what is slow beside the others: microseconds, one thread, our own kernels.

    python benchmarks/survey.py                     # float32 and float64
    python benchmarks/survey.py --dtypes float32 --only BSR

The matrix has full blocks of 8 x 8 and lies in a cache, so that no format stores much besides, and loops bind, not memory.
A `*` marks what takes more than four times its row's median.
"""

import argparse
import statistics
import time

import numpy as np
import scipy.sparse as sp

import strata as st

FORMATS = ("CSR", "CSC", "COO", "DCSR", "DCSC", "ELL", "BSR(4, 4)", "BSR(8, 8)", "Delta(4)", "Bitmap")
FAR = 4
USERS_SEMIRING = "max(a, b); min(a, b); -inf"


def operations(a, b, x, rows):
    """Name and call; `b` has a's format and other places, `rows` is dense, in C's order."""
    columns, vector = np.asfortranarray(rows), {"A": a, "x": x}
    product, matrix = "y(i) = {}(j, A(i,j) * x(j))", "y(i,k) = {}(j, A(i,j) * X(j,k))"
    out = {
        "A @ x": lambda: a @ x,
        "A.T @ x": lambda: a.T @ x,
        "A @ X": lambda: a @ rows,
        "A @ X, by columns": lambda: a @ columns,
        "A.T @ X": lambda: a.T @ rows,
        "X.T @ A": lambda: columns.T @ a,
        "relu(A) @ X": lambda: st.evaluate("y(i,k) = relu(A(i,j)) * X(j,k)", A=a, X=rows),
        "A * (X @ X.T)": lambda: st.evaluate("C(i,j) = A(i,j) * U(i,k) * V(j,k)", A=a, U=rows, V=rows),
        "A.sum(axis=0)": lambda: a.sum(axis=0),
        "A.sum(axis=1)": lambda: a.sum(axis=1),
        "A.max(axis=1)": lambda: a.max(axis=1),
        "A * 2": lambda: a * 2.0,
        "A * x": lambda: st.evaluate("C(i,j) = A(i,j) * x(j)", **vector),
        "A + B": lambda: a + b,
        "A * B": lambda: a * b,
        "A.to_dense()": a.to_dense,
        "A[:100]": lambda: a[:100],
        "A[:, 5]": lambda: a[:, 5],
    }
    for name in ("max", "min", "any", "all"):
        out[f"{name} of A * x"] = lambda text=product.format(name): st.evaluate(text, **vector)
        out[f"{name} of A * X"] = lambda text=matrix.format(name): st.evaluate(text, A=a, X=rows)
    for ring in ("min-plus", "or-and", USERS_SEMIRING):
        out[f"{ring}, x"] = lambda ring=ring: st.einsum("ij,j->i", a, x, semiring=ring)
        out[f"{ring}, X"] = lambda ring=ring: st.einsum("ij,jk->ik", a, rows, semiring=ring)
    return out


def microseconds(f, times=7, budget=0.3):
    f()  # plans and compiles
    best, begin = float("inf"), time.perf_counter()
    for _ in range(times):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - begin > budget:
            break
    return best * 1e6


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--dtypes", default="float32,float64")
    p.add_argument("--only", default="", help="formats whose name contains this")
    p.add_argument("--rows", type=int, default=4096, help="a multiple of 8")
    args = p.parse_args()
    st.settings.threads, st.settings.vendor = 1, False
    rng = np.random.default_rng(0)
    blocks = sp.random_array((args.rows // 8, args.rows // 8), density=min(1, 64 / args.rows), rng=rng, format="csr")
    matrix = sp.csr_array(sp.kron(blocks, np.ones((8, 8)), format="csr"))
    matrix.data = rng.standard_normal(matrix.nnz)
    formats = [f for f in FORMATS if args.only in f]
    for dtype in args.dtypes.split(","):
        x, rows = (rng.standard_normal(shape).astype(dtype) for shape in (args.rows, (args.rows, 16)))
        calls = {}
        for f in formats:
            a, b = (st.from_scipy(m.astype(dtype)).to(f) for m in (matrix, matrix.T.tocsr()))
            calls[f] = operations(a, b, x, rows)
        print(f"## {dtype}\n\n| |{'|'.join(formats)}|\n|---|{'---:|' * len(formats)}")
        for name in calls[formats[0]]:
            took = [microseconds(calls[f][name]) for f in formats]
            far = FAR * statistics.median(took)
            cells = (f"{t:.0f} *" if t > far else f"{t:.0f}" for t in took)
            print(f"|{name}|{'|'.join(cells)}|", flush=True)
        print()


if __name__ == "__main__":
    main()
