"""Plans and index notation with operands by name."""

from . import _core
from .errors import ExpressionError


def _operands(spec, tensors, named):
    if "=" not in spec:
        if named:
            raise ExpressionError(
                "an einsum takes its operands by position", expected='plan("ij,j->i", A, x)', got=", ".join(named)
            )
        return tensors
    names = _core.index_notation_operands(spec)
    if tensors:
        return tensors
    missing = [n for n in names if n not in named]
    if missing or len(named) != len(set(names)):
        raise ExpressionError(
            f"'{spec}' needs its operands by name",
            expected=", ".join(f"{n}=" for n in dict.fromkeys(names)),
            got=", ".join(f"{n}=" for n in named) or "none",
        )
    return tuple(named[n] for n in names)


def plan(spec, *tensors, dtype=None, compute_dtype=None, **named):
    """Plans an expression for operands of these types, which it looks at, never at data.

        plan("ij,j->i", A, x).explain()
        plan("y(i) = A(i,j) * x(j)", A=A, x=x).run(A, x)

    dtype : of the result; compute_dtype : to accumulate in. ExpressionError, DTypeError, Unsupported.
    """
    return _core.plan(spec, *_operands(spec, tensors, named), dtype=dtype, compute_dtype=compute_dtype)
