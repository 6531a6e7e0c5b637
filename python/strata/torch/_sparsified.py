"""stt.Tensors that a sparsifier made: what operations in place keep, and a gradient of elements that are not stored."""

import torch
from torch.autograd import Function

from ..errors import Unsupported
from ._fallback import densifying
from ._frames import as_written
from ._gradients import Gradient, masked
from ._layouts import registered
from ._matrix import product
from ._sparsifiers import SameFormat, mask_of
from ._tensor import FUNCTIONS, Tensor


class Sparsified(Tensor):
    """A Tensor that a sparsifier made. Operations in place keep its pattern: what they would put elsewhere is dropped. Its `dense`
    is there where the gradient of all elements is wanted: the same elements as an ordinary tensor, which carries that gradient."""

    dense = None
    #: the object of a user's layout, where there is one
    wrapped_tensor = None

    def to_dense(self, dtype=None, *, masked_grad=None):
        """All elements as an ordinary tensor; differentiable."""
        if self.dense is None:
            return super().to_dense(dtype)
        return self.dense if dtype is None else self.dense.to(dtype)

    @property
    def requires_grad(self):
        """Does it carry a gradient?"""
        return self._stored.requires_grad if self.dense is None else self.dense.requires_grad

    @property
    def grad_fn(self):
        """What made it, as autograd recorded it."""
        return self._stored.grad_fn if self.dense is None else self.dense.grad_fn

    @property
    def is_leaf(self):
        """Does no recorded operation stand before it?"""
        return self._stored.is_leaf if self.dense is None else self.dense.is_leaf

    @property
    def grad(self):
        """The gradient: of the stored elements, or a dense one of all of them."""
        return super().grad if self.dense is None else self.dense.grad

    @grad.setter
    def grad(self, value):
        if self.dense is None:
            Tensor.grad.fset(self, value)
        else:
            self.dense.grad = value

    def retain_grad(self):
        """Keeps its gradient, where it is no leaf."""
        (self._stored if self.dense is None else self.dense).retain_grad()

    def to(self, *args, **kwargs):
        """In another format, or as torch.Tensor.to; differentiable."""
        t = super().to(*args, **kwargs)
        if self.dense is None:
            return t
        y = Sparsified(t.values(), t.pattern)
        y.dense = self.dense.to(t.dtype)
        return y

    @classmethod
    @as_written
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        target = args[0] if args else None
        if isinstance(target, Sparsified) and _changes(func):
            return _in_place(func, target, args[1:], kwargs)
        if not any(isinstance(x, Sparsified) and x.dense is not None for x in (*args, *kwargs.values())):
            return super().__torch_function__(func, types, args, kwargs)
        special = _STRAIGHT.get(func)
        if special is not None:
            result = special(*args, **kwargs)
            if result is not NotImplemented:
                return result
        if getattr(func, "__name__", "") == "__get__" or func in _ASKS:
            return super().__torch_function__(func, types, args, kwargs)
        args, kwargs = torch.utils._pytree.tree_map(
            lambda x: _dense_of(x, func), (args, kwargs), is_leaf=lambda x: isinstance(x, torch.Tensor)
        )
        return func(*args, **kwargs)


def _dense_of(x, func):
    if not isinstance(x, Sparsified) or x.dense is None:
        return x
    if func not in (torch.Tensor.backward,):
        densifying(getattr(func, "__name__", str(func)), x.pattern)
    return x.dense


_ASKS = {
    torch.Tensor.size,
    torch.Tensor.dim,
    torch.Tensor.numel,
    torch.is_floating_point,
    torch.Tensor.is_floating_point,
}
_KEEPS = {"requires_grad_", "share_memory_", "retain_grad_"}


def _changes(func):
    name = getattr(func, "__name__", "")
    if name in _KEEPS or name in ("__invert__", "__int__", "__index__", "__init__", "__iter__"):
        return False
    within = name.startswith("__i") and name.endswith("__")
    return name == "__setitem__" or within or name.endswith("_") and not name.endswith("__")


def _in_place(func, x, args, kwargs):
    """An operation in place, of the dense tensor; then x stores of the result what it stored before (STen)."""
    if x.is_leaf and x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    y = x.to_dense().clone()
    args, kwargs = torch.utils._pytree.tree_map(
        lambda a: a.to_dense() if isinstance(a, Tensor) else a,
        (args, kwargs),
        is_leaf=lambda a: isinstance(a, torch.Tensor),
    )
    func(y, *args, **kwargs)
    if x.wrapped_tensor is not None:
        _into_users_layout(x, y)
    elif x.dense is not None:
        mask = mask_of(x.pattern)
        result = torch.where(mask, y, 0)
        x.dense = masked(y, result.detach(), mask, Gradient(1.0, 1.0)) if y.requires_grad else result
        x._stored = x.pattern.gather(result).detach()
    elif x.is_leaf and not y.requires_grad:
        x._stored.copy_(x.pattern.gather(y))
    else:
        x._stored = x.pattern.gather(y)
    return x


def _into_users_layout(x, y):
    from ._sparsify import as_told  # which makes Sparsified

    layout, same = type(x.wrapped_tensor), SameFormat(x)
    f = registered(same, None, layout, x.dim())
    if f is None:
        raise Unsupported(
            f"nobody says what a {layout.__name__} keeps of a changed tensor",
            expected="an implementation of stt.SameFormat (SameFormatSparsifier) for it",
            got="an operation in place",
            fix=f"register_sparsifier(stt.SameFormat, torch.Tensor, {layout.__name__})",
        )
    new = as_told(f(same, y.detach()), y, layout, Gradient())
    x._stored, x._pattern, x.dense, x.wrapped_tensor = new._stored, new._pattern, new.dense, new.wrapped_tensor


class _Straight(Function):
    """A product whose sparse operand, (values, pattern), wants the gradient of every element: `dense` is that operand."""

    @staticmethod
    def forward(ctx, dense, values, x, how):
        pattern, transpose, left = ctx.how = how
        ctx.save_for_backward(dense, values, x)
        return product(values, pattern, x, transpose, left)

    @staticmethod
    def backward(ctx, g):
        (dense, values, x), (pattern, transpose, left) = ctx.saved_tensors, ctx.how
        of_dense = of_x = None
        if ctx.needs_input_grad[0]:
            of_dense = _outer(x, g) if left else _outer(g, x, columns=True)
            of_dense = of_dense.t() if transpose else of_dense
        if ctx.needs_input_grad[2]:
            if torch.is_grad_enabled():  # what is differentiated again must hear of all elements
                a = dense.t() if transpose else dense
                of_x = g @ a.t() if left else a.t() @ g
            else:
                of_x = product(values, pattern, g, not transpose, left)
        return of_dense, None, of_x, None


def _outer(a, b, columns=False):
    """The sum over all rows of a (of `columns`: over all columns) of their outer products with b's."""
    if a.dim() == 1:
        return torch.outer(a, b)
    if columns:
        return a @ b.t()
    return a.reshape(-1, a.shape[-1]).t() @ b.reshape(-1, b.shape[-1])


def _straight(a, x, transpose, left):
    if isinstance(x, Tensor) or a.dim() != 2 or not left and x.dim() > 2 or a.dtype != x.dtype:
        return NotImplemented
    return _Straight.apply(a.dense, a.values(), x, (a.pattern, transpose, left))


def _matmul(a, b, *, out=None):
    if out is not None:
        return NotImplemented
    if isinstance(a, Sparsified) and a.dense is not None:
        return _straight(a, b, False, False)
    return _straight(b, a, False, True)


def _linear(x, weight, bias=None):
    if isinstance(weight, Sparsified) and weight.dense is not None:
        y = _straight(weight, x, True, True)
    elif x.dim() == 2 and not isinstance(weight, Tensor):
        y = _straight(x, weight.t(), False, False)
    else:
        return NotImplemented
    return y if bias is None or y is NotImplemented else y + bias


def _detached(x):
    return Tensor(x.values().detach(), x.pattern)


def _turned(x):
    if x.dim() != 2:
        return NotImplemented
    y = Sparsified(x.values(), x.pattern.transpose())
    y.dense = x.dense.t()
    return y


_STRAIGHT = {
    **dict.fromkeys((torch.t, torch.Tensor.t, torch.Tensor.T.__get__), _turned),
    torch.detach: _detached,
    torch.Tensor.detach: _detached,
    **{f: _matmul for f in FUNCTIONS if FUNCTIONS[f] is FUNCTIONS[torch.matmul]},
    torch.nn.functional.linear: _linear,
}
