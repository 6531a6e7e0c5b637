"""a x = b in the manner of matmul, with the calls of nvmath's DirectSolver."""

from .._solve import Solve as _Solve, solve as _solve
from ._matmul import _plain


class Solve(_Solve):
    """a x = b, planned once, factorized when values change, solved as often as wanted.

    with Solve(a, b) as s:
        s.plan()
        s.factorize()
        s.solve()
    """

    def __init__(self, a, b, /, *, options=None, execution=None, stream=None):
        super().__init__(_plain(a), _plain(b), **_options(options))

    def plan(self, *, stream=None):
        """Looks at the structure and chooses a method."""
        return super().plan()

    def factorize(self, *, stream=None):
        """Factorizes the values that a has now."""
        super().factorize()

    def solve(self, *, stream=None):
        """The solution, a fresh array."""
        return super().execute()

    def execute(self, *, stream=None):
        """The same."""
        return super().execute()

    def reset_operands(self, a=None, b=None, *, stream=None):
        """Other operands of the same shapes; where a stores the same places, its order of elimination is kept."""
        super().reset_operands(_plain(a), _plain(b))


def _options(options):
    """What says how to solve: method, assume, library, transpose, adjoint of strata.solve; the originals' others mean nothing
    here."""
    options = options if isinstance(options, dict) else {} if options is None else vars(options)
    return {name: options[name] for name in ("method", "assume", "library", "transpose", "adjoint") if name in options}


def solve(a, b, /, *, options=None, execution=None, stream=None):
    """The solution of a x = b, whatever a's format.

        solve(a, b)

    options : a dict with method, assume, library, transpose, adjoint, as of strata.solve
    """
    return _solve(_plain(a), _plain(b), **_options(options))
