"""Vendor kernels: a fake MKL that is compiled here, and the real one where it is installed; SciPy is the reference."""

import os
import pathlib
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st
from strata._timing.peers import mkl_path
from strata_bench import records

FAKE = pathlib.Path(__file__).resolve().parents[2] / "support" / "fake_mkl.c"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
needs_mkl = pytest.mark.skipif(mkl_path() is None, reason="MKL is not installed (PyPI: mkl)")
BSR_BY_COLUMNS = "(i, j) -> (i / 3 : dense, j / 3 : compressed, j % 3 : dense, i % 3 : dense)"


def python(program, **environment):
    """What a fresh process prints; it has no other say in where MKL lies."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MKL")}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=clean | environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture(scope="session")
def fake(tmp_path_factory):
    path = tmp_path_factory.mktemp("mkl") / "libfake_mkl.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, FAKE], check=True)
    return str(path)


@pytest.fixture
def vendor(monkeypatch):
    """The vendor's kernels first, for one test."""
    monkeypatch.setenv("STRATA_MKL", mkl_path() or "")
    before = st.settings.engine, st.settings.vendor, st.settings.threads
    st.settings.engine, st.settings.vendor = "vendor", True
    yield
    st.settings.engine, st.settings.vendor, st.settings.threads = before


def random_matrix(rows, columns, density, dtype, seed):
    rng = np.random.default_rng(seed)
    a = sp.random(rows, columns, density, format="csr", random_state=seed).astype(dtype)
    a.data = rng.standard_normal(a.nnz).astype(a.data.real.dtype).astype(dtype)
    if np.iscomplexobj(a.data):
        a.data += 1j * rng.standard_normal(a.nnz).astype(a.data.real.dtype)
    return a


def random_dense(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@needs_mkl
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("format", ["CSR", "CSC", "BSR(3, 3)", BSR_BY_COLUMNS])
def test_mkl_agrees_with_scipy(vendor, dtype, format):
    rng = np.random.default_rng(zlib.crc32((dtype + format).encode()))
    tolerance = 1e-4 if np.finfo(dtype).precision < 10 else 1e-12
    for seed in range(12):
        rows, inner = (3 * int(n) for n in rng.integers(1, 40, 2))
        columns = 0 if format == BSR_BY_COLUMNS else int(rng.choice([0, 1, 2, 5, 16, 33]))
        index = str(rng.choice(["int32", "int64"]))
        alpha, beta = float(rng.choice([1, -2, 0.5])), float(rng.choice([0, 1, -0.5]))
        a = random_matrix(rows, inner, float(rng.choice([0, 0.02, 0.3])), dtype, seed)
        x = random_dense((inner, columns) if columns else inner, dtype, seed)
        before = random_dense((rows, columns) if columns else rows, dtype, seed + 1)
        y = np.full_like(before, np.nan) if beta == 0 else before.copy()
        product = st.Matmul(st.from_scipy(a).to(format, pos_dtype=index, crd_dtype=index), x, y, alpha=alpha, beta=beta)
        assert product.plan().kernel_name == "mkl_product"
        product.execute()
        expected = alpha * (a @ x) + (beta * before if beta else 0)
        scale = 1 + np.abs(expected).max(initial=0)
        assert np.abs(y - expected).max(initial=0) <= tolerance * scale, (
            seed,
            rows,
            inner,
            columns,
            index,
            alpha,
            beta,
        )


@needs_mkl
def test_mkl_gives_the_same_bits_with_any_number_of_threads(vendor):
    rng = np.random.default_rng(5)
    where = rng.integers(0, 30_000, 600_000), rng.integers(0, 20_000, 600_000)
    a = sp.csr_matrix((rng.standard_normal(600_000), where), (30_000, 20_000))
    for format in ("CSR", "CSC"):
        t = st.from_scipy(a).to(format)
        for shape in ((20_000,), (20_000, 9)):
            x = random_dense(shape, "float64", 6)
            results = []
            for threads in (1, 2, 7):
                st.settings.threads = threads
                results.append(t @ x)
            assert np.allclose(results[0], a @ x)
            assert all(r.tobytes() == results[0].tobytes() for r in results[1:])


@needs_mkl
def test_absent_elements_annihilate_and_stored_ones_do_not(vendor):
    a = sp.csr_matrix(np.array([[0, 2.0, 0], [0, 0, 0], [1.0, 0, 0]]))
    x = np.array([1.0, np.nan, np.inf])
    assert st.plan("ij,j->i", st.from_scipy(a), x).kernel_name == "mkl_product"
    assert np.array_equal(st.from_scipy(a) @ x, [np.nan, 0, 1], equal_nan=True)


@needs_mkl
def test_nothing_of_mkl_outlives_a_call(vendor):
    """Handles point into the operands: those may go, or change, between two calls."""
    x = np.ones(50)
    for seed in range(20):
        a = random_matrix(50, 50, 0.2, "float64", seed)
        t = st.from_scipy(a)
        assert np.allclose(t @ x, a @ x)
        a.data *= 2  # borrowed, not copied
        assert np.allclose(t @ x, a @ x)
        del a, t


PRODUCT = """
import numpy as np, scipy.sparse as sp, strata as st
a = sp.random(300, 200, 0.1, format="csr", random_state=1)
x = np.ones(200)
plan = st.plan("ij,j->i", st.from_scipy(a), x)
assert np.allclose(st.from_scipy(a) @ x, a @ x)
maps = open("/proc/self/maps").read()
"""


@needs_mkl
def test_mkl_is_found_beside_python_and_brings_no_openmp():
    program = (
        PRODUCT
        + "print(plan.kernel_name, 'libmkl_sequential' in maps, [w for w in ('libiomp', 'libgomp', 'libtbb') if w in maps])"
    )
    environment = {"STRATA_ENGINE": "vendor"} | (
        {} if mkl_path().startswith(sys.prefix) else {"STRATA_MKL": mkl_path()}
    )
    assert python(program, **environment) == "mkl_product True []"


@needs_mkl
def test_mkl_beside_torch_and_after_fork():
    pytest.importorskip("torch")
    program = (
        "import torch, os\n" + PRODUCT + "t = torch.rand(300, 300); assert torch.isfinite(t @ t).all()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if np.allclose(st.from_scipy(a) @ x, a @ x) else 1)\n"
        "print(plan.kernel_name, os.waitpid(child, 0)[1])"
    )
    assert python(program, STRATA_ENGINE="vendor", STRATA_MKL=mkl_path()) == "mkl_product 0"


def test_no_library_is_opened_unasked():
    """Where something compiles, or a kernel of ours serves, a plan of its own accord leaves MKL where it is."""
    print_it = "print(plan.kernel_name, 'mkl_' in maps, 'mkl_product' in plan.explain())"
    assert python(PRODUCT + print_it, STRATA_ENGINE="auto") == "csr_product False True"


@needs_cc
def test_a_fake_library_serves_and_is_named(fake):
    program = PRODUCT + "print(plan.kernel_name, 'Fake MKL 1.0, ' in plan.explain())"
    assert python(program, STRATA_ENGINE="vendor", STRATA_MKL=fake) == "mkl_product True"
    assert python(program, STRATA_ENGINE="vendor", STRATA_MKL=fake, STRATA_VENDOR="0") == "csr_product False"


def test_explain_says_why_no_library_serves(tmp_path):
    program = PRODUCT + "print(plan.explain())"
    broken = tmp_path / "libmkl_rt.so"
    broken.write_text("no library")
    for where, reason in (
        ("off", "MKL is switched off (STRATA_MKL)"),
        (str(tmp_path / "nothing"), "MKL cannot be opened"),
        (str(broken), "MKL cannot be opened"),
        (str(tmp_path), "MKL cannot be opened"),
    ):
        text = python(program, STRATA_ENGINE="vendor", STRATA_MKL=where)
        assert reason in text and "kernel  csr_product" in text


@needs_cc
def test_a_library_without_its_parts_is_refused(fake, tmp_path):
    """The real libmkl_rt ends the process where those are missing."""
    alone = tmp_path / "libmkl_rt.so.3"
    shutil.copy(fake, alone)
    text = python(PRODUCT + "print(plan.explain())", STRATA_ENGINE="vendor", STRATA_MKL=str(tmp_path))
    assert "libmkl_core.so.3, which is missing" in text and "kernel  csr_product" in text


@needs_cc
def test_the_benchmark_measures_the_vendor_column(fake, tmp_path):
    path = tmp_path / "results.jsonl"
    subprocess.run(
        [sys.executable, "-m", "strata", "bench", "--quick", "--only", "spmv fem3x3", "--columns", "1", "--threads", "1"]
        + ["--peers", "strata,strata-vendor,scipy", "--no-conversions", "--out", path],
        check=True, capture_output=True, env=os.environ | {"STRATA_MKL": fake, "STRATA_BENCH_CACHE": str(tmp_path)},
    )  # fmt: skip
    vendor = records.read(path)["cases"]["spmv fem3x3"][0]["strata-vendor/1"]
    assert "error" not in vendor and vendor["seconds"] > 0
    assert all(v["note"].startswith("mkl_product") for v in vendor["variants"].values())
    row = next(line for line in path.with_suffix(".md").read_text().splitlines() if line.startswith("| spmv fem3x3"))
    assert row.split("|")[5].strip() != "-"
