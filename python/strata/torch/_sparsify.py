"""stt.sparsify: a tensor becomes a sparse one, in any format, with the gradient that one asks for."""

import torch

from ..errors import ArgumentError, TensorError
from ._elements import moved
from ._gradients import Gradient, as_gradient, masked, valued
from ._layouts import format_of, is_dense_layout, is_registered, is_users, known_for, layout_of, named, registered
from ._sparsified import Sparsified
from ._sparsifiers import KeepAll, Magnitude, Sparsifier, as_sparsifier, instance, mask_of
from ._streams import stored
from ._tensor import Tensor, from_torch


def sparsify(x, sparsifier=None, format=None, *, grad=None, **site):
    """What a sparsifier keeps of x, as a Tensor in this format; without a format as a dense tensor with zeros. Differentiable.

        x = torch.tensor([[1.0, -3.0], [0.5, 2.0]], requires_grad=True)
        y = stt.sparsify(x, stt.Magnitude(0.5), "CSR")
        y.sum().backward()
        assert y.nse == 2 and x.grad.tolist() == [[0, 1], [0, 1]]

    sparsifier : an stt.Sparsifier, a class of one without arguments, a function of a tensor that returns a mask, an object with
        pattern(x, **site), a mask, or an stt.Pattern; None: all but zeros.
    grad : "stored" (what is stored gets its gradient, the rest none; blocks store more than was kept), "ste" (straight through: all
        get it, which costs a dense product for each product with y), a pair (scale of the kept, scale of the pruned), or an
        stt.Gradient; None: as the sparsifier says.
    site : what the sparsifier wants to know beside x (gram=, q=, k=, ...).

    Streaming and blocking sparsifiers read a dense x once, and nothing is kept beside the result (in CSR); materializing ones
    read it twice. ArgumentError, Unsupported.
    """
    sparsifier = instance(sparsifier)
    gradient = gradient_of(sparsifier, grad)
    f = registered(sparsifier, layout_of(x), format, x.dim())
    if f is not None:
        return as_told(f(sparsifier, x.detach()), x, format, gradient, sparsifier)
    sparsifier = as_sparsifier(sparsifier)
    if isinstance(sparsifier, Sparsifier) and is_users(format):
        return _in_users_layout(x, sparsifier, format, gradient, site)
    if not isinstance(sparsifier, Sparsifier):
        raise ArgumentError(
            f"{type(sparsifier).__name__} does not say what stays of {named(layout_of(x))} in {named(format)}",
            expected="a method pattern(x, **site), or an implementation for these layouts",
            got="; ".join(known_for(type(sparsifier))) or "none",
            fix=f"stt.register_sparsifier({type(sparsifier).__name__}, inp, out)",
        )
    format = format_of(format, x.dim())
    if isinstance(x, Tensor):
        return _of_sparse(x, sparsifier, format, gradient, site)
    own = _prunes(sparsifier)
    if format is None or own:
        with torch.set_grad_enabled(own and torch.is_grad_enabled()):
            mask, y = sparsifier.prune(x, **site)
        y = y if own else x
        result = torch.where(mask, y, 0)
        if format is None:
            return masked(y, result.detach(), mask, gradient) if y.requires_grad and torch.is_grad_enabled() else result
        with torch.no_grad():
            t = stored(as_sparsifier(mask).stream(y), x.shape, x.dtype, format)
        return with_gradient(t, y, gradient)
    with torch.no_grad():
        t = stored(sparsifier.stream(x, **site), x.shape, x.dtype, format) if x.dim() else from_torch(x.detach())
    return with_gradient(t, x, gradient)


def kept(x, sparsifier, format, grad=None):
    """The same in the middle of a model, where x is computed anew in each call: the gradient is that of the masked tensor, also where a
    format stores more than was kept. Within torch.compile a dense tensor with zeros."""
    sparsifier = instance(sparsifier)
    if torch.compiler.is_compiling():
        return sparsify(x, sparsifier, grad=grad)
    if not x.requires_grad or gradient_of(sparsifier, grad) != Gradient() or is_registered(sparsifier):
        return sparsify(x, sparsifier, format, grad=grad)
    sparsifier = as_sparsifier(sparsifier)
    mask, y = sparsifier.prune(x) if _prunes(sparsifier) else (sparsifier(x.detach()), x)
    return sparsify(torch.where(mask, y, 0), mask, format)


def _prunes(sparsifier):
    """Does it change what it keeps?"""
    return type(sparsifier).prune is not Sparsifier.prune


def gradient_of(sparsifier, grad):
    """The Gradient that is meant by grad=, or by the sparsifier."""
    return as_gradient(getattr(as_sparsifier(sparsifier), "grad", "stored") if grad is None else grad)


def _in_users_layout(x, sparsifier, layout, gradient, site):
    """In a class of layouts that has from_dense and to_dense."""
    x = x.to_dense() if isinstance(x, Tensor) else x
    with torch.no_grad():
        found = _made(layout, sparsify(x.detach(), sparsifier, **site), sparsifier)
    return as_told(found, x, layout, gradient)


def _made(layout, dense, sparsifier):
    if not hasattr(layout, "from_dense"):
        raise ArgumentError(
            f"nobody says how {layout.__name__} stores what {type(sparsifier).__name__} keeps",
            expected="a static method from_dense(tensor), or register_sparsifier",
            got="neither",
        )
    return layout.from_dense(dense)


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
        t = x if format is None or x.format == format_of(format, x.dim()) else x.to(format)
    elif not x.pattern.once or not _by_elements(sparsifier):
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
        if gradient.needs_dense or getattr(x, "dense", None) is not None:
            return with_gradient(t, x.to_dense(), gradient)
        t = Tensor(moved(x, t.pattern), t.pattern)
    if getattr(t, "dense", None) is not None:
        return t
    return Sparsified(valued(t.values(), t.values().detach(), gradient.kept), t.pattern)


def _by_elements(sparsifier):
    return sparsifier.kind == "streaming" or isinstance(sparsifier, Magnitude) and not sparsifier.block


def as_told(found, x, format, gradient, sparsifier=None):
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
    found, mask = found.detach(), None
    if found.dtype == torch.bool and x.dtype != torch.bool:
        mask = mask_of(found)
    if is_dense_layout(format):
        found = torch.where(mask, x.detach(), 0) if mask is not None else found.to_dense()
        mask = found != 0 if mask is None else mask
        return masked(x, found, mask, gradient) if x.requires_grad and torch.is_grad_enabled() else found
    if mask is not None and is_users(format):
        return as_told(_made(format, torch.where(mask, x.detach(), 0), sparsifier), x, format, gradient)
    format = None if is_users(format) else format_of(format, x.dim())
    if mask is not None:
        with torch.no_grad():
            found = stored(as_sparsifier(mask).stream(x), x.shape, x.dtype, format)
    elif not isinstance(found, Tensor) or layout is None and found.format != format:
        found = from_torch(found, None if layout is not None else format)
    y = with_gradient(found, x, gradient)
    y.wrapped_tensor = layout
    return y
