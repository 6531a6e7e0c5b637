"""Any bytes as a .npz file: a FileError that names the file, or a valid tensor. STRATA_FUZZ_SECONDS tries for longer.

The C++ readers have fuzzers of their own (tests/fuzz); this one is Python's: zip, NumPy's headers, and the arrays that become a
tensor, whose checks tests/fuzz/fuzz_raw.cpp tries too.
"""

import io
import os
import time
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

SECONDS = float(os.environ.get("STRATA_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("STRATA_FUZZ_SEED", "0"))
#: what a header says, and what it might say
WORDS = [
    b"<f8",
    b"<f4",
    b"<i4",
    b"<i8",
    b"|b1",
    b"|O",
    b"<U1",
    b"|V4",
    b">f8",
    b"<c16",
    b"(2,",
    b"(3, )",
    b"()",
    b"(-1,)",
]
WORDS += [
    b"(9223372036854775807,)",
    b"(4294967296, 4294967296)",
    b"True",
    b"False",
    b"None",
    b"descr",
    b"shape",
    b"fortran_order",
]
NUMBERS = [-(2**63), -(2**31), -1, 0, 1, 2, 3, 127, 255, 2**31 - 1, 2**32, 2**63 - 1]


def corpus():
    """Files of every kind that SciPy writes, packed and not."""
    rng = np.random.default_rng(0)
    a = sp.csr_array(np.where(rng.random((6, 8)) < 0.4, rng.standard_normal((6, 8)), 0))
    arrays = [a, a.tocsc(), a.tocoo(), a.tobsr((2, 2)), a.todia(), a.astype("float32"), a.astype(bool), a * 1j]
    arrays += [sp.csr_array((0, 3)), sp.coo_array(np.arange(8.0).reshape(2, 2, 2)), sp.csr_matrix(a)]
    for array in arrays:
        for compressed in (False, True):
            out = io.BytesIO()
            sp.save_npz(out, array, compressed)
            yield out.getvalue()


def bent(raw, rng):
    """A file with a few bytes, or a number, or a word of a header, that are others; or cut, or longer."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(raw))) if raw else 0
        how = rng.integers(0, 6)
        if how == 0 and raw:
            raw[at] ^= 1 << rng.integers(8)
        elif how == 1:
            raw[at : at + 8] = int(rng.choice(NUMBERS)).to_bytes(8, "little", signed=True)
        elif how == 2:
            raw[at : at + 4] = (int(rng.choice(NUMBERS)) & 0xFFFFFFFF).to_bytes(4, "little")
        elif how == 3:
            del raw[at : at + int(rng.integers(1, 20))]
        elif how == 4:
            raw[at:at] = bytes(raw[: int(rng.integers(1, 20))])
        else:
            del raw[at:]
    return bytes(raw)


def bent_within(raw, rng):
    """The same of one array of the archive, whose checksum is right again: what the reader itself must see."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
        chosen = rng.integers(len(old.namelist()))
        for k, name in enumerate(old.namelist()):
            member = old.read(name)
            if k == chosen and rng.random() < 0.5:
                member = bent(member, rng)
            elif k == chosen:
                word, other = rng.choice(len(WORDS), 2)
                member = member.replace(WORDS[word], WORDS[other])
                where = 80 + 8 * int(rng.integers(0, 1 + max(0, len(member) - 80) // 8))  # behind the header: entries
                member = (
                    member[:where] + int(rng.choice(NUMBERS)).to_bytes(8, "little", signed=True) + member[where + 8 :]
                )
            if rng.random() < 0.02:
                continue
            other = bent(name.encode(), rng).decode("latin1").partition("\0")[0]
            new.writestr(name if rng.random() > 0.02 or not other else other, member)
    return out.getvalue()


def look(path, raw):
    path.write_bytes(raw)
    try:
        t = st.read(path)
    except st.FileError as e:
        assert path.name in str(e), e
        return 0
    t.validate()
    assert t.nse <= 16 * len(raw) + 1040 * 16
    if t.size <= 1 << 16:
        try:
            t.to_dense()
        except st.TensorError as e:  # 0 x 2^63
            assert t.size == 0 and "NumPy has no array of this shape" in str(e), e
    return 1


@pytest.mark.filterwarnings("ignore")
def test_any_bytes_as_npz(tmp_path):
    files, rng, path = list(corpus()), np.random.default_rng(SEED), tmp_path / "f.npz"
    assert all(look(path, raw) for raw in files)
    until, tried, read = time.monotonic() + SECONDS, 0, 0
    while tried < 1200 or time.monotonic() < until:
        raw = files[tried % len(files)]
        wrong = bent(raw, rng) if tried % 4 == 0 else bent_within(raw, rng)
        try:
            read += look(path, wrong)
        except Exception:
            kept = os.environ.get("STRATA_FUZZ_FOLDER")
            if kept:
                with open(os.path.join(kept, "fault.npz"), "wb") as f:
                    f.write(wrong)
            raise
        tried += 1
    assert 0 < read < tried  # some changes harm nobody, most do
