"""Plans."""

from . import _core
from ._text import check_text
from .errors import ExpressionError


def plan(
    spec,
    *tensors,
    format=None,
    semiring=None,
    mask=None,
    complement_mask=False,
    dtype=None,
    compute_dtype=None,
    schedule=None,
    **named,
):
    """Plans an expression once, to run it as often as wanted on operands of these types.

        plan("ij,j->i", A, x).explain()
        plan("y(i) = A(i,j) * x(j)", A=A, x=x).run(A, x)
        plan("C(i,k) = A(i,j) * B(j,k)", A=A, B=A).run(A, A)             # sparse, as evaluate() has it
        plan("ij,ij->ij", TensorType("CSR", (10**6, 10**6), nse=10**7), TensorType("COO", (10**6, 10**6)))

    tensors : the operands of an einsum; of index notation in the order in which it names them, or by name. Tensors,
        arrays, or a TensorType for what is not there yet
    format, semiring, mask, complement_mask, dtype, compute_dtype, schedule : as for evaluate(); the mask stays the plan's

    Planning looks at types and at how much is stored, never at values. Whatever the operands store, a run is right: what
    was taken for granted of them (whose patterns are the same, which rows are empty) is looked at, and what stands
    behind a guard takes over where it does not hold.

    ExpressionError, DTypeError, TensorError, ScheduleError, Unsupported.
    """
    check_text(spec, "plan")
    notation = "=" in spec
    if named and not notation:
        raise ExpressionError(
            "an einsum takes its operands by position", expected='plan("ij,j->i", A, x)', got=", ".join(named)
        )
    if notation and tensors:
        named = _by_position(spec, tensors)
    return _core.plan(
        spec,
        named if notation else tensors,
        format=format,
        semiring=semiring,
        mask=mask,
        complement_mask=complement_mask,
        dtype=dtype,
        compute_dtype=compute_dtype,
        schedule=schedule,
    )


def _by_position(spec, tensors):
    names = _core.expression_operands(spec)
    if len(names) != len(tensors):
        raise ExpressionError(f"'{spec}' names {len(names)} operands", expected=str(len(names)), got=str(len(tensors)))
    return dict(zip(names, tensors))
