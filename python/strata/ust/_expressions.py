"""What stands left of the colon: dimensions under + - // %."""

import operator as _operator

from ..errors import FormatError

# The core's limits. They hold here too, where a shared operand may stand for exponentially long a text.
MAX_DEPTH, MAX_SIZE = 64, 512


class _Expression:
    _depth = _size = 1

    def __add__(self, other):
        return LevelExpr(expression1=self, operator="+", expression2=other)

    def __sub__(self, other):
        return LevelExpr(expression1=self, operator="-", expression2=other)

    def __floordiv__(self, other):
        return LevelExpr(expression1=self, operator="//", expression2=other)

    __truediv__ = __floordiv__

    def __mod__(self, other):
        return LevelExpr(expression1=self, operator="%", expression2=other)


class Dimension(_Expression):
    """A dimension of the tensor. Two dimensions are the same only if they are the same object."""

    def __init__(self, *, dimension_name=None):
        if dimension_name is not None and not isinstance(dimension_name, str):
            raise FormatError("the name of a dimension is a text", expected="a str", got=repr(dimension_name))
        self.dimension_name = dimension_name

    def __repr__(self):
        return self.dimension_name or "dimension"


class LevelExpr(_Expression):
    """`expression1 operator expression2`; usually written with Python's operators: `i // 2`, `j - i`."""

    def __init__(self, *, expression1, operator, expression2):
        if operator not in ("+", "-", "//", "/", "%"):
            raise FormatError(
                f"no operator '{operator}' in level expressions", expected="+, -, // or %", got=str(operator)
            )
        if not isinstance(expression1, _Expression):
            raise FormatError(
                "a level expression starts with a dimension",
                expected="a Dimension or LevelExpr",
                got=type(expression1).__name__,
            )
        if operator in ("+", "-"):
            if not isinstance(expression2, _Expression):
                raise FormatError(
                    f"'{operator}' takes two dimensions", expected="a Dimension or LevelExpr", got=repr(expression2)
                )
            operands = (expression1, expression2)
        else:
            expression2 = _divisor(operator, expression2)
            operands = (expression1,)
        self._depth = 1 + max(e._depth for e in operands)
        self._size = 1 + sum(e._size for e in operands)
        if self._depth > MAX_DEPTH or self._size > MAX_SIZE:
            raise FormatError(
                "a level expression is too large",
                expected=f"at most {MAX_DEPTH} operators inside each other, {MAX_SIZE} in all",
                got=f"{self._depth} inside each other, {self._size} in all",
            )
        self.expression1, self.expression2 = expression1, expression2
        self.operator = "//" if operator == "/" else operator

    def text(self, name):
        """`(i % 32) // 4`, where name(dimension) names a dimension."""

        def operand(e):
            return f"({e.text(name)})" if isinstance(e, LevelExpr) else str(e) if isinstance(e, int) else name(e)

        return f"{operand(self.expression1)} {self.operator} {operand(self.expression2)}"

    def __repr__(self):
        return f"({self.text(repr)})"


def _divisor(operator, n):
    try:
        n = int(_operator.index(n))  # int: not True or False
    except TypeError:
        raise FormatError(
            f"'{operator}' takes an integer on its right", expected="an int above 0", got=repr(n)
        ) from None
    if n < 1:
        raise FormatError("a dimension is divided by numbers from 1 on", expected="an int above 0", got=str(n))
    return n


def parse_expression(text, dimensions):
    """The expression of a text like '(d0 % 32) // 4': dN is dimensions[N]. The core printed it, and Python's grammar
    and precedence agree with the core's."""
    import ast

    operators = {ast.Add: _operator.add, ast.Sub: _operator.sub, ast.Div: _operator.floordiv, ast.Mod: _operator.mod}

    def build(node):
        if isinstance(node, ast.Name):
            return dimensions[int(node.id[1:])]
        if isinstance(node, ast.Constant):
            return node.value
        return operators[type(node.op)](build(node.left), build(node.right))

    return build(ast.parse(text, mode="eval").body)
