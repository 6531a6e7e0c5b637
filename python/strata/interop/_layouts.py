"""Texts of formats that several packages share."""

from .._core import Format


def props(ordered, unique):
    """'(unordered, nonunique)' as far as it is so, otherwise ''."""
    words = [word for word, on in (("nonunique", not unique), ("unordered", not ordered)) if on]
    return f"({', '.join(words)})" if words else ""


def names_of(rank):
    """The core's names for this many dimensions."""
    return list(Format("dense", rank).dims)


def coo_levels(names, ordered, unique):
    """The levels of COO over these dimensions."""
    order = "" if ordered else "unordered"
    levels = []
    for k, name in enumerate(names):
        last = k == len(names) - 1
        repeats = (k == 0 and not last) or (last and not unique)  # prefixes repeat from the first level on
        words = [w for w in ("nonunique" if repeats else "", order) if w]
        kind = "compressed" if k == 0 else "singleton"
        levels.append(f"{name}: {kind}" + (f"({', '.join(words)})" if words else ""))
    return levels


def coo_format(rank, ordered, unique):
    """COO of this rank as a text."""
    names = names_of(rank)
    return f"({', '.join(names)}) -> ({', '.join(coo_levels(names, ordered, unique))})"
