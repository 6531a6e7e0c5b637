"""Matrices to time with: generated ones, and real ones that pyamg ships or assembles. All as SciPy CSR, sorted, without duplicates."""

import numpy as np

from strata._timing.matrices import cache, elasticity, example, load, prepare, save


def stencil(nx=38, ny=198, nz=198):
    """7-point stencil: 1,489,752 rows and 10,319,760 stored elements (the size of SuiteSparse's atmosmodl)."""
    import scipy.sparse as sp

    def line(n):
        return sp.diags([np.ones(n - 1), np.full(n, 2.0), np.ones(n - 1)], [-1, 0, 1])

    eye = sp.identity
    return (
        sp.kron(eye(ny * nz), line(nx)) + sp.kron(sp.kron(eye(nz), line(ny)), eye(nx)) + sp.kron(line(nz), eye(nx * ny))
    )


def uniform(n=1_000_000, k=16, seed=1):
    """k uniformly random elements a row."""
    import scipy.sparse as sp

    r = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n, dtype=np.int32), k)
    return sp.coo_matrix((np.ones(n * k), (rows, r.integers(0, n, n * k, dtype=np.int32))), (n, n))


def rmat(scale=20, degree=16, a=0.57, b=0.19, c=0.19, seed=2, permute=False):
    """A power-law graph (Chakrabarti, Zhan, Faloutsos, "R-MAT", 2004)."""
    import scipy.sparse as sp

    r = np.random.default_rng(seed)
    m = degree << scale
    i, j = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        u = r.random(m)
        i = 2 * i + (u >= a + b)
        j = 2 * j + (((u >= a) & (u < a + b)) | (u >= a + b + c))
    if permute:
        p = r.permutation(1 << scale)
        i, j = p[i], p[j]
    return sp.coo_matrix((np.ones(m), (i, j)), (1 << scale,) * 2)


def fem(n=47):
    """27-point stencil of 3x3 blocks: 311,469 rows, 77.6 stored elements a row."""
    import scipy.sparse as sp

    line = sp.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1])
    return sp.kron(sp.kron(line, sp.kron(line, line)), np.ones((3, 3)))


def pruned(n=4096, percent=90, seed=3):
    """A weight matrix with so many percent of its elements pruned at random."""
    import scipy.sparse as sp

    r = np.random.default_rng(seed)
    w = r.standard_normal((n, n), dtype=np.float32)
    w[r.random((n, n), dtype=np.float32) < percent / 100] = 0
    return sp.csr_matrix(w)


def blocked(n=4096, block=16, percent=90, seed=4):
    """A weight matrix with so many percent of its blocks pruned."""
    import scipy.sparse as sp

    r = np.random.default_rng(seed)
    kept = r.random((n // block, n // block)) >= percent / 100
    return sp.kron(sp.csr_matrix(kept.astype(np.float32)), np.ones((block, block), np.float32))


FULL = {
    "stencil7": stencil,
    "uniform1m": uniform,
    "rmat20": rmat,
    "rmat20-permuted": lambda: rmat(permute=True),
    "fem3x3": fem,
    "elasticity600": elasticity,
    "bar": lambda: example("bar"),
    "airfoil": lambda: example("airfoil"),
    "recirc_flow": lambda: example("recirc_flow"),
    "helmholtz_2D": lambda: example("helmholtz_2D"),
    "local_disc_galerkin_diffusion": lambda: example("local_disc_galerkin_diffusion"),
    **{f"pruned{n}-{p}": (lambda n=n, p=p: pruned(n, p)) for n in (4096, 8192) for p in (50, 70, 90, 95, 99)},
    **{f"blocked4096-b{b}-{p}": (lambda b=b, p=p: blocked(4096, b, p)) for b in (16, 32) for p in (80, 90)},
}

QUICK = {
    "stencil7": lambda: stencil(12, 20, 20),
    "uniform10k": lambda: uniform(10_000, 16),
    "rmat12": lambda: rmat(12),
    "fem3x3": lambda: fem(8),
    "elasticity40": lambda: elasticity(40),
    "bar": lambda: example("bar"),
    "pruned512-90": lambda: pruned(512, 90),
    "blocked512-b16-90": lambda: blocked(512, 16, 90),
}


def folder_of(name, quick=False):
    """The folder of a named matrix, generated at the first call."""
    folder = cache() / ("quick" if quick else "full") / name
    if not (folder / "shape.json").exists():
        save(prepare((QUICK if quick else FULL)[name]()), folder)
    return str(folder)


__all__ = ["FULL", "QUICK", "cache", "folder_of", "load"]
