"""Advice on a storage, in a form that `to` takes."""

import dataclasses
import typing

from . import _core
from .errors import TensorError

_USES = {"product": "cost_ns", "memory": "bytes"}


@dataclasses.dataclass(frozen=True)
class Advice:
    """A storage that suits a tensor: `A.to(advice)` makes it.

    format : its text; crd_dtype : the dtype of coordinates, None for the usual one
    why : the reason, in words; nbytes : what pos, crd and values will take

    `str(advice)` is the call.

        advice = advise(A)
        B = A.to(advice)
        assert B.format == Format(advice.format)
    """

    format: str
    crd_dtype: typing.Optional[str]
    why: str
    nbytes: int

    def __str__(self):
        return f"A.to({call(self.format, self.crd_dtype)})"


def call(format, crd_dtype):
    """What stands between the parentheses of A.to(...)."""
    return f'"{format}"' + (f', crd_dtype="{crd_dtype}"' if crd_dtype else "")


def advise(t, for_="product"):
    """The storage that suits a tensor, widths of its coordinates included: an Advice, which `A.to(advice)` takes; `A.to("auto")`
    is both in one.

    t : a tensor; its format does not matter, its elements do
    for_ : "product" (the least modelled time of a product with a vector) or "memory" (the fewest bytes)

    Matrices are looked at as describe_structure does. Vectors and tensors of three dimensions and more get compressed levels, or
    dense ones where those take fewer bytes.

        print(advise(A))
        B = A.to(advise(A, for_="memory"))
    """
    if not isinstance(t, _core.Tensor):
        raise TensorError(
            "advise looks at a tensor",
            expected="a strata.Tensor",
            got=type(t).__name__,
            fix="take it in first: st.from_package(x)",
        )
    if for_ not in _USES:
        raise TensorError(
            f"there is no advice for '{for_}'", expected=", ".join(f"'{name}'" for name in _USES), got=str(for_)
        )
    if t.ndim == 2:
        return _of_matrix(_core.describe_structure(t), for_)
    return _of_rank(t)


def _of_matrix(info, for_):
    best = min(info["formats"], key=lambda f: f[_USES[for_]])
    why = info["why"] if best is info["formats"][0] else best["note"] or "no other storage is smaller"
    return Advice(best["format"], best["crd_dtype"], why, best["bytes"])


def _of_rank(t):
    """The bytes of compressed levels are those of the worst case, in which no two elements share a prefix."""
    value, index = t.dtype.itemsize, 4 if max([t.nse, *t.shape], default=0) <= 2**31 - 1 else 8
    full = value * t.size
    sparse = t.nse * value + index * (t.nse * (2 * t.ndim - 1) + t.ndim + 1)
    if t.ndim == 0 or full <= sparse:
        return Advice("dense", None, f"{t.nse} of {t.size} elements are stored", full)
    name = "SparseVector" if t.ndim == 1 else "CSF"
    return Advice(name, None, f"{t.nse} of {t.size} elements are stored; levels share their prefixes", sparse)
