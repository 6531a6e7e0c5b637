"""Which keys a query looks at: patterns of attention, `stt.patterns.local(4096, distance=128)`.

Each is a Pattern of (queries, keys), made from its coordinates and never by way of a dense mask. Sizes of several dimensions mean
places of a grid, numbered row by row, as images and videos are.
"""

import itertools
import math

import torch

import strata as st

from ..errors import ArgumentError
from ._attention_inputs import Found, alike_pattern, causal_pattern, mask_pattern, resolved
from ._attention_rows import by_rows, fixed, index_type, normal_format, rows_pattern
from ._broadcast import broadcast_shapes
from ._pattern import Once, Pattern
from ._sparsifiers import Sparsifier
from ._tensor import Tensor

__all__ = [
    "Routing",
    "axial",
    "causal",
    "dilated",
    "from_block_mask",
    "from_mask",
    "intersection",
    "local",
    "random",
    "swin",
    "union",
]


def causal(queries, keys=None, offset=0):
    """Each query looks at the keys up to its own place, or up to `offset` places further.

        stt.patterns.causal(128)

    A negative offset: not as far."""
    keys = queries if keys is None else keys
    count = (torch.arange(queries) + 1 + offset).clamp(0, keys)
    return _runs(torch.zeros_like(count), count, (queries, keys))


def local(*sizes, distance, p=2.0, causal=False):
    """Places of a grid less than `distance` apart, in the p-norm. A line has `2 * distance - 1` of them; `causal=True` leaves out
    those that come later.

        stt.patterns.local(4096, distance=128)
        stt.patterns.local(16, 16, distance=3, p=float("inf"))  # squares of 5 x 5

    At the edges there are fewer."""
    reach = math.ceil(distance) - 1
    if len(sizes) == 1:
        at = torch.arange(sizes[0])
        first, last = (at - reach).clamp(min=0), (at + (0 if causal else reach)).clamp(max=sizes[0] - 1)
        return _runs(first, last - first + 1 if reach >= 0 else torch.zeros_like(at), (sizes[0], sizes[0]))
    steps = [
        step
        for step in itertools.product(*(range(-min(reach, s - 1), min(reach, s - 1) + 1) for s in sizes))
        if _norm(step, p) < distance and (not causal or step <= (0,) * len(sizes))
    ]
    return _steps(sizes, steps)


def axial(*sizes):
    """Places of a grid that differ in one coordinate at most.

        stt.patterns.axial(16, 16)

    Of an image its row and its column."""
    steps = {(0,) * len(sizes)}
    for d, size in enumerate(sizes):
        steps |= {(0,) * d + (step,) + (0,) * (len(sizes) - d - 1) for step in range(1 - size, size)}
    return _steps(sizes, sorted(steps))


def dilated(size, window, dilation, causal=False):
    """On a line, `window` keys around the query that lie `dilation` apart; with `causal=True` the last `window` of them.

        stt.patterns.dilated(4096, window=9, dilation=4)

    The query's own place is one of them."""
    before = window - 1 if causal else window // 2
    return _steps((size,), [(step * dilation,) for step in range(-before, window - before)])


def swin(height, width, window_size, shift_size=0):
    """Places of a grid in the same square of `window_size`; the first whole square starts at `shift_size`, in both dimensions (Swin
    transformers shift by half a window in every other layer). What is left at the edges are windows of their own.

        stt.patterns.swin(14, 14, window_size=7, shift_size=3)

    ArgumentError for a shift that is no part of a window."""
    if not 0 <= shift_size < window_size:
        raise ArgumentError(
            "a window is shifted by a part of itself", expected=f"0 to {window_size - 1}", got=str(shift_size)
        )
    rows, columns = ((torch.arange(size) - shift_size) // window_size + 1 for size in (height, width))
    across = width // window_size + 2
    window = (rows[:, None] * across + columns).reshape(-1)
    return alike_pattern(window, window)


def random(queries, keys, density, generator=None):
    """For each query a random share of the keys, as many for each: the same for the same generator (a torch.Generator, or a seed).

        stt.patterns.random(512, 512, 0.05, generator=0)

    ArgumentError for a density that is no share."""
    if not 0 <= density <= 1:
        raise ArgumentError("a density is a share of the keys", expected="0 to 1", got=str(density))
    each = round(density * keys)
    crd = _some(queries, keys, each, generator).sort(1).values
    return rows_pattern(torch.arange(queries + 1) * each, crd.reshape(-1).to(index_type(keys)), (queries, keys))


def from_mask(mask, format=None):
    """Where a boolean mask is True, (L, S) or (heads, L, S); dense, an stt.Tensor or one of torch's sparse tensors. In CSR, matrix
    after matrix, or in a `format`.

        stt.patterns.from_mask(torch.ones(8, 8, dtype=torch.bool).tril())

    ArgumentError for a mask that is not boolean."""
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        raise ArgumentError("a mask is a tensor of truth values", expected="torch.bool", got=_dtype_of(mask))
    found = resolved(mask, mask, mask, mask)
    if format is None:
        format = normal_format(mask.dim())
    elif isinstance(format, str):
        format = st.Format(format, mask.dim())
    if found.format == format:
        return found
    return Tensor(torch.ones(1).expand(found.num_values), found).to(format, zeros="keep").pattern


def from_block_mask(mask, block, shape=None):
    """Blocks of keys for blocks of queries: where a boolean (or 0/1) mask of blocks, (L / block, S / block) or with heads in front,
    is set. `block`: an extent, or (rows, columns); `shape`: (L, S), where the last blocks are cut. In BSR.

        layout = stt.BigBirdSparsityConfig(num_heads=4).make_layout(1000)
        pattern = stt.patterns.from_block_mask(layout, 16, shape=(1000, 1000))

    ArgumentError for a shape of more blocks, or fewer."""
    r, c = (block, block) if isinstance(block, int) else block
    mask = torch.as_tensor(mask) != 0
    *lead, rows, columns = mask.shape
    length, keys = shape or (rows * r, columns * c)
    if (-(-length // r), -(-keys // c)) != (rows, columns):
        raise ArgumentError(
            "the blocks do not fit the shape",
            expected=f"{-(-length // r)} x {-(-keys // c)} blocks of {r} x {c}",
            got=f"{rows} x {columns}",
        )
    blocks = mask_pattern(mask)
    names = "abcdefgh"[: len(lead)]
    levels = [f"{name} : dense" for name in names]
    levels += [f"i / {r} : dense", f"j / {c} : compressed", f"i % {r} : dense", f"j % {c} : dense"]
    format = f"({', '.join((*names, 'i', 'j'))}) -> ({', '.join(levels)})"
    return _of_arrays(format, (*lead, length, keys), len(lead) + 1, blocks.index, r * c * len(blocks.index[1]))


def union(*patterns):
    """What is in any of these patterns of one shape.

        stt.patterns.union(stt.patterns.local(64, distance=4), stt.patterns.random(64, 64, 0.1))

    ArgumentError for several shapes."""
    return _combined(patterns, 1)


def intersection(*patterns):
    """What is in all of these patterns of one shape.

        stt.patterns.intersection(stt.patterns.axial(8, 8), stt.patterns.causal(64))

    ArgumentError for several shapes."""
    return _combined(patterns, len(patterns))


class Routing(Sparsifier, Once):
    """A sparsifier of attention: a query looks at the keys of its own cluster, found anew in each forward from the directions of
    queries and keys (the routing transformer: Roy, Saffar, Vaswani, Grangier, 2021).

        q, k, v = (torch.randn(2, 4, 64, 16) for _ in range(3))
        y = stt.attention(q, k, v, stt.patterns.Routing(num_clusters=8))

    num_clusters : on average each holds length / num_clusters places.
    iterations : steps of spherical k-means over queries and keys together, started from `num_clusters` of them.
    causal : leave out the keys that come later.
    generator : of the places that it starts from, a torch.Generator or a seed; otherwise torch's own.
    Which pairs are chosen has no gradient. Subclasses may change assign().
    """

    in_graph = True

    def __init__(self, num_clusters=8, iterations=3, causal=False, generator=None):
        self.num_clusters, self.iterations, self.causal, self.generator = num_clusters, iterations, causal, generator

    def assign(self, q, k):
        """(the cluster of each query, of each key), numbers below num_clusters; q: (n, L, E), k: (n, S, E), directions."""
        both = torch.cat([q, k], 1)
        n, places, _ = both.shape
        start = self._start(places)
        centres = both[:, start]
        for _ in range(self.iterations):
            cluster = (both @ centres.transpose(1, 2)).argmax(-1)
            sums = torch.zeros_like(centres).scatter_add_(1, cluster[..., None].expand_as(both), both)
            empty = (sums == 0).all(-1, keepdim=True)
            centres = torch.where(empty, centres, torch.nn.functional.normalize(sums, dim=-1))
        cluster = (both @ centres.transpose(1, 2)).argmax(-1)
        return cluster[:, : q.shape[1]], cluster[:, q.shape[1] :]

    def _start(self, places):
        """Some of so many, from which clusters start: those of a seed always the same."""
        if isinstance(self.generator, int):
            return self.known("_find_start", *fixed(places))
        return self._find_start(places)

    def _find_start(self, places):
        return _some(1, places, min(self.num_clusters, places), self.generator)[0]

    def pattern(self, x=None, *, q, k, v=None):
        """The Pattern, (..., L, S), with the dimensions in front of q and k."""
        lead = broadcast_shapes(q.shape[:-2], k.shape[:-2])
        with torch.no_grad():
            q, k = (
                torch.nn.functional.normalize(y.detach().expand(*lead, *y.shape[-2:]).float(), dim=-1) for y in (q, k)
            )
            q, k = (y.reshape(-1, *y.shape[-2:]) for y in (q, k))
            of_q, of_k = self.assign(q, k)
        shape = (*lead, q.shape[1], k.shape[1])
        if torch.compiler.is_compiling():
            found = Found("alike", shape, of_q, of_k)
            return found.causal() if self.causal else found
        found = alike_pattern(of_q, of_k, shape)
        return causal_pattern(found) if self.causal else found


# How they are made


def _runs(first, count, shape):
    """For each query the keys first .. first + count - 1."""
    pos = torch.cat([count.new_zeros(1), count.cumsum(0)])
    crd = torch.arange(int(pos[-1])) + (first - pos[:-1]).repeat_interleave(count)
    return rows_pattern(pos, crd.to(index_type(shape[-1])), shape)


def _steps(sizes, steps):
    """On a grid, the places that lie these steps away, given in the order of their numbers."""
    total = math.prod(sizes)
    steps = torch.tensor(steps, dtype=torch.int64).reshape(-1, len(sizes))
    places = torch.stack([x.reshape(-1) for x in torch.meshgrid(*(torch.arange(s) for s in sizes), indexing="ij")])
    inside = torch.ones(total, len(steps), dtype=torch.bool)
    away = torch.zeros(len(steps), dtype=torch.int64)
    for d, size in enumerate(sizes):
        there = places[d][:, None] + steps[:, d]
        inside &= (there >= 0) & (there < size)
        away = away * size + steps[:, d]
    away, order = away.sort()
    inside = inside[:, order]
    crd = (torch.arange(total)[:, None] + away)[inside]
    pos = torch.cat([away.new_zeros(1), inside.sum(1).cumsum(0)])
    return rows_pattern(pos, crd.to(index_type(total)), (total, total))


def _norm(step, p):
    sizes = [abs(s) for s in step]
    if p == math.inf:
        return max(sizes)
    return sum(s != 0 for s in sizes) if p == 0 else sum(s**p for s in sizes) ** (1 / p)


def _some(rows, of, each, generator):
    """For each of so many rows `each` different numbers below `of`, (rows, each)."""
    if isinstance(generator, int):
        generator = torch.Generator().manual_seed(generator)
    found = torch.empty(rows, each, dtype=torch.int64)
    at_once = max(1, (1 << 22) // max(of, 1))  # draws that exist at a time
    for first in range(0, rows, at_once):
        n = min(at_once, rows - first)
        found[first : first + n] = torch.rand(n, of, generator=generator).topk(each, 1).indices
    return found


def _combined(patterns, times):
    shapes = {tuple(p.shape) for p in patterns}
    if len(shapes) != 1:
        raise ArgumentError("patterns are combined in one shape", expected="one", got=", ".join(map(str, shapes)))
    (shape,) = shapes
    flat, found = torch.cat([_flat(by_rows(p)) for p in patterns]).unique(return_counts=True)
    flat = flat[found >= times]
    rows = torch.bincount(flat // max(shape[-1], 1), minlength=math.prod(shape[:-1]))
    pos = torch.cat([rows.new_zeros(1), rows.cumsum(0)])
    return rows_pattern(pos, (flat % max(shape[-1], 1)).to(index_type(shape[-1])), shape)


def _flat(rows):
    return torch.arange(len(rows.pos) - 1).repeat_interleave(rows.pos.diff()) * rows.keys + rows.crd


def _of_arrays(format, shape, level, index, slots):
    """The Pattern of a format with one compressed level, whose arrays are right by construction."""
    pos, crd = index
    ones = torch.ones(1).expand(slots)
    made = st.Tensor(format, shape, pos={level: pos}, crd={level: crd}, values=ones, check=False)
    return Pattern(made, index=index)


def _dtype_of(x):
    return str(x.dtype) if isinstance(x, torch.Tensor) else type(x).__name__
