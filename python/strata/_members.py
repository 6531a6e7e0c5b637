"""The names that SciPy's and NumPy's arrays have, on Tensor. Each is a line of what the library has under its own name."""

import re

import numpy as np

from . import _core
from ._core import Format, Tensor
from ._stored import axes_of, coordinates, for_numpy, map_values, stored
from .errors import DTypeError, TensorError, Unsupported


def method(f):
    """Makes a function a method of Tensor."""
    f.__qualname__ = f"Tensor.{f.__name__}"
    setattr(Tensor, f.__name__, f)
    return f


def member(f):
    """Makes a function a property of Tensor."""
    setattr(Tensor, f.__name__, property(f))
    return f


@member
def nnz(self):
    """SciPy's name of `nse`: stored elements, explicit zeros and fill-in included. `count_nonzero()` counts values."""
    return self.nse


@member
def coords(self):
    """The coordinates of the stored elements in row-major order, an integer array a dimension (of `to("COO").values`).

    Fill-in is left out. Of a tensor in COO these are its own arrays, in its own order, beside `values`.

        rows, columns = A.coords
    """
    t = self if _lists(self.format) else self.to(coordinates(self.ndim))
    return tuple(t.crd(d)[: int(t.pos(0)[-1])] for d in range(t.ndim))


def _lists(format):
    levels = format.levels if format.num_parts == 1 else ()
    return (
        len(levels) == format.rank > 0
        and [v.expr for v in levels] == list(format.dims)
        and levels[0].kind == "compressed"
        and all(v.kind == "singleton" for v in levels[1:])
        and (len(levels) == 1 or not levels[0].unique)
    )


@method
def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """The same elements (and fill) in another dtype, as NumPy's astype: `to(dtype=)`. The pattern is shared.

    dtype : NumPy's, torch's, or a name of Strata's ("bfloat16"); casting : as for np.can_cast, between dtypes of NumPy

        A.astype("float32")

    DTypeError where casting= forbids it. order, subok and copy do not count: tensors are immutable.
    """
    if casting != "unsafe":
        try:
            allowed = np.can_cast(self.dtype, dtype, casting)
        except TypeError:
            allowed = _core.dtype_name(self.dtype) == _core.dtype_name(dtype)
        if not allowed:
            raise DTypeError(
                f"casting='{casting}' forbids this cast",
                expected=str(self.dtype),
                got=str(dtype),
                fix="casting='unsafe'",
            )
    return self.to(dtype=dtype)


def _dense(name):
    def f(self, order=None, out=None):
        dense = self.to_dense()
        if out is not None:
            np.copyto(out, dense, casting="same_kind")
            return out
        return np.asarray(dense, order=order) if order is not None else dense

    f.__name__ = name
    f.__doc__ = f"""SciPy's name of `to_dense()`: all elements as an array, the fill where nothing is stored.

    order : "C" or "F"; out : an array to write into, returned

        A.{name}()
    """
    method(f)


_dense("toarray")
_dense("todense")


def _conversion(name, format):
    def f(self, copy=False):
        if self.ndim != 2 and format != "COO":
            raise TensorError(
                f"{format} has two dimensions", expected="a matrix", got=f"shape {self.shape}", fix='t.to("COO")'
            )
        target = Format(format) if format != "COO" else coordinates(self.ndim)
        return self if self.format == target else self.to(format=target)

    f.__name__ = name
    f.__doc__ = f"""SciPy's name of `to("{format}")`. `copy` does not count: tensors are immutable.

        A.{name}()
    """
    method(f)


for _name in ("CSR", "CSC", "COO", "DIA"):
    _conversion(f"to{_name.lower()}", _name)


@method
def tobsr(self, blocksize=None, copy=False):
    """SciPy's name of `to("BSR(r, c)")`. blocksize : (r, c), 2 x 2 unless told; blocks that do not divide are padded.

    A.tobsr((2, 2))
    """
    r, c = blocksize or (2, 2)
    return self.to(format=f"BSR({int(r)}, {int(c)})")


@method
def asformat(self, format, copy=False):
    """SciPy's name of `to(format)`, for any format. `copy` does not count: tensors are immutable.

    A.asformat("csc")
    """
    return self if format is None else self.to(format=format)


@method
def sorted_indices(self):
    """The same tensor with its coordinates in order and each there once, as SciPy's sorted_indices; itself where they are.

    A.sorted_indices()
    """
    if self.format.is_ordered and self.format.is_unique:
        return self
    return self.to(format=_sorted(self.format) if self.format.num_parts == 1 else "CSR")


def _sorted(format):
    return (
        re.sub(r"\(((un)?ordered|(non)?unique|, )+\)", "", str(format))
        if not _lists(format)
        else coordinates(format.rank)
    )


@method
def item(self, *index):
    """One element as a number of Python's: of a tensor of one element, or at these coordinates; a single one counts
    row by row.

        A.item(0, 2)

    TensorError: no index, and more elements than one. IndexError.
    """
    if len(index) == 1:
        index = index[0] if isinstance(index[0], tuple) else np.unravel_index(index[0], self.shape)
    elif not index:
        if self.size != 1:
            raise TensorError("item() is for one element", expected="size 1, or an index", got=f"shape {self.shape}")
        index = (0,) * self.ndim
    return np.asarray(for_numpy(self)[tuple(int(i) for i in index)]).item()


def _number(name, kind):
    def f(self):
        return kind(self.item())

    f.__name__ = name
    f.__doc__ = f"The one element as {kind.__name__} makes it. TensorError: there are more."
    method(f)


for _name, _kind in (("__float__", float), ("__int__", int), ("__complex__", complex)):
    _number(_name, _kind)


@method
def __index__(self):
    """The one element of a tensor of integers that has no dimensions. TypeError."""
    if self.ndim or getattr(self.dtype, "kind", "f") not in "iu":
        raise TypeError("only an integer tensor of no dimensions is an index")
    return self.item()


@member
def mT(self):
    """The matrices of the last two dimensions transposed; nothing moves. TensorError for a vector."""
    if self.ndim < 2:
        raise TensorError("mT is of matrices", expected="two dimensions or more", got=f"shape {self.shape}")
    return self.swapaxes(-1, -2)


@method
def conj(self, copy=True):
    """The complex conjugate of each element and of the fill, in the same format; a real tensor itself.

    A.conj()
    """
    return np.conjugate(self) if getattr(self.dtype, "kind", "f") == "c" else self


Tensor.conjugate = conj


def _part(name, f):
    def part(self):
        return map_values(f, self) if getattr(self.dtype, "kind", "f") == "c" or name == "imag" else self

    part.__name__ = name
    part.__doc__ = f"The {name}{'inary' if name == 'imag' else ''} part of each element, in the same format."
    member(part)


_part("real", lambda v: np.real(v).copy())
_part("imag", lambda v: np.imag(v).copy())


@method
def dot(self, other):
    """NumPy's dot: `self @ other` of vectors and matrices, with a number `self * other`.

        A.dot(x)

    Unsupported for more dimensions, where NumPy's dot and matmul differ: write st.einsum.
    """
    rank = np.ndim(other) if not hasattr(other, "ndim") else other.ndim
    if rank == 0 or self.ndim == 0:
        return self * other
    if self.ndim > 2 or rank > 2:
        raise Unsupported(
            "dot of more than two dimensions",
            expected="vectors and matrices",
            got=f"{self.ndim} and {rank} dimensions",
            fix='st.einsum("ijk,kl->ijl", A, B), or A @ B, which takes the leading dimensions as batches',
        )
    return self @ other


@method
def multiply(self, other):
    """SciPy's name of `self * other`, element by element; broadcasts.

    A.multiply(A)
    """
    return self * other


@method
def maximum(self, other):
    """np.maximum of both, element by element.

    A.maximum(0)
    """
    return np.maximum(self, other)


@method
def minimum(self, other):
    """np.minimum of both, element by element.

    A.minimum(0)
    """
    return np.minimum(self, other)


@method
def power(self, n, dtype=None):
    """SciPy's name of `self ** n`, element by element. dtype : of the result and in which it is computed.

    A.power(2)
    """
    return (self if dtype is None else self.to(dtype=dtype)) ** n


def _function(name):
    ufunc = getattr(np, name)

    def f(self):
        return ufunc(self)

    f.__name__ = name
    f.__doc__ = f"""np.{name} of each element and of the fill, which is 0 as before: the pattern stays.

        A.{name}()
    """
    method(f)


for _name in "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc".split():
    _function(_name)


@method
def nonzero(self):
    """NumPy's nonzero: the coordinates of the elements that are not 0, an int64 array a dimension, in row-major order.

        rows, columns = A.nonzero()

    Unsupported where the fill is not 0, for then nearly all elements are meant.
    """
    if self.fill != 0:
        raise Unsupported(
            "all absent elements are nonzero here",
            expected="a tensor of fill 0",
            got=f"fill {self.fill}",
            fix="np.nonzero(t.to_dense()), or t.coords for what is stored",
        )
    found, values = stored(self)
    keep = values != 0
    return found if keep.all() else tuple(c[keep] for c in found)


@method
def count_nonzero(self, axis=None, *, keepdims=False):
    """How many elements are not 0, over all axes, one, or several: absent ones count where the fill is not 0.

        A.count_nonzero(axis=1)

    An int for all axes, otherwise a dense int64 array. ExpressionError: no such axis.
    """
    axes = axes_of(axis, self.ndim)
    if self.ndim == 0:
        return int(for_numpy(self)[()] != 0)
    indices = [f"i{d}" for d in range(self.ndim)]
    value = f"A({','.join(indices)}) != 0"
    for d in axes:
        value = f"sum({indices[d]}, {value})"
    kept = [i for d, i in enumerate(indices) if d not in axes]
    left = f"R({','.join(kept)})" if kept else "R"
    found = _core.evaluate(f"{left} = {value}", {"A": self}, format="dense" if kept else None)
    if keepdims:
        return np.reshape(found, [1 if d in axes else n for d, n in enumerate(self.shape)])
    return found if kept else int(found)


@method
def __len__(self):
    """The first extent, as of a NumPy array. TypeError for no dimensions."""
    if self.ndim == 0:
        raise TypeError("len() of a tensor of no dimensions")
    return self.shape[0]


@method
def __iter__(self):
    """The rows, as self[0], self[1], ...: tensors, or numbers of a vector. One conversion serves all of them.

        sums = [row.sum() for row in A]

    `items()` gives the stored elements. TypeError for no dimensions.
    """
    if self.ndim == 0:
        raise TypeError("iteration over a tensor of no dimensions")
    return _elements(self) if self.ndim == 1 else _rows(self)


def _elements(t):
    (found,), values = stored(t)
    fill, place = np.asarray(t.fill, values.dtype)[()], 0
    for c, v in zip(found.tolist(), values):
        for _ in range(c - place):
            yield fill
        yield v
        place = c + 1
    for _ in range(t.shape[0] - place):
        yield fill


def _rows(t):
    if not t.format.is_all_dense:  # the storage is turned row by row once, whatever it is
        rest = ", ".join(f"d{d} : compressed" for d in range(1, t.ndim))
        t = t.to(format=f"({', '.join(f'd{d}' for d in range(t.ndim))}) -> (d0 : dense, {rest})")
    for i in range(t.shape[0]):
        yield t[i]


del _name, _kind
