"""Matrix Market files: equal to SciPy on every legal spelling, refused with line and column otherwise."""

import bz2
import gzip
import io
import itertools
import lzma
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import dtypes
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import strata as st
from strata import _core

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "spec" / "malformed_mtx.txt"
LAYOUTS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "unsigned-integer", "complex", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read_bytes(data, tmp_path):
    path = tmp_path / "file.mtx"
    path.write_bytes(data)
    return st.read(path)


def spell(lines, spelling, rng):
    """The same file as others would write it."""
    banner, size, *entries = lines
    if spelling == "crlf":
        return "\r\n".join(lines) + "\r\n"
    if spelling == "blanks":
        entries = [" \t" + e.replace(" ", "   ") + "  " for e in entries]
        return "\n".join(
            [
                banner,
                "% a comment",
                "",
                "  % another",
                "  " + size + " ",
                "",
                *itertools.chain(*((e, "") for e in entries)),
            ]
        )
    if spelling == "no last newline":
        return "\n".join(lines)
    if spelling == "case":  # SciPy wants %%MatrixMarket itself as it is
        head, rest = banner.split(" ", 1)
        return (
            "\n".join([head + " " + "".join(rng.choice((c.lower(), c.upper())) for c in rest), size, *entries]) + "\n"
        )
    return "\n".join(lines) + "\n"


def number(field, rng):
    if field == "pattern":
        return ""
    if field == "integer":
        return str(rng.integers(-9, 9))
    if field == "unsigned-integer":
        return str(rng.integers(0, 9))
    finite = [
        "1",
        "-2.5",
        "1e3",
        "-1.25E-2",
        ".5",
        "7.",
        "0",
        "-0",
        "3.141592653589793",
        "1e-310",
        "123456789012345678",
    ]
    real = lambda: rng.choice(
        finite + ["inf"] * (field != "complex")
    )  # SciPy negates complex infinities by a product, to NaN
    return f"{real()} {real()}" if field == "complex" else real()


def generate(layout, field, symmetry, rng):
    n = int(rng.integers(1, 7))
    m = n if symmetry != "general" else int(rng.integers(1, 7))
    lower = [
        (i, j)
        for j in range(n)
        for i in range(m)
        if symmetry == "general" or i > j or (i == j and symmetry != "skew-symmetric")
    ]

    def value(i, j):
        text = number(field, rng)
        if symmetry == "hermitian" and field == "complex" and i == j:
            text = text.split()[0] + " 0"
        return text

    banner = f"%%MatrixMarket matrix {layout} {field} {symmetry}"
    if layout == "array":
        return [banner, f"{m} {n}"] + [value(i, j) for i, j in lower]
    count = int(rng.integers(0, len(lower) + 1))
    chosen = [lower[k] for k in rng.integers(0, len(lower), count)] if lower else []  # repeats: duplicates
    return [banner, f"{m} {n} {len(chosen)}"] + [f"{i + 1} {j + 1} {value(i, j)}".rstrip() for i, j in chosen]


@pytest.mark.parametrize("layout,field,symmetry", list(itertools.product(LAYOUTS, FIELDS, SYMMETRIES)))
def test_equals_scipy(layout, field, symmetry, tmp_path):
    rng = np.random.default_rng([LAYOUTS.index(layout), FIELDS.index(field), SYMMETRIES.index(symmetry)])
    for spelling in ("plain", "crlf", "blanks", "no last newline", "case"):
        for _ in range(8):
            lines = generate(layout, field, symmetry, rng)
            data = spell(lines, spelling, rng).encode()
            if (layout, field) == ("array", "pattern") or (field, symmetry) == ("unsigned-integer", "skew-symmetric"):
                with pytest.raises(st.FileError):
                    read_bytes(data, tmp_path)
                continue
            ours = read_bytes(data, tmp_path)
            # SciPy crashes on a last line that ends in a blank without newline: give it a newline.
            theirs = scipy.io.mmread(io.BytesIO(data + b"\n"), spmatrix=False)
            ours.validate()
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
            assert ours.format == st.Format("COO" if layout == "coordinate" else "dense", rank=2)
            dense = theirs.toarray() if sp.issparse(theirs) else theirs
            np.testing.assert_array_equal(ours.to_dense(), dense)
            if layout == "coordinate":
                theirs.sum_duplicates()
                assert ours.nse == theirs.nnz


def cases():
    text = CORPUS.read_text()
    for block in re.split(r"\n(?=case )", text)[1:]:
        name, expect, *lines = block.splitlines()
        line, column, fragment = re.match(r"expect\s+(\d+) (\d+)\s+(.*)", expect).groups()
        lines = [x[1:] for x in lines if x.startswith("|")]
        unescape = lambda s: re.sub(
            rb"\\(0|r|x..)", lambda m: {b"0": b"\0", b"r": b"\r"}.get(m[1]) or bytes([int(m[1][1:], 16)]), s.encode()
        )
        data = b"".join(unescape(x) + b"\n" for x in lines if x != "\\")
        yield pytest.param(
            data[:-1] if lines and lines[-1] == "\\" else data, int(line), int(column), fragment, id=name[8:]
        )


@pytest.mark.parametrize("data,line,column,fragment", list(cases()))
def test_malformed(data, line, column, fragment, tmp_path):
    start = time.perf_counter()
    with pytest.raises(st.FileError) as e:
        read_bytes(data, tmp_path)
    assert time.perf_counter() - start < 10  # told at once, not after reading on
    assert f"file.mtx, line {line}, column {column}: " in str(e.value)
    assert fragment in str(e.value)
    assert e.value.what and isinstance(e.value, OSError) and isinstance(e.value, ValueError)


def test_headers_that_lie_cost_no_memory(tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for size in ("1000000000 1000000000 1000000000000000000", "2 2 9223372036854775807", "10 10 4000000000"):
        with pytest.raises(st.FileError, match="the file ends too early"):
            read_bytes(f"%%MatrixMarket matrix coordinate real general\n{size}\n1 1 1\n".encode(), tmp_path)
    with pytest.raises(st.FileError, match="the file ends too early"):
        read_bytes(b"%%MatrixMarket matrix array real general\n100000 100000\n1\n", tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_every_cut(tmp_path):
    data = b"%%MatrixMarket matrix coordinate real symmetric\n% c\n4 4 4\n1 1 1.5\n2 1 -2e1\n4 4 7\n4 3 0.25\n"
    good = 0
    for n in range(len(data) + 1):
        try:
            read_bytes(data[:n], tmp_path).validate()
            good += 1
        except st.FileError:
            pass
    assert good in (4, 5)  # 0.25, 0.2, "0.", 0 are numbers too; cuts behind them are legal files


@pytest.mark.parametrize("dtype", dtypes.NUMPY)
@pytest.mark.parametrize(
    "text", ["COO", "CSR", "CSC", "BSR(2, 3)", "(i, j) -> (j - i : compressed, i : range)", "dense"]
)
def test_round_trip(dtype, text, tmp_path):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((7, 8)) * 50
    if dtype.startswith("complex"):
        a = a + 1j * rng.standard_normal((7, 8))
    a = (abs(a) if dtype.startswith("u") else a).astype(dtype)
    a[rng.random((7, 8)) < 0.6] = 0
    st.write(tmp_path / "a.mtx", st.from_dense(a, text))
    back = st.read(tmp_path / "a.mtx")
    np.testing.assert_array_equal(back.to_dense().astype(dtype), a)
    np.testing.assert_array_equal(
        scipy.io.mmread(tmp_path / "a.mtx", spmatrix=False).toarray()
        if text != "dense"
        else scipy.io.mmread(tmp_path / "a.mtx"),
        back.to_dense(),
    )


def test_bits_survive(tmp_path):
    bits = np.array(
        [
            0x7FF8000000000001,
            0xFFF8000000000000,
            0x7FF4000000000001,
            0x0000000000000001,
            0x8000000000000000,
            0x7FEFFFFFFFFFFFFF,
            0xFFF0000000000000,
        ],
        np.uint64,
    )
    random = np.random.default_rng(3).integers(0, 2**64, 2000, dtype=np.uint64)
    bits = np.concatenate([bits, random])
    n = len(bits)
    t = st.from_coo((np.zeros(n, np.int64), np.arange(n)), bits.view(np.float64), (1, n), "CSR")
    st.write(tmp_path / "bits.mtx", t)
    np.testing.assert_array_equal(st.read(tmp_path / "bits.mtx").values.view(np.uint64), bits)
    scipy.io.mmread(tmp_path / "bits.mtx")  # others can read it too


def test_progress(tmp_path):
    n = 200_000
    a = sp.coo_matrix((np.ones(n), (np.arange(n), np.arange(n))), (n, n))
    scipy.io.mmwrite(tmp_path / "a.mtx", a)
    shares = []
    t = st.read(tmp_path / "a.mtx", progress=shares.append)
    assert t.nse == n and shares == sorted(shares) and shares[-1] == 1 and len(shares) >= 3

    def stop(share):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        st.read(tmp_path / "a.mtx", progress=stop)


def test_writing_fails_cleanly(tmp_path):
    t = st.from_dense(np.eye(3), "CSR")
    path = tmp_path / "old.mtx"
    st.write(path, t)
    old = path.read_bytes()
    code = f"""
import resource, numpy as np, strata as st
big = st.from_dense(np.ones((400, 400)), "CSR")
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
try:
    st.write({str(path)!r}, big)
except st.FileError as e:
    print(e)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot write" in out.stdout and "File too large" in out.stdout
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["old.mtx"]
    for bad in (tmp_path / "old.mtx" / "x.mtx", tmp_path / "none" / "x.mtx"):
        with pytest.raises(st.FileError):
            st.write(bad, t)
        with pytest.raises(st.FileError):
            st.read(bad)
    with pytest.raises(st.FileError, match="2 dimensions"):
        st.write(tmp_path / "x.mtx", st.from_dense(np.ones(3), "SparseVector"))
    with pytest.raises(st.FileError, match="not known"):
        st.read(tmp_path / "x.csv")


def test_texts(tmp_path):
    t = _core.parse_matrix_market("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 5\n", "mine")
    assert t[0, 0] == 5
    with pytest.raises(st.FileError, match="mine, line 1"):
        _core.parse_matrix_market("nonsense", "mine")


def test_links_and_pipes(tmp_path):
    t = st.from_dense(np.eye(2), "CSR")
    (tmp_path / "real.mtx").write_text("old")
    (tmp_path / "link.mtx").symlink_to(tmp_path / "real.mtx")
    st.write(tmp_path / "link.mtx", t)
    assert (tmp_path / "link.mtx").is_symlink() and st.read(tmp_path / "real.mtx").nse == 2
    import os
    import threading

    os.mkfifo(tmp_path / "pipe.mtx")
    writer = threading.Thread(
        target=lambda: (tmp_path / "pipe.mtx").write_text(
            "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2 1\n"
        )
    )
    writer.start()
    assert st.read(tmp_path / "pipe.mtx").to_dense().tolist() == [[0, 0], [1, 0]]
    writer.join()


def test_other_files_are_refused_with_a_remedy(tmp_path):
    for name, fix in (
        ("bar.gz", ""),
        ("bar.mtx.zip", "unzip"),
        ("bar.mtx.tgz", "tar xf"),
        ("bar.tar.gz", "tar xf"),
        ("bar.zip", "unzip"),
        ("bar.txt", "np.loadtxt"),
        ("bar", ""),
    ):
        with pytest.raises(st.FileError, match="'.mtx'") as e:
            st.read(tmp_path / name)
        assert fix in e.value.fix and bool(e.value.fix) == bool(fix), name


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".GZ"])
def test_packed_files(suffix, tmp_path):
    open_packed = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix.lower()]
    a = sp.random_array((30, 20), density=0.3, rng=np.random.default_rng(1), format="coo")
    t, path = st.from_scipy(a.tocsr()), tmp_path / ("a.mtx" + suffix)
    st.write(path, t)
    with open_packed(path, "rb") as file:
        text = file.read()
    st.write(tmp_path / "plain.mtx", t)
    assert text == (tmp_path / "plain.mtx").read_bytes()
    assert sorted(os.listdir(tmp_path)) == sorted([path.name, "plain.mtx"])  # nothing is left behind
    got = st.read(path)
    assert got.equal(st.read(tmp_path / "plain.mtx"), storage=True) and st.equal(got, t)
    assert (got.to_scipy() != a).nnz == 0
    assert st.read_matrix_market(path).equal(got, storage=True)
    st.write_matrix_market(path, t * 2)
    assert st.equal(st.read(os.fspath(path)), t * 2)
    shares = []
    st.read(path, progress=shares.append)
    assert shares[-1] == 1 and shares == sorted(shares)
    if suffix == ".gz":
        assert (scipy.io.mmread(path).tocsr() != (a * 2).tocsr()).nnz == 0
        (tmp_path / "twice.mtx.gz").write_bytes(gzip.compress(text[:50]) + gzip.compress(text[50:]))
        assert st.equal(st.read(tmp_path / "twice.mtx.gz"), t)  # files of several members


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_broken_packed_files(suffix, tmp_path):
    path = tmp_path / ("a.mtx" + suffix)
    with pytest.raises(st.FileError, match="No such file"):
        st.read(path)
    st.write(path, st.from_dense(np.random.default_rng(0).random((40, 40)), "CSR"))
    whole = path.read_bytes()
    for broken in (b"", b"plain text", whole[: len(whole) // 2], whole[:20] + b"\xff\x00" * 40 + whole[100:]):
        path.write_bytes(broken)
        with pytest.raises(st.FileError):
            st.read(path)
    with pytest.raises(st.FileError, match="line 1"):
        with {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}[suffix](path, "wb") as file:
            file.write(b"no market\n")
        st.read(path)
    with pytest.raises(st.FileError):
        st.write(tmp_path / "nowhere" / ("a.mtx" + suffix), st.from_dense(np.eye(2), "CSR"))
    with pytest.raises(st.FileError):
        st.write(path, st.from_dense(np.ones((2, 2, 2)), "COO"))
    assert os.listdir(tmp_path) == [path.name]
    (tmp_path / "link.mtx.gz").symlink_to(path)
    st.write(tmp_path / "link.mtx.gz", st.from_dense(np.eye(2), "CSR"))
    assert (tmp_path / "link.mtx.gz").is_symlink()


def test_a_packed_file_of_the_wrong_name_says_so(tmp_path):
    (tmp_path / "a.mtx").write_bytes(gzip.compress(b"%%MatrixMarket matrix array real general\n1 1\n1\n"))
    with pytest.raises(st.FileError, match="mtx.gz"):
        st.read(tmp_path / "a.mtx")


def test_fortran_exponents(tmp_path):
    for text, value in (
        ("1.5D+02", 150.0),
        ("1.5d+02", 150.0),
        ("-1.5D-02", -0.015),
        ("+.25D3", 250.0),
        ("1D0", 1.0),
        ("7.D1", 70.0),
        ("1D-400", 0.0),
        ("0.1234567890123456789D1", 1.234567890123456789),
    ):
        data = f"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {text}\n".encode()
        assert read_bytes(data, tmp_path).values.tolist() == [value], text
        data = f"%%MatrixMarket matrix array complex general\n1 1\n{text} {text}\n".encode()
        assert read_bytes(data, tmp_path).to_dense().tolist() == [[complex(value, value)]]
    for text in (
        "1.5D",
        "1.5D+",
        "D2",
        "1.5D2D3",
        "1.5DD2",
        "1.5D 2",
        "1.5D2x",
        "1e5D2",
        "infD2",
        "nanD2",
        "-D2",
        "1D400",
    ):
        data = f"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 {text}\n".encode()
        with pytest.raises(st.FileError, match="line 3"):
            read_bytes(data, tmp_path)
    with pytest.raises(st.FileError, match="line 3"):
        read_bytes(b"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1D0\n", tmp_path)


def test_a_skew_symmetric_file_may_store_a_zero_diagonal(tmp_path):
    for field, zero, value in (
        ("real", "0.0", "4"),
        ("real", "-0", "4"),
        ("integer", "0", "4"),
        ("complex", "0 0", "4 1"),
    ):
        data = f"%%MatrixMarket matrix coordinate {field} skew-symmetric\n3 3 3\n1 1 {zero}\n2 1 {value}\n3 3 {zero}\n"
        got, want = read_bytes(data.encode(), tmp_path), scipy.io.mmread(io.BytesIO(data.encode()))
        assert got.nse == want.nnz == 4
        np.testing.assert_array_equal(got.to_dense(), want.toarray())
        with pytest.raises(st.FileError, match="diagonal"):
            read_bytes(
                data.replace(f"3 3 {zero}\n", "3 3 1 1\n" if field == "complex" else "3 3 1\n").encode(), tmp_path
            )
    with pytest.raises(st.FileError, match="diagonal"):
        read_bytes(b"%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n1 1\n", tmp_path)
