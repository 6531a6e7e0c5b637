"""STen's code in the poster and in the proposal, TVM's line and Apex's job: as printed, with only the import changed. README.md lists
what was mended."""

import textwrap

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
import torchvision_on_cpu  # noqa: E402, F401

import strata.torch as stt  # noqa: E402
from strata.torch import sten  # noqa: E402

POSTER_CONSTRUCT = """
import sten
sparse_add = sten.sparsified_op(
    orig_op=torch.add,
    out_fmt=[
        (fwd_inline_sparsifier, fwd_temp_format,
         fwd_external_sparsifier, fwd_out_format)],
    grad_out_fmt=[
        (bwd_inline_sparsifier, bwd_temp_format,
         bwd_external_sparsifier, bwd_out_format)])
"""

POSTER_SPARSIFY = """
import sten
sb = sten.SparsityBuilder(model)
sb.set_weight('attention.self.query.weight',
             initial_sparsifier=
                 sten.ScalarFractionSparsifier(0.9),
             out_format=sten.CsrTensor,
             )
sparse_model = sb.get_sparse_model()
output = sparse_model(input)
"""

PROPOSAL_FORWARD = """
# Add new sparse operator
# sparse tensor (self.weight) also needs to be wrapped into a custom class
def forward(self, input):
    sparse_op = sten.sparsified_op(
        orig_op=torch.nn.functional.linear,
        # sparse strategy
        out_fmt=tuple(
            [(sten.KeepAll(), torch.Tensor,
              sten.KeepAll(), torch.Tensor)]
        ),
        grad_out_fmt=tuple(
            [(sten.KeepAll(), torch.Tensor,
              sten.KeepAll(), torch.Tensor)]
        ),
    )
    return sparse_op(input, self.weight, self.bias)
"""

PROPOSAL_REGISTER = """
# The sparsification process is specified using decorators
# forward and backward operator implementations are specified separately
class GroupedNMSparsifier:
    def __init__(self, n, m, g):
        self.n, self.m, self.g = n, m, g
@sten.register_sparsifier_implementation(
    sparsifier=GroupedNMSparsifier,
    inp=torch.Tensor, out=FixedMaskTensor)
def dense_to_grouped_n_m(sparsifier, tensor, grad_fmt=None):
   # implementation ...
"""

PROPOSAL_TVM = """
# TVM compiler checks if weight can be converted into Block Compressed Row Format (BSR).
# if so, relay.transform.DenseToSparse is applied to replace ops
mod, params = ddo.bsr_dense.convert(mod, params, (bs_r, 1), sparsity_threshold=0.8)
"""


def run(text, **names):
    """Runs a snippet; only its import is another."""
    names["torch"] = torch
    exec(textwrap.dedent(text).replace("import sten\n", "import strata.torch.sten as sten\n"), names)
    return names


def test_the_poster_constructs_a_sparse_operator():
    threshold, fraction = sten.ScalarThresholdSparsifier(0.5), sten.ScalarFractionSparsifier(0.5)
    names = run(
        POSTER_CONSTRUCT,
        fwd_inline_sparsifier=threshold,
        fwd_temp_format=sten.CooTensor,
        fwd_external_sparsifier=sten.KeepAll(),
        fwd_out_format=sten.CsrTensor,
        bwd_inline_sparsifier=sten.KeepAll(),
        bwd_temp_format=torch.Tensor,
        bwd_external_sparsifier=fraction,
        bwd_out_format=sten.CsrTensor,
    )
    torch.manual_seed(0)
    a, b, c = (torch.randn(12, 20, requires_grad=True) for _ in range(3))
    y = names["sparse_add"](a, b)
    assert isinstance(y, sten.CsrTensor)
    wanted = torch.where((a + b).abs() > 0.5, a + b, 0).detach()
    assert torch.equal(y.detach().to_dense(), wanted)
    g = torch.randn(12, 12)
    (y @ c.t()).backward(g)
    of_sum = g @ c.detach()
    torch.testing.assert_close(a.grad, torch.where(fraction(of_sum), of_sum, 0))
    torch.testing.assert_close(c.grad, g.t() @ wanted)


def test_the_poster_sparsifies_a_model():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, vocab_size=50
    )
    model = transformers.BertModel(config).eval().encoder.layer[0]
    x = torch.randn(2, 7, 32)
    names = run(POSTER_SPARSIFY, model=model, input=x)
    weight = names["sparse_model"].attention.self.query.weight
    assert isinstance(weight, sten.CsrTensor) and weight.nse == round(0.1 * 32 * 32)
    dense = model.attention.self.query.weight
    mask = torch.zeros(32 * 32, dtype=torch.bool)
    mask[dense.detach().abs().reshape(-1).argsort(descending=True)[: weight.nse]] = True
    with torch.no_grad():
        dense *= mask.reshape(32, 32)
    first = lambda y: y if isinstance(y, torch.Tensor) else y[0]  # noqa: E731
    torch.testing.assert_close(first(names["output"]), first(model(x)))
    first(names["output"]).square().sum().backward()
    first(model(x)).square().sum().backward()
    torch.testing.assert_close(weight.grad.to_dense(), dense.grad * mask.reshape(32, 32), rtol=1e-4, atol=1e-4)


def test_the_proposal_adds_an_operator():
    names = run(PROPOSAL_FORWARD, sten=sten)

    class SparseLinear(torch.nn.Module):
        def __init__(self):
            super().__init__()
            weight = sten.random_mask_sparsify(torch.randn(6, 9), frac=0.7)
            stt.set_weight(self, "weight", sten.SparseParameterWrapper(sten.CscTensor.from_dense(weight)))
            self.bias = torch.nn.Parameter(torch.randn(6))

        forward = names["forward"]

    torch.manual_seed(0)
    layer, x = SparseLinear(), torch.randn(4, 9, requires_grad=True)
    dense, z = layer.weight.detach().to_dense().requires_grad_(), x.detach().clone().requires_grad_()
    layer(x).square().sum().backward()
    F.linear(z, dense, layer.bias.detach()).square().sum().backward()
    torch.testing.assert_close(x.grad, z.grad)
    assert isinstance(layer.weight, sten.CscTensor)
    torch.testing.assert_close(layer.weight.grad.to_dense(), torch.where(dense != 0, dense.grad, 0))
    torch.testing.assert_close(layer.bias.grad, 2 * layer(x).detach().sum(0))


def test_the_proposal_registers_a_sparsifier():
    filled = """
   kept = sten.GroupedNMSparsifier(sparsifier.n, sparsifier.m, sparsifier.g)(tensor)
   return sten.SparseTensorWrapper.wrapped_from_dense(
       FixedMaskTensor(tensor, kept), tensor, grad_fmt)
"""
    names = run(PROPOSAL_REGISTER + filled, sten=sten, FixedMaskTensor=sten.FixedMaskTensor)
    cls = names["GroupedNMSparsifier"]
    try:
        x = torch.randn(8, 12, requires_grad=True)
        op = sten.sparsified_op(torch.mul, [(sten.KeepAll(), torch.Tensor, cls(2, 4, 4), sten.FixedMaskTensor)])
        y = op(x, 2.0)
        groups = (2 * x).detach().abs().reshape(2, 4, 3, 4).sum(1)
        kept = groups >= groups.sort(-1, descending=True).values[..., 1:2]
        mask = kept[:, None].expand(2, 4, 3, 4).reshape(8, 12)
        assert isinstance(y, sten.FixedMaskTensor)
        assert torch.equal(y.detach().to_dense(), torch.where(mask, 2 * x, 0).detach())
        y.sum().backward()
        assert torch.equal(x.grad, 2.0 * mask)
        model = sten.SparsityBuilder(torch.nn.Sequential(torch.nn.Linear(12, 8)))
        model.set_weight(
            "0.weight", initial_sparsifier=None, external_sparsifier=cls(2, 4, 4), out_format=sten.FixedMaskTensor
        )
        assert model.get_sparse_model()[0].weight.nse == 48
    finally:
        sten.unregister_sparsifier_implementation(cls, torch.Tensor, sten.FixedMaskTensor)


def test_tvm_converts_what_is_sparse_enough():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    with torch.no_grad():
        model[0].weight *= stt.Random(0.1, (16, 1))(model[0].weight)
        model[2].weight *= stt.Random(0.5, (16, 1))(model[2].weight)
    line = PROPOSAL_TVM.replace("mod, params = ddo.bsr_dense.convert(mod, params, ", "mod = stt.convert(mod, ")
    mod = run(line, mod=model, bs_r=16, stt=stt)["mod"]
    assert mod[0].weight.format == "BSR(16, 1)" and type(mod[2]) is torch.nn.Linear
    x = torch.randn(3, 64)
    torch.testing.assert_close(mod(x), model(x))
