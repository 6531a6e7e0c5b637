"""Whole expressions over any formats. Which way one goes is decided in the core."""

import operator

from . import _core
from ._text import check_text
from .errors import ArgumentError, ExpressionError


def evaluate(
    spec,
    operands=None,
    /,
    *,
    out=None,
    format=None,
    semiring=None,
    mask=None,
    complement_mask=False,
    dtype=None,
    compute_dtype=None,
    schedule=None,
    **named,
):
    """Evaluates an expression in index notation over sparse and dense operands.

        evaluate("y(i) = b(i) - A(i,j) * x(j)", b=b, A=A, x=x)
        evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)                    # CSR times CSR is CSR
        evaluate("d(i) = d0(i) + W(i,j) * d0(j)", W=W, d0=d0, semiring="min-plus")
        evaluate("m(i) = max(j, exp(A(i,j) - 1))", A=A)
        evaluate("C(i,k) += A(i,j) * B(j,k)", C=c, A=A, B=B)              # written into c where it is an array

    Each additive term sums the indices that the result lacks; under a function and in parentheses sums are written:
    sum(j, ...), max(j, ...), min(j, ...), any(j, ...), all(j, ...). Functions: abs sign sqrt exp log sin cos tan tanh
    erf relu conj, min(a, b), max(a, b); operators + - * / // % == != < <= > >=. Accesses may be affine: A(2*i + r, j);
    X(i + k - 1?) reads the fill where that leaves X ('same' convolution);
    an index that stands for its own value is an int64, as of np.indices: A(i,j) * (i > j).
    Numbers are Python's (2, 0.5, inf, nan, 2j, True) and take the dtype of what they meet, as in NumPy 2.

    operands : {name: tensor}, for names that are no keywords of Python or of this function
    out : array to write the result into, returned
    format : of the result; otherwise the pattern of a sparse operand with exactly the result's indices; a dense array
        where it has one index or none; compressed levels where sparse operands have all of its indices and share some;
        or dense (explain() says why)
    semiring : what *, + and sums mean: "min-plus", "max-plus", "max-times", "or-and", "any", or one of your own as
        "min(a, b); a + b; inf" (add; multiply; additive identity) or a Semiring
    mask : the result has elements only where the mask is true, whatever stores its truth values; of a sparse mask of
        another dtype, where it stores something (a dense one is refused: write mask != 0)
    complement_mask : everywhere else instead, as GraphBLAS's complemented mask
    dtype : what is computed in, as in NumPy: operands are cast first, where casting="same_kind" lets them (those that
        are only compared stay as they are); NumPy's promotion otherwise. float16, bfloat16 and float8 are added up in
        float32 and rounded once
    compute_dtype : computes in this one instead, and casts the result
    schedule : how the loops are arranged, a Schedule or its text such as "reorder(i, k, j); vectorize(k)": the whole
        expression is one nest of loops then

    ExpressionError, DTypeError, TensorError; PlanError where out does not fit;
    ScheduleError where the schedule is not allowed.
    """
    return _core.evaluate(
        spec,
        _by_name(spec, operands, named),
        out=out,
        format=format,
        semiring=semiring,
        mask=mask,
        complement_mask=complement_mask,
        dtype=dtype,
        compute_dtype=compute_dtype,
        schedule=schedule,
    )


def _by_name(spec, operands, named):
    """All operands by name, of an expression that is a text."""
    check_text(spec, "evaluate")
    if operands is not None and not isinstance(operands, dict):
        raise ArgumentError(
            "operands are given by name",
            expected='evaluate("y(i) = A(i,j) * x(j)", A=A, x=x), or a dict',
            got=type(operands).__name__,
        )
    return {**(operands or {}), **named}


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _from_lists(arguments):
    """The text and operands of einsum(A, [0, 1], B, [1, 2], [0, 2])."""

    def letter(i):
        return "..." if i is Ellipsis else _LETTERS[range(len(_LETTERS)).index(operator.index(i))]

    def text(indices):
        try:
            return "".join(map(letter, indices))
        except (TypeError, ValueError):
            raise ExpressionError(
                "einsum without a text wants a list of indices behind each operand",
                expected="einsum(A, [0, 1], B, [1, 2], [0, 2]), with integers from 0 to 51 and ...",
                got=repr(indices) if isinstance(indices, (list, tuple)) else type(indices).__name__,
            ) from None

    count = len(arguments) // 2
    operands = arguments[0 : 2 * count : 2]
    spec = ",".join(text(indices) for indices in arguments[1 : 2 * count : 2])
    return (spec + "->" + text(arguments[-1]) if len(arguments) % 2 else spec), operands


def einsum(
    spec,
    *operands,
    out=None,
    alpha=1,
    beta=None,
    dtype=None,
    compute_dtype=None,
    format=None,
    semiring=None,
    mask=None,
    complement_mask=False,
    schedule=None,
):
    """NumPy's einsum over any mix of sparse and dense operands.

        einsum("ij,j->i", A, x)
        einsum("ij,jk->ik", A, B)                      # of sparse A and B: sparse, as evaluate() infers it
        einsum("ij,ik,jk->ij", A, U, V)                # of sparse A: in A's pattern
        einsum("ij,jk->ik", A, B, format="COO")
        einsum("ij,jk,ki->", A, A, A, semiring="plus-times")
        einsum(A, [0, 1], x, [1], [0])                 # indices as lists; without the last one as NumPy orders them

    The result is sparse or dense as evaluate() infers it, a dense one an array of the package of the dense operands,
    and out = alpha * einsum + beta * out where `out` is given (beta 0 never reads it). format, semiring, mask,
    complement_mask, schedule : as for evaluate(); loops have the letters of the einsum.
    ExpressionError, TensorError, DTypeError, PlanError, ScheduleError.
    """
    if not isinstance(spec, str):
        spec, operands = _from_lists((spec, *operands))
    return _core.einsum(
        spec,
        *operands,
        out=out,
        alpha=alpha,
        beta=beta,
        format=format,
        semiring=semiring,
        mask=mask,
        complement_mask=complement_mask,
        dtype=dtype,
        compute_dtype=compute_dtype,
        schedule=schedule,
    )


def explain(
    spec,
    operands=None,
    /,
    *,
    format=None,
    semiring=None,
    mask=None,
    complement_mask=False,
    dtype=None,
    compute_dtype=None,
    schedule=None,
    **named,
):
    """Says which way evaluate() would go with these operands, and which format the result gets and why.

        print(explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=B))

    operands : tensors, arrays, or a TensorType for what is not there

    Returns text. Nothing is computed. ExpressionError, ScheduleError.
    """
    return _core.explain(
        spec,
        _by_name(spec, operands, named),
        format=format,
        semiring=semiring,
        mask=mask,
        complement_mask=complement_mask,
        dtype=dtype,
        compute_dtype=compute_dtype,
        schedule=schedule,
    )


def show(
    spec,
    operands=None,
    /,
    *,
    format=None,
    semiring=None,
    mask=None,
    complement_mask=False,
    dtype=None,
    compute_dtype=None,
    schedule=None,
    **named,
):
    """What is generated for evaluate() with these operands: loops, loop IR and C text of
    each step. Nothing is computed.

        print(show("C(i,k) = A(i,j) * B(j,k)", A=A, B=B))

    operands : tensors, arrays, or a TensorType for what is not there

    Returns text, which a notebook shows in colours. ExpressionError, ScheduleError.
    """
    return _core.show(
        spec,
        _by_name(spec, operands, named),
        format=format,
        semiring=semiring,
        mask=mask,
        complement_mask=complement_mask,
        dtype=dtype,
        compute_dtype=compute_dtype,
        schedule=schedule,
    )
