"""Padded accesses, `X(i + k - 1?)`, against SciPy, torch and sums over padded arrays; and st.pad."""

import numpy as np
import pytest
import scipy.ndimage as ndi
from scipy.signal import convolve2d, correlate2d

import strata as st

FORMATS = [
    "CSR",
    "CSC",
    "COO",
    "BSR(2, 2)",
    "BSR(3, 2)",
    "DIA",
    "DCSR",
    "ELL",
    "delta(4)",
    "bitmap",
    "dense",
    "BSR(4, 4) + COO",
]
DTYPES = ["float64", "float32", "int32", "complex128", "float16"]
rng = np.random.default_rng(0)


def image(shape=(9, 7), dtype="float64", fill=0):
    dense = np.where(rng.random(shape) < 0.4, rng.integers(1, 9, shape), fill)
    return dense.astype(dtype)


def kernel(shape=(3, 3), dtype="float64"):
    return rng.integers(-3, 4, shape).astype(dtype)


def dense(x):
    return x.to_dense() if isinstance(x, st.Tensor) else np.asarray(x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_same_convolution_is_scipys(format, dtype):
    if dtype == "float16" and format == "BSR(4, 4) + COO":
        pytest.skip("the same path")
    D, K = image(dtype=dtype), kernel(dtype=dtype)
    X = st.from_dense(D, format)
    work = "float32" if dtype == "float16" else dtype
    y = st.evaluate("Y(i,j) = X(i + k - 1?, j + l - 1?) * K(k,l)", X=X, K=K)
    np.testing.assert_array_equal(dense(y), correlate2d(D.astype(work), K.astype(work).conj(), "same"))
    y = st.evaluate("Y(i,j) = X(i - k + 1?, j - l + 1?) * K(k,l)", X=X, K=K)
    np.testing.assert_array_equal(dense(y), convolve2d(D.astype(work), K.astype(work), "same"))
    assert dense(y).dtype == dtype


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 4), (11, 9)])
def test_kernels_of_any_size(size):
    D, K = image(), kernel(size)
    a, b = (size[0] - 1) // 2, (size[1] - 1) // 2
    for format in ("CSR", "COO", "dense"):
        text = f"Y(i,j) = X(i - k + {a}?, j - l + {b}?) * K(k,l)"
        full = convolve2d(D, K)
        got = dense(st.evaluate(text, X=st.from_dense(D, format), K=st.from_dense(K, format)))
        np.testing.assert_array_equal(got, full[a : a + 9, b : b + 7])


def test_ndimage():
    D, K = image((4, 5, 6)), kernel((3, 3, 3))
    X = st.from_dense(D, "CSF")
    text = "Y(a,b,c) = X(a + i - 1?, b + j - 1?, c + k - 1?) * K(i,j,k)"
    np.testing.assert_array_equal(dense(st.evaluate(text, X=X, K=K)), ndi.correlate(D, K, mode="constant"))
    d = image((8, 8))
    B = st.from_dense(d, "CSR")
    largest = st.evaluate("Y(i,j) = X(i + k - 1?, j + l - 1?) * K(k,l)", X=B, K=np.zeros((3, 3)), semiring="max-plus")
    np.testing.assert_array_equal(
        dense(largest), ndi.grey_dilation(np.where(d == 0, -np.inf, d), size=(3, 3), mode="constant", cval=-np.inf)
    )


@pytest.mark.parametrize("format", ["CSR", "BSR(2, 2)", "dense"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_torchs_conv2d(format, stride):
    pytest.importorskip("torch.nn")
    import torch

    D, W = image((9, 8)), rng.standard_normal((4, 3, 3))  # one channel in, four out
    rate = 2
    for dilation in (1, rate):
        pad = dilation
        want = torch.nn.functional.conv2d(
            torch.tensor(D)[None, None], torch.tensor(W)[:, None], stride=stride, padding=pad, dilation=dilation
        )[0].numpy()
        text = f"Y(o,i,j) = X({stride}*i + {dilation}*k - {pad}?, {stride}*j + {dilation}*l - {pad}?) * W(o,k,l)"
        got = dense(st.evaluate(text, X=st.from_dense(D, format), W=W))
        assert got.shape == (4, -(-9 // stride), -(-8 // stride))
        np.testing.assert_allclose(got, want, atol=1e-12)


def padded(index, n, terms):
    """The values of an affine index over a grid of the indices `terms`, and where they stay inside."""
    at = sum(c * index[i] for i, c in terms[0].items()) + terms[1]
    return np.clip(at, 0, max(n - 1, 0)), (at >= 0) & (at < n)


@pytest.mark.parametrize("seed", range(60))
def test_random_accesses(seed):
    """Y(i,j) = A(p?, q?) * B(k) over random affine p and q of i, j, k, as NumPy has it."""
    r = np.random.default_rng(seed)
    shape = tuple(r.integers(1, 7, 2))
    fill = r.choice([0, 0, 2])
    D = np.where(r.random(shape) < 0.5, r.integers(1, 9, shape), fill).astype(
        r.choice(["float64", "int32", "complex64"])
    )
    m, n, k = r.integers(1, 6, 3)
    B, Z = r.integers(1, 5, k).astype(D.dtype), np.ones((m, n), D.dtype)
    names = ["i", "j", "k"]
    terms = []
    for _ in range(2):
        chosen = r.choice(names, r.integers(1, 4), replace=False)
        terms.append(({str(x): int(r.choice([-2, -1, 1, 1, 2])) for x in chosen}, int(r.integers(-3, 4))))
    texts = [" + ".join(f"{c}*{x}" for x, c in t.items()).replace("+ -", "- ") + f" + {c0}?" for t, c0 in terms]
    texts = [t.replace("+ -", "- ") for t in texts]
    if any(t.startswith("-") for t in texts):
        texts = ["0 " + ("- " + t[1:] if t.startswith("-") else "+ " + t) for t in texts]
    text = f"Y(i,j) = sum(k, A({texts[0]}, {texts[1]}) * B(k)) * Z(i,j)"
    grid = dict(zip(names, np.indices((m, n, k))))
    p, inside_p = padded(grid, shape[0], terms[0])
    q, inside_q = padded(grid, shape[1], terms[1])
    want = (np.where(inside_p & inside_q, D[p, q], D.dtype.type(fill)) * B).sum(-1)
    format = str(r.choice(FORMATS))
    A = st.from_dense(D, format, fill=fill)
    named = dict(A=A, B=B, Z=Z)
    np.testing.assert_allclose(dense(st.evaluate(text, **named)), want, err_msg=f"{text} of {format} {shape}")
    np.testing.assert_allclose(dense(st._core.evaluate(text, named, general=True)), want)
    np.testing.assert_allclose(
        dense(st.evaluate(text, **{**named, "A": D})),
        want if fill == 0 else dense_padding(D, p, q, inside_p & inside_q, B),
    )


def dense_padding(D, p, q, inside, B):
    """An array's fill is 0."""
    return (np.where(inside, D[p, q], 0) * B).sum(-1)


def test_several_accesses_of_one_operand():
    """A five-point stencil."""
    D = image((6, 8))
    P = np.pad(D, 1)
    want = P[:-2, 1:-1] + P[2:, 1:-1] + P[1:-1, :-2] + P[1:-1, 2:] - 4 * D
    text = "Y(i,j) = X(i - 1?, j) + X(i + 1?, j) + X(i, j - 1?) + X(i, j + 1?) - 4 * X(i,j)"
    for format in FORMATS:
        got = st.evaluate(text, X=st.from_dense(D, format))
        np.testing.assert_array_equal(dense(got), want)
        assert isinstance(got, np.ndarray) == (format == "dense")
    np.testing.assert_array_equal(
        st.evaluate("y(i) = X(i?) + Z(i?)", X=np.ones(2), Z=np.arange(4.0)), [1, 2, 2, 3]
    )  # the longest counts


def test_index_values_masks_and_targets():
    D, x = image((6, 5)), np.arange(5.0)
    X = st.from_dense(D, "CSR")
    got = st.evaluate("Y(i,j) = X(i, j + 1?) * (i > j)", X=X)
    np.testing.assert_array_equal(dense(got), np.tril(np.pad(D, ((0, 0), (0, 1)))[:, 1:], -1))
    mask = D != 0
    got = st.evaluate("Y(i,j) = X(i, j + 1?)", X=X, mask=mask)
    np.testing.assert_array_equal(dense(got), np.pad(D, ((0, 0), (0, 1)))[:, 1:] * mask)
    full = np.zeros(7)
    assert st.evaluate("y(i) += x(i - k?) * h(k)", y=full, x=x, h=np.array([1.0, 2, 3])) is full
    np.testing.assert_array_equal(full, np.convolve(x, [1, 2, 3]))
    out = np.empty(5)
    st.evaluate("y(i) = x(i + k - 1?) * h(k)", x=x, h=np.ones(3), out=out)
    np.testing.assert_array_equal(out, np.convolve(x, np.ones(3), "same"))
    held = np.arange(4.0)
    st.evaluate("y(i) += y(i + 1?)", y=held)
    np.testing.assert_array_equal(held, [1, 3, 5, 3])
    found = st.evaluate("y(i) = x(i + 1?)", x=x.astype("int32"), dtype="float32")
    assert found.dtype == "float32" and found.tolist() == [1, 2, 3, 4, 0]
    by_loops = st.evaluate(
        "Y(i,j) = X(i + k - 1?, j) * h(k)", X=X, h=np.ones(3), schedule=st.Schedule().parallelize("i")
    )
    np.testing.assert_array_equal(dense(by_loops), ndi.correlate1d(D, np.ones(3), axis=0, mode="constant"))


@pytest.mark.parametrize("semiring", ["min-plus", "max-plus", "or-and", "max-times"])
def test_around_an_operand_is_nothing_in_a_semiring(semiring):
    x = np.array([3.0, 1, 2])
    zero = {"min-plus": np.inf, "max-plus": -np.inf, "or-and": False, "max-times": 0}[semiring]
    zero = -np.inf if semiring == "max-times" else zero
    text = "y(i) = x(i + k - 1?) * h(k)"
    h = np.ones(3)
    over, times = {
        "min-plus": (np.minimum, np.add),
        "max-plus": (np.maximum, np.add),
        "or-and": (np.logical_or, np.logical_and),
        "max-times": (np.maximum, np.multiply),
    }[semiring]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 1, constant_values=zero), 3)
    want = over.reduce(times(windows, h), axis=1)
    for form in (x, st.from_dense(x, "SparseVector")):
        got = st.evaluate(text, x=form, h=h, semiring=semiring)
        assert isinstance(got, np.ndarray)
        np.testing.assert_array_equal(got, want)
    matrix = st.evaluate("Y(i,j) = X(i + 1?, j)", X=np.ones((2, 3)), semiring="max-plus")
    assert isinstance(matrix, np.ndarray) and matrix.tolist() == [[1, 1, 1], [-np.inf] * 3]


def test_what_is_said():
    X, K = st.from_dense(image(), "CSR"), np.ones((3, 3))
    with pytest.raises(st.ExpressionError, match="leaves dimension 0") as e:
        st.evaluate("Y(i,j) = X(i + 1, j) * X(i,j)", X=X)
    assert e.value.fix == "write 'i + 1?' to read the fill there"
    with pytest.raises(st.ExpressionError, match="a result is not padded"):
        st.evaluate("Y(i?, j) += X(i,j)", X=X, Y=np.zeros((9, 7)))
    with pytest.raises(st.ExpressionError, match="nothing says how far"):
        st.evaluate("Y(i,j) = X(i + k - 1?, j)", X=X)
    plan = st.plan("Y(i,j) = X(i + k - 1?, j) * K(k)", X=X, K=K[0])
    assert "padded first" in plan.explain()
    assert (plan.run(X, K[0]) == st.evaluate("Y(i,j) = X(i + k - 1?, j) * K(k)", X=X, K=K[0])).all()
    with pytest.raises(st.Unsupported, match="padded copy"):
        st._core.emit_expression("Y(i,j) = X(i + k - 1?, j) * K(k)", {"X": "csr"}, 100, "float64")
    text = str(st.explain("Y(i,j) = X(i + k - 1?, j + l - 1?) * K(k,l)", X=X, K=K))
    assert "X(i + k - 1?,j + l - 1?)" in text and "X[-1:10,-1:8](i + k,j + l)" in text and "padded first" in text
    assert "X[-1:10,-1:8]" in st.show("Y(i,j) = X(i + k - 1?, j + l - 1?) * K(k,l)", X=X, K=K)
    with pytest.raises(st.Error):  # not 2**60 elements
        st.evaluate("y = x(1000000000000*i?) * z(i)", x=np.ones(3), z=np.ones(1000_000))


@pytest.mark.parametrize("format", FORMATS)
def test_pad_is_numpys(format):
    for fill in (0, 3):
        D = image((5, 6), fill=fill)
        A = st.from_dense(D, format, fill=fill)
        for widths in (0, 2, (1, 3), ((0, 2), (1, 0)), ((1,), (2,))):
            P = st.pad(A, widths)
            np.testing.assert_array_equal(P.to_dense(), np.pad(D, widths, constant_values=fill))
            assert P.fill == fill and P.dtype == A.dtype and (P.format == A.format or "+" in format)
            np.testing.assert_array_equal(np.pad(A, widths, constant_values=fill).to_dense(), P.to_dense())
    explicit = st.from_coo(([0, 1], [0, 0]), [0.0, np.nan], (2, 2), "COO")
    assert st.pad(explicit, 1).nse == 2 and np.isnan(st.pad(explicit, 1)[2, 1])


def test_pad_of_other_things():
    assert st.pad(np.ones(3), (1, 2)).to_dense().tolist() == [0, 1, 1, 1, 0, 0]
    assert st.pad(np.ones((2, 3)).T, 1).shape == (5, 4)
    np.testing.assert_array_equal(st.pad(np.arange(24).reshape(4, 6)[::2, ::-2], 1).to_dense()[1, 1:4], [5, 3, 1])
    assert st.pad(st.from_dense(np.ones((2, 2)), "CSR").to("bfloat16"), 1).dtype == "bfloat16"
    far = st.pad(st.eye(3, format="COO"), ((2**40, 0), (0, 2**40)))
    assert far.shape == (2**40 + 3, 2**40 + 3) and far[2**40, 0] == 1
    for widths, message in ((-1, "negative"), ((1, 2, 3), "two widths"), (2**63, "too long"), ("x", "no integer")):
        with pytest.raises(st.TensorError, match=message):
            st.pad(st.eye(3), widths)
