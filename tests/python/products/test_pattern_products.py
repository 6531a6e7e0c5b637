"""One sparse operand times dense ones into the sparse operand's own pattern: against NumPy and the general path."""

import numpy as np
import pytest
import scipy.sparse as sp
from differential import _restrided, random_dense, random_format, random_shape
from dtypes import COMMON

import strata as st

FORMATS = ["CSR", "CSC", "COO", "DCSR", "BSR(2, 3)", "BSR(4, 4)", "BSR(8, 8)", "ELL", "delta(2)", "CSR + COO"]
FORMATS += ["(i, j) -> (i: compressed, j: bitmap)", "(i, j) -> (j - i: compressed, i: range)"]
FORMATS += ["(i, j) -> (i: dense, j: dense) + CSR", "(i, j) -> (i: bitmap, j: delta(3))"][1:]


def in_pattern(spec, *operands):
    """A plan whose result has the format of the one sparse operand, its dimensions in the order of the output."""
    inputs, output = spec.split("->")
    place = next(k for k, x in enumerate(operands) if isinstance(x, st.Tensor))
    order = [inputs.split(",")[place].index(c) for c in output]
    return st.plan(spec, *operands, format=operands[place].transpose(order).format)


def random_case(rng):
    """(spec, shapes, dtype): the first operand is the sparse one, of a shape like its output."""
    rank = int(rng.choice([1, 2, 3, 4], p=[0.1, 0.65, 0.17, 0.08]))
    own = list("abcd"[:rank])
    extent = dict(zip(own, random_shape(rng, rank)))
    extent |= {c: int(rng.choice([0, 1, 2, 5, 16, 17, 40, 130])) for c in "kl"}
    factors = []
    for _ in range(int(rng.integers(0, 4))):
        one = [c for c in own if rng.random() < 0.5] + [c for c in "kl" if rng.random() < (0.6 if c == "k" else 0.1)]
        rng.shuffle(one)
        factors.append(one)
    output = list(own)
    rng.shuffle(output)
    rng.shuffle(own)
    operands = [own, *factors]
    return ",".join(map("".join, operands)) + "->" + "".join(output), [tuple(extent[c] for c in o) for o in operands]


def check(seed, settings):
    rng = np.random.default_rng([8, seed])
    spec, shapes = random_case(rng)
    dtype = str(
        rng.choice(["float64", "float64", "float32", "int32", "int64", "uint8", "bool", "complex128", "complex64"])
    )
    arrays = [random_dense(rng, s, dtype) for s in shapes]
    text = random_format(rng, len(shapes[0]))
    inputs, output = spec.split("->")
    case = f"seed {seed}: {spec} {shapes} {dtype}, {text}"
    a = st.from_dense(arrays[0], text)
    dense = [_restrided(rng, x) for x in arrays[1:]]
    if any(a.parts[k].format.is_all_dense for k in range(a.format.num_parts)):  # there is no pattern
        return False
    # Compiling takes longer than all the rest: most cases are interpreted, which gives the same bits.
    settings.engine = "auto" if seed % 8 == 0 else "interpreter"
    place = int(rng.integers(len(arrays)))
    names = inputs.split(",")
    names.insert(place, names.pop(0))
    operands = list(dense)
    operands.insert(place, a)
    spec = ",".join(names) + "->" + output
    plain = [operands[k] if k != place else arrays[0] for k in range(len(operands))]
    expected = np.einsum(spec, *plain)
    if dtype == "bool":
        expected = np.einsum(spec, *(x.astype(int) for x in plain)) != 0
    plan = in_pattern(spec, *operands)
    got = plan.run(*operands)
    try:
        got.validate()
        order = [names[place].index(c) for c in output]
        assert got.format == a.transpose(order).format, "format"
        # (A sum over nothing is 0 whether it is stored or not.)
        stored = (a.nse, 0) if any(0 in x.shape for x in arrays[1:]) else (a.nse,)
        assert got.dtype == a.dtype and got.nse in stored and got.shape == expected.shape, "type"
        assert np.array_equal(got.to_dense(), expected), f"values differ:\n{got.to_dense()}\n{expected}"
        if dtype != "bool":
            plan.run(*operands, out=got, alpha=2, beta=3)
            twice = (expected * np.array(2, expected.dtype) + expected * np.array(3, expected.dtype)).astype(
                expected.dtype
            )
            assert np.array_equal(got.to_dense(), twice), "alpha, beta, out"
        named = {f"T{k}": t for k, t in enumerate(operands)}
        text = f"R({','.join(output)}) = " + " * ".join(f"T{k}({','.join(n)})" for k, n in enumerate(names))
        by_name = st.evaluate(text, **named)
        assert by_name.format == got.format and np.array_equal(by_name.to_dense(), expected), "evaluate"
        if seed % 3 == 0 and dtype[0] in "fc":
            check_special(
                rng, spec, place, a, arrays[0], [random_dense(rng, x.shape, dtype, special=True) for x in dense]
            )
    except AssertionError as e:
        raise AssertionError(f"{case}: {e}") from None
    return True


def check_special(rng, spec, place, a, array, dense):
    """NaN and Inf where nothing is stored are not looked at; where something is, the sum comes first."""
    names, output = spec.split("->")
    names = names.split(",")
    order = [names[place].index(c) for c in output]
    rest = [n for k, n in enumerate(names) if k != place]
    factor = np.ones([array.shape[d] for d in order], array.dtype)
    with np.errstate(invalid="ignore"):
        for n, x in zip(rest, dense):
            if not set(n) & set("kl"):
                factor = factor * np.einsum(n + "," + output + "->" + output, x, np.ones_like(factor))
        summed = [(n, x) for n, x in zip(rest, dense) if set(n) & set("kl")]
        if summed:
            sums = np.einsum(
                ",".join(n for n, _ in summed) + "," + output + "->" + output,
                *(x for _, x in summed),
                np.ones_like(factor),
            )
            factor = sums * (array.transpose(order) * factor)
        else:
            factor = array.transpose(order) * factor
    operands = list(dense)
    operands.insert(place, a)
    for at, value in in_pattern(spec, *operands).run(*operands).items():
        assert np.array_equal(value, factor[at], equal_nan=True), f"{at}: {value}, not {factor[at]}"


@pytest.mark.parametrize("block", range(10))
def test_random(block, settings):
    assert sum(check(seed, settings) for seed in range(60 * block, 60 * (block + 1))) > 40


@pytest.mark.parametrize("f", FORMATS)
def test_sampled_product(f, settings):
    rng = np.random.default_rng(3)
    s = np.where(rng.random((60, 50)) < 0.2, rng.standard_normal((60, 50)), 0)
    x, y = rng.standard_normal((60, 40)), rng.standard_normal((40, 50))
    a = st.from_dense(s, f)
    for right in (y, np.ascontiguousarray(y.T).T):  # across, and contiguous along the sum
        results = []
        for threads in (1, 2, 7):
            settings.threads = threads
            got = st.evaluate("C(i,j) = S(i,j) * X(i,k) * Y(k,j)", S=a, X=x, Y=right)
            assert got.format == a.format
            results.append(got.to_dense())
        assert np.allclose(results[0], s * (x @ y), rtol=1e-12, atol=1e-12)
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
        settings.engine = "interpreter"
        same = st.evaluate("C(i,j) = S(i,j) * X(i,k) * Y(k,j)", S=a, X=x, Y=right)
        settings.engine = "auto"
        if st.plan("ij,j->i", a, x[:50, 0]).kernel_name != "interpreted":
            assert same.to_dense().tobytes() == results[0].tobytes()
    scaled = st.evaluate("C(j,i) = 2 * S(i,j) * d(j)", S=a, d=y[0])
    assert np.allclose(scaled.to_dense(), 2 * (s * y[0]).T, rtol=1e-15)
    assert scaled.format == a.transpose((1, 0)).format


@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 128, 129, 200, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_every_length_of_the_sum(k, dtype):
    rng = np.random.default_rng(k)
    s = sp.random_array((80, 70), density=0.1, rng=rng, format="csr").astype(dtype)
    x, y = rng.standard_normal((80, k)).astype(dtype), rng.standard_normal((70, k)).astype(dtype)
    got = st.evaluate("C(i,j) = S(i,j) * X(i,k) * Y(j,k)", S=st.from_scipy(s), X=x, Y=y)
    i, j = s.nonzero()
    wide = np.result_type(dtype, "float64")
    expected = s.data.astype(wide) * (x[i].astype(wide) * y[j]).sum(1)
    tolerance = 1e-11 if dtype == "float64" else 2e-4
    np.testing.assert_allclose(got.values, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("k", [4, 5, 8, 31, 64])
@pytest.mark.parametrize("n", [1, 3, 64, 70, 131])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int8", "complex64"])
def test_factors_that_lie_across_are_turned(k, n, dtype, settings):
    settings.engine = "interpreter"
    rng = np.random.default_rng([k, n])
    s, x, y = (random_dense(rng, shape, dtype) for shape in ((6, n), (6, k), (k, n)))
    for right in (y, np.asfortranarray(y), np.repeat(y, 2, 1)[:, ::2]):
        got = st.evaluate("C(i,j) = S(i,j) * X(i,k) * Y(k,j)", S=st.from_dense(s, "CSR"), X=x, Y=right)
        assert np.array_equal(got.to_dense(), s * (x @ y))


def test_one_factor_may_lie_along_the_sum_and_across():
    rng = np.random.default_rng(6)
    s, x = np.where(rng.random((40, 40)) < 0.5, rng.standard_normal((40, 40)), 0), rng.standard_normal((40, 40))
    got = st.evaluate("C(i,j) = S(i,j) * X(i,k) * X(k,j)", S=st.from_dense(s, "CSR"), X=x)
    assert np.allclose(got.to_dense(), s * (x @ x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", COMMON)
@pytest.mark.parametrize("other", ["float32", "int8", "complex128", "bool", "float16"])
def test_promotion(dtype, other, settings):
    settings.engine = "interpreter"
    rng = np.random.default_rng(5)
    s, x = random_dense(rng, (9, 8), dtype), random_dense(rng, (8, 3), other)
    a = st.from_dense(s, "CSR")
    got = st.evaluate("C(i,j) = S(i,j) * X(j,k)", S=a, X=x)
    assert got.dtype == np.result_type(s, x)
    assert np.array_equal(got.to_dense(), np.einsum("ij,jk->ij", s, x).astype(np.result_type(s, x)))
    wide = st.evaluate("C(i,j) = S(i,j) * X(j,k)", S=a, X=x, dtype="complex128")
    exact = np.einsum(
        "ij,jk->ij", s.astype("complex128"), x.astype("complex128")
    )  # operands are cast first: bools count
    assert wide.dtype == np.complex128 and np.array_equal(wide.to_dense(), exact)


def test_the_pattern_is_shared_and_values_are_not():
    s = sp.csr_array([[0, 2.0, 0], [1, 0, 3]])
    a = st.from_scipy(s)
    got = st.evaluate("C(i,j) = A(i,j) * x(j)", A=a, x=np.array([1.0, 10, 100]))
    assert np.shares_memory(got.crd(1), s.indices) and np.shares_memory(got.pos(1), s.indptr)
    assert not np.shares_memory(got.values, s.data)
    assert got.values.tolist() == [20, 1, 300] and s.data.tolist() == [2, 1, 3]
    plan = in_pattern("ij,j->ij", a, np.ones(3))
    assert "into the pattern of A" in str(plan.explain())
    assert plan.run(a, np.ones(3), out=a, alpha=3) is a and s.data.tolist() == [6, 3, 9]  # in place
    equal = st.from_scipy(s.copy())
    assert plan.run(a, np.ones(3), out=equal, beta=2).values.tolist() == [18, 9, 27]
    with pytest.raises(st.PlanError, match="pattern of its own"):
        plan.run(a, np.ones(3), out=st.from_scipy(sp.csr_array([[2.0, 0, 0], [1, 0, 3]])))
    with pytest.raises(st.PlanError, match="another type"):
        plan.run(a, np.ones(3), out=st.from_scipy(s.tocsc()))


def test_sums_over_nothing_are_zero_whatever_is_stored():
    a = st.from_dense(np.array([[np.inf, 1], [0, np.nan]]), "CSR")
    got = st.evaluate("C(i,j) = A(i,j) * X(i,k)", A=a, X=np.zeros((2, 0)))
    assert got.values.tolist() == [0, 0, 0]


def test_batches_duplicates_and_shared_values():
    rng = np.random.default_rng(0)
    s = np.where(rng.random((5, 6, 7)) < 0.4, rng.integers(1, 5, (5, 6, 7)), 0).astype(float)
    a = st.from_dense(s, "(b, i, j) -> (b: batch, i: dense, j: compressed)")
    x, y = rng.integers(-3, 4, (5, 6, 20)).astype(float), rng.integers(-3, 4, (5, 7, 20)).astype(float)
    got = st.evaluate("C(b,i,j) = A(b,i,j) * X(b,i,k) * Y(b,j,k)", A=a, X=x, Y=y, format=a.format)
    assert got.format == a.format and np.array_equal(got.to_dense(), s * np.einsum("bik,bjk->bij", x, y))
    got.validate()
    i, j = np.array([0, 0, 1, 1]), np.array([2, 2, 0, 1])  # linear: slot by slot
    twice = st.Tensor(
        "(i, j) -> (i: compressed(nonunique), j: singleton(nonunique))",
        (2, 3),
        pos={0: np.array([0, 4])},
        crd={0: i, 1: j},
        values=np.array([1.0, 2, 3, 4]),
    )
    got = st.evaluate("C(i,j) = A(i,j) * x(j)", A=twice, x=np.array([1.0, 10, 100]))
    assert np.array_equal(got.to_dense(), [[0, 0, 300], [3, 40, 0]])
    ones = st.Tensor(
        "CSR",
        (2, 3),
        pos={1: np.array([0, 1, 3])},
        crd={1: np.array([2, 0, 1])},
        values=np.broadcast_to(np.array([2.0]), 3),
    )
    got = st.evaluate("C(i,j) = A(i,j) * x(j)", A=ones, x=np.array([1.0, 10, 100]))
    assert got.values.tolist() == [200, 2, 20]
