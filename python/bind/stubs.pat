# What Python adds to the extension's classes (python/strata/_tensor.py); scripts/stubs.sh merges it into python/strata/_core.pyi.
strata._core.Tensor.__suffix__:
    # names of NumPy and SciPy
    @property
    def nnz(self) -> object:
        """SciPy's name of `nse`: stored elements, explicit zeros and fill-in included. `count_nonzero()` counts values."""

    @property
    def coords(self) -> object:
        """The coordinates of the stored elements in row-major order, an integer array a dimension (of `to("COO").values`)."""

    def astype(self, dtype: object, order: str = 'K', casting: str = 'unsafe', subok: bool = True, copy: bool = True) -> Tensor:
        """The same elements (and fill) in another dtype, as NumPy's astype: `to(dtype=)`. The pattern is shared."""

    def toarray(self, order: object | None = None, out: object | None = None) -> object:
        """SciPy's name of `to_dense()`: all elements as an array, the fill where nothing is stored."""

    def todense(self, order: object | None = None, out: object | None = None) -> object:
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
    def real(self) -> object:
        """The real part of each element, in the same format."""

    @property
    def imag(self) -> object:
        """The imaginary part of each element, in the same format."""

    def dot(self, other: object) -> object:
        """NumPy's dot: `self @ other` of vectors and matrices, with a number `self * other`."""

    def multiply(self, other: object) -> object:
        """SciPy's name of `self * other`, element by element; broadcasts."""

    def maximum(self, other: object) -> object:
        """np.maximum of both, element by element."""

    def minimum(self, other: object) -> object:
        """np.minimum of both, element by element."""

    def power(self, n: object, dtype: object | None = None) -> object:
        """SciPy's name of `self ** n`, element by element. dtype : of the result and in which it is computed."""

    def arcsin(self) -> object:
        """np.arcsin of each element and of the fill, which is 0 as before: the pattern stays."""

    def arcsinh(self) -> object:
        """np.arcsinh of each element and of the fill, which is 0 as before: the pattern stays."""

    def arctan(self) -> object:
        """np.arctan of each element and of the fill, which is 0 as before: the pattern stays."""

    def arctanh(self) -> object:
        """np.arctanh of each element and of the fill, which is 0 as before: the pattern stays."""

    def ceil(self) -> object:
        """np.ceil of each element and of the fill, which is 0 as before: the pattern stays."""

    def deg2rad(self) -> object:
        """np.deg2rad of each element and of the fill, which is 0 as before: the pattern stays."""

    def expm1(self) -> object:
        """np.expm1 of each element and of the fill, which is 0 as before: the pattern stays."""

    def floor(self) -> object:
        """np.floor of each element and of the fill, which is 0 as before: the pattern stays."""

    def log1p(self) -> object:
        """np.log1p of each element and of the fill, which is 0 as before: the pattern stays."""

    def rad2deg(self) -> object:
        """np.rad2deg of each element and of the fill, which is 0 as before: the pattern stays."""

    def rint(self) -> object:
        """np.rint of each element and of the fill, which is 0 as before: the pattern stays."""

    def sign(self) -> object:
        """np.sign of each element and of the fill, which is 0 as before: the pattern stays."""

    def sin(self) -> object:
        """np.sin of each element and of the fill, which is 0 as before: the pattern stays."""

    def sinh(self) -> object:
        """np.sinh of each element and of the fill, which is 0 as before: the pattern stays."""

    def sqrt(self) -> object:
        """np.sqrt of each element and of the fill, which is 0 as before: the pattern stays."""

    def tan(self) -> object:
        """np.tan of each element and of the fill, which is 0 as before: the pattern stays."""

    def tanh(self) -> object:
        """np.tanh of each element and of the fill, which is 0 as before: the pattern stays."""

    def trunc(self) -> object:
        """np.trunc of each element and of the fill, which is 0 as before: the pattern stays."""

    def nonzero(self) -> object:
        """NumPy's nonzero: the coordinates of the elements that are not 0, an int64 array a dimension, in row-major order."""

    def count_nonzero(self, axis: object | None = None, *, keepdims: bool = False) -> object:
        """How many elements are not 0, over all axes, one, or several: absent ones count where the fill is not 0."""

    def __len__(self) -> int:
        """The first extent, as of a NumPy array. TypeError for no dimensions."""

    def __iter__(self) -> object:
        """The rows, as self[0], self[1], ...: tensors, or numbers of a vector. One conversion serves all of them."""

    def var(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, ddof: int = 0, keepdims: bool = False) -> object:
        """The variance over all axes, one, or several, absent elements included: a dense array, as np.var of to_dense()."""

    def std(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, ddof: int = 0, keepdims: bool = False) -> object:
        """The standard deviation, the root of var(), with the same arguments."""

    def prod(self, axis: object | None = None, dtype: object | None = None, out: object | None = None, keepdims: bool = False) -> object:
        """The product over all axes, one, or several, absent elements included: a dense array, as np.prod of to_dense()."""

    def argmax(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> object:
        """Where the first largest element stands, absent ones included, as np.argmax of to_dense(): an int64 array."""

    def argmin(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> object:
        """Where the first least element stands, absent ones included, as np.argmin of to_dense(): an int64 array."""

    def clip(self, min: object | None = None, max: object | None = None) -> Tensor:
        """Each element within min and max (numbers, arrays, tensors, or None), the fill too, as np.clip."""

    def round(self, decimals: int = 0) -> Tensor:
        """Each element rounded to that many decimals, halves to even, the fill too, as np.round; the pattern stays."""

    def reshape(self, *shape: object, order: str = 'C', format: object | None = None) -> Tensor:
        """The same elements in row-major order (order="F": column-major) under another shape; one extent may be -1."""

    def ravel(self, order: str = 'C') -> object:
        """All elements in row-major order (order="F": column-major), as a sparse vector."""

    def flatten(self, order: str = 'C') -> object:
        """All elements in row-major order (order="F": column-major), as a sparse vector."""

    def squeeze(self, axis: object | None = None) -> Tensor:
        """Without the dimensions of extent 1, or those of them that `axis` names (one or several)."""

    def swapaxes(self, axis1: object, axis2: object) -> object:
        """The tensor with two dimensions swapped; nothing moves."""

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> object:
        """The elements with axis2's coordinate = axis1's + offset: of a matrix a dense array; of more dimensions a tensor whose last dimension runs along the diagonals, as NumPy's."""

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: object | None = None, out: object | None = None) -> object:
        """The sum of a diagonal: a number of a matrix, of more dimensions a dense array."""

    def setdiag(self, values: object, k: int = 0) -> Tensor:
        """A new tensor with these elements on diagonal k: one number, or one a place (a shorter list fills the first ones)."""

    def topk(self, k: object, axis: object = -1, *, largest: bool = True) -> Tensor:
        """The k largest (or smallest) stored elements along an axis, at their places: a tensor that stores these alone."""

    def __and__(self, other: object) -> object: ...

    def __rand__(self, other: object) -> object: ...

    def __or__(self, other: object) -> object: ...

    def __ror__(self, other: object) -> object: ...

    def __xor__(self, other: object) -> object: ...

    def __rxor__(self, other: object) -> object: ...

    def __lshift__(self, other: object) -> object: ...

    def __rlshift__(self, other: object) -> object: ...

    def __rshift__(self, other: object) -> object: ...

    def __rrshift__(self, other: object) -> object: ...

    def __invert__(self) -> object: ...

    def __divmod__(self, other: object) -> object: ...

    def __rdivmod__(self, other: object) -> object: ...

    def __rpow__(self, base: object) -> object: ...
    # end of names

    def to(self, target: object | None = None, *, format: object | None = None, dtype: object | None = None, device: str | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, split: object | None = None, zeros: str | None = None) -> Tensor:
        """The same tensor in another format, dtype or index dtypes, or on another device."""

    def to_dense(self) -> numpy.ndarray:
        """All elements as a NumPy array (torch for the dtypes that NumPy lacks), row-major, of memory of its own."""

    def to_numpy(self, *, copy: bool = False) -> numpy.ndarray:
        """A dense NumPy array: over the same memory if all levels are dense, otherwise densified."""

    def to_scipy(self, like: object | None = None, *, copy: bool = False) -> object:
        """A SciPy sparse array over the same memory; formats that SciPy lacks leave as CSR or COO, with a CopyWarning."""

    def to_torch(self, *, copy: bool = False) -> object:
        """A torch tensor over the same memory; formats that torch lacks leave as CSR or COO, with a CopyWarning."""

    def to_cupy(self) -> object:
        """A CuPy array or sparse matrix (a copy on the device)."""

    def to_package(self, like: object | None = None, *, copy: bool = False) -> object:
        """An object of a package: 'numpy', 'scipy', 'torch', 'cupy', or the package of an object."""


    def sum(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> object:
        """The sum over all axes, one, or several."""

    def max(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> object:
        """The largest element over all axes, one, or several."""

    def min(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> object:
        """The least element over all axes, one, or several."""

    def any(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """Is an element not 0, over all axes, one, or several?"""

    def all(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """Is no element 0, over all axes, one, or several?"""

    def mean(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None, stored: bool = False) -> object:
        """The mean over all axes, one, or several, missing elements included."""

    def matvec(self, x: object) -> object:
        """self @ x."""

    def matmat(self, x: object) -> object:
        """self @ x."""

    def rmatvec(self, x: object) -> object:
        """The conjugate transpose times x, which is not stored."""

    def rmatmat(self, x: object) -> object:
        """The conjugate transpose times x, which is not stored."""

    @property
    def H(self) -> Tensor:
        """The conjugate transpose: over the same memory where the values are real."""

    def asformat(self, format: object, copy: bool = False) -> Tensor:
        """SciPy's name of `to(format)`. `copy` does not count: tensors are immutable."""

    def sorted_indices(self) -> Tensor:
        """The same tensor with its coordinates in order and each there once; itself where they are."""

    def item(self, *index: object) -> object:
        """One element as a number of Python's: of a tensor of one element, or at these coordinates."""

    def take(self, indices: object, axis: int | None = None) -> object:
        """The elements at these coordinates of an axis, as np.take; of the raveled tensor without one."""

    def repeat(self, repeats: object, axis: int | None = None) -> object:
        """Each slice of an axis so many times, as np.repeat; without an axis of the raveled tensor."""

    def nanmax(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> object:
        """The largest element over all axes, one, or several, NaN left out."""

    def nanmin(self, axis: object | None = None, out: object | None = None, *, keepdims: bool = False) -> object:
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

    def __array_namespace__(self, *, api_version: str | None = None) -> object:
        """strata.array_api: the functions of the Python array API standard that tensors have."""

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object:
        """The memory of a dense tensor as a DLPack capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): the host."""

    def __array_function__(self, function: object, types: object, args: tuple, kwargs: dict) -> object:
        """NumPy's functions of whole arrays."""

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, out: tuple | None = None, **options: object) -> object:
        """NumPy's functions of elements."""

# ... and python/strata/_operators.py, _ufuncs.py.
strata._core.Tensor.__(r?add|r?sub|r?mul|r?truediv|r?floordiv|r?mod|lt|le|gt|ge|pow)__:
    def __\1__(self, other: object) -> object: ...

strata._core.Tensor.__(eq|ne)__:
    def __\1__(self, other: object) -> object: ...  # type: ignore[override]

strata._core.Tensor.__(neg|abs|pos)__:
    def __\1__(self) -> Tensor: ...

strata._core.Tensor.__(repr|str)__:
    def __\1__(self) -> str: ...

strata._core.Tensor._repr_html_:
    def _repr_html_(self) -> str: ...

strata._core.Tensor.(sum|max|min|any|all|mean|matvec|matmat|rmatvec|rmatmat|H|__array_function__|__array_ufunc__|asformat|sorted_indices|item(?!s)|take|repeat|nanmax|nanmin|mT|to_device|__float__|__int__|__complex__|__index__|__array_namespace__|__dlpack__|__dlpack_device__):

# ... and the names of NumPy and SciPy.
strata._core.Tensor.(nnz|coords|astype|toarray|todense|tocsr|tocsc|tocoo|todia|tobsr|conj|conjugate|real|imag|dot|multiply|maximum|minimum|power|arcsin|arcsinh|arctan|arctanh|ceil|deg2rad|expm1|floor|log1p|rad2deg|rint|sign|sin|sinh|sqrt|tan|tanh|trunc|nonzero|count_nonzero|__len__|__iter__|var|std|prod|argmax|argmin|clip|round|reshape|ravel|flatten|squeeze|swapaxes|diagonal|trace|setdiag|topk|__and__|__rand__|__or__|__ror__|__xor__|__rxor__|__lshift__|__rlshift__|__rshift__|__rrshift__|__invert__|__divmod__|__rdivmod__|__rpow__|__getattr__):

