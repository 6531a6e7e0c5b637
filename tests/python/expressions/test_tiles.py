"""Sums in registers: the columns of a dense result in vectors, the terms of a sum in chains, products of a semiring
without the choices that only infinities and NaN need. Compared with NumPy."""

import functools

import numpy as np
import pytest

import strata as st

#: name, what a product is, what a sum is, the value of what is absent
RINGS = [
    ("min_plus", np.add, np.minimum, np.inf),
    ("max_plus", np.add, np.maximum, -np.inf),
    ("max_times", np.multiply, np.maximum, -np.inf),
]
#: columns: less than a vector, vectors and a rest, several pieces, a number that is no constant of the text
COLUMNS = [2, 3, 8, 17, 64, 129, 300]
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, -2.0]


def matrix(rng, shape, density, dtype):
    """Values and where they are stored."""
    stored = rng.random(shape) < density
    stored[shape[0] // 2] = False  # a row without elements
    return np.where(stored, whole_numbers(rng, shape), 0).astype(dtype), stored


def whole_numbers(rng, shape):
    """In whatever order they are added and multiplied, nothing is rounded."""
    return rng.integers(-9, 10, shape).astype(np.float64)


def with_special(rng, values, share):
    out = values.copy()
    some = rng.random(values.shape) < share
    out[some] = rng.choice(np.array(SPECIAL, dtype=values.dtype), some.sum())
    return out


def tensor(values, stored, fmt):
    """These elements, explicit zeros too."""
    coords = np.ascontiguousarray(np.argwhere(stored).T)
    return st.from_coo(coords, values[stored], values.shape).to(fmt, zeros="keep")


def in_ring(ring, stored, *factors):
    """The sum over j of the products over (i, j, k), where they are stored."""
    _, times, plus, absent = ring

    def product(a, b):
        a, b = np.broadcast_arrays(a, b)
        return np.where((a == absent) | (b == absent), absent, times(a, b))

    with np.errstate(all="ignore"):
        all_products = functools.reduce(product, factors)
        terms = np.where(stored, all_products, absent).astype(all_products.dtype)
        return plus.reduce(terms, axis=1)


@pytest.mark.parametrize("ring", RINGS, ids=lambda r: r[0])
@pytest.mark.parametrize("share", [0, 0.02, 0.5], ids=["numbers", "few-special", "many-special"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_semirings(ring, share, dtype):
    rng = np.random.default_rng(7)
    for columns in COLUMNS:
        for fmt in ("CSR", "COO", "DCSR", "CSC"):
            a, stored = matrix(rng, (23, 40), 0.3, dtype)
            a = np.where(stored, with_special(rng, a, share), 0).astype(dtype)
            b = with_special(rng, whole_numbers(rng, (40, columns)).astype(dtype), share)
            t = tensor(a, stored, fmt)
            got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=t, B=b, semiring=ring[0])
            expected = in_ring(ring, stored[:, :, None], a[:, :, None], b[None])
            np.testing.assert_array_equal(np.asarray(got), expected, f"{fmt}, {columns} columns")
            got = st.evaluate("y(i) = A(i,j) * x(j)", A=t, x=b[:, 0].copy(), semiring=ring[0])
            np.testing.assert_array_equal(np.asarray(got), expected[:, 0], f"{fmt}, a vector")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_integers_and_sums(dtype):
    """plus-times beside another sparse operand, and integers, whose absent value is their largest."""
    rng = np.random.default_rng(11)
    for columns in COLUMNS:
        a, stored = matrix(rng, (19, 33), 0.3, dtype)
        d, others = matrix(rng, (19, 33), 0.2, dtype)
        b = whole_numbers(rng, (33, columns)).astype(dtype)
        A, D = tensor(a, stored, "CSR"), tensor(d, others, "CSR")
        got = st.evaluate("C(i,k) = (A(i,j) + D(i,j)) * B(j,k)", A=A, D=D, B=b)
        np.testing.assert_array_equal(np.asarray(got), np.einsum("ij,jk->ik", a + d, b))
        got = st.evaluate("C(i,k) = A(i,j) * D(i,j) * B(j,k) * E(i,k)", A=A, D=D, B=b, E=b[:19].copy())
        np.testing.assert_array_equal(np.asarray(got), np.einsum("ij,jk,ik->ik", a * d, b, b[:19]))
        got = st.evaluate("y(k) = A(i,j) * D(i,j) * B(j,k)", A=A, D=D, B=b)
        np.testing.assert_array_equal(np.asarray(got), np.einsum("ij,jk->k", a * d, b))
        got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=b, semiring="min_plus")
        absent = np.array(np.inf if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max, dtype)
        sums = np.where(stored[:, :, None], a[:, :, None] + b[None], absent).min(1)
        np.testing.assert_array_equal(np.asarray(got), sums)


def test_functions():
    """Functions of a dense operand, in vectors, and float32 sums of few terms."""
    rng = np.random.default_rng(13)
    for columns in COLUMNS:
        a, stored = matrix(rng, (50, 70), 0.3, np.float32)
        b = rng.standard_normal((70, columns)).astype(np.float32)
        got = st.evaluate("C(i,k) = A(i,j) * exp(B(j,k))", A=tensor(a, stored, "CSR"), B=b)
        wide, e = a.astype(np.float64), np.exp(b.astype(np.float64))
        expected, terms = wide @ e, np.abs(wide) @ e
        assert np.all(np.abs(np.asarray(got) - expected) <= 1e-6 * terms)
        got = st.evaluate("C(i,k) = sum(j, A(i,j) * max(B(j,k), 0) - A(i,j))", A=tensor(a, stored, "CSR"), B=b)
        expected = wide @ np.maximum(b, 0) - wide.sum(1)[:, None]
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("ring", RINGS, ids=lambda r: r[0])
def test_three_indices(ring):
    """MTTKRP in a semiring: two sums inside the vectors, and a factor that is known between them."""
    rng = np.random.default_rng(17)
    for columns in COLUMNS:
        stored = rng.random((9, 8, 7)) < 0.2
        t = np.where(stored, with_special(rng, whole_numbers(rng, stored.shape), 0.02), 0)
        b, d = (with_special(rng, whole_numbers(rng, (n, columns)), 0.02) for n in (8, 7))
        T = tensor(t, stored, "CSF")
        got = st.evaluate("C(i,r) = T(i,j,k) * B(j,r) * D(k,r)", T=T, B=b, D=d, semiring=ring[0])
        factors = [x.reshape(9, 56, -1) for x in np.broadcast_arrays(t[..., None], b[None, :, None], d[None, None])]
        expected = in_ring(ring, stored.reshape(9, 56, 1), *factors)
        np.testing.assert_array_equal(np.asarray(got), expected, f"{columns} columns")


def test_memory_in_another_order():
    """What lies column by column, or with gaps, has no vectors along its columns."""
    rng = np.random.default_rng(19)
    a, stored = matrix(rng, (23, 40), 0.3, np.float64)
    A = tensor(a, stored, "CSR")
    wide = rng.standard_normal((40, 40))
    for b in (np.asfortranarray(wide[:, :20]), wide[:, ::2], wide[:, ::-1], wide[::-1, :20], wide.T[:, :20]):
        got = st.evaluate("C(i,k) = A(i,j) * B(j,k)", A=A, B=b, semiring="max_plus")
        expected = in_ring(RINGS[1], stored[:, :, None], a[:, :, None], b[None])
        np.testing.assert_array_equal(np.asarray(got), expected)


def test_explain_says_so():
    A = st.from_dense(np.eye(40), "CSR")
    told = str(st.explain("C(i,k) = A(i,j) * B(j,k)", A=A, B=np.ones((40, 64)), semiring="min_plus"))
    assert "at a time" in told, told


@pytest.mark.parametrize("formula", ["min(max(a, b), 2 * a + b)", "abs(a - b)", "relu(a) + sign(b)", "a / 2 - b"])
def test_a_users_products(formula):
    """In vectors as well, with all choices."""
    rng = np.random.default_rng(23)

    def products(a, b):
        return eval(formula, {"min": np.minimum, "max": np.maximum, "abs": np.abs, "sign": np.sign,
                              "relu": lambda x: np.maximum(x, 0), "a": a, "b": b})  # fmt: skip

    for columns in COLUMNS:
        a, stored = matrix(rng, (23, 40), 0.3, np.float64)
        a = np.where(stored, with_special(rng, a, 0.02), 0)
        b = with_special(rng, whole_numbers(rng, (40, columns)), 0.02)
        for add, plus, zero in (("min(a, b)", np.minimum, np.inf), ("max(a, b)", np.maximum, -np.inf)):
            got = st.evaluate(
                "C(i,k) = A(i,j) * B(j,k)",
                A=tensor(a, stored, "CSR"),
                B=b,
                semiring=st.Semiring(add=add, multiply=formula, zero=zero),
            )
            expected = in_ring((formula, products, plus, zero), stored[:, :, None], a[:, :, None], b[None])
            np.testing.assert_array_equal(np.asarray(got), expected, f"{columns} columns")


@pytest.mark.parametrize("fmt", ["CSR", "COO", "DCSR", "ELL"])
@pytest.mark.parametrize("engine", ["jit", "interpreter"])
def test_rows_that_are_far(fmt, engine, monkeypatch):
    """Rows of a large B are prefetched, up to the last element and none behind it."""
    monkeypatch.setattr(st.settings, "engine", engine)
    rng = np.random.default_rng(29)
    rows, height = 50, 40_000
    for columns in (5, 64, 150):
        b = whole_numbers(rng, (height, columns))
        stored = np.zeros((rows, height), bool)
        stored[rng.integers(0, rows - 9, 300), rng.integers(0, height, 300)] = True
        stored[rows - 10, height - 1] = True  # behind it are rows without elements
        i, j = np.nonzero(stored)
        values = whole_numbers(rng, i.shape)
        A = st.from_coo(np.stack([i, j]), values, stored.shape).to(fmt, zeros="keep")
        for text, product, plus, absent, ring in (
            ("C(i,k) = A(i,j) * abs(B(j,k))", lambda a, b: a * np.abs(b), np.add, 0, "plus_times"),
            ("C(i,k) = A(i,j) * B(j,k)", np.add, np.minimum, np.inf, "min_plus"),
            ("C(i,k) = A(i,j) * B(j,k)", lambda a, b: (a != 0) & (b != 0), np.logical_or, False, "or_and"),
            ("C(i,k) = max(j, A(i,j) * B(j,k))", np.multiply, np.maximum, -np.inf, "plus_times"),
        ):
            expected = np.full((rows, columns), absent)
            for at, (row, column) in enumerate(zip(i, j, strict=True)):
                expected[row] = plus(expected[row], product(values[at], b[column]))
            if "max(j" in text:  # what is absent counts as 0
                expected = np.maximum(expected, 0)
            got = st.evaluate(text, A=A, B=b, semiring=ring)
            np.testing.assert_array_equal(np.asarray(got), expected, f"{text}, {ring}, {columns} columns")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_reductions_that_count_what_is_absent(dtype):
    rng = np.random.default_rng(31)
    for columns in COLUMNS:
        for density in (0.3, 0.97):
            a, stored = matrix(rng, (23, 12), density, dtype)
            stored[3] = True  # a row without gaps: nothing counts but its products
            b = np.abs(whole_numbers(rng, (12, columns))).astype(dtype) + dtype(1)
            products = np.where(stored[:, :, None], a[:, :, None] * b[None], 0).astype(dtype)
            for name, reduce in (("max", np.max), ("min", np.min), ("any", np.any), ("all", np.all)):
                got = st.evaluate(f"C(i,k) = {name}(j, A(i,j) * B(j,k))", A=tensor(a, stored, "CSR"), B=b)
                np.testing.assert_array_equal(np.asarray(got), reduce(products, axis=1), f"{name}, {columns} columns")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("share", [0, 0.02], ids=["numbers", "special"])
def test_inner_sums_under_a_pattern(dtype, share):
    """Sums, extremes and semirings along two dense rows, for the elements of a sparse operand or a mask alone."""
    rng = np.random.default_rng(37)
    for length in [1, 2, 7, 8, 16, 17, 64, 129, 200]:
        a, stored = matrix(rng, (11, 13), 0.4, dtype)
        a[stored] = np.abs(a[stored]) + dtype(1)
        A = tensor(a, stored, "CSR")
        x, y = (with_special(rng, whole_numbers(rng, (n, length)).astype(dtype), share) for n in (11, 13))
        with np.errstate(all="ignore"):
            sums, products = x[:, None] + y[None], x[:, None] * y[None]
            expected = {
                "C(i,j) = A(i,j) * sum(k, abs(X(i,k) - Y(j,k)))": np.abs(x[:, None] - y[None]).sum(2, dtype=np.float64),
                "C(i,j) = A(i,j) * sum(k, X(i,k) * Y(j,k))": products.sum(2, dtype=np.float64),
                "C(i,j) = A(i,j) * max(k, X(i,k) + Y(j,k))": sums.max(2),
                "C(i,j) = A(i,j) * min(k, X(i,k) * Y(j,k))": products.min(2),
            }
            for text, inner in expected.items():
                got = st.evaluate(text, A=A, X=x, Y=y)
                want = np.where(stored, a * inner, 0).astype(dtype)
                np.testing.assert_array_equal(np.asarray(got.to_dense()), want, f"{text}, {length}")
        for ring in RINGS:
            inner = in_ring(ring, np.ones((11, length, 1), bool), x[:, :, None], np.swapaxes(y, 0, 1)[None])
            for complement in (False, True):
                got = st.evaluate(
                    "C(i,j) = X(i,k) * Y(j,k)",
                    X=x,
                    Y=y,
                    semiring=ring[0],
                    mask=A,
                    complement_mask=complement,
                    format="CSR",
                )
                want = np.where(stored != complement, inner, dtype(ring[3]))
                np.testing.assert_array_equal(np.asarray(got.to_dense()), want, f"{ring[0]}, {length}, {complement}")
