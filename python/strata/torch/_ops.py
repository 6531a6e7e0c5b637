"""The two operators that everything about matrices is made of, closed under differentiation of any order:

    mm       op(A(values)) @ x, or x @ op(A(values))
    sampled  the values of a @ b.T at a pattern

Ordinary tensors in eager mode go to the kernels directly. Everything else (torch.compile, export, functorch, modes, fake
tensors) goes through torch.ops.strata.*, which take a pattern as its layout and its index arrays.
"""

import functools

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd import Function

from . import _kernels
from ._pattern import numbers_of, pattern_of

_library = torch.library.Library("strata", "DEF")
# Version 1: compiled graphs are cached on disk under the name alone, so a new formula needs a new name.
_MM = "mm_v1(Tensor values, Tensor[] index, str layout, Tensor x, bool transpose, bool left) -> Tensor"
_SAMPLED = "sampled_v1(Tensor a, Tensor b, Tensor[] index, str layout, SymInt size) -> Tensor"
for _schema in (_MM, _SAMPLED, "_" + _MM, "_" + _SAMPLED):
    _library.define(_schema)
_ops = torch.ops.strata
_functorch = torch._C._are_functorch_transforms_active


def mm(values, pattern, x, transpose=False, left=False):
    """op(A) @ x, or x @ op(A): differentiable in `values` and `x`, any number of times. x: a vector or a matrix."""
    if _plain(values, x):
        return _apply_mm(values, x, pattern, transpose, left)
    return _ops.mm_v1(values, list(pattern.index), pattern.layout, x, transpose, left)


def sampled(a, b, pattern):
    """The values of a @ b.T at a pattern: differentiable in `a` and `b`. Matrices (m, k) and (n, k), or vectors."""
    if _plain(a, b):
        return _apply_sampled(a, b, pattern)
    return _ops.sampled_v1(a, b, list(pattern.index), pattern.layout, pattern.num_values)


def _plain(*tensors):
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


class _Mm(Function):
    """y = op(A(values)) x. Its gradients are one sampled product and one product."""

    @staticmethod
    def forward(ctx, values, x, pattern, transpose, left):
        ctx.save_for_backward(values, x)
        ctx.how = pattern, transpose, left
        return _kernels.mm(pattern, values.detach(), x.detach(), transpose, left)

    @staticmethod
    def backward(ctx, g):
        (values, x), (pattern, transpose, left) = ctx.saved_tensors, ctx.how
        return *_mm_gradients(ctx, values, x, g, transpose, left, *_on(pattern)), None, None, None


class _Sampled(Function):
    """v = (a b^T) at the pattern: linear in each, and its gradients are products with the matrix of the gradient."""

    @staticmethod
    def forward(ctx, a, b, pattern):
        ctx.save_for_backward(a, b)
        ctx.pattern = pattern
        return _kernels.sampled(pattern, a.detach(), b.detach())

    @staticmethod
    def backward(ctx, h):
        return *_sampled_gradients(ctx, *ctx.saved_tensors, h, *_on(ctx.pattern)), None


def _on(pattern):
    return (lambda v, x, t, left: mm(v, pattern, x, t, left)), (lambda a, b: sampled(a, b, pattern))


def _mm_gradients(ctx, values, x, g, transpose, left, mm, sampled):
    of_values = of_x = None
    if ctx.needs_input_grad[0]:
        # The matrix that acts has the gradient g x^T, or x^T g from the left; A's own is that or its transpose.
        rows, columns = (x.t() if x.dim() == 2 else x, g.t() if g.dim() == 2 else g) if left else (g, x)
        of_values = sampled(columns, rows) if transpose else sampled(rows, columns)
    if ctx.needs_input_grad[1]:
        of_x = mm(values, g, not transpose, left)
    return of_values, of_x


def _sampled_gradients(ctx, a, b, h, mm, sampled):
    return (
        mm(h, b, False, False) if ctx.needs_input_grad[0] else None,
        mm(h, a, True, False) if ctx.needs_input_grad[1] else None,
    )


_apply_mm, _apply_sampled = super(Function, _Mm).apply, super(Function, _Sampled).apply


# The operators: the same formulas over operators, so that whatever traces them can differentiate what it traced.


def _below(op, raw, *args):
    """The next level of functorch, or the kernel."""
    if _functorch():
        # A Function's forward runs without both modes, and the levels below want them.
        with (
            torch._C._AutoDispatchBelowAutograd(),
            torch.enable_grad(),
            torch.autograd.forward_ad._set_fwd_grad_enabled(True),
        ):
            return op(*args)
    return raw(*args)


class _MmOp(Function):
    @staticmethod
    def forward(ctx, values, index, layout, x, transpose, left):
        ctx.save_for_backward(values, x, *index)
        ctx.save_for_forward(values, x, *index)
        ctx.how = layout, transpose, left
        return _below(_ops.mm_v1, _ops._mm_v1, values, index, layout, x, transpose, left)

    @staticmethod
    def backward(ctx, g):
        values, x, *index = ctx.saved_tensors
        layout, transpose, left = ctx.how
        needs = _Needs(ctx.needs_input_grad[0], ctx.needs_input_grad[3])
        of_values, of_x = _mm_gradients(needs, values, x, g, transpose, left, *_by_ops(index, layout, values.shape[0]))
        return of_values, None, None, of_x, None, None

    @staticmethod
    def jvp(ctx, of_values, _index, _layout, of_x, _transpose, _left):
        values, x, *index = ctx.saved_tensors
        layout, transpose, left = ctx.how
        terms = [] if of_values is None else [_ops.mm_v1(of_values, index, layout, x, transpose, left)]
        terms += [] if of_x is None else [_ops.mm_v1(values, index, layout, of_x, transpose, left)]
        return sum(terms[1:], terms[0])


class _SampledOp(Function):
    @staticmethod
    def forward(ctx, a, b, index, layout, size):
        ctx.save_for_backward(a, b, *index)
        ctx.save_for_forward(a, b, *index)
        ctx.how = layout, size
        return _below(_ops.sampled_v1, _ops._sampled_v1, a, b, index, layout, size)

    @staticmethod
    def backward(ctx, h):
        a, b, *index = ctx.saved_tensors
        layout, size = ctx.how
        return *_sampled_gradients(ctx, a, b, h, *_by_ops(index, layout, size)), None, None, None

    @staticmethod
    def jvp(ctx, of_a, of_b, _index, _layout, _size):
        a, b, *index = ctx.saved_tensors
        layout, size = ctx.how
        terms = [] if of_a is None else [_ops.sampled_v1(of_a, b, index, layout, size)]
        terms += [] if of_b is None else [_ops.sampled_v1(a, of_b, index, layout, size)]
        return sum(terms[1:], terms[0])


class _Needs:
    def __init__(self, *needs):
        self.needs_input_grad = needs


def _by_ops(index, layout, size):
    return (
        lambda v, x, t, left: _ops.mm_v1(v, index, layout, x, t, left),
        lambda a, b: _ops.sampled_v1(a, b, index, layout, size),
    )


def _autograd_kernel(function):
    apply = super(Function, function).apply

    def kernel(*args):
        if _functorch():
            with enable_single_level_autograd_function():
                return apply(*args)
        return apply(*args)

    return kernel


def _mm_kernel(values, index, layout, x, transpose, left):
    return _kernels.mm(pattern_of(layout, index), _plainly(values), _plainly(x), transpose, left)


def _sampled_kernel(a, b, index, layout, size):
    return _kernels.sampled(pattern_of(layout, index), _plainly(a), _plainly(b))


def _plainly(x):
    return x.detach().resolve_neg().resolve_conj()


@functools.lru_cache(maxsize=256)
def _shape_of(layout):
    return numbers_of(layout.partition(" ")[0])


def _mm_fake(values, index, layout, x, transpose, left):
    rows, columns = _shape_of(layout)
    outer = columns if transpose else rows
    if left:
        outer = rows if transpose else columns
        return x.new_empty((*x.shape[:-1], outer))
    return x.new_empty((outer, *x.shape[1:]))


def _sampled_fake(a, b, index, layout, size):
    return a.new_empty(size)


for _name, _kernel, _fake, _function in (
    ("mm_v1", _mm_kernel, _mm_fake, _MmOp),
    ("sampled_v1", _sampled_kernel, _sampled_fake, _SampledOp),
):
    _library.impl(_name, _autograd_kernel(_function), "Autograd")
    for _each in (_name, "_" + _name):
        _library.impl(_each, _kernel, "CPU")
        torch.library.register_fake(f"strata::{_each}", _fake, lib=_library)


def _mm_vmap(info, in_dims, values, index, layout, x, transpose, left):
    """A batch of x is one wider x; a batch of values is a product for each."""
    of_values, _, _, of_x, _, _ = in_dims
    if of_values is not None or x.dim() - (of_x is not None) != 2:
        return _each(info, (of_values, of_x), lambda v, x: _ops.mm_v1(v, index, layout, x, transpose, left), values, x)
    if left:
        x = x.movedim(of_x, 0)
        y = _ops.mm_v1(values, index, layout, x.reshape(-1, x.shape[-1]), transpose, True)
        return y.reshape(*x.shape[:-1], y.shape[-1]), 0
    x = x.movedim(of_x, -1)
    y = _ops.mm_v1(values, index, layout, x.reshape(x.shape[0], -1), transpose, False)
    return y.reshape(y.shape[0], *x.shape[1:]), x.dim() - 1


def _sampled_vmap(info, in_dims, a, b, index, layout, size):
    return _each(info, in_dims[:2], lambda a, b: _ops.sampled_v1(a, b, index, layout, size), a, b)


def _each(info, dims, f, *operands):
    pick = lambda k: [x if d is None else x.select(d, k) for x, d in zip(operands, dims)]  # noqa: E731
    return torch.stack([f(*pick(k)) for k in range(info.batch_size)]), 0


torch.library.register_vmap("strata::mm_v1", _mm_vmap, lib=_library)
torch.library.register_vmap("strata::sampled_v1", _sampled_vmap, lib=_library)
