"""The pattern of an attention by rows, as its kernels walk it.

A pattern of any format, (..., queries, keys), becomes CSR, matrix after matrix. What one call of a kernel gets is a task: small
matrices side by side along a diagonal, or some rows of a large one, so that a call has neither too little nor too much to do.
"""

import dataclasses
import functools
import math

import torch

from .._core import Format, Tensor
from ..errors import Unsupported
from ._pattern import Once, Pattern, lasting

#: matrices are put together up to so many stored elements, and cut by rows above so many: the memory of a call's scores
TOGETHER, AT_ONCE = 1 << 16, 1 << 21

_inner = torch._C._functorch


@dataclasses.dataclass
class Task:
    """Rows first .. last of `count` matrices that follow one another from the `start`-th on; `pattern`: of these rows, CSR, the
    matrices along its diagonal. `before`: how many elements of its matrix lie in earlier rows. low, high: of a part of a matrix, the
    columns that it has."""

    start: int
    count: int
    first: int
    last: int
    pattern: Pattern
    before: int
    low: int
    high: int
    _row: torch.Tensor = None

    @property
    def crd(self):
        return self.pattern.index[1]

    def row(self):
        """The number of the row of each element."""
        if self._row is None:
            pos = self.pattern.index[0].to(torch.int64)
            self._row = torch.arange(len(pos) - 1).repeat_interleave(pos.diff(), output_size=self.pattern.num_values)
        return self._row


class Rows(Once):
    """`pos`, `crd`: all rows of all matrices of a pattern, one after another; see by_rows()."""

    def __init__(self, pattern):
        *self.lead, self.queries, self.keys = pattern.shape
        self.lead = torch.Size(self.lead)
        self.slot = None
        normal = normal_format(len(pattern.shape))
        if not pattern.once:
            moved = pattern.ones_of(torch.float32).to(normal, zeros="keep")
            pos, crd = Pattern(moved).index
        elif pattern.format == normal and pattern.whole:
            pos, crd = pattern.index
        else:
            numbers = torch.arange(pattern.num_values, dtype=index_type(pattern.num_values))
            moved = pattern.with_values(numbers).to(normal, zeros="keep")
            made = Pattern(moved)
            (pos, crd), self.slot = made.index, made.values_of(moved).to(torch.int64)
        self.pos = pos.to(torch.int64)
        self.crd = crd if crd.dtype in (torch.int32, torch.int64) else crd.to(torch.int32)
        self.once = pattern.once
        #: is everything stored?
        self.full = len(self.crd) == self.lead.numel() * self.queries * self.keys
        #: where the elements of each matrix start, and the end of all
        self.starts = self.pos[:: self.queries].tolist() if self.queries else [0] * (self.lead.numel() + 1)
        self._patterns = {}
        self.decoded = None  # of from_row(), what it found last

    @functools.cached_property
    def narrow_crd(self):
        return self.crd.to(torch.int32)  # there are fewer keys than that: they stand in memory

    def values(self, values):
        """One value for each slot of the pattern, in the order of the rows; differentiable."""
        return values if self.slot is None else values.index_select(0, self.slot)

    def places(self, matrix):
        """(row, column) of each element of one matrix."""
        pos = self._pos(matrix, 0, self.queries)
        row = torch.arange(self.queries).repeat_interleave(pos.diff())
        return row, self.crd[self.starts[matrix] : self.starts[matrix + 1]].to(torch.int64)

    def which(self, shape, lead=None):
        """The matrix of each of the products of an attention whose dimensions in front are `shape`; lead: those of the matrices."""
        return self.known("_find_which", fixed(*shape), tuple(self.lead if lead is None else lead))

    def _find_which(self, shape, lead):
        return torch.arange(math.prod(lead)).reshape(lead).expand(shape).reshape(-1).tolist()

    def tasks(self, shape):
        """All of them, for dimensions `shape` in front."""
        return self.known("_find_tasks", fixed(*shape))

    def _find_tasks(self, shape):
        return list(self._made(torch.Size(shape)))

    def _made(self, shape):
        which, total = self.which(shape), shape.numel()
        if not total:
            return
        stored = sum(self.starts[p + 1] - self.starts[p] for p in which)
        together = TOGETHER * total // max(stored, 1)
        if self.keys:
            together = min(together, ((1 << 31) - 1) // self.keys)
        together = _aligned(max(together, 1), self._period(shape), total)
        for start in range(0, total, together):
            members = tuple(which[start : start + together])
            for first, last in self._cuts(members):
                key = members, first, last
                if key not in self._patterns:
                    self._patterns[key] = self._diagonal(*key)
                before = int(self.pos[members[0] * self.queries + first]) - self.starts[members[0]]
                pattern, low = self._patterns[key]
                high = self.keys if len(members) > 1 else low + pattern.shape[1]
                yield Task(start, len(members), first, last, pattern, before, low, high)

    def _period(self, shape):
        """After so many products the same matrices come again."""
        own = (1,) * (len(shape) - len(self.lead)) + tuple(self.lead)
        outermost = next((d for d, extent in enumerate(own) if extent != 1), len(own))
        return math.prod(shape[outermost:])

    def _cuts(self, members):
        (first, *others), queries = members, self.queries
        stored = self.starts[first + 1] - self.starts[first]
        if others or stored <= AT_ONCE:
            return [(0, queries)]
        pos = self._pos(first, 0, queries)
        ends = torch.searchsorted(pos, torch.arange(AT_ONCE, stored, AT_ONCE), right=True) - 1
        ends = sorted({0, queries, *ends.clamp(min=1).tolist()})
        return list(zip(ends, ends[1:]))

    def _pos(self, matrix, first, last):
        pos = self.pos[matrix * self.queries + first : matrix * self.queries + last + 1]
        return pos - pos[0] if len(pos) else pos.new_zeros(1)

    def _diagonal(self, members, first, last):
        ends, crds, used = [torch.zeros(1, dtype=torch.int64)], [], 0
        for n, matrix in enumerate(members):
            pos = self._pos(matrix, first, last)
            start = int(self.pos[matrix * self.queries + first])
            crd = self.crd[start : start + int(pos[-1])]
            ends.append(pos[1:] + used)
            crds.append(crd + n * self.keys if n else crd)
            used += int(pos[-1])
        crd, low, columns = crds[0] if len(crds) == 1 else torch.cat(crds), 0, len(members) * self.keys
        if last - first < self.queries and len(crd):  # what lies beside it takes no part in the gradient of the keys
            low, high = int(crd.min()), int(crd.max()) + 1
            crd, columns = crd - low, high - low
        return rows_pattern(torch.cat(ends), crd, (len(members) * (last - first), columns)), low


def _aligned(together, period, total):
    """At most so many together, but always the same ones: a divisor of the period, or some whole periods."""
    together = min(together, total) or 1
    if together >= period:
        return together - together % period
    return max(d for d in range(1, together + 1) if period % d == 0)


def by_rows(pattern):
    """The Rows of a pattern of two or more dimensions, worked out once."""
    return pattern.derived("by rows", Rows)


def fixed(*numbers):
    """The same numbers, which graphs are made for: torch.compile makes another graph for others."""
    return tuple(len(range(n)) for n in numbers)


def index_type(extent):
    """Of numbers up to this one."""
    return torch.int32 if extent < 1 << 31 else torch.int64


def normal_format(rank):
    """CSR, matrix after matrix."""
    names = [f"d{n}" for n in range(rank - 2)] + ["i", "j"]
    levels = [f"{name} : dense" for name in names[:-1]] + ["j : compressed"]
    return Format(f"({', '.join(names)}) -> ({', '.join(levels)})")


def rows_pattern(pos, crd, shape):
    """The Pattern of this shape in CSR, matrix after matrix: pos of all rows, columns that ascend within a row (unchecked)."""
    format, k = normal_format(len(shape)), len(shape) - 1
    pos, crd = unwrapped(pos), unwrapped(crd)
    with lasting():
        pos, crd = pos.to(index_type(len(crd))).contiguous(), crd.contiguous()
        ones = torch.ones(1).expand(len(crd))
        made = Tensor(str(format), tuple(shape), pos={k: pos}, crd={k: crd}, values=ones, check=False)
        return Pattern(made, index=(pos, crd))


def unwrapped(x):
    """The tensor below the transforms of torch.func, without a gradient. Unsupported where vmap has one for each of a batch."""
    while _inner.is_functorch_wrapped_tensor(x):
        if not _inner.is_gradtrackingtensor(x):
            raise Unsupported(
                "a pattern is one for all calls of a vmap",
                expected="a pattern that does not depend on the batch",
                got="one for each",
                fix="attention of a batch without vmap: patterns have batches as well",
            )
        x = _inner.get_unwrapped(x)
    return x.detach() if x.requires_grad else x
