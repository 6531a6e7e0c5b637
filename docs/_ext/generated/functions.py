"""NumPy's functions that tensors answer to, as the table in the package has them."""

from strata import _ufuncs

from .markdown import table

_CALLS = {
    "positive": "the tensor itself",
    "power": "whole exponents from 1 to 16, and 0.5",
    "matmul": "as `@`",
    "equal": "whole tensors, as `==`",
    "not_equal": "whole tensors, as `!=`",
}


def ufuncs_text():
    rows = []
    for f, text in _ufuncs._TEXTS.items():
        rows.append((f"`np.{f.__name__}`", "`" + text.format("A", "B") + "`"))
    rows += [(f"`np.{f.__name__}`", _CALLS[f.__name__]) for f in _ufuncs._CALLS]
    return table(("function", "what is evaluated"), sorted(rows))
