"""Every class of error: what it is for, what it derives from, and a message that is produced here and now."""

import numpy as np

import strata as st

from .markdown import fence

#: class: what a user did, as the page shows it. It is run, and must end in exactly this error.
EXAMPLES = {
    "ArgumentError": "st.from_dense(np.eye(3))",
    "FormatError": 'st.Format("(i, j) -> (i: dense, j: compresed)")',
    "TensorError": 'st.Tensor("CSR", (2, 3), pos={1: [0, 1, 2]}, crd={1: [0, 3]}, values=[1.0, 2.0])',
    "DTypeError": 'st.from_dense(np.eye(3), "CSR").to(dtype="float33")',
    "IndexError": 'st.from_dense(np.eye(3), "CSR")[3, 0]',
    "ExpressionError": 'st.evaluate("y(i) = A(i,j) * x(j)", A=np.eye(3), x=np.ones(4))',
    "PlanError": 'st.Matmul(st.from_dense(np.eye(3), "CSR"), np.ones(3)).execute()',
    "ScheduleError": 'st.evaluate("y(i) = A(i,j) * x(j)", A=np.eye(3), x=np.ones(3), schedule="parallelize(j)")',
    "FileError": 'st.read("matrix.csv")',
    "SolveError": "st.solve(st.eye(2), np.array([1.0, np.nan]))",
    "SingularError": 'st.solve(st.from_dense(np.ones((3, 3)), "CSR"), np.ones(3))',
    "IndefiniteError": "st.cholesky(st.diags([1.0, -2.0, 3.0], shape=(3, 3)))",
    "ConvergenceError": "st.cg(st.diags([1.0, 2.0, 3.0], shape=(3, 3)), np.ones(3), maxiter=1)",
    "Unsupported": 'st.norm(st.eye(3), "nuc")',
}
#: not mistakes of the user: there is no line to show
OTHERS = ("RuntimeFailure", "InternalError", "CopyWarning")


def message(code):
    """(class, message) of what this line raises."""
    try:
        eval(code, {"st": st, "np": np})
    except Exception as e:  # the page wants whatever it is
        return type(e), str(e)
    raise AssertionError(f"no error: {code}")


def _section(name):
    cls = getattr(st, name)
    bases = [
        b
        for b in cls.__mro__[1:]
        if b.__module__ in ("strata", "builtins") and b not in (object, BaseException, Exception)
    ]
    out = [f"### {name}\n", f"<!-- api: strata.{name} -->\n"]
    if bases:
        out.append(
            "Also caught as "
            + ", ".join(f"`{b.__name__}`" if b.__module__ == "builtins" else f"`st.{b.__name__}`" for b in bases)
            + ".\n"
        )
    if name in EXAMPLES:
        out += [fence(EXAMPLES[name], "py"), fence(message(EXAMPLES[name])[1])]
    return "\n".join(out)


def text():
    return "\n".join(_section(name) for name in [*EXAMPLES, *OTHERS])
