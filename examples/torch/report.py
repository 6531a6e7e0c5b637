"""What came out of training, as a table and as a picture."""

import copy
import io
import math
import pathlib
import sys
import time
from xml.sax.saxutils import escape

import torch
from characters import pick, stored
from torch import nn

import strata.torch as stt

COLOURS = ("#555555", "#0072b2", "#d55e00", "#009e73")


def as_dense(model):
    """A copy whose weights are dense, with zeros where nothing is stored."""
    model = copy.deepcopy(model)
    for module in model.modules():
        for name, weight in stt.weights_of(module).items():
            setattr(module, name, nn.Parameter(weight.to_dense().detach()))
    return model


def file_size(model):
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    return file.tell()


@torch.inference_mode()
def seconds(models, numbers, visits):
    """The best of each model's times for these numbers; the models take turns."""
    best = dict.fromkeys(models, math.inf)
    for _ in range(visits):
        for name, model in models.items():
            begin = time.perf_counter()
            model(numbers)
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def table(models, curves):
    """A line for each model. Its results are first compared with those of dense weights."""
    model = next(iter(models.values()))
    texts = torch.randint(model.character.num_embeddings, (16, model.length))
    for model in models.values():
        torch.testing.assert_close(model(texts), as_dense(model)(texts), rtol=1e-3, atol=1e-3)
    many, one = (seconds(models, numbers, pick(1, 20)) for numbers in (texts, texts[:1]))
    print(f"\n{'':22}{'loss':>7}{'stored':>9}{'file':>11}{'16 texts':>12}{'one text':>12}")
    for name, model in models.items():
        print(
            f"{name:22}{curves[name][-1][1]:7.3f}{stored(model):9.1%}{file_size(model) / 1e6:8.2f} MB"
            f"{many[name] * 1e3:9.1f} ms{one[name] * 1e3:9.2f} ms"
        )


def draw(title, curves):
    """Losses over steps as an SVG picture in the current folder. curves: {name: [(step, loss), ...]}."""
    steps, losses = zip(*(point for curve in curves.values() for point in curve))
    low, high = math.floor(min(losses) * 5) / 5, math.ceil(max(losses) * 5) / 5
    across = lambda step: 50 + 460 * step / max(steps)
    down = lambda loss: 290 - 240 * (loss - low) / (high - low)
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320" font-family="sans-serif" font-size="12" fill="#333">',
        '<rect width="640" height="320" fill="white"/>',
        f'<text x="50" y="28" font-size="15">{escape(title)}</text>',
    ]
    for k in range(6):
        loss, step = low + (high - low) * k / 5, max(steps) * k // 5
        out.append(f'<path d="M50 {down(loss):.1f}H510" stroke="#ddd"/>')
        out.append(f'<text x="44" y="{down(loss) + 4:.1f}" text-anchor="end">{loss:.2f}</text>')
        out.append(f'<text x="{across(step):.1f}" y="310" text-anchor="middle">{step}</text>')
    lines = sorted(zip(curves.items(), COLOURS), key=lambda line: line[0][1][-1][1])  # the lowest first
    at = 309  # names stand at the ends of their lines, one above the other, and above the axis
    for (name, curve), colour in lines:
        points = "L".join(f"{across(step):.1f} {down(loss):.1f}" for step, loss in curve)
        at = min(at - 15, down(curve[-1][1]) + 4)
        out.append(f'<path d="M{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="516" y="{at:.1f}" fill="{colour}">{escape(name)}</text>')
    path = pathlib.Path(pathlib.Path(sys.argv[0]).stem + ".svg")
    path.write_text("\n".join([*out, "</svg>\n"]))
    print(f"\n{path} shows the losses.")
