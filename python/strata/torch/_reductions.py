"""Reductions over any dimensions: of the whole tensor, absent elements counted as zeros, as torch has them, and dense. softmax is
of the stored elements, and so are the extremes of spmm."""

import functools

import torch
import torch.nn.functional as F

from ..errors import TensorError
from ._matrix import implements, is_sparse
from ._tensor import Tensor

_T = torch.Tensor


class _Groups:
    """The stored elements of a tensor, put together where they differ in `dims` alone.

    values: one for each element, what parts of a sum both store added; of: the number of its group; at: its row-major place
    within the group. Of `count` groups each has `size` elements, of which missing() are absent."""

    def __init__(self, x, dim):
        self.dims = _dims(dim, x.dim())
        _, flat = x.pattern.places()
        self.values = x.pattern.in_range(x.values())
        if not x.pattern.once:
            flat, place = torch.unique(flat, return_inverse=True)
            self.values = self.values.new_zeros(len(flat)).index_add(0, place, self.values)
        self.kept = [1 if d in self.dims else e for d, e in enumerate(x.shape)]
        self.of, self.at = torch.zeros_like(flat), torch.zeros_like(flat)
        below = x.shape.numel()
        for d, extent in enumerate(x.shape):
            below //= max(extent, 1)
            coordinate = flat // max(below, 1) % max(extent, 1)
            if d in self.dims:
                self.at = self.at * extent + coordinate
            else:
                self.of = self.of * extent + coordinate
        self.count = torch.Size(self.kept).numel()
        self.size = torch.Size([x.shape[d] for d in self.dims]).numel()

    def sum(self, values):
        if self.count == 1:
            return values.sum(0, keepdim=True, dtype=values.dtype)
        return values.new_zeros(self.count).index_add(0, self.of, values)

    def number(self, which=None):
        """How many elements are stored in each group, or how many of those in the mask `which`."""
        return self.sum(torch.ones_like(self.of) if which is None else which.to(torch.int64))

    def missing(self):
        return self.size - self.number()

    def stored_extreme(self, values, largest):
        """Of the stored elements; 0 where there are none. The gradient is shared by equals."""
        # torch counts what was there before among the equals, even if it takes no part.
        before = values.new_full((self.count,), torch.nan if values.is_floating_point() else 0)
        y = before.scatter_reduce(0, self.of, values, "amax" if largest else "amin", include_self=False)
        return torch.where(self.number() > 0, y, 0)

    def extreme(self, values, largest):
        """Of all elements."""
        y = self.stored_extreme(values, largest)
        # (Not clamp: newer releases of torch give equals no gradient there.)
        return torch.where((self.missing() > 0) & (y < 0 if largest else y > 0), 0, y)

    def absent(self, group, n):
        """The place of the n-th absent element of a group."""
        start = self.number().cumsum(0) - self.number()
        key, order = (self.of * self.size + self.at).sort()
        of, at = self.of[order], self.at[order]
        before = at - (torch.arange(len(at)) - start[of])  # absent ones before each stored one
        key = of * (self.size + 1) + before
        return torch.searchsorted(key, group * (self.size + 1) + n, right=True) - start[group] + n

    def shaped(self, y, keepdim):
        return y.reshape(self.kept if keepdim else [e for d, e in enumerate(self.kept) if d not in self.dims])


def _dims(dim, rank):
    given = range(rank) if dim is None or dim == () or dim == [] else (dim,) if isinstance(dim, int) else dim
    dims = {d % max(rank, 1) for d in given}
    if len(dims) < len(given) or any(not -max(rank, 1) <= d < max(rank, 1) for d in given):
        raise TensorError("no such dimensions", expected=f"different ones of {rank}", got=str(dim))
    return sorted(dims) if rank else []


def _reduction(*names):
    """Registers f(x, ...) under these names of torch, torch.Tensor and torch.linalg. Its arguments may have NumPy's names."""
    places = (torch, _T, torch.linalg, torch.special)

    def note(f):
        @functools.wraps(f)
        def g(*args, **kwargs):
            for theirs, ours in (("axis", "dim"), ("keepdims", "keepdim"), ("input", "x")):
                if theirs in kwargs:
                    kwargs[ours] = kwargs.pop(theirs)
            x = args[0] if args else kwargs["x"]
            if kwargs.pop("out", None) is not None or not is_sparse(x):
                return NotImplemented
            return f(*args, **kwargs)

        return implements(*(getattr(p, name) for name in names for p in places if hasattr(p, name)))(g)

    return note


def _like_torch(x):
    """Has x an order, and elements at all? (Otherwise torch itself says what is wrong.)"""
    return not x.is_complex() and x.dtype != torch.bool and x.numel() > 0


@_reduction("sum")
def total(x, dim=None, keepdim=False, *, dtype=None):
    """Over all elements or over some dimensions."""
    g = _Groups(x, dim)
    exact = g.values.is_floating_point() or g.values.is_complex()
    return g.shaped(g.sum(g.values.to(dtype or (g.values.dtype if exact else torch.int64))), keepdim)


@_reduction("mean")
def mean(x, dim=None, keepdim=False, *, dtype=None):
    """The sum, divided by the number of all elements."""
    y = total(x, dim, keepdim, dtype=dtype)
    return y / (x.numel() // max(y.numel(), 1))


@_reduction("nansum")
def nansum(x, dim=None, keepdim=False, *, dtype=None):
    """The sum of what is not NaN."""
    return total(Tensor(torch.where(x.values().isnan(), 0, x.values()), x.pattern), dim, keepdim, dtype=dtype)


@_reduction("nanmean")
def nanmean(x, dim=None, keepdim=False, *, dtype=None):
    """The mean of what is not NaN."""
    g = _Groups(x, dim)
    return nansum(x, dim, keepdim, dtype=dtype) / g.shaped(g.size - g.number(g.values.isnan()), keepdim)


@_reduction("amax")
def amax(x, dim=(), keepdim=False):
    """The gradient is shared by all elements that are largest, absent ones too."""
    return _shared(_Groups(x, dim), keepdim, True) if _like_torch(x) else NotImplemented


@_reduction("amin")
def amin(x, dim=(), keepdim=False):
    """As amax."""
    return _shared(_Groups(x, dim), keepdim, False) if _like_torch(x) else NotImplemented


@_reduction("aminmax")
def aminmax(x, *, dim=None, keepdim=False):
    """Both."""
    if not _like_torch(x):
        return NotImplemented
    g = _Groups(x, dim)
    return torch.return_types.aminmax([_shared(g, keepdim, largest) for largest in (False, True)])


def _shared(g, keepdim, largest):
    y = g.extreme(g.values, largest)
    if y.is_floating_point():
        missing, equal = g.missing(), g.number(g.values == y[g.of])
        y = y * torch.where((y == 0) & (missing > 0), equal / (equal + missing), 1).to(y.dtype)
    return g.shaped(y, keepdim)


def _first(x, dim, keepdim, largest):
    """(values, places): of equal elements the first, which takes the gradient."""
    g = _Groups(x, dim)
    fixed = g.values.detach()
    y = g.extreme(fixed, largest)
    here = ((fixed == y[g.of]) | fixed.isnan()).nonzero()[:, 0]
    place = torch.full((g.count,), g.size).scatter_reduce(0, g.of[here], g.at[here], "amin")
    groups = torch.arange(g.count)
    absent = torch.where((y == 0) & (g.missing() > 0), g.absent(groups, torch.zeros_like(groups)), g.size)
    here = here[g.at[here] == place[g.of[here]]]
    chosen = torch.full((g.count,), -1).index_put((g.of[here],), here)
    chosen = torch.where(place < absent, chosen, -1)
    return g.shaped(_picked(g.values, chosen), keepdim), g.shaped(torch.minimum(place, absent), keepdim)


def _picked(values, chosen):
    """The values of these numbers, 0 for -1."""
    return torch.cat([values, values.new_zeros(1)])[chosen]


@_reduction("max")
def max_of(x, dim=None, keepdim=False):
    """Of all elements, as amax; over one dimension values and indices, of equal elements those of the first."""
    return _max_or_min(x, dim, keepdim, True)


@_reduction("min")
def min_of(x, dim=None, keepdim=False):
    """As max."""
    return _max_or_min(x, dim, keepdim, False)


def _max_or_min(x, dim, keepdim, largest):
    if not (dim is None or isinstance(dim, int)) or not _like_torch(x):
        return NotImplemented
    if dim is None:
        return _shared(_Groups(x, None), False, largest)
    found = _first(x, dim, keepdim, largest)
    return torch.return_types.max(found) if largest else torch.return_types.min(found)


@_reduction("argmax")
def argmax(x, dim=None, keepdim=False):
    """The index of the largest element, the first of equals."""
    return _first(x, dim, keepdim, True)[1] if _like_torch(x) else NotImplemented


@_reduction("argmin")
def argmin(x, dim=None, keepdim=False):
    """As argmax."""
    return _first(x, dim, keepdim, False)[1] if _like_torch(x) else NotImplemented


@_reduction("topk")
def topk(x, k, dim=-1, largest=True, sorted=True):
    """The k largest or smallest elements of a dimension, sorted, and their indices."""
    if not _like_torch(x) or not x.dim() or k > x.shape[dim]:
        return NotImplemented
    g = _Groups(x, dim)
    fixed = g.values.detach()
    order = fixed.argsort(descending=largest, stable=True)
    order = order[g.of[order].argsort(stable=True)]
    ahead = g.number(~(fixed <= 0) if largest else fixed < 0)[:, None]  # of zeros; a NaN is larger than all
    missing, start = g.missing()[:, None], (g.number().cumsum(0) - g.number())[:, None]
    n = torch.arange(k).expand(g.count, k)
    zero = (n >= ahead) & (n < ahead + missing)
    at = start + n - torch.where(n < ahead, 0, missing)
    chosen = torch.where(zero, -1, _picked(order, torch.where(zero, -1, at)))
    place = torch.where(zero, g.absent(torch.arange(g.count)[:, None].expand_as(n), n - ahead), _picked(g.at, chosen))
    shape = [e for d, e in enumerate(x.shape) if d not in g.dims] + [k]
    return torch.return_types.topk([y.reshape(shape).movedim(-1, dim) for y in (_picked(g.values, chosen), place)])


@_reduction("prod")
def prod(x, dim=None, keepdim=False, *, dtype=None):
    """Of all elements: absent ones make it a zero of its sign, or NaN where a factor is infinite or NaN."""
    if not (dim is None or isinstance(dim, int)):
        return NotImplemented
    g = _Groups(x, dim)
    exact = g.values.is_floating_point() or g.values.is_complex()
    values = g.values.to(dtype or (g.values.dtype if exact else torch.int64))
    full = (g.missing() == 0).nonzero()[:, 0]
    order = (g.of * g.size + g.at).argsort()
    order = order[(g.missing() == 0)[g.of[order]]]
    whole = values[order].reshape(len(full), g.size).prod(1)
    zeros = g.sum(values * 0)
    if values.is_floating_point():
        odd = g.number(values.signbit()) % 2 == 1
        zeros = torch.where(zeros.isnan(), zeros, torch.where(odd, -0.0, 0.0).to(zeros.dtype))
    return g.shaped(zeros.index_put((full,), whole), keepdim)


@_reduction("any")
def any_of(x, dim=None, keepdim=False):
    """Is some element not zero?"""
    g = _Groups(x, dim)
    return g.shaped(g.number(g.values != 0) > 0, keepdim).to(_truth(x))


@_reduction("all")
def all_of(x, dim=None, keepdim=False):
    """Is no element zero?"""
    g = _Groups(x, dim)
    return g.shaped(g.number(g.values != 0) == g.size, keepdim).to(_truth(x))


def _truth(x):
    return torch.uint8 if x.dtype == torch.uint8 else torch.bool


@_reduction("count_nonzero")
def count_nonzero(x, dim=None):
    """How many elements are not zero, as int64."""
    g = _Groups(x, dim)
    return g.shaped(g.number(g.values != 0), False)


@_reduction("var")
def var(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """As torch.var."""
    y = var_mean(x, dim, unbiased, keepdim, correction=correction)
    return y if y is NotImplemented else y[0]


@_reduction("std")
def std(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """As torch.std; the gradient is 0 where the result is."""
    y = var_mean(x, dim, unbiased, keepdim, correction=correction)
    return y if y is NotImplemented else _root(y[0], 2)


@_reduction("std_mean")
def std_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Both."""
    y = var_mean(x, dim, unbiased, keepdim, correction=correction)
    return y if y is NotImplemented else (_root(y[0], 2), y[1])


@_reduction("var_mean")
def var_mean(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """Both."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if not x.is_floating_point():
        return NotImplemented
    if correction is None:
        correction = 0 if unbiased is False else 1
    g = _Groups(x, dim)
    middle = g.sum(g.values) / g.size
    squares = g.sum((g.values - middle[g.of]) ** 2) + g.missing() * middle**2
    return g.shaped(squares / max(g.size - correction, 0), keepdim), g.shaped(middle, keepdim)


def _root(y, p):
    """y ** (1 / p), whose gradient at 0 is 0."""
    zero = y == 0
    return torch.where(zero, 0, torch.where(zero, 1, y) ** (1 / p))


@_reduction("vector_norm")
def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """(the sum of |x| ** ord) ** (1 / ord); for 0 how many are not zero, for inf and -inf the largest and the least |x|. An
    element that is zero has no gradient."""
    extreme = ord in (torch.inf, -torch.inf)
    if not isinstance(ord, (int, float)) or (ord < 1 and not x.numel()) or (extreme and not x.numel()):
        return NotImplemented
    g = _Groups(x, dim)
    g.values = g.values.to(dtype or x.dtype).abs()
    if not g.values.is_floating_point():
        return NotImplemented
    if extreme:
        return _shared(g, keepdim, ord > 0)
    zero = g.values == 0
    y = g.sum(torch.where(zero, 0, torch.where(zero, 1, g.values) ** ord))
    if ord > 0:
        y = _root(y, ord)
    elif ord < 0:
        y = torch.where(g.number(~zero) < g.size, 0, y ** (1 / ord))
    return g.shaped(y, keepdim)


@implements(torch.norm, _T.norm)
def norm(x, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    """torch.norm: of vectors, and the Frobenius norm."""
    if out is not None:
        return NotImplemented
    return vector_norm(x, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


@implements(torch.linalg.norm)
def linalg_norm(x, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """torch.linalg.norm, likewise."""
    vectors = isinstance(dim, int) or (dim is not None and len(dim) == 1) or (dim is None and x.dim() == 1)
    if out is not None or not (vectors or ord in (None, "fro")):
        return NotImplemented
    return vector_norm(x, 2 if ord in (None, "fro") else ord, dim, keepdim, dtype=dtype)


@_reduction("logsumexp")
def logsumexp(x, dim, keepdim=False):
    """log of the sum of exp; an absent element adds 1."""
    if not x.is_floating_point():
        return NotImplemented
    g = _Groups(x, dim)
    top = g.extreme(g.values.detach(), True)
    top = torch.where(top.isinf(), 0, top)
    y = g.sum((g.values - top[g.of]).exp()) + g.missing() * (-top).exp()
    return g.shaped(y.log() + top, keepdim)


# Of the stored elements.


@implements(torch.softmax, _T.softmax, F.softmax)
def softmax(x, dim=None, _stacklevel=3, dtype=None):
    """Over the stored elements: what is absent has no weight, and a row without elements stays empty."""
    return _softmax(x, dim, dtype, lambda values, top, weight, of, total: weight / total[of])


@implements(torch.log_softmax, _T.log_softmax, F.log_softmax)
def log_softmax(x, dim=None, _stacklevel=3, dtype=None):
    """As softmax."""
    return _softmax(x, dim, dtype, lambda values, top, weight, of, total: values - top - total.log()[of])


def _softmax(x, dim, dtype, result):
    if not isinstance(dim, int) or not x.pattern.once:
        return NotImplemented
    g = _Groups(x, dim)
    values = g.values.to(dtype or x.dtype)
    top = g.stored_extreme(values.detach(), True)[g.of]
    weight = (values - top).exp()
    return Tensor(x.pattern.at_slots(result(values, top, weight, g.of, g.sum(weight))), x.pattern)
