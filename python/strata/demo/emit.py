"""strata emit EXPR A=csr: the kernel as a C file. Needs no data."""

from .. import _core
from .show import index_notation, operand_formats


def main(args):
    notation = index_notation(args.expression)
    names = _core.expression_operands(notation)
    formats = dict.fromkeys(names, "dense") | operand_formats(args.formats, names)  # all of this dtype
    text = _core.emit_expression(notation, formats, args.extent, args.dtype)
    if args.output is None:
        print(text, end="")
        return
    with open(args.output, "w") as f:
        f.write(text)
