"""Work on the elements of matrices stored by diagonals: along them, against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

TEXTS = {
    "A(i,j) + B(i,j)": lambda a, b, x: a + b,
    "A(i,j) - 2 * B(i,j)": lambda a, b, x: a - 2 * b,
    "A(i,j) * B(i,j)": lambda a, b, x: a * b,
    "A(i,j) * B(i,j) + A(i,j)": lambda a, b, x: a * b + a,
    "exp(A(i,j)) - 1": lambda a, b, x: np.exp(a) - 1,
    "max(A(i,j), B(i,j))": lambda a, b, x: np.maximum(a, b),
    "A(i,j) * x({})": lambda a, b, x: a * x,
    "A(i,j) * x({}) - B(i,j) / 4": lambda a, b, x: a * x - b / 4,
    "abs(A(i,j) * A(i,j)) > 4": lambda a, b, x: abs(a * a) > 4,
    "A(i,j) + 1": lambda a, b, x: a + 1,
}


def band(shape, offsets, seed, dtype=np.float64):
    r = np.random.default_rng(seed)
    a = np.zeros(shape, dtype)
    for d in offsets:
        a += (
            np.diag(r.integers(-9, 10, max(shape)).astype(dtype), d)[: shape[0], : shape[1]]
            if abs(d) < max(shape)
            else 0
        )
    return a


def stored(a, fmt):
    """By diagonals, with what must not be read where they leave the matrix."""
    t = st.from_dense(a, fmt)
    along, offsets = int(fmt == "DIAJ"), np.asarray(t.crd(0))
    values = np.array(t.values).reshape(len(offsets), a.shape[along])
    place = np.arange(a.shape[along])
    for k, d in enumerate(offsets):
        other = place - d if along else place + d
        outside = (other < 0) | (other >= a.shape[1 - along])
        values[k, outside] = np.nan if values.dtype.kind == "f" else 77
    return st.Tensor(fmt, a.shape, pos={0: [0, len(offsets)]}, crd={0: offsets}, values=values.ravel())


@pytest.mark.parametrize("fmt", ["DIAI", "DIAJ"])
@pytest.mark.parametrize("shape", [(30, 30), (40, 23), (23, 40), (1, 9), (9, 1)])
@pytest.mark.parametrize("text", TEXTS)
def test_elementwise(text, shape, fmt, settings):
    a, b = band(shape, [-7, -1, 0, 2, 15], 1), band(shape, [-1, 0, 1, 2], 2)
    x = np.random.default_rng(3).integers(-5, 6, shape[fmt == "DIAJ"]).astype(float)
    want = TEXTS[text](a, b, x if fmt == "DIAJ" else x[:, None])
    text = "C(i,j) = " + text.format("j" if fmt == "DIAJ" else "i")
    named = dict(A=stored(a, fmt), B=stored(b, fmt), x=x)
    operands = {k: named[k] for k in st._core.expression_operands(text)}
    told = st.explain(text, operands, format=fmt)
    assert "then converts" not in told and "first A" not in told, told
    got = st.evaluate(text, operands, format=fmt)
    got.validate()
    assert got.format == st.Format(fmt) and got.shape == shape
    np.testing.assert_allclose(got.to_numpy(), want, rtol=1e-15, atol=0)
    values = got.values.tobytes()
    for threads in (1, 2, 7):
        settings.threads = threads
        assert st.evaluate(text, operands, format=fmt).to_numpy().tobytes() == got.to_numpy().tobytes()
    assert got.values.tobytes() == values


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, np.bool_])
def test_dtypes(dtype):
    a, b = (band((50, 41), [-3, 0, 1, 5], s).astype(dtype) for s in (4, 5))
    got = st.evaluate("C(i,j) = A(i,j) * B(i,j)", A=st.from_dense(a, "DIAI"), B=st.from_dense(b, "DIAI"), format="DIAI")
    assert got.dtype == (a * b).dtype
    np.testing.assert_array_equal(got.to_numpy(), a * b)


def test_integers_divide():
    a, b = band((20, 30), [-3, 0, 4], 6, np.int64), band((20, 30), [-3, 0, 4], 7, np.int64)
    b[b == 0] = 3
    for other in ("CSR", "DIAJ"):  # of diagonals: by 0 where they leave the matrix
        got = st.evaluate("C(i,j) = A(i,j) // B(i,j)", A=stored(a, "DIAJ"), B=st.from_dense(b, other), format="DIAJ")
        np.testing.assert_array_equal(got.to_numpy(), a // b)


def test_what_is_stored_stays():
    a = band((12, 12), [0, 1], 8)
    a[0, 0], a[3, 4], a[5, 5] = -0.0, np.nan, np.inf
    A = st.from_scipy(sp.dia_array(a))
    got = st.evaluate("C(i,j) = A(i,j) * 1 + A(i,j) * 0", A=A, format=A.format).to_numpy()
    np.testing.assert_array_equal(got, a * 1 + a * 0)


def test_other_storage_beside():
    """By the other index, transposed, or not by diagonals at all: right all the same."""
    a, b = band((30, 30), [-2, 0, 3], 9), band((30, 30), [-1, 0, 1], 10)
    for first, second, text in (("DIAI", "DIAJ", "B(i,j)"), ("DIAI", "DIAI", "B(j,i)"), ("DIAJ", "CSR", "B(i,j)")):
        want = a + (b.T if "j,i" in text else b)
        got = st.evaluate(
            "C(i,j) = A(i,j) + " + text, A=st.from_dense(a, first), B=st.from_dense(b, second), format=first
        )
        np.testing.assert_array_equal(got.to_numpy(), want)


def test_with_other_storage_it_goes_by_rows():
    a = band((30, 30), [-1, 0, 1], 11)
    D = st.from_dense(a, "DIAI")
    for other in ("CSR", "COO", "DIAJ"):
        got = D + st.from_dense(a, other)
        assert got.format == st.Format("(i, j) -> (i : compressed, j : compressed)")
        np.testing.assert_array_equal(got.to_numpy(), 2 * a)
    assert (D + D).format == (D * D).format == (D + 1).format == D.format


def test_nothing_and_empty():
    for shape in ((0, 5), (5, 0), (4, 6)):
        A = st.from_dense(np.zeros(shape), "DIAI")
        got = st.evaluate("C(i,j) = A(i,j) + A(i,j)", A=A, format="DIAI")
        assert got.shape == shape and not got.to_numpy().any()


def random_tree(r, depth, leaves):
    """(text, function of the leaves' arrays): sums, products, functions of small integers."""
    if depth == 0 or r.random() < 0.2:
        name = leaves[r.integers(len(leaves))]
        return name, lambda of: of[name.split("(")[0]]
    if r.random() < 0.3:
        name, f = [("abs", np.abs), ("sign", np.sign), ("-", np.negative), ("relu", lambda x: np.maximum(x, 0))][
            r.integers(4)
        ]
        text, inner = random_tree(r, depth - 1, leaves)
        return f"{name}({text})", lambda of: f(inner(of))
    op, f = [("+", np.add), ("-", np.subtract), ("*", np.multiply), ("max", np.maximum), ("min", np.minimum)][
        r.integers(5)
    ]
    (one, g), (two, h) = (random_tree(r, depth - 1, leaves) for _ in range(2))
    text = f"{op}({one}, {two})" if op in ("max", "min") else f"({one} {op} {two})"
    return text, lambda of: f(g(of), h(of))


@pytest.mark.parametrize("block", range(10))
def test_random(block):
    along = 0
    for seed in range(40 * block, 40 * (block + 1)):
        r = np.random.default_rng([7, seed])
        fmt = ("DIAI", "DIAJ")[r.integers(2)]
        shape = tuple(int(n) for n in r.integers(1, 12, 2))
        offsets = [r.permutation(np.arange(1 - shape[0], shape[1]))[: r.integers(0, 5)] for _ in range(3)]
        of = {k: band(shape, o, seed) for k, o in zip("ABC", offsets)}
        index = "j" if fmt == "DIAJ" else "i"
        of["x"] = r.integers(-4, 5, shape[fmt == "DIAJ"]).astype(float)
        text, f = random_tree(r, 3, ["A(i,j)", "B(i,j)", "C(i,j)", f"x({index})"])
        if not any(k + "(i,j)" in text for k in "ABC"):
            continue
        operands = {
            k: stored(of[k], fmt) if k != "x" else of[k] for k in st._core.expression_operands("R(i,j) = " + text)
        }
        of["x"] = of["x"] if fmt == "DIAJ" else of["x"][:, None]
        told = st.explain("R(i,j) = " + text, operands, format=fmt)
        along += "(d : compressed" in told or "over the slots" in told
        got = st.evaluate("R(i,j) = " + text, operands, format=fmt)
        got.validate()
        assert np.array_equal(got.to_numpy(), np.broadcast_to(f(of), shape)), (seed, text)
    assert along > 20
