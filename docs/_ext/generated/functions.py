"""NumPy's functions that tensors answer to, as the table in the package has them."""

import numpy as np

from strata import _array_function, _ufuncs

from .markdown import table

_CALLS = {
    "positive": "the tensor itself",
    "power": "as `**`",
    "matmul": "as `@`",
    "vecdot": "the einsum of `...i,...i->...` with conj(A)",
    "matvec": "the einsum of `...ij,...j->...i`",
    "vecmat": "the einsum of `...i,...ij->...j` with conj(A)",
}
_CALLS = {name: text for name, text in _CALLS.items() if hasattr(np, name)}  # as of this NumPy


def ufuncs_text():
    rows = []
    for f, text in _ufuncs._TEXTS.items():
        rows.append((f"`np.{f.__name__}`", "`" + text.format("A", "B") + "`"))
    rows += [(f"`np.{f.__name__}`", _CALLS[f.__name__]) for f in _ufuncs._CALLS]
    return table(("function", "what is evaluated"), sorted(rows))


def other_ufuncs_text():
    """Those that NumPy computes on what is stored."""
    return ", ".join(f"`{f.__name__}`" for f in _ufuncs.OTHERS)


def array_functions_text():
    """Functions of whole arrays."""
    return ", ".join(sorted({_name(f) for f in _array_function.FUNCTIONS}))


def _name(f):
    return f"`np.{'linalg.' if 'linalg' in f.__module__ else ''}{f.__name__}`"
