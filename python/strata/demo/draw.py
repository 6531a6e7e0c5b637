"""strata draw FILE|FORMAT: a picture of a matrix from a file, or of a small one in a format."""

import os

import numpy as np

from .. import _core, _files
from .._pictures import draw_conversion
from ..errors import ArgumentError, FormatError

#: what draw() shows without leaving something out
_SMALL = 24


def example(rank):
    """A small tensor with something of everything: a diagonal, a block, an empty row, a distance that is long."""
    if rank == 2:
        a = np.zeros((6, 8))
        a[0, 0], a[0, 7], a[1, 2], a[1, 3], a[2, 2], a[2, 3], a[4, 4], a[5, 1], a[5, 5] = range(1, 10)
        return a
    shape = {0: (), 1: (8,), 3: (2, 3, 4)}.get(rank, (*(2,) * (rank - 2), 3, 4))
    a = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    return np.where(a % 3 == 1, a, 0) if rank else a


def _is_file(text):
    name = text.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    return os.path.exists(text) or name.endswith(tuple(_files.KINDS))


def tensor(args):
    """The tensor that is asked for, and whether it is an example."""
    if _is_file(args.what):
        t = _files.read(args.what)
        return (t.to(args.format) if args.format else t), False
    try:
        format = _core.Format(args.what)
    except FormatError as e:
        if os.sep in args.what or os.path.splitext(args.what)[1]:
            raise FormatError(
                f"'{args.what}' is no file, and no format",
                expected="a file that exists, or a format such as CSR",
                got=args.what,
            ) from None
        raise e
    if args.format:
        raise ArgumentError(
            "--format is for files", expected="strata draw FILE --format FORMAT", got=f"strata draw {args.what}"
        )
    return _core.from_dense(example(format.rank), format), True


def picture(args):
    t, is_example = tensor(args)
    if args.convert:
        return draw_conversion(t, args.convert, limit=args.limit)
    if args.raw:
        return t.draw_raw(args.limit)
    if args.storage or is_example and not args.grid:
        return t.draw_storage(limit=args.limit)
    if args.grid or t.ndim <= 3 and max(t.shape, default=0) <= _SMALL:
        return t.draw(args.limit)
    return t.draw_raw(args.limit)


def main(args):
    made = picture(args)
    if args.output:
        made.save(args.output, theme=args.theme)
    else:
        print(made)
