"""Formats as classes, as the proposal writes them: what each axis stores is said in the constructor.

    class EllpackTensor(sparse.SparseTensor):
        def __init__(self):
            with sparse.iter(dim=2) as (I, J):
                J.compress(coordinate=True).pack()
                self.indices = [I, J]

Such a class, or an instance of it, is accepted wherever a format is; what it stands for is an ordinary st.Format.
"""

from ..._core import Format
from ...errors import FormatError
from .. import _layouts

_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"


class Axis:
    """An axis of a format that is being written: dense until a verb says something else. Verbs return the axis."""

    def __init__(self, dims, expr):
        self._dims, self.expr, self.level, self._parts = dims, expr, "dense", None

    def dense(self):
        """All coordinates, stored or not."""
        return self._says("dense")

    def compress(self, coordinate=True, unique=True, ordered=True):
        """Positions and coordinates of what is there. unique=False: a coordinate may come again, as the rows of COO do."""
        if not coordinate:
            raise FormatError("a compressed axis has coordinates", expected="coordinate=True", got="coordinate=False")
        words = [word for word, said in (("nonunique", not unique), ("unordered", not ordered)) if said]
        return self._says(f"compressed({', '.join(words)})" if words else "compressed")

    def pack(self, slots=None):
        """Coordinates at a fixed width for each parent, without positions: `slots` of them, or as many as the longest needs."""
        if self.level not in ("compressed",):
            raise FormatError(
                "only compressed coordinates are packed",
                expected=f"{self.expr}.compress(coordinate=True).pack()",
                got=f"{self.expr} : {self.level}",
            )
        return self._says("padded" if slots is None else f"padded({slots})")

    def singleton(self):
        """One coordinate for each parent, as the columns of COO are stored."""
        return self._says("singleton")

    def bitmap(self):
        """A bit for each coordinate."""
        return self._says("bitmap")

    def delta(self, bits):
        """Distances between coordinates, in so many bits."""
        return self._says(f"delta({bits})")

    def structured(self, n):
        """n coordinates for each parent."""
        return self._says(f"structured({n})")

    def range(self):
        """The coordinates that a diagonal has within the tensor."""
        return self._says("range")

    def split(self, size):
        """(outer, inner): the axes of the blocks of this size, and within them."""
        self._parts = (
            Axis(self._dims, f"{_grouped(self.expr)} / {size}"),
            Axis(self._dims, f"{_grouped(self.expr)} % {size}"),
        )
        return self._parts

    def __sub__(self, other):
        return Axis(self._dims, f"{self.expr} - {other.expr}")

    def __add__(self, other):
        return Axis(self._dims, f"{self.expr} + {other.expr}")

    def _says(self, level):
        self.level = level
        return self

    def __repr__(self):
        return f"{self.expr} : {self.level}"


def _grouped(expr):
    return expr if expr.isidentifier() else f"({expr})"


class iter:  # noqa: A001 (the proposal's name)
    """The axes of a format of `dim` dimensions: `with sparse.iter(dim=2) as (I, J):`."""

    def __init__(self, dim):
        if not isinstance(dim, int) or not 0 < dim <= len(_LETTERS):
            raise FormatError("sparse.iter takes a number of dimensions", expected="1 to 26", got=repr(dim))
        self.dims = _LETTERS[:dim]

    def __enter__(self):
        axes = tuple(Axis(self.dims, letter) for letter in self.dims)
        return axes if len(axes) > 1 else axes[0]

    def __exit__(self, *error):
        return None


class _Either:
    """A method that a class answers as an instance of it made without arguments would."""

    def __init__(self, f):
        self.f, self.__doc__ = f, f.__doc__

    def __get__(self, obj, cls):
        return self.f.__get__(cls() if obj is None else obj)


class SparseTensor:
    """The base of formats that are written as classes. The constructor sets `indices`: axes, in the order of storage."""

    #: axes in the order of storage
    indices = None

    @_Either
    def __strata_format__(self, rank=None):
        """The st.Format that is meant. FormatError where the axes make none."""
        axes = self.indices
        if not axes:
            raise FormatError(
                f"{type(self).__name__} says nothing of its axes",
                expected="self.indices = [I, J], in the order of storage",
                got=repr(axes),
            )
        axes = [axes] if isinstance(axes, Axis) else axes
        levels = ", ".join(f"{axis.expr} : {axis.level}" for axis in axes)
        return Format(f"({', '.join(axes[0]._dims)}) -> ({levels})")

    @_Either
    def format(self):
        """The st.Format that is meant: `CscTensor.format()`."""
        return self.__strata_format__()

    def __repr__(self):
        return f"{type(self).__name__}({self.__strata_format__()})"


def _named(cls_name, name, doc):
    def __init__(self, *numbers):
        flat = [n for x in numbers for n in (x if isinstance(x, (tuple, list)) else (x,))]
        self.text = f"{name}({', '.join(map(str, flat))})" if flat else name

    def __strata_format__(self, rank=None):
        return Format(self.text) if rank is None else Format(self.text, rank)

    members = {"__doc__": doc, "__module__": __name__.rpartition(".")[0], "__init__": __init__}
    return type(cls_name, (SparseTensor,), {**members, "__strata_format__": _Either(__strata_format__)})


CsrTensor = _named("CsrTensor", "CSR", "Rows of columns.")
CscTensor = _named("CscTensor", "CSC", "Columns of rows.")
CooTensor = _named("CooTensor", "COO", "Coordinates, of any rank.")
DcsrTensor = _named("DcsrTensor", "DCSR", "The rows that hold something, of columns.")
CsfTensor = _named("CsfTensor", "CSF", "A tree of coordinates, of any rank.")
BsrTensor = _named("BsrTensor", "BSR", "Rows of blocks: BsrTensor(16, 16).")
BscTensor = _named("BscTensor", "BSC", "Columns of blocks: BscTensor(16, 16).")
EllpackTensor = _named(
    "EllpackTensor", "ELL", "As many columns in each row as the longest has, or EllpackTensor(slots)."
)
BlockedEllpackTensor = _named("BlockedEllpackTensor", "BlockedELL", "As many blocks in each row: (16, 16[, slots]).")
DiaTensor = _named("DiaTensor", "DIA", "Diagonals.")
DeltaTensor = _named("DeltaTensor", "delta", "Distances between columns in so many bits: DeltaTensor(4).")
BitmapTensor = _named("BitmapTensor", "bitmap", "A bit for each element.")
NMTensor = _named("NMTensor", "structured", "n of each m columns: NMTensor(2, 4).")
DenseTensor = _named("DenseTensor", "dense", "All elements, of any rank.")


def format_of(given, rank=None):
    """The st.Format that is meant by a name, an st.Format, a class or an instance of SparseTensor. FormatError."""
    named = isinstance(given, (str, Format)) or hasattr(given, "__strata_format__")
    found = _layouts.format_of(given, rank) if named else None
    if found is None:
        raise FormatError(
            "no format", expected="a name, an st.Format or a class such as sparse.CscTensor", got=repr(given)
        )
    return found
