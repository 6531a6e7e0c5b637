"""What the charts compare: a stencil in several formats, and weights of more and more absent elements."""

import dataclasses

import numpy as np

from strata._timing import matrices
from strata._timing.case import placed
from strata._timing.matrices import prepare

from ..matrices import stencil


@dataclasses.dataclass(frozen=True)
class Stencil:
    """A 7-point stencil of nx * ny * nz rows, as SciPy's CSR of float64; by default of the size of SuiteSparse's atmosmodl."""

    nx: int = 38
    ny: int = 198
    nz: int = 198

    @property
    def name(self):
        return "stencil"

    def make(self):
        """(A, x, A @ x, |A| |x|)."""
        a = prepare(stencil(self.nx, self.ny, self.nz))
        x = np.random.default_rng(11).random(a.shape[1]) - 0.5
        return a, x, a @ x, abs(a) @ abs(x)


@dataclasses.dataclass(frozen=True)
class Weights:
    """A dense n x n array of which so many percent are absent, uniformly at random."""

    percent: int
    dtype: str = "float32"
    n: int = 8192

    @property
    def name(self):
        return f"{self.dtype}, {self.percent} % absent"

    def make(self):
        r = np.random.default_rng(self.percent)
        a = r.random((self.n, self.n), dtype=np.float32) + np.float32(0.5)  # none of them is 0
        a[r.random((self.n, self.n), dtype=np.float32) < self.percent / 100] = 0
        a = a.astype(self.dtype, copy=False)
        x = (r.random(self.n, dtype=np.float32) - np.float32(0.5)).astype(self.dtype)
        both = np.stack([x, abs(x)], axis=1).astype(np.float64)
        want = np.concatenate([a[k : k + 512].astype(np.float64) @ both for k in range(0, self.n, 512)])
        return a, x, want[:, 0], want[:, 1]


def save(case, folder):
    """Makes the arrays of a case, from which each library's process reads them."""
    a, *vectors = case.make()
    if isinstance(case, Stencil):
        matrices.save(a, folder)
    else:
        np.save(f"{folder}/a.npy", a)
    for name, array in zip(VECTORS, vectors):
        np.save(f"{folder}/{name}.npy", array)


def load(case, folder):
    a = matrices.load(folder) if isinstance(case, Stencil) else np.load(f"{folder}/a.npy")
    x, want, scale = (np.load(f"{folder}/{name}.npy") for name in VECTORS)
    return a, placed(x), want, scale


VECTORS = ("x", "want", "scale")

#: relative to the sum of the absolute values of what is added
TOLERANCE = {"float64": 1e-14, "float32": 3e-6, "float16": 1e-3}


def case(what, **of):
    """What a worker is asked for."""
    return {"stencil": Stencil, "weights": Weights}[what](**of)


def request(case):
    return {"what": "stencil" if isinstance(case, Stencil) else "weights", **dataclasses.asdict(case)}


def error(got, want, scale, dtype):
    """The largest error of a result, as a share of what rounding may do: above 1 it is wrong."""
    with np.errstate(invalid="ignore"):
        off = np.abs(np.asarray(got, np.float64) - want) / np.maximum(scale, np.finfo(np.float64).tiny)
    return float(np.max(off, initial=0.0)) / TOLERANCE[str(dtype)]
