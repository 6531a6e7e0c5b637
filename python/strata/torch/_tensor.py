"""stt.Tensor: a torch.Tensor that stores what its pattern says, in any format."""

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

import strata as st

from .. import _core
from .._core import Format
from ..errors import TensorError, Unsupported
from ._fallback import densifying
from ._frames import as_written
from ._pattern import Pattern, pattern_of

#: functions of torch and what they are here: func -> f(*args, **kwargs), which may return NotImplemented (see _functions)
FUNCTIONS = {}


class Tensor(torch.Tensor):
    """A sparse tensor over 1-D stored values and a Pattern. The values carry the gradient: where they require one, so does the
    tensor, and its `grad` is a Tensor of the same pattern.

    Tensor(values, pattern): one value for each slot, in the order of the format. TensorError where their number differs.
    """

    @staticmethod
    @as_written
    def __new__(cls, values, pattern):
        if values.dim() != 1 or values.shape[0] != pattern.num_values:
            raise TensorError(
                "the values do not fit the pattern",
                expected=f"{pattern.num_values} of them in one dimension, one for each slot",
                got=f"shape {tuple(values.shape)}",
            )
        self = torch.Tensor._make_wrapper_subclass(cls, pattern.shape, dtype=values.dtype, device=values.device)
        self._stored, self._pattern = values, pattern
        return self

    def __init__(self, *_):
        pass

    def values(self):
        """The stored values, 1-D, with their gradient."""
        return self._stored

    # What is asked most, without a way through __torch_function__.

    @property
    def shape(self):
        """As torch.Tensor's."""
        return self._pattern.shape

    @property
    def dtype(self):
        """Of the values."""
        return self._stored.dtype

    def dim(self):
        """The number of dimensions."""
        return len(self._pattern.shape)

    @property
    def pattern(self):
        """What is stored, without values."""
        return self._pattern

    @property
    def format(self):
        """The st.Format."""
        return self._pattern.format

    @property
    def nse(self):
        """How many elements are stored."""
        return self._pattern.nse

    @property
    def strata(self):
        """The st.Tensor over the same memory, without gradients."""
        return self._pattern.with_values(self._stored)

    def to_dense(self, dtype=None, *, masked_grad=None):
        """All elements as an ordinary tensor; differentiable. In the format "dense" over the same memory."""
        p, values = self._pattern, self._stored
        dense = values.reshape(p.shape) if p.format.is_all_dense and p.is_dense else p.scatter(values)
        return dense if dtype is None else dense.to(dtype)

    def to_torch(self):
        """In a layout of torch's own (torch.sparse_csr, ...; CSR or COO where torch has none), over the same memory. Without
        gradients: Unsupported where they would be lost."""
        if self.requires_grad and torch.is_grad_enabled():
            raise Unsupported("to_torch() would lose gradients", got="a tensor that requires them", fix="x.detach()")
        return self.strata.to_torch()

    def to(self, *args, zeros="auto", **kwargs):
        """In another format (a name or an st.Format), or as torch.Tensor.to: dtype, device. Differentiable."""
        if args and isinstance(args[0], (str, Format)) and not _is_device(args[0]):
            return _in_format(self, args[0], zeros)
        return Tensor(self._stored.to(*args, **kwargs), self._pattern)

    # What torch asks of a tensor's place in a graph is asked of the values.

    @property
    def requires_grad(self):
        """Do the values require a gradient?"""
        return self._stored.requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self._stored.requires_grad = value

    def requires_grad_(self, requires_grad=True):
        """From here on the values require a gradient, or do not."""
        self._stored.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        """The gradient of the stored elements, a Tensor of the same pattern, or None."""
        grad = self._stored.grad
        return None if grad is None else Tensor(grad, self._pattern)

    @grad.setter
    def grad(self, value):
        self._stored.grad = value._stored if isinstance(value, Tensor) else value

    @property
    def grad_fn(self):
        """What made the values, as autograd recorded it."""
        return self._stored.grad_fn

    @property
    def is_leaf(self):
        """Does no recorded operation stand before the values?"""
        return self._stored.is_leaf

    def retain_grad(self):
        """Keeps the gradient of a tensor that is no leaf."""
        self._stored.retain_grad()

    def data_ptr(self):
        """The address of the stored values."""
        return self._stored.data_ptr()

    def share_memory_(self):
        """The stored values move to shared memory."""
        self._stored.share_memory_()
        return self

    def is_shared(self):
        """Do the stored values lie in shared memory?"""
        return self._stored.is_shared()

    def pin_memory(self, device=None):
        """A tensor whose stored values lie in pinned memory. RuntimeError where no accelerator is there, as torch has it."""
        return Tensor(self._stored.pin_memory(), self._pattern)

    def is_pinned(self, device=None):
        """Do the stored values lie in pinned memory?"""
        return self._stored.is_pinned()

    # torch takes a TypeError of an operator for "does not know this operand", and ours would be lost.

    def __matmul__(self, other):
        return torch.matmul(self, other)

    def __rmatmul__(self, other):
        return torch.matmul(other, self)

    def __repr__(self, *, tensor_contents=None):
        text = repr(self.strata)
        if self.grad_fn is not None:
            return f"{text}\n{self.grad_fn.name()}"
        return f"{text}\nrequires_grad=True" if self.requires_grad else text

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError("only tensors that are leaves of a graph can be copied by deepcopy; x.detach() first")
        copy = Tensor(self._stored.detach().clone().requires_grad_(self.requires_grad), self._pattern)
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol):
        return _rebuilt, (self._stored, self._pattern.layout, self._pattern.index)

    @classmethod
    @as_written
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        here = FUNCTIONS.get(func)
        if here is not None:
            result = here(*args, **kwargs)
            if result is not NotImplemented:
                return result
        with torch._C.DisableTorchFunctionSubclass():
            if func in _ASKS_ABOUT_IT:
                return func(*args, **kwargs)
            return _on_dense(func, args, kwargs)

    @classmethod
    @as_written
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return _on_dense(func, args, kwargs or {})

    __hash__ = torch.Tensor.__hash__


def _on_dense(func, args, kwargs):
    """A call on dense copies; in-place changes of them would be lost, and are refused."""
    name = getattr(func, "__name__", str(func))
    if name == "__get__":
        name = func.__self__.__name__
    target = args[0] if args else None
    changes = (name.endswith("_") and not name.endswith("__")) or (name.startswith("__i") and name.endswith("__"))
    asks = name in ("__invert__", "__int__", "__index__")
    if (changes and not asks or name in ("__setitem__", "__set__")) and isinstance(target, Tensor):
        raise Unsupported(
            f"{name} would change a dense copy, and nothing else",
            expected="a function that returns a new tensor, or a change of x.values()",
            got=name,
        )
    if isinstance(kwargs.get("out"), Tensor):
        raise Unsupported(f"{name} cannot write into a sparse tensor", got="out=", fix="take the result")
    args, kwargs = torch.utils._pytree.tree_map(lambda x: _dense_copy(x, name), (args, kwargs))
    return func(*args, **kwargs)


def _dense_copy(x, name):
    if not isinstance(x, Tensor):
        return x
    densifying(name, x._pattern)
    return x._pattern.scatter(x._stored)


_A = torch.Tensor
_ASKS_ABOUT_IT = {
    *(
        getattr(_A, name).__get__
        for name in (
            "shape device dtype ndim layout names is_cuda is_cpu is_meta is_sparse is_sparse_csr is_quantized is_mps is_mkldnn "
            "is_nested is_xpu is_ipu is_xla is_vulkan is_maia is_mtia itemsize _is_param"
        ).split()
        if hasattr(_A, name) and hasattr(getattr(_A, name), "__get__")
    ),
    _A.__len__,
    _A.size,
    _A.dim,
    _A.numel,
    _A.nelement,
    _A.is_floating_point,
    _A.is_complex,
    _A.is_signed,
    _A.element_size,
    _A.get_device,
    _A.is_inference,
    torch.is_floating_point,
    torch.is_complex,
    torch.is_signed,
    torch.numel,
}


def _is_device(text):
    if not isinstance(text, str):
        return False
    kind = text.partition(":")[0]
    return kind in ("cpu", "cuda", "meta", "mps", "xpu")


def _rebuilt(values, layout, index):
    return Tensor(values, pattern_of(layout, index))


torch.serialization.add_safe_globals([_rebuilt])


def _collated(batch, *, collate_fn_map=None):
    """Samples of a DataLoader, which may store unlike numbers of elements, side by side along a new first dimension."""
    return torch.stack(batch)


default_collate_fn_map[Tensor] = _collated


def _in_format(x, format, zeros):
    """Each slot of the result takes the value of the slot that it came from, or 0 where the format put it there."""
    numbers = torch.arange(1, x._pattern.num_values + 1)
    if zeros != "keep" and x.format.can_hold_fill:
        numbers = torch.where(x._stored.detach() == 0, 0, numbers)
    if not x._pattern.once:
        raise Unsupported(
            "elements that several parts of a sum store cannot be told apart", fix="x.to_dense(), then stt.from_torch"
        )
    moved = x._pattern.with_values(numbers).to(format, zeros=zeros)
    pattern = Pattern(moved)
    values = torch.cat([x._stored.new_zeros(1), x._stored])[pattern.values_of(moved)]
    return Tensor(values, pattern)


def from_torch(x, format=None, threshold=0):
    """A torch tensor as a Tensor: dense (differentiable: the gradient comes back at the stored elements), COO, CSR, CSC, BSR,
    BSC, batched and hybrid ones, whose memory is shared, as that of a dense one is in the format "dense". `format`: a name or st.Format; without one a sparse tensor keeps
    its own and a dense one becomes CSR (2-D) or COO. `threshold`: of a dense tensor, what is at most that large is absent.
    Elements stored twice are added first. TensorError, FormatError, DTypeError, Unsupported."""
    if isinstance(x, Tensor):
        return x if format is None else x.to(format)
    if x.layout == torch.strided:
        chosen = format or ("CSR" if x.dim() == 2 else f"COO({x.dim()})")
        pattern = Pattern(st.from_dense(st.from_torch(x.detach()), chosen, threshold))
        whole = pattern.format.is_all_dense and pattern.is_dense and not threshold
        return Tensor(x.reshape(-1) if whole else pattern.gather(x), pattern)
    if x.requires_grad and x.layout not in (torch.sparse_coo, torch.sparse_csr):
        raise Unsupported(
            f"torch has no gradients for tensors of {x.layout}",
            expected="a tensor that requires none",
            got="requires_grad=True",
            fix="stt.from_torch(x.detach()).requires_grad_()",
        )
    if x.layout == torch.sparse_coo and not x.is_coalesced():
        x = x.coalesce()
    t = st.from_torch(x.detach())
    if not t.format.is_unique:
        t = t.to(format or ("CSR" if t.ndim == 2 else f"COO({t.ndim})"))
        if x.requires_grad:
            raise Unsupported("elements that are stored twice would lose their gradient", fix="give x.detach()")
        return from_strata(t)
    values = x.values().reshape(-1) if x.requires_grad else _values_of(t)
    result = Tensor(values, Pattern(t))
    return result if format is None else result.to(format)


def from_strata(t, format=None):
    """An st.Tensor as a Tensor over the same memory."""
    if format is not None:
        t = t.to(format)
    return Tensor(_values_of(t), Pattern(t))


def _values_of(t):
    parts = [_core.memory_to_torch(part._raw(0, "values")) for part in t.parts]
    parts = [p.expand(len(part.values)) if len(p) != len(part.values) else p for p, part in zip(parts, t.parts)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)
