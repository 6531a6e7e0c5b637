"""CuPy, by protocol: objects that look like CuPy's arrays and sparse matrices. Memory of a CUDA device is refused with a
typed error until the CUDA back end arrives; what an exporter offers as memory of the host is shared."""

from .. import _core
from .._core import Tensor
from ..errors import TensorError, Unsupported
from ._layouts import coo_format, props


def _host(x, what):
    """The array itself, if its memory is the host's."""
    device = getattr(x, "__dlpack_device__", None)
    if device is not None:
        kind = int(device()[0])
        if kind in (1, 3):
            return x
    elif not hasattr(x, "__cuda_array_interface__"):
        return x
    raise Unsupported(
        f"{what} lives on a CUDA device",
        expected="memory of the CPU",
        got=type(x).__name__,
        fix="call .get() first; a CUDA back end is not part of this version",
    )


def from_cupy(x):
    """A tensor over a CuPy array, or over the arrays of a cupyx.scipy.sparse matrix (csr, csc, coo, dia). TensorError,
    Unsupported."""
    if not hasattr(x, "shape"):
        raise TensorError(
            "from_cupy needs a CuPy array or sparse matrix",
            expected="cupy.ndarray or a matrix of cupyx.scipy.sparse",
            got=type(x).__name__,
            fix="use from_package(x)",
        )
    kind = getattr(x, "format", None)
    if kind is None:
        return _core.from_array(_host(x, "this array"))
    shape = tuple(x.shape)
    if kind in ("csr", "csc"):
        pos, crd, values = (_host(a, f"an array of this {kind} matrix") for a in (x.indptr, x.indices, x.data))
        text = "(i, j) -> (i: dense, j: compressed{})" if kind == "csr" else "(i, j) -> (j: dense, i: compressed{})"
        extent = shape[1] if kind == "csr" else shape[0]
        try:
            return Tensor(text.format(""), shape, pos={1: pos}, crd={1: crd}, values=values)
        except TensorError:
            ordered, unique = _core.scan_segments(pos, crd, extent)
            if ordered and unique:
                raise
        return Tensor(text.format(props(ordered, unique)), shape, pos={1: pos}, crd={1: crd}, values=values)
    if kind == "coo":
        row, col, values = (_host(a, "an array of this coo matrix") for a in (x.row, x.col, x.data))
        ordered, unique = _core.scan_lists([row, col])
        nse = len(_core.memory(values, "data"))
        return Tensor(coo_format(2, ordered, unique), shape, pos={0: [0, nse]}, crd={0: row, 1: col}, values=values)
    if kind == "dia":
        offsets, values = (
            _host(x.offsets, "the offsets of this dia matrix"),
            _host(x.data, "the data of this dia matrix"),
        )
        count = len(_core.memory(offsets, "offsets"))
        if tuple(x.data.shape) != (count, shape[1]):
            raise Unsupported(
                "a dia matrix whose data has another width than the matrix",
                expected=f"data of shape ({count}, {shape[1]})",
                got=f"{tuple(x.data.shape)}",
            )
        ordered, _ = _core.scan_lists([offsets])
        return Tensor(
            f"(i, j) -> (j - i: compressed{props(ordered, True)}, j: range)",
            shape,
            pos={0: [0, count]},
            crd={0: offsets},
            values=values,
        )
    raise Unsupported(f"CuPy matrices of format '{kind}' are not known", expected="csr, csc, coo or dia", got=str(kind))


def to_cupy(t):
    """The tensor as a CuPy array or cupyx.scipy.sparse matrix: copied to the current device through NumPy and SciPy.
    Unsupported without CuPy."""
    try:
        import cupy
        import cupyx.scipy.sparse as cps
    except ImportError:
        raise Unsupported("CuPy is needed here and is not installed", fix="pip install cupy-cuda12x") from None
    if t.format.is_all_dense:
        return cupy.asarray(t.to_numpy())
    if len(t.shape) != 2:
        raise Unsupported(
            "CuPy's sparse tensors are matrices",
            expected="two dimensions",
            got=str(len(t.shape)),
            fix="to_dense() gives an array of any number of them",
        )
    a = t.to_scipy()
    if a.dtype.char not in "?fdFD":
        raise Unsupported(
            "CuPy's sparse matrices do not hold these values",
            expected="bool, float32, float64, complex64 or complex128",
            got=str(a.dtype),
            fix='to(dtype="float64") first',
        )
    cls = {"csr": cps.csr_matrix, "csc": cps.csc_matrix, "coo": cps.coo_matrix, "dia": cps.dia_matrix}.get(a.format)
    return cls(a) if cls else cps.csr_matrix(a.tocsr())
