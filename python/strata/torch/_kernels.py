"""The arithmetic, on CPU tensors whose gradients are somebody else's business: what operators and autograd call in the end."""

import torch

import strata as st

from .. import _core
from ._row_order import in_row_order

calls = _core.TorchCalls()


def mm(pattern, values, x, transpose, left):
    """op(A) @ x, or x @ op(A) with `left`, where op transposes or does not. A: a matrix of these values; x: a dense vector or
    matrix of the same dtype. The result is dense."""
    return calls.mm(*in_row_order(pattern, values, x, transpose, left), x, left)


def sampled(pattern, a, b):
    """sum over k of a[i, k] * b[j, k] for each slot (i, j) of a matrix: the gradient of its values. a: (m, k), b: (n, k), or
    vectors. 1-D; slots beyond the edge get 0."""
    if len(pattern.parts) > 1 and any(part.format.is_all_dense for part in pattern.parts):
        # The library would give the whole sum to the dense part.
        return torch.cat([sampled(part, a, b) for part in pattern.parts])
    ones = pattern.ones_of(a.dtype)
    values = None if pattern.has_room else calls.sampled(ones, a, b, pattern.num_values, pattern.whole)
    if values is not None:
        return values
    text = "R(i,j) = P(i,j) * a(i,k) * b(j,k)" if a.dim() == 2 else "R(i,j) = P(i,j) * a(i) * b(j)"
    out = st.evaluate(text, P=ones, a=a.detach(), b=b.detach())
    return pattern.gather(out) if isinstance(out, torch.Tensor) else pattern.values_of(out)


def attention(rows, lead, q, k, v, scale, bias, at, hidden):
    """(softmax(scale * q @ k.T + bias) @ v over what the patterns store, 1 / the sums of exp(score - top), `top`: the largest score),
    these two of each row. rows: the patterns; lead: the dimensions in front of the products. bias: of elements, those of product n
    from at[n] on, or None; hidden: (products, keys), added to the scores, or None."""
    out = [q.new_empty(*q.shape[:-1], columns) for columns in (v.shape[-1], 1, 1)]
    hidden = None if hidden is None else hidden.to(q.dtype).contiguous()
    given = (q, k, v, scale, None if bias is None else bias.contiguous(), at or [], hidden)
    _core.attention(
        rows.pos,
        rows.narrow_crd,
        rows.which(lead),
        *(x.detach() if isinstance(x, torch.Tensor) else x for x in given),
        *out,
    )
    return out
