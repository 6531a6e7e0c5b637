"""Multi-head attention with sparse projections: torch's own function over our products, and nn.MultiheadAttention."""

import math
import types
import weakref

import torch
import torch.nn.functional as F

import strata as st

from ...errors import ArgumentError
from .._matrix import implements, is_sparse
from .._pattern import Pattern
from .._sparsifiers import Random
from .._tensor import Tensor, from_torch
from .._traced import PRODUCTS
from .._weights import Sparse, set_weight


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
    thirds = _thirds(w) if is_sparse(w) else w.chunk(3)
    return tuple(
        F.linear(x, third, bias) for x, third, bias in zip((q, k, v), thirds, (None,) * 3 if b is None else b.chunk(3))
    )


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

#: of the packed weight of the three projections: Pattern -> (slots, Pattern) of each
_found = weakref.WeakKeyDictionary()


def _thirds(w):
    pattern = w.pattern
    if pattern not in _found:
        _found[pattern] = [_rows(pattern, k * w.shape[0] // 3, (k + 1) * w.shape[0] // 3) for k in range(3)]
    values = torch.cat([w.values().new_zeros(1), w.values()])
    return [Tensor(values[slots], part) for slots, part in _found[pattern]]


def _rows(pattern, begin, end):
    """(slots, part): the pattern of these rows, and the slot, counted from 1, that each of its own comes from; 0: from none."""
    slot, flat = pattern.places()
    numbers = torch.arange(1, len(flat) + 1) if slot is None else slot + 1
    row, column = flat // pattern.shape[1], flat % pattern.shape[1]
    here = (row >= begin) & (row < end)
    coords = [(row - begin)[here].numpy(), column[here].numpy()]
    format = str(pattern.format) if pattern.format.num_parts == 1 else "CSR"
    rows = st.from_coo(coords, numbers[here].numpy(), (end - begin, pattern.shape[1]), format)
    part = Pattern(rows)
    return part.values_of(rows), part


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
        if (density is None) == (pattern is None):
            raise ArgumentError(
                "which weights exist is told once",
                expected="density= or pattern=",
                got="both" if pattern is not None else "neither",
            )
        weights = _projections(self)
        if pattern is None:
            choose = Random(density, tuple(block_shape or ()))
            pattern = {name: choose(getattr(module, leaf)) for name, (module, leaf) in weights.items()}
        if format is None:
            format = f"BSR({block_shape[0]}, {block_shape[1]})" if block_shape else "CSR"
        for name, chosen in pattern.items():
            if name not in weights:
                raise ArgumentError("no weight of this name", expected=", ".join(weights), got=name)
            module, leaf = weights[name]
            dense = getattr(module, leaf).detach()
            if chosen.shape != dense.shape:
                raise ArgumentError(
                    f"the pattern has another shape than {name}",
                    expected=str(tuple(dense.shape)),
                    got=str(tuple(chosen.shape)),
                )
            if not isinstance(chosen, Pattern):
                chosen = from_torch(chosen.to(torch.float32), format).pattern
            larger = math.sqrt(dense.numel() / max(chosen.nse, 1))
            set_weight(module, leaf, Tensor(larger * chosen.gather(dense), chosen))

    @classmethod
    def from_dense(cls, module, format="CSR", sparsifier=None):
        """Of an nn.MultiheadAttention, which stays as it is: the weights that the sparsifier keeps (without one all but zeros)."""
        kept = {}
        for name, (owner, leaf) in _projections(module).items():
            weight = getattr(owner, leaf).detach()
            mask = sparsifier(weight) if sparsifier else weight != 0
            kept[name] = from_torch(torch.where(mask, weight, 0), format)
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
            pattern={name: weight.pattern for name, weight in kept.items()},
        )
        with torch.no_grad():
            for name, (owner, leaf) in _projections(made).items():
                getattr(owner, f"{leaf}_values").copy_(kept[name].values())
            for name, p in module.named_parameters():
                if name not in kept:
                    made.get_parameter(name).copy_(p)
        return made.train(module.training)


def _projections(module):
    """{name: (module, name in it)} of the weights of an nn.MultiheadAttention."""
    same = module._qkv_same_embed_dim
    names = ["in_proj_weight"] if same else ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    return {**{name: (module, name) for name in names}, "out_proj.weight": (module.out_proj, "weight")}
