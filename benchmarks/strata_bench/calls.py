"""Calls on a matrix so small that what they cost is the way to a kernel: checked, planned, looked up."""

import dataclasses

import numpy as np

from strata._timing.peers import Prepared

N = 100

#: name: what is called; s.A is 5 % full
CALLS = {
    "A @ x": lambda s: s.A @ s.x,
    "A @ A": lambda s: s.A @ s.A,
    "A + A": lambda s: s.A + s.A,
    "2 * A": lambda s: 2 * s.A,
    "A.T @ x": lambda s: s.A.T @ s.x,
    "A.sum(axis=0)": lambda s: s.A.sum(axis=0),
    "einsum ij,j->i": lambda s: s.st.einsum("ij,j->i", s.A, s.x),
    "evaluate y0 + A x": lambda s: s.st.evaluate("y(i) = y0(i) + A(i,j) * x(j)", A=s.A, x=s.x, y0=s.x),
    "planned A @ x": lambda s: s.planned.execute(),
    "A.to(CSC)": lambda s: s.A.to("CSC"),
}


@dataclasses.dataclass(frozen=True)
class Call:
    """What a worker is asked to time."""

    name: str

    def data(self):
        import scipy.sparse as sp

        return sp.random_array((N, N), density=0.05, rng=np.random.default_rng(0), format="csr"), None


class Peer:
    def __init__(self, threads):
        import strata as st

        self.st = st
        st.settings.threads = threads

    def variants(self, case, a):
        return ("-",)

    def prepare(self, case, a, x, variant):
        self.A, self.x = self.st.from_scipy(a), np.linspace(0, 1, N)
        self.planned = self.st.Matmul(self.A, self.x, np.empty(N), beta=0)
        self.planned.plan()
        call, box = CALLS[case.name], [None]

        def run():
            box[0] = call(self)

        def result():
            y = box[0]
            return y.to_dense() if isinstance(y, self.st.Tensor) else y

        return Prepared(run, result)
