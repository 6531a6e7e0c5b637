"""matmul whose planning is done once."""

from . import _core


class Matmul:
    """c = alpha * op(a) @ op(b) + beta * c, planned once and executed as often as wanted.

        with Matmul(a, b, c, beta=1.0) as mm:
            mm.plan()
            mm.execute()

    a, b : sparse tensors, NumPy arrays or torch tensors
    c : array to write into, returned by execute(); without it each execute() returns a fresh array
    alpha, beta : numbers; beta is 1 with c unless given
    transpose_a, transpose_b, conjugate_a, conjugate_b : what op() does
    dtype, compute_dtype : of a fresh result; to accumulate in

    PlanError where the calls come in a wrong order, TensorError, DTypeError, Unsupported.
    """

    def __init__(
        self,
        a,
        b,
        c=None,
        *,
        alpha=1,
        beta=None,
        transpose_a=False,
        transpose_b=False,
        conjugate_a=False,
        conjugate_b=False,
        dtype=None,
        compute_dtype=None,
    ):
        self._product = _core.PlannedProduct(
            a, b, c, alpha, beta, transpose_a, transpose_b, conjugate_a, conjugate_b, dtype, compute_dtype
        )

    def plan(self):
        """Chooses a kernel; returns the Plan, which can explain() itself."""
        return self._product.plan()

    def execute(self):
        """Runs the plan; returns c, or a fresh array. PlanError before plan()."""
        return self._product.execute()

    def reset_operands(self, a=None, b=None, c=None, *, alpha=None, beta=None):
        """Other operands of the same formats, dtypes and shapes; what is stored may differ. PlanError where they do
        not match the plan."""
        self._product.reset_operands(a, b, c, alpha, beta)

    def release_operands(self):
        """Operands may not be used any more until reset_operands() names all of them again."""
        self._product.release_operands()

    def free(self):
        """Lets go of operands and plan. Every later call is a PlanError."""
        self._product.free()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.free()
