"""torch.einsum where operands are sparse: what one operand can do for itself is done first, the rest is one contraction."""

import collections
import functools

import torch

import strata as st

from ..errors import DTypeError, TensorError
from . import _ops
from ._contract import LETTERS, contract, contracted
from ._pattern import Pattern
from ._tensor import Tensor


def einsum(equation, *operands):
    """torch.einsum of dense tensors and one sparse one or several.

    The result is sparse in the pattern of an operand that has exactly its letters, sparse where the library's einsum of
    several sparse operands is, and dense otherwise. Differentiable any number of times; gradients of sparse operands live at
    their elements. TensorError where letters and shapes do not fit, DTypeError where dtypes differ."""
    inputs, result = _read(equation, tuple(tuple(x.shape) for x in operands))
    patterns = [x.pattern if isinstance(x, Tensor) else None for x in operands]
    tensors = alike(*(x.values() if isinstance(x, Tensor) else x for x in operands))
    inputs, tensors = zip(*_alone(inputs, tensors, patterns, result))
    sparse = [k for k, p in enumerate(patterns) if p is not None]
    if len(sparse) > 1:
        return _of_several(",".join(inputs) + "->" + result, tensors, patterns)
    (k,) = sparse
    if sorted(inputs[k]) == sorted(result) and len(set(result)) == len(result):
        return _scaled(inputs, result, tensors, patterns[k], k)
    return contract(",".join(inputs) + "->" + result, tensors, patterns)


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
def _read(equation, shapes):
    """(letters of each operand, letters of the result), without "...". A dimension of extent 1 that others stretch gets a letter
    of its own, over which a sum changes nothing."""
    try:
        torch.einsum(equation, *(torch.empty(shape, device="meta") for shape in shapes))
    except RuntimeError as e:
        raise TensorError(f"einsum cannot do this: {e}", expected=equation, got=", ".join(map(str, shapes))) from None
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    inputs = inputs.split(",")
    unused = iter([letter for letter in LETTERS if letter not in equation])
    hidden = [len(shape) - len(letters) + 3 for letters, shape in zip(inputs, shapes) if "..." in letters]
    dots = "".join(next(unused) for _ in range(max(hidden, default=0)))
    count = collections.Counter("".join(inputs).replace(".", ""))
    if not arrow:
        result = "..." + "".join(sorted(letter for letter, n in count.items() if n == 1))
    inputs = [
        letters.replace("...", dots[len(dots) - (len(shape) - len(letters) + 3) :])
        for letters, shape in zip(inputs, shapes)
    ]
    longer = {x for letters, shape in zip(inputs, shapes) for x, n in zip(letters, shape) if n != 1}
    for k, (letters, shape) in enumerate(zip(inputs, shapes)):
        stretched = {letter: next(unused) for letter, n in zip(letters, shape) if n == 1 and letter in longer}
        inputs[k] = "".join(stretched.get(letter, letter) for letter in letters)
    return tuple(inputs), result.replace("...", dots)


def _alone(inputs, tensors, patterns, result):
    """Letters and tensor of each operand; dense ones after their diagonals, and their sums over letters of their own."""
    for k, (letters, x) in enumerate(zip(inputs, tensors)):
        if patterns[k] is None:
            while len(set(letters)) < len(letters):
                letter = next(letter for letter in letters if letters.count(letter) > 1)
                i, j = letters.index(letter), letters.rindex(letter)
                x = x.diagonal(dim1=i, dim2=j)
                letters = letters[:i] + letters[i + 1 : j] + letters[j + 1 :] + letter
            own = set(letters).difference(result, *inputs[:k], *inputs[k + 1 :])
            if own:
                x = x.sum([d for d, letter in enumerate(letters) if letter in own], dtype=x.dtype)
                letters = "".join(letter for letter in letters if letter not in own)
        yield letters, x


def _scaled(inputs, result, tensors, pattern, k):
    """An operand with all letters of the result: its elements times what the dense ones are there."""
    values, others = tensors[k], (*tensors[:k], *tensors[k + 1 :])
    if others:
        spec = ",".join((*inputs[:k], *inputs[k + 1 :])) + "->" + inputs[k]
        values = values * contract(spec, others, [None] * len(others), pattern)
    return Tensor(values, pattern.transpose(*(inputs[k].index(letter) for letter in result)))


def _of_several(spec, tensors, patterns):
    """The library finds what the result stores. Where values are not there to compute with, from the patterns alone."""
    plain = _ops._plain(*tensors)
    operands = [
        x.detach()
        if p is None and plain
        else torch.ones(()).expand(x.shape)
        if p is None
        else p.with_values(x)
        if plain
        else p.ones_of(torch.float32)
        for x, p in zip(tensors, patterns)
    ]
    found = st.einsum(spec, *operands)
    pattern = Pattern(found) if isinstance(found, st.Tensor) else None
    if plain:
        values = torch.as_tensor(found) if pattern is None else pattern.values_of(found)
        values = contracted(values, spec, tensors, patterns, pattern)
    else:
        values = contract(spec, tensors, patterns, pattern)
    return values if pattern is None else Tensor(values, pattern)
