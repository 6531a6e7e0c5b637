"""Attention by torch over a dense mask, which tests of strata.torch compare with."""

import math

import torch
import torch.nn.functional as F


def masked(q, k, v, mask, bias=None, padding=None, scale=None):
    """F.scaled_dot_product_attention where `mask` (and not `padding`) is True; queries without keys give zeros."""
    lead = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2], mask.shape[:-2])
    if padding is not None:
        mask = mask & ~padding.reshape(padding.shape[0], *(1,) * (len(lead) - 1), 1, padding.shape[1])
    lead = torch.broadcast_shapes(lead, mask.shape[:-2], () if bias is None else bias.shape[:-2])
    q, k, v = (x.expand(*lead, *x.shape[-2:]) for x in (q, k, v))
    seen = mask.any(-1, keepdim=True)
    added = torch.where(mask | ~seen, 0.0, -math.inf).to(q.dtype)
    added = (added if bias is None else added + bias).expand(*lead, *mask.shape[-2:])
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=added, scale=scale)
    return torch.where(seen, y, 0)
