"""Tensors that nobody has yet: st.from_coo, eye, zeros, full, random, diags, asarray."""

import operator

import numpy as np

from . import _core
from ._calls import told
from ._core import Tensor
from ._shapes import diagonal_length
from ._stored import coordinates, size_of, tensor, unravel, with_fill
from .errors import TensorError
from .interop import from_package

#: whose callers learn in our form what is wrong with their call
_from_coo = told(_core.from_coo)


def _shape(shape):
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(operator.index(n) < 0 for n in shape):
        raise TensorError("an extent is negative", expected="0 or more", got=str(shape))
    return tuple(int(n) for n in shape)


def _made(coords, values, shape, format, dtype, fill=0, ordered=False):
    """dtypes that NumPy lacks are made of float32."""
    known = _numpy_has(dtype)
    values = np.asarray(values, _core.dtype_name(dtype) if known else np.float32)
    format = format or ("CSR" if len(shape) == 2 else coordinates(len(shape)))
    return tensor(coords, values, shape, format, fill, None if known else dtype, ordered)


def eye(m, n=None, k=0, dtype=float, format=None):
    """Ones on diagonal k of an m x n matrix (m x m without n), as np.eye.

        eye(3)
        eye(3, 4, k=1, format="DIA", dtype="float32")

    format : of the result, CSR unless told; any that holds a diagonal. Fill 0. TensorError for negative extents.
    """
    m, n = _shape((m, m if n is None else n))
    k = max(-m, min(operator.index(k), n))
    along = np.arange(diagonal_length((m, n), k), dtype=np.int64)
    return _made((along - min(k, 0), along + max(k, 0)), np.ones(len(along)), (m, n), format, dtype, ordered=True)


def from_coo(
    coords, values, shape, format="COO", dtype=None, pos_dtype=None, crd_dtype=None, split=None, *, fill=None
) -> Tensor:
    """From coordinates: coords[d][k] is the d-th coordinate of element k (integer arrays), values[k] its value; any order,
    duplicates are added.

        from_coo(([0, 1], [2, 0]), [1.0, 2.0], (2, 3), "CSR")
        from_coo(([0, 1], [2, 0]), [1.0, 2.0], (2, 3), fill=np.inf)

    format : of the result; dtype : of its values, pos_dtype, crd_dtype : of its index arrays; split : for sums of parts
    fill : the value where nothing is stored, 0 unless told; in the dtype of the values

    TensorError: coordinates outside the shape, lengths that differ; FormatError, DTypeError.
    """
    if fill is None:
        return _from_coo(coords, values, shape, format, dtype, pos_dtype, crd_dtype, split)
    t = with_fill(_from_coo(coords, values, shape, "COO", dtype), fill)
    return _core.convert(t, format, None, pos_dtype, crd_dtype, split)


def zeros(shape, dtype=float, format=None):
    """A tensor that stores nothing: its fill is 0.

        zeros((3, 4))
        zeros((2, 3, 4), "int32", "CSF")

    format : of the result, CSR of two dimensions unless told, otherwise COO. TensorError for negative extents.
    """
    return full(shape, 0, dtype, format)


def full(shape, fill_value, dtype=None, format=None):
    """A tensor that stores nothing and has this fill everywhere, as np.full: also of a shape too large for an array.

        full((3, 4), np.inf)

    dtype : NumPy's of the number unless told. format : as of zeros(). TensorError for negative extents.
    """
    shape = _shape(shape)
    dtype = np.asarray(fill_value).dtype if dtype is None else dtype
    none = np.empty(0, np.int64)
    return _made((none,) * len(shape), np.empty(0), shape, format, dtype, fill_value)


def ones(shape, dtype=float, format=None):
    """full(shape, 1): nothing stored, fill 1.

    ones((3, 4))
    """
    return full(shape, 1, dtype, format)


def _like(name, make):
    def f(a, dtype=None, format=None, shape=None):
        a = asarray(a)
        return make(a.shape if shape is None else shape, a.dtype if dtype is None else dtype, format)

    f.__name__ = f.__qualname__ = f"{name}_like"
    f.__doc__ = f"""{name}() of a tensor's shape and dtype, unless others are given.

        {name}_like(A)
    """
    return f


zeros_like, ones_like = _like("zeros", zeros), _like("ones", ones)


def random(shape, *, density=0.01, nse=None, format=None, dtype=float, rng=None, sampler=None):
    """A tensor with values in [0, 1) at places drawn without replacement, as scipy.sparse.random_array.

        random((100, 100), density=0.05, rng=0)
        random((4, 5, 6), nse=7, sampler=lambda size: np.ones(size))

    density, nse : share or number of stored elements; format : CSR of two dimensions unless told, otherwise COO
    rng : a np.random.Generator or a seed; sampler : size -> values, instead of uniform ones
    dtype : of the result; of an integer dtype the values are drawn from all that it has

    Fill 0. TensorError: a density outside 0 to 1, more elements than places.
    """
    shape, rng = _shape(shape), np.random.default_rng(rng)
    size = size_of(shape)
    if nse is None:
        if not 0 <= density <= 1:
            raise TensorError("density= is a share", expected="0 to 1", got=str(density))
        nse = round(density * size)
    if not 0 <= operator.index(nse) <= size:
        raise TensorError("there are not so many places", expected=f"0 to {size}", got=str(nse))
    key = np.sort(rng.choice(size, nse, replace=False, shuffle=False)) if nse else np.empty(0, np.int64)
    kind = np.dtype(_core.dtype_name(dtype)) if _numpy_has(dtype) else np.dtype(np.float32)
    if sampler is not None:
        values = sampler(nse)
    elif kind.kind in "iu":
        values = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, nse, dtype=kind, endpoint=True)
    elif kind.kind == "b":
        values = np.ones(nse, bool)
    else:
        values = rng.random(nse) + (1j * rng.random(nse) if kind.kind == "c" else 0)
    return _made(unravel(key, shape), values, shape, format, dtype)


def _numpy_has(dtype):
    try:
        np.dtype(_core.dtype_name(dtype))
    except TypeError:
        return False
    return True


def diags(diagonals, offsets=0, shape=None, format="DIA", dtype=None):
    """A matrix of diagonals, as scipy.sparse.diags_array: diagonals[n] stands on diagonal offsets[n].

        diags([1.0, 2.0, 3.0])
        diags([-1, 2, -1], [-1, 0, 1], shape=(5, 5))                 # a number fills its diagonal
        diags([[1, 2], [3, 4, 5]], offsets=[1, 0], format="CSR")

    shape : square and just large enough unless told; format : DIA unless told; dtype : NumPy's promotion of all
    Fill 0. TensorError: a length that does not fit, an offset that is named twice.
    """
    if isinstance(offsets, (int, np.integer)):
        offsets = [offsets]
        diagonals = diagonals if len(diagonals) and np.ndim(diagonals[0]) == 1 else [diagonals]
    offsets, diagonals = [operator.index(k) for k in offsets], [np.atleast_1d(d) for d in diagonals]
    if len(offsets) != len(diagonals) or len(set(offsets)) < len(offsets):
        raise TensorError(
            "each diagonal has an offset of its own",
            expected=f"{len(diagonals)} offsets",
            got=str(offsets),
        )
    m = n = len(diagonals[0]) + abs(offsets[0]) if offsets else 0
    m, n = _shape(shape) if shape is not None else (m, n)
    lengths = [diagonal_length((m, n), k) for k in offsets]
    for d, k, length in zip(diagonals, offsets, lengths):
        if d.ndim != 1 or len(d) not in (1, length) or not -m <= k <= n:
            raise TensorError(
                f"diagonal {k} does not fit a matrix of {m} x {n}",
                expected=f"a number, or {length} of them",
                got=f"shape {d.shape}",
            )
    along = [np.arange(length, dtype=np.int64) for length in lengths]
    empty = [np.empty(0, np.int64)]
    rows = np.concatenate([a - min(k, 0) for a, k in zip(along, offsets)] or empty)
    columns = np.concatenate([a + max(k, 0) for a, k in zip(along, offsets)] or empty)
    values = np.concatenate([np.broadcast_to(d, n) for d, n in zip(diagonals, lengths)] or [np.empty(0)])
    dtype = values.dtype if dtype is None else dtype
    return _made((rows, columns), values, (m, n), format, dtype, ordered=len(offsets) == 1)


def asarray(x, dtype=None, format=None):
    """Whatever a package calls a tensor, or nested lists, as a tensor: over the same memory where that can be.

        asarray([[1.0, 0], [0, 2]], format="CSR")
        asarray(scipy_matrix)

    dtype, format : of the result; a tensor that has both comes back as it is. Zeros of a dense `x` are dropped where the
    format can do without them. TensorError, DTypeError, FormatError.
    """
    t = x if isinstance(x, Tensor) else from_package(x)
    if dtype is not None:
        t = t.to(dtype=dtype)
    return t if format is None else t.to(format=format)
