"""Names that others have and tensors, or the package, do not: their AttributeError says what to write, or why there is none.

docs/reference/surface.md (scripts/surface.py) lists them beside the names that are there.
"""

import difflib
import sys

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
    "check_format": "A.validate()",
    "todok": "A.to_scipy().todok(); here a tensor is built by st.from_coo",
    "tolil": "A.to_scipy().tolil(); here a tensor is built by st.from_coo",
    "getformat": "A.format.name",
    "asfptype": 'A.to("float64")',
    "getnnz": "A.nnz, or A.count_nonzero(axis)",
    "getrow": "A[i]",
    "getcol": "A[:, j]",
    "get_shape": "A.shape",
    "set_shape": "A.reshape(shape)",
    "getmaxprint": "print(A)",
    "maxprint": "print(A)",
    "getH": "A.H",
    "resize": "A[:m, :n], or st.from_coo(A.coords, values, shape) for a larger shape",
    "eliminate_zeros": "A.drop_zeros(), which gives a new tensor",
    "prune": "A.copy() holds no more than it needs",
    "sum_duplicates": 'A.to("COO"), whose elements are sorted and each there once',
    "sort_indices": "A.to(format): conversions sort",
    "has_sorted_indices": "A.format.is_ordered",
    "has_canonical_format": "A.format.is_ordered and A.format.is_unique",
    "blocksize": "A.format, whose text names the extents of blocks",
    # NumPy
    "tolist": "A.to_dense().tolist(), or list(A.items())",
    "tobytes": "A.to_dense().tobytes(), or A.values.tobytes()",
    "tostring": "A.to_dense().tobytes(), or A.values.tobytes()",
    "newbyteorder": "A.values.byteswap()",
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
    "choose": "st.where(condition, x, y)",
    "compress": "A[mask]",
    "searchsorted": "np.searchsorted(A.to_dense(), v)",
    "ptp": "A.max(axis) - A.min(axis)",
    "view": "A.to(dtype=...), or A.values.view(dtype)",
    "byteswap": "A.values.byteswap()",
    "ctypes": "A.values.ctypes, A.pos(level).ctypes, A.crd(level).ctypes",
    "dump": "pickle.dump(A, file), or st.write(path, A)",
    "dumps": "pickle.dumps(A)",
    "getfield": "A.values.getfield(dtype)",
    # pydata/sparse
    "fill_value": "A.fill",
    "density": "A.nse / A.size",
    "maybe_densify": "A.to_dense()",
    "broadcast_to": "np.broadcast_to(A, shape)",
    "reduce": "A.sum(axis), A.prod(axis), A.max(axis), A.min(axis), A.any(axis), A.all(axis)",
    "amax": "A.max(axis)",
    "amin": "A.min(axis)",
    "isinf": "np.isinf(A)",
    "isnan": "np.isnan(A)",
    "linear_loc": "np.ravel_multi_index(A.coords, A.shape)",
    "round_": "A.round(decimals)",
    "tensordot": "np.tensordot(A, B, axes)",
    "from_numpy": "st.from_dense(array, format)",
    "from_scipy_sparse": "st.from_scipy(a)",
    "from_iter": "st.from_coo(coords, values, shape)",
    "to_scipy_sparse": "A.to_scipy()",
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
    "inverse": "st.solve(A, b), or st.lu(A), whose solve() takes right-hand sides",
    "pinverse": 'st.solve(A, b, method="qr"), or np.linalg.pinv(A.to_dense())',
    "logdet": "st.lu(A).logdet()",
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
    "to_sparse_bsc": 'A.to("BSC(2, 2)")',
    "is_sparse_csr": 'A.format == "CSR"',
    "dense_dim": "A.format.levels, whose last ones are dense",
    "sparse_dim": "A.format.levels",
    "unsqueeze": "A[None], A[:, None]",
    "view_as": "A.reshape(B.shape)",
    # what anybody tries
    "plot": "A.draw(), A.draw_storage(), A.draw_raw(), or st.spy(A) on axes of matplotlib",
    "show": "A.draw(), A.draw_storage(), A.draw_raw()",
    "display": "A.draw(), A.draw_storage(), A.draw_raw()",
    "describe": "st.describe_structure(A)",
    "info": "print(A), or st.describe_structure(A)",
    "summary": "print(A), or st.describe_structure(A)",
    "head": "A[:5]",
    "is_symmetric": "st.equal(A, A.T)",
    "issymmetric": "st.equal(A, A.T)",
    "ishermitian": "st.equal(A, A.H)",
    "sparsity": "1 - A.nse / A.size",
    "to_csr": 'A.to("CSR")',
    "to_csc": 'A.to("CSC")',
    "to_coo": 'A.to("COO")',
    "to_numpy_array": "A.to_dense()",
    "to_array": "A.to_dense()",
    "to_mtx": 'st.write("a.mtx", A)',
    "to_npz": 'st.write("a.npz", A)',
    "to_file": "st.save(path, A), or st.write(path, A)",
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
    "spdiags": "st.diags(diagonals, offsets, shape), whose diagonals begin with their first element",
    "expand_dims": "A[None], or np.expand_dims(A, axis)",
    "swapaxes": "A.swapaxes(axis1, axis2)",
    "permute_dims": "A.transpose(axes)",
    "block_array": "st.bmat(blocks)",
    "block": "st.bmat(blocks)",
    "kronsum": "st.kron(st.eye(n), A) + st.kron(B, st.eye(m))",
    "find": "(*A.nonzero(), A[A.nonzero()])",
    "load_npz": "st.read(path), of a name in .npz",
    "save_npz": "st.write(path, A), with a name in .npz",
    "mmread": "st.read(path)",
    "mmwrite": "st.write(path, A)",
    "inv": "st.solve(A, b), or st.lu(A), whose solve() takes right-hand sides",
    "det": "st.lu(A).logdet()",
    "slogdet": "st.lu(A).logdet()",
    "lstsq": 'st.solve(A, b, method="qr"), or st.lsmr(A, b)',
    "spsolve": "st.solve(A, b)",
    "spsolve_triangular": "st.triangular_solve(A, b)",
    "splu": "st.lu(A)",
    "factorized": "st.lu(A).solve",
    "spilu": 'st.preconditioner(A, "ilu0")',
    "linalg": "st.solve(A, b), st.cg(A, b), st.eigsh(A, k), st.norm(A)",
    # NumPy's and SciPy's linalg
    "eig": "st.eigs(A, k), or np.linalg.eig(A.to_dense()) for all of them",
    "eigh": "st.eigsh(A, k), or np.linalg.eigh(A.to_dense()) for all of them",
    "eigvals": "st.eigs(A, k)[0], or np.linalg.eigvals(A.to_dense()) for all of them",
    "eigvalsh": "st.eigsh(A, k)[0], or np.linalg.eigvalsh(A.to_dense()) for all of them",
    "svd": "st.svds(A, k), or np.linalg.svd(A.to_dense()) for all of them",
    "svdvals": "st.svds(A, k)[1], or np.linalg.svd(A.to_dense(), compute_uv=False) for all of them",
    "pinv": 'st.solve(A, b, method="qr"), or np.linalg.pinv(A.to_dense())',
    "pinvh": 'st.solve(A, b, method="qr"), or np.linalg.pinv(A.to_dense(), hermitian=True)',
    "tensorsolve": "np.linalg.tensorsolve(A.to_dense(), b)",
    "solve_triangular": "st.triangular_solve(A, b)",
    "solve_banded": 'st.solve(A, b, method="banded"), A being the matrix in any format, such as st.diags(diagonals, offsets)',
    "solveh_banded": 'st.solve(A, b, method="banded"), A being the matrix in any format, such as st.diags(diagonals, offsets)',
    "eig_banded": "st.eigsh(A, k), A being the matrix in any format, such as st.diags(diagonals, offsets)",
    "eigvals_banded": "st.eigsh(A, k)[0], A being the matrix in any format, such as st.diags(diagonals, offsets)",
    "lu_factor": "st.lu(A)",
    "lu_solve": "st.lu(A).solve(b)",
    "cho_factor": "st.cholesky(A)",
    "cho_solve": "st.cholesky(A).solve(b)",
    "cholesky_banded": "st.cholesky(A), A being the matrix in any format",
    "cho_solve_banded": "st.cholesky(A).solve(b), A being the matrix in any format",
    "ldl": 'st.solve(A, b, method="ldlt"), which keeps no factors, or scipy.linalg.ldl(A.to_dense())',
    "qr_multiply": "st.qr(A).solve(b) for least squares, or scipy.linalg.qr_multiply(A.to_dense(), c)",
    "issymmetric": "st.equal(A, A.T)",
    "ishermitian": "st.equal(A, A.H)",
    "bandwidth": "st.describe_structure(A)",
    # NumPy
    "array": "st.asarray(x, format=)",
    "asanyarray": "st.asarray(x, format=)",
    "ascontiguousarray": "st.asarray(x, format=)",
    "asfortranarray": "st.asarray(x, format=)",
    "asarray_chkfinite": "st.asarray(x, format=), and np.isfinite(A).all()",
    "array_equiv": "(A == B).all()",
    "array_repr": "repr(A)",
    "array_str": "str(A)",
    "array2string": "A.draw_storage(), or str(A)",
    "average": "A.mean(axis), or (A * w).sum(axis) / w.sum()",
    "bincount": "np.bincount(A.coords[0]), of stored elements by row",
    "compress": "A[mask], or A[:, mask]",
    "extract": "A[mask]",
    "select": "st.where(condition, x, y), one in the other",
    "piecewise": "st.where(condition, x, y), one in the other",
    "insert": "np.concatenate([A[:i], B, A[i:]])",
    "fill_diagonal": "A.setdiag(values)",
    "gradient": "np.diff(A, axis=axis)",
    "fromfunction": "st.from_coo(coords, values, shape), or np.fromfunction(f, shape)",
    "fromiter": "st.from_coo(coords, values, shape)",
    "loadtxt": "st.from_dense(np.loadtxt(path), format)",
    "genfromtxt": "st.from_dense(np.genfromtxt(path), format)",
    "fromfile": "st.read(path)",
    "fromregex": "st.read(path)",
    "savez": "st.save(path, {name: A})",
    "savez_compressed": "st.save(path, {name: A})",
    "savetxt": "np.savetxt(path, A.to_dense())",
    "partition": "A.topk(k)",
    "argpartition": "A.topk(k)",
    "put": "st.where(mask, values, A), which gives a new tensor",
    "place": "st.where(mask, values, A), which gives a new tensor",
    "putmask": "st.where(mask, values, A), which gives a new tensor",
    "copyto": "st.where(mask, values, A), which gives a new tensor",
    "choose": "st.where(condition, x, y)",
    "resize": "A.reshape(shape), or st.from_coo(A.coords, values, shape) for a larger one",
    "require": "st.asarray(x, dtype, format)",
    "shares_memory": "np.shares_memory(A.values, B.values)",
    "may_share_memory": "np.shares_memory(A.values, B.values)",
    "tri": "st.tril(np.ones((m, n)))",
    "tril_indices_from": "st.tril(A).coords",
    "triu_indices_from": "st.triu(A).coords",
    "mask_indices": "st.triu(A).coords",
    "apply_along_axis": "np.apply_along_axis(f, axis, A.to_dense())",
    "apply_over_axes": "A.sum(axes, keepdims=True)",
    "set_printoptions": "A.draw_storage(width)",
    "cumulative_sum": "np.cumsum(A.to_dense(), axis)",
    "cumulative_prod": "np.cumprod(A.to_dense(), axis)",
    "einsum_path": 'st.explain("C(i,l) = A(i,j) * B(j,k) * C(k,l)", A=A, B=B, C=C)',
    "matrix_power": "np.linalg.matrix_power(A, n)",
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
    # NumPy, until 2.0
    "alltrue": "A.all(), or np.all(A)",
    "sometrue": "A.any(), or np.any(A)",
    "product": "A.prod(), or np.prod(A)",
    "round_": "A.round(decimals)",
    "in1d": "np.isin(A, x)",
    "asfarray": 'st.asarray(x, "float64")',
    "fastCopyAndTranspose": "A.T",
    # torch
    "addmm": "st.matmul(A, B, c, alpha=, beta=)",
    "smm": "A @ B",
    "hspmm": "A @ B",
    "sspaddmm": "beta * C + alpha * (A @ B)",
    "sampled_addmm": 'st.einsum("ij,ik,kj->ij", S, A, B)',
    "softmax": "E / E.sum(1, keepdims=True), E = np.exp(t) of a tensor t of fill -inf",
    "log_softmax": "t - np.log(np.exp(t).sum(1, keepdims=True)), t a tensor of fill -inf",
    "to_sparse_semi_structured": 'A.to("structured(2, 4)")',
    "SparseSemiStructuredTensor": 'A.to("structured(2, 4)")',
    "SparseSemiStructuredTensorCUTLASS": 'A.to("structured(2, 4)")',
    "SparseSemiStructuredTensorCUSPARSELT": 'A.to("structured(2, 4)")',
    "check_sparse_tensor_invariants": "A.validate()",
    "sparse_compressed_tensor": 'st.Tensor("CSR", shape, pos=, crd=, values=)',
    "sparse_csc_tensor": 'st.Tensor("CSC", shape, pos=, crd=, values=)',
    "sparse_bsr_tensor": 'st.Tensor("BSR(2, 2)", shape, pos=, crd=, values=)',
    "sparse_bsc_tensor": 'st.Tensor("BSC(2, 2)", shape, pos=, crd=, values=)',
    # pydata/sparse
    "COO": "st.from_coo(coords, values, shape)",
    "GCXS": 'st.from_coo(coords, values, shape, "CSR")',
    "DOK": "st.from_coo(coords, values, shape)",
    "as_coo": 'st.asarray(x, format="COO")',
    "asCOO": 'st.asarray(x, format="COO")',
    "asnumpy": "A.to_dense()",
    "diagonalize": "np.diag(A), of a vector",
    "elemwise": "f(A, B), f a function of NumPy's",
    "nanreduce": "A.nanmax(axis), np.nansum(A, axis)",
    "argwhere": "np.argwhere(A)",
    "tensor": "st.asarray(x, format=), or st.from_dense(array, format)",
    "sparse_coo_tensor": "st.from_coo(coords, values, shape)",
    "sparse_csr_tensor": 'st.Tensor("CSR", shape, pos=, crd=, values=)',
    "cat": "st.concatenate(tensors)",
    "no_grad": "nothing: no gradients are recorded",
}
for _name in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok"):
    FUNCTIONS[f"{_name}_matrix"] = FUNCTIONS[f"{_name}_array"]

#: functions that are all written alike: what to write, {0} being the name
_ALIKE = {
    "A.{0}(), or np.{0}(A)": "sum prod mean var std min max argmin argmax any all count_nonzero nonzero diagonal trace clip "
    "round",
    "np.{0}(A)": "abs exp log sqrt sin cos tan tanh sign maximum minimum expm1 log1p floor ceil isnan isfinite bitwise_not "
    "interp isneginf isposinf nansum nanprod nanmean nanmin nanmax nanargmin nanargmax unique",
    # of all elements in their order
    "np.{0}(A.to_dense())": "median nanmedian nanvar nanstd cumsum cumprod nancumsum nancumprod sort argsort sort_complex "
    "lexsort unwrap cov corrcoef ediff1d trim_zeros histogram histogram2d histogramdd histogram_bin_edges packbits "
    "unpackbits real_if_close",
    "np.cumprod(A.to_dense())": "cumproduct",
    "np.sort(A.to_dense(), axis=0)": "msort",
    "scipy.integrate.trapezoid(A.to_dense())": "trapezoid trapz",
    "np.unique(A.to_dense(), return_index=True, return_inverse=True)": "unique_all unique_inverse",
    "np.unique(A, return_counts=True)": "unique_counts",
    "np.{0}(A.to_dense(), v)": "percentile quantile nanpercentile nanquantile searchsorted convolve correlate cross "
    "intersect1d union1d setdiff1d setxor1d",
    "np.linalg.{0}(A.to_dense())": "cond matrix_rank tensorinv",
    # a tensor is a linear operator
    "scipy.sparse.linalg.{0}(A)": "aslinearoperator onenormest",
    "scipy.sparse.linalg.{0}(A, b)": "bicg cgs gcrotmk lgmres qmr tfqmr",
    "scipy.sparse.linalg.{0}(A, X)": "lobpcg",
    "st.expm_multiply(A, b), or scipy.sparse.linalg.{0}(A.to_scipy())": "expm",
    "scipy.sparse.linalg.{0}(A.to_scipy())": "is_sptriangular spbandwidth",
    "scipy.sparse.linalg.{0}(f, A.to_scipy(), b)": "funm_multiply_krylov",
    "scipy.sparse.csgraph.{0}(A.to_scipy())": "bellman_ford breadth_first_order breadth_first_tree connected_components "
    "depth_first_order depth_first_tree dijkstra floyd_warshall johnson laplacian maximum_bipartite_matching maximum_flow "
    "min_weight_full_bipartite_matching minimum_spanning_tree reverse_cuthill_mckee shortest_path structural_rank yen",
    "isinstance(x, st.Tensor)": "isspmatrix",
    "st.Tensor": "sparray spmatrix SparseArray",
}
for _way, _names in _ALIKE.items():
    FUNCTIONS.update({_name: _way.format(_name) for _name in _names.split()})
for _name in ("bsr", "coo", "csc", "csr", "dia"):
    FUNCTIONS[f"isspmatrix_{_name}"] = f'A.format == "{_name.upper()}"'

_IMMUTABLE = "a tensor is immutable"
_NO_TENSOR = "no tensor goes in; NumPy's own gives an array, which operators and st.asarray take"
_NO_DTYPE = "dates, texts and records are no dtypes of tensors"
_NO_GRADIENTS = "no gradients are recorded"

#: why tensors have no such member: reason -> names
_NO_MEMBERS = {
    _IMMUTABLE: "setfield setflags resize_as_sparse_ sparse_resize_ sparse_resize_and_clear_ setdefault update clear pop",
    "nothing is cached behind your back, and plans are kept by the library": "enable_caching",
    "a tensor is no graph of operations": "from_nodes get_nodes",
}

#: why the package has no such function: reason -> names
_NO_FUNCTIONS = {
    _NO_TENSOR: "bartlett blackman broadcast_shapes diag_indices geomspace hamming hanning indices ix_ kaiser logspace "
    "meshgrid ravel_multi_index tril_indices triu_indices unravel_index frombuffer fromstring frompyfunc base_repr "
    "binary_repr format_float_positional format_float_scientific isscalar iterable nested_iters",
    "it is about dtypes, which are NumPy's": "common_type isdtype issubdtype min_scalar_type mintypecode promote_types "
    "typename finfo iinfo find_common_type issctype issubclass_ issubsctype maximum_sctype obj2sctype sctype2char",
    "it is about NumPy itself": "get_include get_printoptions getbufsize geterr geterrcall info printoptions setbufsize "
    "seterr seterrcall show_config show_runtime test add_docstring add_newdoc add_newdoc_ufunc byte_bounds deprecate "
    "deprecate_with_doc disp get_array_wrap geterrobj lookfor safe_eval set_numeric_ops set_string_function seterrobj "
    "source who",
    _NO_DTYPE: "busday_count busday_offset datetime_as_string datetime_data is_busday isnat compare_chararrays recfromcsv recfromtxt",
    "the coefficients of a polynomial, and its powers, are few and dense": "poly polyadd polyder polydiv polyfit polyint "
    "polymul polysub polyval roots vander",
    "storage is what a format says, not an order of NumPy's": "isfortran",
    "a matrix is a tensor of two dimensions; * is element by element": "asmatrix mat",
    _IMMUTABLE: "put_along_axis resize_as_sparse_",
    _NO_GRADIENTS: "as_sparse_gradcheck",
    "index dtypes are chosen when counting, or given as pos_dtype= and crd_dtype=": "get_index_dtype "
    "safely_cast_index_arrays",
    "there is no such format: a tensor is built by st.from_coo": "isspmatrix_lil isspmatrix_dok",
    "warnings and errors are those of strata.errors": "SparseWarning SparseEfficiencyWarning MatrixRankWarning ArpackError "
    "ArpackNoConvergence NegativeCycleError",
    "it is a solver's own, made by SciPy": "LaplacianNd LinearOperator SuperLU use_solver",
    "it is about csgraph's dense matrices": "construct_dist_matrix reconstruct_path csgraph_from_dense csgraph_from_masked "
    "csgraph_masked_from_dense csgraph_to_dense csgraph_to_masked",
}


def _by_name(reasons):
    return {name: why for why, names in reasons.items() for name in names.split()}


NO_MEMBER, NO_FUNCTION = _by_name(_NO_MEMBERS), _by_name(_NO_FUNCTIONS)

#: what is there, and means another thing than elsewhere: (whose, name) -> what it is
OTHERWISE = {
    (
        "numpy.ndarray",
        "fill",
    ): "A.fill is the value where nothing is stored; st.full(shape, x) is a tensor of one value",
    ("scipy.sparse", "random"): "st.random((m, n), density=), whose arguments are those of random_array",
    **{
        (whose, name): f"`st.{name}(A)`, whose result has the factors"
        for whose, names in (("numpy.linalg", "cholesky qr"), ("scipy.linalg", "cholesky qr lu"))
        for name in names.split()
    },
    ("numpy.linalg", "solve"): "`st.solve(A, b)`",
    ("scipy.linalg", "solve"): "`st.solve(A, b)`",
    ("torch.Tensor", "values"): "A.values, no call, is the array of stored values",
}


def _message(whose, name, known, senseless, others):
    """What is missing, and the way: what this name stands for here, why it has none, or names that look like it."""
    if name in known:
        return f"{whose} has no '{name}'; write {known[name]}"
    if name in senseless:
        return f"{whose} has no '{name}': {senseless[name]}"
    near = difflib.get_close_matches(name, others, 3, 0.7)
    return f"{whose} has no '{name}'" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _getattr(self, name):
    whose = type(self).__name__
    if name.startswith("_"):  # protocols are asked for often
        raise AttributeError(f"{whose} has no '{name}'")
    known = MEMBERS
    if name not in MEMBERS and name not in NO_MEMBER:  # what is a function here
        there = callable(vars(sys.modules[__package__]).get(name))
        known = {name: f"st.{name}(...)"} if there else FUNCTIONS
    others = [n for n in dir(type(self)) if not n.startswith("_")]
    raise AttributeError(_message(whose, name, known, NO_MEMBER, others))


Tensor.__getattr__ = _getattr


#: to arrays, where nothing better is known
DENSE = "t.to_dense() (all elements) or t.values (the stored ones)"
#: modules whose functions are called as the tables above call them
_KNOWN_MODULES = (
    "numpy",
    "numpy.linalg",
    "scipy.linalg",
    "scipy.sparse",
    "scipy.sparse.linalg",
    "scipy.sparse.csgraph",
)
#: of those, the ones whose functions take dense arrays
_OF_DENSE = ("numpy", "numpy.linalg", "scipy.linalg")


def way_of(module, name):
    """What to write instead of another package's function of a tensor: way_of("numpy.linalg", "solve")."""
    if module not in _KNOWN_MODULES or name == "asarray":
        return DENSE
    if (module, name) in OTHERWISE:
        return OTHERWISE[module, name].replace("`", "")
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if callable(vars(sys.modules[__package__]).get(name)):
        return f"st.{name}(...)"
    spelt = module.replace("numpy", "np")
    return f"{spelt}.{name}(A.{'to_dense' if module in _OF_DENSE else 'to_scipy'}())"


def of_package(name, names):
    """The AttributeError of strata.<name>."""
    return AttributeError(_message("strata", name, FUNCTIONS, NO_FUNCTION, names))


del _name, _names, _way
