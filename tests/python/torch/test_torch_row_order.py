"""Products that would scatter into a large result go by another order of the same elements."""

import pytest

torch = pytest.importorskip("torch")
from test_torch_tensor import random, sample  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.torch import _ops, _row_order  # noqa: E402


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for module in (_ops, _row_order):
        monkeypatch.setattr(module, "LARGE", 1)
    monkeypatch.setattr(_row_order, "BYTES", 1)
    monkeypatch.setattr(_row_order, "COLUMNS", 8)


@pytest.mark.parametrize(
    "text", ["CSR", "CSC", "BSR(2, 4)", "BSC(2, 4)", "BSR(4, 3)", "COO", "DCSR", "delta(4)", "bitmap", "ELL"]
)
@pytest.mark.parametrize("transpose, left", [(t, x) for t in (False, True) for x in (False, True)])
def test_every_product(text, transpose, left):
    A = stt.from_torch(sample(), text)
    values = A.values().clone().requires_grad_()
    dense = A.pattern.scatter(values.detach()).requires_grad_()
    n = (dense.t() if transpose else dense).shape[0 if left else 1]
    x = (random(9, n) if left else random(n, 9)).requires_grad_()
    z = x.detach().clone().requires_grad_()
    op = dense.t() if transpose else dense
    for f in (_ops.mm, lambda v, p, x, t, w: torch.ops.strata.mm_v1(v, list(p.index), p.layout, x, t, w)):
        y, want = f(values, A.pattern, x, transpose, left), z @ op if left else op @ z
        torch.testing.assert_close(y, want)
        g = random(*y.shape)
        got, expected = torch.autograd.grad(y, (values, x), g), torch.autograd.grad(want, (dense, z), g)
        torch.testing.assert_close(got[0], A.pattern.gather(expected[0]))
        torch.testing.assert_close(got[1], expected[1])


def test_where_it_is_taken():
    A = stt.from_torch(sample(), "CSR")
    for matrix, x, transpose, left, taken in (
        (A, random(9, 6), False, True, True),
        (A, random(9, 8), True, True, False),
        (A, random(6, 9), True, False, True),
        (A, random(2, 6), False, True, False),
        (stt.from_torch(sample(), "CSC"), random(8, 9), False, False, True),
        (stt.from_torch(sample(), "DIA"), random(8, 9), False, False, False),
    ):
        p = matrix.pattern
        acts, values = _row_order.in_row_order(p, matrix.values(), x, transpose, left)
        assert (acts is not p.matrix(transpose)) == taken
        assert taken or values is matrix.values()
