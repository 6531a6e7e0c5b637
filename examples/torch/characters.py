"""What the examples of this folder share: a text, a transformer that guesses its next character, and the loop that trains it."""

import pathlib
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import strata.torch as stt

SHORT = "--short" in sys.argv[1:]
ROOT = pathlib.Path(__file__).resolve().parents[2]


def pick(short, full):
    """The size of something: short for tests, full for a result."""
    return short if SHORT else full


class Text:
    """The documents of this repository as numbers of characters; of each 10,000 the first 1,000 are kept for validation."""

    def __init__(self):
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
        text = "\n".join(page.read_text() for page in pages)
        self.characters = sorted(set(text))
        number = {c: n for n, c in enumerate(self.characters)}
        parts = torch.tensor([number[c] for c in text[: len(text) // 10_000 * 10_000]]).view(-1, 10_000)
        self.training, self.validation = parts[:, 1_000:].flatten(), parts[:, :1_000].flatten()

    def batch(self, numbers, size, length, draw):
        """Stretches from anywhere, and the same one character on: (size, length) each."""
        at = torch.randint(len(numbers) - length, (size, 1), generator=draw) + torch.arange(length)
        return numbers[at], numbers[at + 1]

    def read(self, numbers):
        return "".join(self.characters[n] for n in numbers)


class Block(nn.Module):
    """Attention to what came before, then a layer of neurons; each adds to its input."""

    def __init__(self, width, heads, linear):
        super().__init__()
        self.heads = heads
        self.norm_of_attention, self.norm_of_neurons = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm_of_attention(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm_of_neurons(x))))


class Transformer(nn.Module):
    """Scores of the next character: (batch, length) numbers become (batch, length, characters)."""

    length, width, heads, depth = pick((16, 32, 2, 1), (64, 256, 4, 2))

    def __init__(self, characters, linear=nn.Linear):
        super().__init__()
        self.character = nn.Embedding(characters, self.width)
        self.place = nn.Embedding(self.length, self.width)
        self.blocks = nn.Sequential(*(Block(self.width, self.heads, linear) for _ in range(self.depth)))
        self.norm, self.head = nn.LayerNorm(self.width), nn.Linear(self.width, characters)
        for embedding in (self.character, self.place):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, numbers):
        x = self.character(numbers) + self.place.weight[: numbers.shape[1]]
        return self.head(self.norm(self.blocks(x)))

    @torch.inference_mode()
    def write(self, text, count, draw):
        """So many characters, each drawn by its score."""
        numbers = [text.characters.index("\n")]
        for _ in range(count):
            scores = self(torch.tensor([numbers[-self.length :]]))[0, -1]
            numbers.append(int(torch.multinomial(scores.softmax(0), 1, generator=draw)))
        return text.read(numbers[1:])


def stored(model):
    """The share of the weights in its blocks that is stored."""
    weights = [w for block in model.blocks.modules() for w in stt.weights_of(block).values()]
    return sum(w.nse for w in weights) / sum(w.numel() for w in weights) if weights else 1.0


def loss_of(model, text, numbers, size, draw):
    x, y = text.batch(numbers, size, model.length, draw)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def train(name, model, text, steps, rate=3e-3, updater=None, first=0):
    """Trains the model, telling how it goes. Returns [(step, loss of validation)]; steps are counted from `first` on.

    updater : a function of the model and its optimizer that makes an stt.PatternUpdater.
    """
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.1)
    updater = updater and updater(model, optimizer)
    draw, curve, begin = torch.Generator().manual_seed(0), [], time.perf_counter()
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss_of(model, text, text.training, 16, draw).backward()
        optimizer.step()
        schedule.step()
        if updater:
            updater.step()
        if step % max(steps // 10, 1) == 0:
            with torch.inference_mode():
                loss = float(loss_of(model, text, text.validation, 64, torch.Generator().manual_seed(1)))
            curve.append((first + step, loss))
            seconds = time.perf_counter() - begin
            print(
                f"{name:14} step {first + step:4}   loss {loss:5.3f}   {stored(model):4.0%} stored   {seconds:5.1f} s",
                flush=True,
            )
    return curve
