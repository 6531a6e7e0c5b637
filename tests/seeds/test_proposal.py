"""The proposal "A scheduling language that decouples sparsity in PyTorch": its own code as printed, mended as README.md lists. (What
it quotes of prior work is tested where we have it.)"""

import copy

import pytest

torch = pytest.importorskip("torch")

from others_models import bert  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import sparse  # noqa: E402

#: printed -> here; every one of them must be found
IMPORT = {"import sparse": "from strata.torch import sparse"}
BERT = {
    "BertModel.from_pretrained('bert-base-uncased')": "bert()",
    "create_schedule(model, ...)": "create_schedule(model, example)",
}
CHAIN = {"s['linear1.weight']\n": "(s['encoder.*.intermediate.dense.weight']\n"}

TLDR = """
import sparse

# Create schedule from existing Torch model
model = BertModel.from_pretrained('bert-base-uncased')
s = sparse.create_schedule(model, ...)

# Schedule to sparsify the linear layer weight
# Users can use predefined formats or define their own formats
s['linear1.weight']
    .set_format( sparse.CscTensor )
"""

OWN_FORMAT = """
class EllpackTensor(sparse.SparseTensor):
    def __init__(self, ...):
        with sparse.iter(dim=2) as I, J:
            J.compress(coordinate=True).pack()
            self.indices = [I, J]
"""

HYBRID = """
# hybrid format: blocked ELL and COO
s['linear1.weight']
    .block(16, 16)
    .set_format( sparse.EllpackTensor, axis = [0, 1] )
    .set_format( sparse.CooTensor, axis = [2, 3] )
"""

SPARSIFIER = """
# Custom sparsifier that computes mask dynamically
class SimilaritySparsifier(sparse.Sparsifier):
    def __init__(self, ...):
        ...

s['linear1.attn']
    .set_format( ... )
    .sparsify( SimilaritySparsifier )
"""
OWN_MENDED = {"(self, ...)": "(self)", "as I, J:": "as (I, J):"}
#: the body of the class is the reader's: clusters of queries and keys, as the routing transformer has them
ROUTING = """clusters=3):
        torch.manual_seed(0)
        self.directions = torch.randn(8, clusters)

    def pattern(self, x, q, k, v):
        of_q, of_k = ((y @ self.directions).argmax(-1) for y in (q, k))
        return of_q[..., :, None] == of_k[..., None, :]
"""
SPARSIFIER_MENDED = {
    "...):\n        ...\n": ROUTING,
    "s['linear1.attn']\n": "(s['encoder.*.attention.self.attn']\n",
    "set_format( ... )": "set_format( sparse.CsrTensor )",
    "SimilaritySparsifier )": "SimilaritySparsifier ))",
}


def run(text, mended, **space):
    for printed, here in mended.items():
        assert printed in text, printed
        text = text.replace(printed, here)
    example = {"input_ids": torch.arange(12).reshape(2, 6)}
    space = {"torch": torch, "bert": bert, "example": example, "sparse": sparse, **space}
    exec(text, space)
    return space


def pruned(seed=0):
    """A small BertModel with many zeros, for a format to leave out."""
    torch.manual_seed(seed)
    model = bert()
    for name, p in model.named_parameters():
        if name.endswith("intermediate.dense.weight"):
            p.data *= stt.Magnitude(0.2)(p)
    return model


def same_as_dense(model, dense, **inputs):
    """Outputs and gradients of the masked dense model."""
    ids = torch.randint(0, 101, (2, 10), generator=torch.Generator().manual_seed(1))
    y, want = model(ids).last_hidden_state, dense(ids).last_hidden_state
    torch.testing.assert_close(y, want, rtol=1e-3, atol=1e-4)
    g = torch.randn_like(want)
    y.backward(g)
    want.backward(g)
    for name, p in dense.named_parameters():
        if p.grad is None:
            continue
        module, leaf = model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]
        weight = stt.weights_of(module).get(leaf)
        got, expected = module._parameters.get(leaf), p.grad
        if weight is not None:
            got, expected = weight, weight.pattern.gather(p.grad)
            torch.testing.assert_close(got.grad.values(), expected, rtol=1e-3, atol=1e-3 * float(p.grad.abs().max()))
        else:
            torch.testing.assert_close(got.grad, expected, rtol=1e-3, atol=1e-3 * float(p.grad.abs().max()) + 1e-5)


def test_tldr():
    mended = {**IMPORT, **BERT, **CHAIN, ".set_format( sparse.CscTensor )": ".set_format( sparse.CscTensor ))"}
    space = run(TLDR, mended, bert=pruned)
    model = space["s"].build()
    weights = [stt.weights_of(layer.intermediate.dense)["weight"] for layer in model.encoder.layer]
    assert [w.format for w in weights] == [st.formats.CSC] * 2 and weights[0].nse == round(0.2 * 32 * 64)
    same_as_dense(model, space["model"])


def test_tldr_where_the_name_is_as_printed():
    """In torch's own layer the weight is called linear1.weight."""
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
    mended = {
        "s['linear1.weight']\n": "(s['linear1.weight']\n",
        ".set_format( sparse.CscTensor )": ".set_format( sparse.CscTensor ))",
    }
    text = TLDR.partition("model, ...)\n")[2]
    s = run(text, mended, s=sparse.create_schedule(model))["s"]
    sparse_model = s.build()
    assert sparse_model.linear1.weight.format == st.formats.CSC
    x = torch.randn(5, 3, 16)
    torch.testing.assert_close(sparse_model(x), model(x))


def test_a_format_of_ones_own():
    space = run(OWN_FORMAT, OWN_MENDED)
    assert space["EllpackTensor"].format() == st.formats.ELL == sparse.EllpackTensor.format()
    only_compressed = run(OWN_FORMAT, {**OWN_MENDED, "(coordinate=True).pack()": "()"})["EllpackTensor"]
    assert (
        only_compressed.format() == st.formats.CSR
    )  # "If only .compress() is used, the tensor will be compressed in CSR format"
    turned = run(
        OWN_FORMAT, {**OWN_MENDED, "J.compress(coordinate=True).pack()": "I.compress()", "= [I, J]": "= [J, I]"}
    )
    assert turned["EllpackTensor"].format() == st.formats.CSC
    dense = pruned()
    s = sparse.create_schedule(dense)
    s["encoder.*.intermediate.dense.weight"].set_format(space["EllpackTensor"])
    model = s.build()
    assert str(model.encoder.layer[0].intermediate.dense.weight.format).startswith("(i, j) -> (i : dense, j : padded(")
    same_as_dense(model, dense)


def test_hybrid_formats():
    dense = pruned()
    s = sparse.create_schedule(dense)
    run(HYBRID, {**CHAIN, "axis = [2, 3] )": "axis = [2, 3] ))"}, s=s)
    model = s.build()
    want = "(i, j) -> (i / 16 : dense, j / 16 : padded(2), i % 16 : compressed(nonunique), j % 16 : singleton)"
    assert str(model.encoder.layer[0].intermediate.dense.weight.format) == want
    same_as_dense(model, dense)


def test_a_pattern_that_is_found_at_run_time():
    """Routing attention: the same as dense attention of which other clusters' pairs are hidden."""
    torch.manual_seed(0)
    dense = bert()
    s = sparse.create_schedule(dense, {"input_ids": torch.arange(12).reshape(2, 6)})
    space = run(SPARSIFIER, SPARSIFIER_MENDED, s=s)
    model = s.build()
    sparsifier = space["SimilaritySparsifier"]()
    ordinary, shares = torch.nn.functional.scaled_dot_product_attention, []

    class Hidden(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is not ordinary:
                return func(*args, **(kwargs or {}))
            q, k, v = args[:3]
            mask = sparsifier.pattern(None, q, k, v)
            shares.append(float(mask.float().mean()))
            y = torch.softmax((q @ k.mT * q.shape[-1] ** -0.5).masked_fill(~mask, -torch.inf), -1)
            return torch.nan_to_num(y) @ v

    class Twin(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = copy.deepcopy(dense)

        def named_parameters(self):
            return self.inner.named_parameters()

        def forward(self, ids):
            with Hidden():
                return self.inner(ids)

    same_as_dense(model, Twin())
    assert len(shares) == 2 and all(0.1 < share < 0.8 for share in shares)


def test_an_unknown_name_tells_the_nearest():
    with pytest.raises(st.ArgumentError, match=r"knows no 'linear1.weight'"):
        sparse.create_schedule(bert())["linear1.weight"]
