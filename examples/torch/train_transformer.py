"""A small transformer from dense to sparse: nine tenths of its weights go, one by one or by blocks, or two of each four.

    python examples/torch/train_transformer.py            # three minutes on two cores
    python examples/torch/train_transformer.py --short    # does it work?

It is trained dense first. Then copies of it train on, and lose weights little by little; one stays dense, to compare.
"""

import copy

import torch
from characters import Text, Transformer, pick, train
from report import draw, table

import strata.torch as stt

begin, more = pick((4, 4), (300, 300))


def gradually(model, optimizer):
    """From all weights to a tenth of them within the first two thirds of the steps."""
    density = stt.cubic_density(1, 0.1, 2 * more // 3)
    return stt.PatternUpdater(model, optimizer, density=density, grow=None, every=max(more // 30, 1))


def smaller(model, crd_dtype):
    """Columns need no 32 bits. For models that are trained: what an optimizer knew of these weights is lost."""
    for module in model.modules():
        for name, weight in stt.weights_of(module).items():
            stt.set_weight(module, name, stt.from_strata(weight.strata.to(weight.format, crd_dtype=crd_dtype)))
    return model


torch.manual_seed(0)
text = Text()
trained = Transformer(len(text.characters))
start = train("dense", trained, text, begin)

ways = {  # format, which weights stay at first, how the others go, and what columns are stored in
    "CSR": ("CSR", None, gradually, "uint16"),
    "blocks 16 x 16": ("BSR(16, 16)", None, gradually, "uint16"),
    "2:4": ("structured(2, 4)", stt.NM(2, 4), None, "uint8"),
}
models, curves = {"dense": copy.deepcopy(trained)}, {}
curves["dense"] = start + train("dense", models["dense"], text, more, first=begin)
for name, (format, sparsifier, updater, crd_dtype) in ways.items():
    model = stt.sparsify_(copy.deepcopy(trained), format, sparsifier, filter=r"^blocks\..*weight")
    curves[name] = start[-1:] + train(name, model, text, more, updater=updater, first=begin)
    models[name] = smaller(model, crd_dtype)

table(models, curves)
draw("Loss of validation: dense, then sparse", curves)
print(
    "\nOf CSR at a tenth of its weights:\n" + models["CSR"].write(text, pick(20, 300), torch.Generator().manual_seed(0))
)
