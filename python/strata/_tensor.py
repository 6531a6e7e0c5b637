"""The verbs of Tensor that deal with other packages. What a tensor is made of is bound in the extension."""

import sys

import numpy as np

from . import _absent, _core
from ._advice import Advice, advise
from ._core import Format, Tensor
from .errors import DTypeError, TensorError, Unsupported


def _method(f):
    setattr(Tensor, f.__name__, f)
    return f


@_method
def to(
    self, target=None, *, format=None, dtype=None, device=None, pos_dtype=None, crd_dtype=None, split=None, zeros=None
):
    """The same tensor in another format, dtype or index dtypes, or on another device.

    target : a format (Format, text or name), a dtype, "cpu", what strata.advise gives, or "auto", which asks it; `format=`,
        `dtype=`, `device=` say which one is meant
    pos_dtype, crd_dtype : of the new arrays; by default the narrowest of int32 and int64 that holds them
    split : for sums of parts, see strata.split
    zeros : "keep" keeps every slot, "drop" drops those with the bits of the fill; by default they are dropped when
        leaving a format that can hold fill-in (blocks, diagonals, delta, dense), and kept otherwise

    Unsorted tensors are sorted, duplicates added, blocks that do not divide padded. FormatError, TensorError, DTypeError.
    """
    if target is not None:
        if isinstance(target, str):
            name = target.strip()
            if name == "cpu" or name.partition(":")[0] == "cuda":
                device = name
            elif _core.is_dtype_name(name):
                dtype = name
            else:
                format = target
        elif isinstance(target, (Format, Advice)) or hasattr(target, "__strata_format__"):
            format = target
        elif type(target).__module__ == "torch" and type(target).__name__ == "device":
            device = str(target)
        else:
            dtype = target
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise Unsupported(
            f"there is no device '{device}' here",
            expected="'cpu'",
            got=str(device),
            fix="a CUDA back end is not part of this version",
        )
    if isinstance(format, str) and format.strip().lower() == "auto":
        format = advise(self)
    if isinstance(format, Advice):
        format, crd_dtype = format.format, format.crd_dtype if crd_dtype is None else crd_dtype
    if all(x is None for x in (format, dtype, pos_dtype, crd_dtype, split, zeros)):
        return self
    return _core.convert(self, format, dtype, pos_dtype, crd_dtype, split, zeros)


@_method
def to_dense(self):
    """All elements as a NumPy array (torch for the dtypes that NumPy lacks), row-major, of memory of its own."""
    return _core.dense_to_array(_core.to_dense_tensor(self), "numpy")


@_method
def to_numpy(self, *, copy=False):
    from .interop.numpy import to_numpy as f

    return f(self, copy=copy)


@_method
def to_scipy(self, like=None, *, copy=False):
    from .interop.scipy import to_scipy as f

    return f(self, like, copy=copy)


@_method
def to_torch(self, *, copy=False):
    from .interop.torch import to_torch as f

    return f(self, copy=copy)


@_method
def to_cupy(self):
    from .interop.cupy import to_cupy as f

    return f(self)


@_method
def to_package(self, like=None, *, copy=False):
    from .interop import to_package as f

    return f(self, like, copy=copy)


def _function_of(frame):
    """(module, name) of the public function of NumPy or SciPy that a frame belongs to, or None."""
    module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
    if name.startswith("wrapper") and callable(
        f := frame.f_locals.get("f")
    ):  # SciPy's functions of batches stand in one
        module, name = getattr(f, "__module__", None) or "", getattr(f, "__name__", "_")
    home = ""
    for part in module.split("."):  # the shortest name: np.median stands in numpy.lib
        if part.startswith("_") or name.startswith(("_", "<")):
            break
        home += "." * bool(home) + part
        if callable(getattr(sys.modules.get(home), name, None)):
            return home, name
    return None


def _asked(frame):
    """(Is it an operator of a sparse array of SciPy's that wants an array?, (module, name) of the function that does)"""
    scipy, made, found = False, False, None
    while frame is not None:
        package, name = frame.f_globals.get("__name__", "").partition(".")[0], frame.f_code.co_name
        if package in ("numpy", "scipy"):
            scipy, made = scipy or package == "scipy", made or name == "__init__"
            if scipy and name.startswith("__") and not made:
                return True, None
            found = _function_of(frame) or found
        elif (package, name) != (__package__, "_array_function"):  # by way of which NumPy's functions are called
            break
        frame = frame.f_back
    return False, found or ("scipy" if scipy else "numpy", "")


@_method
def __array__(self, dtype=None, copy=None):
    operator, asked = _asked(sys._getframe(1))
    if operator:
        # `s @ t`, `s * t`, `s == t` of a SciPy array s: an object is what SciPy takes for no array, and leaves it to
        # the tensor's own operator.
        found = np.empty((), dtype=object)
        found[()] = self
        return found
    module, name = asked
    if name:
        got, way = f"{module.replace('numpy', 'np')}.{name} of a tensor", _absent.way_of(module, name)
    elif module == "scipy":
        got, way = "a SciPy function on t", "t.to_scipy()"
    else:
        got, way = "np.asarray(t), or a NumPy function on t", _absent.DENSE
    raise DTypeError(
        "a sparse tensor is not turned into a NumPy array behind your back",
        expected="an explicit call",
        got=got,
        fix=f"write {way}",
    )


@_method
def __setitem__(self, key, value):
    raise TensorError(
        "a tensor is immutable",
        expected="a new tensor",
        got=f"t[{key!r}] = ...",
        fix="write st.where(mask, value, t) or t.setdiag(values), or build it again with st.from_coo",
    )


@_method
def __reduce_ex__(self, protocol):
    return _rebuild, _state(self)


def _memory_of_bytes(dtype, data):
    return _core.memory_of_bytes(dtype, data)


def _state(t):
    if len(t.parts) != 1:
        return (None, t.shape, None, None, None, None, tuple(_state(p) for p in t.parts))
    if t.format.is_all_dense:
        dense = _core.to_dense_tensor(t)  # strides are not worth keeping; the order of the levels is
        t = dense if dense.format == t.format else _core.convert(dense, t.format, zeros="keep")
    levels = list(enumerate(t.format.levels))
    pos = {k: t._raw(k, "pos") for k, v in levels if v.has_pos}
    crd = {k: t._raw(k, "crd") for k, v in levels if v.has_crd}
    return (str(t.format), t.shape, pos, crd, t._raw(0, "values"), _core.fill_of(t), None, t._shares_value)


def _rebuild(text, shape, pos, crd, values, fill, parts, shared=False):
    """A pickled tensor. Every invariant is checked: files may come from anywhere."""
    if parts is not None:
        return _core.make_sum([_rebuild(*p) for p in parts])
    return _core.rebuild(text, shape, pos, crd, values, fill, shared)


for _f in ("to_numpy", "to_scipy", "to_torch", "to_cupy"):
    from importlib import import_module as _import_module

    getattr(Tensor, _f).__doc__ = getattr(_import_module(f"strata.interop.{_f[3:]}"), _f).__doc__
from .interop import to_package as _to_package  # noqa: E402

Tensor.to_package.__doc__ = _to_package.__doc__
del _f, _import_module
