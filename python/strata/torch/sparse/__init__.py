"""A schedule says what of a model is sparse, and how, apart from the model: `from strata.torch import sparse`.

s = sparse.create_schedule(model)
s["encoder.*.linear1.weight"].set_format(sparse.CscTensor)
sparse_model = s.build()
"""

from .._sparsifiers import Sparsifier
from ._formats import (
    Axis,
    BitmapTensor,
    BlockedEllpackTensor,
    BscTensor,
    BsrTensor,
    CooTensor,
    CscTensor,
    CsfTensor,
    CsrTensor,
    DcsrTensor,
    DeltaTensor,
    DenseTensor,
    DiaTensor,
    EllpackTensor,
    NMTensor,
    SparseTensor,
    iter,
)
from ._schedule import Loops, Schedule, Sites, Updaters, create_schedule

__all__ = [
    "Axis",
    "BitmapTensor",
    "BlockedEllpackTensor",
    "BscTensor",
    "BsrTensor",
    "CooTensor",
    "CscTensor",
    "CsfTensor",
    "CsrTensor",
    "DcsrTensor",
    "DeltaTensor",
    "DenseTensor",
    "DiaTensor",
    "EllpackTensor",
    "Loops",
    "NMTensor",
    "Schedule",
    "Sites",
    "SparseTensor",
    "Sparsifier",
    "Updaters",
    "create_schedule",
    "iter",
]
