"""What has been told of one place, and the format that it comes to."""

import dataclasses
import inspect
import math

from ..._core import Format
from ...errors import ArgumentError, FormatError
from .._weights import weight_format
from ._formats import format_of

_LETTERS = "ijklmnopqrstuvwxyz"


@dataclasses.dataclass
class Setting:
    """Of one place. `axes`: {(0, 1): Format} of the axes that block() made. `options`: density, every, stop of when="step"."""

    format: object = None
    block: tuple = ()
    pad: bool = False
    axes: dict = dataclasses.field(default_factory=dict)
    rule: object = None
    parts: dict = dataclasses.field(default_factory=dict)
    sparsifier: object = None
    when: str = ""
    options: dict = dataclasses.field(default_factory=dict)
    grad_format: object = None
    grad_sparsifier: object = None
    loops: str = ""

    def whole_format(self, place):
        """The st.Format of a weight or an output, None where nothing is told. FormatError."""
        if not self.block:
            return None if self.format is None else _fitted(self.format, place)
        sizes = place.shape[: len(self.block)]
        if not self.pad and any(n % b for n, b in zip(sizes, self.block)):
            raise FormatError(
                f"blocks do not fit {place.name}",
                expected=f"extents that {self.block} divide",
                got=str(tuple(sizes)),
                fix="block(..., pad=True): the last blocks reach over the edge",
            )
        return weight_format(blocked(self.block, self.axes), len(place.shape))


def blocked(block, axes):
    """The format of nested blocks: axes 0 .. n-1 count the blocks, n .. 2n-1 the elements in them. axes: {axes: Format of them}."""
    n = len(block)
    dims = _LETTERS[:n]
    exprs = [f"{d} / {b}" for d, b in zip(dims, block)] + [f"{d} % {b}" for d, b in zip(dims, block)]
    levels, groups = [], {min(told): told for told in axes}
    k = 0
    while k < 2 * n:
        told = groups.get(k)
        levels.append(f"{exprs[k]} : dense" if told is None else _nested(axes[told], [exprs[a] for a in told]))
        k += 1 if told is None else len(told)
    return Format(f"({', '.join(dims)}) -> ({', '.join(levels)})")


def _nested(format, exprs):
    """The levels of a format as text, with expressions in the place of its dimensions."""
    own = [f"axis{k}of" for k in range(len(exprs))]
    levels = str(format.rename(own)).partition(" -> (")[2][:-1]
    for name, expr in zip(own, exprs):
        levels = levels.replace(name, f"({expr})")
    return levels


def check_axes(format, axis, block, told):
    """The tuple of axes that a format is for. FormatError where they make no sense beside the others."""
    axis = tuple(axis)
    total = 2 * len(block)
    if not block:
        raise FormatError("axis= counts the axes that block() makes", expected=".block(16, 16) before", got=str(axis))
    if list(axis) != list(range(axis[0] if axis else 0, (axis[0] if axis else 0) + len(axis))) or not axis:
        raise FormatError("axes of one format stand side by side", expected="[0, 1] or [2, 3]", got=str(list(axis)))
    if min(axis) < 0 or max(axis) >= total:
        raise FormatError("no such axis", expected=f"0 to {total - 1}", got=str(list(axis)))
    if format.rank != len(axis) or format.num_parts > 1:
        raise FormatError(
            "the format does not fit these axes", expected=f"one part of {len(axis)} dimensions", got=str(format)
        )
    for other in told:
        if other != axis and set(other) & set(axis):
            raise FormatError("two formats for one axis", expected="disjoint axes", got=f"{list(other)}, {list(axis)}")
    return axis


def _fitted(given, place):
    """A format for a weight (fewer dimensions: lifted over a convolution's kernel) or an output (over its batches). FormatError."""
    rank = len(place.shape)
    try:
        format = format_of(given, rank)
    except FormatError:
        format = format_of(given)
    if place.kind == "weight":
        format = weight_format(format, rank)
    elif format.rank == 2 < rank:
        format = over_batches(format, rank)
    if format.rank != rank:
        raise FormatError(f"the format does not fit {place.name}", expected=f"{rank} dimensions", got=str(format))
    return format


def over_batches(format, rank):
    """A format of matrices, of the last two dimensions of tensors: the ones before are dense."""
    lead = [f"b{k}" for k in range(rank - format.rank)]
    dims = [*lead, *format.rename(["r", "c"]).dims]
    parts = (str(part.rename(["r", "c"])).partition(" -> (")[2] for part in format.parts)
    return Format(
        " + ".join(f"({', '.join(dims)}) -> ({''.join(f'{b} : dense, ' for b in lead)}{levels}" for levels in parts)
    )


# To and from a dictionary of plain values.


def to_dict(setting):
    """Without what is as it was made. Tensors (masks, index arrays of patterns) stay tensors."""
    plain = {
        "format": _text,
        "block": list,
        "axes": lambda axes: [[list(axis), str(f)] for axis, f in axes.items()],
        "parts": lambda parts: [[name, str(f)] for name, f in parts.items()],
        "sparsifier": describe,
        "rule": describe,
        "grad_sparsifier": describe,
        "grad_format": str,
        "options": lambda options: {k: v for k, v in options.items() if isinstance(v, (int, float))},
    }
    new, said = Setting(), {}
    for field in dataclasses.fields(setting):
        value = getattr(setting, field.name)
        if value is not getattr(new, field.name) and value != getattr(new, field.name):
            said[field.name] = plain.get(field.name, lambda x: x)(value)
    return said


def _text(format):
    """As from_dict() reads it: a name stays one, which means another format in other ranks."""
    format = format() if inspect.isclass(format) else format
    return format if isinstance(format, str) else getattr(format, "text", None) or str(format_of(format))


def describe(sparsifier):
    """{"name": its class or function, and what its constructor takes}, or a tensor or Pattern's arrays as they are."""
    import torch

    from .._pattern import Pattern

    if isinstance(sparsifier, torch.Tensor):
        return sparsifier
    if isinstance(sparsifier, Pattern):
        return {"name": "Pattern", "layout": sparsifier.layout, "index": list(sparsifier.index)}
    if inspect.isclass(sparsifier) or inspect.isroutine(sparsifier):
        return {"name": sparsifier.__name__}
    fields = {k: list(v) if isinstance(v, tuple) else v for k, v in vars(sparsifier).items() if _is_plain(v)}
    return {"name": type(sparsifier).__name__, **fields}


def _is_plain(x):
    if isinstance(x, (list, tuple)):
        return all(map(_is_plain, x))
    return isinstance(x, (int, float, str, bool)) and not (isinstance(x, float) and math.isnan(x))


def from_dict(said, known):
    """The Setting that to_dict() described. known: {name: class or function}. ArgumentError for another name."""
    said = dict(said)
    for name in ("sparsifier", "rule", "grad_sparsifier"):
        if name in said:
            said[name] = _made(said[name], known)
    said["block"] = tuple(said.get("block", ()))
    said["axes"] = {tuple(axis): Format(f) for axis, f in said.get("axes", ())}
    said["parts"] = {name: Format(f) for name, f in said.get("parts", ())}
    if "grad_format" in said:
        said["grad_format"] = Format(said["grad_format"])
    return Setting(**said)


def _made(said, known):
    from .._pattern import pattern_of

    if not isinstance(said, dict):
        return said
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in said.items() if k != "name"}
    if said["name"] == "Pattern":
        return pattern_of(said["layout"], said["index"])
    found = known.get(said["name"])
    if found is None:
        raise ArgumentError(
            "the schedule names a sparsifier that is not here",
            expected=", ".join(sorted(known)),
            got=said["name"],
            fix=f"known={{{said['name']!r}: {said['name']}}}",
        )
    if not inspect.isclass(found) or not arguments:
        return found
    taken = inspect.signature(found).parameters
    return found(**{k: v for k, v in arguments.items() if k in taken})
