"""solve.py [--quick] [--only planned|direct|substitution|bands|iterations]: linear systems beside SciPy, torch-sla (PyPI) and, where they are found, PARDISO, CHOLMOD and
UMFPACK. All of a line are run in turn, several times; what is told is the median of each one's time over Strata's: above 1 Strata is
faster. Answers are compared first."""

import argparse
import statistics
import time
import warnings

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as linalg

import strata as st


def poisson(n, dimensions=2):
    t = sp.diags_array([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    a = t
    for _ in range(dimensions - 1):
        a = sp.kron(sp.eye_array(n), a) + sp.kron(t, sp.eye_array(a.shape[0]))
    return sp.csr_array(a)


def convection(n):
    """Poisson's equation with a wind, upwind: not symmetric."""
    wind = sp.diags_array([-np.ones(n - 1), np.ones(n)], offsets=[-1, 0])
    return sp.csr_array(poisson(n) + 0.5 * sp.kron(sp.eye_array(n), wind) + 0.3 * sp.kron(wind, sp.eye_array(n)))


def gallery(names):
    """pyamg's examples."""
    try:
        from pyamg import gallery
    except ImportError:
        print("pyamg's matrices: pip install pyamg")
        return
    for name in names:
        yield name, sp.csr_array(gallery.load_example(name)["A"])


def torch_sla():
    """Its spsolve, and why it has none."""
    try:
        import torch
        import torch_sla

        return torch, torch_sla, ""
    except ImportError as e:
        return None, None, f"torch-sla: {e} (pip install torch-sla)"


def libraries(a):
    """{name: function that factorizes} of what is found."""
    found = {}
    hermitian = abs(a - a.conj().T).max() < 1e-12 * abs(a).max()
    kinds = {"pardiso": st.cholesky if hermitian else st.lu, "umfpack": st.lu}
    if hermitian:
        kinds["cholmod"] = st.cholesky
    for name, f in kinds.items():
        try:
            f(st.eye(2), library=name)
            found[name] = f
        except st.Unsupported:
            pass
    return found


def clock(f, calls):
    start = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - start) / calls


def beside(name, ours, others, rounds=5, calls=1):
    """others: {name: function}."""
    contenders = {"": ours, **others}
    for f in contenders.values():
        f()
    if calls == 1:  # some milliseconds of each
        calls = max(1, int(0.02 / max(clock(ours, 1), 1e-6)))
    taken = {k: [] for k in contenders}
    for _ in range(rounds):
        for k, f in contenders.items():
            taken[k].append(clock(f, calls))
    text = "   ".join(f"{k} {statistics.median(t / o for t, o in zip(taken[k], taken[''])):6.2f}" for k in others)
    print(f"{name:58} {statistics.median(taken['']) * 1e3:12.4f} ms   {text}", flush=True)


def same(*answers, tolerance=1e-6):
    for x in answers[1:]:
        assert np.linalg.norm(x - answers[0]) <= tolerance * np.linalg.norm(answers[0])


def iterations(n):
    a = poisson(n)
    b = np.random.default_rng(0).standard_normal(n * n)
    steps = 100
    torch, sla, _ = torch_sla()
    others = {"SciPy": lambda: linalg.cg(a, b, rtol=1e-30, maxiter=steps)}
    if sla:
        coo = a.tocoo()
        given = [
            torch.from_numpy(np.ascontiguousarray(v))
            for v in (coo.data, coo.row.astype(np.int64), coo.col.astype(np.int64))
        ]
        right = torch.from_numpy(b)
        how = dict(backend="pytorch", method="cg", atol=0.0, tol=0.0, maxiter=steps, preconditioner="none")
        others["torch-sla"] = lambda: sla.spsolve(*given, a.shape, right, **how)
    for format in ("CSR", "DIA"):
        A = st.from_scipy(a).to(format)
        ours = lambda A=A: st.cg(A, b, rtol=1e-30, maxiter=steps, check=False)
        same(ours()[0], others["SciPy"]()[0])
        beside(f"CG, {steps} iterations, Poisson {n} x {n}, {format}", ours, others, 3)
    small, right = poisson(n // 4), b[: (n // 4) ** 2]
    A = st.from_scipy(small)
    beside(
        f"CG to 1e-6 with IC(0) beside CG without, {n // 4} x {n // 4}",
        lambda: st.cg(A, right, rtol=1e-6, M="ic0"),
        {"SciPy": lambda: linalg.cg(small, right, rtol=1e-6)},
        3,
    )
    half = poisson(n // 2)
    H, right = st.from_scipy(half), b[: half.shape[0]]
    for name, products in (("gmres", 60), ("bicgstab", 60), ("minres", 100)):
        scipys = (
            dict(restart=30, maxiter=2)
            if name == "gmres"
            else dict(maxiter=products // (2 if name == "bicgstab" else 1))
        )
        mine = dict(maxiter=products if name != "bicgstab" else products // 2, check=False)
        beside(
            f"{name.upper()}, {products} products, Poisson {n // 2} x {n // 2}",
            lambda f=getattr(st, name), mine=mine: f(H, right, rtol=1e-30, **mine),
            {"SciPy": lambda f=getattr(linalg, name), scipys=scipys: f(half, right, rtol=1e-30, **scipys)},
            3,
        )


def planned():
    n = 100
    rng = np.random.default_rng(0)
    a = sp.csc_array(sp.random_array((n, n), density=0.05, rng=rng) + 3 * sp.eye_array(n))
    b = rng.standard_normal(n)
    for name, m in (
        ("general", a),
        ("positive definite", sp.csc_array(a + a.T)),
        ("tridiagonal", sp.csc_array(sp.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(n, n)))),
    ):
        lu = linalg.splu(m)
        s = st.Solve(st.from_scipy(m), b)
        s.plan()
        s.factorize()
        same(s.execute(), lu.solve(b))
        beside(f"planned solve, n = {n}, {name}", s.execute, {"SciPy": lambda lu=lu: lu.solve(b)}, 9, 2000)


def direct(name, a, rounds=3):
    """One matrix: from nothing to a solution, the factorization, and a solve with its factors."""
    A, C = st.from_scipy(a), a.tocsc()
    b = np.random.default_rng(0).standard_normal(a.shape[0])
    if np.iscomplexobj(a.data):
        b = b + 1j
    torch, sla, _ = torch_sla()
    others = {"SciPy": lambda: linalg.spsolve(C, b)}
    if sla and not np.iscomplexobj(a.data):
        coo = a.tocoo()
        given = [
            torch.from_numpy(np.ascontiguousarray(v))
            for v in (coo.data, coo.row.astype(np.int64), coo.col.astype(np.int64))
        ]
        right = torch.from_numpy(b)
        others["torch-sla"] = lambda: sla.spsolve(*given, a.shape, right, backend="scipy", method="lu")
        same(others["SciPy"](), others["torch-sla"]().numpy())
    same(st.solve(A, b), others["SciPy"]())
    found = libraries(a)
    for k in found:
        others[k] = lambda k=k: st.solve(A, b, library=k)
        same(st.solve(A, b), others[k]())
    info = st.solve(A, b, info=True)[1]
    beside(f"solve, {name}, {a.shape[0]} rows ({info.method.split(',')[0]})", lambda: st.solve(A, b), others, rounds)
    lu, f = linalg.splu(C), st.lu(A)
    beside(f"LU, {name}", lambda: st.lu(A), {"SciPy": lambda: linalg.splu(C)}, rounds)
    beside(f"solve with L and U, {name}", lambda: f.solve(b), {"SciPy": lambda: lu.solve(b)}, 5, 5)
    if "Cholesky" in info.method:
        f = st.cholesky(A)
        with_factors = {"SciPy's LU": lambda: lu.solve(b)}
        for k, make in found.items():
            with_factors[k] = make(A, library=k).solve
            with_factors[k] = lambda g=with_factors[k]: g(b)
        beside(f"solve with L L^H, {name}", lambda: f.solve(b), with_factors, 5, 5)


def substitution(n):
    a = poisson(n)
    b = np.random.default_rng(0).standard_normal(n * n)
    low = sp.csr_array(sp.tril(a))
    L = st.from_scipy(low)
    s = st.Solve(L, b, method="lower")
    s.plan()
    s.factorize()
    same(s.execute(), linalg.spsolve_triangular(low, b))
    scipys = {"SciPy": lambda: linalg.spsolve_triangular(low, b)}
    beside(f"substitution, lower triangle of Poisson {n} x {n}", lambda: st.triangular_solve(L, b), scipys)
    beside(f"the same, planned, {n} x {n}", s.execute, scipys)
    ilu = linalg.spilu(a.tocsc(), drop_tol=1e-20, fill_factor=1)
    for name in ("ilu0", "ic0"):
        M = st.preconditioner(st.from_scipy(a), name)
        beside(
            f"{name} applied, Poisson {n} x {n}, beside spilu as full",
            lambda M=M: M.matvec(b),
            {"SciPy": lambda: ilu.solve(b)},
        )


def bands():
    rng = np.random.default_rng(0)
    import scipy.linalg

    for n, lower, upper in ((100_000, 1, 1), (50_000, 4, 4), (20_000, 40, 40)):
        ab = rng.standard_normal((lower + upper + 1, n))
        ab[upper] += 4 * (lower + upper)
        a = sp.csr_array(sp.dia_array((ab, np.arange(upper, -lower - 1, -1)), shape=(n, n)))
        b = rng.standard_normal(n)
        A = st.from_scipy(a).to("DIA")
        lapack = lambda ab=ab, b=b, w=(lower, upper): scipy.linalg.solve_banded(w, ab, b)
        same(st.solve(A, b), lapack())
        beside(
            f"DIA, {n} rows, {lower} below and {upper} above",
            lambda A=A, b=b: st.solve(A, b),
            {"LAPACK": lapack, "SciPy": lambda a=a.tocsc(), b=b: linalg.spsolve(a, b)},
        )
    batch = np.zeros((2000, 64, 64))
    for k in (-1, 0, 1):
        for m in batch:
            m += np.diag(rng.standard_normal(64 - abs(k)) + (4 if k == 0 else 0), k)
    b = rng.standard_normal((2000, 64))
    A = st.from_dense(batch, "(b, i, j) -> (b: dense, j - i: compressed, i: range)")
    s = st.Solve(A, b)
    s.plan()
    s.factorize()
    numpys = {"NumPy, dense": lambda: np.linalg.solve(batch, b[..., None])[..., 0]}
    same(s.execute(), numpys["NumPy, dense"]())
    beside("2000 tridiagonal matrices of 64 rows", lambda: st.solve(A, b), numpys)
    beside("the same, planned and factorized", s.execute, numpys)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small systems")
    parser.add_argument("--only", choices=["planned", "direct", "substitution", "bands", "iterations"])
    arguments = parser.parse_args()
    quick = arguments.quick
    warnings.simplefilter("ignore")
    print(f"{'':58} {'Strata':>15}   others' time over Strata's")
    if torch_sla()[2]:
        print(torch_sla()[2])

    def all_direct():
        direct("Poisson 2-D", poisson(60 if quick else 300))
        direct("Poisson 3-D", poisson(10 if quick else 28, 3))
        direct("convection 2-D", convection(60 if quick else 250))
        for name, a in gallery(["airfoil", "bar", "knot", "recirc_flow", "helmholtz_2D"][: 2 if quick else None]):
            direct(name, a)

    sections = {
        "planned": planned,
        "direct": all_direct,
        "substitution": lambda: substitution(60 if quick else 500),
        "bands": bands,
        "iterations": lambda: iterations(200 if quick else 1000),
    }
    for name, section in sections.items():
        if arguments.only in (None, name):
            section()


if __name__ == "__main__":
    main()
