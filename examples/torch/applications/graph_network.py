"""A graph network: two layers, each the mean of the neighbours' features. The graph is sparse data.

python examples/torch/applications/graph_network.py [--time]
"""

import torch
from twins import twins, with_gradients

import strata.torch as stt


def inputs(nodes, edges, features, hidden):
    graph = torch.zeros(nodes, nodes)
    graph[torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,))] = 1.0
    x = torch.randn(nodes, features)
    w = torch.randn(features, hidden, requires_grad=True), torch.randn(hidden, 4, requires_grad=True)
    return graph, x, w, torch.randint(4, (nodes,))


def ours(**sizes):
    graph, x, (w1, w2), labels = inputs(**sizes)
    A = stt.from_torch(graph, "CSR")

    def step():
        h = torch.relu(stt.spmm(A, x @ w1, reduce="mean"))
        y = stt.spmm(A, h @ w2, reduce="mean")
        return with_gradients(torch.nn.functional.cross_entropy(y, labels), w1, w2)

    return step


def plain(**sizes):
    graph, x, (w1, w2), labels = inputs(**sizes)
    mean = (graph / graph.sum(1, keepdim=True).clamp(min=1)).to_sparse_csr()  # torch's best: its own CSR

    def step():
        h = torch.relu(mean @ (x @ w1))
        return with_gradients(torch.nn.functional.cross_entropy(mean @ (h @ w2), labels), w1, w2)

    return step


big = dict(nodes=10_000, edges=200_000, features=128, hidden=64)
twins("graph network", ours, plain, small=dict(nodes=60, edges=300, features=8, hidden=6, time=big))
