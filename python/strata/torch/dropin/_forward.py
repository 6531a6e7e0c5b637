"""The modules that stand in for torch's: each name is looked up there."""

import functools
import importlib
import importlib.abc
import importlib.util
import sys
import types

import torch

from .._deferred import Deferred
from .._rearrange import rearrange
from .._tensor import Tensor, from_torch
from ._einsum import Work, einsum, watch_einsum

#: torch's modules whose functions compute with tensors; all others come as they are
_COMPUTE = ("", "nn", "nn.functional", "sparse", "linalg", "special", "fft")
_OURS = {"einsum": einsum, "rearrange": rearrange, "watch_einsum": watch_einsum, "Work": Work}
_ROOT = __name__.rpartition(".")[0]


class Forward(types.ModuleType):
    """A module whose names are those of one of torch's."""

    def __getattr__(self, name):
        at = self.__dict__["_at"]
        if not at and name in _OURS:
            return _OURS[name]
        found = getattr(self.__dict__["_torch"], name)
        if isinstance(found, types.ModuleType):
            inner = f"{at}.{name}" if at else name
            return importlib.import_module(f"{_ROOT}.{inner}") if inner in _COMPUTE else found
        return _taking_sparse(found) if _is_function(found) else found

    def __setattr__(self, name, value):
        if name.startswith("__") or isinstance(value, Forward):
            return super().__setattr__(name, value)
        setattr(self.__dict__["_torch"], name, value)

    def __dir__(self):
        return sorted({*dir(self.__dict__["_torch"]), *(() if self.__dict__["_at"] else _OURS)})


def _is_function(x):
    return isinstance(x, (types.FunctionType, types.BuiltinFunctionType, types.BuiltinMethodType)) or (
        type(x).__name__ == "builtin_function_or_method"
    )


class _TakingSparse:
    """The same function, for which torch's own sparse tensors are stt's."""

    def __init__(self, f):
        functools.update_wrapper(self, f)

    def __call__(self, *args, **kwargs):
        if any(map(_is_torchs, args)) or any(map(_is_torchs, kwargs.values())):
            args, kwargs = tuple(map(_ours, args)), {name: _ours(x) for name, x in kwargs.items()}
        y = self.__wrapped__(*args, **kwargs)
        return _ours(y) if _is_torchs(y) else y

    def __repr__(self):
        return f"<{self.__wrapped__!r}, of sparse tensors too>"

    def __reduce__(self):
        return _taking_sparse, (self.__wrapped__,)


@functools.cache
def _taking_sparse(f):
    return _TakingSparse(f)


def _is_torchs(x):
    if isinstance(x, (list, tuple)):
        return any(map(_is_torchs, x))
    return isinstance(x, torch.Tensor) and type(x) not in (Tensor, Deferred) and x.layout in _LAYOUTS


_LAYOUTS = {torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc}


def _ours(x):
    if isinstance(x, (list, tuple)) and _is_torchs(x):
        return type(x)(map(_ours, x))
    return from_torch(x) if isinstance(x, torch.Tensor) and _is_torchs(x) else x


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds strata.torch.dropin.X: a Forward of torch.X, or torch.X itself where it computes nothing."""

    def find_spec(self, name, path=None, target=None):
        inner = name.removeprefix(f"{_ROOT}.")
        if inner == name or inner.startswith("_"):
            return None
        try:
            importlib.import_module(f"torch.{inner}")
        except ModuleNotFoundError:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        inner = module.__name__.removeprefix(f"{_ROOT}.")
        found = importlib.import_module(f"torch.{inner}")
        if inner in _COMPUTE:
            become(module, inner, found)
        else:
            sys.modules[module.__name__] = found


def become(module, at, found):
    """The module forwards to a module of torch from here on."""
    module.__dict__.update(_at=at, _torch=found)
    module.__class__ = Forward


def install(name):
    """The package stands in for torch, and imports of its submodules for torch's."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # before what would find files of torch under our name
    become(sys.modules[name], "", torch)
