"""Tensors of NumPy, SciPy, PyTorch and CuPy in and out. Nothing is copied that can be shared; what is copied says so
(CopyWarning)."""

from .. import _core
from ..errors import TensorError, Unsupported


def package_of(x):
    """'strata', 'numpy', 'scipy', 'torch', 'cupy', 'dlpack' or None."""
    if isinstance(x, _core.Tensor):
        return "strata"
    for cls in type(x).__mro__:
        root = cls.__module__.partition(".")[0]
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
    """A tensor over the memory of whatever a package calls a tensor: NumPy, SciPy (sparse), PyTorch, CuPy, DLPack, and
    of Python's own buffers (array.array, memoryview).

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
    if package == "dlpack":
        return _core.from_array(x)
    if _core.has_buffer(x):
        return _core.from_array(x)
    if isinstance(x, (list, tuple, int, float, complex)) or hasattr(x, "__array__"):
        import numpy as np

        return _core.from_array(np.asarray(x))
    raise TensorError(
        "this is a tensor of no package that Strata knows",
        expected="a NumPy array, a SciPy sparse array, a torch or CuPy tensor, an object with __dlpack__ or a buffer",
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


def to_package(t, like=None):
    """The tensor as an object of a package: 'numpy', 'scipy', 'torch', 'cupy', or the package of an object.

    Without `like`: NumPy for all-dense tensors, otherwise SciPy. Memory is shared where the package has the format;
    otherwise the tensor leaves as CSR (2-D) or COO, and a CopyWarning says so.
    """
    package = like if isinstance(like, str) else package_of(like) if like is not None else None
    if package is None:
        if like is not None:
            raise TensorError(
                "to_package(like=) names no package",
                expected="'numpy', 'scipy', 'torch', 'cupy' or an object of one",
                got=type(like).__name__,
            )
        package = "numpy" if t.format.is_all_dense else "scipy"
    if package == "numpy":
        return t.to_numpy()
    if package == "scipy":
        return t.to_scipy(like=None if isinstance(like, str) else like)
    if package == "torch":
        return t.to_torch()
    if package == "cupy":
        return t.to_cupy()
    if package == "strata":
        return t
    raise Unsupported(
        f"to_package knows no package '{package}'", expected="'numpy', 'scipy', 'torch' or 'cupy'", got=str(package)
    )
