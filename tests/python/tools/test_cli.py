"""The command strata, as users call it."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import strata as st
from strata import _terminal
from strata_bench import records


def strata(*args, check=True, cwd=None, **environment):
    out = subprocess.run(
        [sys.executable, "-m", "strata", *map(str, args)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=300,
    )
    if check:
        assert out.returncode == 0, out.stderr
    return out


def test_version():
    assert strata("--version").stdout.strip() == f"strata {st.__version__}"


def test_help_names_every_command():
    text = strata().stdout
    for command in ("demo", "show", "emit", "draw", "explore", "bench", "convert", "info", "doctor", "cache"):
        assert command in text


def test_info():
    known = json.loads(strata("info", "--json").stdout)
    assert (
        known["version"] == st.__version__ and known["threads"] >= 1 and known["compiler"] and "SciPy" in known["peers"]
    )
    assert "STRATA_NUM_THREADS" in strata("info").stdout


def test_show():
    text = strata("show", "y(i) = A(i,j) * x(j)", "A=csr").stdout
    assert "(i : dense, j : compressed)" in text or "CSR" in text
    assert "for" in text and "pos" in text
    assert strata("show", "ij,j->i", "A=csr").stdout
    assert "csr" in strata("show", "ij,jk->ik", "A=csr", "--explain").stdout.lower()
    wrong = strata("show", "y(i) = A(i,j) * x(j)", "B=csr", check=False)
    assert wrong.returncode == 1 and "no operand 'B'" in wrong.stderr and "Traceback" not in wrong.stderr
    wrong = strata("show", "y(i) = A(i,j) * x(j)", "A=crs", check=False)
    assert wrong.returncode == 1 and "crs" in wrong.stderr


def test_show_of_any_expression():
    """Several sparse operands, sums, functions: which way it goes, and the loops that are generated."""
    text = strata("show", "C(i,j) = A(i,j) + B(i,j)", "A=csr", "B=coo").stdout
    assert "result  CSR" in text and "for j in t0 or t1" in text and "--- C ---" in text
    text = strata("show", "C(i,k) = A(i,j) * B(j,k)", "A=csr", "B=csr", "--explain").stdout
    assert "2 operands are sparse" in text and "dense at each run" not in text and "--- C ---" not in text
    text = strata("show", "s(i) = sum(j, A(i,j)) - max(j, A(i,j))", "A=csr", "--dtype", "float32").stdout
    assert "it is not one product" in text and "f32" in text
    assert "it adds to what" not in strata("show", "y(i) += A(i,j) * B(j,i)", "A=csr", "B=csr").stderr
    # A format that holds few elements in each block has its own stand-ins.
    for few in ("structured(2, 4)", "(i, j) -> (j: dense, i / 4: dense, i % 4: structured(1))"):
        assert (
            "2 operands are sparse"
            in strata("show", "C(i,j) = A(i,j) * B(i,j)", f"A={few}", "B=csr", "--explain").stdout
        )
    wrong = strata("show", "s(i) = sum(j, A(i,j) - max(j, A(i,j))", "A=csr", check=False)
    assert wrong.returncode == 1 and "^" in wrong.stderr and "Traceback" not in wrong.stderr and wrong.stdout == ""


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """A user's file: 3x3 blocks, symmetric storage."""
    path = tmp_path_factory.mktemp("demo") / "mine.mtx"
    blocks = sp.kron(sp.random_array((30, 30), density=0.1, rng=np.random.default_rng(0)), np.ones((3, 3)))
    scipy.io.mmwrite(path, sp.coo_matrix(blocks + blocks.T), symmetry="symmetric")
    return path


def test_show_refuses_what_it_would_guess():
    for formats in (["A=csr", "A=coo"], ["A"], ["A="], ["B=csr"], ["A=nonsense"], ["A=COO(3)"]):
        out = strata("show", "y(i) = A(i,j) * x(j)", *formats, check=False)
        assert out.returncode == 1 and out.stdout == "" and "Traceback" not in out.stderr, formats
    out = strata("show", "y(i) = A(i,j) * x(j)", "A=f4", check=False)
    assert out.returncode == 1 and "--dtype f4" in out.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk_is_told_without_a_traceback():
    for arguments in (["show", "y(i) = A(i,j) * x(j)", "A=csr"], ["info"]):
        with open("/dev/full", "w") as full:
            out = subprocess.run(
                [sys.executable, "-m", "strata", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
            )
        assert out.returncode == 1 and out.stderr.startswith("strata: [Errno 28]") and "\n" not in out.stderr.strip()


def test_demo_of_a_file(matrix):
    text = strata("demo", matrix, "--no-timing").stdout
    for word in (
        "mine.mtx",
        "Sparse Tensor<",
        "Structure",
        "blocks",
        "symmetric",
        "Formats",
        "BSR(3, 3)",
        "CSR",
        "Recommended",
        "bytes",
    ):
        assert word in text, word
    assert "\x1b" not in text and "WRONG" not in text


def test_demo_as_json(matrix):
    found = json.loads(strata("demo", matrix, "--json", "--quick").stdout)["matrices"][0]
    a = scipy.io.mmread(matrix)
    assert found["nse"] == a.nnz and found["shape"] == list(a.shape)
    assert found["structure"]["symmetry"]["symmetric"] and found["structure"]["block"]["rows"] == 3
    assert len(found["formats"]) >= 5
    for f in found["formats"]:
        assert f["right"], f
    assert found["timings"]["spmv"]["strata"]["seconds"] > 0 and found["timings"]["spmm64"]["scipy"]["seconds"] > 0
    assert not any("error" in r for r in found["timings"]["spmv"].values()), found["timings"]["spmv"]
    assert found["recommended"]["format"] and found["recommended"]["why"]


def test_demo_of_its_own_matrices():
    pytest.importorskip("pyamg")
    text = strata("demo", "--quick", "--no-timing").stdout
    assert "bar" in text and "elasticity 60 x 60" in text and "23 402" in text and "WRONG" not in text


@pytest.mark.parametrize(
    "body,dtype",
    [
        ("coordinate integer general\n3 2 2\n1 1 3\n3 2 -4\n", "int64"),
        ("coordinate complex hermitian\n2 2 2\n1 1 3 0\n2 1 1 2\n", "complex128"),
        ("array real general\n2 2\n1\n2\n3\n4\n", "float64"),
        ("coordinate pattern general\n4 4 0\n", "float64"),
        ("coordinate real general\n0 0 0\n", "float64"),
        ("coordinate real general\n2 2 2\n1 1 nan\n2 2 inf\n", "float64"),
    ],
)
def test_demo_of_odd_files(body, dtype, tmp_path):
    path = tmp_path / "odd.mtx"
    path.write_text("%%MatrixMarket matrix " + body)
    found = json.loads(strata("demo", path, "--json", "--no-timing").stdout)["matrices"][0]
    assert found["dtype"] == dtype and all(f.get("right") for f in found["formats"]), found["formats"]


def test_demo_of_what_is_no_matrix(tmp_path):
    (tmp_path / "t.tns").write_text("1 1 1 3\n2 3 4 1\n")
    out = strata("demo", tmp_path / "t.tns", check=False)
    assert out.returncode == 1 and "takes a matrix" in out.stderr and "strata info" in out.stderr


def test_demo_says_what_is_missing(tmp_path):
    """Without pyamg: what to install, or which other call works."""
    (tmp_path / "pyamg.py").write_text("raise ImportError('hidden')")
    out = strata("demo", check=False, PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert (
        out.returncode == 1
        and "pip install pyamg" in out.stderr
        and "FILE.mtx" in out.stderr
        and "Traceback" not in out.stderr
    )


def test_demo_of_more_rows_than_memory_holds(tmp_path):
    path = tmp_path / "huge.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate pattern general\n{2**40} {2**40} 1\n{2**40} 1\n")
    out = strata("demo", path, check=False)
    assert out.returncode == 1 and "Traceback" not in out.stderr
    assert "does not fit in memory" in out.stderr and "DCSR" in out.stderr


def test_demo_of_nothing(tmp_path):
    path = tmp_path / "nothing.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n4 4 0\n")
    text = strata("demo", path).stdout
    assert "nothing is stored" in text and "a stored element" not in text


def test_demo_counts_what_its_csr_holds(tmp_path):
    """A dense file stores its zeros too; the formats do not."""
    path = tmp_path / "mostly_zero.mtx"
    path.write_text("%%MatrixMarket matrix array real general\n20 1\n" + "0\n" * 19 + "7\n")
    text = strata("demo", path, "--no-timing").stdout
    csr = next(line.split() for line in text.split("Formats")[1].splitlines() if line.startswith("  CSR  "))
    assert csr[1:5] == ["96", "B", "96.0", "1.00"] and "1 diagonal," in text and "1 diagonals" not in text
    assert json.loads(strata("demo", path, "--json", "--no-timing").stdout)["matrices"][0]["nse"] == 1
    path.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 7\n")
    assert "1 stored element of float64" in strata("demo", path, "--no-timing").stdout


def test_the_fastest_variant_stands_first():
    from strata.demo.run import _take_best_variant

    r = {"seconds": 3.0, "variant": "ELL", "variants": {"ELL": {"seconds": 4.0}, "CSR": {"seconds": 2.0}}}
    _take_best_variant(r)
    assert (r["variant"], r["seconds"], r["variants"]["ELL"]["seconds"]) == ("CSR", 2.0, 3.0)
    r = {"seconds": 1.0, "variant": "ELL", "variants": {"ELL": {"seconds": 4.0}, "CSR": {"seconds": 2.0}}}
    _take_best_variant(r)
    assert (r["variant"], r["seconds"]) == ("ELL", 1.0)
    for r in ({"error": "no"}, {"refused": {"CSR": "no"}}):
        _take_best_variant(r)


@pytest.mark.parametrize("sign,status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_demo_that_is_ended_leaves_nothing_behind(sign, status, matrix, tmp_path):
    """In the middle of the timings, where there are worker processes and a copy of the matrix on disk."""
    with subprocess.Popen(
        [sys.executable, "-m", "strata", "demo", str(matrix)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background has it ignored
    ) as p:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("strata-demo-*/shape.json")):
            assert p.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        time.sleep(0.3)
        os.kill(p.pid, sign)
        said = p.communicate(timeout=60)[1]
    assert p.returncode == status and "Traceback" not in said, said
    assert ("interrupted" in said) == (sign == signal.SIGINT)
    assert not list(tmp_path.glob("strata-demo-*"))
    until = time.monotonic() + 20  # workers see the end of their input
    while True:
        try:
            os.killpg(p.pid, 0)
        except ProcessLookupError:
            break
        assert time.monotonic() < until, "a worker lives on"
        time.sleep(0.1)


def test_demo_of_a_bad_file(tmp_path):
    path = tmp_path / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 5\n")
    out = strata("demo", path, check=False)
    assert out.returncode == 1 and "line 3, column 3" in out.stderr and "Traceback" not in out.stderr
    out = strata("demo", tmp_path / "none.mtx", check=False)
    assert out.returncode == 1 and "cannot open" in out.stderr


def test_bench(tmp_path):
    path = tmp_path / "results.jsonl"
    args = (
        "bench",
        "--quick",
        "--only",
        "fem3x3",
        "--columns",
        "1,16",
        "--threads",
        "1",
        "--peers",
        "strata,scipy",
        "--out",
        path,
    )
    out = strata(*args, STRATA_BENCH_CACHE=str(tmp_path))
    results = records.read(path)
    assert set(results["cases"]) >= {"spmv fem3x3", "spmm16 fem3x3", "CSR->CSC fem3x3"}
    for name, runs in results["cases"].items():
        assert len(runs) == 1
        for key, r in runs[0].items():
            assert "error" not in r, (name, key, r)
    assert results["machines"][0]["limits"]["1"]["read_bandwidth"] > 1e8
    page = path.with_suffix(".md").read_text()
    assert (
        "geometric mean" in page
        and "spmv fem3x3" in page
        and "strata" not in page.split("## Products")[1].split("|")[5]
    )
    assert "fem3x3" in out.stdout
    again = strata(*args, STRATA_BENCH_CACHE=str(tmp_path))  # nothing left to do
    assert "run 1" not in again.stdout
    assert "spmv stencil7" in strata("bench", "--list").stdout


def test_tables_align():
    lines = list(_terminal.table(["a", "bb"], [["1", "x"], ["\x1b[32m22\x1b[0m", "yy"]], right=(0,)))
    assert [_terminal.visible(line) for line in lines] == [8, 7, 8]
    assert (
        _terminal.grouped(1234567) == "1 234 567"
        and _terminal.size(1500) == "1.5 kB"
        and _terminal.seconds(0.00123) == "1.23 ms"
    )


def test_terminals(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def written(**environment):
        for name in ("TERM", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        stream = Terminal()
        with _terminal.progress("long", stream=stream):
            time.sleep(1.1)
        return _terminal.Style(stream).good("a"), stream.getvalue()

    coloured, line = written(TERM="xterm")
    assert coloured == "\x1b[32ma\x1b[0m" and line.startswith("\r") and line.endswith("\r\x1b[K")
    plain, line = written(TERM="xterm", NO_COLOR="1")  # forbids colours, not a line that moves
    assert plain == "a" and line.endswith("\r\x1b[K")
    plain, line = written(TERM="dumb")
    assert plain == "a" and line == "... long (1 s)\n"
    assert _terminal.times(1.234) == "1.23x" and _terminal.times(0.000412) == "0.00041x"


def test_progress_is_shown_after_a_second(capsys):
    stream = io.StringIO()
    with _terminal.progress("short", stream=stream):
        pass
    assert stream.getvalue() == ""
    with _terminal.progress("long", stream=stream) as p:
        p(0.5)
        time.sleep(1.2)
    assert "long" in stream.getvalue() and "50 %" in stream.getvalue() and p.seconds > 1
