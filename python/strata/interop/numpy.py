"""NumPy: dense arrays of any strides."""

import numpy as np

from .. import _core
from ..errors import TensorError, Unsupported


def from_numpy(array):
    """A dense tensor over a NumPy array: any strides (also negative and 0), also read-only. DTypeError for object, str
    and other dtypes without numbers."""
    if not isinstance(array, (np.ndarray, np.generic)):
        raise TensorError(
            "from_numpy needs a NumPy array",
            expected="numpy.ndarray",
            got=type(array).__name__,
            fix="use from_package(x)",
        )
    return _core.from_array(array if isinstance(array, np.ndarray) else np.asarray(array))


def to_numpy(t, *, copy=False):
    """The tensor as a dense NumPy array: over the same memory if all levels are dense, otherwise densified (absent
    elements are the fill). What is written into the same memory is the tensor's too, unless `copy=True`."""
    if not isinstance(t.dtype, np.dtype):
        raise Unsupported(
            f"NumPy has no dtype {t.dtype}",
            expected="a dtype that NumPy has",
            got=str(t.dtype),
            fix="convert first, t.to('float32'), or use to_torch()",
        )
    array = t._dense("numpy") if len(t.parts) == 1 else None
    if array is not None:
        return array.copy() if copy else array
    return np.asarray(_core.dense_to_array(_core.to_dense_tensor(t), "numpy"))
