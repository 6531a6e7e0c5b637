"""Accesses whose coordinates are sums of indices, of sparse tensors: against loops over the dense array."""

import itertools

import numpy as np
import pytest
from differential import random_format

import strata as st


def loops(A, accesses, extents, output):
    """R(output) = sum of A(accesses) * K(r, s); an access is (constant, {index: coefficient}) per dimension."""
    K = kernel(extents)
    R = np.zeros([extents[i] for i in output])
    names = list(extents)
    for x in itertools.product(*(range(extents[i]) for i in names)):
        at = dict(zip(names, x))
        place = [c + sum(f * at[i] for i, f in terms.items()) for c, terms in accesses]
        R[tuple(at[i] for i in output)] += A[tuple(place)] * K[at["r"], at["s"]]
    return R


def kernel(extents):
    return np.arange(1.0, 1 + extents["r"] * extents["s"]).reshape(extents["r"], extents["s"])


def text(accesses):
    def one(c, terms):
        parts = [i if f == 1 else f"{f}*{i}" for i, f in terms.items()]
        return " + ".join(parts + [str(c)] * (c != 0))

    return ", ".join(one(c, t) for c, t in accesses)


def shape_of(accesses, extents):
    return [c + sum(f * (extents[i] - 1) for i, f in t.items()) + 1 for c, t in accesses]


CASES = [
    ([(0, {"i": 1, "r": 1}), (0, {"j": 1, "s": 1})], "ij"),
    ([(2, {"i": 2, "r": 1}), (1, {"s": 3, "j": 2})], "ij"),
    ([(0, {"i": 1, "r": 1, "s": 2}), (0, {"j": 1})], "ij"),
    ([(0, {"j": 1}), (0, {"i": 3, "r": 1}), (1, {"s": 1})], "ij"),
    ([(0, {"i": 1, "r": 1, "s": 4})], "i"),
    ([(1, {"s": 2}), (0, {"i": 1, "r": 1}), (0, {"j": 2})], "ji"),
]


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("case", range(len(CASES)))
def test_against_loops(seed, case):
    accesses, output = CASES[case]
    rng = np.random.default_rng(100 * seed + case)
    used = [i for _, t in accesses for i in t]
    extents = {i: int(rng.integers(1, 7)) for i in "ijrs" if i in used}
    A = rng.integers(-3, 4, shape_of(accesses, extents)) * (
        rng.random(shape_of(accesses, extents)) < rng.choice([0.1, 0.6])
    )
    A = A.astype(rng.choice(["float64", "float32", "int16"]))
    format = rng.choice(["CSR", "COO", "DCSR", "BSR(2, 2)"]) if A.ndim == 2 and seed % 2 else random_format(rng, A.ndim)
    expected = loops(A, accesses, extents, output)
    spec = f"R({','.join(output)}) = A({text(accesses)}) * K(r,s)"
    wanted = rng.choice(["dense", None, "compressed"])
    how = (
        {}
        if wanted is None
        else dict(format=wanted if wanted == "dense" else {1: "(i) -> (i : compressed)", 2: "CSR"}[len(output)])
    )
    a = st.from_dense(A, format)
    assert np.array_equal(np.asarray(a.to_dense()), A)
    got = st.evaluate(spec, A=a, K=kernel(extents), **how)
    got = np.asarray(got.to_dense() if isinstance(got, st.Tensor) else got)
    assert np.allclose(got, expected), f"{spec} of {a.format}, {extents}"


def test_a_shift_outside_of_the_tensor():
    A = st.from_dense(np.eye(4), "CSR")
    with pytest.raises(st.ExpressionError):
        st.evaluate("R(i) = A(i + 5, i)", A=A)
    assert np.array_equal(np.asarray(st.evaluate("R(i, j) = A(i + 1, j)", A=A, format="dense")), np.eye(4)[1:])


@pytest.mark.parametrize("format", ["CSR", "(i, j) -> (i: compressed, j: compressed)"])
@pytest.mark.parametrize("first", ["i + r", "2*i + r", "i + 3"])
def test_threads_share_a_large_one(format, first, settings):
    """Pieces of the outermost index, some of them without elements: the same bits for any number of threads."""
    import scipy.sparse as sp

    r = np.random.default_rng(5)
    a = sp.random_array((1500, 900), density=0.02, rng=r, format="lil")
    a[300:800] = 0  # nothing for some of the pieces
    a[40] = r.standard_normal(900)
    a = a.tocsr()
    K = r.standard_normal((3, 3))
    got = []
    for n in (1, 2, 5):
        settings.threads = n
        got.append(
            st.evaluate(f"Y(i,j) = A({first}, j + s) * K(r,s)", A=st.from_scipy(a).to(format), K=K, format="CSR")
        )
        got[-1].validate()
    for other in got[1:]:
        for mine, theirs in (
            (got[0].pos(1), other.pos(1)),
            (got[0].crd(1), other.crd(1)),
            (got[0].values, other.values),
        ):
            assert np.array(mine).tobytes() == np.array(theirs).tobytes()
    dense, (rows, columns) = a.toarray(), got[0].shape
    step = 2 if first.startswith("2") else 1
    want = np.zeros((rows, columns))
    for x, y in itertools.product(range(3), range(3)):
        top = 3 if first == "i + 3" else x
        want += dense[top : top + step * rows : step, y : y + columns][:rows] * K[x, y]
    np.testing.assert_allclose(got[0].to_dense(), want, atol=1e-12)
