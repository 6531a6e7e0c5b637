"""A small transformer that is sparse from the start: a tenth of the weights, and RigL looks for better ones as it trains.

    python examples/torch/train_rigl.py            # three minutes on two cores
    python examples/torch/train_rigl.py --short    # does it work?

Evci, Gale, Menick, Castro, Elsen: "Rigging the Lottery: Making All Tickets Winners", ICML 2020. Beside it train a dense
model and one whose tenth of the weights, chosen at random, stays as it is.
"""

import functools

import torch
from characters import Text, Transformer, pick, train
from report import draw, table
from torch import nn

import strata.torch as stt

steps = pick(4, 600)


def rigl(model, optimizer):
    """Every 20 steps the smallest tenth of the weights, later fewer, gives way to those whose gradient is largest."""
    every, stop = pick(2, 20), steps * 3 // 4
    return stt.PatternUpdater(model, optimizer, grow="gradient", drop_fraction=0.1, every=every, stop=stop)


text, tenth = Text(), functools.partial(stt.nn.Linear, density=0.1)
ways = {"dense": (nn.Linear, None), "a fixed tenth": (tenth, None), "RigL": (tenth, rigl)}
models, curves = {}, {}
for name, (linear, updater) in ways.items():
    torch.manual_seed(0)
    models[name] = Transformer(len(text.characters), linear)
    curves[name] = train(name, models[name], text, steps, updater=updater)

table(models, curves)
draw("Loss of validation: sparse from the start", curves)
