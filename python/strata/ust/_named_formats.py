"""nvmath's named formats and builders, with its parameters; every other name of Strata stands beside them."""

from .. import _core
from .. import formats as _formats
from ..errors import FormatError
from ._tensor_format import TensorFormat


def _build(name, *numbers, called):
    return TensorFormat._of(_formats.Builder(name, "")(*numbers), called)


def _batched(name, batch, dense):
    return name + (f"-b{batch}" if batch else "") + (f"-d{dense}" if dense else "")


def _block(blocksize, n):
    """The n sizes of a block."""
    if not isinstance(blocksize, (tuple, list)) or len(blocksize) != n:
        raise FormatError(f"a block has {n} sizes here", expected=f"a tuple of {n} integers", got=repr(blocksize))
    return blocksize, "x".join(str(b) for b in blocksize)


class _NamedFormats:
    """Formats by nvmath's names: NamedFormats.CSR, NamedFormats.BSRRight((2, 3)), NamedFormats.DELTA(2), ..."""

    def BlockVector(self, blocksize):
        """Blocks of a vector: (i) -> (i / n : compressed, i % n : dense)."""
        return _build("BlockVector", blocksize, called=f"BlockVector{blocksize}")

    def BSRRight(self, blocksize):
        """Rows of blocks (m, n), each row-major."""
        (m, n), text = _block(blocksize, 2)
        return _build("BSRRight", m, n, called=f"BSRRight{text}")

    def BSRLeft(self, blocksize):
        """Rows of blocks (m, n), each column-major."""
        (m, n), text = _block(blocksize, 2)
        return _build("BSRLeft", m, n, called=f"BSRLeft{text}")

    def BSCRight(self, blocksize):
        """Columns of blocks (m, n), each row-major."""
        (m, n), text = _block(blocksize, 2)
        return _build("BSCRight", m, n, called=f"BSCRow{text}")

    def BSCLeft(self, blocksize):
        """Columns of blocks (m, n), each column-major."""
        (m, n), text = _block(blocksize, 2)
        return _build("BSCLeft", m, n, called=f"BSCCol{text}")

    def DELTA(self, delta):
        """Rows whose columns are stored as gaps of `delta` bits."""
        return _build("delta", delta, called=f"Delta{delta}")

    def Structured(self, N, M):
        """N of each M neighbours in a row are stored."""
        return _build("structured", N, M, called=f"Structured{N}:{M}")

    def BSR3(self, blocksize):
        """Blocks (m, n, o) of a tensor of rank 3."""
        (m, n, o), text = _block(blocksize, 3)
        return _build("BSR3", m, n, o, called=f"BSR3{text}")

    def DensedRight(self, dim):
        """Dense of rank `dim`, the last dimension innermost."""
        return _build("DensedRight", dim, called=f"Dense{dim}Right")

    def DensedLeft(self, dim):
        """Dense of rank `dim`, the first dimension innermost."""
        return _build("DensedLeft", dim, called=f"Dense{dim}Left")

    def COOd(self, sparse_dim, dense_dim=0):
        """Coordinates of `sparse_dim` dimensions, then `dense_dim` dense ones."""
        called = None if dense_dim else "COO" if sparse_dim == 2 else f"COO{sparse_dim}"
        return _build("COOd", sparse_dim, dense_dim, called=called)

    def CSRd(self, batch_dim=0, dense_dim=0):
        """CSR with leading batch and trailing dense dimensions."""
        return _build("CSRd", batch_dim, dense_dim, called=_batched("CSR", batch_dim, dense_dim))

    def CSCd(self, batch_dim=0, dense_dim=0):
        """CSC with leading batch and trailing dense dimensions."""
        return _build("CSCd", batch_dim, dense_dim, called=_batched("CSC", batch_dim, dense_dim))

    def BSRRightd(self, blocksize, batch_dim=0, dense_dim=0):
        """BSRRight with leading batch and trailing dense dimensions."""
        (m, n), text = _block(blocksize, 2)
        called = _batched(f"BSRRight{text}", batch_dim, dense_dim)
        return _build("BSRRightd", m, n, batch_dim, dense_dim, called=called)

    def BSCRightd(self, blocksize, batch_dim=0, dense_dim=0):
        """BSCRight with leading batch and trailing dense dimensions."""
        (m, n), text = _block(blocksize, 2)
        called = _batched(f"BSCRight{text}", batch_dim, dense_dim)
        return _build("BSCRightd", m, n, batch_dim, dense_dim, called=called)

    def CSFd(self, dim):
        """Compressed levels, `dim` of them."""
        return _build("CSFd", dim, called=f"CSF{dim}")

    def __getattr__(self, name):
        found = _formats.__getattr__(name)  # formats only, not the module's other names
        if isinstance(found, _core.Format):
            return TensorFormat._of(found, name)
        if name.upper() == "COO":  # nvmath's COO is the matrix; COOd(n) builds others
            return TensorFormat._of(found(), name)

        def build(*numbers):
            return TensorFormat._of(found(*numbers))

        build.__name__, build.__doc__ = name, found.__doc__
        return build

    def __dir__(self):
        own = [n for n in vars(type(self)) if not n.startswith("_")]
        return sorted({*own, *(n for n in dir(_formats) if n != "names")})


NamedFormats = _NamedFormats()
