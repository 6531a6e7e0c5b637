"""Products that are an einsum of their own, or several: np.tensordot, vecdot, matvec, vecmat, matrix_power of tensors."""

import operator

import numpy as np

from ._arrange import moveaxis
from ._create import asarray, eye
from ._evaluate import einsum
from ._served import serves
from ._stored import axes_of, format_like
from .errors import TensorError, Unsupported


def _check(m, n, what):
    """einsum stretches extents of 1; what is summed over is not stretched."""
    if m != n:
        raise TensorError(f"the extents that {what} sums over differ", expected=str(m), got=str(n))


@serves(np.tensordot)
def tensordot(a, b, axes=2):
    """np.tensordot."""
    a, b = asarray(a), asarray(b)
    if isinstance(axes, (int, np.integer)):
        axes = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    left, right = axes_of(axes[0], a.ndim), axes_of(axes[1], b.ndim)
    _check([a.shape[d] for d in left], [b.shape[d] for d in right], "tensordot")
    first, second = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for d, e in zip(left, right):
        second[e] = first[d]
    kept = [i for d, i in enumerate(first) if d not in left] + [i for d, i in enumerate(second) if d not in right]
    return einsum(a, first, b, second, kept)


def vecdot(a, b, axis=-1):
    """np.vecdot: the sum of conj(a) * b over an axis, which both have; the others broadcast."""
    a, b = (asarray(x) if axis == -1 else moveaxis(asarray(x), axis, -1) for x in (a, b))
    _check(a.shape[-1:], b.shape[-1:], "vecdot")
    return einsum("...i,...i->...", asarray(a.conj()), b)


@serves(np.vdot)
def vdot(a, b):
    """np.vdot."""
    return vecdot(asarray(a).reshape(-1), asarray(b).reshape(-1))


def matvec(a, b):
    """np.matvec."""
    a, b = asarray(a), asarray(b)
    _check(a.shape[-1:], b.shape[-1:], "matvec")
    return einsum("...ij,...j->...i", a, b)


def vecmat(a, b):
    """np.vecmat."""
    a, b = asarray(a), asarray(b)
    _check(a.shape[-1:], b.shape[-2:-1], "vecmat")
    return einsum("...i,...ij->...j", asarray(a.conj()), b)


@serves(np.linalg.matrix_power)
def matrix_power(a, n):
    """np.linalg.matrix_power of a whole number that is not negative: by squaring; sparse as its products are."""
    a, n = asarray(a), operator.index(n)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise TensorError("a power needs a square matrix", expected="n x n", got=f"shape {a.shape}")
    if n < 0:
        raise Unsupported(
            "a power of the inverse",
            expected="0 or more",
            got=str(n),
            fix="st.lu(A), whose solve() takes right-hand sides",
        )
    found = None
    while n:
        if n & 1:
            found = a if found is None else found @ a
        n >>= 1
        a = a @ a if n else a
    return eye(a.shape[0], dtype=a.dtype, format=format_like(a, 2)) if found is None else found
