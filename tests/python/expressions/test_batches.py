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


@pytest.fixture
def settings():
    before = st.settings.engine, st.settings.threads
    yield st.settings
    st.settings.engine, st.settings.threads = before


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


def test_no_operand_in_batches_is_converted():
    A = st.from_dense(np.ones((3, 4, 5)), FORMATS[0])
    for text in TEXTS:
        named = {"A": A, "B": A, "X": np.ones((3, 4, 2)), "Y": np.ones((3, 5, 2)), "v": np.ones(3)}
        right = text.split("=", 1)[1]
        if "b,k,j" in text:
            continue
        told = st.explain(text, **{k: x for k, x in named.items() if k + "(" in right})
        assert "first A to" not in told and "first B to" not in told, told
