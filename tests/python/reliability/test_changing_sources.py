"""Another thread writes to the source while it is read: the result may be any consistent tensor, and nothing else is
touched. Each in a process of its own, as what is broken would break this one."""

import subprocess
import sys
import textwrap

import pytest

START = """
import faulthandler, sys, threading, time
import numpy as np, scipy.sparse as sps
import strata as st
faulthandler.enable()
sys.setswitchinterval(1e-4)
FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "(i, j) -> (i: dense, j: delta(4))", "bitmap",
           "BSR(4, 4) + COO"]
n = 400
rng = np.random.default_rng(0)
dense = np.where(rng.random((n, n)) < 0.1, rng.integers(1, 9, (n, n)), 0)
x = np.ones(n)

def consistent(t, borrows=False):
    '''What is not would be seen here, or end the process. A tensor that still borrows what changes may sum anything.'''
    t.validate()
    t.to("CSC")
    if t.shape == (n, n):
        y = t @ x
        assert borrows or y.dtype.kind == "c" or ((y >= 0) & (y <= 8 * n)).all()

def while_changing(change, *jobs, seconds=1.0, borrows=False):
    done = threading.Event()
    def keep_changing():
        while not done.is_set():
            change()
    thread = threading.Thread(target=keep_changing)
    thread.start()
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for job in jobs:
                try:
                    consistent(job(), borrows)
                except st.TensorError:  # arrays that do not fit each other (any more, where the result shares them)
                    assert borrows
    finally:
        done.set()
        thread.join()
"""


def run(code):
    p = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)], capture_output=True, text=True, timeout=90
    )
    assert p.returncode == 0, p.stderr[-3000:]


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex128"])
def test_dense(dtype):
    run(f"""
        source = np.zeros((n, n), {dtype!r})
        def change():
            source[:] = dense
            source[:] = 0
        while_changing(change, *[lambda f=f: st.from_dense(source, f) for f in FORMATS], seconds=1.5)
        while_changing(change, lambda: st.from_dense(source.T, "CSR"), lambda: st.from_dense(source[::-1], "CSC"),
                       lambda: st.from_dense(source, "CSR", threshold=3.0), lambda: st.from_dense(source, "COO", fill=1),
                       lambda: st.from_numpy(source).to("CSR", dtype="float32"), seconds=0.5)
    """)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "dia"])
def test_scipy(kind):
    """Values that become 0 and back, and other coordinates in range."""
    run(f"""
        m = sps.{kind}_array(dense.astype(float))
        kept = m.data.copy()
        name = {{"csr": "indices", "csc": "indices", "bsr": "indices", "coo": "row", "dia": "offsets"}}[{kind!r}]
        index = getattr(m, name)
        first, other = index.copy(), index[::-1].copy()
        t = st.from_scipy(m)
        def change_values():
            m.data[:] = 0
            m.data[:] = kept
        def change_coordinates():
            index[:] = other
            index[:] = first
        jobs = [lambda f=f: t.to(f) for f in FORMATS]
        jobs += [lambda: t[3:300, ::2], lambda: t[[5, 3, 200]], lambda: t[:, [7, 7, 100]], lambda: t.T.to("CSR")]
        jobs += [lambda: t.to(crd_dtype="int16"), lambda: t.to(pos_dtype="int64", crd_dtype="int64")]
        while_changing(change_values, *jobs, seconds=1.0)
        while_changing(change_coordinates, *jobs, seconds=1.0, borrows=True)
    """)


def test_positions():
    """Rows of other lengths."""
    run("""
        m = sps.csr_array(dense.astype(float))
        first = m.indptr.copy()
        other = np.sort(rng.integers(0, first[-1], n + 1)).astype(first.dtype)
        other[0], other[-1] = 0, first[-1]
        t = st.from_scipy(m)
        def change():
            m.indptr[:] = other
            m.indptr[:] = first
        jobs = [lambda f=f: t.to(f) for f in FORMATS]
        while_changing(change, *jobs, lambda: t[3:300], lambda: t[[5, 3]], lambda: t[:, 2:9],
                       lambda: t.to(crd_dtype="int16"), lambda: t.to(pos_dtype="int64"), seconds=1.5, borrows=True)
    """)


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_lists(index):
    run(f"""
        rows, columns = (c.astype({index!r}) for c in np.nonzero(dense))
        values = np.ones(len(rows))
        order = rng.permutation(len(rows))
        first, other = rows.copy(), rows[order]
        def change():
            rows[:] = other
            values[:] = 0
            rows[:] = first
            values[:] = 1
        while_changing(change, *[lambda f=f: st.from_coo([rows, columns], values, (n, n), f) for f in FORMATS],
                       lambda: st.from_coo([columns, rows], values.astype("int16"), (n, n), "CSR"), seconds=1.5)
    """)


def test_torch():
    pytest.importorskip("torch")
    run("""
        import torch
        torch.set_num_threads(1)
        source, other = torch.zeros((n, n)), torch.tensor(dense, dtype=torch.float32)
        def change():
            source.copy_(other)
            source.zero_()
        while_changing(change, *[lambda f=f: st.from_dense(source, f) for f in FORMATS])
    """)


def test_masks_and_operands():
    run("""
        source = np.zeros((n, n))
        mask = np.zeros((n, n), bool)
        def change():
            source[:] = dense
            mask[:] = dense > 3
            source[:] = 0
            mask[:] = False
        A = st.from_dense(dense.astype(float), "CSR")
        band = st.from_dense(np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1), "CSR")
        bits = st.from_numpy(mask)
        text = "R(i,j) = A(i,j) * D(i,j)"
        while_changing(
            change,
            lambda: st.evaluate(text, A=A, D=source),
            lambda: st.evaluate(text, A=A, D=source, mask=bits),
            lambda: st.evaluate(text, A=A, D=source, format="COO"),
            lambda: st.evaluate("R(i,j) = A(i,j) + D(i,j)", A=A, D=source, format="CSR"),
            lambda: A.to("BSR(2, 2) + COO", split=bits),
            lambda: st.einsum("ij,jk->ik", A, band, mask=bits),
            seconds=1.5,
        )
    """)
