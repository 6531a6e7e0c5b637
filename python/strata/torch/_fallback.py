"""What has no sparse meaning is computed on the dense tensor: counted, told of once for each operation, or refused."""

import collections
import contextlib
import contextvars
import warnings

from ..errors import Unsupported

#: how often each operation ran on a dense copy
densified = collections.Counter()
_strict = contextvars.ContextVar("strata_torch_strict", default=False)
_watching = contextvars.ContextVar("strata_torch_watching", default=None)
_told = set()


class DensifiedWarning(UserWarning):
    """An operation has no sparse form here and ran on a dense copy of its operand."""


@contextlib.contextmanager
def strict():
    """Within this block an operation without a sparse form raises Unsupported instead of running on a dense copy."""
    before = _strict.set(True)
    try:
        yield
    finally:
        _strict.reset(before)


@contextlib.contextmanager
def watched():
    """A list that within this block gets (name, pattern) of each dense copy. explain() asks."""
    copies = []
    before = _watching.set(copies)
    try:
        yield copies
    finally:
        _watching.reset(before)


def densifying(name, pattern):
    """To be called before a dense copy is made that nobody asked for. Unsupported under strict()."""
    if _strict.get():
        raise Unsupported(
            f"{name} has no sparse form",
            expected="an operation that does, under stt.strict()",
            got=f"{name} of a tensor in {pattern.format.name or pattern.format}",
            fix="write x.to_dense() where a dense tensor is meant",
        )
    if (watching := _watching.get()) is not None:
        watching.append((name, pattern))
    densified[name] += 1
    if name not in _told:
        _told.add(name)
        warnings.warn(
            f"{name} has no sparse form: it runs on a dense copy (told once; stt.densified counts, stt.strict() refuses)",
            DensifiedWarning,
            stacklevel=4,
        )
