"""A sparse transformer: a layer whose weights are a tenth of what they were and whose queries see their neighbourhood. Sparsity by design.

    python examples/torch/applications/sparse_transformer.py [--time]

The model is torch's own, the schedule stands beside it. The twin has the same zeros in dense weights and a mask.
"""

import copy

import torch
from twins import twins, with_gradients

import strata.torch as stt
from strata.torch import sparse


def neighbourhood(length, reach):
    place = torch.arange(length)
    return (place[:, None] - place).abs() <= reach


def model_and_input(length, width, reach, density):
    dense = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
    x = torch.randn(2, length, width)
    s = sparse.create_schedule(dense, x)
    s["linear*.weight"].set_format(sparse.CsrTensor).sparsify(stt.Magnitude(density))
    s["self_attn.attn"].sparsify(neighbourhood(length, reach))
    return dense, s.build(), x


TRAINED = (
    "self_attn.in_proj_weight",
    "linear1.weight",
    "linear1.bias",
    "linear2.weight",
    "linear2.bias",
    "norm1.weight",
)


def ours(**sizes):
    _, model, x = model_and_input(**sizes)
    parameters = dict(model.named_parameters())
    trained = [parameters.get(name, parameters.get(f"{name}_values")) for name in TRAINED]
    return lambda: with_gradients(model(x).square().mean(), *trained)


def plain(**sizes):
    dense, model, x = model_and_input(**sizes)
    masked, patterns = copy.deepcopy(dense), {}
    for name in ("linear1", "linear2"):
        weight = getattr(model, name).weight.detach()
        getattr(masked, name).weight.data = weight.to_dense()
        patterns[f"{name}.weight"] = weight.pattern
    hidden = ~neighbourhood(sizes["length"], sizes["reach"])
    trained = [masked.get_parameter(name) for name in TRAINED]

    def step():
        loss, *found = with_gradients(masked(x, hidden).square().mean(), *trained)
        return loss, *(patterns[name].gather(g) if name in patterns else g for name, g in zip(TRAINED, found))

    return step


big = dict(length=1024, width=256, reach=32, density=0.1)
twins("sparse transformer", ours, plain, small=dict(length=24, width=16, reach=3, density=0.3, time=big))
