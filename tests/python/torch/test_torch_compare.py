"""Comparisons, choices and limits of stt.Tensor against the dense tensor, results and gradients."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")

T = torch.tensor
D = random(6, 8)
ROW = T([[0.0, 1, 0, 2, 0, 0, 3, 1]], dtype=torch.float64)


def other(A):
    """Another tensor, sparse beside a sparse one."""
    return stt.from_torch(sample(seed=1), "COO") if isinstance(A, stt.Tensor) else sample(seed=1)


def row(A):
    return stt.from_torch(ROW, "CSR") if isinstance(A, stt.Tensor) else ROW


SPARSE = {  # False or 0 of absent elements
    "greater": lambda A: A > 3,
    "equal to": lambda A: A == 2,
    "number first": lambda A: 3 <= A,
    "by name": lambda A: torch.greater(A, T(3)),
    "of two": lambda A: A > other(A),
    "of a row": lambda A: A > row(A),
    "and": lambda A: (A > 3) & (other(A) > 1),
    "and dense": lambda A: (A > 3) & (D > 0),
    "dense and": lambda A: torch.logical_and(D, A),
    "or": lambda A: (A > 3) | (other(A) > 3),
    "xor": lambda A: (A > 3) ^ (other(A) > 3),
    "isnan": lambda A: torch.isnan(A),
    "isinf": lambda A: A.isinf(),
    "bool": lambda A: A.bool(),
    "maximum": lambda A: torch.maximum(A, other(A)),
    "minimum": lambda A: A.minimum(other(A)),
    "clamp": lambda A: A.clamp(0, 3),
    "clamp by names": lambda A: A.clamp(min=-2, max=T(4.0)),
    "fmod": lambda A: A.fmod(3),
    "remainder": lambda A: A % 3,
    "floor_divide": lambda A: A.detach() // 2,
    "threshold": lambda A: F.threshold(A, 3, 0),
    "hardtanh": lambda A: F.hardtanh(A, -1, 2),
    "atan2": lambda A: torch.atan2(A, T(2.0)),
    "lerp": lambda A: A.lerp(other(A), 0.3),
    "plus 0": lambda A: A + 0,
    "sum": lambda A: A + other(A),
    "difference": lambda A: torch.sub(A, other(A), alpha=2),
    "plus row": lambda A: A + row(A),
    "product": lambda A: A * other(A),
    "row times": lambda A: row(A) * A * D,
    "where": lambda A: torch.where(A > 3, A, 0.0),
    "where, a dense choice": lambda A: torch.where(A > 3, D, 0.0),
    "where, a dense and a sparse choice": lambda A: torch.where(A > 3, D, other(A)),
    "where, a dense condition": lambda A: torch.where(D > 0, A, other(A)),
    "where, a column as condition": lambda A: torch.where(D[:, :1] > 0, A, 0),
    "where, a row as condition": lambda A: torch.where(row(A) > 1, A, 0.0),
    "where, numbers": lambda A: torch.where(A > 3, 5, 0),
    "where, a number": lambda A: torch.where(A > 3, 1.0, A),
    "where, a method": lambda A: A.where(A > 2, other(A)),
    "masked_fill of 0": lambda A: A.masked_fill(D > 0, 0.0),
    "masked_fill, a sparse mask": lambda A: A.masked_fill(A > 3, 7),
    "masked_fill, a row": lambda A: torch.masked_fill(A, row(A) > 1, T(2.0)),
    "zeros_like": lambda A: torch.zeros_like(A),
}
DENSE = {  # beside a dense tensor
    "greater": lambda A: A > D,
    "dense greater": lambda A: D > A,
    "maximum": lambda A: torch.maximum(A, D),
    "where": lambda A: torch.where(A > 3, 0.0, D),
    "masked_fill": lambda A: D.masked_fill(A > 3, 1),
    "masked_fill of 1": lambda A: A.masked_fill(D > 0, 1.0),
    "coordinates": lambda A: torch.where(A > 3)[1],
    "new_zeros": lambda A: A.new_zeros(3, 4),
}
COPIED = {  # absent elements become something: a dense copy, counted
    "less": lambda A: A < 1,
    "not equal": lambda A: A != 2,
    "equal": lambda A: A == other(A),
    "not": lambda A: ~(A > 3),
    "isfinite": lambda A: A.isfinite(),
    "clamp": lambda A: torch.clip(A, 1),
    "hardtanh": lambda A: F.hardtanh(A, 1, 2),
    "plus": lambda A: A + 1,
    "minus": lambda A: 1 - A,
    "where": lambda A: torch.where(A > 3, A, 1.0),
    "a number's gradient": lambda A: torch.maximum(A, T(-1.0, dtype=torch.float64, requires_grad=True)),
}


def compare(f, text):
    dense, A = sample().requires_grad_(), stt.from_torch(sample(), text).requires_grad_()
    got, want = f(A), f(dense)
    full = got.to_dense()
    assert full.shape == want.shape and full.dtype == want.dtype and torch.equal(full, want)
    if want.requires_grad:
        (full * random(6, 8)).sum().backward()
        (want * random(6, 8)).sum().backward()
        torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))
    return got


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", SPARSE)
def test_what_stays_sparse(name, text):
    with stt.strict():
        got = compare(SPARSE[name], text)
    assert isinstance(got, stt.Tensor) or text == "dense"  # the union of all and some is all


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", DENSE)
def test_beside_a_dense_tensor(name, text):
    with stt.strict():
        got = compare(DENSE[name], text)
    assert type(got) is torch.Tensor


@pytest.mark.parametrize("text", ["CSR", "BSR(4, 3)"])
@pytest.mark.parametrize("name", COPIED)
def test_what_goes_dense_is_counted(name, text):
    before = sum(stt.densified.values())
    assert type(compare(COPIED[name], text)) is torch.Tensor and sum(stt.densified.values()) > before


@pytest.mark.parametrize("text", FORMATS)
def test_equality(text):
    A, B = stt.from_torch(sample(), text), stt.from_torch(sample(seed=1), "CSR")
    with stt.strict():
        assert (
            torch.equal(A, A.to("COO", zeros="drop"))
            and A.equal(sample())
            and not A.equal(2 * A)
            and not A.equal(A[1:])
        )
        assert not torch.equal(A, B) and torch.equal(A + B, B + A)
        assert torch.allclose(A, A + 1e-9 * B) and torch.allclose(sample(), A) and not torch.allclose(A, A + B)
        nan = A * float("nan")
        assert not torch.allclose(nan, nan) and torch.allclose(nan, nan, equal_nan=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda A: torch.maximum(A, 1.1 * other(A)),
        lambda A: torch.where(A > 3.5, A * A, other(A)),
        lambda A: A * row(A) + A,
    ],
)
def test_gradients_of_any_order(f):
    A = stt.from_torch(sample(), "CSR")
    g = lambda v: f(stt.Tensor(v, A.pattern)).square().to_dense()
    values = A.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(g, values) and torch.autograd.gradgradcheck(g, values)


def test_dtypes_are_those_of_torch():
    A = stt.from_torch(sample().to(torch.int32), "CSR")
    dense = A.to_dense()
    for f in (
        lambda x: x * 1.5,
        lambda x: torch.maximum(x, T(2.5)),
        lambda x: x + (x > 3),
        lambda x: torch.where(x > 3, x, 0.0),
        lambda x: x.fmod(2),
        lambda x: x.masked_fill(x > 3, 2),
    ):
        assert f(A).dtype == f(dense).dtype and torch.equal(f(A).to_dense(), f(dense))


@pytest.mark.parametrize(
    "f",
    [lambda A, B: A[1:3, [0, 2]], lambda A, B: torch.cat([A, B]), torch.maximum, lambda A, B: torch.where(D > 0, A, 0)],
)
def test_func(f):
    """First calls under torch.func leave nothing behind that serves it alone."""
    A, B = stt.from_torch(sample(), "CSR"), stt.from_torch(1.1 * sample(seed=1), "COO")
    g = lambda v: f(stt.Tensor(v, A.pattern), B).to_dense().square().sum()
    got = torch.func.grad(g)(A.values())
    values = A.values().clone().requires_grad_()
    g(values).backward()
    assert torch.equal(got, values.grad)
    both = torch.vmap(torch.func.grad(g))(torch.stack([A.values(), 2 * A.values()]))
    torch.testing.assert_close(both[1], torch.func.grad(g)(2 * A.values()))


def test_of_sums_whose_parts_overlap():
    t = st.from_torch(sample().to_sparse_csr())
    A, dense = stt.from_strata(st._core.make_sum([t, t])), 2 * sample()
    with stt.strict():
        for f in (lambda x: x * D, lambda x: D * x * 2, lambda x: x - x, lambda x: x + D, lambda x: x == D):
            assert torch.equal(f(A).to_dense(), f(dense))
    for f in (lambda x: x > 3, lambda x: x * x, lambda x: torch.where(x > 3, x, 0), lambda x: x * random(2, 6, 8)):
        assert torch.equal(f(A).to_dense(), f(dense))
