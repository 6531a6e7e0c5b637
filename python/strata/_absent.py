"""Names that others have and tensors, or the package, do not: their AttributeError says what to write."""

import difflib

from ._core import Tensor

_UFUNC = "np.{0}(A)"

#: what others' arrays have -> what to write
MEMBERS = {
    # SciPy
    "data": "A.values (stored values), or A.items() (with their coordinates)",
    "indices": "A.crd(level) of a level, or A.coords",
    "indptr": "A.pos(level), such as A.pos(1) of CSR",
    "row": "A.coords[0]",
    "col": "A.coords[1]",
    "offsets": "A.crd(0) of DIA",
    "A": "A.to_dense()",
    "A1": "A.to_dense().ravel()",
    "toarrays": "A.to_dense()",
    "todok": "A.to_scipy().todok(); here a tensor is built by st.from_coo",
    "tolil": "A.to_scipy().tolil(); here a tensor is built by st.from_coo",
    "asformat": 'A.to("CSR")',
    "getformat": "A.format.name",
    "asfptype": 'A.to("float64")',
    "getnnz": "A.nnz, or A.count_nonzero(axis)",
    "getrow": "A[i]",
    "getcol": "A[:, j]",
    "get_shape": "A.shape",
    "set_shape": "A.reshape(shape)",
    "getmaxprint": "print(A)",
    "resize": "A[:m, :n], or st.from_coo(A.coords, values, shape) for a larger shape",
    "eliminate_zeros": "A.drop_zeros(), which gives a new tensor",
    "prune": "A.copy() holds no more than it needs",
    "sum_duplicates": 'A.to("COO"), whose elements are sorted and each there once',
    "sort_indices": "A.to(format): conversions sort",
    "sorted_indices": "A.to(format): conversions sort",
    "has_sorted_indices": "A.format.is_ordered",
    "has_canonical_format": "A.format.is_ordered and A.format.is_unique",
    "blocksize": "A.format, whose text names the extents of blocks",
    # NumPy
    "item": "A[i, j], or A[()] of no dimensions",
    "tolist": "A.to_dense().tolist(), or list(A.items())",
    "tobytes": "A.to_dense().tobytes(), or A.values.tobytes()",
    "tofile": "st.write(path, A)",
    "flat": "A.ravel(), or A.items()",
    "flags": "A.values.flags",
    "strides": "A.to_numpy().strides of a dense tensor",
    "itemsize": "A.dtype.itemsize",
    "base": "A.values.base",
    "put": "st.where(mask, values, A), which gives a new tensor",
    "itemset": "st.where(mask, values, A), which gives a new tensor",
    "sort": "A.topk(k), or np.sort(A.to_dense())",
    "argsort": "np.argsort(A.to_dense())",
    "argpartition": "A.topk(k)",
    "partition": "A.topk(k)",
    "cumsum": "np.cumsum(A.to_dense(), axis)",
    "cumprod": "np.cumprod(A.to_dense(), axis)",
    "take": "A[indices], or np.take(A, indices, axis)",
    "repeat": "A[[0, 0, 1, 1]], a list of coordinates",
    "choose": "st.where(condition, x, y)",
    "compress": "A[mask]",
    "searchsorted": "np.searchsorted(A.to_dense(), v)",
    "ptp": "A.max(axis) - A.min(axis)",
    "view": "A.to(dtype=...), or A.values.view(dtype)",
    "byteswap": "A.values.byteswap()",
    # pydata/sparse
    "fill_value": "A.fill",
    "density": "A.nse / A.size",
    "maybe_densify": "A.to_dense()",
    "broadcast_to": 'st.evaluate("R(i,j) = A(j) * B(i,j)", A=A, B=B)',
    # torch
    "layout": "A.format",
    "numpy": "A.to_dense(), or A.to_numpy() of a dense tensor",
    "numel": "A.size",
    "dim": "A.ndim",
    "permute": "A.transpose(1, 0)",
    "t": "A.T",
    "mm": "A @ B",
    "mv": "A @ x",
    "bmm": "A @ B",
    "matmul": "A @ B",
    "spmm": "A @ B",
    "add": "A + B",
    "sub": "A - B",
    "mul": "A * B",
    "div": "A / B",
    "pow": "A ** n",
    "abs": "abs(A)",
    "exp": _UFUNC.format("exp"),
    "log": _UFUNC.format("log"),
    "cos": _UFUNC.format("cos"),
    "float": 'A.to("float32")',
    "double": 'A.to("float64")',
    "half": 'A.to("float16")',
    "int": 'A.to("int32")',
    "long": 'A.to("int64")',
    "bool": 'A.to("bool")',
    "type": "A.to(dtype)",
    "clone": "A.copy()",
    "contiguous": "A: nothing is to be done",
    "cpu": "A: it is there",
    "cuda": "A: a CUDA back end is not part of this version",
    "detach": "A: no gradients are recorded",
    "requires_grad": "A: no gradients are recorded",
    "backward": "A: no gradients are recorded",
    "coalesce": 'A.to("COO"), whose elements are sorted and each there once',
    "is_coalesced": "A.format.is_ordered and A.format.is_unique",
    "is_sparse": "not A.format.is_all_dense",
    "to_sparse": 'A.to("COO")',
    "to_sparse_coo": 'A.to("COO")',
    "to_sparse_csr": 'A.to("CSR")',
    "to_sparse_csc": 'A.to("CSC")',
    "to_sparse_bsr": 'A.to("BSR(2, 2)")',
    "crow_indices": "A.pos(1) of CSR",
    "col_indices": "A.crd(1) of CSR",
    "ccol_indices": "A.pos(1) of CSC",
    "row_indices": "A.crd(1) of CSC",
    "sparse_mask": 'st.evaluate("R(i,j) = A(i,j)", A=A, mask=M)',
    "unsqueeze": "A[None], A[:, None]",
    "view_as": "A.reshape(B.shape)",
}

#: what others' packages have -> what to write
FUNCTIONS = {
    # SciPy
    "csr_array": 'st.from_coo((rows, columns), values, shape, "CSR"), or st.Tensor("CSR", shape, pos=, crd=, values=)',
    "csc_array": 'st.from_coo((rows, columns), values, shape, "CSC"), or st.Tensor("CSC", shape, pos=, crd=, values=)',
    "coo_array": "st.from_coo((rows, columns), values, shape)",
    "bsr_array": 'st.from_dense(array, "BSR(2, 2)"), or st.Tensor("BSR(2, 2)", shape, pos=, crd=, values=)',
    "dia_array": "st.diags(diagonals, offsets)",
    "lil_array": "st.from_coo((rows, columns), values, shape)",
    "dok_array": "st.from_coo((rows, columns), values, shape)",
    "issparse": "isinstance(x, st.Tensor)",
    "identity": "st.eye(n)",
    "eye_array": "st.eye(n)",
    "diags_array": "st.diags(diagonals, offsets)",
    "random_array": "st.random(shape, density=)",
    "rand": "st.random((m, n), density=)",
    "block_array": "st.bmat(blocks)",
    "block": "st.bmat(blocks)",
    "kronsum": "st.kron(st.eye(n), A) + st.kron(B, st.eye(m))",
    "find": "(*A.nonzero(), A[A.nonzero()])",
    "load_npz": "st.from_scipy(scipy.sparse.load_npz(path)), or st.read(path)",
    "save_npz": "scipy.sparse.save_npz(path, A.to_scipy()), or st.write(path, A)",
    "mmread": "st.read(path)",
    "mmwrite": "st.write(path, A)",
    "solve": "scipy.sparse.linalg.spsolve(A.to_scipy(), b)",
    "spsolve": "scipy.sparse.linalg.spsolve(A.to_scipy(), b)",
    "cg": "scipy.sparse.linalg.cg(A.to_scipy(), b)",
    "eigsh": "scipy.sparse.linalg.eigsh(A.to_scipy(), k)",
    "eigs": "scipy.sparse.linalg.eigs(A.to_scipy(), k)",
    "svds": "scipy.sparse.linalg.svds(A.to_scipy(), k)",
    "inv": "scipy.sparse.linalg.splu(A.to_scipy()), whose solve() takes right-hand sides",
    "linalg": "st.norm(A); for solvers scipy.sparse.linalg with A.to_scipy()",
    # NumPy
    "array": "st.asarray(x, format=)",
    "ndarray": "st.Tensor",
    "dot": "A @ B",
    "mm": "A @ B",
    "mul": "A * B",
    "add": "A + B",
    "multiply": "A * B",
    "tensordot": 'st.einsum("ijk,kl->ijl", A, B), or np.tensordot(A, B)',
    "outer": 'st.einsum("i,j->ij", a, b)',
    "transpose": "A.T, or A.transpose(axes)",
    "reshape": "A.reshape(shape)",
    "full_like": "st.full(A.shape, x)",
    "empty": "st.zeros(shape)",
    "array_equal": "st.equal(A, B)",
    "isclose": "np.isclose(A, B)",
    "arange": "np.arange(n)",
    "linspace": "np.linspace(a, b, n)",
    "dtype": "st.DType, or A.dtype",
    "float32": 'np.float32, or "float32"',
    "float64": 'np.float64, or "float64"',
    "bfloat16": '"bfloat16", or st.DType("bfloat16")',
    "convert": "A.to(format)",
    "to_dense": "A.to_dense()",
    "to_scipy": "A.to_scipy()",
    "to_torch": "A.to_torch()",
    # torch
    "tensor": "st.asarray(x, format=), or st.from_dense(array, format)",
    "sparse_coo_tensor": "st.from_coo(coords, values, shape)",
    "sparse_csr_tensor": 'st.Tensor("CSR", shape, pos=, crd=, values=)',
    "cat": "st.concatenate(tensors)",
    "no_grad": "nothing: no gradients are recorded",
}
for _name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
    FUNCTIONS[f"{_name}_matrix"] = FUNCTIONS[f"{_name}_array"]
for (
    _name
) in "sum prod mean var std min max argmin argmax any all count_nonzero nonzero diagonal trace clip round".split():
    FUNCTIONS[_name] = f"A.{_name}(), or np.{_name}(A)"
for _name in "abs exp log sqrt sin cos tan tanh sign maximum minimum expm1 log1p floor ceil isnan isfinite".split():
    FUNCTIONS[_name] = _UFUNC.format(_name)
for _name in ("sum", "min", "max", "mean"):
    FUNCTIONS[f"nan{_name}"] = f"np.nan{_name}(A.to_dense())"


def _message(whose, name, known, others):
    """What is missing, and the way: what this name stands for here, or names that look like it."""
    if name in known:
        return f"{whose} has no '{name}'; write {known[name]}"
    near = difflib.get_close_matches(name, others, 3, 0.75)
    return f"{whose} has no '{name}'" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _getattr(self, name):
    whose = type(self).__name__
    if name.startswith("_"):  # protocols are asked for often
        raise AttributeError(f"{whose} has no '{name}'")
    raise AttributeError(_message(whose, name, MEMBERS, [n for n in dir(type(self)) if not n.startswith("_")]))


Tensor.__getattr__ = _getattr


def of_package(name, names):
    """The AttributeError of strata.<name>."""
    return AttributeError(_message("strata", name, FUNCTIONS, names))


del _name
