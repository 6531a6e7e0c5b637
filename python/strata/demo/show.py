"""strata show EXPR A=csr: how an expression would run. Needs no data."""

import os
import re
import sys
import tempfile

from .. import _core, settings
from ..errors import ExpressionError


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
        formats[name.strip()] = value.strip()
    return formats


def stand_ins(notation, names, formats, extent, dtype):
    """Empty operands of these formats."""
    import numpy as np

    ranks = dict.fromkeys(names, 0)
    for name, inside in re.findall(r"(\w+)\s*\(([^()]*)\)", notation):
        ranks[name] = len([i for i in inside.split(",") if i.strip()])
    tensors = {}
    for name in names:
        none = [np.zeros(0, np.int64)] * ranks[name]
        format = formats.get(name, "dense")
        tensors[name] = _core.from_coo(none, np.zeros(0), (extent,) * ranks[name], format).to(dtype=dtype)
    return tensors


def is_one_product(notation):
    try:
        _core.index_notation_operands(notation)
    except ExpressionError:
        return False
    return True


def generated(notation, tensors):
    """What the core prints of the loops that it makes while it evaluates (it prints on stderr)."""
    before, stderr = settings.dump, os.dup(2)
    sys.stderr.flush()
    with tempfile.TemporaryFile() as caught:
        try:
            os.dup2(caught.fileno(), 2)
            settings.dump = "schedule,loops,source"
            _core.evaluate(notation, tensors)
        finally:
            settings.dump = before
            os.dup2(stderr, 2)
            os.close(stderr)
        caught.seek(0)
        return caught.read().decode(errors="replace").rstrip()


def main(args):
    notation = index_notation(args.expression)
    names = _core.expression_operands(notation)
    formats = operand_formats(args.formats, names)
    if unknown := [n for n in formats if n not in names]:
        raise ExpressionError(
            f"the expression has no operand '{unknown[0]}'", expected=", ".join(names) or "none", got=unknown[0]
        )
    tensors = stand_ins(notation, names, formats, args.extent, args.dtype)
    sparse = [n for n in names if not tensors[n].format.is_all_dense]
    if len(sparse) <= 1 and is_one_product(notation):  # what a plan serves
        if args.explain:
            print(_core.plan(notation, *(tensors[n] for n in _core.index_notation_operands(notation))).explain())
        else:
            print(_core.show_expression(notation, formats, args.extent, args.dtype))
        return
    print(_core.explain(notation, tensors))
    if not args.explain:
        # Small ones will do: of the extents, these loops know only which integers hold them.
        small = stand_ins(notation, names, formats, min(args.extent, 16), args.dtype)
        print("\n" + (generated(notation, small) or "no code is generated: it runs by the other ways"))
