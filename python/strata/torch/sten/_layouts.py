"""Layouts as classes: formats under STen's names, and objects of classes that users wrote."""

import torch

from ... import Format
from ...errors import ArgumentError
from .._layouts import format_of, is_dense_layout, register_sparsifier, unregister_sparsifier
from .._sparsified import Sparsified
from .._sparsifiers import KeepAll
from .._sparsify import sparsify
from .._streams import by_rows
from .._tensor import Tensor, from_torch


class _Layout(type):
    """A class of layouts; its instances are Tensors of its format."""

    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and x.format == cls.__strata_format__(x.dim())


class _Named(metaclass=_Layout):
    def __new__(cls, data):
        """A dense or sparse tensor of torch, or a SciPy matrix, in this layout."""
        return (
            cls.from_dense(data) if isinstance(data, torch.Tensor) else cls.from_dense(torch.as_tensor(data.todense()))
        )

    @classmethod
    def from_dense(cls, tensor):
        """All but zeros of a tensor, in this layout."""
        tensor = from_torch(tensor) if tensor.layout != torch.strided else tensor
        return sparsify(tensor, KeepAll(), cls.__strata_format__(tensor.dim()))


class CsrTensor(_Named):
    """CSR; of more dimensions, all but the last are dense."""

    @staticmethod
    def __strata_format__(rank):
        """Its format in so many dimensions."""
        return by_rows(rank)


class CscTensor(_Named):
    """CSC, at each place of the dimensions before the last two."""

    @staticmethod
    def __strata_format__(rank):
        """Its format in so many dimensions."""
        if rank < 2:
            return by_rows(rank)
        dims = [f"d{k}" for k in range(rank)]
        order = [*dims[:-2], dims[-1], dims[-2]]
        return Format(f"({', '.join(dims)}) -> ({': dense, '.join(order)}: compressed)")


class CooTensor(_Named):
    """The coordinates of each element."""

    @staticmethod
    def __strata_format__(rank):
        """Its format in so many dimensions."""
        return Format("COO", rank)


class MaskedTensor(_Named):
    """A bit for each element, and the values of those that are set."""

    @staticmethod
    def __strata_format__(rank):
        """Its format in so many dimensions."""
        dims = [f"d{k}" for k in range(rank)]
        return Format(f"({', '.join(dims)}) -> ({': dense, '.join(dims)}: bitmap)")

    def __new__(cls, val, mask=None):
        """`mask`: which elements are stored, zeros among them; all but zeros without one."""
        return (
            cls.from_dense(val)
            if mask is None
            else sparsify(val, lambda _: mask != 0, cls.__strata_format__(val.dim()))
        )


class FixedMaskTensor(MaskedTensor):
    """The same; which elements are stored never changes."""


class DenseTensor:
    """An ordinary tensor."""

    is_dense = True

    def __new__(cls, data):
        """The tensor itself."""
        return data

    @staticmethod
    def from_dense(tensor):
        """The tensor itself."""
        return tensor


class _OfSparsifier(_Layout):
    def __instancecheck__(cls, x):
        return isinstance(x, Tensor) and any(level.kind == "structured" for level in x.format.levels)


class NMTensor(metaclass=_OfSparsifier):
    """n of each m along the rows, as the sparsifier before it says."""

    from_sparsifier = True


class GroupedNMTensor(metaclass=_OfSparsifier):
    """n of each m, the same for g rows, as the sparsifier before it says."""

    from_sparsifier = True


def stored_as(layout, sparsifier, rank):
    """What sparsify() takes for a layout of STen: None, a format, or a class that users wrote."""
    if is_dense_layout(layout):
        return None
    if getattr(layout, "from_sparsifier", False):
        if not hasattr(sparsifier, "format"):
            raise ArgumentError(
                f"{layout.__name__} stores what a sparsifier of n of m keeps",
                expected="PerBlockNMSparsifier or GroupedNMSparsifier before it",
                got=type(sparsifier).__name__,
            )
        return Format(sparsifier.format, rank) if rank == 2 else sparsifier.format
    return format_of(layout, rank) or layout


class SparseTensorWrapper:
    """What an implementation of a sparsifier returns."""

    @staticmethod
    def wrapped_from_dense(wrapped, dense, grad_fmt=None):
        """The layout object `wrapped` in the place of the tensor `dense` that it was made from."""
        return wrapped

    def __new__(cls, wrapped, requires_grad=False):
        """A tensor of a layout object."""
        t = wrapped if isinstance(wrapped, torch.Tensor) else Sparsified(*_parts(torch.as_tensor(wrapped.to_dense())))
        if not isinstance(wrapped, torch.Tensor):
            t.wrapped_tensor = wrapped
        return t.requires_grad_() if requires_grad else t


def _parts(dense):
    t = from_torch(dense)
    return t.values(), t.pattern


def SparseParameterWrapper(wrapped):
    """A tensor of a layout object, or a sparse tensor, that requires a gradient. A module keeps it with stt.set_weight."""
    return SparseTensorWrapper(wrapped, requires_grad=True)


def register_sparsifier_implementation(sparsifier, inp, out):
    """A decorator: f(sparsifier, tensor, grad_fmt=None) says what a sparsifier of this class keeps of a tensor of layout `inp` where
    layout `out` is wanted, as a tensor, a mask, or an object of a layout of one's own; see stt.register_sparsifier."""
    return register_sparsifier(sparsifier, _registered_layout(inp), _registered_layout(out))


def unregister_sparsifier_implementation(sparsifier, inp, out):
    """Removes one. False where there is none."""
    return unregister_sparsifier(sparsifier, _registered_layout(inp), _registered_layout(out))


def _registered_layout(layout):
    return None if is_dense_layout(layout) else layout
