# What Python adds to the extension's classes (python/strata/_tensor.py); scripts/stubs.sh merges it into python/strata/_core.pyi.
strata._core.Tensor.__suffix__:
    def to(self, target: object | None = None, *, format: object | None = None, dtype: object | None = None, device: str | None = None, pos_dtype: object | None = None, crd_dtype: object | None = None, split: object | None = None, zeros: str | None = None) -> Tensor:
        """The same tensor in another format, dtype or index dtypes, or on another device."""

    def to_dense(self) -> object:
        """All elements as a NumPy array (torch for the dtypes that NumPy lacks), row-major, of memory of its own."""

    def to_numpy(self) -> object:
        """A dense NumPy array: over the same memory if all levels are dense, otherwise densified."""

    def to_scipy(self, like: object | None = None) -> object:
        """A SciPy sparse array over the same memory; formats that SciPy lacks leave as CSR or COO, with a CopyWarning."""

    def to_torch(self) -> object:
        """A torch tensor over the same memory; formats that torch lacks leave as CSR or COO, with a CopyWarning."""

    def to_cupy(self) -> object:
        """A CuPy array or sparse matrix (a copy on the device)."""

    def to_package(self, like: object | None = None) -> object:
        """An object of a package: 'numpy', 'scipy', 'torch', 'cupy', or the package of an object."""


    def sum(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """The sum over all axes, one, or several."""

    def max(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """The largest element over all axes, one, or several."""

    def min(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """The least element over all axes, one, or several."""

    def any(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """Is an element not 0, over all axes, one, or several?"""

    def all(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """Is no element 0, over all axes, one, or several?"""

    def mean(self, axis: object | None = None, keepdims: bool = False, *, dtype: object | None = None, out: object | None = None) -> object:
        """The mean over all axes, one, or several, missing elements included."""

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, out: tuple | None = None, **options: object) -> object:
        """NumPy's functions of elements."""

# ... and python/strata/_operators.py, _ufuncs.py.
strata._core.Tensor.__(r?add|r?sub|r?mul|r?truediv|r?floordiv|r?mod|lt|le|gt|ge|pow)__:
    def __\1__(self, other: object) -> object: ...

strata._core.Tensor.__(neg|abs|pos)__:
    def __\1__(self) -> Tensor: ...

strata._core.Tensor.(sum|max|min|any|all|mean|__array_ufunc__):

