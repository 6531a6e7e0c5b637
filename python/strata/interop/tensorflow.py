"""TensorFlow: SparseTensor, on the CPU. Dense tensors come by DLPack."""

import numpy as np

from .. import _core
from .._core import Tensor
from ..errors import Unsupported, warn
from ._layouts import coo_format


def from_tensorflow(x):
    """A COO tensor over the values of a SparseTensor; its indices, which keep those of an element side by side, are copied,
    with a CopyWarning. Unsupported on a device, and of a tensor without values (of a tf.function)."""
    if not hasattr(x.values, "device") or "CPU" not in x.values.device:
        raise Unsupported(
            "this SparseTensor is not in memory of the CPU",
            expected="an eager tensor of the CPU",
            got=str(getattr(x.values, "device", "a tensor that has no values yet")),
            fix="with tf.device('CPU'): x = tf.identity(x)",
        )
    from . import _OnlyDLPack

    narrow = x.values.dtype.name.startswith(("bfloat", "float8"))  # NumPy has none
    indices = np.asarray(x.indices)
    n, rank = indices.shape
    lists = np.ascontiguousarray(indices.T)
    if n and rank > 1:
        warn("indices were copied: TensorFlow keeps those of an element side by side")
    ordered, unique = _core.scan_lists(list(lists))
    return Tensor(
        coo_format(rank, ordered, unique),
        tuple(int(extent) for extent in x.dense_shape),
        pos={0: np.array([0, n])},
        crd=dict(enumerate(lists)),
        values=_core.memory(_OnlyDLPack(x.values)) if narrow else np.asarray(x.values),
    )


def to_tensorflow(t):
    """The tensor as a SparseTensor, or as a dense one where all levels are dense: copies. Unsupported without TensorFlow, and
    for a fill other than 0."""
    try:
        import tensorflow as tf
    except ImportError:
        raise Unsupported("TensorFlow is needed here and is not installed", fix="pip install tensorflow") from None
    if t.format.is_all_dense:
        return tf.constant(t.to_numpy())
    if t.fill != 0:
        raise Unsupported(
            "TensorFlow's absent elements are 0",
            expected="a tensor of fill 0",
            got=f"fill {t.fill}",
            fix="use to_dense()",
        )
    coo = t.to(_core.Format("COO", rank=t.ndim))
    indices = np.stack([coo._array("crd", k)[: coo.nse].astype("int64") for k in range(t.ndim)], axis=1)
    return tf.SparseTensor(indices, tf.constant(coo._array("values")[: coo.nse]), t.shape)
