"""Plans."""

from . import _core
from ._text import check_text
from .errors import ExpressionError


def plan(spec, *tensors, dtype=None, compute_dtype=None, **named):
    """Plans an expression for operands of these types, which it looks at, never at data.

        plan("ij,j->i", A, x).explain()
        plan("y(i) = A(i,j) * x(j)", A=A, x=x).run(A, x)

    dtype : of the result; compute_dtype : to accumulate in

    ExpressionError, DTypeError, Unsupported.
    """
    check_text(spec, "plan")
    if "=" in spec and not tensors:
        tensors = _core.operands_by_name(spec, named)
    elif named:
        raise ExpressionError(
            "an einsum takes its operands by position", expected='plan("ij,j->i", A, x)', got=", ".join(named)
        )
    return _core.plan(spec, *tensors, dtype=dtype, compute_dtype=compute_dtype)
