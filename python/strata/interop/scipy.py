"""SciPy: every sparse class, array and matrix, n-D COO."""

import numpy as np

from .. import _core
from .._core import Format, Tensor
from ..errors import TensorError, Unsupported, warn
from ._layouts import coo_format, props

# Layouts that SciPy has, by the signature of their format (block sizes are cut out).
_CSR = "d0: dense, d1: compressed"
_CSC = "d1: dense, d0: compressed"
_DIAJ = "d1 - d0: compressed, d1: range"


def from_scipy(a, *, fill=None) -> Tensor:
    """A tensor over the arrays of a SciPy sparse array or matrix: csr, csc, coo (any number of dimensions), bsr, dia share
    memory; lil and dok become COO (a copy). Unsorted or repeated coordinates are borrowed as `unordered` or `nonunique`.

    fill : the value where `a` stores nothing, 0 unless told; what SciPy stores keeps its value, zeros in blocks and on
        diagonals too

        from_scipy(scipy_matrix, fill=np.inf)

    TensorError, DTypeError.
    """
    import scipy.sparse as sps

    if not sps.issparse(a):
        if isinstance(a, np.ndarray):
            return _core.from_array(a)
        raise TensorError(
            "from_scipy needs a sparse array or matrix",
            expected="an object of scipy.sparse",
            got=type(a).__name__,
            fix="use from_package(x)",
        )
    return _IMPORT[a.format](a, fill)


def _compressed(a, template, axis, fill):
    extent = a.shape[-1 - axis] if len(a.shape) == 2 else a.shape[0]
    levels = {1: a.indptr}, {1: a.indices}
    values = a.data
    return _borrow(template, a.shape, *levels, values, lambda: _core.scan_segments(a.indptr, a.indices, extent), fill)


def _borrow(template, shape, pos, crd, values, scan, fill=None):
    """Tries the canonical format first: one pass over the coordinates. Only if that fails, looks closer."""
    try:
        return Tensor(template.format(""), shape, pos=pos, crd=crd, values=values, fill=fill)
    except TensorError as error:
        try:
            ordered, unique = scan()
        except Exception:
            raise error from None
        if ordered and unique:
            raise
    return Tensor(template.format(props(ordered, unique)), shape, pos=pos, crd=crd, values=values, fill=fill)


def _from_csr(a, fill=None):
    if len(a.shape) == 1:  # a sparse vector: one row
        indices, data = a.indices, a.data
        n = int(a.indptr[-1])
        return _borrow(
            "(i) -> (i: compressed{})",
            a.shape,
            {0: a.indptr},
            {0: indices},
            data,
            lambda: _core.scan_segments(a.indptr, indices[:n], a.shape[0]),
            fill,
        )
    return _compressed(a, "(i, j) -> (i: dense, j: compressed{})", 0, fill)


def _from_csc(a, fill=None):
    return _compressed(a, "(i, j) -> (j: dense, i: compressed{})", 1, fill)


def _from_bsr(a, fill=None):
    r, c = a.blocksize
    template = f"(i, j) -> (i / {r}: dense, j / {c}: compressed{{}}, i % {r}: dense, j % {c}: dense)"
    return _borrow(
        template,
        a.shape,
        {1: a.indptr},
        {1: a.indices},
        a.data,
        lambda: _core.scan_segments(a.indptr, a.indices, a.shape[1] // c),
        fill,
    )


def _from_coo(a, fill=None):
    coords = list(a.coords)
    nse = len(a.data)
    index = coords[0].dtype if coords else np.dtype(np.int32)
    pos = {0: np.array([0, nse], dtype=index if nse <= np.iinfo(index).max else np.int64)}
    if not coords:  # no dimensions: SciPy holds at most one element
        return Tensor("() -> ()", (), values=np.asarray(a.sum(), dtype=a.dtype).reshape(1))
    crd = dict(enumerate(coords))
    try:
        return Tensor(coo_format(len(coords), True, True), a.shape, pos=pos, crd=crd, values=a.data, fill=fill)
    except TensorError:
        ordered, unique = _core.scan_lists(coords)
        if ordered and unique:
            raise
    return Tensor(coo_format(len(coords), ordered, unique), a.shape, pos=pos, crd=crd, values=a.data, fill=fill)


def _from_dia(a, fill=None):
    m, n = a.shape
    data, offsets = a.data, a.offsets
    inside = (offsets > -m) & (offsets < n)
    if len(offsets) and (data.shape[1] != n or not inside.all()):
        reason = (
            f"its data has {data.shape[1]} columns and the matrix {n}"
            if data.shape[1] != n
            else "some of its diagonals lie outside the matrix"
        )
        offsets = offsets[inside]
        short = len(offsets) * n > 16 * data.size + (1 << 20)
        warn(f"a SciPy DIA array was copied: {reason}" + (", and became COO" if short else ""))
        if short:
            return _from_short_diagonals(a.shape, data[inside], offsets, fill)
        fresh = np.full((len(offsets), n), 0 if fill is None else fill, dtype=data.dtype)  # SciPy stores nothing there
        width = min(n, data.shape[1])
        fresh[:, :width] = data[inside][:, :width]
        data = fresh
    pos = np.array([0, len(offsets)], dtype=offsets.dtype)
    ordered = bool(np.all(offsets[1:] > offsets[:-1]))
    return Tensor(
        f"(i, j) -> (j - i: compressed{props(ordered, True)}, j: range)",
        (m, n),
        pos={0: pos},
        crd={0: offsets},
        values=data,
        fill=fill,
    )


def _from_short_diagonals(shape, data, offsets, fill):
    """As coordinates: whole diagonals would take many times the memory of what there is."""
    from .._create import from_coo

    columns = np.tile(np.arange(min(shape[1], data.shape[1]), dtype=np.int64), len(data))
    rows = columns - np.repeat(offsets.astype(np.int64), len(columns) // max(len(data), 1))
    values = data[:, : shape[1]].reshape(-1)
    inside = (rows >= 0) & (rows < shape[0])
    return from_coo((rows[inside], columns[inside]), values[inside], shape, fill=fill)


def _from_other(a, fill=None):
    warn(f"a SciPy {a.format.upper()} array was copied: it has no arrays to share, and became COO")
    return _from_coo(a.tocoo(), fill)


_IMPORT = {
    "csr": _from_csr,
    "csc": _from_csc,
    "bsr": _from_bsr,
    "coo": _from_coo,
    "dia": _from_dia,
    "lil": _from_other,
    "dok": _from_other,
}


def to_scipy(t, like=None, *, copy=False):
    """The tensor as a SciPy sparse array (`csr_array`, `csc_array`, `bsr_array`, `coo_array` of any rank, `dia_array`)
    over the same memory.

    Formats that SciPy lacks leave as CSR (2-D) or COO, and a CopyWarning says so. `like`: an example; a SciPy matrix
    (`csr_matrix`)
    makes matrices instead of arrays. It can be written where the tensor's source could: what is written there is the
    tensor's too, unless `copy=True`. Unsupported for a fill other than 0 and for dtypes that NumPy lacks.
    """
    import scipy.sparse as sps

    if like is not None and not sps.issparse(like):
        raise TensorError(
            "to_scipy(like=) takes an example", expected="a SciPy sparse array or matrix", got=type(like).__name__
        )
    matrix = isinstance(like, sps.spmatrix)
    if t.fill != 0:
        raise Unsupported(
            "SciPy's absent elements are 0", expected="a tensor of fill 0", got=f"fill {t.fill}", fix="use to_dense()"
        )
    if not isinstance(t.dtype, np.dtype):
        raise Unsupported(
            f"SciPy has no dtype {t.dtype}",
            expected="a dtype that NumPy has",
            got=str(t.dtype),
            fix="t.to('float32').to_scipy()",
        )
    if t.dtype == np.float16:
        raise Unsupported(
            "SciPy's sparse arrays have no float16",
            expected="float32 or float64",
            got="float16",
            fix="t.to('float32').to_scipy()",
        )
    return _export(t.copy() if copy else t, sps, matrix)


def _export(t, sps, matrix):
    f = t.format
    shape = t.shape
    signature = f.signature

    def cls(name):
        return getattr(sps, f"{name}_{'matrix' if matrix and len(shape) == 2 else 'array'}")

    if signature == _CSR or signature == _CSC:
        name = "csr" if signature == _CSR else "csc"
        pos, crd = _same_index(t._array("pos", 1), t._array("crd", 1))
        n = int(pos[-1])
        out = cls(name)(shape, dtype=t.dtype)
        out.indptr, out.indices, out.data = pos, crd[:n], t._array("values")[:n]
        out.has_sorted_indices = f.levels[1].ordered
        if f.levels[1].ordered and f.levels[1].unique:
            out.has_canonical_format = True
        return out
    block = _block_of(f)
    if block and all(e % b == 0 for e, b in zip(shape, block)):
        pos, crd = _same_index(t._array("pos", 1), t._array("crd", 1))
        n = int(pos[-1])
        size = block[0] * block[1]
        out = cls("bsr")(shape, blocksize=block, dtype=t.dtype)
        out.indptr, out.indices, out.data = pos, crd[:n], t._array("values")[: n * size].reshape(n, *block)
        out.has_sorted_indices = f.levels[1].ordered
        if f.levels[1].ordered and f.levels[1].unique:
            out.has_canonical_format = True
        return out
    if signature == _DIAJ and np.can_cast(t.crd_dtype, np.int64, "safe"):
        offsets = _index(t._array("crd", 0))
        n = int(t._array("pos", 0)[-1])
        out = cls("dia")(shape, dtype=t.dtype)
        out.offsets, out.data = offsets[:n], t._array("values")[: n * shape[1]].reshape(n, shape[1])
        return out
    if len(shape) > 0 and _is_coo(f):
        n = int(t._array("pos", 0)[-1])
        coords = tuple(c[:n] for c in _same_index(*[t._array("crd", k) for k in range(len(shape))]))
        out = cls("coo")(shape, dtype=t.dtype)
        out.coords, out.data = coords, t._array("values")[:n]
        out.has_canonical_format = f.is_ordered and f.is_unique
        return out
    if not shape:
        raise Unsupported("SciPy has no sparse scalar", expected="a tensor with dimensions", fix="use to_numpy()")
    target = Format("CSR") if len(shape) == 2 else Format("COO", len(shape))
    warn(f"the tensor was copied: SciPy has no format {f.name or f}, so it leaves as {target.name or target}")
    return _export(t.to(target), sps, matrix)


def _is_coo(f):
    if f.num_parts != 1:
        return False
    levels = f.levels
    return (
        len(levels) == f.rank
        and [v.expr for v in levels] == list(f.dims)
        and levels[0].kind == "compressed"
        and all(v.kind == "singleton" for v in levels[1:])
        and (len(levels) == 1 or not levels[0].unique)
    )


def _block_of(f):
    """(r, c) of a BSR format with row-major blocks, or None."""
    if f.rank != 2 or f.num_parts != 1 or len(f.levels) != 4:
        return None
    a, b, c, d = f.levels
    if (a.kind, b.kind, c.kind, d.kind) != ("dense", "compressed", "dense", "dense"):
        return None
    i, j = f.dims
    try:
        r, w = int(c.expr.removeprefix(f"{i} % ")), int(d.expr.removeprefix(f"{j} % "))
    except ValueError:
        return None
    return (r, w) if (a.expr, b.expr) == (f"{i} / {r}", f"{j} / {w}") else None


def _index(array):
    """An index array in a dtype that SciPy computes with: int32 and int64 as they are, others copied."""
    return _same_index(array)[0]


def _same_index(*arrays):
    """The same in one dtype for all of them: SciPy's own functions take no two."""
    wide = any(a.dtype in (np.int64, np.uint32, np.uint64) for a in arrays)
    target = np.dtype(np.int64 if wide else np.int32)
    for a in arrays:
        if a.dtype != target:
            warn(f"indices of {a.dtype} were copied: SciPy computes with int32 or int64, the same for all")
    return tuple(a.astype(target, copy=False) for a in arrays)
