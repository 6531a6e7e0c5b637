"""Modules that are sparse from the start: `import strata.torch.nn as snn`, in the place of torch.nn's of the same names."""

from ._attention import MultiheadAttention
from ._linear import Linear

__all__ = ["Linear", "MultiheadAttention"]
