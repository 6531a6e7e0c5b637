"""strata convert and strata info FILE, as users call them."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest
import scipy.sparse as sp
from packages import needed

import strata as st
from strata import cli


def strata(*args, check=True):
    """The command in this process: (exit status, what it printed, what it said on stderr)."""
    out, errors = io.StringIO(), io.StringIO()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = cli.main(list(map(str, args)))
        except SystemExit as e:  # argparse
            status = e.code
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    if check:
        assert status == 0, errors.getvalue()
    return types.SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=errors.getvalue())


def refused(*args):
    out = strata(*args, check=False)
    assert out.returncode in (1, 2) and "Traceback" not in out.stderr and out.stderr, out
    return out.stderr


@pytest.fixture
def matrix(tmp_path):
    """A file of 3 x 3 blocks."""
    blocks = sp.kron(sp.random_array((20, 20), density=0.2, rng=np.random.default_rng(0)), np.ones((3, 3)))
    t = st.from_scipy(sp.csr_array(blocks))
    st.write(tmp_path / "in.mtx", t)
    return tmp_path / "in.mtx", t


def test_convert(matrix, tmp_path):
    path, t = matrix
    out = tmp_path / "out.st"
    text = strata("convert", path, out, "--format", "BSR(3, 3)", "--dtype", "float32", "--crd-dtype", "uint16").stdout
    back = st.load(out)
    assert back.format == st.Format("BSR(3, 3)") and back.dtype == np.float32 and back.crd_dtype == np.uint16
    assert st.equal(back, t.to("float32")) and "BSR(3, 3), 60 x 60, float32" in text
    assert strata("convert", out, tmp_path / "back.mtx", "--quiet").stdout == ""
    assert st.equal(st.read(tmp_path / "back.mtx"), t.to("float32"))
    strata("convert", path, out, "--format", "auto")
    assert st.load(out).format == st.Format(st.advise(t).format)
    st.write(path, st.from_coo(([0, 1], [1, 0]), [0.0, 2.0], (2, 2)))
    strata("convert", path, out, "--zeros", "drop")
    assert st.load(out).nse == 1
    strata("convert", path, out, "--zeros", "keep", "--pos-dtype", "int64")
    assert st.load(out).nse == 2 and st.load(out).pos_dtype == np.int64


def test_convert_one_of_several(tmp_path):
    a = {"A": st.from_dense(np.eye(2), "CSR"), "B": st.from_dense(2 * np.eye(2), "CSR")}
    st.save(tmp_path / "two.st", a)
    assert "name=" in refused("convert", tmp_path / "two.st", tmp_path / "a.mtx")
    strata("convert", tmp_path / "two.st", tmp_path / "b.tns.gz", "--name", "B")
    assert st.equal(st.read(tmp_path / "b.tns.gz"), a["B"])
    assert "no tensor 'C'" in refused("convert", tmp_path / "two.st", tmp_path / "a.mtx", "--name", "C")


def test_convert_refuses(matrix, tmp_path):
    path, _ = matrix
    out = tmp_path / "out.st"
    assert "not known" in refused("convert", path, tmp_path / "out.xyz")
    assert "No such file" in refused("convert", tmp_path / "none.mtx", out)
    assert "no format" in refused("convert", path, out, "--format", "CSSR")
    assert "dtype" in refused("convert", path, out, "--dtype", "float33")
    assert "the two files are one" in refused("convert", path, path)
    assert "usage" in refused("convert", path)
    (tmp_path / "wrong.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n")
    assert "line 3, column 1" in refused("convert", tmp_path / "wrong.mtx", out)
    (tmp_path / "folder").mkdir()
    assert refused("convert", path, tmp_path / "folder" / "none" / "a.st")
    assert not out.exists()


def test_convert_stops_without_a_trace(tmp_path):
    st.write(tmp_path / "in.st", st.random((1500, 1500), density=0.9, rng=0))
    st.write(tmp_path / "out.mtx", st.from_dense(np.eye(2), "CSR"))
    old = (tmp_path / "out.mtx").read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-m", "strata", "convert", tmp_path / "in.st", tmp_path / "out.mtx"],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background has it ignored
    )
    until = time.monotonic() + 60
    while len(os.listdir(tmp_path)) == 2 and child.poll() is None and time.monotonic() < until:
        time.sleep(0.01)  # it is written beside the target
    child.send_signal(signal.SIGINT)
    error = child.communicate(timeout=60)[1]
    if child.returncode == 0:  # it was faster
        return
    assert child.returncode == 130 and "interrupted" in error and "Traceback" not in error
    assert (tmp_path / "out.mtx").read_bytes() == old and sorted(os.listdir(tmp_path)) == ["in.st", "out.mtx"]


def test_info_of_a_file(matrix, tmp_path):
    path, t = matrix
    text = strata("info", path).stdout
    for word in ("Matrix Market", "60 x 60", "float64", "COO", "Structure", "Recommended", "A.to("):
        assert word in text, word
    known = json.loads(strata("info", path, "--json").stdout)["tensor"]
    assert known["stored"] == t.nse and known["shape"] == [60, 60] and known["recommended"]["call"] in text
    st.save(tmp_path / "two.st", {"A": t, "B": st.from_dense(np.ones((2, 3, 4)), "CSF")})
    text = strata("info", tmp_path / "two.st").stdout
    assert "2 x 3 x 4" in text and "60 x 60" in text and "--name" in text and "Structure" not in text
    assert "Recommended" in strata("info", tmp_path / "two.st", "--name", "B").stdout
    header = json.loads(strata("info", tmp_path / "two.st", "--name", "A", "--header", "--json").stdout)
    assert "tensor" not in header and [x["name"] for x in header["tensors"]] == ["A", "B"]
    assert "threads" in strata("info").stdout


@pytest.mark.parametrize("suffix", [".st", ".tns", ".npz", ".mat", ".h5", ".zarr", ".h5ad"])
def test_info_of_every_kind(suffix, tmp_path):
    if suffix in (".h5", ".h5ad", ".zarr"):
        needed("zarr" if suffix == ".zarr" else "h5py")
    t = st.from_dense(np.diag([1.0, 2, 3]), "CSR")
    st.write(tmp_path / f"a{suffix}", t)
    known = json.loads(strata("info", tmp_path / f"a{suffix}", "--json").stdout)
    assert known["tensor"]["shape"] == [3, 3] and known["tensor"]["stored"] == 3
    if suffix != ".tns":
        listed = known["tensors"]
        assert len(listed) == 1 and listed[0]["shape"] == [3, 3]
    assert "3 x 3" in strata("info", tmp_path / f"a{suffix}").stdout


def test_info_refuses(tmp_path):
    assert "No such file" in refused("info", tmp_path / "none.mtx")
    assert "not known" in refused("info", tmp_path / "x.csv")
    (tmp_path / "a.st").write_bytes(b"\x89STRATA1" + b"\xff" * 40)
    assert "the header is longer than the file" in refused("info", tmp_path / "a.st")
    assert "of a file" in refused("info", "--name", "x")
    st.save(tmp_path / "a.st", {"A": st.from_dense(np.eye(2), "CSR")})
    assert "no tensor 'B'" in refused("info", tmp_path / "a.st", "--name", "B")
