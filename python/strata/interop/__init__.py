"""Tensors of other packages in and out. Nothing is copied that can be shared; what is copied says so
(CopyWarning)."""

from .. import _core
from ..errors import TensorError, Unsupported

#: (package, class) of what is known beside the arrays of NumPy, SciPy, torch and CuPy
_OTHERS = {
    *(("sparse", name) for name in ("COO", "GCXS", "DOK")),
    *(("jax", name) for name in ("BCOO", "BCSR")),
    ("torch_geometric", "EdgeIndex"),
    ("networkx", "Graph"),
    *(("pandas", name) for name in ("Series", "DataFrame")),
    ("tensorflow", "SparseTensor"),
    ("dgl", "DGLGraph"),
    *(("graphblas", name) for name in ("Matrix", "Vector")),
}
#: package: (module, function)
_IMPORTS = {
    "sparse": ("sparse", "from_sparse"),
    "jax": ("jax", "from_jax"),
    "torch_geometric": ("geometric", "from_edge_index"),
    "networkx": ("networkx", "from_networkx"),
    "pandas": ("pandas", "from_pandas"),
    "tensorflow": ("tensorflow", "from_tensorflow"),
    "dgl": ("dgl", "from_dgl"),
    "graphblas": ("graphblas", "from_graphblas"),
}
_EXPORTS = {
    "sparse": ("sparse", "to_sparse"),
    "jax": ("jax", "to_jax"),
    "torch_geometric": ("geometric", "to_edge_index"),
    "networkx": ("networkx", "to_networkx"),
    "pandas": ("pandas", "to_pandas"),
    "tensorflow": ("tensorflow", "to_tensorflow"),
    "dgl": ("dgl", "to_dgl"),
    "graphblas": ("graphblas", "to_graphblas"),
}


def _function(table, package):
    import importlib

    module, name = table[package]
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def package_of(x):
    """'strata', the name of a package, 'dlpack' or None."""
    if isinstance(x, _core.Tensor):
        return "strata"
    for cls in type(x).__mro__:
        root = cls.__module__.partition(".")[0]
        if (root, cls.__name__) in _OTHERS:
            return root
        if root in ("numpy", "torch"):
            return root
        if root == "scipy" and hasattr(x, "format"):
            return "scipy"
        if root in ("cupy", "cupyx"):
            return "cupy"
    if hasattr(x, "__strata_tensor__"):
        return "strata"
    if hasattr(x, "__cuda_array_interface__"):
        return "cupy"
    if hasattr(x, "__dlpack__") or type(x).__name__ == "PyCapsule":
        return "dlpack"
    return None


def from_package(x):
    """A tensor over the memory of whatever a package calls a tensor: NumPy, SciPy (sparse), PyTorch, CuPy, pydata/sparse,
    JAX (BCOO, BCSR, dense), TensorFlow (SparseTensor, dense), PyTorch Geometric (EdgeIndex), DGL, python-graphblas, pandas,
    networkx, DLPack, and of Python's own buffers (array.array, memoryview).

    The format says how `x` stores it. A Strata tensor comes back as it is. TensorError, DTypeError, Unsupported.
    """
    package = package_of(x)
    if package == "strata":
        tensor = x if isinstance(x, _core.Tensor) else x.__strata_tensor__()
        if isinstance(tensor, _core.Tensor):
            return tensor
        raise TensorError(
            f"{type(x).__name__}.__strata_tensor__() gave no tensor",
            expected="a strata.Tensor",
            got=type(tensor).__name__,
        )
    if package == "numpy":
        from .numpy import from_numpy

        return from_numpy(x)
    if package == "scipy":
        from .scipy import from_scipy

        return from_scipy(x)
    if package == "torch":
        from .torch import from_torch

        return from_torch(x)
    if package == "cupy":
        from .cupy import from_cupy

        return from_cupy(x)
    if package in _IMPORTS:
        return _function(_IMPORTS, package)(x)
    if package == "dlpack":
        return _core.from_array(x)
    if _core.has_buffer(x):
        return _core.from_array(x)
    if isinstance(x, (list, tuple, int, float, complex)) or hasattr(x, "__array__"):
        import numpy as np

        return _core.from_array(np.asarray(x))
    raise TensorError(
        "this is a tensor of no package that Strata knows",
        expected="a NumPy array, a SciPy, pydata, JAX or TensorFlow sparse array, a torch or CuPy tensor, a graph of networkx, DGL "
        "or PyTorch Geometric, a matrix of python-graphblas, a DataFrame of pandas, an object with __dlpack__ or a buffer",
        got=type(x).__name__,
    )


def from_dlpack(x):
    """A dense tensor over the memory of an object with `__dlpack__`, or of a raw DLPack capsule (which is then used
    up).

    Any strides; read-only memory stays read-only. DTypeError, Unsupported (memory of a device).
    """
    if type(x).__name__ != "PyCapsule" and not hasattr(x, "__dlpack__"):
        raise TensorError(
            "from_dlpack needs an object that speaks DLPack", expected="__dlpack__() or a capsule", got=type(x).__name__
        )
    if type(x).__name__ != "PyCapsule":
        return _core.from_array(_OnlyDLPack(x))
    return _core.from_array(x)


class _OnlyDLPack:
    """Hides the other protocols of an object."""

    def __init__(self, x):
        self.__dlpack__ = x.__dlpack__
        if hasattr(x, "__dlpack_device__"):
            self.__dlpack_device__ = x.__dlpack_device__


def to_package(t, like=None, *, copy=False):
    """The tensor as an object of a package: 'numpy', 'scipy', 'torch', 'cupy', 'sparse' (pydata), 'jax', 'torch_geometric',
    'networkx', 'pandas', 'tensorflow', 'dgl', 'graphblas', or the package of an object.

    Without `like`: NumPy for all-dense tensors, otherwise SciPy. Memory is shared where the package has the format;
    otherwise the tensor leaves as CSR (2-D) or COO, and a CopyWarning says so. `copy=True` shares nothing.
    """
    if not isinstance(t, _core.Tensor):
        raise TensorError("to_package takes a tensor", expected="a strata.Tensor", got=type(t).__name__)
    package = like if isinstance(like, str) else package_of(like) if like is not None else None
    if package is None:
        if like is not None:
            raise TensorError(
                "to_package(like=) names no package",
                expected="the name of a package, such as 'numpy' or 'scipy', or an object of one",
                got=type(like).__name__,
            )
        package = "numpy" if t.format.is_all_dense else "scipy"
    if package == "numpy":
        return t.to_numpy(copy=copy)
    if package == "scipy":
        return t.to_scipy(like=None if isinstance(like, str) else like, copy=copy)
    if package == "torch":
        return t.to_torch(copy=copy)
    if package == "cupy":
        return t.to_cupy()
    if package in _EXPORTS:
        f = _function(_EXPORTS, package)
        return f(t, copy=copy) if "copy" in (f.__kwdefaults__ or {}) else f(t)
    if package == "strata":
        return t.copy() if copy else t
    raise Unsupported(
        f"to_package knows no package '{package}'",
        expected=", ".join(["numpy", "scipy", "torch", "cupy", *_EXPORTS]),
        got=str(package),
    )
