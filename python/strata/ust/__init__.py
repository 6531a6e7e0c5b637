"""The names of NVIDIA's Universal Sparse Tensor (nvmath-python, and the blog post that introduced it) over Strata's
core.

Their snippets run with only the import changed:

    from strata.ust import Dimension, LevelFormat, TensorFormat, Tensor, Matmul

    i, j = Dimension(dimension_name="i"), Dimension(dimension_name="j")
    CSC = TensorFormat([i, j], {j: LevelFormat.DENSE, i: LevelFormat.COMPRESSED})
    U = Tensor.from_package(scipy_matrix).convert(tensor_format=CSC)

Memory is the CPU's; `stream=` and `execution=` are accepted and mean nothing here. What is beyond the originals:
formats also parse from text (`TensorFormat.parse`), `to_package` works after every conversion, and `Tensor.tensor` is
the `strata.Tensor` underneath.
"""

from ._expressions import Dimension, LevelExpr
from ._levels import LevelFormat, LevelProperty, is_ordered, is_unique
from ._matmul import Matmul, MatmulOptions, matmul
from ._named_formats import NamedFormats
from ._solve import Solve, solve
from ._tensor import Tensor
from ._tensor_format import TensorFormat

__all__ = [
    "Dimension",
    "LevelExpr",
    "LevelFormat",
    "LevelProperty",
    "Matmul",
    "MatmulOptions",
    "NamedFormats",
    "Solve",
    "Tensor",
    "TensorFormat",
    "is_ordered",
    "is_unique",
    "matmul",
    "solve",
]

for _name in __all__:
    if _name != "NamedFormats":  # an object
        globals()[_name].__module__ = __name__

_FOR_MODELS = ("TorchUST", "prune_model", "reformat_model")


def __getattr__(name):
    """What is for models needs torch, which is imported for it alone."""
    if name in _FOR_MODELS:
        from . import _torch

        return getattr(_torch, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
