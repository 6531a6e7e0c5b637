"""Tensor: a strata.Tensor with nvmath's face."""

from .. import _core
from ..errors import TensorError
from ..interop import from_package as _from_package, package_of as _package_of, to_package as _to_package
from ._tensor_format import TensorFormat

_WITH_POS = {"compressed", "delta", "bitmap"}
_WITH_CRD = _WITH_POS | {"singleton", "structured", "padded"}


class Tensor:
    """A universal sparse tensor with nvmath's names. Make one with `from_package`, `from_file` or `convert`."""

    def __init__(self, tensor, base=None):
        if not isinstance(tensor, _core.Tensor):
            raise TensorError(
                "this class wraps a strata.Tensor", expected="Tensor.from_package(x)", got=type(tensor).__name__
            )
        self.tensor, self._base = tensor, base

    @classmethod
    def from_package(cls, x, stream=None):
        """A tensor over the memory of a NumPy, SciPy, PyTorch or CuPy tensor."""
        return cls(_from_package(x), x)

    @classmethod
    def from_file(cls, filename, stream=None):
        """Reads a Matrix Market file as COO."""
        from .. import read

        return cls(read(filename))

    def __strata_tensor__(self):
        return self.tensor

    base = property(lambda self: self._base, doc="What it was made from, or None.")
    extents = property(lambda self: list(self.tensor.shape), doc="The extent of each dimension, as a list.")
    shape = property(lambda self: self.tensor.shape, doc="The same as a tuple.")
    levels = property(
        lambda self: [size for _, size in self.tensor.format.level_ranges(self.tensor.shape)],
        doc="The size of each level.",
    )
    size = property(lambda self: self.tensor.size, doc="Number of elements, absent ones included.")
    num_dimensions = property(lambda self: self.tensor.ndim, doc="Number of dimensions.")
    num_levels = property(lambda self: self.tensor.format.num_levels, doc="Number of levels.")
    tensor_format = property(lambda self: TensorFormat._of(self.tensor.format), doc="The format.")
    dtype = property(lambda self: _core.dtype_name(self.tensor.dtype), doc="The name of the values' dtype.")
    index_type = property(
        lambda self: _core.dtype_name(self.tensor.crd_dtype), doc="The name of the coordinates' dtype."
    )
    val = property(lambda self: self.tensor.values, doc="The values of the slots.")
    device = property(lambda self: self.tensor.device, doc="Where the arrays are: 'cpu'.")
    device_id = property(lambda self: self.tensor.device, doc="The same.")
    nse = property(lambda self: self.tensor.nse, doc="Stored elements: explicit zeros and fill-in included.")

    def pos(self, level):
        """Positions of a level; None where its type has none."""
        return self._array(level, "pos", _WITH_POS)

    def crd(self, level):
        """Coordinates of a level (packed ones unpacked); None where its type has none."""
        return self._array(level, "crd", _WITH_CRD)

    def _array(self, level, which, kinds):
        levels = self.tensor.format.levels
        if 0 <= level < len(levels) and levels[level].kind not in kinds:
            return None
        return _core.memory_to_numpy(self.tensor._raw(level, which))

    def get_value(self, idx):
        """The element at these coordinates; None where it is absent."""
        return self.tensor.get(tuple(idx) if isinstance(idx, (list, tuple)) else idx)

    def convert(self, *, tensor_format=None, index_type=None, dtype=None, copy=False, stream=None):
        """The tensor in another format, index type or dtype; the same object where nothing changes (`copy=True`: a
        clone)."""
        f = self.tensor.format if tensor_format is None else tensor_format
        f = _core.Format(f, self.tensor.ndim)
        index = None if index_type is None else _core.dtype_name(index_type)
        value = None if dtype is None else _core.dtype_name(dtype)
        same_index = (
            index is None
            or f.is_all_dense
            or (index == _core.dtype_name(self.tensor.pos_dtype) == _core.dtype_name(self.tensor.crd_dtype))
        )
        if f == self.tensor.format and same_index and value in (None, self.dtype):
            return self.clone() if copy else self
        return Tensor(_core.convert(self.tensor, f, value, index, index), self._base)

    def to_package(self, like=None):
        """The tensor as an object of the package it came from, over the same memory where that has the format."""
        if like is None and self._base is not None and _package_of(self._base) not in ("dlpack", "strata", None):
            like = self._base
            if _package_of(like) == "numpy" and not self.tensor.format.is_all_dense:
                like = "scipy"
            elif _package_of(like) == "scipy" and self.tensor.format.is_all_dense:
                like = "numpy"
        return _to_package(self.tensor, like)

    def to(self, device_id=None, stream=None):
        """The tensor on another device: "cpu" only."""
        return Tensor(self.tensor.to(device="cpu" if device_id is None else str(device_id)), self._base)

    def clone(self, stream=None):
        """A tensor with memory of its own."""
        return Tensor(self.tensor.copy(), self._base)

    def copy_(self, src, stream=None):
        """Copies the values of a tensor of the same structure into this one's memory."""
        other = src.tensor if isinstance(src, Tensor) else _from_package(src)
        mine, theirs = self.tensor, other
        if mine.format != theirs.format or mine.shape != theirs.shape or mine.nse != theirs.nse:
            raise TensorError(
                "copy_ needs a tensor of the same structure",
                expected=f"{mine.format}, {mine.shape}, nse {mine.nse}",
                got=f"{theirs.format}, {theirs.shape}, nse {theirs.nse}",
            )
        target = mine._dense("numpy") if mine.format.is_all_dense else None
        if target is not None:
            target[...] = theirs.to_dense()
        else:
            mine._array("values")[:] = theirs.values
        return self

    def draw_storage(self, name=None, width=None):
        """A picture of the storage; with `name`, also written to that file (.svg, .txt, .png, .pdf)."""
        return _saved(self.tensor.draw_storage(width), name)

    def draw(self, name=None):
        """A picture of the elements, up to 3 dimensions; with `name`, also written to that file."""
        return _saved(self.tensor.draw(), name)

    def draw_raw(self, name=None):
        """A picture of the structure of a tensor of any size; with `name`, also written to that file."""
        return _saved(self.tensor.draw_raw(), name)

    def __matmul__(self, other):
        return self.tensor @ (other.tensor if isinstance(other, Tensor) else other)

    def __rmatmul__(self, other):
        return other @ self.tensor

    __array_ufunc__ = None

    def __repr__(self):
        return str(self.tensor)


def _saved(picture, name):
    if name is not None:
        picture.save(name)
    return picture
