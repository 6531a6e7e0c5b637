"""einsum that waits: what a chain of products comes to is known when the last factor is."""

import contextlib
import contextvars
import dataclasses
import string

import torch

from .. import _einsum as sparse_einsum
from .._contract import plain
from .._deferred import Deferred, values_of
from .._tensor import Tensor, from_torch

_watching = contextvars.ContextVar("strata_torch_dropin_einsums", default=None)
#: a dense factor is taken for a choice where at most this share of it is not 0
_MOSTLY_ZERO = 0.5


@dataclasses.dataclass(frozen=True)
class Work:
    """An einsum that was computed: the equation, the products it took, and those that all its elements would have taken."""

    equation: str
    products: int
    dense: int


@contextlib.contextmanager
def watch_einsum():
    """A list that within this block gets the Work of each einsum."""
    told = []
    before = _watching.set(told)
    try:
        yield told
    finally:
        _watching.reset(before)


class Einsum:
    """torch.einsum(equation, *operands) of dense operands, some of them deferred themselves."""

    def __init__(self, equation, inputs):
        self.equation, self.inputs = equation, inputs
        self.operands = tuple(y for x in inputs for y in (x.how.operands if _waits(x) else (x,)))

    def compute(self):
        """By what is not 0 of a factor of a longer chain, or as it was written."""
        equation, operands = flattened(self.equation, self.inputs)
        choice = _choice(operands) if len(operands) > 2 else None
        if choice is not None:
            operands = list(operands)
            operands[choice] = from_torch(operands[choice])
            y = _of_stored(equation, operands)
            return y.to_dense() if isinstance(y, Tensor) else y
        return _as_written(self.equation, [x.value() if _waits(x) else x for x in self.inputs])


def einsum(equation, *operands):
    """torch.einsum. Of dense operands it is computed when it is read; sparse ones are read at once. Operands of several dtypes are taken
    in the one that torch.result_type gives."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        return torch.einsum(equation, *values_of(operands))
    operands = _in_one_dtype([_sparse(x) for x in operands])
    if any(isinstance(x, Tensor) for x in operands):
        equation, operands = flattened(equation, operands)
        return _of_stored(equation, operands)
    if not all(type(x) is Deferred or plain(x) for x in operands) or torch.is_autocast_enabled("cpu"):
        return torch.einsum(equation, *values_of(operands))
    shape = torch.einsum(equation, *(torch.empty(x.shape, device="meta") for x in operands)).shape
    how = Einsum(equation, operands)
    return Deferred(how, shape, operands[0].dtype)


def _sparse(x):
    if isinstance(x, torch.Tensor) and not isinstance(x, (Tensor, Deferred)) and x.layout != torch.strided:
        return from_torch(x)
    return x


def _in_one_dtype(operands):
    dtypes = {x.dtype for x in operands}
    if len(dtypes) < 2:
        return operands
    dtype = operands[0].dtype
    for x in operands[1:]:
        dtype = torch.promote_types(dtype, x.dtype)
    return [x if x.dtype == dtype else values_of(x).to(dtype) for x in operands]


def _waits(x):
    return type(x) is Deferred and isinstance(x.how, Einsum)


def _parts(equation, count):
    """(letters of each operand, of the result) of an equation without "..."; None where it has them."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    inputs = inputs.split(",")
    if "." in equation or len(inputs) != count:
        return None
    if not arrow:
        letters = "".join(inputs)
        result = "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    return inputs, result


def flattened(equation, operands):
    """(equation, operands) of one einsum in the place of one whose operands are einsums that wait: their letters for sums are renamed.
    What cannot become one is read."""
    while any(map(_waits, operands)):
        k = next(k for k, x in enumerate(operands) if _waits(x))
        inner = operands[k].how
        outer_parts, inner_parts = _parts(equation, len(operands)), _parts(inner.equation, len(inner.inputs))
        if outer_parts is None or inner_parts is None or len(set(outer_parts[0][k])) < len(outer_parts[0][k]):
            operands = [*operands[:k], operands[k].value(), *operands[k + 1 :]]
            continue
        (outer, result), (inside, made) = outer_parts, inner_parts
        unused = iter(sorted(set(string.ascii_letters) - set("".join(outer) + result)))
        renamed = dict(zip(made, outer[k]))
        for letter in dict.fromkeys("".join(inside)):
            if letter not in renamed:
                renamed[letter] = next(unused)
        inside = ["".join(renamed[x] for x in letters) for letters in inside]
        equation = ",".join([*outer[:k], *inside, *outer[k + 1 :]]) + "->" + result
        operands = [*operands[:k], *inner.inputs, *operands[k + 1 :]]
    return equation, [x.value() if type(x) is Deferred else x for x in operands]


def _choice(operands):
    """Which factor says what is needed: the smallest one of which few elements are not 0. One that requires a gradient is none, for it
    wants a gradient at its zeros too; and where another factor holds an infinity there is none, for 0 times infinity is no 0."""
    for k in sorted(range(len(operands)), key=lambda k: operands[k].numel()):
        x = operands[k]
        if not x.requires_grad and x.dim() and x.count_nonzero().item() <= _MOSTLY_ZERO * x.numel():
            return k if all(_finite(y) for j, y in enumerate(operands) if j != k) else None
    return None


def _finite(x):
    x = x.detach()
    for d, stride in enumerate(x.stride()):
        if stride == 0:  # repeated along this one
            x = x.narrow(d, 0, min(x.shape[d], 1))
    return bool(torch.isfinite(x).all())


def _of_stored(equation, operands):
    _tell(equation, operands)
    return sparse_einsum.einsum(equation, *operands)


def _as_written(equation, operands):
    _tell(equation, operands)
    return torch.einsum(equation, *operands)


def _tell(equation, operands):
    told, parts = _watching.get(), _parts(equation, len(operands))
    if told is None or parts is None:
        return
    extents = {letter: n for letters, x in zip(parts[0], operands) for letter, n in zip(letters, x.shape)}
    dense = products = len(operands) - 1
    for n in extents.values():
        dense *= n
    stored = [(letters, x) for letters, x in zip(parts[0], operands) if isinstance(x, Tensor)]
    # of the stored elements of one factor; of several at most those of the smallest
    for letter, n in extents.items():
        products *= 1 if stored and letter in stored[0][0] else n
    told.append(Work(equation, products * (stored[0][1].nse if stored else 1), dense))
