"""Every C++ allocation of a call fails in turn: MemoryError each time, never the end of the process, and the call works
afterwards."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

START = """
import ctypes, faulthandler, os, pickle, sys
import numpy as np, scipy.sparse as sps
import strata as st
faulthandler.enable()
fail = ctypes.CDLL(None).fail_new
fail.argtypes = [ctypes.c_long]
left = ctypes.CDLL(None).new_left
left.restype = ctypes.c_long
st.settings.threads = 1
dense = np.where(np.arange(48).reshape(6, 8) % 3 == 0, 1.5, 0)
A, x, B = st.from_dense(dense, "CSR"), np.ones(8), st.from_dense(dense.T, "BSR(2, 2)")
long = " " * 50
raised = 0

def sweep(name, call, most=3000):
    global raised
    call()  # what is remembered from now on is remembered
    for n in range(1, most):
        fail(n)
        try:
            call()
        except MemoryError as e:
            fail(0)
            raised += 1
            assert "std::" not in str(e), (name, n, e)
            continue
        except BaseException as e:
            fail(0)
            raise AssertionError(f"allocation {n} of {name} fails with {e!r}") from e
        done = left() > 0
        fail(0)
        if done:
            break
    else:
        raise AssertionError(f"{name} never succeeds")
    call()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    cc = shutil.which("cc")
    if not cc or sys.platform != "linux":
        pytest.skip("no C compiler, or another system")
    source = Path(__file__).parents[2] / "support" / "failing_new.c"
    made = tmp_path_factory.mktemp("preloaded") / "libfailing_new.so"
    subprocess.run([cc, "-shared", "-fPIC", "-fexceptions", "-O1", source, "-o", made, "-lstdc++"], check=True)
    return made


def run(library, code):
    p = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "LD_PRELOAD": str(library)},
    )
    assert p.returncode == 0, p.stderr[-3000:]


ENTRIES = {
    "texts": """
        sweep("evaluate", lambda: st.evaluate("y(i) = A(i,j) * x(j)" + long, A=A, x=x))
        sweep("evaluate, out", lambda: st.evaluate("y(i) = A(i,j) * x(j)" + long, A=A, x=x, out=np.ones(6)))
        sweep("explain", lambda: st.explain("y(i) = A(i,j) * x(j)" + long, A=A, x=x))
        sweep("einsum", lambda: st.einsum("ij,j->i" + long, A, x))
        sweep("plan", lambda: st.plan("ij,j->i" + long, A, x))
        sweep("format", lambda: st.Format("(i, j) -> (i: dense, j: compressed)" + long))
        sweep("names", lambda: st.Format("CSR").rename(["a" * 40, "b" * 40]))
        sweep("semiring", lambda: st.Semiring("min(a, b)" + long, "a + b" + long, float("inf")))
        sweep("semiring by text", lambda: st.einsum("ij,j->i", A, x, semiring="min-plus"))
        sweep("schedule", lambda: st.Schedule("reorder(i, j)" + long))
        sweep("verbs", lambda: st.Schedule().split("k" * 40, "o" * 40, "i" * 40, 4).reorder("a" * 40, "b" * 40))
        sweep("dtype", lambda: A.to(dtype="float32"))
        sweep("dtype", lambda: st.DType("bfloat16"))
        sweep("cache", lambda: setattr(st.settings, "cache_dir", "/x" * 40))
        sweep("engine", lambda: setattr(st.settings, "engine", "auto"))
        sweep("matrix market", lambda: st._core.parse_matrix_market(
            "%%MatrixMarket matrix coordinate real general\\n2 2 1\\n1 2 3\\n"))
    """,
    "errors": """
        def refused(call):
            def f():
                try:
                    call()
                except (st.Error, TypeError):
                    pass
            return f
        sweep("format", refused(lambda: st.Format("(i, j) -> (i: dense, j: compresed)" + long)))
        sweep("evaluate", refused(lambda: st.evaluate("y(i) = A(i,j) *" + long, A=A)))
        sweep("operands", refused(lambda: st.evaluate("y(i) = A(i,j)" + long, A=A, **{"b" * 40: A})))
        sweep("einsum", refused(lambda: st.einsum("ij,j->k" + long, A, x)))
        sweep("dtype", refused(lambda: A.to(dtype="floaty" * 10)))
        sweep("setting", refused(lambda: setattr(st.settings, "engine", "nonsense" * 10)))
        sweep("tensor", refused(lambda: st.Tensor("CSR", (1, 3), pos={1: [0, 1]}, crd={1: [7]}, values=[1.0])))
        sweep("object", refused(lambda: st.from_dense(np.array(["a"]), "COO(1)")))
        sweep("index", refused(lambda: A[9, 9]))
    """,
    "tensors": """
        sweep("from_dense", lambda: st.from_dense(dense, "CSR"))
        sweep("from_dense to sums", lambda: st.from_dense(dense, "BSR(2, 2) + COO"))
        sweep("from_coo", lambda: st.from_coo([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), "CSR"))
        sweep("Tensor", lambda: st.Tensor("CSR", (1, 3), pos={1: [0, 1]}, crd={1: [0]}, values=[1.0]))
        m = sps.csr_array(dense)
        sweep("from_scipy", lambda: st.from_scipy(m))
        sweep("to_scipy", lambda: A.to_scipy())
        for f in ("CSC", "COO", "DIA", "ELL", "bitmap", "(i, j) -> (i: dense, j: delta(4))"):
            sweep(f, lambda: A.to(f))
        sweep("to_dense", lambda: B.to_dense())
        sweep("values", lambda: (A.values, A.pos(1), A.crd(1)))
        sweep("elements", lambda: (A[0, 0], A[2], A[:, 1:3], A[[1, 2]], list(A)))
        sweep("attributes", lambda: (A.T, A.shape, A.format, A.parts, A.dtype, A.fill, A.nse, A.device, repr(A)))
        sweep("equal", lambda: st.equal(A, A))
        sweep("copy", lambda: A.copy())
        sweep("draw", lambda: str(B.draw_storage()))
        data = pickle.dumps(A)
        sweep("pickle", lambda: pickle.dumps(A))
        sweep("unpickle", lambda: pickle.loads(data))
        sweep("structure", lambda: st.describe_structure(A))
    """,
    "arithmetic": """
        sweep("A @ x", lambda: A @ x)
        sweep("A @ B", lambda: A @ B)
        sweep("matmul", lambda: st.matmul(A, x, np.ones(6), alpha=2))
        def product():
            with st.Matmul(A, x) as m:
                m.plan()
                m.execute()
        sweep("Matmul", product)
        sweep("A + A", lambda: A + A)
        sweep("A * 2", lambda: A * 2)
        sweep("A.sum", lambda: A.sum(axis=0))
        sweep("sums", lambda: B + A.T)
        sweep("mask", lambda: st.einsum("ij,jk->ik", A, B, mask=st.from_dense(np.eye(6), "COO")))
        sweep("min-plus", lambda: st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=x,
                                             semiring="min-plus"))
    """,
    "files": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a" * 40 + ".mtx")
            sweep("write", lambda: st.write(file, A))
            assert os.listdir(folder) == [os.path.basename(file)]
            sweep("read", lambda: st.read(file))
    """,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_allocation_fails_once(library, name):
    run(library, ENTRIES[name] + "\n        assert raised > 20, raised\n")


def test_texts_that_cannot_be_copied():
    """In a process that may not grow."""
    code = """
    import resource
    import numpy as np
    import strata as st
    A = st.from_dense(np.eye(3), "CSR")
    size = 1 << 28
    text = "x" * size
    now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size // 2, now + size // 2))
    for call in (
        lambda: st.evaluate(text, A=A),
        lambda: st.evaluate("y(i) = A(i,j)", {text: A}),
        lambda: st.einsum(text, A),
        lambda: st.explain(text, A=A),
        lambda: st.plan(text, A),
        lambda: st.Schedule(text),
        lambda: st.Semiring(text, "a * b", 0),
        lambda: st.Format(text),
        lambda: A.to(dtype=text),
        lambda: st.DType(text),
        lambda: setattr(st.settings, "cache_dir", text),
        lambda: setattr(st.settings, "engine", text),
        lambda: st.register_format(text, "CSR"),
        lambda: st._core.rebuild(text, (3, 3), {}, {}, A._raw(0, "values"), A._raw(0, "values")),
        lambda: st._core.memory_of_bytes(text, b""),
        lambda: A.format.rename([text, "j"]),
    ):
        try:
            call()
        except (MemoryError, st.Error) as e:
            assert "std::" not in str(e)[:200]
        else:
            raise AssertionError
    assert (A @ np.ones(3)).tolist() == [1, 1, 1]
    """
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr[-2000:]
