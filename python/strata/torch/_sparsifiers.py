"""Which elements of a tensor stay: a sparsifier is called with the tensor and returns a boolean mask of its shape.

Sparsifiers are of three kinds (Ivanov et al., STen). Streaming ones look at each element alone, blocking ones at a block, so that
one pass is enough and nothing is kept beside it; materializing ones compare all elements.
"""

import dataclasses
import inspect
import math

import torch

from ..errors import ArgumentError, Unsupported
from ._pattern import Pattern
from ._streams import chosen, stretches


class Sparsifier:
    """What stays of a tensor. For one of your own, write `pattern`:

        class AboveMean(stt.Sparsifier):
            def pattern(self, x, **site):
                return x.abs() > x.abs().mean()

        assert AboveMean()(torch.tensor([1.0, -5.0, 2.0])).tolist() == [False, True, False]

    kind : "streaming", "blocking" or "materializing".
    grad : the gradient of what was sparsified, where nobody says otherwise; see stt.sparsify.
    in_graph : can torch.compile follow pattern()? Then an attention that it decides is a part of the graph.
    """

    kind = "materializing"
    grad = "stored"
    in_graph = False
    #: what a model has to tell of a layer before its weight is pruned: "gram", or nothing; see stt.sparsify_
    wants = ()

    def pattern(self, x, **site):
        """A boolean mask of x's shape, or an stt.Pattern: what stays of the dense tensor x. `site`: what is known where x stands
        (gram= of a layer's inputs; q=, k=, v= at attention)."""
        raise Unsupported(
            f"{type(self).__name__} does not say what stays",
            expected="a method pattern(self, x, **site), or register_sparsifier",
            got="neither",
        )

    def __call__(self, x, **site):
        found = mask_of(self.pattern(x, **site))
        if found.shape != x.shape:
            raise ArgumentError(
                "a sparsifier answers for every element", expected=str(tuple(x.shape)), got=str(tuple(found.shape))
            )
        return found

    def prune(self, x, **site):
        """(mask, tensor): what stays of x, and x as it is now. Most sparsifiers leave it as it is."""
        return self(x, **site), x

    def stream(self, x, **site):
        """What stays, as (row-major numbers, values) of one stretch after the other. x: a dense tensor or Stretches."""
        mask, found = self.prune(x if isinstance(x, torch.Tensor) else x.whole(), **site)
        mask = mask.reshape(-1)
        for begin, stretch in stretches(found):
            yield chosen(stretch, mask[begin : begin + stretch.numel()], begin)

    def over(self, tensors):
        """A sparsifier for each of several tensors of one model."""
        return [self] * len(tensors)


def mask_of(found):
    """What pattern() returned, as a mask: truth values, numbers that are not 0, a Pattern, or what an stt.Tensor stores (of truth
    values: where they are True)."""
    pattern = found if isinstance(found, Pattern) else getattr(found, "pattern", None)
    if pattern is None:
        return found if found.dtype == torch.bool else found != 0
    if found is not pattern and found.dtype == torch.bool:
        return found.to_dense()
    return pattern.scatter(torch.ones(pattern.num_values)) > 0


class _Given(Sparsifier):
    """A mask or a Pattern that is there already."""

    def __init__(self, mask):
        self.mask = mask

    def __repr__(self):
        return repr(self.mask) if isinstance(self.mask, Pattern) else "a mask"

    def pattern(self, x, **site):
        """The same of every tensor."""
        return self.mask


class _Function(Sparsifier):
    """A function of a tensor that returns a mask; it is told of the site what it has parameters for."""

    def __init__(self, f, owner=None):
        self.f = f
        self.__dict__.update({name: getattr(owner, name) for name in ("format", "grad") if hasattr(owner, name)})
        try:
            named = inspect.signature(f).parameters.values()
            self.told = None if any(p.kind == p.VAR_KEYWORD for p in named) else {p.name for p in named}
        except ValueError:
            self.told = set()

    def pattern(self, x, **site):
        """A mask of what stays."""
        return self.f(x, **{name: said for name, said in site.items() if self.told is None or name in self.told})


def as_sparsifier(given):
    """A Sparsifier of what a caller hands over: one, a class of one that takes no arguments, a function of a tensor that returns a
    mask, another object with a method pattern(x, **site), a mask, a Pattern, or None (all but zeros). What is none of these comes back as
    it is. ArgumentError."""
    given = instance(given)
    if isinstance(given, Sparsifier):
        return given
    if isinstance(given, (torch.Tensor, Pattern)):
        return _Given(given)
    if callable(getattr(given, "pattern", None)):
        return _Function(given.pattern, given)
    return _Function(given) if callable(given) else given


def instance(given):
    """What was handed over, of a class an instance. ArgumentError where that needs arguments."""
    if given is None:
        return KeepAll()
    if not isinstance(given, type):
        return given
    try:
        return given()
    except TypeError as e:
        raise ArgumentError(
            f"{given.__name__} needs arguments",
            expected="a sparsifier, or a class that is made without arguments",
            got=str(e),
            fix=f"write {given.__name__}(...)",
        ) from None


class _ByStretch(Sparsifier):
    """keep(stretch, begin) says what stays of whole slices of x (of a flat one: of any elements that follow each other)."""

    flat, unit = True, 1

    def keep(self, stretch, begin):
        raise NotImplementedError

    def _stretches(self, x):
        x = stretches(x)
        return x.flat() if self.flat else x.by(self.unit)

    def pattern(self, x, **site):
        """A mask of what stays."""
        if torch.compiler.is_compiling():
            return self.keep(x, 0)
        found = [self.keep(stretch, begin).reshape(-1) for begin, stretch in self._stretches(x)]
        return torch.cat(found).reshape(x.shape) if found else torch.zeros(x.shape, dtype=torch.bool)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        for begin, stretch in self._stretches(x):
            yield chosen(stretch, self.keep(stretch, begin), begin)


@dataclasses.dataclass(frozen=True)
class KeepAll(_ByStretch):
    """Everything but zeros.

    assert stt.KeepAll()(torch.tensor([0.0, 2.0])).tolist() == [False, True]
    """

    kind = "streaming"

    def keep(self, stretch, begin):
        """What is not 0."""
        return stretch != 0


@dataclasses.dataclass(frozen=True)
class Threshold(_ByStretch):
    """What is larger than `threshold`, whatever its sign.

    assert stt.Threshold(1)(torch.tensor([0.5, -2.0])).tolist() == [False, True]
    """

    threshold: float
    kind = "streaming"

    def keep(self, stretch, begin):
        """What is larger."""
        return stretch.abs() > self.threshold


@dataclasses.dataclass(frozen=True)
class Random(_ByStretch):
    """A random share `density` of elements or blocks; the same for the same generator or seed. Elements are chosen by stretches,
    so that each of them has exactly its share, and one pass is enough.

        assert stt.Random(0.25)(torch.ones(8, 8)).sum() == 16
    """

    density: float
    block: tuple = ()
    generator: object = None

    @property
    def kind(self):
        """Streaming; of blocks: materializing."""
        return "materializing" if self.block else "streaming"

    def keep(self, stretch, begin):
        """A random choice of this stretch's share."""
        _check_density(self.density)
        count = round(self.density * (begin + stretch.numel())) - round(self.density * begin)
        kept = torch.zeros(stretch.numel(), dtype=torch.bool)
        kept[torch.randperm(stretch.numel(), generator=self.generator)[:count]] = True
        return kept.reshape(stretch.shape)

    def pattern(self, x, **site):
        """A mask of what stays."""
        if not self.block:
            return super().pattern(x, **site)
        return largest(torch.rand(x.shape, generator=self.generator) + 1e-3, self.density, self.block)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        return Sparsifier.stream(self, x, **site) if self.block else super().stream(x, **site)


@dataclasses.dataclass(frozen=True)
class Magnitude(Sparsifier):
    """The share `density` of elements, or of blocks of `block` by their 2-norm, that are largest. A block of two extents is one
    of outputs and inputs, at each place of a convolution's kernel. With scope="global" sparsify_ compares the elements of all
    weights that it changes, so that each keeps another share.

        assert stt.Magnitude(0.5)(torch.tensor([3.0, -1.0, 0.0, -4.0])).tolist() == [True, False, False, True]
    """

    density: float
    block: tuple = ()
    scope: str = "tensor"

    def __post_init__(self):
        if self.scope not in ("tensor", "global"):
            raise ArgumentError("scope= of another kind", expected="'tensor' or 'global'", got=repr(self.scope))

    def pattern(self, x, **site):
        """A mask of what stays."""
        return largest(sizes(x), self.density, self.block)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        return self._chosen([x])[0].stream(x)

    def over(self, tensors):
        """One for each tensor; of scope "global" they compare all of them."""
        return self._chosen(tensors) if self.scope == "global" else super().over(tensors)

    def _chosen(self, tensors):
        _check_density(self.density)
        grids = [_Blocks(stretches(x), self.block) for x in tensors]
        starts = [0]
        for grid in grids:
            starts.append(starts[-1] + grid.count)
        told = ((start + begin, size) for grid, start in zip(grids, starts) for begin, size in grid.sizes())
        numbers = _top(told, round(self.density * starts[-1]))
        cuts = torch.searchsorted(numbers, torch.tensor(starts)).tolist()
        return [_These(numbers[a:b] - start, self.block) for a, b, start in zip(cuts, cuts[1:], starts)]


@dataclasses.dataclass(frozen=True)
class NM(_ByStretch):
    """The n largest of each m that follow one another along the inputs: the last dimension of a matrix, the second of the
    weight of a convolution. With `permute` sparsify_ first looks for an order of the model's channels that keeps more (see
    stt.permute_channels_).

        assert stt.NM(2, 4)(torch.tensor([[1.0, -3.0, 2.0, 0.5]])).tolist() == [[False, True, True, False]]
    """

    n: int
    m: int
    permute: bool = False
    kind, flat = "blocking", False

    def __post_init__(self):
        if not 0 < self.n <= self.m:
            raise ArgumentError("n of m are chosen", expected="0 < n <= m", got=f"{self.n} of {self.m}")

    @property
    def format(self):
        """The format that stores these elements and no others."""
        return f"structured({self.n}, {self.m})"

    def keep(self, stretch, begin):
        """The n largest of each m, of whole slices."""
        return _n_of_m(sizes(stretch), self.n, self.m)

    def pattern(self, x, **site):
        """A mask of what stays."""
        return super().pattern(x, **site) if x.dim() > 1 else self.keep(x, 0)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        return super().stream(x, **site) if len(x.shape) > 1 else Sparsifier.stream(self, x, **site)


@dataclasses.dataclass(frozen=True)
class GroupedNM(_ByStretch):
    """n of each m inputs, the same for `g` outputs that follow one another: those with the largest sums of magnitudes (n:m:g). Fewer
    coordinates are stored than for n:m, and a kernel reads each input once for g outputs. `permute`: as for stt.NM; outputs that
    want the same inputs come together.

        x = torch.tensor([[1.0, -3.0, 2.0, 0.5], [9.0, 0.0, 2.0, 0.5]])
        assert stt.GroupedNM(1, 4, 2)(x).nonzero().tolist() == [[0, 0], [1, 0]]
    """

    n: int
    m: int
    g: int
    permute: bool = False
    kind, flat = "blocking", False

    def __post_init__(self):
        if not 0 < self.n <= self.m or self.g < 1:
            got = f"{self.n} of {self.m}, {self.g} at once"
            raise ArgumentError("n of m are chosen, for g outputs", expected="0 < n <= m, 0 < g", got=got)

    @property
    def format(self):
        """The format that stores these elements, and each group's coordinates once."""
        n, m, g = self.n, self.m, self.g
        return f"(i, j) -> (i / {g} : dense, j / {m} : dense, j % {m} : structured({n}), i % {g} : dense)"

    @property
    def unit(self):
        """A group of outputs is not cut."""
        return self.g

    def keep(self, stretch, begin):
        """The inputs with the largest sums, of whole groups of outputs."""
        if stretch.dim() < 2:
            return _n_of_m(sizes(stretch), self.n, self.m)
        size = sizes(stretch)
        padded = torch.nn.functional.pad(size, (*(0, 0) * (size.dim() - 1), 0, -len(size) % self.g))
        groups = padded.reshape(len(padded) // self.g, self.g, *size.shape[1:]).sum(1)
        return _n_of_m(groups, self.n, self.m).repeat_interleave(self.g, 0)[: len(size)]

    def pattern(self, x, **site):
        """A mask of what stays."""
        return super().pattern(x, **site) if x.dim() > 1 else self.keep(x, 0)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        return super().stream(x, **site) if len(x.shape) > 1 else Sparsifier.stream(self, x, **site)


class SameFormat(Sparsifier):
    """The elements that another tensor stores: what operations in place leave of their result (STen).

    A = stt.from_torch(torch.tensor([[0.0, 2.0]]))
    assert stt.SameFormat(A)(torch.tensor([[5.0, 6.0]])).tolist() == [[False, True]]
    """

    def __init__(self, ref):
        self.ref = ref

    def pattern(self, x, **site):
        """What `ref` stores."""
        return getattr(self.ref, "pattern", None) or self.ref != 0


class _These(Sparsifier):
    """Elements, or blocks, with these row-major numbers, which ascend."""

    def __init__(self, numbers, block=()):
        self.numbers, self.block = numbers, block

    def pattern(self, x, **site):
        """A mask of what stays."""
        masks = [mask.reshape(-1) for _, _, mask in self._masks(stretches(x))]
        return torch.cat(masks).reshape(x.shape) if masks else torch.zeros(x.shape, dtype=torch.bool)

    def stream(self, x, **site):
        """What stays, stretch by stretch."""
        if self.block:
            for begin, stretch, mask in self._masks(stretches(x)):
                yield chosen(stretch, mask, begin)
            return
        for begin, stretch in stretches(x):
            a, b = torch.searchsorted(self.numbers, torch.tensor([begin, begin + stretch.numel()])).tolist()
            at = self.numbers[a:b]
            yield at, stretch.reshape(-1).index_select(0, at - begin)

    def _masks(self, x):
        grid = _Blocks(x, self.block)
        for begin, first, stretch, counts in grid.stretches():
            last = first + math.prod(counts)
            a, b = torch.searchsorted(self.numbers, torch.tensor([first, last])).tolist()
            mask = torch.zeros(last - first, dtype=torch.bool)
            mask[self.numbers[a:b] - first] = True
            yield begin, stretch, grid.of_elements(mask.reshape(counts), stretch.shape)


class _Blocks:
    """The blocks of a tensor, numbered in row-major order; without `block` each element is one."""

    def __init__(self, x, block):
        self.block = extents(block, len(x.shape)) if block else ()
        self.x = x.by(self.block[0]) if block else x.flat()
        of = self.block or (1,) * len(x.shape)
        self.count = math.prod(-(-e // b) for e, b in zip(x.shape, of))

    def stretches(self):
        """(number of the first element, of the first block, stretch, blocks in each dimension)."""
        first = 0
        for begin, stretch in self.x:
            counts = tuple(-(-e // b) for e, b in zip(stretch.shape, self.block)) if self.block else stretch.shape
            yield begin, first, stretch, counts
            first += math.prod(counts)

    def sizes(self):
        """(number of the first block, what each block is worth)."""
        for _, first, stretch, _ in self.stretches():
            size = sizes(stretch)
            yield first, (block_sums(size.square(), self.block) if self.block else size).reshape(-1)

    def of_elements(self, mask, shape):
        """A mask of blocks as one of elements."""
        for d, b in enumerate(self.block):
            mask = mask.repeat_interleave(b, d)
        return mask.reshape(shape) if not self.block else mask[tuple(slice(e) for e in shape)]


def _top(told, count):
    """The numbers, ascending, of the `count` largest of a stream of (first number, sizes); about twice as many are kept."""
    best, at, there, bound = [], [], 0, None
    for first, size in told if count > 0 else ():
        if bound is None:
            new = torch.arange(first, first + len(size))
        else:  # NaN counts as largest
            new, size = chosen(size, ~(size <= bound), first)
        best.append(size)
        at.append(new)
        there += len(new)
        if there >= 2 * count:
            found, order = torch.cat(best).topk(count, sorted=False)
            best, at, there, bound = [found], [torch.cat(at)[order]], count, found.min()
    if not there:
        return torch.empty(0, dtype=torch.int64)
    order = torch.cat(best).topk(min(count, there), sorted=False).indices
    return torch.cat(at)[order].sort().values


def sizes(x):
    """Magnitudes that can be compared and added."""
    x = x.detach()
    if not (x.is_floating_point() or x.is_complex()):
        return x.double().abs()
    return x.float().abs() if x.dtype in (torch.float16, torch.bfloat16) else x.abs()


def _n_of_m(size, n, m):
    """The n largest of each m along dimension 1 (of a vector: 0)."""
    if not size.numel():
        return torch.zeros(size.shape, dtype=torch.bool)
    along = min(1, size.dim() - 1)
    inputs = size.movedim(along, -1)
    rows = inputs.reshape(-1, inputs.shape[-1])
    padded = torch.nn.functional.pad(rows, (0, -rows.shape[1] % m), value=-1)
    groups = padded.reshape(len(rows), -1, m)
    kept = torch.zeros_like(groups, dtype=torch.bool)
    kept.scatter_(-1, groups.topk(n, dim=-1).indices, True)
    return kept.reshape(padded.shape)[:, : rows.shape[1]].reshape(inputs.shape).movedim(-1, along)


def extents(block, rank):
    """A block of two extents, outputs and inputs, stands at each place of a convolution's kernel. ArgumentError."""
    block = (*block, *(1,) * (rank - 2)) if len(block) == 2 and rank > 2 else tuple(block)
    if len(block) != rank:
        raise ArgumentError("a block has as many extents as the weight", expected=str(rank), got=str(block))
    return block


def block_sums(x, block):
    """The sums over the blocks of a tensor."""
    pads = [p for extent, b in zip(reversed(x.shape), reversed(block)) for p in (0, -extent % b)]
    padded = torch.nn.functional.pad(x, pads)
    split = [n for extent, b in zip(padded.shape, block) for n in (extent // b, b)]
    return padded.reshape(split).sum(tuple(range(1, 2 * x.dim(), 2)))


def _check_density(density):
    if not 0 <= density <= 1:
        raise ArgumentError("a density is a share of the elements", expected="0 to 1", got=str(density))


def largest(size, density, block):
    """A mask of the share `density` of elements, or blocks by their 2-norm, with the largest sizes."""
    _check_density(density)
    size = size.detach()
    if not block:
        kept = torch.zeros(size.numel(), dtype=torch.bool)
        kept[size.reshape(-1).topk(round(density * size.numel())).indices] = True
        return kept.reshape(size.shape)
    block = extents(block, size.dim())
    kept = largest(block_sums(size.square(), block), density, ())
    for d, b in enumerate(block):
        kept = kept.repeat_interleave(b, d)
    return kept[tuple(slice(e) for e in size.shape)]
