"""JAX: BCOO and BCSR without batches, on the CPU. Dense arrays come by DLPack."""

import numpy as np

from .. import _core
from .._core import Tensor
from ..errors import Unsupported, warn
from ._layouts import coo_levels, names_of, props


def _array(x):
    """A JAX array on the CPU as a NumPy array over its memory."""
    return np.asarray(x)


def _plain(x):
    if x.n_batch:
        raise Unsupported(
            f"a {type(x).__name__} with batch dimensions", expected="n_batch = 0", got=f"n_batch = {x.n_batch}",
            fix="x.update_layout(n_batch=0)",
        )  # fmt: skip
    if any(d.platform != "cpu" for d in x.data.devices()):
        raise Unsupported(
            "this JAX array lives on a device", expected="memory of the CPU", got=str(x.data.devices()),
            fix="jax.device_put(x, jax.devices('cpu')[0])",
        )  # fmt: skip


def from_jax(x):
    """A tensor over the values of a BCOO or BCSR (of BCSR over its indices too), dense dimensions included. Padding of a
    BCOO, whose indices lie outside, is left out. Unsupported with batch dimensions or on a device."""
    _plain(x)
    rank = len(x.shape)
    names = names_of(rank)
    values = _array(x.data)
    if type(x).__name__ == "BCSR":
        pos, crd = _array(x.indptr), _array(x.indices)
        n = int(pos[-1])
        ordered, unique = _core.scan_segments(pos, crd[:n], x.shape[1])
        levels = [f"{names[0]}: dense", f"{names[1]}: compressed{props(ordered, unique)}"]
        pos, crd = {1: pos}, {1: crd[:n]}
        values = values[:n]
    else:
        indices = _array(x.indices)
        inside = (indices < np.array(x.shape[: x.n_sparse], dtype=indices.dtype)).all(axis=1)
        if not inside.all():
            indices, values = indices[inside], values[inside]
        n, sparse = indices.shape
        lists = np.ascontiguousarray(indices.T)
        if n and sparse > 1:
            warn("indices were copied: JAX keeps those of an element side by side")
        ordered, unique = _core.scan_lists(list(lists)) if sparse else (True, True)
        levels = coo_levels(names[:sparse], ordered, unique)
        pos, crd = {0: np.array([0, n], dtype=indices.dtype)}, dict(enumerate(lists))
    levels += [f"{name}: dense" for name in names[rank - x.n_dense :]]
    return Tensor(
        f"({', '.join(names)}) -> ({', '.join(levels)})", x.shape, pos=pos, crd=crd, values=values.reshape(-1)
    )


def to_jax(t, *, copy=False):
    """The tensor as a JAX array where all levels are dense, as BCSR of CSR, otherwise as BCOO: copies. Without
    `jax_enable_x64` JAX has no 64-bit numbers; such tensors are refused. Unsupported for a fill other than 0."""
    try:
        import jax
        from jax.experimental import sparse
    except ImportError:
        raise Unsupported("JAX is needed here and is not installed", fix="pip install jax") from None
    if t.fill != 0 and not t.format.is_all_dense:
        raise Unsupported(
            "JAX's absent elements are 0", expected="a tensor of fill 0", got=f"fill {t.fill}", fix="use to_dense()"
        )
    wide = isinstance(t.dtype, np.dtype) and t.dtype.name in ("float64", "int64", "uint64", "complex128")
    if wide and not jax.config.jax_enable_x64:
        raise Unsupported(
            "JAX has no 64-bit numbers here",
            expected="a dtype of 32 bits or fewer, or x64 enabled",
            got=str(t.dtype),
            fix="jax.config.update('jax_enable_x64', True), or t.to('float32') first",
        )
    put = jax.numpy.array
    if t.format.is_all_dense:
        return put(t.to_numpy())
    if t.format == _core.Format("CSR"):
        n = t.nse
        arrays = put(t._array("values")[:n]), put(t._array("crd", 1)[:n]), put(t._array("pos", 1))
        return sparse.BCSR(arrays, shape=t.shape, indices_sorted=True, unique_indices=True)
    coo = t.to(_core.Format("COO", rank=t.ndim))
    indices = np.stack([coo._array("crd", k)[: coo.nse] for k in range(t.ndim)], axis=1)
    arrays = put(coo._array("values")[: coo.nse]), put(indices)
    return sparse.BCOO(arrays, shape=t.shape, indices_sorted=True, unique_indices=True)
