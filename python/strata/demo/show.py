"""strata show EXPR A=csr: how an expression would run. Needs no data: the operands are empty tensors of the right type."""

import re

from .. import _core
from .._terminal import Style
from ..errors import ExpressionError
from ..interop.numpy import from_numpy


def _operands(text):
    """(name, indices) of each operand; einsum operands are called A, B, ..."""
    if "=" in text:
        right = text.split("=", 1)[1]
        return [(name, [i.strip() for i in inside.split(",") if i.strip()]) for name, inside in re.findall(r"(\w+)\s*\(([^)]*)\)", right)]
    left = text.split("->")[0]
    if "." in left:
        raise ExpressionError("show does not know how many dimensions '...' stands for", expected="every index written out", got=text)
    return [(chr(ord("A") + k), list(term.strip())) for k, term in enumerate(left.split(","))]




def main(args):
    import numpy as np

    operands = _operands(args.expression)
    names = [name for name, _ in operands]
    indices = {i for _, terms in operands for i in terms}
    formats, extents = {}, {}
    for item in args.formats:
        name, equals, value = item.partition("=")
        if equals and name in names:
            formats[name] = value
        elif equals and name in indices and value.isdigit():
            extents[name] = int(value)
        else:
            raise ExpressionError(f"'{item}' names neither an operand nor an index", expected=", ".join([f"{n}=FORMAT" for n in names] + [f"{i}=EXTENT" for i in sorted(indices)]), got=item)
    tensors, lines = {}, []
    for name, terms in operands:
        shape = tuple(extents.get(i, 1024) for i in terms)
        if name in tensors:
            continue
        if name in formats:
            fmt = _core.Format(formats[name], rank=len(terms))
            if fmt.rank != len(terms):
                raise ExpressionError(f"{name} has {len(terms)} indices, its format {fmt.rank} dimensions", expected=f"a format of {len(terms)} dimensions", got=str(fmt))
            some = [np.arange(64, dtype=np.int64) * 7 % max(n, 1) for n in shape]
            tensors[name] = _core.from_coo(some, np.ones(64), shape, fmt).to(dtype=args.dtype)
            lines.append(f"{name}  {fmt}  {' x '.join(map(str, shape))}")
        else:
            tensors[name] = from_numpy(np.zeros(shape)).to(dtype=args.dtype)
            lines.append(f"{name}  dense  {' x '.join(map(str, shape))}")
    plan = _core.plan(args.expression, *(tensors[name] for name, _ in operands))
    style = Style()
    print(style.title("operands"))
    for line in lines:
        print("  " + line)
    print(style.title("candidates"))
    print(plan.explain())
    if not args.explain:
        print(plan.show())
