"""Models that others wrote, with sparse weights: the masked dense model's results, and nothing on a dense copy.

Each test needs torchvision or transformers. STRATA_SLOW=1 takes the models in their full size everywhere.
"""

import contextlib
import copy
import os

import pytest

torch = pytest.importorskip("torch")

import torchvision_on_cpu  # noqa: E402, F401

import strata.torch as stt  # noqa: E402
from strata.ust import TorchUST, prune_model, reformat_model  # noqa: E402

SLOW = bool(os.environ.get("STRATA_SLOW"))
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

WEIGHTS = {
    "CSR": stt.Threshold(0.033),
    "BSR(16, 16)": stt.Magnitude(0.3, (16, 16)),
    "structured(2, 4)": stt.NM(2, 4),
    "delta(4)": stt.Magnitude(0.2),
}


def sparse_weights(model):
    return {f"{path}.{leaf}": w for path, m in model.named_modules() for leaf, w in stt.weights_of(m).items()}


def masked(dense, model):
    """The dense model, with the weights that the sparse one stores."""
    for name, weight in sparse_weights(model).items():
        dense.get_parameter(name).data = weight.detach().to_dense()
    return dense


@contextlib.contextmanager
def nothing_dense():
    before = stt.densified.copy()
    yield
    assert stt.densified == before


def compare(model, dense, x, of=lambda y: y):
    """Results, and gradients of the stored elements and of what is dense in both."""
    weights = sparse_weights(model)
    with nothing_dense():
        y = of(model(x))
        want = of(dense(x))
        torch.testing.assert_close(y, want, rtol=1e-3, atol=1e-4 * float(want.detach().abs().max()))
        g = torch.randn_like(want)
        y.backward(g)
    want.backward(g)
    for name, p in dense.named_parameters():
        got = weights[name].grad.values() if name in weights else model.get_parameter(name).grad
        want = weights[name].pattern.gather(p.grad) if name in weights else p.grad
        torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3 * float(p.grad.abs().max()) + 1e-7)


# The blog's script. Printed: as the post has it; mended: what tests/seeds/README.md lists.

REFORMAT = """
def reformat(weight):
  ... inspect (possibly even prune weight), then decide on storage ...
  if (...):
      return TorchUST.from_torch(weight.to_sparse_csr())
  return None
}
"""
SCRIPT = """
weights = torchvision.models.get_model_weights(model_name).DEFAULT
model = torchvision.models.get_model(model_name, weights=weights)
model.to(device)
model.eval()
...
reformat_model(model, func=reformat)
...
with torch.inference_mode():
    prediction = model(batch)
"""
MENDED = {
    "torchvision.models.get_model_weights(model_name).DEFAULT": "None",
    "model.eval()\n...": "model.eval()\nprune_model(model, amount=0.8); pruned = copy.deepcopy(model)",
    "\n  ... inspect (possibly even prune weight), then decide on storage ...": "",
    "if (...)": "if (weight.numel() > 100_000)",
    "return None\n}": "return None",
}


@pytest.mark.parametrize("model_name, reformatted", [("resnet50", 1), ("vit_b_16", 37)])
def test_the_blogs_script(model_name, reformatted):
    torchvision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    space = dict(torchvision=torchvision, model_name=model_name, device="cpu", batch=torch.randn(1, 3, 224, 224))
    space |= dict(torch=torch, copy=copy, TorchUST=TorchUST, prune_model=prune_model, reformat_model=reformat_model)
    text = REFORMAT + SCRIPT
    for printed, here in MENDED.items():
        assert printed in text
        text = text.replace(printed, here)
    with nothing_dense():
        exec(text, space)
    assert len(sparse_weights(space["model"])) == reformatted
    with torch.inference_mode():
        torch.testing.assert_close(space["prediction"], space["pruned"](space["batch"]), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("text", WEIGHTS if SLOW else ["CSR", "BSR(16, 16)"])
def test_resnet_with_sparse_convolutions(text):
    """All 53, and the linear layer."""
    torchvision = pytest.importorskip("torchvision")
    torch.manual_seed(0)
    dense = torchvision.models.get_model("resnet50", weights=None).eval()
    model = stt.sparsify_(copy.deepcopy(dense), text, WEIGHTS[text], filter=r"(conv\d|downsample\.0|fc)\.weight")
    assert len(sparse_weights(model)) == 54
    compare(model, masked(dense, model), torch.randn(2, 3, 64, 64))


@pytest.mark.parametrize("text", WEIGHTS if SLOW else ["CSR"])
def test_bert(text):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    dense = transformers.BertModel(transformers.BertConfig()).eval()
    model = stt.sparsify_(copy.deepcopy(dense), text, WEIGHTS[text])
    assert len(sparse_weights(model)) == 73
    compare(model, masked(dense, model), torch.randint(0, 30522, (2, 8)), lambda y: y.pooler_output)


@pytest.mark.parametrize("text", ["structured(2, 4)", "delta(4)", "BSR(16, 16)"])
def test_gpt2_generates_the_best_tokens(text):
    """Its layers multiply from the right: addmm(bias, x, weight). Without ties and with large random weights, tokens depend on
    every layer."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    small = {} if SLOW else dict(n_layer=3, n_embd=64, n_head=4, vocab_size=101)
    config = dict(tie_word_embeddings=False, initializer_range=0.3, bos_token_id=None, eos_token_id=None)
    dense = transformers.GPT2LMHeadModel(transformers.GPT2Config(**config, **small)).eval()
    model = stt.sparsify_(copy.deepcopy(dense), text, WEIGHTS[text], filter=r"(c_attn|c_fc|c_proj|lm_head)\.weight")
    assert len(sparse_weights(model)) == 4 * model.config.n_layer + 1
    prompt = torch.randint(0, 101, (2, 5))
    options = dict(attention_mask=torch.ones_like(prompt), max_new_tokens=16, do_sample=False, pad_token_id=0)
    unpruned = dense.generate(prompt, **options)
    with nothing_dense():
        tokens = model.generate(prompt, **options)
    logits = masked(dense, model)(tokens[:, :-1]).logits[:, prompt.shape[1] - 1 :]
    chosen = logits.gather(2, tokens[:, prompt.shape[1] :, None])[..., 0]
    torch.testing.assert_close(chosen, logits.amax(2), rtol=1e-3, atol=1e-3)  # the best, or as good to a rounding
    assert not torch.equal(tokens, unpruned) and len(tokens.unique()) > 12
