"""strata convert IN OUT: a file in another kind of file, format or dtype."""

import os

from .._files import kind_of, read, write
from .._terminal import grouped, progress, size
from ..errors import FileError


def main(args):
    kind_of(args.input), kind_of(args.output)  # a wrong name is told before the long work
    if os.path.exists(args.output) and os.path.exists(args.input) and os.path.samefile(args.input, args.output):
        raise FileError("the two files are one", expected="another name for the result", got=args.output)
    with progress(f"reading {args.input}", quiet=args.quiet) as p:
        t = read(args.input, name=args.name, progress=p)
    with progress("converting", quiet=args.quiet):
        t = t.to(
            format=args.format,
            dtype=args.dtype,
            pos_dtype=args.pos_dtype,
            crd_dtype=args.crd_dtype,
            zeros=args.zeros,
        )
    with progress(f"writing {args.output}", quiet=args.quiet):
        write(args.output, t)
    if not args.quiet:
        shape = " x ".join(map(str, t.shape))
        print(
            f"{args.output}: {t.format.name or t.format}, {shape}, {t.dtype}, {grouped(t.nse)} stored, "
            f"{size(_bytes(args.output))}"
        )


def _bytes(path):
    if os.path.isdir(path):
        return sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(path) for f in files)
    return os.path.getsize(path)
