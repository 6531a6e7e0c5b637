"""Attention in which each query looks at the keys that a pattern stores, and at no others."""

import math

import torch
import torch.nn.functional as F

from ..errors import ArgumentError, TensorError
from ._attention_function import How, by_kernels, composed
from ._attention_inputs import (
    Found,
    bias_at,
    from_row,
    hidden_keys,
    lead_of,
    of_keys,
    operands_of,
    resolved,
    sum_of,
)
from ._attention_op import in_graph
from ._attention_rows import by_rows
from ._contract import plain
from ._matrix import implements, is_sparse


def attention(q, k, v, pattern, bias=None, key_padding_mask=None, dropout_p=0.0, scale=None, *, start=None):
    """softmax(scale * q @ k.T + bias) @ v, where each query looks at the keys that the pattern stores, and at no others.

        q, k, v = (torch.randn(2, 4, 256, 16) for _ in range(3))  # batch, heads, length, features
        y = stt.attention(q, k, v, stt.patterns.local(256, distance=32))

    q : (..., L, E), k : (..., S, E), v : (..., S, D), dense, of one dtype. The dimensions in front broadcast: batch, heads.
    pattern : (L, S), or with dimensions in front, (heads, L, S), of any format: a Pattern; a boolean mask (True: looked at), dense
        or an stt.Tensor; an stt.Tensor of numbers, whose stored elements count; a SparsityConfig; or a sparsifier that finds it
        from q, k and v: an object with pattern(x, q=, k=, v=), where x is None, or a function. A class is called first.
    bias : added to the scores: dense (broadcast to (..., L, S)) or an stt.Tensor; False in a boolean one hides the key.
    key_padding_mask : (batch, S), for q of (batch, ..., L, E): True hides a key; numbers are added to its scores.
    dropout_p : the share of weights that are dropped, as torch's generator says; scale : 1 / sqrt(E) where none is given.
    start : with a cache of keys: q holds the rows of the pattern from here on, k and v the keys that there are so far.

    A query that looks at nothing gives zeros, and has no gradient. Differentiable any number of times in q, k, v and bias. Scores
    in float32, for float64 in float64; at most 2,097,152 of them (or a row of each thread) exist at a time. TensorError, DTypeError,
    ArgumentError.
    """
    q, k, v = operands_of(q, k, v)
    pattern = resolved(pattern, q, k, v)
    one_operator = torch.compiler.is_compiling()
    if start is not None and not one_operator:
        told = from_row(pattern, start, k, v, bias, key_padding_mask, q.shape[-2])
        (pattern, k, v, bias, key_padding_mask, _), start = told, None
    if start is None and pattern.shape[-2:] != (q.shape[-2], k.shape[-2]):
        raise TensorError(
            "the pattern does not fit queries and keys",
            expected=f"(..., {q.shape[-2]}, {k.shape[-2]})",
            got=str(tuple(pattern.shape)),
            fix="start= where a cache holds the keys so far",
        )
    if not 0 <= dropout_p <= 1:
        raise ArgumentError("dropout_p is a share of the weights", expected="0 to 1", got=str(dropout_p))
    bare = bias is None and key_padding_mask is None and not dropout_p and start is None
    if bare and _is_full(pattern) and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        with torch._C.DisableTorchFunctionSubclass():
            return F.scaled_dot_product_attention(q, k, v, scale=scale)
    lead = lead_of(q, k, v, pattern.shape[:-2], bias)
    if key_padding_mask is not None and key_padding_mask.is_floating_point() and key_padding_mask.requires_grad:
        bias, key_padding_mask = sum_of(bias, of_keys(key_padding_mask, lead, k.shape[-2])), None
    q, k, v = (x.expand(*lead, *x.shape[-2:]) for x in (q, k, v))
    if one_operator:
        return in_graph(q, k, v, pattern, bias, key_padding_mask, dropout_p, scale, start)
    rows, seed = by_rows(pattern), int(torch.randint(1 << 62, ())) if dropout_p else 0
    values, at = bias_at(bias, pattern, rows, lead)
    scale = 1 / math.sqrt(q.shape[-1] or 1) if scale is None else scale
    how = How(rows, lead, scale, at, hidden_keys(key_padding_mask, lead, k.shape[-2]), dropout_p, seed)
    q, k, v = (x.reshape(lead.numel(), *x.shape[-2:]) for x in (q, k, v))
    tensors = (q, k, v) if values is None else (q, k, v, values)
    y = by_kernels(q, k, v, values, how) if plain(*tensors) else composed(q, k, v, values, how)
    return y.reshape(*lead, *y.shape[-2:])


def _is_full(pattern):
    """Is it one for all, that stores everything?"""
    if isinstance(pattern, Found) or len(pattern.shape) > 2 or not pattern.shape.numel():
        return False
    return by_rows(pattern).full


@implements(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """torch's own, of a sparse mask: of truth values, or of numbers that are added to the scores of the stored elements."""
    if not is_sparse(attn_mask) or any(map(is_sparse, (query, key, value))):
        return NotImplemented
    if is_causal:
        raise ArgumentError("a mask and is_causal= exclude each other", got="both")
    if enable_gqa:
        key, value = (x.repeat_interleave(query.shape[-3] // x.shape[-3], -3) for x in (key, value))
    bias = None if attn_mask.dtype == torch.bool else attn_mask
    return attention(query, key, value, attn_mask, bias, None, dropout_p, scale)
