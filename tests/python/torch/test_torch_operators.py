"""The operators under gradcheck, torch.func, torch.compile and export."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import random, sample  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.torch import _ops  # noqa: E402

SIDES = [(transpose, left) for transpose in (False, True) for left in (False, True)]


def operands(text, transpose, left, vector=False):
    A = stt.from_torch(sample(), text)
    n = (6, 8)[transpose == left] if not left else (6, 8)[transpose]
    x = random(n) if vector else random(2, n) if left else random(n, 2)
    return A.pattern, A.values().clone().requires_grad_(), x.requires_grad_()


@pytest.mark.parametrize("text", ["CSR", "BSR(4, 3)"])
@pytest.mark.parametrize("transpose, left", SIDES)
def test_gradients_of_any_order(text, transpose, left):
    for vector in (False, True):
        pattern, values, x = operands(text, transpose, left, vector)
        f = lambda v, x: _ops.mm(v, pattern, x, transpose, left)  # noqa: E731, B023
        assert torch.autograd.gradcheck(f, (values, x)) and torch.autograd.gradgradcheck(f, (values, x))


@pytest.mark.parametrize("text", ["CSR", "BSR(4, 3)", "dense"])
@pytest.mark.parametrize("transpose, left", SIDES)
def test_gradients_of_complex_numbers(text, transpose, left):
    pattern, values, x = operands(text, transpose, left)
    values, x = (torch.complex(t.detach(), random(*t.shape)).requires_grad_() for t in (values, x))
    f = lambda v, x: _ops.mm(v, pattern, x, transpose, left)  # noqa: E731
    assert torch.autograd.gradcheck(f, (values, x)) and torch.autograd.gradgradcheck(f, (values, x))
    a, b = (torch.complex(random(n, 3), random(n, 3)).requires_grad_() for n in pattern.shape)
    assert torch.autograd.gradcheck(lambda a, b: _ops.sampled(a, b, pattern), (a, b))


@pytest.mark.parametrize(
    "text, transpose, left", [("CSR", True, True), ("BSR(4, 3)", False, False), ("dense", True, False)]
)
def test_operators_are_what_torch_wants(text, transpose, left):
    pattern, values, x = operands(text, transpose, left)
    index = list(pattern.index)
    torch.library.opcheck(torch.ops.strata.mm_v1.default, (values, index, pattern.layout, x, transpose, left))
    a, b = random(6, 3).requires_grad_(), random(8, 3).requires_grad_()
    torch.library.opcheck(torch.ops.strata.sampled_v1.default, (a, b, index, pattern.layout, pattern.num_values))


def quadratic(pattern):
    return lambda v, x: stt.linear(v, pattern, x).square().sum()


def dense_quadratic(pattern):
    return lambda v, x: F.linear(x, pattern.scatter(v)).square().sum()


TRANSFORMS = {
    "grad": lambda f, v, x: torch.func.grad(f, 1)(v, x),
    "grad of values": lambda f, v, x: torch.func.grad(f)(v, x),
    "vmap of grad": lambda f, v, x: torch.vmap(torch.func.grad(f, 1), (None, 0))(v, x),
    "vmap over values": lambda f, v, x: torch.vmap(f, (0, None))(torch.stack([v, 2 * v]), x),
    "jvp": lambda f, v, x: torch.func.jvp(f, (v, x), (v, x))[1],
    "hessian": lambda f, v, x: torch.func.hessian(f, 1)(v, x[0]),
    "hessian of values": lambda f, v, x: torch.func.hessian(f)(v, x),
    "reverse twice": lambda f, v, x: torch.func.jacrev(torch.func.jacrev(f, 1), 1)(v, x[0]),
}


@pytest.mark.parametrize("text", ["CSR", "BSR(2, 2)"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_func(name, text):
    A = stt.from_torch(sample(), text)
    values, x, run = A.values(), random(3, 8), TRANSFORMS[name]
    torch.testing.assert_close(run(quadratic(A.pattern), values, x), run(dense_quadratic(A.pattern), values, x))


def test_func_compiled():
    """Formulas of raw operators gave silent zeros here."""
    A = stt.from_torch(sample(), "CSR")
    f = torch.compile(
        torch.func.grad(lambda x: quadratic(A.pattern)(A.values(), x)), fullgraph=True, backend="aot_eager"
    )
    x = random(3, 8)
    torch.testing.assert_close(f(x), torch.func.grad(dense_quadratic(A.pattern), 1)(A.values(), x))


def test_autocast_and_inference():
    A = stt.from_torch(sample().float(), "CSR").requires_grad_()
    x = random(3, 8).float()
    with torch.autocast("cpu", torch.bfloat16):
        y = F.linear(x, A)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), F.linear(x, sample().float()), rtol=2e-2, atol=2e-1)
    y.float().sum().backward()
    assert A.grad.dtype == torch.float32
    with torch.inference_mode():
        y = F.linear(x, A)
        assert y.is_inference() and not y.requires_grad
    with torch.no_grad():
        assert not F.linear(x, A).requires_grad


def test_results_are_never_written_again():
    A = stt.from_torch(sample(), "CSR")
    first = A @ random(8, 3)
    kept = first.clone()
    for _ in range(3):
        A @ (2 * random(8, 3))
    assert torch.equal(first, kept)


def test_conjugate_and_negative_views_are_read_as_they_mean():
    A, x = stt.from_torch(sample().to(torch.complex128), "CSR"), torch.complex(random(8, 3), random(8, 3) + 1)
    torch.testing.assert_close(A @ x.conj(), A.to_dense() @ x.conj())
    B = stt.from_torch(sample(), "CSR")
    torch.testing.assert_close(B @ x.conj().imag, sample() @ x.conj().imag)
