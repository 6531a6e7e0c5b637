"""st.save and st.load: any tensor comes back as it was stored; what is not a file of ours is refused with the place."""

import copy
import json
import os
import pathlib
import pickle
import resource
import signal
import stat
import struct
import subprocess
import sys
import time
import zlib

import dtypes
import named_formats
import numpy as np
import pytest
from packages import needed

import strata as st
from strata import _core

FORMATS = [*named_formats.COMMON, "DIAI", "(i, j) -> (j : dense, i : dense)"]
DTYPES = [*dtypes.NUMPY, "bfloat16", "float8_e4m3fn", "float8_e5m2"]


def sample(text, dtype="float64"):
    rng = np.random.default_rng(3)
    a = rng.integers(1, 50, (7, 9)).astype("float64")
    a[rng.random((7, 9)) < 0.6] = 0
    a[2] = 0
    return st.from_dense(a, text).to(dtype=dtype)


def same(a, b):
    """Is everything the same that a tensor is made of, bit by bit?"""
    kinds = lambda t: (str(t.format), t.shape, t.dtype, t.pos_dtype, t.crd_dtype)
    return kinds(a) == kinds(b) and a.equal(b, storage=True) and bytes(_core.fill_of(a)) == bytes(_core.fill_of(b))


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_format_and_dtype(text, dtype, tmp_path):
    t = sample(text, dtype)
    path = tmp_path / "a.st"
    st.save(path, t)
    for how in (True, "structure", False):
        for mmap in (True, False):
            assert same(st.load(path, verify=how, mmap=mmap), t)
    st.write(tmp_path / "b.st", st.read(path))
    assert (tmp_path / "b.st").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("rank", range(6))
def test_every_named_format(rank, tmp_path):
    shape = (5, 6, 4, 3, 2)[:rank]
    a = named_formats.sample(shape)
    tensors = {}
    for text in named_formats.BY_RANK[rank]:
        try:
            tensors[text] = st.from_dense(a, text)
        except st.Error:  # what it cannot hold
            continue
    assert len(tensors) >= (1 if rank == 0 else 3)
    st.save(tmp_path / "all.st", tensors)
    back = st.load(tmp_path / "all.st")
    assert list(back) == list(tensors)
    for text, t in tensors.items():
        assert same(back[text], t), text


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (4, 4)])
@pytest.mark.parametrize("text", FORMATS)
def test_nothing_stored(shape, text, tmp_path):
    t = st.zeros(shape, format=text)
    st.save(tmp_path / "a.st", t)
    assert same(st.load(tmp_path / "a.st"), t)


def test_bits_of_values(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**64, 5000, dtype=np.uint64)
    bits[:4] = 0x7FF8000000000001, 0xFFF4000000000002, 1 << 63, 0
    n = len(bits)
    t = st.from_coo((np.zeros(n, int), np.arange(n)), bits.view(float), (1, n), "CSR", fill=np.inf)
    st.save(tmp_path / "a.st", t)
    back = st.load(tmp_path / "a.st")
    assert same(back, t) and back.fill == np.inf
    np.testing.assert_array_equal(back.values.view(np.uint64), bits)


def test_index_dtypes(tmp_path):
    for pos in ("int32", "int64", "uint16", "uint64"):
        for crd in ("uint8", "int16", "uint32", "int64"):
            t = sample("CSR").to(pos_dtype=pos, crd_dtype=crd)
            st.save(tmp_path / "a.st", t)
            assert same(st.load(tmp_path / "a.st"), t) and st.load(tmp_path / "a.st").crd_dtype == np.dtype(crd)


def test_names(tmp_path):
    path = tmp_path / "a.st"
    tensors = {"": sample("CSR"), "B": sample("COO"), 'ä "x"\n\t\\': sample("dense")}
    st.save(path, tensors)
    back = st.load(path)
    assert list(back) == list(tensors) and all(same(back[n], t) for n, t in tensors.items())
    assert same(st.read(path, name="B"), tensors["B"])
    with pytest.raises(st.FileError, match="holds 3 tensors"):
        st.read(path)
    with pytest.raises(st.FileError, match="no tensor 'C'"):
        st.read(path, name="C")
    st.save(path, {"only": tensors["B"]})
    assert list(st.load(path)) == ["only"] and same(st.read(path), tensors["B"])
    st.save(path, {})
    assert st.load(path) == {}
    for wrong in ([1], {"a": 1}, {1: tensors["B"]}, {"\udc80": tensors["B"]}, np.eye(2), None):
        with pytest.raises(st.ArgumentError):
            st.save(path, wrong)
    with pytest.raises(st.ArgumentError):
        st.save(3, tensors)
    for wrong in ("some", 7, None, []):
        with pytest.raises(st.ArgumentError, match="verify"):
            st.load(path, verify=wrong)


def test_views_of_the_file(tmp_path):
    path, t = tmp_path / "a.st", sample("CSR")
    st.save(path, t)
    back = st.load(path)
    values = back.values
    with pytest.raises(ValueError):
        back.to_scipy().data[0] = 1
    path.unlink()
    assert same(back, t)
    kept = pickle.loads(pickle.dumps(back)), copy.deepcopy(back), copy.copy(back), back.copy()
    del back
    np.testing.assert_array_equal(values, t.values)
    for one in kept:
        assert same(one, t)
        np.testing.assert_array_equal(one @ np.ones(9), t @ np.ones(9))


def test_a_loaded_tensor_computes(tmp_path):
    x = np.random.default_rng(0).random((9, 70))
    for text in FORMATS:
        t = sample(text)
        st.save(tmp_path / "a.st", t)
        back = st.load(tmp_path / "a.st", verify=False)
        np.testing.assert_array_equal(back @ x, t @ x)
        np.testing.assert_array_equal(back @ x[:, 0], t @ x[:, 0])
        assert same(back.T.to("CSR"), t.T.to("CSR")) and same(back.to("COO"), t.to("COO"))
        for expression in ("A(i,j) * A(i,j)", "A(i,j) + 2 * A(i,j)"):
            mine, expected = (st.evaluate(f"C(i,j) = {expression}", A=x) for x in (back, t))
            np.testing.assert_array_equal(st.asarray(mine).to_dense(), st.asarray(expected).to_dense())


def test_lazily(tmp_path):
    """Values that nobody looks at are not read: the file is larger than what the process takes."""
    path, n = tmp_path / "large.st", 16_000_000
    st.save(path, st.Tensor("(i, j) -> (i: dense, j: dense)", (5, n // 5), values=np.zeros(n)))
    assert path.stat().st_size > 8 * n
    code = f"""
import resource, strata as st
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
t = st.load({str(path)!r}, verify="structure")
assert t.shape == (5, {n // 5}) and t.values[123] == 0
print(peak() - before)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) < 20_000, out.stdout  # kB
    path.unlink()


def test_plain_numpy_reads_it(tmp_path):
    path, t = tmp_path / "a.st", sample("BSR(4, 4) + COO", "float32")
    st.save(path, {"A": t})
    raw = path.read_bytes()
    magic, length, crc = struct.unpack("<8sQQ", raw[:24])
    text = raw[24 : 24 + length]
    assert magic == b"\x89STRATA1" and zlib.crc32(text, zlib.crc32(raw[:16])) == crc and (24 + length) % 64 == 0
    (told,) = json.loads(text)["tensors"]
    assert told["shape"] == [7, 9] and st.Format(told["format"]) == t.format
    ends = 24 + length
    for part, mine in zip(told["parts"], t.parts):
        arrays = [("pos", k, v["pos"]) for k, v in enumerate(part["levels"]) if "pos" in v]
        arrays += [("crd", k, v["crd"]) for k, v in enumerate(part["levels"]) if "crd" in v]
        for what, level, a in [*arrays, ("values", None, part["values"])]:
            found = np.frombuffer(raw, a["dtype"], a["size"], 24 + length + a["offset"])
            expected = mine.values if what == "values" else getattr(mine, what)(level)
            np.testing.assert_array_equal(found, expected)
            assert zlib.crc32(found.tobytes()) == a["crc32"] and a["offset"] % 64 == 0
            ends = max(ends, 24 + length + a["offset"] + found.nbytes)
    assert ends == len(raw)


def test_every_cut_and_many_flips(tmp_path):
    path = tmp_path / "a.st"
    st.save(path, sample("BSR(2, 3)", "float32"))
    raw = path.read_bytes()
    for n in range(len(raw)):
        path.write_bytes(raw[:n])
        with pytest.raises(st.FileError, match="a.st, "):
            st.load(path, verify=n % 2 == 0)
    rng = np.random.default_rng(1)
    for k in rng.integers(0, len(raw), 300):
        wrong = bytearray(raw)
        wrong[k] ^= 1 << rng.integers(8)
        path.write_bytes(wrong)
        with pytest.raises(st.FileError, match="a.st, (header, line|byte) "):
            st.load(path)
    path.write_bytes(raw)
    st.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(st.FileError, match="No such file"):
        st.load(tmp_path / "none.st")
    with pytest.raises(st.FileError, match="directory"):
        st.load(tmp_path)
    (tmp_path / "x.st").write_text("%%MatrixMarket matrix")
    with pytest.raises(st.FileError, match="st.read"):
        st.load(tmp_path / "x.st")
    os.mkfifo(tmp_path / "pipe.st")
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(tmp_path / 'pipe.st')!r}, 'wb').write(b'PK')"])
    with pytest.raises(st.FileError):
        st.load(tmp_path / "pipe.st")
    writer.wait()


SUFFIXES = [".st", ".mtx", ".mtx.gz", ".tns", ".tns.xz", ".npz", ".mat", ".h5", ".h5ad"]


def require(suffix):
    if suffix in (".h5", ".h5ad"):
        needed("h5py")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_the_old_file(suffix, tmp_path):
    """RLIMIT_FSIZE stands for a full disk."""
    require(suffix)
    path = tmp_path / f"old{suffix}"
    st.write(path, st.from_dense(np.eye(3), "CSR"))
    old = path.read_bytes()
    code = f"""
import resource, numpy as np, strata as st
a = np.random.default_rng(0).random((300, 300))
big = st.from_dense(a, "CSR")
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    st.write({str(path)!r}, big)
except st.FileError as e:
    print("refused", e)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0 and "refused" in out.stdout, out.stderr
    assert path.read_bytes() == old and [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_permissions_links_and_places(suffix, tmp_path):
    require(suffix)
    path, t = tmp_path / f"a{suffix}", st.from_dense(np.eye(3), "CSR")
    mask = os.umask(0o027)
    try:
        st.write(path, t)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    for mode in (0o600, 0o664):
        path.chmod(mode)
        st.write(path, t)
        assert stat.S_IMODE(path.stat().st_mode) == mode
    link = tmp_path / f"link{suffix}"
    link.symlink_to(path)
    st.write(link, t * 2)
    assert link.is_symlink() and st.equal(st.read(path), t * 2)
    for wrong in (tmp_path / "none" / f"a{suffix}", path / f"a{suffix}"):
        with pytest.raises(st.FileError):
            st.write(wrong, t)
        with pytest.raises(st.FileError):
            st.read(wrong)
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    with pytest.raises(st.FileError):
        st.write(folder, t)
    with pytest.raises(st.FileError):
        st.read(folder)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([path.name, link.name, folder.name])


@pytest.mark.parametrize("suffix", [".st", ".tns", ".mtx.gz"])
def test_ctrl_c_leaves_the_old_file(suffix, tmp_path):
    path = tmp_path / f"a{suffix}"
    st.write(path, st.from_dense(np.eye(3), "CSR"))
    old = path.read_bytes()
    code = f"""
import signal, numpy as np, strata as st
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background starts with it ignored
t = st.random((1200, 1200), density=0.9, rng=0).to("CSR")
print("go", flush=True)
try:
    while True:
        st.write({str(tmp_path / ("b" + suffix))!r}, t)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "stopped\n" and child.returncode == 0
    assert path.read_bytes() == old
    assert {p.name for p in tmp_path.iterdir()} <= {path.name, "b" + suffix}


def test_memory_of_a_malformed_file(tmp_path):
    """A header that claims exabytes takes no memory."""
    path = tmp_path / "a.st"
    st.save(path, sample("CSR"))
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[8:16])[0]
    for size in (2**62, 2**40, 2**63 - 1):
        text = raw[24 : 24 + length].decode().rstrip().replace('"size": 8', f'"size": {size}').encode()
        text += b" " * (-(24 + len(text)) % 64)
        head = raw[:8] + struct.pack("<Q", len(text))
        path.write_bytes(head + struct.pack("<Q", zlib.crc32(text, zlib.crc32(head))) + text + raw[24 + length :])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(st.FileError, match="beyond the end of the file"):
            st.load(path)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_files_of_before(tmp_path):
    """What version 1 was when it was first written can be read for as long as there is a version 1."""
    path = pathlib.Path(__file__).with_name("version_1.st")
    tensors = st.load(path)
    a = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])
    assert list(tensors) == ["delta", "csr", "sum"]
    for t in tensors.values():
        np.testing.assert_array_equal(t.to_dense(), a)
    assert tensors["delta"].format == st.Format("delta(2)") and tensors["sum"].format == st.Format("BSR(2, 2) + COO")
    st.save(tmp_path / "again.st", tensors)
    assert (tmp_path / "again.st").read_bytes() == path.read_bytes()
