"""Tensors from triplets: gathered by threads, or the same places filled again and again."""

from functools import partial

import numpy as np

from . import _core
from ._calls import told
from .errors import TensorError


def _lists(coords):
    """Coordinates of any shapes that broadcast against each other, as flat lists, and their common shape."""
    if not hasattr(coords, "__iter__"):
        raise TensorError(
            "coordinates are a list for each dimension",
            expected="such as (rows, columns)",
            got=type(coords).__name__,
        )
    lists = [c if hasattr(c, "ndim") else np.asarray(c) for c in coords]
    shape = tuple(lists[0].shape) if lists else ()
    if any(tuple(c.shape) != shape for c in lists):
        try:
            lists = np.broadcast_arrays(*lists)
        except ValueError:
            raise TensorError(
                "coordinates do not broadcast against each other",
                expected="arrays of one shape, or of extents that are equal or 1",
                got=", ".join(str(tuple(c.shape)) for c in lists),
            ) from None
        shape = lists[0].shape
    return [_flat(c) for c in lists], shape


def _flat(array):
    """One dimension, its elements side by side: what is copied here is read once, and says no more than that."""
    if isinstance(array, np.ndarray):
        array = np.ascontiguousarray(array)
    return array if array.ndim == 1 else array.reshape(-1)


class Builder:
    """Triplets gathered in bulk, by any number of threads; a tensor is made of them at the end.

        b = Builder((4, 4))
        b.add(([0, 3], [1, 2]), [1.5, 2.5])
        b.add((np.arange(4), 0), 7.0)                  # coordinates and values broadcast, as NumPy's
        A = b.build("CSR")

    dtype : that values are cast to as they come (NumPy's same_kind) and added in
    TensorError, DTypeError.
    """

    def __init__(self, shape, dtype=float):
        self._builder = _core.Builder(shape, dtype)

    @partial(told, of="Builder")
    def add(self, coords, values, order=0):
        """Takes a copy of elements: coords[d] are their d-th coordinates, values their values.

        order : duplicates are added by ascending order=, those of one order as they arrive. Where threads race, the
            number of the chunk makes the result the same on every run, to the bit.

        From any thread; the GIL is free meanwhile. TensorError, DTypeError, IndexError: then nothing was added.
        """
        if not isinstance(order, (int, np.integer)) or not -(2**63) <= order < 2**63:
            raise TensorError("order= is a place among others", expected="an integer of 64 bits", got=repr(order))
        lists, shape = _lists(coords)
        values = values if hasattr(values, "ndim") else np.asarray(values)
        if tuple(values.shape) != tuple(shape) and values.ndim <= len(shape):
            try:
                values = np.broadcast_to(values, shape)
            except ValueError:
                pass  # the core says what does not fit
        self._builder.add(lists, _flat(values), order)

    @partial(told, of="Builder")
    def build(self, format="COO", *, fill=None, pos_dtype=None, crd_dtype=None, split=None):
        """The tensor of all elements so far, as from_coo makes it. More may be added afterwards.

        fill : of absent elements, 0 unless told; others as of `to`. FormatError, TensorError.
        """
        return self._builder.build(format, pos_dtype, crd_dtype, split, fill)

    def clear(self):
        """Forgets all elements."""
        self._builder.clear()

    def __len__(self):
        """Elements so far, duplicates included."""
        return self._builder.size

    @property
    def shape(self):
        """Of the tensor."""
        return self._builder.shape

    @property
    def dtype(self):
        """Of the tensor's values."""
        return self._builder.dtype

    def __repr__(self):
        return f"Builder({self.shape}, '{self.dtype}'): {len(self)} elements"


class Assembly:
    """A pattern that is filled again and again: where each value goes is found once, so that a tensor costs one pass over
    its values. Tensors share the arrays of the pattern.

        rows, columns = [0, 1, 0], [0, 1, 0]
        stiffness = Assembly((rows, columns), (2, 2), "CSR")
        A = stiffness([1.0, 2.0, 3.0])                  # = from_coo((rows, columns), ..., (2, 2), "CSR"), to the bit

    coords : as of from_coo, in any order, with duplicates; arrays of several dimensions broadcast, as those of a finite
        element: (dofs[:, :, None], dofs[:, None, :])
    format : any that from_coo builds; a sum of formats is split as for float64, whatever values come
    dtype : values are cast to it before they are added, theirs unless told
    pos_dtype, crd_dtype, split : as of `to`

    Immutable; threads may share it. TensorError, DTypeError, IndexError, FormatError.
    """

    def __init__(self, coords, shape, format="CSR", *, dtype=None, pos_dtype=None, crd_dtype=None, split=None):
        lists, _ = _lists(coords)
        self._assembly = _core.Assembly(lists, shape, format, dtype, pos_dtype, crd_dtype, split)

    @partial(told, of="Assembly")
    def assemble(self, values, *, fill=None):
        """The tensor of a value for each coordinate; duplicates are added in their order (many of them in pairs).

        fill : of absent elements, 0 unless told. TensorError: another number of values.
        """
        values = values if hasattr(values, "ndim") else np.asarray(values)
        return self._assembly.assemble(_flat(values), fill)

    __call__ = assemble

    def __len__(self):
        """The number of values that it takes."""
        return self._assembly.size

    @property
    def shape(self):
        """Of each tensor."""
        return self._assembly.shape

    @property
    def format(self):
        """Of each tensor."""
        return self._assembly.format

    @property
    def nse(self):
        """Stored elements of each tensor, fill-in included."""
        return self._assembly.nse

    def __repr__(self):
        size = " x ".join(map(str, self.shape))
        return f"Assembly: {len(self)} values into {self.format.name or self.format} {size} of {self.nse} stored"
