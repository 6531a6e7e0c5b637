"""Sums, means and extremes over some dimensions: of the whole tensor, absent elements counted, as torch has them. softmax is of
the stored elements."""

import torch
import torch.nn.functional as F

from ._matrix import implements
from ._tensor import Tensor

_T = torch.Tensor


class _Groups:
    """The elements of a tensor, put together where they differ in `dims` alone."""

    def __init__(self, x, dim):
        _, flat = x.pattern.places()
        given = range(x.dim()) if dim is None or dim == () or dim == [] else (dim,) if isinstance(dim, int) else dim
        self.dims = {d % max(x.dim(), 1) for d in given}
        self.of = torch.zeros_like(flat)  # the number of each element's group
        self.kept = [1 if d in self.dims else e for d, e in enumerate(x.shape)]
        below = x.shape.numel()
        for d, extent in enumerate(x.shape):
            below //= max(extent, 1)
            if d not in self.dims:
                self.of = self.of * extent + flat // below % extent
        self.count = torch.Size(self.kept).numel()
        self.size = x.numel() // max(self.count, 1)

    def sum(self, values):
        return values.new_zeros(self.count).index_add(0, self.of, values)

    def largest(self, values, start):
        return values.new_full((self.count,), start).scatter_reduce(0, self.of, values, "amax")

    def missing(self, values):
        """How many elements of each group are absent."""
        return self.size - self.sum(torch.ones_like(values))

    def shaped(self, y, keepdim):
        return y.reshape(self.kept if keepdim else [e for d, e in enumerate(self.kept) if d not in self.dims])


@implements(torch.sum, _T.sum)
def total(x, dim=None, keepdim=False, *, dtype=None, out=None):
    """Over all elements or over some dimensions; dense."""
    if out is not None:
        return NotImplemented
    g = _Groups(x, dim)
    values = x.pattern.in_range(x.values())
    exact = values.is_floating_point() or values.is_complex()
    return g.shaped(g.sum(values.to(dtype or (values.dtype if exact else torch.int64))), keepdim)


@implements(torch.mean, _T.mean)
def mean(x, dim=None, keepdim=False, *, dtype=None, out=None):
    y = total(x, dim, keepdim, dtype=dtype, out=out)
    return y if y is NotImplemented else y / (x.numel() // max(y.numel(), 1))


@implements(torch.amax, _T.amax)
def amax(x, dim=(), keepdim=False, *, out=None):
    """The gradient is shared by all elements that are largest, absent ones too."""
    if out is not None or not x.pattern.once or not x.is_floating_point() or not x.numel():
        return NotImplemented
    g = _Groups(x, dim)
    values = x.pattern.in_range(x.values())
    fixed = values.detach()
    missing = g.missing(fixed)
    y = g.largest(fixed, -torch.inf)
    y = torch.where(missing > 0, y.clamp(min=0), y)
    here = (fixed == y[g.of]).to(values.dtype)
    ties = g.sum(here) + torch.where(y == 0, missing, 0)
    return g.shaped(y + g.sum(here * (values - fixed) / ties[g.of]), keepdim)


@implements(torch.amin, _T.amin)
def amin(x, dim=(), keepdim=False, *, out=None):
    y = amax(Tensor(-x.values(), x.pattern), dim, keepdim, out=out)
    return y if y is NotImplemented else -y


@implements(torch.softmax, _T.softmax, F.softmax)
def softmax(x, dim=None, _stacklevel=3, dtype=None):
    """Over the stored elements: what is absent has no weight, and a row without elements stays empty."""
    return _softmax(x, dim, dtype, lambda values, top, weight, of, total: weight / total[of])


@implements(torch.log_softmax, _T.log_softmax, F.log_softmax)
def log_softmax(x, dim=None, _stacklevel=3, dtype=None):
    return _softmax(x, dim, dtype, lambda values, top, weight, of, total: values - top - total.log()[of])


def _softmax(x, dim, dtype, result):
    if not isinstance(dim, int) or not x.pattern.once:
        return NotImplemented
    g = _Groups(x, dim)
    values = x.pattern.in_range(x.values()).to(dtype or x.dtype)
    top = g.largest(values.detach(), -torch.inf)[g.of]
    weight = (values - top).exp()
    return Tensor(x.pattern.at_slots(result(values, top, weight, g.of, g.sum(weight))), x.pattern)
