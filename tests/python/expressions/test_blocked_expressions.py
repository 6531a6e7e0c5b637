"""Expressions over operands stored in blocks: their indices are cut in two, and nothing is converted."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


def blocked_format(rng, indices, sizes):
    """A format that stores each index of `sizes` in blocks of that size: blocks first, then what is within."""
    blocks = [f"{i}/{sizes[i]}" if i in sizes else i for i in indices]
    order = rng.permutation(len(indices))
    levels = [f"{blocks[d]} : compressed" for d in order]
    if rng.random() < 0.7:
        levels[0] = levels[0].replace("compressed", "dense")
    within = [i for i in indices if i in sizes]
    levels += [f"{within[k]} % {sizes[within[k]]} : dense" for k in rng.permutation(len(within))]
    return f"({', '.join(indices)}) -> ({', '.join(levels)})"


def values(rng, shape, density=0.15):
    return np.where(rng.random(shape) < density, rng.integers(-4, 5, shape), 0).astype(np.float64)


CASES = [
    ("R(i,k) = A(i,j) * B(j,k)", "ij,jk", lambda a, b: a @ b),
    ("R(k,i) = A(i,j) * B(j,k)", "ij,jk", lambda a, b: (a @ b).T),
    ("R(i,j) = A(i,j) + 2 * B(i,j)", "ij,ij", lambda a, b: a + 2 * b),
    ("R(i,j) = A(i,j) * B(j,i)", "ij,ji", lambda a, b: a * b.T),
    ("R(i) = A(i,j) * B(i,j)", "ij,ij", lambda a, b: (a * b).sum(1)),
    ("R(i,k) = max(j, A(i,j) * B(j,k))", "ij,jk", lambda a, b: (a[:, :, None] * b[None]).max(1)),
    ("R(i,k) = A(i,j) * B(j,k) - A(i,k)", "ij,jk", lambda a, b: a @ b - a),
    ("R(i,j) = exp(A(i,j) + B(i,j))", "ij,ij", lambda a, b: np.exp(a + b)),
    ("R(i,j) = A(i,j) <= B(i,j)", "ij,ij", lambda a, b: a <= b),
]


@pytest.mark.parametrize("seed", range(30))
def test_against_numpy_and_the_general_path(seed):
    rng = np.random.default_rng(seed)
    spec, accesses, reference = CASES[seed % len(CASES)]
    square = spec.endswith("A(i,k)")
    sizes = {i: int(rng.integers(2, 5)) for i in "ijk"}
    if square:
        sizes["j"] = sizes["k"]
    extents = {i: sizes[i] * int(rng.integers(1, 7)) for i in "ijk"}
    if square:
        extents["j"] = extents["k"]
    operands, arrays = {}, []
    for name, indices in zip("AB", accesses.split(",")):
        a = values(rng, [extents[i] for i in indices])
        arrays.append(a)
        whole = name == "B" and seed % 4 == 3  # a dense operand among them
        operands[name] = a if whole else st.from_dense(a, blocked_format(rng, indices, sizes))
    out = re.findall(r"R\(([a-z,]+)\)", spec)[0].split(",")
    want = reference(*arrays)
    formats = [blocked_format(rng, out, sizes), blocked_format(rng, out, {}), "dense"]
    for format in formats:
        got = st.evaluate(spec, operands, format=format)
        dense = np.asarray(got if isinstance(got, np.ndarray) else got.to_dense())
        np.testing.assert_allclose(dense, want, err_msg=f"{spec} into {format}")
        if not isinstance(got, st.Tensor):
            continue
        got.validate()
        assert got.format == st.Format(format)
        other = st._core.evaluate(spec, operands, format=format, general=True)
        # exp is the C library's there, and our own in generated code: both within a unit in the last place.
        np.testing.assert_allclose(other.to_dense(), dense, rtol=3e-16 if "exp" in spec else 0, err_msg=spec)


def bsr(rng, blocks, density, size, seed):
    A = sp.random(blocks, blocks, density, format="csr", random_state=seed)
    values = rng.integers(-4, 5, (A.nnz, size, size)).astype(float)
    return sp.bsr_array((values, A.indices, A.indptr), shape=(blocks * size,) * 2)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("size", [2, 3, 40])
def test_product_of_block_matrices_at_size(size, threads, settings):
    rng = np.random.default_rng(size)
    n = 3000 // size
    A, B = bsr(rng, n, 8 / n, size, 1), bsr(rng, n, 8 / n, size, 2)
    a, b = st.from_scipy(A), st.from_scipy(B)
    format = f"BSR({size}, {size})"
    how = st.explain("C(i,k) = A(i,j) * B(j,k)", A=a, B=b, format=format)
    assert "in blocks of" in how and "first" not in how and "then converts" not in how
    settings.threads = threads
    got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=a, B=b, format=format)
    got.validate()
    want = A @ B
    assert got.format == st.Format(format)
    assert got.nse == want.data.size
    assert np.array_equal(got.to_scipy().toarray(), want.toarray())


def test_blocks_that_do_not_fit():
    rng = np.random.default_rng(0)
    a, b = values(rng, (10, 12)), values(rng, (12, 9))
    A = st.from_dense(a, "BSR(3, 4)")  # 3 does not divide 10
    for B in (st.from_dense(b, "BSR(4, 3)"), st.from_dense(b, "BSR(2, 3)"), st.from_dense(b, "CSR")):
        for format in ("BSR(3, 3)", "BSR(2, 2)", "CSR", "DIAI"):
            got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, format=format)
            assert np.array_equal(got.to_dense(), a @ b)


def test_blocks_in_blocks():
    rng = np.random.default_rng(1)
    a, b = values(rng, (32, 48)), values(rng, (48, 32))
    nested = "(i,j) -> (i/16: dense, j/16: compressed, i%16/4: dense, j%16/4: compressed, i%16%4: dense, j%16%4: dense)"
    A, B = st.from_dense(a, nested), st.from_dense(b, nested)
    got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, format=nested)
    got.validate()
    assert np.array_equal(got.to_dense(), a @ b)
    got = st.evaluate("C(i,j) = A(i,j) + B(j,i)", A=A, B=B, format=nested)
    assert np.array_equal(got.to_dense(), a + b.T)


@pytest.mark.parametrize("mask_format", ["BSR(3, 2)", "CSR", "dense"])
@pytest.mark.parametrize("complement", [False, True])
def test_masks_over_blocks(mask_format, complement):
    rng = np.random.default_rng(2)
    a, b = values(rng, (24, 20), 0.3), values(rng, (20, 16), 0.3)
    m = values(rng, (24, 16), 0.3)
    A, B, M = (
        st.from_dense(a, "BSR(3, 4)"),
        st.from_dense(b, "BSR(4, 2)"),
        st.from_dense(m != 0 if mask_format == "dense" else m, mask_format),
    )
    # A mask's pattern is what it stores, blocks and all.
    inside = m != 0 if mask_format == "dense" else np.asarray(st.from_dense(m, mask_format).to_dense()) != 0
    for format in ("BSR(3, 2)", "CSR"):
        got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=B, mask=M, complement_mask=complement, format=format)
        other = st._core.evaluate(
            "C(i,k) = A(i,j) * B(j,k)", dict(A=A, B=B), mask=M, complement_mask=complement, format=format, general=True
        )
        assert np.array_equal(got.to_dense(), other.to_dense())
        assert np.array_equal(got.to_dense(), np.where(inside != complement, a @ b, 0))


@pytest.mark.parametrize(
    ("fmt", "shape", "at"),
    [
        ("(i, j, k) -> (j / 2 : compressed, k : dense, j % 2 : dense, i : padded)", (4, 4, 4), (3, 3, 1)),
        ("(i, j, k) -> (k / 3 : bitmap, k % 3 : dense, j : dense, i : compressed)", (3, 3, 4), (2, 0, 0)),
    ],
)
def test_places_of_a_block_that_store_nothing_below_are_no_elements(fmt, shape, at):
    """Of a sum they would be zeros that take part: 0 / 0 is NaN, nothing / 0 is nothing. (Found by a campaign.)"""
    x = np.zeros(shape)
    x[at] = 2
    A = st.from_dense(x, fmt)
    for text in (
        "R(j,k) = sum(i, A(i,j,k)) / Z(j,k)",
        "R(i,k) = sum(j, A(i,j,k)) / Z(i,k)",
        "R(i,j) = sum(k, A(i,j,k)) / Z(i,j)",
    ):
        axis = next(d for d, name in enumerate("ijk") if f"sum({name}" in text)
        zeros = np.zeros(np.delete(shape, axis))
        got = st.evaluate(text, A=A, Z=zeros, format="dense")
        want = np.zeros(zeros.shape)
        want[tuple(np.delete(at, axis))] = np.inf
        np.testing.assert_array_equal(got, want)
