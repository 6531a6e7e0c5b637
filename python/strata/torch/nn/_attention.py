"""Multi-head attention with sparse projections: torch's own function over our products, and nn.MultiheadAttention."""

import math
import types

import torch
import torch.nn.functional as F

from ...errors import ArgumentError
from .._matrix import implements, is_sparse
from .._tensor import Tensor
from .._traced import PRODUCTS
from .._weights import Sparse, set_weight
from ._pattern import chosen_pattern, kept


@implements(F.multi_head_attention_forward)
def multi_head_attention_forward(*args, **kwargs):
    """The body of torch's function asks F.linear for its products, which knows sparse weights; only the way in is ours."""
    weights = [x for x in (*args, *kwargs.values()) if is_sparse(x)]
    if any(x.dim() != 2 or not x.pattern.once for x in weights):
        return NotImplemented
    return _over_our_products(*args, **kwargs)


def _in_projection_packed(q, k, v, w, b=None):
    """F._in_projection_packed: of one input with the whole weight, of several with its thirds."""
    if q is k and k is v:
        return tuple(y.contiguous() for y in F.linear(q, w, b).chunk(3, -1))
    biases = (None,) * 3 if b is None else b.chunk(3)
    return tuple(F.linear(x, third, bias) for x, third, bias in zip((q, k, v), w.chunk(3), biases))


_body = F.multi_head_attention_forward
_over_our_products = types.FunctionType(
    _body.__code__,
    # Without a __name__, by which torch.compile would find torch's own names again.
    {
        **{name: x for name, x in vars(F).items() if name != "__name__"},
        "has_torch_function": lambda operands: False,
        "_in_projection_packed": _in_projection_packed,
    },
    _body.__name__,
    _body.__defaults__,
    _body.__closure__,
)
PRODUCTS[_body] = _over_our_products


class MultiheadAttention(Sparse, torch.nn.MultiheadAttention):
    """nn.MultiheadAttention with sparse projections: in_proj_weight (or q_, k_ and v_proj_weight) and out_proj.weight.

    density : the share of weights that exist, chosen at random; or `pattern`: {name of a projection's weight: stt.Pattern or
        boolean mask}, of which those left out stay dense.
    block_shape : (r, c): weights exist by blocks.
    format : of the weights; CSR, or BSR of these blocks, where none is given.
    Weights start as those of nn.MultiheadAttention do, with the inputs that a row has on average. ArgumentError.
    """

    _dense_class = torch.nn.MultiheadAttention

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
        *,
        density=None,
        pattern=None,
        block_shape=None,
        format=None,
    ):
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim, batch_first, device, dtype
        )
        weights = _projections(self)
        if pattern is not None:
            for name in set(pattern) - set(weights):
                raise ArgumentError("no weight of this name", expected=", ".join(weights), got=name)
            weights = {name: weights[name] for name in pattern}
        for name, (module, leaf) in weights.items():
            dense = getattr(module, leaf).detach()
            given = None if pattern is None else pattern[name]
            chosen = chosen_pattern(dense, density, given, block_shape, format)
            larger = math.sqrt(dense.numel() / max(chosen.nse, 1))
            set_weight(module, leaf, Tensor(larger * chosen.gather(dense), chosen))

    @classmethod
    def from_dense(cls, module, format="CSR", sparsifier=None):
        """Of an nn.MultiheadAttention, which stays as it is: the weights that the sparsifier keeps (without one all but zeros)."""
        projections = _projections(module).items()
        weights = {name: kept(getattr(owner, leaf), format, sparsifier) for name, (owner, leaf) in projections}
        made = cls(
            module.embed_dim,
            module.num_heads,
            module.dropout,
            module.in_proj_bias is not None,
            module.bias_k is not None,
            module.add_zero_attn,
            module.kdim,
            module.vdim,
            module.batch_first,
            dtype=module.out_proj.weight.dtype,
            pattern={name: weight.pattern for name, weight in weights.items()},
        )
        with torch.no_grad():
            for name, (owner, leaf) in _projections(made).items():
                getattr(owner, f"{leaf}_values").copy_(weights[name].values())
            for name, p in module.named_parameters():
                if name not in weights:
                    made.get_parameter(name).copy_(p)
        return made.train(module.training)


def _projections(module):
    """{name: (module, name in it)} of the weights of an nn.MultiheadAttention."""
    same = module._qkv_same_embed_dim
    names = ["in_proj_weight"] if same else ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    return {**{name: (module, name) for name in names}, "out_proj.weight": (module.out_proj, "weight")}
