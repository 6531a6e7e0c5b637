"""A recommender: who bought what, factored into vectors of users and items (LightFM's and TorchRec's job). Sparse data.

    python examples/torch/applications/recommender.py [--time]

Scores are computed where there is a purchase, and nowhere else; each user's vector is also a mean over what was bought.
"""

import torch
from twins import twins, with_gradients

import strata.torch as stt


def inputs(users, items, width, density):
    bought = (torch.rand(users, items) < density) * torch.randint(1, 6, (users, items)).float()
    return bought, torch.randn(users, width, requires_grad=True), torch.randn(items, width, requires_grad=True)


def ours(**sizes):
    bought, U, V = inputs(**sizes)
    A = stt.from_torch(bought, "CSR")
    ones = stt.Tensor(torch.ones_like(A.values()), A.pattern)

    def step():
        taste = U + stt.spmm(A, V, reduce="mean")
        scores = torch.einsum("ij,ik,jk->ij", ones, taste, V)
        return with_gradients((scores.values() - A.values()).square().mean(), U, V)

    return step


def plain(**sizes):
    bought, U, V = inputs(**sizes)
    user, item = bought.nonzero(as_tuple=True)
    rating = bought[user, item]
    mean = (bought / (bought != 0).sum(1, keepdim=True).clamp(min=1)).to_sparse_csr()

    def step():
        taste = U + mean @ V
        scores = (taste[user] * V[item]).sum(1)
        return with_gradients((scores - rating).square().mean(), U, V)

    return step


big = dict(users=4_000, items=3_000, width=64, density=0.02)
twins("recommender", ours, plain, small=dict(users=30, items=20, width=4, density=0.2, time=big))
