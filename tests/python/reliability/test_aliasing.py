"""Results written over the memory of an operand are those of fresh memory, and what is only read keeps its bytes."""

import pickle

import numpy as np
import pytest
from differential import random_format

import strata as st

N = 12
FORMATS = [("CSR", "CSR"), ("CSR", "CSC"), ("COO", "BSR(3, 2)"), ("DIAI", "CSR + COO")]


@pytest.fixture(params=["auto", "interpreter"], autouse=True)
def engine(request, monkeypatch):
    monkeypatch.setattr(st.settings, "engine", request.param)


def sample(seed, shape=(N, N), density=0.4):
    rng = np.random.default_rng([seed, *shape])
    return np.where(rng.random(shape) < density, rng.integers(-5, 6, shape), 0).astype(float)


def memory(t):
    """The bytes of everything that a tensor is made of."""
    buffers = []
    text = pickle.dumps(t, 5, buffer_callback=buffers.append)
    return text, [bytes(b) for b in buffers]


# -- out= over a dense operand -----------------------------------------------------------------------------------------

SQUARE = {
    "C(i,k) = A(i,j) * B(j,l) * X(l,k)": lambda A, B, X: A @ B @ X,
    "C(i,k) = X(i,j) * A(j,l) * B(l,k)": lambda A, B, X: X @ A @ B,
    "C(i,k) = A(i,j) * X(j,l) * B(l,k)": lambda A, B, X: A @ X @ B,
    "C(i,k) = A(i,j) * X(j,k) + B(i,k)": lambda A, B, X: A @ X + B,
    "C(i,k) = A(i,j) * X(j,k) - B(i,j) * X(k,j)": lambda A, B, X: A @ X - B @ X.T,
    "C(i,k) = X(k,i) + A(i,k) * B(i,k)": lambda A, B, X: X.T + A * B,
    "C(i,k) = (A(i,k) + B(k,i)) * X(k,i)": lambda A, B, X: (A + B.T) * X.T,
    "C(i,k) = max(X(i,k), X(k,i)) + A(i,k) * B(i,k)": lambda A, B, X: np.maximum(X, X.T) + A * B,
    "C(i,k) = sum(j, A(i,j) * X(k,j)) * sum(j, B(k,j) * X(i,j))": lambda A, B, X: (A @ X.T) * (X @ B.T),
}


def twice(x):
    return x, x


def two_windows(read, write):
    def place(x):
        whole = np.zeros((N + 1, N + 1))
        whole[read] = x
        return whole[read], whole[write]

    return place


def two_strides(x):
    line = np.zeros(2 * N * N)
    line[::2] = x.ravel()
    return line[::2].reshape(N, N), line[N : N + N * N].reshape(N, N)


OVERLAPS = {
    "the operand": lambda x: (x, x),
    "the operand in columns": lambda x: twice(np.asfortranarray(x)),
    "the operand upside down": lambda x: twice(x[::-1].copy()[::-1]),
    "its transpose": lambda x: (x, x.T),
    "reversed": lambda x: (x, x[::-1, ::-1]),
    "one further": two_windows(np.s_[:-1, :-1], np.s_[1:, 1:]),
    "one before": two_windows(np.s_[1:, 1:], np.s_[:-1, :-1]),
    "across": two_windows(np.s_[:-1, 1:], np.s_[1:, :-1]),
    "backwards": two_windows(np.s_[:-1, :-1], np.s_[:0:-1, :0:-1]),
    "other strides": two_strides,
}


@pytest.mark.parametrize("formats", FORMATS, ids=str)
@pytest.mark.parametrize("text", SQUARE)
def test_out_over_a_dense_operand(text, formats):
    a, b, x = sample(1), sample(2), sample(3, density=1)
    A, B = (st.from_dense(v, f) for v, f in zip((a, b), formats, strict=True))
    before = memory(A), memory(B)
    want = SQUARE[text](a, b, x)
    for name, place in OVERLAPS.items():
        operand, out = place(x.copy())
        assert np.array_equal(operand, x) and np.shares_memory(operand, out)
        got = st.evaluate(text, A=A, B=B, X=operand, out=out)
        assert got is out and np.array_equal(out, want), name
    assert (memory(A), memory(B)) == before


@pytest.mark.parametrize("place", OVERLAPS)
def test_nothing_is_written_beside_out(place):
    x = sample(4, density=1)
    operand, out = OVERLAPS[place](x.copy())
    whole = operand if operand.base is None else operand.base
    beside = np.ones(whole.nbytes, bool)
    first = whole.__array_interface__["data"][0]
    for at in np.ndindex(out.shape):
        start = out[at[0] : at[0] + 1, at[1] : at[1] + 1].__array_interface__["data"][0] - first
        beside[start : start + 8] = False
    held = np.frombuffer(whole.tobytes("A"), np.uint8)[beside]
    A = st.from_dense(sample(1), "CSR")
    st.evaluate("C(i,k) = A(i,j) * A(j,l) * X(l,k)", A=A, X=operand, out=out)
    assert np.array_equal(np.frombuffer(whole.tobytes("A"), np.uint8)[beside], held)


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "BSR(3, 2)", "DIAI"])
def test_einsum_matmul_and_plans_over_an_operand(format):
    a, b = sample(1), sample(2)
    A, B = st.from_dense(a, format), st.from_dense(b, "CSR")
    for name, place in OVERLAPS.items():
        x = sample(5, density=1)
        start = place(x.copy())[1].copy()
        for call, want in (
            (lambda x, y: st.einsum("ij,jk->ik", A, x, out=y, alpha=2, beta=-3), 2 * (a @ x) - 3 * start),
            (lambda x, y: st.einsum("ij,jk,kl->il", A, B, x, out=y, beta=1), a @ b @ x + start),
            (lambda x, y: st.einsum("ij,ij,jk->ik", A, B, x, out=y), (a * b) @ x),
            (lambda x, y: st.matmul(A, x, y), a @ x + start),
            (lambda x, y: st.matmul(x, A, y, alpha=-1, beta=2), 2 * start - x @ a),
            (lambda x, y: st.plan("ij,jk->ik", A, x).run(A, x, out=y, beta=1), a @ x + start),
            (lambda x, y: st.evaluate("Y(i,k) += A(i,j) * X(j,k)", A=A, X=x, Y=y), a @ x + start),
        ):
            operand, out = place(x.copy())
            assert call(operand, out) is out and np.array_equal(out, want), name


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_shared_out_among_threads(threads, monkeypatch):
    monkeypatch.setattr(st.settings, "threads", threads)
    n = 300
    a, b, x = sample(1, (n, n), 0.05), sample(2, (n, n), 0.05), sample(3, (n, n), 1)
    A, B = st.from_dense(a, "CSR"), st.from_dense(b, "CSR")
    for text, want in (
        ("C(i,k) += A(i,j) * C(j,k)", x + a @ x),
        ("C(i,k) += C(k,j) * A(j,i)", x + (x @ a).T),
        ("C(i,k) += A(i,j) * B(j,l) * C(l,k)", x + a @ b @ x),
        ("C(i,k) += A(i,k) * B(i,k) - C(k,i)", x + a * b - x.T),
    ):
        c = x.copy()
        st.evaluate(text, C=c, **{n: t for n, t in dict(A=A, B=B).items() if n + "(" in text})
        assert np.array_equal(c, want), text
    whole = np.zeros((n + 1, n))
    whole[:-1] = x
    st.evaluate("C(i,k) = A(i,j) * X(j,k)", A=A, X=whole[:-1], out=whole[1:])
    assert np.array_equal(whole[1:], a @ x) and np.array_equal(whole[0], x[0])


# -- out= over the arrays of a sparse operand --------------------------------------------------------------------------


@pytest.mark.parametrize("array", ["pos", "crd", "values"])
@pytest.mark.parametrize(
    "text,want",
    [
        ("y(i) = A(i,j) * x(j)", lambda a, b, x: a @ x),
        ("y(i) = B(i,j) * A(j,k) * x(k)", lambda a, b, x: b @ a @ x),
        ("y(j) = A(i,j) * B(i,j) + A(i,j) * x(i)", lambda a, b, x: (a * b).sum(0) + x @ a),
    ],
)
def test_out_over_the_arrays_of_a_sparse_operand(text, want, array):
    a, b, x = (sample(k, density=0.7).astype(int) for k in (1, 2, 3))
    csr = st.from_dense(a, "CSR")
    arrays = {name: np.array(getattr(csr, name)(1), np.int64) for name in ("pos", "crd")}
    arrays["values"] = np.array(csr.values)
    A = st.Tensor("CSR", (N, N), pos={1: arrays["pos"]}, crd={1: arrays["crd"]}, values=arrays["values"])
    B = st.from_dense(b, "CSC")
    out = arrays[array][1 : N + 1]
    assert st.evaluate(text, **{n: v for n, v in dict(A=A, B=B, x=x[0]).items() if n in text}, out=out) is out
    assert np.array_equal(out, want(a, b, x[0]))


# -- '+=' in place -----------------------------------------------------------------------------------------------------

ADDED = {
    "C(i,j) += A(i,k) * C(k,j)": lambda A, B, C: C + A @ C,
    "C(i,j) += C(i,k) * A(k,j)": lambda A, B, C: C + C @ A,
    "C(i,j) += A(i,k) * B(k,l) * C(l,j)": lambda A, B, C: C + A @ B @ C,
    "C(i,j) += A(i,k) * B(k,j) - C(j,i)": lambda A, B, C: C + A @ B - C.T,
    "C(i,j) += C(i,k) * C(k,j)": lambda A, B, C: C + C @ C,
    "C(i,j) += A(i,j) * C(j,i) * B(j,i)": lambda A, B, C: C + A * C.T * B.T,
}
LAID_OUT = {
    "rows": lambda c: c,
    "columns": lambda c: np.asfortranarray(c),
    "upside down": lambda c: c[::-1].copy()[::-1],
    "every second column": lambda c: np.repeat(c, 2, axis=1)[:, ::2],
}


@pytest.mark.parametrize("formats", FORMATS, ids=str)
@pytest.mark.parametrize("text", ADDED)
def test_adding_in_place(text, formats):
    a, b, c = sample(1), sample(2), sample(3, density=1)
    named = {n: st.from_dense(v, f) for n, v, f in zip("AB", (a, b), formats, strict=True) if n + "(" in text}
    before = {n: memory(t) for n, t in named.items()}
    want = ADDED[text](a, b, c)
    for name, lay_out in LAID_OUT.items():
        C = lay_out(c.copy())
        assert st.evaluate(text, C=C, **named) is C and np.array_equal(C, want), name
        C, out = lay_out(c.copy()), np.full((N, N), np.nan)
        assert st.evaluate(text, C=C, out=out, **named) is out and np.array_equal(out, want), name
        assert np.array_equal(C, c), name
    assert {n: memory(t) for n, t in named.items()} == before


def test_what_is_read_only_is_not_added_to():
    c = sample(3)
    c.flags.writeable = False
    held = c.tobytes()
    with pytest.raises(st.TensorError, match="read-only"):
        st.evaluate("C(i,j) += A(i,k) * C(k,j)", A=st.from_dense(sample(1), "CSR"), C=c)
    assert c.tobytes() == held


# -- inputs that nobody may write --------------------------------------------------------------------------------------


def random_term(rng):
    """A product from i to k over random matrices, and what NumPy calls it."""
    chain = ["i", *"pq"[: rng.integers(0, 3)], "k"]
    names = [str(rng.choice(list("ABXY"))) for _ in chain[1:]]
    steps = [(x, y) if rng.random() < 0.7 else (y, x) for x, y in zip(chain, chain[1:], strict=False)]
    if rng.random() < 0.5:
        names.append(str(rng.choice(list("ABXY"))))
        steps.append(("k", "i"))
    text = " * ".join(f"{n}({x},{y})" for n, (x, y) in zip(names, steps, strict=True))
    return text, ",".join(x + y for x, y in steps) + "->ik", names


def dense_of(result):
    return result.to_dense() if isinstance(result, st.Tensor) else result


def of_bytes(t):
    """The same tensor over immutable memory, and that memory."""
    text, arrays = memory(t)
    return pickle.loads(text, buffers=arrays), arrays


@pytest.mark.parametrize("seed", range(16))
def test_inputs_keep_their_bytes(seed):
    rng = np.random.default_rng([77, seed])
    dense = {name: sample(10 + k + seed, (7, 7), 1 if name in "XY" else 0.4) for k, name in enumerate("ABXY")}
    named = {n: st.from_dense(dense[n], random_format(rng, 2)) for n in "AB"}
    named = {n: of_bytes(t) for n, t in named.items()}
    held = {n: [bytes(bytearray(b)) for b in arrays] for n, (_, arrays) in named.items()}
    terms = [random_term(rng) for _ in range(rng.integers(1, 4))]
    text = "C(i,k) = " + " + ".join(term for term, _, _ in terms)
    want = sum(np.einsum(spec, *(dense[n] for n in names)) for _, spec, names in terms)
    given = {n: t for n, (t, _) in named.items()} | {n: dense[n].copy() for n in "XY"}
    for n in "XY":
        given[n].flags.writeable = False
    assert all(not part.values.flags.writeable for n in "AB" for part in given[n].parts)
    given = {n: v for n, v in given.items() if n + "(" in text}
    assert np.array_equal(dense_of(st.evaluate(text, **given)), want), text
    out = np.full((7, 7), np.nan)
    assert np.array_equal(st.evaluate(text, out=out, **given), want), text
    for term, spec, names in terms:
        got = dense_of(st.einsum(spec, *(given[n] for n in names)))
        assert np.array_equal(got, np.einsum(spec, *(dense[n] for n in names))), term
    assert {n: arrays for n, (_, arrays) in named.items()} == held
    assert all(np.array_equal(given[n], dense[n]) for n in "XY" if n in given)
