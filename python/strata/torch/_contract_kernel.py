"""The arithmetic of a sum of products, on ordinary CPU tensors that carry no gradient."""

import string

import torch

import strata as st

from ._pattern import Pattern
from ._tensor import Tensor


def contraction(spec, operands, patterns, out):
    """What _contract.contract says."""
    inputs, _, result = spec.partition("->")
    inputs = inputs.split(",")
    sparse = {letter for letters, p in zip((*inputs, result), (*patterns, out)) if p is not None for letter in letters}
    dtype = operands[0].dtype
    terms = []
    for letters, x, p in zip(inputs, operands, patterns):
        terms.append((letters, p.with_values(x)) if p is not None else _side_by_side(letters, x, sparse))
    if out is not None:
        return _at(out, result, terms, dtype, exact=all(p is None for p in patterns))
    order = _order(result, sparse)
    text = ",".join(letters for letters, _ in terms) + "->" + _picked(result, order)
    y = torch.as_tensor(st.einsum(text, *(x for _, x in terms), format="dense"))
    return y.permute([order.index(d) for d in range(len(order))]).contiguous()


def _order(letters, sparse):
    """The dimensions of a dense tensor so that what meets one element of a sparse one lies side by side."""
    return sorted(range(len(letters)), key=lambda d: letters[d] not in sparse)


def _side_by_side(letters, x, sparse):
    order = _order(letters, sparse)
    x = x.permute(order)
    return _picked(letters, order), x if not order or x.stride(-1) < 2 else x.contiguous()


def _picked(letters, order):
    return "".join(letters[d] for d in order)


def _at(out, result, terms, dtype, exact):
    """The values at a pattern. `exact`: no other operand is sparse, so that the result has the whole pattern."""
    if not exact and len(out._parts) > 1:
        return torch.cat([_at(Pattern(part), result, terms, dtype, exact) for part in out._parts])
    factors = [f"X{n}({','.join(letters)})" if letters else f"X{n}" for n, (letters, _) in enumerate(terms)]
    own, unused = [], iter(sorted(set(string.ascii_letters).difference(result, *(letters for letters, _ in terms))))
    for letter in result:
        own.append(next(unused) if letter in own else letter)
        if own[-1] != letter:
            factors.append(f"({letter} == {own[-1]})")
    access = f"({','.join(own)})" if own else ""
    named = {"Ones": out.ones_of(dtype), **{f"X{n}": x for n, (_, x) in enumerate(terms)}}
    found = st.evaluate(" * ".join((f"Result{access} = Ones{access}", *factors)), named)
    if not isinstance(found, st.Tensor):
        return out.gather(torch.as_tensor(found))
    if exact:
        return out.values_of(found)
    # Where sparse operands do not meet, the library stores nothing.
    from ._elements import moved

    pattern = Pattern(found)
    return moved(Tensor(pattern.values_of(found), pattern), out)
