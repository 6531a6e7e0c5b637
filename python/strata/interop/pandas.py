"""pandas: sparse columns, and dense ones of one dtype."""

import numpy as np

from .._core import Tensor
from ..errors import DTypeError, TensorError, Unsupported
from .numpy import from_numpy


def _sparse(x):
    import pandas

    return isinstance(x.dtype, pandas.SparseDtype)


def from_pandas(x):
    """A tensor over a pandas Series or DataFrame; labels stay behind.

    A sparse Series is a sparse vector over its arrays, with its fill value; a DataFrame whose columns are all sparse and
    have one fill value becomes CSC (its columns are joined). Dense ones are dense, over the same memory where pandas keeps
    one block. TensorError for a mixture of dense and sparse columns, DTypeError for other than numbers.
    """
    if x.ndim == 1:
        return _vector(x) if _sparse(x) else from_numpy(_numbers(x))
    columns = [x.iloc[:, k] for k in range(x.shape[1])]
    sparse = [_sparse(c) for c in columns]
    if not any(sparse):
        return from_numpy(_numbers(x))
    if not all(sparse):
        raise TensorError(
            "some columns of this DataFrame are sparse and some are not",
            expected="all of one kind",
            got=f"{sum(sparse)} of {len(sparse)} sparse",
            fix='frame.astype(pandas.SparseDtype("float64", 0.0)), or frame.sparse.to_dense()',
        )
    arrays = [c.array for c in columns]
    fills = [a.fill_value for a in arrays]
    if any(not (f == fills[0] or (f != f and fills[0] != fills[0])) for f in fills):
        raise TensorError(
            "the columns of this DataFrame have several fill values",
            expected="one",
            got=", ".join(map(str, set(fills))),
        )
    pos = np.concatenate([[0], np.cumsum([len(a.sp_values) for a in arrays])])
    crd = np.concatenate([a.sp_index.indices for a in map(_with_indices, arrays)])
    values = np.concatenate([a.sp_values for a in arrays])
    format = "(i, j) -> (j: dense, i: compressed)"
    return Tensor(format, x.shape, pos={1: pos}, crd={1: crd.astype(pos.dtype)}, values=values, fill=fills[0])


def _with_indices(array):
    """pandas keeps runs of coordinates too: as single ones."""
    from types import SimpleNamespace

    return SimpleNamespace(sp_index=array.sp_index.to_int_index(), sp_values=array.sp_values)


def _vector(x):
    a = x.array
    index = a.sp_index.to_int_index().indices
    pos = np.array([0, len(index)], dtype=index.dtype)
    return Tensor("SparseVector", (len(x),), pos={0: pos}, crd={0: index}, values=a.sp_values, fill=a.fill_value)


def _numbers(x):
    array = x.to_numpy()
    if array.dtype == object:
        raise DTypeError(
            "these columns are not all numbers",
            expected="columns of one dtype of numbers",
            got=", ".join(sorted({str(d) for d in np.atleast_1d(np.asarray(x.dtypes, dtype=object))})),
        )
    return array


def to_pandas(t, *, copy=False):
    """A matrix as a DataFrame, a vector as a Series, with sparse columns unless all levels are dense; labels are numbers.
    Unsupported without pandas and for more than two dimensions."""
    try:
        import pandas
    except ImportError:
        raise Unsupported("pandas is needed here and is not installed", fix="pip install pandas") from None
    if t.ndim not in (1, 2):
        raise Unsupported("pandas has Series and DataFrames", expected="one or two dimensions", got=str(t.ndim))
    if t.format.is_all_dense:
        array = t.to_numpy(copy=copy)
        return pandas.Series(array) if t.ndim == 1 else pandas.DataFrame(array)
    if t.ndim == 1:
        v = t.to("SparseVector")
        return pandas.Series(_column(pandas, v._array("values"), v._array("crd", 0), t.shape[0], t.fill))
    c = t.to("CSC")
    pos, crd, values = c._array("pos", 1), c._array("crd", 1), c._array("values")
    columns = {
        k: _column(pandas, values[pos[k] : pos[k + 1]], crd[pos[k] : pos[k + 1]], t.shape[0], t.fill)
        for k in range(t.shape[1])
    }
    return pandas.DataFrame(columns, index=range(t.shape[0]))


def _column(pandas, values, indices, length, fill):
    from pandas._libs.sparse import IntIndex

    index = IntIndex(length, indices.astype("int32"))
    return pandas.arrays.SparseArray(values, sparse_index=index, fill_value=fill)
