"""Calls of ordinary tensors: planned once, each result in memory of its own, and left to the operators where somebody
watches."""

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata import _core  # noqa: E402
from strata.errors import DTypeError, ExpressionError, TensorError  # noqa: E402
from strata.torch import _kernels, _ops  # noqa: E402


def layer(format, dtype=torch.float64):
    dense = torch.nn.Linear(8, 6, dtype=dtype)
    with torch.no_grad():
        dense.weight.copy_(sample().to(dtype))
        dense.bias.copy_(random(6).to(dtype))
    return stt.nn.Linear.from_dense(dense, format), dense


def step(module, x):
    module.zero_grad()
    x.grad = None
    y = module(x)
    (y * torch.arange(1, y.numel() + 1, dtype=y.dtype).reshape(y.shape)).sum().backward()
    return y, x.grad, module.bias.grad


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("shape", [(8,), (1, 8), (2, 8), (5, 8), (2, 3, 8), (0, 8)])
def test_a_layer_is_its_dense_one(format, shape):
    sparse, dense = layer(format)
    x = random(*shape).requires_grad_()
    got, want = step(sparse, x), step(dense, x)
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b)
    mask = stored(sparse.weight.pattern)
    torch.testing.assert_close(sparse.weight.grad.to_dense(), torch.where(mask, dense.weight.grad, 0))


@pytest.mark.parametrize("format", FORMATS)
def test_repeated_calls_plan_nothing_and_share_no_memory(format):
    sparse, _ = layer(format)
    x = random(3, 8).requires_grad_()
    step(sparse, x)
    planned, seen = _core.plans_made(), []
    for k in range(3):
        results = *step(sparse, (k + x.detach()).requires_grad_()), sparse.weight_values.grad
        seen.append([(r, r.detach().clone()) for r in results])
    assert _core.plans_made() == planned
    results = [r for call in seen for r, _ in call]
    assert len({r.data_ptr() for r in results}) == len(results)
    for call in seen:
        for result, copy in call:
            assert torch.equal(result, copy)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.complex128])
def test_dtypes(dtype):
    sparse, dense = layer("CSR", dtype)
    x = random(5, 8).to(dtype)
    torch.testing.assert_close(sparse(x), dense(x), rtol=2e-2, atol=1e-1)
    assert sparse(x).dtype == dtype
    with pytest.raises(DTypeError):
        sparse(x.real.to(torch.float64))


def test_operands_as_they_lie():
    """Strided, broadcast, beginning anywhere, lazily negative or conjugate."""
    sparse, dense = layer("CSR", torch.complex128)
    z = torch.complex(random(8, 4), random(4, 8).t()).requires_grad_()
    for x in (z.t(), z.t().conj(), z[:, 1].expand(3, 8), z.t()[1:3], torch.cat([z, z])[::2].t()):
        torch.testing.assert_close(sparse(x), dense(x))
    sparse, dense = layer("CSR")
    x = z.detach().t().conj().imag
    assert x.is_neg()
    torch.testing.assert_close(sparse(x), dense(x))
    torch.testing.assert_close(sparse(random(8, 5).t()), dense(random(8, 5).t()))


def test_who_watches_sees_the_operator():
    sparse, _ = layer("CSR")
    pattern, x, seen = sparse.weight.pattern, random(2, 8), []
    at_once = lambda values, x: _ops.mm_at_once(values, pattern, x, None, True, True)  # noqa: E731
    values = sparse.weight_values.detach()
    assert at_once(values, x) is not None

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(func.name())
            return func(*args, **(kwargs or {}))

    class Named(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Dispatch():
        assert at_once(values, x) is None
        sparse(x)
    assert "strata::mm_v1" in seen or "strata::_mm_v1" in seen
    with Named():
        assert at_once(values, x) is None
    with torch.autocast("cpu", torch.bfloat16):
        assert at_once(values, x) is None
    with torch.profiler.profile() as profile:
        sparse(x)
    assert any("strata" in event.name for event in profile.events())
    with torch.autograd.forward_ad.dual_level():
        assert at_once(values, x) is None
    torch.func.vmap(lambda x: seen.append(at_once(values, x)) or x)(x)
    assert seen[-1] is None
    assert at_once(values, x.to("meta")) is None and at_once(values.to_sparse(), x) is None
    assert at_once(values, x[:, :5]) is None and at_once(values.float(), x) is None
    with pytest.raises(TensorError, match="22 of them"):
        at_once(values[:3], x)


@pytest.mark.parametrize("name", ["_is_tracing", "_len_torch_dispatch_stack"])
def test_without_a_private_name_of_torch(monkeypatch, name):
    """Every call takes the operator, and is right."""
    sparse, dense = layer("BSR(2, 2)")
    with monkeypatch.context() as context:
        context.delattr(torch._C, name)
        calls = _core.TorchCalls()
    monkeypatch.setattr(_kernels, "calls", calls)
    x = random(3, 8).requires_grad_()
    assert _ops.mm_at_once(sparse.weight_values, sparse.weight.pattern, x, None, True, True) is None
    for a, b in zip(step(sparse, x), step(dense, x)):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("format", ["CSR", "BSR(4, 4) + COO"])
def test_second_derivatives(format):
    sparse, _ = layer(format)
    pattern = sparse.weight.pattern
    values, bias = (p.detach().clone().requires_grad_() for p in (sparse.weight_values, sparse.bias))

    def f(values, x, bias):
        return F.linear(x, stt.Tensor(values, pattern), bias)

    for x in (random(8), random(3, 8)):
        torch.autograd.gradgradcheck(f, (values, x.requires_grad_(), bias))


def test_operators_refuse_what_is_no_matrix():
    sparse, _ = layer("CSR")
    pattern, values = sparse.weight.pattern, sparse.weight_values.detach()
    index = list(pattern.index)
    for x in (random(2, 3, 8), torch.tensor(1.0).double()):
        with pytest.raises(TensorError):
            torch.ops.strata._mm_v1(values, index, pattern.layout, x, True, True)
    for x in (random(3, 7), random(7)):
        with pytest.raises(ExpressionError):
            torch.ops.strata._mm_v1(values, index, pattern.layout, x, True, True)
    for a, b in ((random(6, 2), random(8, 3)), (random(6), random(7)), (random(6, 2), random(8))):
        with pytest.raises(ExpressionError):
            torch.ops.strata._sampled_v1(a, b, index, pattern.layout, pattern.num_values)


def test_shapes_broadcast_as_torchs():
    from strata.torch._broadcast import broadcast_shapes

    shapes = [(), (1,), (3,), (0,), (2, 1), (2, 3), (1, 3), (4, 1, 3), (2, 0)]
    for a in shapes:
        assert broadcast_shapes(a) == torch.Size(a)
        for b in shapes:
            for c in shapes:
                try:
                    want = torch.broadcast_shapes(a, b, c)
                except RuntimeError:
                    with pytest.raises(RuntimeError, match="do not broadcast"):
                        broadcast_shapes(a, b, c)
                else:
                    assert broadcast_shapes(a, b, c) == want and isinstance(broadcast_shapes(a, b, c), torch.Size)


FIRST_CALLS = """
import sys, torch
import strata.torch as stt
A = stt.from_torch(torch.eye(3))
(A @ torch.ones(3, 2)), A * torch.ones(3), A + A, A[:2], stt.spmm(A, torch.ones(3, 2), reduce="max")
q = torch.randn(2, 3, 4, requires_grad=True)
stt.attention(q, q, q, A).sum().backward()
print("sympy" in sys.modules)
"""


def test_first_calls_import_no_symbolic_algebra():
    """torch.broadcast_shapes would: two seconds at the first attention or product of elements."""
    import subprocess
    import sys

    out = subprocess.run([sys.executable, "-c", FIRST_CALLS], capture_output=True, text=True, check=True)
    assert out.stdout == "False\n"
