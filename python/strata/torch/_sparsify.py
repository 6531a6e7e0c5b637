"""stt.sparsify: a tensor becomes a sparse one, in any format, with the gradient that one asks for."""

import torch
from torch.autograd import Function

import strata as st

from .. import _core  # noqa: F401
from ..errors import ArgumentError, TensorError, Unsupported
from . import _ops
from ._elements import moved
from ._fallback import densifying
from ._frames import as_written
from ._gradients import Gradient, as_gradient, masked, valued
from ._matrix import product
from ._sparsifiers import KeepAll, Magnitude, SameFormat, Sparsifier, _ByStretch, as_sparsifier, instance, mask_of
from ._streams import Stretches, stored
from ._tensor import FUNCTIONS, Tensor, from_torch

#: (sparsifier's class, layout of what comes, layout of what goes, function), the latest first
_REGISTERED = []


def sparsify(x, sparsifier=None, format=None, *, grad=None, **site):
    """What a sparsifier keeps of x, as a Tensor in this format; without a format as a dense tensor with zeros. Differentiable.

        x = torch.tensor([[1.0, -3.0], [0.5, 2.0]], requires_grad=True)
        y = stt.sparsify(x, stt.Magnitude(0.5), "CSR")
        y.sum().backward()
        assert y.nse == 2 and x.grad.tolist() == [[0, 1], [0, 1]]

    sparsifier : an stt.Sparsifier, a class of one without arguments, a function of a tensor that returns a mask; None: all but zeros.
    grad : "stored" (the kept elements get their gradient, the others none), "ste" (straight through: all of them, which costs a
        dense product for each product with y), a pair (scale of the kept, scale of the pruned), or an stt.Gradient; None: as the
        sparsifier says.
    site : what the sparsifier wants to know beside x (gram=, q=, k=, ...).

    Streaming and blocking sparsifiers read a dense x once, and nothing is kept beside the result (in CSR); materializing ones
    read it twice. ArgumentError, Unsupported.
    """
    sparsifier = instance(sparsifier)
    gradient = gradient_of(sparsifier, grad)
    f = registered(sparsifier, layout_of(x), format, x.dim())
    if f is not None:
        return _as_told(f(sparsifier, x.detach()), x, format, gradient)
    sparsifier = as_sparsifier(sparsifier)
    if isinstance(sparsifier, Sparsifier) and _is_users(format):
        return _in_users_layout(x, sparsifier, format, gradient, site)
    if not isinstance(sparsifier, Sparsifier):
        raise ArgumentError(
            f"{type(sparsifier).__name__} does not say what stays of {_named(layout_of(x))} in {_named(format)}",
            expected="a method pattern(x, **site), or an implementation for these layouts",
            got="; ".join(_known(type(sparsifier))) or "none",
            fix=f"stt.register_sparsifier({type(sparsifier).__name__}, inp, out)",
        )
    if isinstance(x, Tensor):
        return _of_sparse(x, sparsifier, format, gradient, site)
    own = type(sparsifier).prune is not Sparsifier.prune
    if format is None or own:
        with torch.set_grad_enabled(own and torch.is_grad_enabled()):
            mask, y = sparsifier.prune(x, **site)
        y = y if own else x
        result = torch.where(mask, y, 0)
        if format is None:
            return masked(y, result.detach(), mask, gradient) if y.requires_grad and torch.is_grad_enabled() else result
        with torch.no_grad():
            t = stored(_These(mask).stream(y), x.shape, x.dtype, format)
        return with_gradient(t, y, gradient)
    with torch.no_grad():
        t = stored(sparsifier.stream(x, **site), x.shape, x.dtype, format) if x.dim() else from_torch(x.detach())
    return with_gradient(t, x, gradient)


def gradient_of(sparsifier, grad):
    """The Gradient that is meant by grad=, or by the sparsifier."""
    return as_gradient(getattr(sparsifier, "grad", "stored") if grad is None else grad)


def _is_users(layout):
    return isinstance(layout, type) and not is_dense_layout(layout) and not hasattr(layout, "strata_format")


def _in_users_layout(x, sparsifier, layout, gradient, site):
    """In a class of layouts that has from_dense and to_dense."""
    if not hasattr(layout, "from_dense"):
        raise ArgumentError(
            f"nobody says how {layout.__name__} stores what {type(sparsifier).__name__} keeps",
            expected="a static method from_dense(tensor), or register_sparsifier",
            got="neither",
        )
    x = x.to_dense() if isinstance(x, Tensor) else x
    with torch.no_grad():
        found = layout.from_dense(sparsify(x.detach(), sparsifier, **site))
    return _as_told(found, x, layout, gradient)


class _These(Sparsifier):
    def __init__(self, mask):
        self.mask = mask

    def pattern(self, x, **site):
        return self.mask


def with_gradient(t, x, gradient=None):
    """A Tensor t that was made from the dense x, as a Sparsified: its gradient goes to x."""
    gradient = gradient or Gradient()
    if not (x.requires_grad and torch.is_grad_enabled()):
        return Sparsified(t.values(), t.pattern)
    if not gradient.needs_dense:
        return Sparsified(valued(t.pattern.gather(x), t.values(), gradient.kept), t.pattern)
    y = Sparsified(t.values(), t.pattern)
    y.dense = masked(x, t.to_dense(), mask_of(t.pattern), gradient)
    return y


def _of_sparse(x, sparsifier, format, gradient, site):
    """What stays of a sparse tensor is chosen among its stored elements, where each of them counts alone."""
    if isinstance(sparsifier, KeepAll):
        t = x if format is None else x.to(format)
    elif not x.pattern.once or not isinstance(sparsifier, (_ByStretch, Magnitude)) or not _by_elements(sparsifier):
        return sparsify(x.to_dense(), sparsifier, x.format if format is None else format, grad=gradient, **site)
    else:
        with torch.no_grad():
            values, flat = x.pattern.in_range(x.values()), x.pattern.places()[1]
            order = flat.argsort()
            flat, values = flat[order], values[order]
            if isinstance(sparsifier, Magnitude):  # a share of all elements
                sparsifier = Magnitude(min(sparsifier.density * x.numel() / max(len(values), 1), 1.0))
            kept = sparsifier(values)
            at, values = flat[kept], values[kept]
            t = stored([(at, values)], x.shape, x.dtype, x.format if format is None else format)
        if getattr(x, "dense", None) is not None:
            return with_gradient(t, x.dense, gradient)
        t = Tensor(moved(x, t.pattern), t.pattern)
    if getattr(t, "dense", None) is not None:
        return t
    return Sparsified(valued(t.values(), t.values().detach(), gradient.kept), t.pattern)


def _by_elements(sparsifier):
    return sparsifier.kind == "streaming" or isinstance(sparsifier, Magnitude) and not sparsifier.block


def _as_told(found, x, format, gradient):
    """What a registered implementation returned, with the gradient of x. A mask, a dense or sparse tensor, or anything that has
    to_dense()."""
    layout = None
    if not isinstance(found, torch.Tensor):
        layout, found = found, torch.as_tensor(found.to_dense())
    if isinstance(found, Sparsified) and found.wrapped_tensor is not None:
        layout = found.wrapped_tensor
    x = x.to_dense() if isinstance(x, Tensor) else x
    if found.shape != x.shape:
        raise TensorError(
            "an implementation changed the shape", expected=str(tuple(x.shape)), got=str(tuple(found.shape))
        )
    if found.dtype == torch.bool and x.dtype != torch.bool:
        found = torch.where(found, x, 0)
    found = found.detach()
    if is_dense_layout(format):
        found = found.to_dense() if isinstance(found, Tensor) else found
        return masked(x, found, found != 0, gradient) if x.requires_grad and torch.is_grad_enabled() else found
    if not isinstance(found, Tensor) or layout is None and found.format != st.Format(format, x.dim()):
        found = from_torch(found, None if layout is not None else format)
    y = with_gradient(found, x, gradient)
    y.wrapped_tensor = layout
    return y


def register_sparsifier(sparsifier, inp=None, out=None):
    """A decorator: from here on f(sparsifier, tensor, grad_fmt=None) says what stays where a sparsifier of this class meets a tensor
    of layout `inp` and layout `out` is wanted. f returns a boolean mask, a tensor, or anything that has to_dense().

        class Signs:
            pass

        @stt.register_sparsifier(Signs, out="CSR")
        def positive(sparsifier, tensor, grad_fmt=None):
            return tensor > 0

        assert stt.sparsify(torch.tensor([[1.0, -2.0]]), Signs(), "CSR").nse == 1
        assert stt.unregister_sparsifier(Signs, out="CSR")

    Layouts: None or torch.Tensor (dense), a format, or a class of layouts."""

    def note(f):
        unregister_sparsifier(sparsifier, inp, out)
        _REGISTERED.insert(0, (sparsifier, inp, out, f))
        return f

    return note


def unregister_sparsifier(sparsifier, inp=None, out=None):
    """Removes an implementation. False where there is none.

    assert not stt.unregister_sparsifier(stt.KeepAll, out="CSR")
    """
    before = len(_REGISTERED)
    _REGISTERED[:] = [
        r for r in _REGISTERED if not (r[0] is sparsifier and _same(r[1], inp, 2) and _same(r[2], out, 2))
    ]
    return len(_REGISTERED) < before


def registered(sparsifier, inp, out, rank):
    """The implementation for these layouts, or None."""
    for cls, i, o, f in _REGISTERED:
        if cls is type(sparsifier) and _same(i, inp, rank) and _same(o, out, rank):
            return f
    return None


def is_registered(sparsifier):
    """Has this sparsifier, or class of one, implementations?"""
    cls = sparsifier if isinstance(sparsifier, type) else type(sparsifier)
    return any(r[0] is cls for r in _REGISTERED)


def _known(cls):
    return [f"from {_named(i)} to {_named(o)}" for c, i, o, _ in _REGISTERED if c is cls]


def layout_of(x):
    """The layout of a tensor: None of a dense one, that of a user's class, or a format."""
    if not isinstance(x, Tensor):
        return None
    wrapped = getattr(x, "wrapped_tensor", None)
    return x.format if wrapped is None else type(wrapped)


def is_dense_layout(layout):
    """Does this name ordinary tensors?"""
    return layout is None or layout is torch.Tensor or layout is torch.strided or getattr(layout, "is_dense", False)


def format_of(layout, rank):
    """The format that a layout names, of so many dimensions; None for dense ones and for classes of users."""
    if is_dense_layout(layout):
        return None
    if isinstance(layout, type):
        of = getattr(layout, "strata_format", None)
        return None if of is None else of(rank)
    return layout if isinstance(layout, st.Format) else st.Format(layout, rank)


def _same(one, two, rank):
    if one is two or is_dense_layout(one) and is_dense_layout(two):
        return True
    a, b = format_of(one, rank), format_of(two, rank)
    return a is not None and a == b


def _named(layout):
    if is_dense_layout(layout):
        return "torch.Tensor"
    return layout.__name__ if isinstance(layout, type) else str(getattr(layout, "name", "") or layout)


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


_ASKS = {torch.Tensor.size, torch.Tensor.dim, torch.Tensor.numel, torch.is_floating_point, torch.Tensor.is_floating_point}
_KEEPS = {"requires_grad_", "share_memory_", "retain_grad_"}


def _changes(func):
    name = getattr(func, "__name__", "")
    if name in _KEEPS or name in ("__invert__", "__int__", "__index__", "__init__", "__iter__"):
        return False
    within = name.startswith("__i") and name.endswith("__")
    return name == "__setitem__" or within or name.endswith("_") and not name.endswith("__")


def _in_place(func, x, args, kwargs):
    """An operation in place, of the dense tensor; then x stores the elements of the result that it stored before."""
    if x.wrapped_tensor is not None:
        f = registered(SameFormat(x), None, type(x.wrapped_tensor), x.dim())
        if f is None:
            raise Unsupported(
                f"nobody says what a {type(x.wrapped_tensor).__name__} keeps of a changed tensor",
                expected="an implementation of SameFormat for it",
                got=f"{func.__name__} in place",
                fix="register_sparsifier(stt.SameFormat, torch.Tensor, the class)",
            )
    if x.is_leaf and x.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    y = x.to_dense().clone()
    args, kwargs = torch.utils._pytree.tree_map(
        lambda a: a.to_dense() if isinstance(a, Tensor) else a, (args, kwargs), is_leaf=lambda a: isinstance(a, torch.Tensor)
    )
    func(y, *args, **kwargs)
    if x.wrapped_tensor is not None:
        new = _as_told(f(SameFormat(x), y.detach()), y, type(x.wrapped_tensor), Gradient())
        x._stored, x._pattern, x.wrapped_tensor = new._stored, new._pattern, new.wrapped_tensor
        return x
    if x.dense is not None:
        mask = mask_of(x.pattern)
        result = torch.where(mask, y, 0)
        x.dense = masked(y, result.detach(), mask, Gradient(1.0, 1.0)) if y.requires_grad else result
        x._stored = x.pattern.gather(result).detach()
    elif x.is_leaf and not y.requires_grad:
        x._stored.copy_(x.pattern.gather(y))
    else:
        x._stored = x.pattern.gather(y)
    return x


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


_STRAIGHT = {
    **{f: _matmul for f in FUNCTIONS if FUNCTIONS[f] is FUNCTIONS[torch.matmul]},
    torch.nn.functional.linear: _linear,
}
