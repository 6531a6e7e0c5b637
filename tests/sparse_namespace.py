"""strata.array_api whose asarray() makes sparse tensors: the standard's test suite runs on it, beside the one that makes dense
ones (scripts/nightly arrays)."""

import numpy as np

import strata as st
from strata import array_api
from strata.array_api import *  # noqa: F403

__array_api_version__ = array_api.__array_api_version__


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """In coordinates, without the zeros that are +0."""
    t = array_api.asarray(obj, dtype=dtype, device=device, copy=copy)
    if t.ndim == 0 or not t.format.is_all_dense or isinstance(obj, st.Tensor):
        return t
    return st.from_dense(np.ascontiguousarray(t.to_dense()), st.Format("COO", t.ndim), threshold=None)
