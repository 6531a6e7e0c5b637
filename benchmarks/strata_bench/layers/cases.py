"""What of a linear layer is timed, and on which weights. float32."""

import dataclasses

import numpy as np

from strata._timing.matrices import load, prepare, save

from .. import matrices

OPS = {
    "forward": "y = x W^T, without gradients",
    "dx": "the gradient of x alone: g W",
    "dw": "the gradient of W alone, at what is stored: g^T x",
    "step": "a whole training step: y, the gradients of x and W, SGD",
    "input": "y = x W^T where x is sparse and W dense",
}
BATCHES = (1, 16, 256)


def _weights(sizes, pruned, blocked):
    out = {}
    for n in sizes:
        out |= {f"{n}-{p}": lambda n=n, p=p: matrices.pruned(n, p) for p in pruned}
        out |= {f"{n}-b{b}-{p}": lambda n=n, b=b, p=p: matrices.blocked(n, b, p) for b, p in blocked}
    return out


#: "4096-b16-90": 4096 inputs and outputs, 90 % of the blocks of 16 x 16 are absent
FULL = _weights((4096, 1024), (80, 90, 95), ((16, 80), (16, 90), (32, 80), (32, 90)))
QUICK = _weights((256,), (80, 90), ((16, 90),))


def all_cases(quick):
    """[(operation, weight, batch)]. The step and the sparse input, whose zeros are those of a weight, have one batch."""
    weights, batches = (QUICK, BATCHES[:2]) if quick else (FULL, BATCHES)
    found = [(op, weight, batch) for op in ("forward", "dx", "dw") for weight in weights for batch in batches]
    plain = [w for w in weights if "b" not in w and w.startswith(next(iter(weights)).split("-")[0])]
    return found + [(op, w, batches[-1]) for op in ("step", "input") for w in (plain if op == "input" else plain[1:2])]


def folder_of(weight, quick=False):
    """The folder of a weight, made at the first call."""
    folder = matrices.cache() / ("layers-quick" if quick else "layers") / weight
    if not (folder / "shape.json").exists():
        save(prepare((QUICK if quick else FULL)[weight]()), folder)
    return str(folder)


@dataclasses.dataclass(frozen=True)
class LayerCase:
    """What a worker is asked to time."""

    op: str
    batch: int
    matrix: str  # folder of the .npy files

    def data(self):
        """(the sparse matrix, (x, g)): a weight (out, in), its input and the gradient of its output; of "input" the sparse x,
        and a dense weight as the first of the two. The same for every worker."""
        a = load(self.matrix)
        if self.op == "input":
            return a[: self.batch], (_dense(*a.shape), None)
        return a, (_dense(self.batch, a.shape[1]), _dense(self.batch, a.shape[0]))


def _dense(*shape):
    return np.random.default_rng(11).standard_normal(shape, np.float32)
