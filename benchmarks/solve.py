"""solve.py [--quick]: linear systems beside SciPy. Each pair is timed in turn, several times, and the median of the ratios is told:
SciPy's time over ours, above 1 where Strata is faster."""

import argparse
import statistics
import time

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as linalg

import strata as st


def poisson(n):
    t = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    return sp.csr_array(sp.kron(sp.eye_array(n), t) + sp.kron(t, sp.eye_array(n)))


def clock(f, calls):
    start = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - start) / calls


def beside(name, ours, theirs, rounds=5, calls=1):
    ours(), theirs()
    pairs = [(clock(ours, calls), clock(theirs, calls)) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    mine, other = (statistics.median(x) for x in zip(*pairs))
    print(f"{name:58} {mine * 1e3:12.4f} ms {other * 1e3:12.4f} ms   {ratio:6.2f}", flush=True)


def iterations(n):
    a = poisson(n)
    b = np.random.default_rng(0).standard_normal(n * n)
    steps = 100
    theirs = lambda: linalg.cg(a, b, rtol=1e-30, maxiter=steps)
    for format in ("CSR", "DIA"):
        A = st.from_scipy(a).to(format)
        beside(
            f"CG, {steps} iterations, Poisson {n} x {n}, {format}",
            lambda A=A: st.cg(A, b, rtol=1e-30, maxiter=steps, check=False),
            theirs,
            3,
        )
    A = st.from_scipy(a)
    beside(
        f"CG to 1e-6 with IC(0) beside SciPy's without, {n // 4} x {n // 4}",
        lambda: st.cg(st.from_scipy(poisson(n // 4)), b[: (n // 4) ** 2], rtol=1e-6, M="ic0"),
        lambda: linalg.cg(poisson(n // 4), b[: (n // 4) ** 2], rtol=1e-6),
        3,
    )
    beside(
        f"GMRES(30), 60 products, Poisson {n // 2} x {n // 2}",
        lambda A=st.from_scipy(poisson(n // 2)): st.gmres(A, b[: A.shape[0]], rtol=1e-30, maxiter=60, check=False),
        lambda A=poisson(n // 2): linalg.gmres(A, b[: A.shape[0]], rtol=1e-30, restart=30, maxiter=2),
        3,
    )


def planned():
    n = 100
    rng = np.random.default_rng(0)
    a = sp.csc_array(sp.random_array((n, n), density=0.05, rng=rng) + 3 * sp.eye_array(n))
    b = rng.standard_normal(n)
    for name, m in (
        ("general", a),
        ("tridiagonal", sp.csc_array(sp.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)))),
    ):
        lu = linalg.splu(m)
        s = st.Solve(st.from_scipy(m), b)
        s.plan()
        s.factorize()
        beside(f"planned solve, n = 100, {name}", s.execute, lambda lu=lu: lu.solve(b), 9, 2000)


def direct(n):
    a = poisson(n)
    A, C = st.from_scipy(a), a.tocsc()
    b = np.random.default_rng(0).standard_normal(n * n)
    beside(f"solve, Poisson {n} x {n}", lambda: st.solve(A, b), lambda: linalg.spsolve(C, b), 3)
    beside("LU of it", lambda: st.lu(A), lambda: linalg.splu(C), 3)
    f, lu = st.cholesky(A), linalg.splu(C)
    beside("solve with its factors", lambda: f.solve(b), lambda: lu.solve(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small systems")
    quick = parser.parse_args().quick
    print(f"{'':58} {'Strata':>15} {'SciPy':>15}   ratio")
    planned()
    direct(60 if quick else 300)
    iterations(200 if quick else 1000)


if __name__ == "__main__":
    main()
