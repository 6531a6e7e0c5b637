"""Multi-head attention with sparse projections against the masked dense module: outputs, attention weights, gradients."""

import copy
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

FORMATS = [
    *("CSR", "CSC", "COO", "DIA", "DCSR", "ELL", "delta(4)", "bitmap", "dense", "structured(2, 4)"),
    *("BSR(2, 2)", "BSR(5, 3)", "BSR(4, 4) + COO"),
]
E, HEADS = 8, 2


def dense(**options):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(E, HEADS, **options).double()
    for name, p in module.named_parameters():
        nn.init.normal_(p)
        if p.dim() == 2:
            p.data *= stt.NM(2, 4)(p)
    return module


def inputs(same, batch_first=False, batch=True, kdim=E, vdim=E):
    draw = torch.Generator().manual_seed(1)
    shapes = ((5, E),) if same else ((3, E), (5, kdim), (5, vdim))
    made = [torch.randn(length, 4, width, dtype=torch.float64, generator=draw) for length, width in shapes]
    made = [x if batch else x[:, 0] for x in made]
    made = [(x.transpose(0, 1) if batch_first else x).contiguous().requires_grad_() for x in made]
    return made * 3 if same else made


def compare(sparse, masked, same, **options):
    """Outputs, the gradients of inputs, biases and stored weights."""
    shape = {k: options.pop(k) for k in ("batch_first", "batch", "kdim", "vdim") if k in options}
    ours, theirs = inputs(same, **shape), inputs(same, **shape)
    with stt.strict():
        got = sparse(*ours, **options)
    want = masked(*theirs, **options)
    torch.testing.assert_close(got, want)
    g = torch.randn(want[0].shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with stt.strict():
        got[0].backward(g)
    want[0].backward(g)
    torch.testing.assert_close([x.grad for x in ours], [x.grad for x in theirs])
    for name, p in masked.named_parameters():
        owner = sparse.get_submodule(name.rpartition(".")[0])
        mine = getattr(owner, name.rpartition(".")[2])
        if isinstance(mine, stt.Tensor):
            there = mine.pattern.scatter(torch.ones(mine.pattern.num_values)).bool()
            torch.testing.assert_close(mine.grad.to_dense(), torch.where(there, p.grad, 0))
        else:
            torch.testing.assert_close(mine.grad, p.grad)


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("same", [True, False], ids=["self", "cross"])
def test_formats(text, same):
    masked = dense()
    if "+" not in text:
        return compare(stt.nn.MultiheadAttention.from_dense(masked, text), masked, same)
    sparse = stt.nn.MultiheadAttention.from_dense(masked, text)
    if all(w.pattern.once for w in (sparse.in_proj_weight, sparse.out_proj.weight)):
        compare(sparse, masked, same)


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("same", [True, False], ids=["self", "cross"])
def test_masks_and_layouts(train, batch_first, same):
    masked = dense(batch_first=batch_first, bias=same).train(train)
    length = 5 if same else 3
    causal = torch.ones(length, 5).triu(1).bool()
    padding = torch.arange(5).expand(4, 5) >= torch.tensor([5, 4, 3, 5])[:, None]
    for options in (
        {"need_weights": False},
        {"attn_mask": causal},
        {"attn_mask": causal, "is_causal": same, "need_weights": False},
        {"attn_mask": torch.rand(4 * HEADS, length, 5, dtype=torch.float64), "average_attn_weights": False},
        {"key_padding_mask": padding, "attn_mask": causal},
    ):
        sparse = stt.nn.MultiheadAttention.from_dense(masked, "CSR")
        masked.zero_grad()
        compare(sparse, masked, same, batch_first=batch_first, **options)
    sparse = stt.nn.MultiheadAttention.from_dense(masked, "CSR")
    masked.zero_grad()
    compare(sparse, masked, same, batch=False)


@pytest.mark.parametrize("options", [{"kdim": 6, "vdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}], ids=str)
def test_other_constructions(options):
    masked = dense(**options)
    sparse = stt.nn.MultiheadAttention.from_dense(masked, "CSR")
    compare(sparse, masked, False, **{k: v for k, v in options.items() if "dim" in k})


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_encoder_and_decoder_layers(train, batch_first):
    """The fast path of torch in evaluation would read dense memory that is not there."""
    for make in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer):
        torch.manual_seed(0)
        masked = make(E, HEADS, 16, dropout=0.0, batch_first=batch_first, dtype=torch.float64).train(train)
        sparse = stt.sparsify_(copy.deepcopy(masked), "CSR", stt.NM(2, 4), filter=r"in_proj|out_proj|linear\d\.weight")
        for name, module in sparse.named_modules():
            for leaf, weight in stt.weights_of(module).items():
                getattr(masked.get_submodule(name), leaf).data = weight.detach().to_dense()
        x = inputs(False, batch_first)[::-1]
        operands = x[:1] if make is nn.TransformerEncoderLayer else x[:2]
        for grad in (True, False):
            with torch.set_grad_enabled(grad), stt.strict():
                got = sparse(*operands)
            torch.testing.assert_close(got, masked(*operands))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_encoder_with_padding_whose_second_layer_is_sparse():
    """Its fast path makes a nested tensor of the input as long as the first layer is dense."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(E, HEADS, 16, batch_first=True)
    masked = nn.TransformerEncoder(layer, 2).eval()
    sparse = stt.sparsify_(copy.deepcopy(masked), "CSR", stt.NM(2, 4), filter=r"1\.linear1\.weight")
    masked.layers[1].linear1.weight.data = sparse.layers[1].linear1.weight.detach().to_dense()
    padding = torch.arange(5).expand(4, 5) >= torch.tensor([5, 4, 3, 5])[:, None]
    x = torch.randn(4, 5, E)
    with torch.no_grad():
        got, want = (m(x, src_key_padding_mask=padding) for m in (sparse, masked))
    torch.testing.assert_close(got[~padding], want[~padding])


def test_the_module():
    torch.manual_seed(0)
    for how in ({"density": 0.25}, {"density": 0.25, "block_shape": (4, 4)}, {"density": 0.5, "format": "delta(4)"}):
        module = stt.nn.MultiheadAttention(16, 2, **how)
        assert module.in_proj_weight.nse >= how["density"] * 16 * 48
        assert module.in_proj_weight.format == how.get("format", "BSR(4, 4)" if "block_shape" in how else "CSR")
        x = torch.randn(3, 2, 16)
        for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
            assert type(again) is stt.nn.MultiheadAttention and torch.equal(again(x, x, x)[0], module(x, x, x)[0])
        other = stt.nn.MultiheadAttention(16, 2, density=0.9)
        other.load_state_dict(module.state_dict())
        assert torch.equal(other(x, x, x)[0], module(x, x, x)[0])
    mask = torch.rand(48, 16) < 0.3
    module = stt.nn.MultiheadAttention(16, 2, pattern={"in_proj_weight": mask})
    assert module.in_proj_weight.nse == mask.sum() and type(module.out_proj.weight) is nn.Parameter
    with pytest.raises(st.Error, match="told once"):
        stt.nn.MultiheadAttention(16, 2)
    with pytest.raises(st.Error, match="no weight of this name"):
        stt.nn.MultiheadAttention(16, 2, pattern={"in_proj": mask})
    with pytest.raises(st.Error, match="another shape"):
        stt.nn.MultiheadAttention(16, 2, pattern={"in_proj_weight": mask.t()})


@pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
def test_explain_names_the_projections():
    module, x = stt.nn.MultiheadAttention(E, HEADS, density=0.5), torch.randn(3, 2, E)
    for w in stt.explain(module.eval(), x, x, x).weights:
        assert [str(s) for s in w.sites] == ["multi_head_attention_forward: sparse (csr_product)"]


def test_second_derivatives():
    masked = dense()
    sparse = stt.nn.MultiheadAttention.from_dense(masked, "CSR")
    q, k, v = inputs(False)

    def f(values, q):
        weights = {"in_proj_weight_values": values}
        return torch.func.functional_call(sparse, weights, (q, k.detach(), v.detach()))[0]

    values = sparse.in_proj_weight_values
    assert torch.autograd.gradcheck(f, (values, q), fast_mode=True)
    assert torch.autograd.gradgradcheck(f, (values, q), fast_mode=True)
