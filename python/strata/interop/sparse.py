"""pydata/sparse: COO of any rank, GCXS of matrices, DOK."""

import numpy as np

from .. import _core
from .._core import Tensor
from ..errors import Unsupported, warn
from ._layouts import coo_format
from .scipy import _borrow


def from_sparse(x):
    """A tensor over the arrays of a pydata/sparse COO, or of a matrix of GCXS; what else there is becomes COO and is
    copied, with a CopyWarning. Its fill value stays."""
    kind = type(x).__name__
    if kind == "GCXS" and x.ndim == 2 and tuple(x.compressed_axes) in ((0,), (1,)):
        by_rows = tuple(x.compressed_axes) == (0,)
        template = f"(i, j) -> ({'i' if by_rows else 'j'}: dense, {'j' if by_rows else 'i'}: compressed{{}})"
        extent = x.shape[1 if by_rows else 0]
        return _borrow(
            template,
            x.shape,
            {1: x.indptr},
            {1: x.indices},
            x.data,
            lambda: _core.scan_segments(x.indptr, x.indices, extent),
            fill=x.fill_value,
        )
    if kind != "COO":
        warn(f"a {kind} of pydata/sparse was copied: its arrays are not those of a format, and it became COO")
        x = x.to_coo() if hasattr(x, "to_coo") else x.tocoo()
    if x.ndim == 0:
        return Tensor("() -> ()", (), values=np.asarray(x.todense()).reshape(1), fill=x.fill_value)
    nse = len(x.data)
    crd = {k: x.coords[k] for k in range(x.ndim)}
    pos = {0: np.array([0, nse], dtype=x.coords.dtype if nse <= np.iinfo(x.coords.dtype).max else np.int64)}
    return Tensor(coo_format(x.ndim, True, True), x.shape, pos=pos, crd=crd, values=x.data, fill=x.fill_value)


def to_sparse(t, *, copy=False):
    """The tensor as pydata/sparse: GCXS over the same memory of CSR and CSC, otherwise COO, whose coordinates are put into
    one array. The fill stays. Unsupported without the package."""
    try:
        import sparse
    except ImportError:
        raise Unsupported("pydata/sparse is needed here and is not installed", fix="pip install sparse") from None
    t = t.copy() if copy else t
    if t.ndim == 2 and t.format in (_core.Format("CSR"), _core.Format("CSC")):
        pos, crd = t._array("pos", 1), t._array("crd", 1)
        n, axis = int(pos[-1]), 0 if t.format == _core.Format("CSR") else 1
        arrays = t._array("values")[:n], crd[:n], pos
        return sparse.GCXS(arrays, shape=t.shape, fill_value=t.fill, compressed_axes=(axis,))
    coo = t.to(_core.Format("COO", rank=t.ndim)) if t.ndim else t
    if not t.ndim:
        return sparse.COO.from_numpy(np.asarray(t.to_dense()), fill_value=t.fill)
    n = coo.nse
    coords = np.stack([coo._array("crd", k)[:n] for k in range(t.ndim)])
    values = coo._array("values")[:n]
    return sparse.COO(coords, values, shape=t.shape, fill_value=t.fill, has_duplicates=False, sorted=True)
