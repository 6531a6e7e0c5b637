"""torch.einsum where operands are sparse: what one operand can do for itself is done first, the rest is one contraction."""

import functools

import torch

import strata as st

from ..errors import DTypeError, TensorError
from ._contract import LETTERS, contract, contracted, plain
from ._pattern import Pattern
from ._tensor import Tensor


def einsum(equation, *operands):
    """torch.einsum of dense tensors and one sparse one or several.

    The result is sparse in the pattern of an operand that has exactly its letters, sparse where the library's einsum of
    several sparse operands is, and dense otherwise. Differentiable any number of times; gradients of sparse operands live at
    their elements. TensorError where letters and shapes do not fit, DTypeError where dtypes differ."""
    patterns = [x._pattern if isinstance(x, Tensor) else None for x in operands]
    shapes = tuple(x.shape if p is None else p.shape for x, p in zip(operands, patterns))
    inputs, result, alone = _read(equation, shapes, tuple(p is not None for p in patterns))
    tensors = alike(*(x if p is None else x._stored for x, p in zip(operands, patterns)))
    if alone:
        tensors = [_without(x, *alone[k]) if k in alone else x for k, x in enumerate(tensors)]
    spec, sparse = ",".join(inputs) + "->" + result, [k for k, p in enumerate(patterns) if p is not None]
    if len(sparse) > 1:
        return _of_several(spec, tensors, patterns)
    k = sparse[0]
    if sorted(inputs[k]) == sorted(result) and len(set(result)) == len(result):
        return _scaled(inputs, result, tensors, patterns[k], k)
    return contract(spec, tensors, patterns)


def matmul(a, b):
    """torch.matmul, of which at least one operand is sparse: einsum, whose batches broadcast. TensorError, DTypeError."""
    inner = 0 if b.dim() == 1 else -2
    if not a.dim() or not b.dim() or a.shape[-1] != b.shape[inner]:
        raise TensorError(
            "the shapes of a product do not fit",
            expected="... x m x n and ... x n x k, or a vector of n",
            got=f"{tuple(a.shape)} @ {tuple(b.shape)}",
        )
    left, right = ("i" if a.dim() > 1 else "") + "j", "j" + ("k" if b.dim() > 1 else "")
    return einsum(f"...{left},...{right}->...{left[:-1]}{right[1:]}", a, b)


def alike(*tensors):
    """Under autocast all in its dtype; otherwise they must agree, as in torch."""
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
        if all(x.is_floating_point() and x.dtype != torch.float64 for x in tensors):
            return [x.to(dtype) for x in tensors]
    for x in tensors[1:]:
        if x.dtype != tensors[0].dtype:
            raise DTypeError(
                "the operands of a product need one dtype",
                expected=str(tensors[0].dtype),
                got=str(x.dtype),
                fix="x.to(dtype)",
            )
    return tensors


@functools.lru_cache(maxsize=1024)
def _read(equation, shapes, sparse):
    """(letters of each operand, letters of the result, {dense operand: what it does alone}), without "...". A dimension of extent
    1 that others stretch gets a letter of its own, over which a sum changes nothing."""
    try:
        torch.einsum(equation, *(torch.empty(shape, device="meta") for shape in shapes))
    except RuntimeError as e:
        raise TensorError(f"einsum cannot do this: {e}", expected=equation, got=", ".join(map(str, shapes))) from None
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    inputs = inputs.split(",")
    unused = iter([letter for letter in LETTERS if letter not in equation])
    hidden = [len(shape) - len(letters.replace("...", "")) for letters, shape in zip(inputs, shapes)]
    dots = "".join(next(unused) for _ in range(max(hidden)))
    if not arrow:
        all_of_them = "".join(inputs).replace(".", "")
        result = "..." + "".join(sorted(x for x in set(all_of_them) if all_of_them.count(x) == 1))
    inputs = [letters.replace("...", dots[len(dots) - n :]) for letters, n in zip(inputs, hidden)]
    longer = {x for letters, shape in zip(inputs, shapes) for x, n in zip(letters, shape) if n != 1}
    for k, (letters, shape) in enumerate(zip(inputs, shapes)):
        stretched = {x: next(unused) for x, n in zip(letters, shape) if n == 1 and x in longer}
        inputs[k] = "".join(stretched.get(x, x) for x in letters)
    result, alone = result.replace("...", dots), {}
    for k, letters in enumerate(inputs):
        if not sparse[k]:
            inputs[k], *steps = _steps(letters, "".join((result, *inputs[:k], *inputs[k + 1 :])))
            if any(steps):
                alone[k] = steps
    return inputs, result, alone


def _steps(letters, elsewhere):
    """(letters that stay, diagonals to take, dimensions to sum over then): of a dense operand, what concerns nobody else."""
    diagonals = []
    while len(set(letters)) < len(letters):
        i, j, letter = next((letters.index(x), letters.rindex(x), x) for x in letters if letters.count(x) > 1)
        diagonals.append((i, j))
        letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
    own = [d for d, x in enumerate(letters) if x not in elsewhere]
    return "".join(x for d, x in enumerate(letters) if d not in own), diagonals, own


def _without(x, diagonals, own):
    for i, j in diagonals:
        x = x.diagonal(dim1=i, dim2=j)
    return x.sum(own, dtype=x.dtype) if own else x


def _scaled(inputs, result, tensors, pattern, k):
    """An operand with all letters of the result: its elements times what the dense ones are there."""
    values, others = tensors[k], (*tensors[:k], *tensors[k + 1 :])
    if others:
        spec = ",".join((*inputs[:k], *inputs[k + 1 :])) + "->" + inputs[k]
        values = values * contract(spec, others, [None] * len(others), pattern)
    return Tensor(values, pattern.transpose(*(inputs[k].index(letter) for letter in result)))


def _of_several(spec, tensors, patterns):
    """The library finds what the result stores: together with the values, where they are there to compute with."""
    both = list(zip(tensors, patterns))
    if plain(*tensors):
        found = st.einsum(spec, *(x.detach() if p is None else p.with_values(x) for x, p in both))
        if not isinstance(found, st.Tensor):
            return contracted(torch.as_tensor(found), spec, tensors, patterns)
        pattern = Pattern(found)
        return Tensor(contracted(pattern.values_of(found), spec, tensors, patterns, pattern), pattern)
    with torch._C._DisableFuncTorch():
        one = torch.ones(())
        found = st.einsum(spec, *(one.expand(x.shape) if p is None else p.ones_of(one.dtype) for x, p in both))
        pattern = Pattern(found) if isinstance(found, st.Tensor) else None
    values = contract(spec, tensors, patterns, pattern)
    return values if pattern is None else Tensor(values, pattern)
