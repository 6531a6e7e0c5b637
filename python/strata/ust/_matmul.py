"""c := alpha * a @ b + beta * c with nvmath's arguments."""

from .. import _core
from .._matmul import Matmul as _Matmul
from ..errors import Unsupported
from ._tensor import Tensor


class MatmulOptions:
    """Options of Matmul: `compute_type` is the dtype to accumulate in. The others are taken and change nothing: the fastest
    kernel serves, written by hand or generated (`strata.settings.engine` decides otherwise), and memory is the machine's."""

    def __init__(
        self, codegen=False, compute_type=None, logger=None, memory_limit=None, blocking="auto", allocator=None
    ):
        self.codegen, self.compute_type = codegen, compute_type


def _options(options, qualifiers):
    if isinstance(options, dict):
        options = MatmulOptions(**options)
    out = {"compute_dtype": options.compute_type if options else None}
    for name, q in zip(("a", "b"), qualifiers if qualifiers is not None else ()):

        def get(key):
            if isinstance(q, dict):
                return bool(q.get(key, False))
            try:
                return bool(q[key])
            except (TypeError, KeyError, IndexError, ValueError):
                return bool(getattr(q, key, False))

        out[f"transpose_{name}"], out[f"conjugate_{name}"] = get("is_transpose"), get("is_conjugate")
    return out


def _plain(x):
    return x.tensor if isinstance(x, Tensor) else x


class Matmul(_Matmul):
    """c := alpha * a @ b + beta * c in place (beta = 1 unless given), planned once.

    with Matmul(a, b, c, beta=1.0) as mm:
        mm.plan()
        mm.execute()
    """

    def __init__(
        self, a, b, /, c=None, *, alpha=None, beta=None, qualifiers=None, options=None, execution=None, stream=None
    ):
        super().__init__(
            _plain(a),
            _plain(b),
            _plain(c),
            alpha=1 if alpha is None else alpha,
            beta=beta,
            **_options(options, qualifiers),
        )
        self._c = c

    def plan(self, *, prologs=None, compute_capability=None, stream=None):
        """Chooses a kernel; returns the Plan."""
        if prologs:
            raise Unsupported("prologs are not part of this version", fix="scale the values before planning")
        return super().plan()

    def execute(self, *, release_workspace=False, stream=None):
        """Runs the plan; returns c, or a fresh array where there is none."""
        result = super().execute()
        return self._c if self._c is not None else result

    def reset_operands(self, a=None, b=None, c=None, *, alpha=None, beta=None, stream=None):
        """Other operands of the same formats, dtypes and shapes."""
        super().reset_operands(_plain(a), _plain(b), _plain(c), alpha=alpha, beta=beta)
        if c is not None:
            self._c = c

    def free(self):
        """Lets go of operands and plan."""
        self._c = None
        super().free()


def matmul(
    a,
    b,
    /,
    c=None,
    *,
    alpha=None,
    beta=None,
    qualifiers=None,
    prologs=None,
    compute_capability=None,
    options=None,
    execution=None,
    stream=None,
):
    """c := alpha * a @ b + beta * c in place, and c is returned; without c a fresh array."""
    if prologs:
        raise Unsupported("prologs are not part of this version", fix="scale the values before the call")
    result = _core.matmul(
        _plain(a), _plain(b), _plain(c), alpha=1 if alpha is None else alpha, beta=beta, **_options(options, qualifiers)
    )
    return c if c is not None else result
