"""The slides' sparse data, each in a storage that suits it and through a layer: text, transactions, genes, a time series, a point cloud,
speech, sensors.

    python examples/torch/applications/data.py [--time]
"""

import collections

import torch
from twins import twins, with_gradients

import strata.torch as stt


def bag_of_words(rows):
    """Counts of words: CSR."""
    texts = ["the cat sat on the mat", "the dog ate the cat", "a mat is a mat", "dogs and cats and mats"] * rows
    words = sorted({word for text in texts for word in text.split()})
    counts = torch.zeros(len(texts), len(words))
    for k, text in enumerate(texts):
        for word, count in collections.Counter(text.split()).items():
            counts[k, words.index(word)] = count
    return counts, "CSR"


def transactions(rows):
    """Who bought what, 0 or 1: a bit for each pair."""
    return (torch.rand(16 * rows, 40) < 0.1).float(), "bitmap"


def genes(rows):
    """0/1 variants, most of them of few people, in runs: distances of 4 bits between columns."""
    starts = torch.rand(16 * rows, 60) < 0.05
    return (starts | starts.roll(1, 1)).float(), "delta(4)"


def time_series(rows):
    """Events by sensor, day and hour: a tree of coordinates, in three dimensions."""
    return torch.randn(8 * rows, 7, 24) * (torch.rand(8 * rows, 7, 1) < 0.3) * (
        torch.rand(8 * rows, 7, 24) < 0.2
    ), "CSF"


def point_cloud(rows):
    """Which cells of a grid hold points, and how many: coordinates."""
    grid = torch.zeros(8 * rows, 8, 8)
    at = [torch.randint(0, extent, (20 * rows,)) for extent in grid.shape]
    return grid.index_put(tuple(at), torch.ones(20 * rows), accumulate=True), "COO(3)"


def speech(rows):
    """Frames of a spectrogram, silent but for some: whole frames are stored or not."""
    return torch.rand(32 * rows, 20) * (torch.rand(32 * rows, 1) < 0.25), "CROW"


def sensors(rows):
    """Readings that change with their neighbours alone: diagonals."""
    place = torch.arange(24 * rows)
    return torch.where((place[:, None] - place).abs() <= 1, torch.rand(24 * rows, 24 * rows), 0), "DIA"


def layer(data, stored):
    """A linear layer over the last dimension, then the mean of each row's features."""

    def make(rows, width):
        dense, format = data(rows)
        weight = torch.randn(dense.shape[-1], width, requires_grad=True)
        x = stt.from_torch(dense, format) if stored else dense
        return lambda: with_gradients(torch.matmul(x, weight).square().mean(), weight)

    return make


for data in (bag_of_words, transactions, genes, time_series, point_cloud, speech, sensors):
    small = dict(rows=1, width=4, time=dict(rows=64, width=64))
    name = data.__name__.replace("_", " ")
    twins(name, layer(data, True), layer(data, False), small=small)
