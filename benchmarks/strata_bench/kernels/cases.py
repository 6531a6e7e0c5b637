"""The named kernels of the sparse compiler: what each computes, and on what. Values are float32 unless asked otherwise.

A kernel is timed on four kinds of input: uniform, power-law, banded and blocked; SDDMM also on the matrices of `strata bench`. Every
worker builds the same operands.
"""

import dataclasses
import json
import pathlib
import types

import numpy as np

from strata._timing.case import placed

from .. import matrices

KINDS = ("uniform", "powerlaw", "banded", "blocked")


@dataclasses.dataclass(frozen=True)
class Kernel:
    text: str  # what it computes, in index notation
    shape: tuple  # of the sparse input
    per_row: float  # stored elements for each coordinate of the first dimension
    kinds: tuple = KINDS
    binds: str = ""  # what a case that loses waits for, where bandwidth does not say it
    like: str = ""  # another one that is the same but for its columns


FRONT = "a twentieth of the rows, in no order: the first lines of each are missed; a call costs 20 us of 300"
LINES = (
    "rows of {} in the third level: a line in no order costs 2.6 to 4 ns in a loop that does nothing else (measured)"
)
N = 100_000
KERNELS = {
    "spmv": Kernel(
        "y(i) = A(i,j) * x(j)", (N, N), 10, binds="a line of x from the second level for each element: 0.55 to 0.7 ns"
    ),
    "spmm64": Kernel(
        "Y(i,k) = A(i,j) * X(j,k)", (N, N), 10, binds=LINES.format("X") + "; in order, X and the result pass at 18 GB/s"
    ),
    "sddmm64": Kernel("C(i,j) = A(i,j) * U(i,k) * V(j,k)", (N, N), 10, binds=LINES.format("V")),
    **{
        f"sddmm{k}": Kernel(
            f"C(i,j) = A(i,j) * U(i,k) * V(j,k), {k} columns", (N, N), 10, (), LINES.format("V"), "sddmm64"
        )
        for k in (16, 128)
    },
    "spgemm": Kernel("C(i,k) = A(i,j) * B(j,k)", (N, N), 10),
    "spgemm-csc": Kernel("C(i,k) = A(i,j) * B(j,k), B by columns", (N, N), 10),
    "spgemm-masked": Kernel("C(i,k) = A(i,j) * B(j,k) where A is", (N, N), 10),
    "spgemm-bsr": Kernel("C(i,k) = A(i,j) * B(j,k) in blocks of 4 x 4", (N // 4, N // 4), 16, ("banded", "blocked")),
    "spgemm-bsr-csc": Kernel(
        "C(i,k) = A(i,j) * B(j,k), A in blocks, B by columns", (N // 4, N // 4), 16, ("banded", "blocked")
    ),
    "chain": Kernel("D(i,l) = A(i,j) * B(j,k) * C(k,l), C with 16 columns", (N, N), 10),
    "add": Kernel("C(i,j) = A(i,j) + B(i,j)", (N, N), 10),
    "add3": Kernel("E(i,j) = A(i,j) + B(i,j) + C(i,j)", (N, N), 10),
    "dia+csr": Kernel("C(i,j) = D(i,j) + A(i,j), D by diagonals, C by coordinates", (N, N), 10),
    "mttkrp3": Kernel("M(i,r) = T(i,j,k) * B(j,r) * C(k,r), 32 columns", (10_000, 5000, 2000), 100),
    "mttkrp4": Kernel("M(i,r) = T(i,j,k,l) * B(j,r) * C(k,r) * D(l,r), 32 columns", (2000, 1500, 1000, 500), 250),
    "ttm": Kernel("Y(i,j,r) = T(i,j,k) * U(k,r), 32 columns; (i,j) as in T", (10_000, 5000, 2000), 100),
    "ttv": Kernel("Y(i,j) = T(i,j,k) * x(k), sparse", (10_000, 5000, 2000), 100),
    "inner": Kernel("s = T(i,j,k) * S(i,j,k)", (10_000, 5000, 2000), 100),
    "moe": Kernel("Y(b,n,h) = X(b,n,d) * W(n,d,h), 128 features, 2 of 64 experts", (4096, 64), 2),
    "attention": Kernel("graph attention: leaky relu of p(i) + q(j) on edges, softmax of rows, times H", (N, N), 10),
    "triangles": Kernel("t = L(i,j) * L(j,k) * L(i,k)", (N // 2, N // 2), 10),
    "bfs": Kernel("y(j) = A(i,j) * v(i), or-and, where nothing was seen", (N, N), 10, binds=FRONT),
    "sssp": Kernel("e(j) = d(j) + A(i,j) * d(i), min-plus", (N, N), 10, binds=FRONT),
    "softmax": Kernel("s(i) = sum(j, exp(Z(i,j))), Z(i,j) = A(i,j) * U(i,k) * V(j,k), 64 features", (4096, N), 64),
    "distmult": Kernel("S(h,r,t) = T(h,r,t) * E(h,k) * R(r,k) * F(t,k), 64 features", (20_000, 50, 20_000), 10),
    "rescal": Kernel("S(h,r,t) = T(h,r,t) * E(h,a) * M(r,a,b) * F(t,b), 32 features", (20_000, 50, 20_000), 10),
    "convolution": Kernel("Y(i,j) = A(i + r, j + s) * K(r,s), 3 x 3, sparse", (4000, 4000), 10),
}
ON_MATRICES = ("sddmm16", "sddmm64", "sddmm128")
QUICK = 50  # the small inputs have so many times fewer elements


def shape_of(kernel, quick):
    """The small inputs are smaller by the same factor in every large dimension."""
    k = KERNELS[kernel]
    factor = 1 if not quick else QUICK if len(k.shape) == 2 else QUICK ** (1 / 2)
    return tuple(n if n <= 64 else max(64, round(n / factor) // 4 * 4) for n in k.shape)


def generate(kind, shape, per_row, seed):
    """Sorted unique coordinates, one row each dimension."""
    r = np.random.default_rng(seed)
    count = round(shape[0] * per_row)
    first = r.integers(0, shape[0], count)
    if kind == "uniform":
        at = [first] + [r.integers(0, n, count) for n in shape[1:]]
    elif kind == "powerlaw":  # Zipf's law in the first dimension, milder in the others
        at = [zipf(r, shape[0], count, 0.8)] + [zipf(r, n, count, 0.4) for n in shape[1:]]
    elif kind == "banded":
        width = max(2, round(per_row))
        at = [first] + [
            np.clip(first * n // shape[0] + r.integers(-width, width + 1, count), 0, n - 1) for n in shape[1:]
        ]
    else:  # blocks of 4 in every dimension
        block = 4 ** len(shape)
        corner = [r.integers(0, max(1, n // 4), max(1, count // block)) * 4 for n in shape]
        inner = np.stack(np.unravel_index(np.arange(block), (4,) * len(shape)))
        at = [(c[:, None] + i[None]).ravel() for c, i in zip(corner, inner)]
        at = [np.minimum(a, n - 1) for a, n in zip(at, shape)]
    key = np.unique(np.ravel_multi_index([np.asarray(a, np.int64) for a in at], shape))
    return np.stack(np.unravel_index(key, shape)).astype(np.int32)


def zipf(r, n, count, exponent):
    weights = np.cumsum((np.arange(n) + 1.0) ** -exponent)
    drawn = np.searchsorted(weights, r.random(count) * weights[-1])
    return r.permutation(n)[np.minimum(drawn, n - 1)]


def folder_of(kernel, kind, quick):
    """The folder with the coordinates of the sparse inputs, generated at the first call."""
    if kind in (matrices.QUICK if quick else matrices.FULL):
        return folder_of_matrix(kind, quick)
    folder = matrices.cache() / ("kernels-quick" if quick else "kernels") / f"{kernel}-{kind}"
    if not (folder / "shape.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        shape = shape_of(kernel, quick)
        for n in range(3):
            np.save(folder / f"at{n}.npy", generate(kind, shape, KERNELS[kernel].per_row, 31 + n))
        (folder / "shape.json").write_text(json.dumps(shape))  # last: its presence says that all is there
    return str(folder)


def folder_of_matrix(name, quick):
    """One sparse input, a matrix of `strata bench`; the others are empty."""
    folder = matrices.cache() / ("kernels-quick" if quick else "kernels") / f"matrix-{name}"
    if not (folder / "shape.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        a = matrices.load(matrices.folder_of(name, quick)).tocoo()
        for n, at in enumerate([np.stack([a.row, a.col]), np.zeros((2, 0)), np.zeros((2, 0))]):
            np.save(folder / f"at{n}.npy", at.astype(np.int32))
        (folder / "shape.json").write_text(json.dumps([int(n) for n in a.shape]))
    return str(folder)


@dataclasses.dataclass(frozen=True)
class KernelCase:
    """What a worker is asked to time: a kernel on the inputs in a folder."""

    kernel: str
    folder: str
    dtype: str = ""

    def data(self):
        """(operands, None): the same for every worker."""
        folder = pathlib.Path(self.folder)
        shape = tuple(json.loads((folder / "shape.json").read_text()))
        at = [np.load(folder / f"at{n}.npy") for n in range(3)]
        d = operands(self.kernel, shape, at, np.dtype(self.dtype or "float32"))
        for name, x in vars(d).items():
            if isinstance(x, np.ndarray):
                setattr(d, name, placed(x))
        if hasattr(d, "factors"):
            d.factors = [placed(x) for x in d.factors]
        return d, None


def operands(kernel, shape, at, dtype):
    """A namespace with the sparse inputs (SciPy CSR A, B, C; coordinates T, S) and the dense ones, by kernel."""
    import scipy.sparse as sp

    r = np.random.default_rng(41)
    random = lambda *s: r.random(s, dtype=np.float64).astype(dtype) + dtype.type(0.1)
    d = types.SimpleNamespace(kernel=kernel, shape=shape, dtype=dtype, nnz=at[0].shape[1])
    if kernel == "inner":  # every second element is in both
        both = np.concatenate([at[0][:, ::2], at[1]], axis=1)
        at[1] = np.stack(np.unravel_index(np.unique(np.ravel_multi_index(both, shape)), shape)).astype(np.int32)
    if len(shape) > 2:
        d.T, d.S = (types.SimpleNamespace(at=a, values=random(a.shape[1]), shape=shape) for a in at[:2])
        width = {"distmult": 64, "rescal": 32}.get(kernel, 32)
        d.factors = [random(n, width) for n in shape]
        d.core = random(shape[1], width, width) if kernel == "rescal" else None
        d.x = random(shape[2])
        return d
    sparse = []
    for a in at:
        m = sp.csr_matrix((random(a.shape[1]), (a[0], a[1])), shape)
        m.sort_indices()
        sparse.append(m)
    d.A, d.B, d.C = sparse
    m, n = shape
    if kernel == "spmv":
        d.x = random(n)
    elif kernel == "spmm64":
        d.X = random(n, 64)
    elif kernel.startswith("sddmm") or kernel == "softmax":
        columns = int(kernel[5:]) if kernel != "softmax" else 64
        d.U, d.V = random(m, columns) / columns, random(n, columns)
    elif kernel == "chain":
        d.C = d.C[:, :16].tocsr()
    elif kernel == "dia+csr":
        d.D = sp.diags([random(m - 1), random(m), random(m - 1)], [-1, 0, 1], format="dia", dtype=dtype)
    elif kernel == "moe":
        d.X, d.W = random(m, 128), random(n, 128, 128)
    elif kernel == "attention":
        d.p, d.q, d.H = random(m) - dtype.type(0.6), random(n) - dtype.type(0.6), random(n, 32)
    elif kernel == "triangles":
        graph = d.A + d.A.T
        d.A = sp.tril(graph, -1, format="csr").astype(dtype)
        d.A.data[:] = 1
        d.A.sort_indices()
    elif kernel in ("bfs", "sssp"):
        d.front = r.random(m) < 0.05
        d.far = np.where(d.front, random(m), np.inf).astype(dtype)
    elif kernel == "convolution":
        d.K = random(3, 3)
    return d


def plain(coordinates, values, shape):
    """A sparse result for fingerprint(): values may have further, dense dimensions behind the first."""
    return (coordinates, shape), values


def fingerprint(result):
    """Four weighted sums of a result, dense or plain(): enough to see a wrong one, small enough to send."""
    r, out = np.random.default_rng(13), []
    coordinates, shape = result[0] if isinstance(result, tuple) else ((), np.shape(result))
    values = np.asarray(result[1] if isinstance(result, tuple) else result, np.float64)
    values = np.where(np.isfinite(values), values, -1)
    for _ in range(4):
        weights, total = [r.standard_normal(n) for n in shape], values
        for _ in range(len(shape) - max(1, len(coordinates))):
            total = total @ weights.pop()
        if len(coordinates):
            for at, w in zip(coordinates, weights):
                total = total * w[at]
            total = total.sum()
        elif weights:
            total = total @ weights.pop()
        out.append([float(total), 0.0])
    return out + [[float(np.abs(values).sum()), 0.0]]
