"""Mixture of experts, as the slides write it: an einsum over all experts, of which the gates choose one. Sparsity by design.

    python examples/torch/applications/mixture_of_experts.py [--time]

The same lines run with torch, where the first einsum computes every expert.
"""

import torch as plain_torch
from twins import twins, with_gradients

import strata.torch.dropin as sparse_torch
from strata.torch.dropin.nn import functional as F


def job(torch, rearrange):
    def make(inputs, experts, inner, outer):
        x = torch.randn(inputs, inner)
        E = torch.randn(experts, inner, outer).requires_grad_()
        gates = F.one_hot(torch.rand(inputs, experts).argmax(1), experts).float()

        def step():
            x_dispatch = rearrange(x, experts)
            y_experts = torch.einsum("bnd,ndh->bnh", x_dispatch, E)
            y = torch.einsum("bnd,bn->bd", y_experts, gates)
            return with_gradients(y.square().mean(), E)

        return step

    return make


big = dict(inputs=512, experts=32, inner=256, outer=256)
twins(
    "mixture of experts",
    job(sparse_torch, lambda x, n: sparse_torch.rearrange(x, "bd->bnd", n=n)),
    job(plain_torch, lambda x, n: x[:, None].expand(-1, n, -1)),
    small=dict(inputs=16, experts=4, inner=8, outer=6, time=big),
)
