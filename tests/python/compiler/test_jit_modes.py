"""The same numbers from every compiler that can serve, from none, and one notice where there is none."""

import os
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import numpy as np, scipy.sparse as sp, strata as st
rng = np.random.default_rng(3)
a = sp.random_array((30, 40), density=0.2, format="csr", rng=rng)
b = sp.random_array((30, 40), density=0.2, format="csc", rng=rng)
x = rng.random((40, 6))
A, B = st.from_scipy(a), st.from_scipy(b)
dense, other = a.toarray(), b.toarray()
results = [
    (st.evaluate("y(i) = A(i,j) * B(i,j)", A=A, B=B), (dense * other).sum(1)),
    (st.evaluate("C(i,j) = max(A(i,j), B(i,j))", A=A, B=B), np.maximum(dense, other)),
    (st.einsum("ij,jk->ki", A.to("(i, j) -> (j: compressed, i: compressed)"), x), (dense @ x).T),
    (A.to("CSC") @ x, dense @ x),
]
for got, want in results:
    np.testing.assert_allclose(got.to_numpy() if isinstance(got, st.Tensor) else got, want)
print(st.plan("ij,jk->ki", A.to("(i, j) -> (j: compressed, i: compressed)"), x).explain())
"""


def run(program=PROGRAM, **environment):
    inherited = {k: v for k, v in os.environ.items() if k not in ("STRATA_JIT", "STRATA_CC", "STRATA_ENGINE")}
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**inherited, "STRATA_CACHE": "off", **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "jit, engine", [("auto", ""), ("clang", "clang"), ("subprocess", "cc"), ("off", "interpreter")]
)
def test_modes(jit, engine):
    if jit == "subprocess" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    done = run(STRATA_JIT=jit)
    if jit == "clang" and "no compiled kernels" in done.stderr:
        pytest.skip("built without LLVM")
    assert done.returncode == 0, done.stderr
    if jit == "off":
        assert done.stderr.count("compiling is switched off (STRATA_JIT=off)") == 1
        assert "interpreter" in done.stdout
    elif jit != "auto":
        assert done.stderr == "" and "interpreter" not in done.stdout


def test_no_compiler_at_all(tmp_path):
    """Neither the library of LLVM nor a C compiler: right, slow, and said once."""
    done = run(STRATA_JIT="subprocess", PATH=str(tmp_path), STRATA_CC=str(tmp_path / "none"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("no compiled kernels") == 1 and "Install gcc or clang" in done.stderr
    assert "interpreter" in done.stdout


COLUMNS = """
import numpy as np, scipy.sparse as sp, strata as st
rng = np.random.default_rng(3)
a = sp.random_array((60, 50), density=0.2, format="csr", rng=rng)
told = set()
for format in ("COO", "CSC"):
    for dtype in ("float64", "float32"):
        for index in ("int32", "int64"):
            A = st.from_scipy(a.astype(dtype)).to(format, pos_dtype=index, crd_dtype=index)
            for columns in (None, *range(2, 40), 64, 100, 128, 129, 300):
                x = rng.random((50,) if columns is None else (50, columns)).astype(dtype)
                plan = st.plan("ij,j->i" if columns is None else "ij,jk->ik", A, x)
                np.testing.assert_allclose(plan.run(A, x), a @ x, rtol=1e-5)
                if columns is not None or format != "COO":  # (a list times a vector has a loop by hand)
                    told.add("ahead of time" in plan.explain())
assert len(told) == 1, "some numbers of columns were compiled ahead of time, others not"
"""


def test_any_number_of_columns_ahead_of_time():
    """Where nothing compiles, a text of any number of columns takes the place of the one of this number."""
    done = run(COLUMNS, STRATA_JIT="off")
    assert done.returncode == 0, done.stderr


MANY = """
import numpy as np, scipy.sparse as sp, strata as st
a = sp.random_array((64, 64), density=0.2, format="csr", rng=np.random.default_rng(3))
ahead = "ahead of time" in st.plan("ij,j->i", st.from_scipy(a).to("CSC"), np.ones(64)).explain()
for format in ("COO", "CSC", "BSR(4, 4)"):
    A = st.from_scipy(a).to(format)
    for columns in (33, 50, 77, 100, 127, 500):
        x = np.random.default_rng(columns).random((64, columns))
        plan = st.plan("ij,jk->ik", A, x)
        np.testing.assert_allclose(plan.run(A, x), a @ x, rtol=1e-12)
        assert ("ahead of time" in plan.explain()) == ahead, (format, columns)
"""


def test_many_columns_wait_for_no_compiler():
    """A text for one number of columns is compiled where it pays: up to 32."""
    done = run(MANY)
    assert done.returncode == 0, done.stderr
