"""A dense tensor in stretches, and what is chosen of it as a sparse tensor: read once, never copied whole.

Sparsifiers see one stretch after the other. The tensor need not exist: of an operation that works element by element, or row by
row, each stretch is computed when it is asked for.
"""

import math

import numpy as np
import torch

import strata as st

from ._tensor import from_strata

#: elements of a stretch: few enough to stay in a cache between the steps of a sparsifier
STRETCH = 1 << 16


class Stretches:
    """Iterates over (number of the first element, stretch). A stretch is whole slices along the first dimension, `unit` of them
    or a multiple. `part(a, b)` gives the slices a to b."""

    def __init__(self, shape, part, unit=1):
        self.shape, self._part, self.unit = torch.Size(shape), part, unit

    def __iter__(self):
        slices = self.shape[0] if self.shape else 1
        size = math.prod(self.shape[1:])
        step = max(STRETCH // max(size * self.unit, 1), 1) * self.unit
        for a in range(0, slices, step):
            yield a * size, self._part(a, min(a + step, slices))

    def numel(self):
        """How many elements there are."""
        return self.shape.numel()

    def whole(self):
        """All of it as one tensor."""
        return self._part(0, self.shape[0] if self.shape else 1)

    def by(self, unit):
        """The same by so many slices."""
        return self if unit == self.unit else Stretches(self.shape, self._part, unit)

    def flat(self):
        """The same by single elements, where the tensor is there already; itself where it is not."""
        return self


class _OfTensor(Stretches):
    def __init__(self, x):
        self.x = x
        super().__init__(x.shape, (lambda a, b: x[a:b]) if x.dim() else lambda a, b: x)

    def flat(self):
        return _OfTensor(self.x.reshape(-1)) if self.x.is_contiguous() else self


def stretches(x):
    """Stretches of a dense tensor, whose gradient they do not hear of."""
    return x if isinstance(x, Stretches) else _OfTensor(x.detach())


def chosen(stretch, mask, begin):
    """(row-major numbers, values) of what a mask of this stretch chooses, in order."""
    at = torch.from_numpy(np.flatnonzero(mask.numpy()))  # several times as fast as nonzero()
    return at + begin, stretch.reshape(-1).index_select(0, at)


class _Growing:
    """An array that grows at its end, to `most` elements. Memory that nobody wrote to costs nothing, so that it is asked for at once,
    and what is beyond the end given back."""

    def __init__(self, dtype, most):
        self.dtype, self.used = dtype, 0
        self.bytes = np.empty(min(most * dtype.itemsize, 1 << 30), np.uint8)

    def append(self, x):
        part = x.to(self.dtype).contiguous().reshape(-1).view(torch.uint8).numpy()
        if self.used + len(part) > len(self.bytes):
            self.bytes.resize((self.used + len(part)) * 3 // 2, refcheck=False)
        self.bytes[self.used : self.used + len(part)] = part
        self.used += len(part)

    def tensor(self):
        self.bytes.resize(self.used, refcheck=False)
        if not self.used:
            return torch.empty(0, dtype=self.dtype)
        return torch.from_numpy(self.bytes).view(self.dtype)


def stored(stream, shape, dtype, format=None):
    """An stt.Tensor, without gradients, of a stream of (row-major numbers, values) in order. It is built in CSR (of more
    dimensions: all but the last are dense) beside nothing but itself; other formats are converted to."""
    shape = torch.Size(shape)
    rows, columns = shape[:-1].numel(), shape[-1]
    crd = _Growing(torch.int32 if columns < 2**31 else torch.int64, shape.numel())
    values = _Growing(dtype, shape.numel())
    count = torch.zeros(rows + 1, dtype=torch.int64)
    for flat, found in stream:
        if len(flat):
            first, last = int(flat[0]) // columns, int(flat[-1]) // columns
            starts = torch.arange(first, last + 1) * columns
            of_row = torch.searchsorted(flat, starts).diff(append=torch.tensor([len(flat)]))
            count[first + 1 : last + 2] += of_row
            crd.append(flat - starts.repeat_interleave(of_row, output_size=len(flat)))
            values.append(found)
    pos = count.cumsum_(0)
    pos = pos.to(torch.int32) if int(pos[-1]) < 2**31 else pos
    own, last = by_rows(len(shape)), len(shape) - 1
    wanted = own if format is None else format if isinstance(format, st.Format) else st.Format(format, len(shape))
    text = str(wanted if wanted == own else own)  # dimensions as the caller calls them
    t = st.Tensor(text, tuple(shape), pos={last: pos}, crd={last: crd.tensor()}, values=values.tensor())
    return from_strata(t if wanted == own else t.to(wanted, zeros="keep", **packed(wanted)))


def by_rows(rank):
    """CSR, and what is like it in other numbers of dimensions."""
    if rank <= 2:
        return st.Format("CSR" if rank == 2 else "(i) -> (i : compressed)")
    dims = [f"d{k}" for k in range(rank)]
    return st.Format(f"({', '.join(dims)}) -> ({': dense, '.join(dims)}: compressed)")


def packed(format):
    """Which type of coordinates is wide enough for a format that stores n of each m: one byte."""
    kinds = {level.kind for part in format.parts for level in part.levels}
    return {"crd_dtype": "uint8"} if "structured" in kinds and kinds <= {"dense", "structured"} else {}
