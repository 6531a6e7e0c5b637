"""nvmath's named formats and builders, with its parameters; every other name of Strata stands beside them."""

from .. import _core, formats as _formats
from ..errors import FormatError
from ._tensor_format import TensorFormat


def _build(name, *numbers, called):
    return TensorFormat._of(_formats.Builder(name, "")(*numbers), called)


def _batched(name, batch, dense):
    return name + (f"-b{batch}" if batch else "") + (f"-d{dense}" if dense else "")


def _blocks(name, sizes, doc, called=None):
    """The builder `name`: a tuple of so many sizes, then, where its name ends in d, batch and dense dimensions."""

    def numbers(blocksize):
        if not isinstance(blocksize, (tuple, list)) or len(blocksize) != sizes:
            raise FormatError(
                f"a block has {sizes} sizes here", expected=f"a tuple of {sizes} integers", got=repr(blocksize)
            )
        return blocksize, (called or name.removesuffix("d")) + "x".join(str(b) for b in blocksize)

    def build(self, blocksize):
        block, text = numbers(blocksize)
        return _build(name, *block, called=text)

    def build_batched(self, blocksize, batch_dim=0, dense_dim=0):
        block, text = numbers(blocksize)
        return _build(name, *block, batch_dim, dense_dim, called=_batched(text, batch_dim, dense_dim))

    method = build_batched if name.endswith("d") else build
    method.__name__, method.__qualname__, method.__doc__ = name, f"_NamedFormats.{name}", doc
    return method


class _NamedFormats:
    """Formats by nvmath's names: NamedFormats.CSR, NamedFormats.BSRRight((2, 3)), NamedFormats.DELTA(2), ..."""

    BSRRight = _blocks("BSRRight", 2, "Rows of blocks (m, n), each row-major.")
    BSRLeft = _blocks("BSRLeft", 2, "Rows of blocks (m, n), each column-major.")
    BSCRight = _blocks("BSCRight", 2, "Columns of blocks (m, n), each row-major.", called="BSCRow")
    BSCLeft = _blocks("BSCLeft", 2, "Columns of blocks (m, n), each column-major.", called="BSCCol")
    BSR3 = _blocks("BSR3", 3, "Blocks (m, n, o) of a tensor of rank 3.")
    BSRRightd = _blocks("BSRRightd", 2, "BSRRight with leading batch and trailing dense dimensions.")
    BSCRightd = _blocks("BSCRightd", 2, "BSCRight with leading batch and trailing dense dimensions.")

    def BlockVector(self, blocksize):
        """Blocks of a vector: (i) -> (i / n : compressed, i % n : dense)."""
        return _build("BlockVector", blocksize, called=f"BlockVector{blocksize}")

    def DELTA(self, delta):
        """Rows whose columns are stored as gaps of `delta` bits."""
        return _build("delta", delta, called=f"Delta{delta}")

    def Structured(self, N, M):
        """N of each M neighbours in a row are stored."""
        return _build("structured", N, M, called=f"Structured{N}:{M}")

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
