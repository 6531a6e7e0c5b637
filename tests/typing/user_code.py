"""A page of ordinary code, which a type checker passes (tests/python/tools/test_types.py), and which runs."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import strata as st


def load(rows: int, columns: int) -> st.Tensor:
    a = sp.random(rows, columns, density=0.2, format="csr", random_state=0)
    return st.from_scipy(a)


def describe(t: st.Tensor) -> str:
    rows, columns = t.shape
    per_row: float = t.nse / rows
    return f"{t.format.name} {rows} x {columns}, {t.dtype}, {per_row:.1f} a row, {t.nbytes} bytes"


def power(A: st.Tensor, steps: int = 10) -> np.ndarray:
    x: np.ndarray = np.ones(A.shape[1])
    for _ in range(steps):
        x = A @ x
        x = x / np.linalg.norm(x)
    return x


def main() -> None:
    A = load(20, 20)
    print(describe(A))
    one = A[0, 1] + 1.0
    v: np.ndarray = A.values
    pos: np.ndarray = A.pos(1)
    widest: int = int(np.diff(pos).max())
    B = A.to("BSR(4, 4) + COO", split=st.split.blocks(0.5))
    C = A.to(st.advise(A)).to(dtype="float32")
    first, rest = B.parts
    dense: np.ndarray = first.to_dense() + rest.to_dense()
    y: np.ndarray = st.matmul(A, np.ones(20))
    z = st.einsum("ij,j->i", A, np.ones(20))
    w = st.evaluate("w(i) = b(i) - A(i,j) * x(j)", A=A, b=y, x=np.ones(20))
    total: float = float(A.sum())
    D = np.tanh(A - 2 * C) * (A > 0.5)
    T: st.Tensor = A.T.transpose(1, 0)
    rows = T[2:5, ::2]
    plan = st.plan("ij,j->i", A, np.ones(20))
    print(plan.explain())
    with st.Matmul(A, np.ones((20, 3))) as product:
        product.plan()
        product.execute()
    with st.accelerate_scipy() as done:
        A.to_scipy() @ np.ones(20)
    made = st.from_coo(([0, 1], [1, 0]), [1.0, 2.0], (2, 2), "CSR")
    own = st.Tensor("CSR", (2, 3), pos={1: [0, 1, 2]}, crd={1: [2, 0]}, values=np.array([1.0, 2.0]))
    try:
        st.Format("(i, j) -> (i: dense, j: compresed)")
    except st.FormatError as e:
        print(e.fix, e.expected)
    st.settings.threads = 1
    for coordinates, value in own.items():
        print(coordinates, value)
    print(one, v[:2], widest, dense.shape, z + w, total, D, rows.nse, done.calls, made.fill, power(A)[:2])


if __name__ == "__main__":
    main()
