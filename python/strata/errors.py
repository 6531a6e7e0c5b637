"""What goes wrong: mistakes of the user (Error and its children), failures of the machine, and our own bugs.

Every error says what is wrong, what was expected, what came and how to mend it; the parts are attributes too:

    try:
        st.Format("(i, j) -> (i: dense, j: compresed)")
    except st.FormatError as e:
        e.fix        # "write 'compressed'"
        e.where      # (25, 34), half-open, in e.text
"""

import builtins
import os
import sys
import warnings

from numpy.linalg import LinAlgError

__all__ = [
    "ArgumentError",
    "ConvergenceError",
    "CopyWarning",
    "DTypeError",
    "Error",
    "ExpressionError",
    "FileError",
    "FormatError",
    "IndefiniteError",
    "IndexError",
    "InternalError",
    "PlanError",
    "ScheduleError",
    "RuntimeFailure",
    "SingularError",
    "SolveError",
    "TensorError",
    "Unsupported",
]


class Error(Exception):
    """A mistake of the user. `str()` is the whole message; `what`, `expected`, `got`, `fix` are its parts ('' where it
    has none).

    `text` and `where` (begin, end) say where in a source text, for errors of formats, expressions and files.
    """

    text = ""
    where = None

    def __init__(self, what="", *, expected="", got="", fix=""):
        self.what, self.expected, self.got, self.fix = what, expected, got, fix
        if expected or got or fix:
            from ._core import format_problem

            what = format_problem(what, expected, got, fix)
        super().__init__(what)

    @classmethod
    def _of(cls, message, what, expected, got, fix, text, where):
        """The error of the core with this printed message."""
        e = cls(message)
        e.what, e.expected, e.got, e.fix, e.text, e.where = what, expected, got, fix, text, where
        return e

    def __reduce__(self):
        return (_unpickle, (type(self), str(self), self.__dict__))


def _unpickle(cls, message, state):
    e = cls(message)
    e.__dict__.update(state)
    return e


class ArgumentError(Error, TypeError):
    """A call lacks an argument, has one that is not known, or one of the wrong kind."""


class FormatError(Error, ValueError):
    """A format text or object has no meaning."""


class TensorError(Error, ValueError):
    """Shapes, buffers or invariants of a tensor are wrong."""


class DTypeError(TensorError, TypeError):
    """A dtype that cannot serve here."""


class IndexError(TensorError, builtins.IndexError):
    """A coordinate or level out of range."""


class ExpressionError(Error, ValueError):
    """An einsum or index notation is wrong."""


class PlanError(Error, ValueError):
    """A plan is used wrongly."""


class ScheduleError(Error, ValueError):
    """A schedule that the expression does not allow; says what forbids it."""


class FileError(Error, OSError, ValueError):
    """A file is malformed, or cannot be read or written."""

    def __str__(self):  # OSError would print its arguments in a manner of its own
        return self.args[0] if self.args else ""


class SolveError(Error, LinAlgError):
    """A linear system could not be solved."""


class SingularError(SolveError):
    """A matrix is singular, by its structure or to working precision."""


class IndefiniteError(SolveError):
    """A matrix is not positive definite where it must be."""


class ConvergenceError(SolveError):
    """An iteration ended before the residual was small enough: `x` is what there was, `info` how good that is."""

    x = None
    info = None


class Unsupported(Error, NotImplementedError):
    """Legal, but not built; says what would work."""


class RuntimeFailure(RuntimeError):
    """A failure at run time that is nobody's mistake: a compiler that fails, a device that is gone."""


class InternalError(RuntimeError):
    """A bug of Strata. Please report it."""


class CopyWarning(UserWarning):
    """Memory was copied where it might have been shared; says why."""


def warn(text, category=CopyWarning):
    """Warns at the line of the user's that led here."""
    frame, level = sys._getframe(0), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


_HOME = os.path.dirname(__file__) + os.sep

for _name in __all__:
    globals()[_name].__module__ = "strata"
