"""The core of Strata. Use `import strata`."""

from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import numpy

def format_problem(what: str, expected: str = '', got: str = '', fix: str = '') -> str:
    """The printed form of a problem, as every error of Strata shows it."""

class DType:
    """
    A dtype that NumPy lacks: bfloat16, float8_e4m3fn or float8_e5m2. Equal to its name.
    """

    def __init__(self, name: object) -> None: ...

    @property
    def name(self) -> str:
        """Its name, as other packages have it."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""

    def __repr__(self) -> str: ...

    def __str__(self) -> str: ...

    def __hash__(self) -> int: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __reduce__(self) -> tuple: ...

def dtype_name(dtype: object) -> str:
    """
    NumPy's name of a dtype given as a NumPy or torch dtype, a Python type or a name. DTypeError.
    """

def is_dtype_name(name: str) -> bool:
    """Is this the name of a dtype?"""

class Memory:
    """
    A typed span of memory that a tensor uses. Speaks the buffer protocol (dtypes that Python lacks show their bits) and DLPack.
    """

    @property
    def dtype(self) -> Any: ...

    @property
    def size(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def address(self) -> int: ...

    def __len__(self) -> int: ...

    def __dlpack_device__(self) -> tuple: ...

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> Any: ...

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple: ...

def memory_of_bytes(dtype: str, data: object) -> Memory:
    """Memory over the bytes of any buffer (borrowed where they are aligned)."""

def memory(array: object, what: str = 'an array') -> Memory:
    """One-dimensional memory of an array of any package, borrowed."""

def memory_to_numpy(memory: Memory, shape: object | None = None) -> Any:
    """A NumPy array over the memory."""

def memory_to_torch(memory: Memory, shape: object | None = None) -> Any:
    """A torch tensor over the memory."""

class Level:
    """
    One level of a format: `expr` over the dimensions' names, `kind`, `ordered`, `unique`, `arg` (delta: bits; structured: n; padded: k).
    """

    @property
    def expr(self) -> str:
        """What it stores: an expression over the names of dimensions."""

    @property
    def kind(self) -> str:
        """Its type, in lower case."""

    @property
    def ordered(self) -> bool:
        """Do coordinates ascend below one parent?"""

    @property
    def unique(self) -> bool:
        """Is each coordinate there once below one parent?"""

    @property
    def arg(self) -> int:
        """
        delta: bits; structured: n; padded: k, where 0 takes the longest row; a registered type's number; otherwise 0.
        """

    @property
    def has_pos(self) -> bool:
        """Do tensors have positions for it, t.pos(level)?"""

    @property
    def has_crd(self) -> bool:
        """Do tensors have coordinates for it, t.crd(level)?"""

    @overload
    def __eq__(self, arg: Level, /) -> bool: ...

    @overload
    def __eq__(self, other: object | None) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Format:
    """
    How the dimensions of a tensor map to the levels of its storage.

        Format('(i, j) -> (i: dense, j: compressed)')    # CSR
        Format('BSR(2, 3)')                              # a name
        Format('COO', rank=3)
        Format('BSR(4, 4) + COO')                        # a sum of parts

    Immutable. Equality and hash are structural: names of formats and dimensions do not count. FormatError (carets show where).
    """

    def __init__(self, text: object, rank: int = -1) -> None: ...

    @property
    def rank(self) -> int:
        """Number of dimensions."""

    @property
    def num_levels(self) -> int:
        """Number of levels of a single part."""

    @property
    def num_parts(self) -> int:
        """1, unless the format is a sum."""

    @property
    def parts(self) -> tuple:
        """The parts of a sum as formats of their own."""

    @property
    def levels(self) -> tuple:
        """The levels of a single part, outermost first."""

    @property
    def dims(self) -> tuple:
        """Names of the dimensions."""

    @property
    def name(self) -> str:
        """A well-known name of this structure ('CSR', 'BSR(2, 3)', ...), or ''."""

    @property
    def signature(self) -> str:
        """The structure without properties and arguments."""

    @property
    def is_all_dense(self) -> bool:
        """Are all levels, of every part, dense or batch?"""

    @property
    def is_identity(self) -> bool:
        """Is every level expression a plain dimension?"""

    @property
    def is_ordered(self) -> bool:
        """Are all levels ordered?"""

    @property
    def is_unique(self) -> bool:
        """Can no element be stored twice?"""

    @property
    def can_hold_fill(self) -> bool:
        """May slots be fill-in (stored by the format's own doing)?"""

    @property
    def num_batch_levels(self) -> int:
        """Number of batch levels, which lead."""

    def dim2lvl(self, coords: object) -> tuple:
        """Level coordinates of dimension coordinates."""

    def lvl2dim(self, coords: object) -> tuple:
        """Dimension coordinates of level coordinates."""

    def level_ranges(self, shape: object) -> tuple:
        """
        (lo, size) of the coordinates that each level ranges over for a tensor of this shape. FormatError beyond 64 bits.
        """

    def transpose(self, perm: object | None = None) -> Format:
        """
        The format of the transposed tensor: dimension d of the result is dimension perm[d] of this.
        """

    def rename(self, names: object) -> Format:
        """The same format with other names of dimensions."""

    def __add__(self, other: object) -> Format:
        """A sum of parts."""

    def __radd__(self, other: object) -> Format: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def blog_string(self) -> str:
        """The notation `[i, j] -> (i: <LevelFormat.DENSE>, ...)`."""

    @overload
    def __eq__(self, other: Format) -> bool: ...

    @overload
    def __eq__(self, text: str) -> bool:
        """A text or name stands for its format; what is neither equals none."""

    @overload
    def __eq__(self, other: object | None) -> Any: ...

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple: ...

def register_format(name: str, format: object) -> None:
    """
    A name of your own for a format text. Case is ignored; neither a built-in name nor that of a dtype. FormatError.
    """

def format_names() -> list[tuple[str, str]]:
    """
    Every name that a format text may use, with the text (or its pattern) that it stands for.
    """

def register_level(name: str, coordinate: str, *, slots: str = '', crd_entries: str = 'positions', fills: bool = False, build: object | None = None) -> None:
    """
    A level type of your own: format texts then use its name as they use `compressed`.

    `coordinate`: of child `p`, in whole-number arithmetic over parent, first (the parent's first child), p, previous (the coordinate before; lo - 1 for the first), lo, size, n (the number in the format text) and crd[...]. `slots`: children below each parent, over lo, size and n; "": the level has pos, and children pos[parent] to pos[parent + 1] - 1. `crd_entries`: length of crd, over parents, positions, lo, size and n. `fills`: it has slots that no element asked for. `build(parent, coordinate, parents, lo, size, n)`: makes (pos, crd, position) of elements in order, each an array of integers or None; without it nothing is converted to the level.

        def whole(parent, coordinate, parents, lo, size, n): return None, None, parent * size + coordinate - lo
        register_level('every_place', 'lo + p - first', slots='size', fills=True, build=whole)

    FormatError: a text has no meaning, the name is taken by other texts, or `build` is wrong on a small sample.
    """

def level_types() -> list[str]:
    """Every type of level that a format text may use: built-in ones first."""

class Tensor:
    """
    A universal sparse tensor over arrays of your own.

        Tensor('CSR', (2, 3), pos={1: [0, 1, 2]}, crd={1: [2, 0]}, values=np.array([1., 2.]))

    format : Format, text or name
    shape : extents
    pos, crd : {level: integer array}; borrowed (arrays of one dtype each, int8..int64 or uint8..uint64); packed levels are given unpacked
    values : array, one per slot of the last level; borrowed; any dtype of Strata; one of stride 0 stands for every slot
    fill : the value of absent elements
    check : walk all invariants (TensorError names the level); False is for those who know.

    Immutable. FormatError, TensorError, DTypeError.
    """

    def __init__(self, format: object, shape: object, pos: object | None = None, crd: object | None = None, values: object | None = None, fill: object | None = None, check: bool = True) -> None: ...

    def __matmul__(self, value, /):
        """Return self@value."""

    def __rmatmul__(self, value, /):
        """Return value@self."""

    @property
    def values(self) -> numpy.ndarray:
        """
        The values of the slots, 1-D: a NumPy array over the tensor's memory, which can be read only: a tensor is immutable (torch for dtypes that NumPy lacks). t.values.copy() is an array apart. TensorError for a sum.
        """

    def pos(self, level: object) -> numpy.ndarray:
        """Positions of a level, 1-D. TensorError where it has none."""

    def crd(self, level: object, *, packed: bool = False) -> numpy.ndarray:
        """
        Coordinates of a level, 1-D. TensorError where it has none.

        packed : delta, structured and bitmap as they lie in memory, for kernels of one's own: uint8, b bits a slot, the lowest bits first, eight bytes behind them that may be read; a bitmap's words of 64 bits. By default unpacked, a copy.

            from_dense(np.eye(4), 'delta(4)').crd(1, packed=True)[:2].tolist() == [0x10, 0x32]
        """

    def with_values(self, values: object) -> Tensor:
        """
        The same pattern, whose arrays are shared, with other values of any dtype: one for each slot, in the order of t.values; borrowed. The fill takes their dtype. TensorError for a sum, and for another number of values.
        """

    def copy(self) -> Tensor:
        """A tensor with memory of its own."""

    def __copy__(self) -> Tensor: ...

    def __deepcopy__(self, memo: object) -> Tensor: ...

    def __getitem__(self, key: object | None) -> Any:
        """
        The element at these coordinates (negative ones count from the end), the fill where it is absent; with slices, None, lists of coordinates or of truth values, np.ix_, and masks of the tensor's own shape (as in A[A > 2]) a tensor or an array, as NumPy indexes. IndexError.
        """

    def get(self, coords: object) -> Any:
        """
        As t[coords], but None where the element is absent (a stored 0 is present).
        """

    def items(self) -> StoredIterator:
        """Stored elements as (coordinates, value), in storage order."""

    def __bool__(self) -> bool: ...

    @property
    def format(self) -> Format:
        """How the elements are stored."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension."""

    @property
    def ndim(self) -> int:
        """Number of dimensions."""

    @property
    def dtype(self) -> Any:
        """A NumPy dtype, or st.DType for those that NumPy lacks."""

    @property
    def pos_dtype(self) -> Any:
        """The dtype of positions, the same on every level."""

    @property
    def crd_dtype(self) -> Any:
        """
        The dtype of coordinates, the same on every level; packed ones are unpacked to it.
        """

    @property
    def fill(self) -> Any:
        """The value of absent elements."""

    @property
    def device(self) -> str:
        """Where the arrays are: 'cpu'."""

    @property
    def nse(self) -> int:
        """Stored elements: explicit zeros and fill-in included."""

    @property
    def nbytes(self) -> int:
        """Bytes of pos, crd (packed as they are) and values in use."""

    @property
    def size(self) -> Any:
        """Number of elements, absent ones included."""

    @property
    def parts(self) -> tuple:
        """The parts of a sum as tensors; one for every other tensor."""

    def validate(self) -> None:
        """Checks every invariant of every level; TensorError names the level."""

    def transpose(self, *axes) -> Tensor:
        """
        The same storage under permuted dimensions (reversed by default); nothing moves.
        """

    @property
    def T(self) -> Tensor:
        """As transpose()."""

    def equal(self, other: object, storage: bool = False) -> bool:
        """
        Are the shapes and all elements equal, in whatever formats, dtypes and packages, as np.array_equal says? With `storage`: are the formats, and the stored coordinates and values bit by bit (index dtypes, slots outside the tensor and spare capacity do not count)?
        """

    def drop_zeros(self) -> Tensor:
        """
        The tensor without stored elements that hold the fill (of fill 0: zeros of either sign), in its own format. Arithmetic stores what its operands store, also where that gives zeros: A - A, A > 5.
        """

    def __repr__(self) -> str: ...

    __array_priority__: float = 1000.0

    def __add__(self, other: object) -> Any: ...

    def __radd__(self, other: object) -> Any: ...

    def __sub__(self, other: object) -> Any: ...

    def __rsub__(self, other: object) -> Any: ...

    def __mul__(self, other: object) -> Any: ...

    def __rmul__(self, other: object) -> Any: ...

    def __truediv__(self, other: object) -> Any: ...

    def __rtruediv__(self, other: object) -> Any: ...

    def __floordiv__(self, other: object) -> Any: ...

    def __rfloordiv__(self, other: object) -> Any: ...

    def __mod__(self, other: object) -> Any: ...

    def __rmod__(self, other: object) -> Any: ...

    def __eq__(self, other: object) -> Any: ...  # type: ignore[override]

    def __ne__(self, other: object) -> Any: ...  # type: ignore[override]

    def __lt__(self, other: object) -> Any: ...

    def __le__(self, other: object) -> Any: ...

    def __gt__(self, other: object) -> Any: ...

    def __ge__(self, other: object) -> Any: ...

    def __neg__(self) -> Tensor: ...

    def __abs__(self) -> Tensor: ...

    def __pos__(self) -> Tensor: ...

    def __pow__(self, other: object) -> Any: ...

    def __str__(self) -> str: ...

    def _repr_html_(self) -> str: ...

    # names of NumPy and SciPy
    @property
    def nnz(self) -> Any:
        """SciPy's name of `nse`: stored elements, explicit zeros and fill-in included. `count_nonzero()` counts values."""

    @property
    def coords(self) -> Any:
        """The coordinates of the stored elements in row-major order, an integer array a dimension (of `to("COO").values`)."""

    def astype(self, dtype: object, order: str = 'K', casting: str = 'unsafe', subok: bool = True, copy: bool = True) -> Tensor:
        """The same elements (and fill) in another dtype, as NumPy's astype: `to(dtype=)`. The pattern is shared."""

    def toarray(self, order: object | None = None, out: object | None = None) -> Any:
        """SciPy's name of `to_dense()`: all elements as an array, the fill where nothing is stored."""

    def todense(self, order: object | None = None, out: object | None = None) -> Any:
        """SciPy's name of `to_dense()`: all elements as an array, the fill where nothing is stored."""

    def tocsr(self, copy: bool = False) -> Tensor:
        """SciPy's name of `to("CSR")`. `copy` does not count: tensors are immutable."""

    def tocsc(self, copy: bool = False) -> Tensor:
        """SciPy's name of `to("CSC")`. `copy` does not count: tensors are immutable."""

    def tocoo(self, copy: bool = False) -> Tensor:
        """SciPy's name of `to("COO")`. `copy` does not count: tensors are immutable."""

    def todia(self, copy: bool = False) -> Tensor:
        """SciPy's name of `to("DIA")`. `copy` does not count: tensors are immutable."""

    def tobsr(self, blocksize: object | None = None, copy: bool = False) -> Tensor:
        """SciPy's name of `to("BSR(r, c)")`. blocksize : (r, c), 2 x 2 unless told; blocks that do not divide are padded."""

    def conj(self, copy: bool = True) -> Tensor:
        """The complex conjugate of each element and of the fill, in the same format; a real tensor itself."""

    def conjugate(self, copy: bool = True) -> Tensor:
        """The complex conjugate of each element and of the fill, in the same format; a real tensor itself."""

    @property
    def real(self) -> Any:
        """The real part of each element, in the same format."""

    @property
    def imag(self) -> Any:
        """The imaginary part of each element, in the same format."""

    def dot(self, other: object) -> Any:
        """NumPy's dot: `self @ other` of vectors and matrices, with a number `self * other`."""

    def multiply(self, other: object) -> Any:
        """SciPy's name of `self * other`, element by element; broadcasts."""

    def maximum(self, other: object) -> Any:
        """np.maximum of both, element by element."""

    def minimum(self, other: object) -> Any:
        """np.minimum of both, element by element."""

    def power(self, n: object, dtype: object | None = None) -> Any:
        """SciPy's name of `self ** n`, element by element. dtype : of the result and in which it is computed."""

    def arcsin(self) -> Any:
        """np.arcsin of each element and of the fill, which is 0 as before: the pattern stays."""

    def arcsinh(self) -> Any:
        """np.arcsinh of each element and of the fill, which is 0 as before: the pattern stays."""

    def arctan(self) -> Any:
        """np.arctan of each element and of the fill, which is 0 as before: the pattern stays."""

    def arctanh(self) -> Any:
        """np.arctanh of each element and of the fill, which is 0 as before: the pattern stays."""

    def ceil(self) -> Any:
        """np.ceil of each element and of the fill, which is 0 as before: the pattern stays."""

    def deg2rad(self) -> Any:
        """np.deg2rad of each element and of the fill, which is 0 as before: the pattern stays."""

    def expm1(self) -> Any:
        """np.expm1 of each element and of the fill, which is 0 as before: the pattern stays."""

    def floor(self) -> Any:
        """np.floor of each element and of the fill, which is 0 as before: the pattern stays."""

    def log1p(self) -> Any:
        """np.log1p of each element and of the fill, which is 0 as before: the pattern stays."""

    def rad2deg(self) -> Any:
        """np.rad2deg of each element and of the fill, which is 0 as before: the pattern stays."""

    def rint(self) -> Any:
        """np.rint of each element and of the fill, which is 0 as before: the pattern stays."""

    def sign(self) -> Any:
        """np.sign of each element and of the fill, which is 0 as before: the pattern stays."""

    def sin(self) -> Any:
        """np.sin of each element and of the fill, which is 0 as before: the pattern stays."""

    def sinh(self) -> Any:
        """np.sinh of each element and of the fill, which is 0 as before: the pattern stays."""

    def sqrt(self) -> Any:
        """np.sqrt of each element and of the fill, which is 0 as before: the pattern stays."""

    def tan(self) -> Any:
        """np.tan of each element and of the fill, which is 0 as before: the pattern stays."""

    def tanh(self) -> Any:
        """np.tanh of each element and of the fill, which is 0 as before: the pattern stays."""

    def trunc(self) -> Any:
        """np.trunc of each element and of the fill, which is 0 as before: the pattern stays."""

    def nonzero(self) -> Any:
        """NumPy's nonzero: the coordinates of the elements that are not 0, an int64 array a dimension, in row-major order."""

    def count_nonzero(self, axis: object | None = None, *, keepdims: bool = False) -> Any:
        """How many elements are not 0, over all axes, one, or several: absent ones count where the fill is not 0."""

    def __len__(self) -> int:
        """The first extent, as of a NumPy array. TypeError for no dimensions."""

    def __iter__(self) -> Any:
        """The rows, as self[0], self[1], ...: tensors, or numbers of a vector. One conversion serves all of them."""

    def var(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The variance over all axes, one, or several, absent elements included: a dense array, as np.var of to_dense()."""

    def std(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The standard deviation, the root of var(), with the same arguments."""

    def prod(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, keepdims: bool = False) -> Any:
        """The product over all axes, one, or several, absent elements included: a dense array, as np.prod of to_dense()."""

    def argmax(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> Any:
        """Where the first largest element stands, absent ones included, as np.argmax of to_dense(): an int64 array."""

    def argmin(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> Any:
        """Where the first least element stands, absent ones included, as np.argmin of to_dense(): an int64 array."""

    def clip(self, min: object | None = None, max: object | None = None) -> Tensor:
        """Each element within min and max (numbers, arrays, tensors, or None), the fill too, as np.clip."""

    def round(self, decimals: int = 0) -> Tensor:
        """Each element rounded to that many decimals, halves to even, the fill too, as np.round; the pattern stays."""

    def reshape(self, *shape: object, order: str = 'C', format: object | None = None) -> Tensor:
        """The same elements in row-major order (order="F": column-major) under another shape; one extent may be -1."""

    def ravel(self, order: str = 'C') -> Any:
        """All elements in row-major order (order="F": column-major), as a sparse vector."""

    def flatten(self, order: str = 'C') -> Any:
        """All elements in row-major order (order="F": column-major), as a sparse vector."""

    def squeeze(self, axis: object | None = None) -> Tensor:
        """Without the dimensions of extent 1, or those of them that `axis` names (one or several)."""

    def swapaxes(self, axis1: object, axis2: object) -> Any:
        """The tensor with two dimensions swapped; nothing moves."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """The elements with axis2's coordinate = axis1's + offset: of a matrix a dense array; of more dimensions a tensor whose last dimension runs along the diagonals, as NumPy's."""

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object | None = None, out: object | None = None) -> Any:
        """The sum of a diagonal: a number of a matrix, of more dimensions a dense array."""

    def setdiag(self, values: object, k: int = 0) -> Tensor:
        """A new tensor with these elements on diagonal k: one number, or one a place (a shorter list fills the first ones)."""

    def topk(self, k: object, axis: object = -1, *, largest: bool = True) -> Tensor:
        """The k largest (or smallest) stored elements along an axis, at their places: a tensor that stores these alone."""

    def __and__(self, other: object) -> Any: ...

    def __rand__(self, other: object) -> Any: ...

    def __or__(self, other: object) -> Any: ...

    def __ror__(self, other: object) -> Any: ...

    def __xor__(self, other: object) -> Any: ...

    def __rxor__(self, other: object) -> Any: ...

    def __lshift__(self, other: object) -> Any: ...

    def __rlshift__(self, other: object) -> Any: ...

    def __rshift__(self, other: object) -> Any: ...

    def __rrshift__(self, other: object) -> Any: ...

    def __invert__(self) -> Any: ...

    def __divmod__(self, other: object) -> Any: ...

    def __rdivmod__(self, other: object) -> Any: ...

    def __rpow__(self, base: object) -> Any: ...
    # end of names

    def to(self, target: object | None = None, *, format: object | None = None, dtype: object | None = None, device: str | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, split: object | None = None, zeros: str | None = None) -> Tensor:
        """The same tensor in another format, dtype or index dtypes, or on another device."""

    def to_dense(self) -> numpy.ndarray:
        """All elements as a NumPy array (torch for the dtypes that NumPy lacks), row-major, of memory of its own."""

    def to_numpy(self, *, copy: bool = False) -> numpy.ndarray:
        """A dense NumPy array: over the same memory if all levels are dense, otherwise densified."""

    def to_scipy(self, like: object | None = None, *, copy: bool = False) -> Any:
        """A SciPy sparse array over the same memory; formats that SciPy lacks leave as CSR or COO, with a CopyWarning."""

    def to_torch(self, *, copy: bool = False) -> Any:
        """A torch tensor over the same memory; formats that torch lacks leave as CSR or COO, with a CopyWarning."""

    def to_cupy(self) -> Any:
        """A CuPy array or sparse matrix (a copy on the device)."""

    def to_package(self, like: object | None = None, *, copy: bool = False) -> Any:
        """An object of a package: 'numpy', 'scipy', 'torch', 'cupy', or the package of an object."""


    def sum(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> Any:
        """The sum over all axes, one, or several."""

    def max(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> Any:
        """The largest element over all axes, one, or several."""

    def min(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> Any:
        """The least element over all axes, one, or several."""

    def any(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> Any:
        """Is an element not 0, over all axes, one, or several?"""

    def all(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> Any:
        """Is no element 0, over all axes, one, or several?"""

    def mean(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> Any:
        """The mean over all axes, one, or several, missing elements included."""

    def matvec(self, x: object) -> Any:
        """self @ x."""

    def matmat(self, x: object) -> Any:
        """self @ x."""

    def rmatvec(self, x: object) -> Any:
        """The conjugate transpose times x, which is not stored."""

    def rmatmat(self, x: object) -> Any:
        """The conjugate transpose times x, which is not stored."""

    @property
    def H(self) -> Tensor:
        """The conjugate transpose: over the same memory where the values are real."""

    def asformat(self, format: object, copy: bool = False) -> Tensor:
        """SciPy's name of `to(format)`. `copy` does not count: tensors are immutable."""

    def sorted_indices(self) -> Tensor:
        """The same tensor with its coordinates in order and each there once; itself where they are."""

    def item(self, *index: object) -> Any:
        """One element as a number of Python's: of a tensor of one element, or at these coordinates."""

    def take(self, indices: object, axis: int | None = None) -> Any:
        """The elements at these coordinates of an axis, as np.take; of the raveled tensor without one."""

    def repeat(self, repeats: object, axis: int | None = None) -> Any:
        """Each slice of an axis so many times, as np.repeat; without an axis of the raveled tensor."""

    def nanmax(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> Any:
        """The largest element over all axes, one, or several, NaN left out."""

    def nanmin(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> Any:
        """The least element over all axes, one, or several, NaN left out."""

    @property
    def mT(self) -> Tensor:
        """The matrices of the last two dimensions transposed; nothing moves."""

    def to_device(self, device: object, /, *, stream: object | None = None) -> Tensor:
        """The tensor on a device: itself for "cpu"."""

    def __float__(self) -> float: ...

    def __int__(self) -> int: ...

    def __complex__(self) -> complex: ...

    def __index__(self) -> int: ...

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """strata.array_api: the functions of the Python array API standard that tensors have."""

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> Any:
        """The memory of a dense tensor as a DLPack capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): the host."""

    def __array_function__(self, function: object, types: object, args: tuple, kwargs: dict) -> Any:
        """NumPy's functions of whole arrays."""

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, out: tuple | None = None, **options: object) -> Any:
        """NumPy's functions of elements."""

    def __array__(self, dtype=None, copy=None) -> Any: ...

    def __reduce_ex__(self, protocol) -> Any: ...

    @property
    def _shares_value(self) -> Any:
        """Does one value stand for every slot?"""

    def draw(self, limit=None, *, width=None) -> Any:
        """The elements where they are, of at most 3 dimensions: stored ones grey, stored zeros apart from absent elements, fill-in red; of a sum each part in a colour of its own."""

    def draw_raw(self, size=None, *, width=None) -> Any:
        """The structure of at most 3 dimensions and any size: the darker a pixel, the more elements are stored there; fill-in does not count. One pass over the storage."""

    def draw_storage(self, width=None, *, limit=None) -> Any:
        """The storage, level by level, of any number of dimensions: pos, crd and values, lines from parents to children, fill-in red, slots outside the tensor empty."""


def fill_of(t: Tensor) -> Memory:
    """The fill as memory of one element."""

def rebuild(format: str, shape: object, pos: object, crd: object, values: Memory, fill: Memory, shared: bool = False) -> Tensor:
    """A tensor from its arrays; every invariant is checked."""

def joined_crd(t: Tensor, levels: int, nse: int) -> Any:
    """
    The coordinates of the first levels as one int64 matrix, where they lie so in memory; otherwise None.
    """

def make_sum(parts: object) -> Tensor:
    """
    Joins tensors of one shape, dtype and fill to a sum of parts. TensorError.
    """

class StoredIterator:
    """Iterates over (coordinates, value) of the stored elements."""

    def __iter__(self) -> Any: ...

    def __len__(self) -> int: ...

    def __next__(self) -> tuple: ...

def equal(a: object, b: object, storage: bool = False) -> bool:
    """
    Are the shapes and all elements equal, in whatever formats, dtypes and packages, as np.array_equal says? With `storage`: are the formats, and the stored coordinates and values bit by bit (index dtypes, slots outside the tensor and spare capacity do not count)?
    """

def from_array(array: object) -> Tensor:
    """
    A dense tensor over an array of any package (any strides), borrowed. DTypeError, Unsupported (memory of a device).
    """

def plain_torch(x: object) -> Any:
    """
    A torch tensor itself, where a subclass may answer for it as it likes. Unsupported.
    """

def refuse_gradient(x: object) -> None:
    """
    Unsupported where a torch tensor requires gradients, which torch would record now.
    """

def to_operand(x: object) -> Tensor:
    """Anything that can stand in a product, as a Tensor."""

def has_buffer(x: object | None) -> bool:
    """
    Does this object speak the buffer protocol? (bytes do, and are no numbers.)
    """

def is_contiguous(array: object) -> bool: ...

def dense_to_array(t: Tensor, package: str = 'numpy') -> Any: ...

def scan_segments(pos: object, crd: object, extent: int, batches: int = 1) -> tuple:
    """(ordered, unique) of the segments crd[pos[p]:pos[p + 1]]."""

def scan_lists(coords: object) -> tuple[bool, bool]:
    """(ordered, unique) of lists of coordinates, compared lexicographically."""

def convert(t: Tensor, format: object | None = None, dtype: object | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, split: object | None = None, zeros: object | None = None, general: bool = False) -> Tensor:
    """
    The same tensor in another format, value dtype or index dtypes. `general` takes the slow path that checks all others. TensorError where the format cannot hold the tensor.
    """

def pad(t: Tensor, before: object, after: object) -> Tensor:
    """
    The tensor between so many coordinates in front and behind, by dimension, all of which hold its fill.
    """

def from_dense(array: object, format: object, threshold: object | None = 0.0, fill: object | None = None) -> Tensor:
    """
    From a dense array of any package. Elements with |x - fill| <= threshold are dropped: with 0 all that equal the fill, -0.0 too, as in NumPy and SciPy. None drops only those with the very bits of the fill. NaN stays.
    """

def from_coo(coords: object, values: object, shape: object, format: object = 'COO', dtype: object | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, split: object | None = None, fill: object | None = None) -> Tensor:
    """
    From coordinates: coords[d][k] is the d-th coordinate of element k (integer arrays), values[k] its value; any order, duplicates are added. fill : of what is absent, 0 unless told.
    """

def to_dense_tensor(t: Tensor) -> Tensor:
    """Row-major dense; the fill where absent."""

class Builder:
    """The state of strata.Builder."""

    def __init__(self, shape: object, dtype: object) -> None: ...

    def add(self, coords: object, values: object, order: int) -> None: ...

    def build(self, format: object, pos_dtype: object | None, crd_dtype: object | None, split: object | None, fill: object | None) -> Tensor: ...

    def clear(self) -> None: ...

    @property
    def size(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

class Assembly:
    """The state of strata.Assembly."""

    def __init__(self, coords: object, shape: object, format: object, dtype: object | None, pos_dtype: object | None, crd_dtype: object | None, split: object | None) -> None: ...

    def assemble(self, values: object, fill: object | None) -> Tensor: ...

    @property
    def size(self) -> int: ...

    @property
    def nse(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def format(self) -> Format: ...

class Plan:
    """
    A chosen way to compute an expression for operands of given types. Immutable, shareable between threads.
    """

    def run(self, *operands, out: object | None = None, alpha: object = 1, beta: object | None = None, reuse: object | None = None) -> Any:
        """
        alpha * expression + beta * out on operands whose types match the plan's (PlanError otherwise), in the order in which the expression names them. Without `out` the result is a fresh array, or a tensor where it is sparse.

        out : an array to write into; where the result is sparse, a tensor of its type with the same elements, such as an earlier result, whose values are written
        reuse : an earlier sparse result, whose pattern the new one shares: operands of the same patterns have other values. PlanError where the pattern differs.
        """

    def explain(self) -> Any:
        """
        Every candidate in the order tried, with the reason it was refused or chosen.
        """

    def show(self) -> Any:
        """Loops, loop IR and C text, as far as this plan has them."""

    @property
    def kernel_name(self) -> str:
        """The kernel that was chosen, as explain() calls it."""

    @property
    def expression(self) -> str:
        """What it computes, in index notation."""

    @property
    def output_shape(self) -> tuple:
        """The shape of the result."""

    @property
    def output_dtype(self) -> Any:
        """The dtype of the result."""

    def __repr__(self) -> str: ...

def show_expression(expression: str, operands: dict, extent: int = 1000, dtype: object = 'float64', code: bool = True, *, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, schedule: object | None = None) -> str:
    """
    What would be generated for index notation: loops, loop IR and C text. `operands`: {name: format}, the result's too; others are dense. `mask`: its format. ExpressionError, FormatError, ScheduleError, Unsupported.
    """

def emit_expression(expression: str, operands: dict, extent: int = 1000, dtype: object = 'float64', *, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, name: str = 'kernel', main: bool = False) -> str:
    """
    The one kernel of an expression, as a C11 file that needs nothing of Strata. `name`: of its function; `main`: with a main() that calls it on a tiny input and returns 0 where the result is right. ExpressionError, FormatError, Unsupported.
    """

def index_notation_operands(spec: str) -> list[str]:
    """The operands that index notation names, in order. ExpressionError."""

def register_kernel(name: str, expression: str, formats: object, run: object, dtype: object | None = None) -> None:
    """
    Registers a kernel of your own: asked first for `expression` over operands of exactly these formats (structure, not name).

        def spmv(A, x, *, out, alpha, beta): out[:] = alpha * (A.to_scipy() @ x) + (beta * out if beta else 0)
        register_kernel('mine', 'ij,j->i', ['CSR', 'dense(1)'], spmv)
    """

def plans_made() -> int:
    """
    How many times a kernel was chosen since the process began: what the cache of plans knew does not count.
    """

def unregister_kernel(name: str) -> bool:
    """Removes a registered kernel; False where there is none of this name."""

class Schedule:
    """
    How the loops of one expression are arranged, for evaluate(schedule=) and explain(schedule=). What is left open is decided as without it. Loops are named after indices; verbs return the schedule.

        Schedule().split('k', 'ko', 'ki', 64).reorder('ko', 'i', 'j', 'ki').vectorize('ki')
        Schedule('split(k, ko, ki, 64); reorder(ko, i, j, ki); vectorize(ki)')     # the same

    ExpressionError: a text that is none. ScheduleError where it is used, if the expression does not allow it: the message names the dependence.
    """

    @overload
    def __init__(self) -> None: ...

    @overload
    def __init__(self, text: str) -> None: ...

    def split(self, index: str, outer: str, inner: str, size: int) -> Schedule:
        """index = outer * size + inner."""

    def reorder(self, *indices) -> Schedule:
        """
        These loops stand in this order, from the outside in; where others stand is left open.
        """

    def parallelize(self, index: str) -> Schedule:
        """The outermost loop, which is cut into chunks for the threads."""

    def vectorize(self, index: str) -> Schedule:
        """The innermost loop; several of its iterations run at once."""

    def unroll(self, index: str) -> Schedule:
        """
        Written out; its extent must be known, as that of a split's inner loop is.
        """

    def precompute(self, assignment: str, format: object | None = None) -> Schedule:
        """
        'T(i,k) = A(i,j) * B(j,k)' is computed first and stands for what it is in the expression.
        """

    def assemble(self, how: str) -> Schedule:
        """
        How a sparse result is built: 'append' (elements come in their order), 'workspace' (one index is gathered in a row first), or 'pattern' (of an operand).
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    @overload
    def __eq__(self, arg: Schedule, /) -> bool: ...

    @overload
    def __eq__(self, arg: object, /) -> Any: ...

    def __hash__(self) -> int: ...

class Semiring:
    """
    What *, + and sums mean in evaluate() and einsum(), by expressions of the scalars a and b.

        Semiring(add='min(a, b)', multiply='a + b', zero=float('inf'))      # min-plus
        Semiring(add='max(a, b)', multiply='min(a, b)', zero=float('-inf'))  # widest paths

    add : commutative and associative, which each evaluation checks on samples of the values at hand
    multiply : with the operators and functions of index notation
    zero : the identity of add, which absent elements stand for; with it every product is zero (inf of integers is the largest one)

    Expressions compute in the dtype of the operands. Products of three factors or more may be taken in any order where the samples let them. ExpressionError; in an evaluation DTypeError too.
    """

    def __init__(self, add: str, multiply: str, zero: object) -> None: ...

    @overload
    def __eq__(self, arg: Semiring, /) -> bool: ...

    @overload
    def __eq__(self, arg: object, /) -> Any: ...

    def __hash__(self) -> int: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

class TensorType:
    """
    What planning looks at of a tensor that need not exist: st.plan(), st.explain() and st.show() take it for one.

        TensorType('CSR', (10**9, 10**9), 'float64', nse=10**10)

    format : a Format or its text
    shape : of the tensor
    dtype : of its values
    nse : how many elements it stores, about; 16 a row where not given
    pos_dtype, crd_dtype : int32 or int64; the narrowest that hold what there is where not given
    fill : the value of absent elements

    FormatError, DTypeError, TensorError.
    """

    def __init__(self, format: object, shape: object, dtype: object = 'float64', *, nse: object | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, fill: object | None = None) -> None: ...

    @property
    def format(self) -> Format:
        """How the elements are stored."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension."""

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""

    @property
    def nse(self) -> int | None:
        """About how many elements are stored; None: 16 a row."""

    def __repr__(self) -> str: ...

def plan(spec: str, operands: object, *, format: object | None = None, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, dtype: object | None = None, compute_dtype: object | None = None, schedule: object | None = None) -> Plan:
    """
    Plans index notation over {name: operand}, or an einsum over a sequence of them: tensors, arrays or types.
    """

def programs_made() -> int:
    """
    How many times an expression was planned since the process began: what is remembered does not count.
    """

def evaluate(spec: str, operands: dict, *, out: object | None = None, format: object | None = None, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, dtype: object | None = None, compute_dtype: object | None = None, schedule: object | None = None, general: bool = False) -> Any:
    """
    Index notation over {name: tensor}; `general`: by the general path alone.
    """

def einsum(spec: str, *operands, out: object | None = None, alpha: object = 1, beta: object | None = None, format: object | None = None, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, dtype: object | None = None, compute_dtype: object | None = None, schedule: object | None = None) -> Any:
    """NumPy's einsum over sparse and dense operands."""

def explain(spec: str, operands: dict, *, format: object | None = None, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, dtype: object | None = None, compute_dtype: object | None = None, schedule: object | None = None) -> Any:
    """Which way an expression goes, and why its result has its format."""

def show(spec: str, operands: dict, *, format: object | None = None, semiring: object | None = None, mask: object | None = None, complement_mask: bool = False, dtype: object | None = None, compute_dtype: object | None = None, schedule: object | None = None) -> Any:
    """
    What is generated for an expression: loops, loop IR and C text of each step.
    """

def operands_by_name(spec: str, operands: dict) -> tuple:
    """The operands of one product in order of appearance. ExpressionError."""

def expression_operands(spec: str) -> list:
    """
    The operands that an assignment names, in order; of '+=' the result last. What may be an index is none. ExpressionError.
    """

def print_assignment(spec: str) -> str:
    """An assignment as it is printed. ExpressionError."""

def result_format(spec: str, operands: dict) -> tuple:
    """The format that the result gets, and why. ExpressionError."""

def matmul(a: object, b: object, c: object | None = None, *, alpha: object = 1, beta: object | None = None, transpose_a: bool = False, transpose_b: bool = False, conjugate_a: bool = False, conjugate_b: bool = False, dtype: object | None = None, compute_dtype: object | None = None) -> Any:
    """
    alpha * op(a) @ op(b) + beta * c, with NumPy's rules for ranks.

    a, b : sparse tensors, NumPy arrays, torch tensors
    c : array to write into (then beta = 1 unless given), returned; otherwise a fresh array of the package of the dense operand
    transpose_*, conjugate_* : what op() does
    dtype : of the fresh result; compute_dtype: to accumulate in

    TensorError, DTypeError, Unsupported.
    """

class PlannedProduct:
    """The state of strata.Matmul."""

    def __init__(self, a: object, b: object, c: object | None, alpha: object, beta: object | None, transpose_a: bool, transpose_b: bool, conjugate_a: bool, conjugate_b: bool, dtype: object | None, compute_dtype: object | None) -> None: ...

    def plan(self) -> Plan: ...

    def execute(self) -> Any: ...

    def reset_operands(self, a: object | None, b: object | None, c: object | None, alpha: object | None, beta: object | None) -> None: ...

    def release_operands(self) -> None: ...

    def free(self) -> None: ...

def save(path: object, tensors: object) -> None:
    """Writes (name, tensor) pairs as a .st file. FileError."""

def load(path: object, verify: str = 'all', mmap: bool = True) -> list:
    """The (name, tensor) pairs of a .st file. FileError."""

def container_header(path: object) -> str:
    """The header of a .st file, checked: JSON. FileError."""

def read_matrix_market(path: object, progress: object | None = None) -> Tensor:
    """
    Reads a Matrix Market file: coordinate files give COO (sorted, duplicates added), array files a dense tensor. `progress` is called with the share done. FileError with line and column.
    """

def parse_matrix_market(text: object, name: str = '<text>', progress: object | None = None) -> Tensor:
    """As read_matrix_market, from a text or its bytes."""

def write_matrix_market(path: object, t: Tensor) -> None:
    """Writes a 2-D tensor; values read back bit for bit. FileError."""

def read_frostt(path: object, shape: object | None = None, dtype: object | None = None, progress: object | None = None) -> Tensor:
    """
    Reads a FROSTT file as COO, sorted, duplicates added. FileError with line and column.
    """

def parse_frostt(text: object, name: str = '<text>', shape: object | None = None, dtype: object | None = None, progress: object | None = None) -> Tensor:
    """As read_frostt, from a text or its bytes."""

def write_frostt(path: object, t: Tensor) -> None:
    """Writes the stored elements; values read back bit for bit. FileError."""

class Picture:
    """A picture as the core makes it. strata.Picture is what users see."""

    def text(self, width: int = 100) -> str:
        """For a terminal of so many columns."""

    def svg(self, theme: str = 'auto') -> str:
        """A whole SVG file."""

def draw(t: Tensor, limit: int = 0) -> Picture:
    """The elements on their grid."""

def draw_storage(t: Tensor, limit: int = 0) -> Picture:
    """The storage, level by level."""

def draw_raw(t: Tensor, size: int = 0) -> Picture:
    """The structure, as a picture of at most `size` pixels a dimension."""

def draw_conversion(before: Tensor, after: Tensor, limit: int = 0) -> Picture:
    """Before and after a conversion."""

def write_file(path: object, content: bytes) -> None:
    """Writes bytes to a file, whole or not at all. FileError."""

def density(t: Tensor, size: int = 256) -> tuple:
    """
    Stored elements in each cell of a coarse grid: (coordinates that a cell spans along each dimension, counts, elements counted, slots left out as they hold the fill).
    """

def describe_structure(t: Tensor) -> dict:
    """
    What a matrix looks like (rows, bands, blocks, symmetry), the bytes and modelled cost of every storage that suits it, and the one recommended, as a dict.
    """

class Factorization:
    """
    A matrix made ready to solve with: the state of strata.Solve, lu and others.
    """

    def __init__(self, a: object, method: str = 'auto', unit_diagonal: bool = False, dtype: object | None = None, library: str = 'eigen') -> None: ...

    def factorize(self) -> None:
        """SingularError, IndefiniteError."""

    def reset(self, a: object) -> None:
        """Other values; PlanError for another shape."""

    def refactorize(self, a: object) -> None:
        """Both, in one step for other threads."""

    def solve(self, b: object, turn: int = 0) -> tuple:
        """(solution, facts)."""

    def logdet(self) -> tuple: ...

    def factors(self) -> dict: ...

    @property
    def method(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    @property
    def is_factorized(self) -> bool: ...

    @property
    def analyses(self) -> int: ...

class Operator:
    """
    What iterations multiply by: a matrix, a Python function, a preconditioner.
    """

    def matvec(self, x: object) -> Any: ...

    def rmatvec(self, x: object) -> Any: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    @property
    def name(self) -> str: ...

def operator_of(a: object, dtype: object | None = None) -> Operator: ...

def operator_of_calls(rows: int, columns: int, dtype: object, matvec: object, rmatvec: object | None, name: str) -> Operator: ...

def preconditioner(kind: str, a: object, size: int, dtype: object | None = None) -> Operator: ...

def krylov(method: str, a: Operator, b: object, x0: object | None, rtol: float, atol: float, btol: float, max_iterations: int, restart: int, damp: float, preconditioner: object | None, callback: object | None) -> tuple:
    """(solution, facts)."""

def has_factorizations() -> bool:
    """Was this build made with Eigen?"""

class Settings:
    """
    Every knob, in one place; read from the environment once. Change them at start, not while kernels run.
    """

    @property
    def threads(self) -> int:
        """Threads that kernels use; 0 goes back to the default."""

    @threads.setter
    def threads(self, arg: int, /) -> None: ...

    @property
    def engine(self) -> str:
        """
        Which engine runs a plan: auto, kernels, vendor, jit or interpreter; each serves where it can.
        """

    @engine.setter
    def engine(self, arg: str, /) -> None: ...

    @property
    def jit(self) -> str:
        """Which compiler serves at run time: auto, clang, subprocess or off."""

    @jit.setter
    def jit(self, arg: str, /) -> None: ...

    @property
    def cc(self) -> str:
        """
        The C compiler that 'subprocess' runs; '' looks for cc, gcc, clang and ziglang.
        """

    @cc.setter
    def cc(self, arg: str, /) -> None: ...

    @property
    def cache(self) -> str:
        """auto or off: compiled objects are kept on disk."""

    @cache.setter
    def cache(self, arg: str, /) -> None: ...

    @property
    def cache_dir(self) -> str:
        """Where they are kept."""

    @cache_dir.setter
    def cache_dir(self, arg: str, /) -> None: ...

    @property
    def dump(self) -> str:
        """Stages to print, e.g. 'graph,loops': graph, schedule, loops, source."""

    @dump.setter
    def dump(self, arg: str, /) -> None: ...

    @property
    def int32_limit(self) -> int:
        """Largest value of an automatic int32 index."""

    @int32_limit.setter
    def int32_limit(self, arg: int, /) -> None: ...

    @property
    def vendor(self) -> bool:
        """May plans use vendors' kernels where those were measured to be faster?"""

    @vendor.setter
    def vendor(self, arg: bool, /) -> None: ...

    def __repr__(self) -> str: ...

settings: Settings = ...

def machine() -> dict:
    """
    What is known of this processor: bytes of its vectors and of a core's caches, and how kernels go about it.
    """

def compiler_description() -> str:
    """Which compiler would compile a kernel now."""

def attention(pos: object, crd: object, which: Sequence[int], q: object, k: object, v: object, scale: float, bias: object | None, bias_at: Sequence[int], hidden: object | None, out: object, one: object, top: object) -> None:
    """
    softmax(scale * q @ k.T + bias) @ v over what CSR patterns store, one after another; which[n]: the pattern of the n-th matrix. q: (n, L, E), k: (n, S, E), v: (n, S, D), f32 or f64, contiguous. bias: for the elements of patterns, those of the n-th matrix from bias_at[n] on; hidden: (n, S), added to the scores of each key. Written: out (n, L, D); one and top (n, L): 1 / the sum of exp(score - top), and the largest score. TensorError.
    """

def with_all_values(t: Tensor, values: object) -> Tensor:
    """
    The same pattern with other values: one for each slot, part after part; borrowed. TensorError.
    """

class TorchCalls:
    """
    Products of a sparse matrix with dense torch tensors, without Python between. Results are fresh torch tensors; no gradients are recorded.
    """

    def __init__(self) -> None: ...

    def mm(self, matrix: Tensor, values: object, x: object, left: bool) -> Any:
        """
        matrix @ x, or x @ matrix, where the matrix has these values. x: a vector or a matrix.
        """

    def mm_at_once(self, matrix: Tensor, values: object, x: object, c: object | None, left: bool) -> Any:
        """
        The same, plus the row c where there is one, of ordinary tensors that fit, in a call that no mode, transformation, trace or profiler watches; otherwise None.
        """

    def sampled(self, ones: Tensor, a: object, b: object, slots: int, whole: bool) -> Any:
        """
        The values of a @ b.T at the places of `ones`, a tensor of ones with as many slots; `whole`: none of them lies beyond the edge. None where there is no kernel.
        """

    def sampled_at_once(self, ones: Tensor, a: object, b: object, slots: int, whole: bool) -> Any:
        """As mm_at_once is to mm."""
