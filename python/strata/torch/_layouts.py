"""Layouts, and what users registered for a sparsifier between two of them."""

import torch

import strata as st

from ..errors import FormatError
from ._tensor import Tensor

#: (sparsifier's class, layout of what comes, layout of what goes, function), the latest first
_REGISTERED = []


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


def known_for(cls):
    """In words, the layouts that implementations of this class are for."""
    return [f"from {named(i)} to {named(o)}" for c, i, o, _ in _REGISTERED if c is cls]


def layout_of(x):
    """The layout of a tensor: None of a dense one, that of a user's class, or a format."""
    if not isinstance(x, Tensor):
        return None
    wrapped = getattr(x, "wrapped_tensor", None)
    return x.format if wrapped is None else type(wrapped)


def is_dense_layout(layout):
    """Does this name ordinary tensors?"""
    return layout is None or layout is torch.Tensor or layout is torch.strided or getattr(layout, "is_dense", False)


def format_of(layout, rank=None):
    """The st.Format that a layout names, of so many dimensions: a name, a format, or a class of formats (strata.torch.sparse's and
    sten's). None for dense tensors and for classes of users. FormatError."""
    if is_dense_layout(layout):
        return None
    if hasattr(layout, "__strata_format__") and not isinstance(layout, st.Format):
        try:
            return layout.__strata_format__(rank)
        except TypeError as e:
            if not isinstance(layout, type):
                raise
            raise FormatError(
                f"{layout.__name__} needs arguments", expected=f"{layout.__name__}(...)", got=f"the class: {e}"
            ) from None
    if isinstance(layout, type):
        return None
    if isinstance(layout, st.Format):
        return layout
    return st.Format(layout) if rank is None or "->" in str(layout) else st.Format(layout, rank)


def _same(one, two, rank):
    if one is two or is_dense_layout(one) and is_dense_layout(two):
        return True
    a, b = format_of(one, rank), format_of(two, rank)
    return a is not None and a == b


def named(layout):
    """A layout's name in messages."""
    if is_dense_layout(layout):
        return "torch.Tensor"
    return layout.__name__ if isinstance(layout, type) else str(getattr(layout, "name", "") or layout)


def is_users(layout):
    """Is this a class of layouts that users wrote?"""
    return isinstance(layout, type) and not is_dense_layout(layout) and not hasattr(layout, "__strata_format__")
