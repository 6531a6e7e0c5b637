"""Whole expressions over any formats: plans where one product gives a dense array, the general path otherwise."""

from . import _core
from .errors import ExpressionError, PlanError, Unsupported


def _is_general(format, semiring, mask):
    return format is not None or semiring is not None or mask is not None


def _write(result, out):
    """The result copied into an array; returns the array."""
    dense = result.to_dense() if isinstance(result, _core.Tensor) else result
    if tuple(out.shape) != tuple(dense.shape):
        raise PlanError(
            "out has another shape than the result", expected=str(tuple(dense.shape)), got=str(tuple(out.shape))
        )
    out[...] = dense
    return out


def evaluate(
    spec, operands=None, /, *, out=None, format=None, semiring=None, mask=None, complement_mask=False,
    dtype=None, compute_dtype=None, **named,
):
    """Evaluates an expression in index notation over sparse and dense operands.

        evaluate("y(i) = b(i) - A(i,j) * x(j)", b=b, A=A, x=x)
        evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B)                    # CSR times CSR is CSR
        evaluate("d(i) = d0(i) + W(i,j) * d0(j)", W=W, d0=d0, semiring="min-plus")
        evaluate("m(i) = max(j, exp(A(i,j) - 1))", A=A)
        evaluate("C(i,k) += A(i,j) * B(j,k)", C=c, A=A, B=B)              # written into c where it is an array

    Each additive term sums the indices that the result lacks; under a function and in parentheses sums are written:
    sum(j, ...), max(j, ...), min(j, ...), any(j, ...), all(j, ...). Functions: abs sign sqrt exp log sin cos tan tanh
    erf relu conj, min(a, b), max(a, b); operators + - * / // % == != < <= > >=. Accesses may be affine: A(2*i + r, j).

    operands : {name: tensor}, for names that are no keywords of Python or of this function
    out : array to write the result into, returned
    format : of the result; otherwise the pattern of a sparse operand with the result's indices, compressed levels where
        all operands are sparse, or dense (result_format says why)
    semiring : "min-plus", "max-plus", "max-times", "or-and", "any": what *, + and sums mean
    mask : the result has elements only where the mask has; of a dense mask where it is not 0
    complement_mask : only where the mask has none instead, as GraphBLAS's complemented mask
    dtype : of the result (NumPy's promotion); compute_dtype : to accumulate in, where a plan serves

    ExpressionError, DTypeError, TensorError.
    """
    named = {**(operands or {}), **named}
    names = _core.expression_operands(spec)
    missing = [n for n in names if n not in named]
    surplus = [n for n in named if n not in names]
    if missing or surplus:
        raise ExpressionError(
            f"'{spec}' needs its operands by name",
            expected=", ".join(f"{n}=" for n in names) or "none",
            got=", ".join(f"{n}=" for n in named) or "none",
        )
    if not _is_general(format, semiring, mask) and _core.plan_serves(spec, named):
        order = [named[n] for n in _core.index_notation_operands(spec)]
        try:
            return _core.plan(spec, *order, dtype=dtype, compute_dtype=compute_dtype).run(*order, out=out)
        except Unsupported:
            pass
    result = _core.evaluate(spec, named, format, semiring, mask, dtype, complement_mask)
    left, equals, _ = spec.partition("=")
    if out is None and left.rstrip().endswith("+"):
        held = named[names[-1]]
        if not isinstance(held, _core.Tensor) and hasattr(held, "__setitem__") and hasattr(held, "shape"):
            out = held
    return result if out is None else _write(result, out)


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
):
    """NumPy's einsum over any mix of sparse and dense operands.

        einsum("ij,j->i", A, x)
        einsum("ij,jk->ik", A, B)                      # of sparse A and B: sparse, as evaluate() infers it
        einsum("ij,jk->ik", A, B, format="COO")
        einsum("ij,jk,ki->", A, A, A, semiring="plus-times")

    With at most one sparse operand the result is dense unless `format` says otherwise, an array of the package of
    the dense operands, and out = alpha * einsum + beta * out where `out` is given (beta 0 never reads it). format,
    semiring, mask : as for evaluate(). ExpressionError, TensorError, DTypeError.
    """
    sparse = sum(isinstance(t, _core.Tensor) and not t.format.is_all_dense for t in operands)
    if not _is_general(format, semiring, mask) and sparse < 2:
        return _core.einsum(spec, *operands, out=out, alpha=alpha, beta=beta, dtype=dtype, compute_dtype=compute_dtype)
    if (alpha != 1 or beta not in (None, 0)) and out is None:
        raise PlanError("alpha and beta need an array to write into", expected="out=array", fix="give out=")
    result = _core.evaluate_einsum(
        spec, *operands, format=format, semiring=semiring, mask=mask, complement_mask=complement_mask, dtype=dtype
    )
    if out is None:
        return result
    if semiring not in (None, "plus-times", "plus_times") and (alpha != 1 or beta not in (None, 0)):
        raise PlanError("alpha and beta have no meaning in a semiring", got=f"semiring={semiring!r}")
    dense = result.to_dense() if isinstance(result, _core.Tensor) else result
    return _write(alpha * dense + (beta * out if beta not in (None, 0) else 0), out)
