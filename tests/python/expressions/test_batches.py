"""Levels of batches are walked in place, beside others and in any storage of these: against NumPy."""

import numpy as np
import pytest

import strata as st

FORMATS = [
    "(b, i, j) -> (b: batch, i: dense, j: compressed)",
    "(b, i, j) -> (b: batch, i: compressed, j: compressed)",
    "(b, i, j) -> (b: batch, i: compressed(nonunique), j: singleton)",
    "(b, i, j) -> (b: batch, j: dense, i: compressed)",
    "(b, i, j) -> (b: batch, i: batch, j: compressed)",
    "(b, i, j) -> (b: batch, i: dense, j: padded)",
    "(b, i, j) -> (b: batch, i: dense, j: bitmap)",
    "(b, i, j) -> (b: batch, i / 2: dense, j / 3: compressed, i % 2: dense, j % 3: dense)",
    "(b, i, j) -> (b: dense, i: dense, j: compressed)",
]
TEXTS = {
    "C(b,i,j) = A(b,i,j) * B(b,i,j)": lambda A, B, X, Y, v: A * B,
    "C(b,i,j) = A(b,i,j) + B(b,i,j)": lambda A, B, X, Y, v: A + B,
    "C(b,i,k) = A(b,i,j) * B(b,k,j)": lambda A, B, X, Y, v: np.einsum("bij,bkj->bik", A, B),
    "C(b,i,k) = A(b,i,j) * Y(b,j,k)": lambda A, B, X, Y, v: np.einsum("bij,bjk->bik", A, Y),
    "C(b,i,j) = A(b,i,j) * X(b,i,k) * Y(b,j,k)": lambda A, B, X, Y, v: A * np.einsum("bik,bjk->bij", X, Y),
    "C(b,j,i) = A(b,i,j) * X(b,i,k) * Y(b,j,k)": lambda A, B, X, Y, v: (A * np.einsum("bik,bjk->bij", X, Y)).transpose(
        0, 2, 1
    ),
    "C(b,i,j) = A(b,i,j) * B(b,i,j) * X(b,i,k) * Y(b,j,k)": lambda A, B, X, Y, v: (
        A * B * np.einsum("bik,bjk->bij", X, Y)
    ),
    "C(b,i,j) = 2 * A(b,i,j) * v(b)": lambda A, B, X, Y, v: 2 * A * v[:, None, None],
    "c(i) = A(b,i,j) * v(b)": lambda A, B, X, Y, v: np.einsum("bij,b->i", A, v),
    "m(b) = max(i, max(j, A(b,i,j)))": lambda A, B, X, Y, v: A.max((1, 2)),
}


@pytest.mark.parametrize("seed", range(24))
def test_against_numpy(seed, settings):
    rng = np.random.default_rng([17, seed])
    batches, rows, columns = rng.integers(1, 6), rng.integers(1, 14), rng.integers(1, 14)
    terms = int(rng.choice([1, 3, 8, 17, 33]))
    settings.engine = "auto" if seed % 4 == 0 else "interpreter"
    settings.threads = int(rng.choice([1, 2, 5]))

    def integers(*shape):
        return rng.integers(-4, 5, shape).astype(float)

    def sparse():
        return np.where(rng.random((batches, rows, columns)) < 0.4, integers(batches, rows, columns), 0)

    A = sparse()
    B = sparse() if seed % 2 else 2 * A  # the same elements
    arrays = dict(A=A, B=B, X=integers(batches, rows, terms), Y=integers(batches, columns, terms), v=integers(batches))
    f, g = (FORMATS[rng.integers(len(FORMATS))] for _ in range(2))
    given = arrays | dict(A=st.from_dense(A, f), B=st.from_dense(B, f if seed % 2 == 0 else g))
    for text, numpy in TEXTS.items():
        right = text.split("=", 1)[1]
        named = {name: x for name, x in given.items() if name + "(" in right}
        fits = text.startswith("C(b,i,j)") and "+" not in text  # rows of a sum may be longer than padded ones are
        wanted = {"format": given["A"].format} if fits and rng.random() < 0.5 else {}
        got = st.evaluate(text, **named, **wanted)
        if isinstance(got, st.Tensor):
            got.validate()
            got = got.to_dense()
        assert np.array_equal(np.asarray(got), numpy(**arrays)), (text, f, g, wanted)


LARGE = {
    "C(b,i,j) = A(b,i,j) * X(b,i,k) * Y(b,j,k)": lambda A, X, Y: A * np.einsum("bik,bjk->bij", X, Y),
    "C(b,i,k) = relu(A(b,i,j)) * Y(b,j,k)": lambda A, X, Y: np.maximum(A, 0) @ Y,
    "C(b,i) = relu(A(b,i,j)) * Y(b,j,k)": lambda A, X, Y: (np.maximum(A, 0) @ Y).sum(-1),
    "C(b,i,j) = relu(A(b,i,j)) * X(b,i,k)": lambda A, X, Y: np.maximum(A, 0) * X.sum(-1)[:, :, None],
    "C(b,i) = max(j, A(b,i,j))": lambda A, X, Y: A.max(-1),
}


@pytest.mark.parametrize("fmt", [FORMATS[k] for k in (0, 1, 5, 6, 7, 8)])
@pytest.mark.parametrize("batches", [1, 3])
def test_large_batches_are_cut_by_rows_too(batches, fmt, settings):
    """Few batches of many rows, some of them full, some empty: the same bits whatever the threads."""
    rng = np.random.default_rng([18, batches])
    rows, columns, terms = 301, 203, 17
    A = np.where(rng.random((batches, rows, columns)) < 0.05, rng.standard_normal((batches, rows, columns)), 0)
    A[:, 7], A[:, 50:90] = 1, 0
    X, Y = rng.standard_normal((batches, rows, terms)), rng.standard_normal((batches, columns, terms))
    a = st.from_dense(A, fmt)
    for text, numpy in LARGE.items():
        named = {n: x for n, x in dict(A=a, X=X, Y=Y).items() if n + "(" in text.split("=", 1)[1]}
        results = []
        for threads in (1, 2, 5):
            settings.threads = threads
            got = st.evaluate(text, **named)
            results.append(np.asarray(got.to_dense() if isinstance(got, st.Tensor) else got))
        assert all(np.array_equal(r, results[0]) for r in results), (text, fmt)
        np.testing.assert_allclose(results[0], numpy(A, X, Y), rtol=1e-9, atol=1e-9, err_msg=text)


def test_the_second_loop_is_cut_where_the_first_is_short():
    text, n = "C(b,i,k) = relu(A(b,i,j)) * Y(b,j,k)", 256
    for batches, cut in ((2, True), (80, False)):
        A = st.from_dense(np.eye(n)[None].repeat(batches, 0), FORMATS[0])
        assert ("j_begin" in st.show(text, A=A, Y=np.ones((batches, n, 300)))) == cut


def test_no_operand_in_batches_is_converted():
    A = st.from_dense(np.ones((3, 4, 5)), FORMATS[0])
    for text in TEXTS:
        named = {"A": A, "B": A, "X": np.ones((3, 4, 2)), "Y": np.ones((3, 5, 2)), "v": np.ones(3)}
        right = text.split("=", 1)[1]
        if "b,k,j" in text:
            continue
        told = st.explain(text, **{k: x for k, x in named.items() if k + "(" in right})
        assert "first A to" not in told and "first B to" not in told, told
