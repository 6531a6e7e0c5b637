"""PyTorch: dense tensors of any strides, COO, CSR, CSC, BSR, BSC, batched and hybrid. The core never links libtorch."""

import functools
import sys

from .. import _core
from .._core import Format, Tensor
from ..errors import TensorError, Unsupported, warn
from ._layouts import coo_levels, names_of, props


def _torch():
    torch = sys.modules.get("torch")
    if torch is None:
        try:
            import torch
        except ImportError:
            raise Unsupported("PyTorch is needed here and is not installed", fix="pip install torch") from None
    return torch


def _typed(f):
    """torch's own errors (of storages that were resized, tensors without memory) in our words."""

    @functools.wraps(f)
    def call(x, **options):
        try:
            return f(x, **options)
        except RuntimeError as e:
            if type(e) not in (RuntimeError, NotImplementedError):
                raise
            text = str(e).partition("\n")[0]
            if "alloc" in text and "memory" in text:
                raise MemoryError(text) from e
            raise Unsupported("torch refuses this tensor", got=text) from e

    return call


@_typed
def from_torch(x):
    """A tensor over the memory of a torch tensor: dense with any strides, sparse COO (coalesced or not), CSR, CSC, BSR,
    BSC, with batch dimensions in front and dense dimensions behind. TensorError, DTypeError, Unsupported (memory of a
    device; a tensor that requires gradients, which would be lost: give x.detach())."""
    torch = _torch()
    if not isinstance(x, torch.Tensor):
        raise TensorError(
            "from_torch needs a torch tensor", expected="torch.Tensor", got=type(x).__name__, fix="use from_package(x)"
        )
    x = _core.plain_torch(x)
    if x.device.type != "cpu":
        raise Unsupported(
            f"this torch tensor lives on {x.device}",
            expected="memory of the CPU",
            got=str(x.device),
            fix="call .cpu() first; a CUDA back end is not part of this version",
        )
    if x.is_nested:
        raise Unsupported(
            "a nested torch tensor has no shape of its own",
            expected="a tensor of one shape",
            got="a nested tensor",
            fix="nest the tensors by torch.stack, or torch.nested.to_padded_tensor",
        )
    _core.refuse_gradient(x)
    x = x.detach()
    if x.layout == torch.strided:
        return _core.from_array(x)
    if x.layout == torch.sparse_coo:
        return _from_coo(x)
    kinds = {
        torch.sparse_csr: ("csr", 0, False),
        torch.sparse_csc: ("csc", 1, False),
        torch.sparse_bsr: ("bsr", 0, True),
        torch.sparse_bsc: ("bsc", 1, True),
    }
    if x.layout not in kinds:
        raise Unsupported(
            f"torch tensors of layout {x.layout} are not known",
            expected="strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr or sparse_bsc",
            got=str(x.layout),
        )
    return _from_compressed(x, *kinds[x.layout])


def _values(values):
    """Values of any number of dimensions as flat memory; a view where they lie side by side."""
    if not values.is_contiguous():
        warn("the values of a torch tensor were copied: they do not lie side by side")
        values = values.contiguous()
    return values.reshape(-1)


def _from_coo(x):
    indices, values = x._indices(), x._values()
    sparse, nse = indices.shape
    dims = names_of(x.dim())
    if sparse == 0:
        if nse != 1:
            raise Unsupported(
                "a torch COO tensor without sparse dimensions",
                expected="one value",
                got=f"{nse} values",
                fix="coalesce() it first",
            )
        return _core.from_array(values[0])
    coords = [indices[k] for k in range(sparse)]
    pos = {0: _index_tensor([0, nse])}
    crd = dict(enumerate(coords))

    def build(ordered, unique):
        levels = coo_levels(dims[:sparse], ordered, unique) + [f"{d}: dense" for d in dims[sparse:]]
        return Tensor(
            f"({', '.join(dims)}) -> ({', '.join(levels)})", tuple(x.shape), pos=pos, crd=crd, values=_values(values)
        )

    try:
        return build(True, True)
    except TensorError:
        ordered, unique = _core.scan_lists(coords)
        if ordered and unique:
            raise
    return build(ordered, unique)


def _index_tensor(items):
    torch = _torch()
    return torch.tensor(items, dtype=torch.int64)


def _from_compressed(x, kind, axis, blocked):
    if axis == 0:
        pos, crd = x.crow_indices(), x.col_indices()
    else:
        pos, crd = x.ccol_indices(), x.row_indices()
    values = x.values()
    batch = pos.dim() - 1
    dense = values.dim() - batch - 1 - (2 if blocked else 0)
    dims = names_of(x.dim())
    i, j = dims[batch], dims[batch + 1]
    if axis == 1:
        outer, inner = j, i
    else:
        outer, inner = i, j
    lead = [f"{d}: batch" for d in dims[:batch]]
    tail = [f"{d}: dense" for d in dims[batch + 2 :]]
    block = tuple(values.shape[batch + 1 : batch + 3]) if blocked else (1, 1)
    size = {i: block[0], j: block[1]}
    over = (lambda d: f"{d} / {size[d]}") if blocked else (lambda d: d)
    inside = [f"{i} % {block[0]}: dense", f"{j} % {block[1]}: dense"] if blocked else []
    if 0 in block:
        raise Unsupported("a torch tensor with blocks of extent 0", got=f"blocks {block}")
    extent = x.shape[batch + (1 if axis == 0 else 0)] // (block[1] if axis == 0 else block[0])
    batches = 1
    for e in x.shape[:batch]:
        batches *= e
    level = batch + 1

    def build(text):
        levels = [*lead, f"{over(outer)}: dense", f"{over(inner)}: compressed{text}", *inside, *tail]
        return Tensor(
            f"({', '.join(dims)}) -> ({', '.join(levels)})",
            tuple(x.shape),
            pos={level: _values(pos)},
            crd={level: _values(crd)},
            values=_values(values),
        )

    assert dense == x.dim() - batch - 2
    try:
        return build("")
    except TensorError:
        ordered, unique = _core.scan_segments(_values(pos), _values(crd), extent, batches)
        if ordered and unique:
            raise
    return build(props(ordered, unique))


@_typed
def to_torch(t, *, copy=False):
    """The tensor as a torch tensor over the same memory: dense (any strides), COO, CSR, CSC, BSR, BSC, batched, hybrid.

    Formats that torch lacks leave as CSR (2-D) or COO, and a CopyWarning says so; so do indices that are neither int32
    nor int64. torch cannot mark memory as read-only: such memory is copied. What is written there is the
    tensor's too, unless `copy=True`. Unsupported for a fill other than 0.
    """
    torch = _torch()
    t = t.copy() if copy else t
    if t.format.is_all_dense and len(t.parts) == 1:
        dense = t._dense("torch")
        return dense if dense is not None else _core.dense_to_array(_core.to_dense_tensor(t), "torch")
    if t.fill != 0:
        raise Unsupported(
            "torch's absent elements are 0", expected="a tensor of fill 0", got=f"fill {t.fill}", fix="use to_dense()"
        )
    out = _as_coo(t, torch) if len(t.parts) == 1 else None
    if out is None and len(t.parts) == 1:
        out = _as_compressed(t, torch)
    if out is not None:
        return out
    target = Format("CSR") if t.ndim == 2 else Format("COO", t.ndim)
    if target == t.format:
        raise Unsupported(f"torch has no layout for {t.format}")
    warn(
        f"the tensor was copied: torch has no layout for {t.format.name or t.format}, so it leaves as {target.name or target}"
    )
    return to_torch(t.to(target))


def _memory(memory):
    return _core.memory_to_torch(memory)


def _values_of(t, count):
    """The first slots' values, 1-D; one that all slots share is repeated by a stride of 0."""
    values = _memory(t._raw(0, "values"))
    return values[:1].expand(count) if t._shares_value else values[:count]


def _indices(t, level, count=None):
    """(pos, crd) of a level in one dtype that torch knows."""
    torch = _torch()
    pos, crd = _memory(t._raw(level, "pos")), _memory(t._raw(level, "crd"))
    if pos.dtype == crd.dtype and pos.dtype in (torch.int32, torch.int64):
        return pos, crd
    warn(f"indices of {t.pos_dtype} and {t.crd_dtype} were copied: torch wants one of int32 and int64 for both")
    small = all(d in (torch.int8, torch.int16, torch.int32, torch.uint8, torch.uint16) for d in (pos.dtype, crd.dtype))
    dtype = torch.int32 if small else torch.int64
    return pos.to(dtype), crd.to(dtype)


def _as_coo(t, torch):
    levels, dims = t.format.levels, t.format.dims
    sparse = sum(v.kind in ("compressed", "singleton") for v in levels)
    ok = (
        sparse > 0
        and [v.expr for v in levels] == list(dims)
        and levels[0].kind == "compressed"
        and all(v.kind == "singleton" for v in levels[1:sparse])
        and all(v.kind == "dense" for v in levels[sparse:])
        and (sparse == 1 or not levels[0].unique)
    )
    if not ok:
        return None
    nse = int(_memory(t._raw(0, "pos"))[-1])
    joined = _core.joined_crd(t, sparse, nse)
    if joined is not None:  # torch's own layout, as it came in
        indices = _memory(joined).reshape(sparse, nse)
    else:
        warn("indices were copied: torch keeps those of COO in one int64 matrix")
        indices = torch.stack([_memory(t._raw(k, "crd"))[:nse].to(torch.int64) for k in range(sparse)])
    tail = tuple(t.shape[sparse:])
    per = 1
    for e in tail:
        per *= e
    values = _values_of(t, nse * per).reshape(nse, *tail)
    coalesced = t.format.is_ordered and t.format.is_unique
    return torch.sparse_coo_tensor(indices, values, t.shape, check_invariants=False, is_coalesced=coalesced)


def _as_compressed(t, torch):
    f = t.format
    levels, dims = f.levels, list(f.dims)
    batch = f.num_batch_levels
    if t.ndim < batch + 2:
        return None
    i, j = dims[batch], dims[batch + 1]
    tail = dims[batch + 2 :]
    body = [(v.expr, v.kind) for v in levels]
    lead = [(d, "batch") for d in dims[:batch]]
    if body[:batch] != lead:
        return None
    body = body[batch:]
    end = [(d, "dense") for d in tail]
    if end:
        if body[-len(end) :] != end:
            return None
        body = body[: -len(end)]
    layout = block = None
    if len(body) == 2:
        for name, outer, inner in (("csr", i, j), ("csc", j, i)):
            if body == [(outer, "dense"), (inner, "compressed")]:
                layout = name
    elif len(body) == 4:
        try:
            r, c = int(body[2][0].removeprefix(f"{i} % ")), int(body[3][0].removeprefix(f"{j} % "))
        except ValueError:
            return None
        inside = [(f"{i} % {r}", "dense"), (f"{j} % {c}", "dense")]
        for name, first, second in (("bsr", f"{i} / {r}", f"{j} / {c}"), ("bsc", f"{j} / {c}", f"{i} / {r}")):
            if body == [(first, "dense"), (second, "compressed"), *inside]:
                layout, block = name, (r, c)
        if block and (t.shape[batch] % r or t.shape[batch + 1] % c):
            return None
    if layout is None:
        return None
    pos, crd = _indices(t, batch + 1)
    shape = t.shape
    batches = 1
    for e in shape[:batch]:
        batches *= e
    lead_shape = tuple(shape[:batch])
    if batch:
        axis = 0 if layout in ("csr", "bsr") else 1
        parents = shape[batch + axis] // (block[axis] if block else 1)
        per = crd.numel() // batches if batches else 0
        pos, crd = pos.reshape(*lead_shape, parents + 1), crd[: per * batches].reshape(*lead_shape, per)
        if per and bool((pos.reshape(batches, -1)[:, -1] != per).any()):
            return None  # torch wants the same number of stored elements in every batch
    else:
        per = int(pos[-1])
        crd = crd[:per]
    inner_shape = (block or ()) + tuple(shape[batch + 2 :])
    count = per * batches
    for e in inner_shape:
        count *= e
    values = _values_of(t, count).reshape(*lead_shape, per, *inner_shape)
    make = getattr(torch, f"sparse_{layout}_tensor")
    return make(pos, crd, values, shape, check_invariants=False)
