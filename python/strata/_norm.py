"""st.norm: of vectors and matrices, as np.linalg.norm."""

import numpy as np

from ._create import asarray
from ._stored import axes_of, for_numpy
from .errors import ExpressionError, Unsupported


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of a matrix or vector, as np.linalg.norm; absent elements take part.

        norm(A)                  # the root of the sum of squares
        norm(A, 1)               # the largest sum of a column's absolute values; np.inf: of a row's
        norm(A, 2, axis=1)       # of each row: ord 1, 2, any other number, np.inf, -np.inf, or 0

    axis : one for norms of vectors, two for norms of matrices, None for the whole; ord : None and "fro" are the root of
    the sum of squares. A number, or a dense array. Unsupported: the norms that need singular values (2, -2, "nuc" of a
    matrix). ExpressionError: an order that is none.
    """
    t = for_numpy(asarray(x))
    t = t if t.dtype.kind in "fc" else t.to(dtype="float64")
    axes = axes_of(axis, t.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        squares = abs(t) if t.dtype.kind == "c" else t
        return np.sqrt(asarray(squares * squares).sum(tuple(axes), keepdims))
    size = asarray(abs(t))
    if len(axes) == 1:
        return _of_vectors(size, ord, axes[0], keepdims)
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        inner, outer = axes if abs(ord) == 1 else axes[::-1]
        sums = size.sum(inner, keepdims=True)
        found = (np.max if ord > 0 else np.min)(sums, axis=outer, keepdims=True)
        return found if keepdims else np.squeeze(found, tuple(axes))[()]
    if len(axes) == 2 and ord in (2, -2, "nuc"):
        raise Unsupported(
            "this norm needs singular values",
            expected='None, "fro", 1, -1, inf or -inf',
            got=repr(ord),
            fix="st.svds(A, 1)[1] for ord=2",
        )
    raise ExpressionError(
        "there is no such norm",
        expected="None, or an order of vectors or matrices",
        got=f"ord={ord!r} over {len(axes)} axes",
    )


def _of_vectors(size, ord, axis, keepdims):
    if ord == np.inf:
        return size.max(axis, keepdims)
    if ord == -np.inf:
        return size.min(axis, keepdims)
    if ord == 0:
        return size.count_nonzero(axis, keepdims=keepdims).astype(size.dtype)
    if ord == 1:
        return size.sum(axis, keepdims)
    if isinstance(ord, (int, float, np.number)):
        return asarray(size**ord).sum(axis, keepdims) ** (1 / ord)
    raise ExpressionError("there is no such norm of a vector", expected="a number", got=f"ord={ord!r}")
