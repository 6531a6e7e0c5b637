"""strata show EXPR A=csr: how an expression would run. Needs no data."""

import re

from .. import _core
from ..errors import Error, ExpressionError


def index_notation(text):
    """Einsum text such as "ij,j->i" as index notation, its operands called A, B, ..."""
    if "=" in text:
        return text
    left, arrow, right = (part.strip() for part in text.partition("->"))
    terms = [term.strip() for term in left.split(",")]
    if "." in text or not all(re.fullmatch(r"[A-Za-z]*", term) for term in [*terms, right]):
        raise ExpressionError(
            "show reads plain einsum text or index notation", expected='"ij,j->i" or "y(i) = A(i,j) * x(j)"', got=text
        )
    if not arrow:
        letters = "".join(terms)
        right = "".join(sorted(i for i in set(letters) if letters.count(i) == 1))

    def access(name, indices):
        return f"{name}({','.join(indices)})"

    names = [chr(ord("A") + k) for k in range(len(terms))]
    return access("out", right) + " = " + " * ".join(map(access, names, terms))


def _is_dtype(text):
    try:
        return bool(_core.dtype_name(text))
    except Error:
        return False


def operand_formats(arguments, names):
    formats = {}
    for item in arguments:
        name, equals, value = item.partition("=")
        if not equals or not value.strip():
            raise ExpressionError(
                f"'{item}' gives no operand a format", expected=", ".join(f"{n}=FORMAT" for n in names), got=item
            )
        if name.strip() in formats:
            raise ExpressionError(f"operand {name.strip()} is given two formats", expected="one", got=item)
        if _is_dtype(value.strip()):
            raise ExpressionError(
                f"'{item}' gives a dtype where a format stands",
                expected=f"{name.strip()}=FORMAT; the dtype of all operands is --dtype {value.strip()}",
                got=item,
            )
        formats[name.strip()] = value.strip()
    return formats


def expression_of(args):
    """The expression as index notation, and the format of each operand (dense where none is given)."""
    notation = index_notation(args.expression)
    names = _core.expression_operands(notation)
    return notation, dict.fromkeys(names, "dense") | operand_formats(args.formats, names)


def options_of(args):
    return {"semiring": args.semiring, "mask": args.mask, "complement_mask": args.complement_mask}


def main(args):
    notation, formats = expression_of(args)
    options = options_of(args) | {"schedule": args.schedule}
    print(_core.show_expression(notation, formats, args.extent, args.dtype, not args.explain, **options))
