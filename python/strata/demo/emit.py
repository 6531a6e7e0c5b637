"""strata emit EXPR A=csr: the kernel as a C file. Needs no data."""

from .. import _core
from .show import expression_of, options_of


def main(args):
    notation, formats = expression_of(args)
    text = _core.emit_expression(
        notation, formats, args.extent, args.dtype, name=args.name, main=args.main, **options_of(args)
    )
    if args.output is None:
        print(text, end="")
        return
    with open(args.output, "w") as f:
        f.write(text)
