"""strata bench --kernels: what is timed is right, a wrong result is seen, and every library stands in the page."""

import os
import subprocess
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp

from strata._timing.case import same
from strata._timing.measure import far_behind, left_at_once, stays_behind
from strata_bench import machines, matrices, records, run
from strata_bench.kernels import cases, peer, report
from strata_bench.report import markdown, rows

ALL = [(k, kind) for k, of in cases.KERNELS.items() for kind in of.kinds or ("uniform",)]
each = pytest.mark.parametrize("kernel, kind", ALL, ids=lambda x: x)


def small(kernel, kind):
    """The kernel's operands, a few hundred stored elements."""
    rank = len(cases.KERNELS[kernel].shape)
    shape = {2: (64, 64), 3: (24, 28, 32), 4: (16, 20, 24, 28)}[rank]
    if kernel in ("moe", "softmax"):  # the others are square
        shape = (64, 44)
    at = [cases.generate(kind, shape, 6, 31 + n) for n in range(3)]
    return cases.operands(kernel, shape, at, np.dtype("float32"))


def prints(library, kernel, d):
    """{variant: fingerprint} of what a library offers."""
    case, out = cases.KernelCase(kernel, ""), {}
    for variant in library.variants(case, d):
        try:
            p = library.prepare(case, d, None, variant)
        except LookupError:
            continue
        p.run()
        out[variant] = cases.fingerprint(p.result())
    return out


@pytest.fixture(scope="module")
def libraries():
    import strata as st

    before = st.settings.vendor
    yield {name: peer.kernel_peer(name, 1) for name in ("strata", "scipy")}
    st.settings.vendor = before


@each
def test_ours_agrees_with_the_reference(kernel, kind, libraries):
    d = small(kernel, kind)
    ours, reference = (prints(libraries[name], kernel, d) for name in ("strata", "scipy"))
    assert ours and reference and d.nnz > 50
    want = next(iter(reference.values()))
    assert want[-1][0] > 0
    for variant, got in [*ours.items(), *reference.items()]:
        assert same(got, want, d.dtype), variant


def test_a_later_run_times_its_own_case(libraries):
    """It names the variants that an earlier run found fast, and asks for no list of them."""
    got = {}
    for kernel in ("spgemm", "spgemm-masked", "spgemm"):
        d = small(kernel, "uniform")
        p = libraries["strata"].prepare(cases.KernelCase(kernel, ""), d, None, "CSR CSR")
        p.run()
        got.setdefault(kernel, []).append(cases.fingerprint(p.result()))
    assert same(got["spgemm"][0], got["spgemm"][1], np.dtype("float32"))
    assert not same(got["spgemm"][0], got["spgemm-masked"][0], np.dtype("float32"))


@pytest.mark.parametrize(
    "name, module", [("torch", "torch"), ("mkl", "mkl"), ("numba", "numba"), ("graphblas", "graphblas")]
)
def test_other_libraries_agree_with_the_reference(name, module, libraries):
    """In a process of its own: a library may set threads, or bring an OpenMP of its own."""
    script = f"""
import sys
import types
sys.path[:0] = {[os.path.dirname(__file__), *sys.path]!r}
import test_bench_kernels as t
try:
    library, scipy = (t.peer.kernel_peer(n, 1) for n in ({name!r}, "scipy"))
except (ImportError, OSError) as e:
    print("not here", e)
    sys.exit()
done, names = 0, []
for kernel, kind in t.ALL:
    if kind == "blocked":
        d = t.small(kernel, kind)
        want = next(iter(t.prints(scipy, kernel, d).values()))
        for variant, got in t.prints(library, kernel, d).items():
            assert t.same(got, want, d.dtype), (kernel, variant)
            done += 1
            names.append((kernel, kind, variant, got))
assert done >= 7
for kernel, kind, variant, got in reversed(names):  # a later run: by name, after other kernels
    d = t.small(kernel, kind)
    p = library.prepare(t.cases.KernelCase(kernel, ""), d, None, variant)
    p.run()
    assert t.same(t.cases.fingerprint(p.result()), got, d.dtype), (kernel, variant)
"""
    if name in ("numba", "graphblas"):
        pytest.importorskip(module)  # compiling the loops takes minutes where their cache is empty
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    if "not here" in out.stdout:
        pytest.skip(out.stdout)


def test_fingerprints():
    a = sp.random(30, 20, density=0.2, format="coo", rng=np.random.default_rng(1))
    f = cases.fingerprint
    sparse, dense = f(cases.plain((a.row, a.col), a.data, a.shape)), f(a.toarray())
    assert same(sparse, dense, a.dtype)
    order = np.random.default_rng(2).permutation(a.nnz)
    assert same(f(cases.plain((a.row[order], a.col[order]), a.data[order], a.shape)), dense, a.dtype)
    moved, other = a.col.copy(), a.data.copy()
    moved[0] = (moved[0] + 1) % 20
    other[-1] *= 1.001
    assert not same(f(cases.plain((a.row, moved), a.data, a.shape)), dense, a.dtype)
    assert not same(f(cases.plain((a.row, a.col), other, a.shape)), dense, a.dtype)
    tensor = np.random.default_rng(3).random((4, 5, 6))
    at = np.indices((4, 5)).reshape(2, -1)  # fibres: what follows the coordinates is dense
    assert same(f(cases.plain(at, tensor.reshape(20, 6), tensor.shape)), f(tensor), a.dtype)
    assert same(f(np.array(3.0)), f(np.float32(3)), a.dtype) and not same(f(np.array(3.0)), f(np.array(3.1)), a.dtype)


def test_dense_operands_begin_alike():
    x = np.arange(60, dtype=np.float32).reshape(6, 10)
    assert np.array_equal(cases.placed(x), x) and cases.placed(x[:, ::2]).flags.c_contiguous
    assert {cases.placed(x[:n]).ctypes.data % 64 for n in range(1, 7)} == {16}


@pytest.mark.parametrize("kind", cases.KINDS)
@pytest.mark.parametrize("shape", [(400, 300), (60, 50, 40), (20, 16, 12, 8)])
def test_inputs(kind, shape):
    at = cases.generate(kind, shape, 20, 5)
    assert at.shape[0] == len(shape) and 0.3 * 20 * shape[0] < at.shape[1] <= 20 * shape[0]
    key = np.ravel_multi_index(at.astype(np.int64), shape)
    assert (np.diff(key) > 0).all()
    assert np.array_equal(at, cases.generate(kind, shape, 20, 5))
    rows = np.bincount(at[0], minlength=shape[0])
    if kind == "powerlaw":
        assert rows.max() > 4 * rows.mean()
    if kind == "banded":
        assert np.abs(at[1] - at[0] * shape[1] // shape[0]).max() <= 20


MACHINE = {
    "processor": "a",
    "vectors": "v",
    "cores": 2,
    "system": "b",
    "python": "3",
    "limits": {"1": {"read_bandwidth": 2e9}},
}


def test_page():
    def times(own, other):
        one = {
            "seconds": own,
            "variant": "CSR",
            "spread": 1.0,
            "variants": {"CSR": {"first": 0.05, "note": "1600000 bytes"}},
        }
        return {
            "strata/1": one,
            "scipy/1": {"seconds": other, "variant": "csr"},
            "sesum/1": {"error": "ImportError: No module named 'sesum'"},
            "mkl/1": {"refused": {"-": "LookupError: has no such kernel"}},
        }

    results = {
        "date": "2026-01-01",
        "quick": False,
        "kernels": True,
        "machines": [MACHINE],
        "measured": {
            "add uniform": [{"day": "2026-01-01", "machine": 0}] * 2,
            "add banded": [{"day": "2026-01-02", "machine": 0}],
        },
        "peers": {"strata": "1", "scipy": "2", "sesum": "ImportError: No module named 'sesum'", "mkl": "3"},
        "cases": {"add uniform": [times(1e-3, 2e-3), times(1e-3, 8e-3)], "add banded": [times(2e-3, 1e-3)]},
    }
    results["cases"]["add banded"][0]["strata-limit/1"] = {"seconds": 0.25e-3, "variant": "lines"}
    mean, worst, count = report.summary(results)["add", 1]
    assert np.isclose(mean, np.sqrt(5 * 0.5)) and worst == 0.5 and count == 2
    assert np.isclose(report.against(results)["add", 1]["scipy"], np.sqrt(5 * 0.5))
    assert report.ceilings(results) == {("add", 1): 4}
    page = report.markdown(results)
    assert "| 1 | 1.58 | 0.50 | 4.00 | 2 |" in page and "lines alone: 12 %" in page
    assert "| add | 1 | 1.58 | - | - |" in page
    assert "| add uniform | 1 | 1.00 ms | CSR | 50.0 ms | scipy csr | 5.00 ms | 5.00 | 80 % | 2 |" in page
    assert (
        "**below 0.9**: bound by latency and instructions, not bandwidth" in page and "add: has no such kernel" in page
    )
    assert page.count("No module named 'sesum'") == 1
    assert "reads 2.0 GB/s on 1 thread: 3 runs, 2026-01-01 to 2026-01-02" in page


@pytest.mark.parametrize("columns, behind", [(64, 0), (64, 16), (32, 8), (16, 4)])
def test_lines_alone_reads_each_line_once(columns, behind):
    pytest.importorskip("numba")
    from strata_bench.kernels.limit import Limit

    space = np.zeros(50 * columns + 64, np.float32)
    at = (-space.ctypes.data % 64 + behind) // 4
    X = space[at : at + 50 * columns].reshape(50, columns)
    X[:] = np.random.default_rng(1).integers(1, 100, X.shape)
    A = sp.random(20, 50, density=0.2, format="csr", rng=np.random.default_rng(2), dtype=np.float32)
    starts = [k for k in range(columns) if k == 0 or X[:, k:].ctypes.data % 64 == 0]
    d = types.SimpleNamespace(A=A, X=X)
    want = [X[A.indices[A.indptr[i] : A.indptr[i + 1]]][:, starts].sum() for i in range(20)]
    assert np.array_equal(Limit(1).spmm64(d)["lines"](), want)


def test_runs_of_several_machines():
    """Each run has its own machine's bandwidth; a machine that is known is not measured again."""
    known, asked = [MACHINE], []
    assert machines.number_of(known, lambda: asked.append(1) or {}) == 1 and machines.number_of(known, None) == 1
    assert asked == [1] and len(known) == 2
    known[1]["limits"] = {"1": {"read_bandwidth": 1e9}}
    variant = {"CSR": {"note": "csr_product, 1000000 bytes"}}
    run = {"strata/1": {"seconds": 1e-3, "variant": "CSR", "variants": variant, "dtype": "float64", "shape": [10, 10]}}
    results = {
        "machines": known,
        "measured": {"spmv a": [{"day": "2026-01-01", "machine": n} for n in (0, 1, 1)]},
        "cases": {"spmv a": [run] * 3},
    }
    (row,) = rows(results)
    assert np.isclose(row["bandwidth_share"], 1000160 / 1e-3 / 1e9)
    assert [
        (m is known[n], {k: len(v) for k, v in part["cases"].items()})
        for n, (m, part) in enumerate(machines.apart(results))
    ] == [
        (True, {"spmv a": 1}),
        (True, {"spmv a": 2}),
    ]
    del results["measured"]["spmv a"][2], results["cases"]["spmv a"][2]
    (row,) = rows(results)
    assert np.isclose(row["bandwidth_share"], 1000160 / 1e-3 / 1e9 * 0.75)


def test_the_page_says_which_libraries_were_not_asked():
    def timed(*keys):
        one = {
            "seconds": 1e-3,
            "variant": "CSR",
            "variants": {"CSR": {"note": "csr_product"}},
            "dtype": "float64",
            "shape": [10, 10],
        }
        return dict.fromkeys(keys, one)

    here = [{"day": "2026-01-01", "machine": 0}]
    results = {
        "date": "2026-01-01",
        "peers": {"SciPy": "1", "torch": "2"},
        "machines": [MACHINE | {"limits": {}}],
        "measured": {"spmv a": here, "spmv b": here},
        "cases": {"spmv a": [timed("strata/1", "scipy/1", "torch/1")], "spmv b": [timed("strata/1", "scipy/1")]},
    }
    assert f"Not asked:\n\n- on {MACHINE['processor']}, torch: spmv b\n" in markdown(results)
    results["cases"]["spmv b"] = results["cases"]["spmv a"]
    assert "Not asked" not in markdown(results)


def test_libraries_far_behind_are_not_timed_again():
    seconds = {"strata/1": 9, "scipy/1": 8, "torch/1": 1, "jax/1": 5.1, "mkl/1": 4.9, "torch/2": 0.5, "jax/2": 2.4}
    earlier = {k: {"seconds": s} for k, s in seconds.items()}
    assert [k for k in seconds if far_behind(earlier, k)] == ["jax/1"]
    assert not any(far_behind(None, k) for k in seconds)


def test_libraries_far_behind_get_no_round():
    seconds = {"strata/1": 60, "scipy/1": 8, "torch/1": 1, "jax/1": 5.1, "mkl/1": 4.9, "torch/2": 9, "jax/2": 2.4}
    results = {k: {"variant": "csr", "variants": {"csr": {"seconds": s}}} for k, s in seconds.items()}
    assert left_at_once(results, list(seconds)) == ["jax/1"]
    assert left_at_once(results, ["strata/1"]) == []


def test_libraries_that_stay_behind_with_more_threads():
    seconds = {"strata/1": 60, "scipy/1": 80, "torch/1": 1, "jax/1": 10.1, "mkl/1": 9.9, "torch/2": 0.1}
    results = {k: {"variant": "csr", "variants": {"csr": {"seconds": s}}} for k, s in seconds.items()}
    results["sesum/1"] = {"error": "std::bad_alloc"}
    peers = ["strata", "scipy", "torch", "jax", "mkl", "sesum"]
    assert [p for p in peers if stays_behind(results, p, 2, 1)] == ["jax"]
    assert [p for p in peers if stays_behind(results, p, 4, 1)] == []


def test_libraries_that_nobody_knows(tmp_path, capsys):
    for more, known in (["--kernels"], "graphblas"), ([], "torch-int32"):
        assert run.main([*more, "--peers", "scipy,scypy", "--out", str(tmp_path / "results.jsonl")]) == 2
        told = capsys.readouterr().err
        assert "there is no scypy among" in told and known in told and not any(tmp_path.iterdir())


def test_command(tmp_path):
    path = tmp_path / "results.jsonl"
    (tmp_path / "sesum.py").write_text("raise ImportError('hidden')")
    args = ["--kernels", "--quick", "--only", "add blocked", "--only", "ttv banded", "--threads", "1"]
    out = subprocess.run(
        [sys.executable, "-m", "strata", "bench", *args, "--peers", "scipy,sesum", "--out", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "STRATA_BENCH_CACHE": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        },
    )
    assert out.returncode == 0, out.stderr
    results = records.read(path)
    assert set(results["cases"]) == {"add blocked", "ttv banded"} and "hidden" in results["peers"]["sesum"]
    for (one,) in results["cases"].values():
        assert one["strata/1"]["seconds"] > 0 and one["scipy/1"]["seconds"] > 0 and "hidden" in one["sesum/1"]["error"]
        assert "error" not in one["strata/1"]
        assert all(int(v["note"].removesuffix(" bytes")) > 1000 for v in one["strata/1"]["variants"].values())
    page = path.with_suffix(".md").read_text()
    assert "geometric mean" in page and "ttv banded" in page and "hidden" in page


def test_sddmm_on_the_matrices_of_products(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_BENCH_CACHE", str(tmp_path))
    args = run.parser().parse_args(["--kernels", "--matrices", "--quick", "--only", "pruned512"])
    found = run.cases(args)
    assert [name for name, *_ in found] == ["sddmm16 pruned512-90", "sddmm64 pruned512-90", "sddmm128 pruned512-90"]
    a = matrices.load(matrices.folder_of("pruned512-90", quick=True))
    for columns, (_, _, case) in zip((16, 64, 128), found):
        d, _ = case().data()
        assert d.A.shape == a.shape and np.array_equal(d.A.indices, a.indices) and np.array_equal(d.A.indptr, a.indptr)
        assert d.U.shape == (512, columns) and d.V.shape == (512, columns)
