"""Sums of products of any tensors, sparse and dense: one operator that is closed under differentiation of any order.

    contract  an einsum whose operands, and whose result, are dense tensors or the values at a pattern

The gradient of an operand is the same sum of products with the gradient of the result in its place, at the operand's own
elements. Products of matrices have operators of their own (_ops).
"""

import collections
import functools
import string

import torch
from torch.autograd.function import _SingleLevelFunction

from .._core import Format
from . import _ops
from ._contract_kernel import contraction
from ._pattern import numbers_of, pattern_of

# As in _ops: a new formula needs a new name.
_SCHEMA = "contract_v1(Tensor[] operands, Tensor[] index, str layouts, str spec) -> Tensor"
LETTERS = string.ascii_letters


def contract(spec, operands, patterns, out=None):
    """einsum, differentiable in all operands, any number of times.

        contract("ij,bjk->bik", (values, x), (pattern, None))             # sparse times dense: dense
        contract("bik,bjk->ij", (g, x), (None, None), pattern)            # the gradient of these values

    spec: an einsum with its result and without "..."; each letter has one extent. A letter that stands once stands at a pattern
    or in the result, and no dense operand has a letter twice. operands: of one dtype; with a pattern: 1-D values.
    out: the pattern of the result, None for a dense one. There a letter that no operand has repeats the result, and one
    that stands twice keeps its diagonal."""
    if plain(*operands):
        return _apply(spec, patterns, out, None, *operands)
    return _by_op(spec, operands, patterns, out)


def plain(*tensors):
    """Is this an eager call on ordinary CPU tensors, that nobody watches?"""
    if torch.compiler.is_compiling():
        return False
    return all(type(t) in _ORDINARY and t.device.type == "cpu" for t in tensors) and not (
        torch._C._len_torch_dispatch_stack()
        or _functorch()
        or torch._C._is_tracing()
        or torch.autograd.forward_ad._current_level >= 0
        or any(t.is_neg() or t.is_conj() for t in tensors)
    )


_ORDINARY = (torch.Tensor, torch.nn.Parameter)
_functorch = torch._C._are_functorch_transforms_active


def contracted(result, spec, operands, patterns, out=None):
    """contract() of what has been computed already: `result` becomes differentiable. For ordinary tensors."""
    return _apply(spec, patterns, out, [result], *operands)


@functools.lru_cache(maxsize=1024)
def _letters(spec):
    inputs, _, result = spec.partition("->")
    return (*inputs.split(","), result)


def _swapped(items, k):
    """The last one, which is the result's, and the k-th change places."""
    return (*items[:k], items[-1], *items[k + 1 : -1], items[k])


def _gradients(needs, spec, operands, patterns, out, g, contract):
    tensors = [x.conj() if x.is_complex() else x for x in operands] + [g]
    for k, needed in enumerate(needs):
        if not needed:
            yield None
            continue
        *inputs, result = _swapped(_letters(spec), k)
        *places, place = _swapped((*patterns, out), k)
        yield contract(",".join(inputs) + "->" + result, _swapped(tensors, k)[:-1], places, place)


class _Contract(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, spec, patterns, out, ready, *operands):
        ctx.save_for_backward(*operands)
        ctx.how = spec, patterns, out
        return ready[0] if ready else contraction(spec, [x.detach() for x in operands], patterns, out)

    @staticmethod
    def backward(ctx, g):
        spec, patterns, out = ctx.how
        needs = ctx.needs_input_grad[4:]
        return None, None, None, None, *_gradients(needs, spec, ctx.saved_tensors, patterns, out, g, contract)


_apply = _Contract.apply


# The operator takes the layouts of all patterns as one text, and their index arrays one after the other.

#: what tracing has of a pattern
_Traced = collections.namedtuple("_Traced", "layout, index")


def _by_op(spec, operands, patterns, out):
    places = (*patterns, out)
    index = [array for p in places if p is not None for array in p.index]
    return _op(list(operands), index, "; ".join("" if p is None else p.layout for p in places), spec)


def patterns_in(index, layouts):
    """(layout, index arrays) of each operand and of the result, None where it is dense."""
    index = list(index)
    for layout in layouts.split("; "):
        count = _number_of_arrays(layout)
        yield _Traced(layout, index[:count]) if layout else None
        del index[:count]


@functools.lru_cache(maxsize=256)
def _number_of_arrays(layout):
    levels = [level for part in Format(layout.split(" ", 2)[2]).parts for level in part.levels] if layout else []
    return sum(level.has_pos + level.has_crd for level in levels)


class _ContractOp(_SingleLevelFunction):
    @staticmethod
    def forward(ctx, layouts, spec, count, *tensors):
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.how = layouts, spec, count
        return _ops._below(_op, _raw, tensors[:count], tensors[count:], layouts, spec)

    @staticmethod
    def backward(ctx, g):
        layouts, spec, count = ctx.how
        operands, index = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        *patterns, out = patterns_in(index, layouts)
        needs = ctx.needs_input_grad[3 : 3 + count]
        gradients = _gradients(needs, spec, operands, patterns, out, g, _by_op)
        return None, None, None, *gradients, *[None] * len(index)

    @staticmethod
    def jvp(ctx, _layouts, _spec, _count, *tangents):
        layouts, spec, count = ctx.how
        operands, index = ctx.saved_tensors[:count], ctx.saved_tensors[count:]
        terms = [
            _op([*operands[:k], t, *operands[k + 1 :]], index, layouts, spec)
            for k, t in enumerate(tangents[:count])
            if t is not None
        ]
        return sum(terms[1:], terms[0])


_apply_op = _ContractOp.apply


def _fake(operands, index, layouts, spec):
    *inputs, result = _letters(spec)
    *patterns, out = layouts.split("; ")
    if out:
        return operands[0].new_empty(sum(numbers_of(out.split(" ")[1])))
    extents = {}
    for letters, x, layout in zip(inputs, operands, patterns):
        extents.update(zip(letters, numbers_of(layout.split(" ")[0]) if layout else x.shape))
    return operands[0].new_empty([extents[letter] for letter in result])


def _vmap(info, in_dims, operands, index, layouts, spec):
    """A batch of dense operands is one more letter; of values, a sum of products for each."""
    dims = in_dims[0]
    *patterns, out = layouts.split("; ")
    if out or any(d is not None and p for d, p in zip(dims, patterns)):
        return _ops._each(info, dims, lambda *operands: _op(list(operands), index, layouts, spec), *operands)
    *inputs, result = _letters(spec)
    batch = next(letter for letter in LETTERS if letter not in spec)
    inputs = [letters if d is None else batch + letters for d, letters in zip(dims, inputs)]
    operands = [x if d is None else x.movedim(d, 0) for d, x in zip(dims, operands)]
    return _op(operands, index, layouts, ",".join(inputs) + "->" + batch + result), 0


def _kernel(operands, index, layouts, spec):
    *patterns, out = (p and pattern_of(*p) for p in patterns_in(index, layouts))
    return contraction(spec, [_ops._plainly(x) for x in operands], patterns, out)


def _with_autograd(operands, index, layouts, spec):
    return _ops._recorded(_apply_op, layouts, spec, len(operands), *operands, *index)


_ops.register(_SCHEMA, _kernel, _fake, _with_autograd, _vmap)
_op, _raw = torch.ops.strata.contract_v1, torch.ops.strata._contract_v1
