"""strata.torch.sten: formats of outputs and their gradients, beside the masked dense computation; models that a builder makes."""

import copy

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from strata.torch import sten  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
KEEP, DENSE = sten.KeepAll(), torch.Tensor
PLAIN = (KEEP, DENSE, KEEP, DENSE)
FORMATS = {
    "fused": (sten.ScalarThresholdSparsifier(1.0), sten.CsrTensor, KEEP, sten.CsrTensor),
    "fused, converted": (sten.ScalarThresholdSparsifier(1.0), sten.CsrTensor, KEEP, sten.CscTensor),
    "twice": (sten.ScalarThresholdSparsifier(0.5), sten.CooTensor, sten.ScalarFractionSparsifier(0.7), sten.CsrTensor),
    "magnitude": (KEEP, DENSE, sten.ScalarFractionSparsifier(0.9), sten.CscTensor),
    "blocks": (KEEP, DENSE, sten.BlockwiseFractionSparsifier(0.5, 4), sten.FixedMaskTensor),
    "n:m": (sten.PerBlockNMSparsifier(2, 4), sten.NMTensor, KEEP, sten.NMTensor),
    "n:m:g": (KEEP, DENSE, sten.GroupedNMSparsifier(1, 4, 5), sten.GroupedNMTensor),
    "masked": (KEEP, DENSE, sten.ScalarThresholdSparsifier(0.7), sten.MaskedTensor),
    "zeros": (KEEP, DENSE, sten.ScalarThresholdSparsifier(0.7), DENSE),
    "by name": (sten.ScalarThresholdSparsifier(1.0), "CSR", KEEP, st.Format("BSR(2, 2)")),
}
GRADIENTS = {
    "stored": None,
    "all": PLAIN,
    "magnitude": (KEEP, DENSE, sten.ScalarFractionSparsifier(0.5), sten.CsrTensor),
    "twice": (sten.ScalarThresholdSparsifier(0.2), sten.CooTensor, sten.PerBlockNMSparsifier(2, 4), sten.CsrTensor),
}


def there(y):
    return y.pattern.scatter(torch.ones(y.pattern.num_values)) > 0


def stays(fmt, x):
    for sparsifier in (fmt[0], fmt[2]):
        x = torch.where(sparsifier(x), x, 0)
    return x


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("name", FORMATS)
def test_outputs_and_gradients(name, gradient):
    torch.manual_seed(0)
    fmt, grad = FORMATS[name], GRADIENTS[gradient]
    op = sten.sparsified_op(orig_op=torch.add, out_fmt=[fmt], grad_out_fmt=None if grad is None else [grad])
    a, b, c = (torch.randn(10, 20, requires_grad=True) for _ in range(3))
    y = op(a, b)
    wanted = stays(fmt, (a + b).detach())
    assert torch.equal(y.detach().to_dense(), wanted)
    assert isinstance(y, fmt[3]) if isinstance(fmt[3], type) else y.format == st.Format(fmt[3])
    z = torch.mm(y, c.t())
    g = torch.randn_like(z)
    z.backward(g)
    dense = g @ c.detach()
    if grad is None:
        dense = torch.where(wanted != 0, dense, 0)
    else:
        dense = stays(grad, dense)
    torch.testing.assert_close(a.grad, dense, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(b.grad, dense, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(c.grad, g.t() @ wanted, rtol=1e-4, atol=1e-4)


OPS = {
    "relu": (torch.relu, lambda: (torch.randn(30, 40),), {}),
    "gelu": (F.gelu, lambda: (torch.randn(3, 10, 40),), {}),
    "exp": (torch.exp, lambda: (torch.randn(30, 40),), {}),
    "mul": (torch.mul, lambda: (torch.randn(30, 40), torch.randn(40)), {}),
    "lerp": (torch.lerp, lambda: (torch.randn(30, 1), torch.randn(30, 40)), {"weight": 0.25}),
    "linear": (F.linear, lambda: (torch.randn(30, 8), torch.randn(40, 8), torch.randn(40)), {}),
    "linear, no bias": (F.linear, lambda: (torch.randn(30, 8), torch.randn(40, 8)), {"bias": None}),
    "mm": (torch.mm, lambda: (torch.randn(30, 8), torch.randn(8, 40)), {}),
    "softmax": (torch.softmax, lambda: (torch.randn(30, 40), -1), {}),  # not fused: rows are whole
}


@pytest.mark.parametrize("name", OPS)
def test_fused(name, monkeypatch):
    """The same as in separate steps, with gradients; what can be fused is."""
    op, make, kwargs = OPS[name]
    torch.manual_seed(1)
    args = [x.requires_grad_() if isinstance(x, torch.Tensor) else x for x in make()]
    tensors = [x for x in args if isinstance(x, torch.Tensor)]
    called, real = [], sten._operators.fused
    monkeypatch.setattr(sten._operators, "fused", lambda *a: called.append(real(*a)) or called[-1])
    layout = sten.CsrTensor
    for sparsifier in (sten.ScalarThresholdSparsifier(0.05), sten.PerBlockNMSparsifier(1, 4)):
        results = []
        for fmt in ((sparsifier, layout, KEEP, layout), (KEEP, DENSE, sparsifier, layout)):
            for x in tensors:
                x.grad = None
            y = sten.sparsified_op(op, [fmt])(*args, **kwargs)
            (y * y).sum().backward()
            results.append((y.detach().to_dense(), *(x.grad for x in tensors)))
        for one, two in zip(*results):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)
        assert [y is not None for y in called] == [name != "softmax"]
        called.clear()


def test_fused_dropout():
    """The poster's first example: add, then a random fraction, in CSR."""
    generator = torch.Generator().manual_seed(0)
    op = sten.sparsified_op(
        torch.add, [(sten.RandomFractionSparsifier(0.9, generator), sten.CsrTensor, KEEP, sten.CsrTensor)]
    )
    a, b = torch.randn(50, 60, requires_grad=True), torch.ones(50, 60)
    y = op(a, b)
    assert isinstance(y, sten.CsrTensor) and y.nse == 300
    assert torch.equal(y.detach().to_dense(), torch.where(there(y), a.detach() + 1, 0))
    y.sum().backward()
    assert torch.equal(a.grad, there(y).float())


def test_several_outputs():
    op = sten.sparsified_op(
        torch.split, [(KEEP, DENSE, sten.ScalarFractionSparsifier(0.5), sten.CsrTensor), PLAIN], [PLAIN, PLAIN]
    )
    x = torch.randn(8, 6, requires_grad=True)
    one, two = op(x, 4)
    assert isinstance(one, sten.CsrTensor) and one.nse == 12 and type(two) is torch.Tensor
    (one.to_dense().sum() + two.sum()).backward()
    assert torch.equal(x.grad, torch.ones(8, 6))
    with pytest.raises(st.ArgumentError, match="a format for each output"):
        sten.sparsified_op(torch.split, [PLAIN])(x, 4)
    with pytest.raises(st.ArgumentError, match="each output has a gradient"):
        sten.sparsified_op(torch.add, [PLAIN], [])
    with pytest.raises(st.ArgumentError, match="a format in out_fmt is four things"):
        sten.sparsified_op(torch.add, [(KEEP, DENSE)])
    with pytest.raises(st.ArgumentError, match="NMTensor stores what a sparsifier of n of m keeps"):
        sten.sparsified_op(torch.add, [(KEEP, sten.NMTensor, KEEP, DENSE)])(x, x)


def test_layouts():
    x = torch.relu(torch.randn(4, 6))
    for layout in (sten.CsrTensor, sten.CscTensor, sten.CooTensor, sten.MaskedTensor, sten.FixedMaskTensor):
        t = layout(x)
        assert isinstance(t, layout) and torch.equal(t.to_dense(), x) and t.nse == (x != 0).sum()
        assert torch.equal(layout.from_dense(x.to_sparse()).to_dense(), x)
        for shape in ((5,), (2, 3, 4)):
            more = torch.relu(torch.randn(shape))
            assert isinstance(layout(more), layout) and torch.equal(layout(more).to_dense(), more)
        assert not isinstance(x, layout)
    assert not isinstance(sten.CsrTensor(x), sten.CscTensor) and sten.DenseTensor(x) is x
    import scipy.sparse

    assert torch.equal(sten.CscTensor(scipy.sparse.csc_matrix(x.numpy())).to_dense(), x)
    mask = torch.rand(4, 6) < 0.5
    t = sten.FixedMaskTensor(x, mask)
    t.add_(1)
    assert t.nse == mask.sum() and torch.equal(t.to_dense(), torch.where(mask, x + 1, 0))
    assert torch.equal(F.linear(torch.ones(1, 6), t), torch.ones(1, 6) @ t.to_dense().t())


class Rows:
    """A layout of somebody's own."""

    def __init__(self, rows):
        self.rows = rows

    @staticmethod
    def from_dense(tensor):
        return Rows(list(tensor))

    def to_dense(self):
        return torch.stack(self.rows)


class EveryOther:
    def __init__(self, step):
        self.step = step


def test_layouts_of_ones_own():
    @sten.register_sparsifier_implementation(sparsifier=EveryOther, inp=torch.Tensor, out=Rows)
    def every_other(sparsifier, tensor, grad_fmt=None):
        kept = tensor.clone()
        kept[1 :: sparsifier.step] = 0
        return sten.SparseTensorWrapper.wrapped_from_dense(Rows.from_dense(kept), tensor, grad_fmt)

    @sten.register_sparsifier_implementation(sparsifier=sten.SameFormatSparsifier, inp=torch.Tensor, out=Rows)
    def same(sparsifier, tensor, grad_fmt=None):
        return Rows.from_dense(torch.where(sparsifier.ref.to_dense() != 0, tensor, 0))

    try:
        op = sten.sparsified_op(torch.add, [(KEEP, DENSE, EveryOther(2), Rows)], [(KEEP, DENSE, EveryOther(2), Rows)])
        a, c = torch.randn(6, 5, requires_grad=True), torch.randn(5, 3)
        y = op(a, 1)
        assert isinstance(y.wrapped_tensor, Rows) and (y.to_dense()[1::2] == 0).all()
        torch.testing.assert_close(y @ c, y.to_dense() @ c)
        (y @ c).sum().backward()
        wanted = c.sum(1).expand(6, 5).clone()
        wanted[1::2] = 0
        torch.testing.assert_close(a.grad, wanted)
        z = sten.sparsified_op(torch.add, [(KEEP, DENSE, EveryOther(2), Rows)])(a.detach(), 1)
        before = z.to_dense().clone()
        z.mul_(2)
        assert torch.equal(z.to_dense(), 2 * before) and torch.equal(z.wrapped_tensor.to_dense(), 2 * before)
        # without an implementation: what is kept goes through from_dense
        z = sten.sparsified_op(torch.add, [(KEEP, DENSE, sten.ScalarFractionSparsifier(0.5), Rows)])(a.detach(), 1)
        assert isinstance(z.wrapped_tensor, Rows) and z.nse == 15
    finally:
        assert sten.unregister_sparsifier_implementation(EveryOther, torch.Tensor, Rows)
        assert sten.unregister_sparsifier_implementation(sten.SameFormatSparsifier, torch.Tensor, Rows)
    with pytest.raises(st.Unsupported, match="nobody says what a Rows keeps"):
        z.add_(1)
    with pytest.raises(st.ArgumentError, match="nobody says how EveryOther stores"):
        sten.sparsified_op(torch.add, [(KEEP, DENSE, KEEP, EveryOther)])(a, 1)


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return self.two(F.gelu(self.one(x)))


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.act, self.last = Inner(), nn.ReLU(), nn.Linear(8, 4)

    def forward(self, x):
        return self.last(self.act(self.inner(x))).tanh()


def test_builder():
    """Weights, intermediate results by module and by node, and their gradients, beside the same written out."""
    torch.manual_seed(2)
    model, x = Outer(), torch.randn(7, 8)
    reference = copy.deepcopy(model)
    half, fmt = sten.ScalarFractionSparsifier(0.5), dict(out_format=sten.CsrTensor)
    sb = sten.SparsityBuilder(model)
    sb.set_weight("inner.two.weight", initial_sparsifier=half, out_format=sten.CscTensor)
    sb.set_weight("last.weight", initial_sparsifier=sten.ScalarThresholdSparsifier(0.1))
    sb.set_weight_grad("inner.two.weight", external_sparsifier=sten.ScalarFractionSparsifier(0.75), **fmt)
    sb.set_weight_grad("inner.one.weight", external_sparsifier=half, **fmt)
    sb.set_interm("inner.gelu", external_sparsifier=half, **fmt)
    sb.set_interm_grad("inner.gelu", external_sparsifier=half, **fmt)
    sb.set_interm("act", inline_sparsifier=sten.ScalarThresholdSparsifier(0.05), tmp_format=sten.CsrTensor, **fmt)
    sb.set_interm("tanh", external_sparsifier=half, out_format=sten.CooTensor)
    sparse = sb.get_sparse_model()
    assert type(model.inner.two) is nn.Linear and isinstance(sparse.inner.two.weight, sten.CscTensor)

    class Gradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return torch.where(half(g), g, 0)

    def straight(x, mask):
        return x + (torch.where(mask, x, 0) - x).detach()

    with torch.no_grad():
        for layer, s in ((reference.inner.two, half), (reference.last, sten.ScalarThresholdSparsifier(0.1))):
            layer.weight *= s(layer.weight)
    y = Gradient.apply(F.gelu(reference.inner.one(x)))
    y = reference.inner.two(straight(y, half(y.detach())))
    y = torch.relu(y)
    y = reference.last(torch.where(y.detach() > 0.05, y, 0)).tanh()
    y = torch.where(half(y.detach()), y, 0)
    z = sparse(x)
    assert isinstance(z, sten.CooTensor)
    torch.testing.assert_close(z.detach().to_dense(), y.detach())
    g = torch.randn(7, 4)
    (z.to_dense() * g).sum().backward()
    (y * g).sum().backward()
    dropped = torch.where(half(reference.inner.one.weight.grad), reference.inner.one.weight.grad, 0)
    torch.testing.assert_close(sparse.inner.one.weight.grad, dropped)
    of_two = torch.where(reference.inner.two.weight != 0, reference.inner.two.weight.grad, 0)
    of_two = torch.where(sten.ScalarFractionSparsifier(0.75)(of_two), of_two, 0)
    torch.testing.assert_close(sparse.inner.two.weight.grad.to_dense(), of_two)
    torch.testing.assert_close(sparse.inner.one.bias.grad, reference.inner.one.bias.grad)
    torch.testing.assert_close(sparse.last.weight.grad, reference.last.weight.grad)
    torch.testing.assert_close(copy.deepcopy(sparse)(x).detach().to_dense(), z.detach().to_dense())


def test_builder_in_place_and_its_errors():
    model = Outer()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    sb = sten.SparsityBuilder()
    sb.set_weight("inner.one.weight", sten.ScalarFractionSparsifier(0.9), out_format=sten.CsrTensor)
    assert sb.sparsify_model_and_optimizer_inplace(model, optimizer) is model
    assert {id(p) for p in model.parameters()} == {id(p) for group in optimizer.param_groups for p in group["params"]}
    before = model.inner.one.weight.detach().to_dense()
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    assert not torch.equal(model.inner.one.weight.detach().to_dense(), before)
    with pytest.raises(st.ArgumentError, match=r"no weight 'inner.one.wieght'[\s\S]*inner.one.weight"):
        sten.SparsityBuilder(Outer()).set_weight_grad("inner.one.wieght").get_sparse_model()
    with pytest.raises(st.ArgumentError, match=r"no result 'inner.gelo'[\s\S]*gelu"):
        sten.SparsityBuilder(Outer()).set_interm("inner.gelo").get_sparse_model()
    with pytest.raises(st.ArgumentError, match="no module 'iner'"):
        sten.SparsityBuilder(Outer()).set_interm("iner.gelu").get_sparse_model()
    with pytest.raises(st.ArgumentError, match="no model"):
        sten.SparsityBuilder().get_sparse_model()

    class Asks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(st.ArgumentError, match=r"torch.fx cannot trace the model"):
        sten.SparsityBuilder(Asks()).set_interm("neg").get_sparse_model()


def test_compiled():
    """In a graph: dense tensors with zeros, the same numbers and gradients, in one graph."""
    torch.manual_seed(3)
    a, b = torch.randn(12, 16, requires_grad=True), torch.randn(12, 16)
    for name in ("fused", "blocks", "n:m:g"):
        for grad in (None, [PLAIN]):
            op = sten.sparsified_op(torch.add, [FORMATS[name]], grad)
            results = []
            torch._dynamo.reset()
            for f in (op, torch.compile(op, fullgraph=True, backend="aot_eager")):
                a.grad = None
                y = f(a, b)
                (y * y).sum().backward()
                results.append((y.detach().to_dense(), a.grad))
            torch.testing.assert_close(*results)


def test_compiled_in_one_loop():
    """torch's compiler fuses operator and sparsifier."""
    from torch._inductor import metrics

    op = sten.sparsified_op(torch.add, [(sten.ScalarThresholdSparsifier(1.0), sten.CsrTensor, KEEP, sten.CsrTensor)])
    a, b = torch.randn(40, 50), torch.randn(40, 50)
    metrics.reset()
    y = torch.compile(lambda a, b: op(F.gelu(a), b), fullgraph=True)(a, b)
    wanted = F.gelu(a) + b
    torch.testing.assert_close(y, torch.where(wanted.abs() > 1, wanted, 0))
    assert metrics.generated_kernel_count <= 1
