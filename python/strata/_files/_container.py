"""Files of our own (.st): any format exactly as it is stored."""

import collections.abc
import os

from .. import _core
from .._core import Tensor
from ..errors import ArgumentError, FileError
from ._replace import name_of

_VERIFY = {True: "all", False: "header", "all": "all", "structure": "structure", "header": "header"}


def check_path(path, call):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise ArgumentError(
            "a file is given by its path",
            expected="a str or os.PathLike",
            got=type(path).__name__,
            fix=f"the path comes first: st.{call}(path, t)" if isinstance(path, Tensor) else "",
        )


def named(call, t):
    """[(name, tensor)] of a tensor or a dict of them."""
    if isinstance(t, Tensor):
        return [("", t)]
    if not isinstance(t, collections.abc.Mapping):
        raise ArgumentError(
            f"{call}() takes a tensor, or a dict from name to tensor",
            expected="a strata.Tensor",
            got=type(t).__name__,
            fix="take it in first: st.from_package(x)",
        )
    pairs = list(t.items())
    for name, tensor in pairs:
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ArgumentError(
                f"{call}() takes a dict from name to tensor",
                expected="str: strata.Tensor",
                got=f"{type(name).__name__}: {type(tensor).__name__}",
            )
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ArgumentError("the name of a tensor is text", got=ascii(name)) from None
    return pairs


def refuse_others(path):
    """A name that promises another kind of file is a slip: nobody could read what it holds."""
    from . import KINDS

    suffix = os.path.splitext(name_of(path))[1].lower()
    if suffix in KINDS and suffix != ".st":
        raise FileError(
            f"save() writes Strata's own kind of file, and '{suffix}' says {KINDS[suffix].name}",
            expected="a name that ends in .st",
            got=name_of(path),
            fix="st.write(path, t), which writes what the suffix says",
        )


def save(path, t):
    """Writes a tensor of any format as it is stored, or a dict of them, as a .st file: format, shape, dtypes, fill,
    parts, batches, packed levels, explicit zeros, the bits of every value. The file appears whole or not at all.

    path : the file, usually called .st
    t : a tensor, or a dict from name to tensor

        save("weights.st", A)
        save("model.st", {"A": A, "B": B})

    FileError; TensorError for a tensor that does not obey its own format.
    """
    check_path(path, "save")
    refuse_others(path)
    _core.save(path, named("save", t))


def load(path, *, verify=True, mmap=True):
    """The tensor of a .st file, or the dict of tensors that it was written from.

    verify : what is looked at before the file is believed. True or "all": the checksum of each array and every invariant
        of the levels, for which the file is read once. "structure": positions and coordinates so, values not; they stay on
        the disk until they are used. False or "header": the header alone, for files that you wrote yourself
    mmap : the arrays are read-only views of the file, which may be replaced or deleted meanwhile, but not shortened in
        place; False reads them into memory

        save("weights.st", A)
        assert load("weights.st").equal(A, storage=True)
        save("model.st", {"A": A, "B": B})
        C = load("model.st")["B"]

    Nothing in a file is executed. FileError, which names the place.
    """
    check_path(path, "load")
    try:
        how = _VERIFY[verify]
    except (KeyError, TypeError):
        raise ArgumentError(
            "load(verify=) says what is looked at",
            expected="True, False, 'all', 'structure', 'header'",
            got=repr(verify),
        ) from None
    found = _core.load(path, how, bool(mmap))
    if len(found) == 1 and found[0][0] == "":
        return found[0][1]
    return dict(found)


def pick(path, found, name):
    """The tensor of this name, or the only one. FileError lists what is there."""
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is not None and name in found:
        return found[name]
    names = ", ".join(map(repr, list(found)[:8])) + (", ..." if len(found) > 8 else "")
    if name is None:
        raise FileError(
            f"{name_of(path)} holds {len(found)} tensors",
            expected="one, or the name of one",
            got=names or "none",
            fix=f"st.read(path, name={next(iter(found))!r})" if found else "",
        )
    raise FileError(f"{name_of(path)} has no tensor '{name}'", expected=names or "none is there", got=repr(name))


def read(path, name, progress):
    return pick(path, dict(_core.load(path, "all", True)), name)


def write(path, pairs):
    _core.save(path, pairs)
