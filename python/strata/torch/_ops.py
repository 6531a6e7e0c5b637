"""The two operators that everything about matrices is made of, closed under differentiation of any order:

    mm       op(A(values)) @ x, or x @ op(A(values))
    sampled  the values of a @ b.T at a pattern

Ordinary tensors in eager mode go to the kernels directly. Everything else (torch.compile, export, functorch, modes, fake
tensors) goes through torch.ops.strata.*, which take a pattern as its layout and its index arrays.
"""

import functools

import torch
from torch._functorch.autograd_function import enable_single_level_autograd_function
from torch.autograd.function import _SingleLevelFunction

from . import _kernels
from ._frames import as_written
from ._pattern import numbers_of, pattern_of
from ._row_order import LARGE, in_row_order
from ._unfolded import extents, unfolded

_library = torch.library.Library("strata", "DEF")
# Version 1: compiled graphs are cached on disk under the name alone, so a new formula needs a new name.
_MM = "mm_v1(Tensor values, Tensor[] index, str layout, Tensor x, bool transpose, bool left) -> Tensor"
_SAMPLED = "sampled_v1(Tensor a, Tensor b, Tensor[] index, str layout, SymInt size) -> Tensor"
_ops = torch.ops.strata
_functorch = torch._C._are_functorch_transforms_active


def mm(values, pattern, x, transpose=False, left=False):
    """op(A) @ x, or x @ op(A): differentiable in `values` and `x`, any number of times. x: a vector or a matrix."""
    y = mm_at_once(values, pattern, x, None, transpose, left)
    return _ops.mm_v1(values, list(pattern.index), pattern.layout, x, transpose, left) if y is None else y


def mm_at_once(values, pattern, x, c, transpose, left):
    """The same plus c, a row, where there is one: of ordinary tensors that fit, in a call that nobody watches. Otherwise
    None, whatever the reason."""
    if torch.compiler.is_compiling() or pattern.has_room:
        return None
    if pattern.num_values < LARGE:
        matrix, ordered = pattern.matrix(transpose), values
    else:
        with torch.no_grad():
            matrix, ordered = in_row_order(pattern, values, x, transpose, left)
    y = _kernels.calls.mm_at_once(matrix, ordered, x, c, left)
    if y is None or not torch.is_grad_enabled():
        return y
    if values.requires_grad or x.requires_grad or (c is not None and c.requires_grad):
        return _apply_mm(values, x, c, pattern, transpose, left, (y,))
    return y


def sampled(a, b, pattern):
    """The values of a @ b.T at a pattern: differentiable in `a` and `b`. Matrices (m, k) and (n, k), or vectors."""
    values = None
    if not torch.compiler.is_compiling() and not pattern.has_room:
        ones = pattern.known_ones_of(a.dtype)  # made by the operator, below all that may watch this call
        if ones is not None:
            values = _kernels.calls.sampled_at_once(ones, a, b, pattern.num_values, pattern.whole)
    if values is None:
        return _ops.sampled_v1(a, b, list(pattern.index), pattern.layout, pattern.num_values)
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        return _apply_sampled(a, b, pattern, (values,))
    return values


class _Arrays:
    """A pattern as operators take it: what traces them can follow its arrays."""

    def __init__(self, index, layout, size):
        self.index, self.layout, self.size = index, layout, size


def _on(matrix, index):
    """(mm, sampled) of the same kind as the call that is differentiated. `index`: the arrays, as they were saved."""
    if not isinstance(matrix, _Arrays):
        return (lambda v, x, t, left: mm(v, matrix, x, t, left)), (lambda a, b: sampled(a, b, matrix))
    return (
        lambda v, x, t, left: _ops.mm_v1(v, index, matrix.layout, x, t, left),
        lambda a, b: _ops.sampled_v1(a, b, index, matrix.layout, matrix.size),
    )


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


class _Mm(_SingleLevelFunction):
    """y = op(A(values)) x + c. Its gradients are one sampled product and one product. `matrix`: a Pattern where the result
    is there already, otherwise _Arrays, and the operators compute."""

    @staticmethod
    def forward(ctx, values, x, c, matrix, transpose, left, done=None):
        ctx.how = matrix, transpose, left
        if done:
            ctx.save_for_backward(values, x)
            return done[0]
        ctx.save_for_backward(values, x, *matrix.index)
        ctx.save_for_forward(values, x, *matrix.index)
        return _below(_ops.mm_v1, _ops._mm_v1, values, matrix.index, matrix.layout, x, transpose, left)

    @staticmethod
    def backward(ctx, g):
        (values, x, *index), (matrix, transpose, left) = ctx.saved_tensors, ctx.how
        mm, sampled = _on(matrix, index)
        of_values = of_x = of_c = None
        if g.is_complex():
            values, x = values.conj(), x.conj()
        if ctx.needs_input_grad[0]:
            # The matrix that acts has the gradient g x^T, or x^T g from the left; A's own is that or its transpose.
            rows, columns = (x.t() if x.dim() == 2 else x, g.t() if g.dim() == 2 else g) if left else (g, x)
            of_values = sampled(columns, rows) if transpose else sampled(rows, columns)
        if ctx.needs_input_grad[1]:
            of_x = mm(values, g, not transpose, left)
        if ctx.needs_input_grad[2]:
            of_c = g.sum(0) if g.dim() == 2 else g
        return of_values, of_x, of_c, None, None, None, None

    @staticmethod
    def jvp(ctx, of_values, of_x, *_):
        (values, x, *index), (matrix, transpose, left) = ctx.saved_tensors, ctx.how
        mm, _ = _on(matrix, index)
        terms = [] if of_values is None else [mm(of_values, x, transpose, left)]
        terms += [] if of_x is None else [mm(values, of_x, transpose, left)]
        return sum(terms[1:], terms[0])


class _Sampled(_SingleLevelFunction):
    """v = (a b^T) at the pattern: linear in each, and its gradients are products with the matrix of the gradient."""

    @staticmethod
    def forward(ctx, a, b, matrix, done=None):
        ctx.matrix = matrix
        if done:
            ctx.save_for_backward(a, b)
            return done[0]
        ctx.save_for_backward(a, b, *matrix.index)
        ctx.save_for_forward(a, b, *matrix.index)
        return _below(_ops.sampled_v1, _ops._sampled_v1, a, b, matrix.index, matrix.layout, matrix.size)

    @staticmethod
    def backward(ctx, h):
        a, b, *index = ctx.saved_tensors
        mm, _ = _on(ctx.matrix, index)
        if h.is_complex():
            a, b = a.conj(), b.conj()
        of_a = mm(h, b, False, False) if ctx.needs_input_grad[0] else None
        return of_a, mm(h, a, True, False) if ctx.needs_input_grad[1] else None, None, None

    @staticmethod
    def jvp(ctx, of_a, of_b, *_):
        a, b, *index = ctx.saved_tensors
        _, sampled = _on(ctx.matrix, index)
        terms = [] if of_a is None else [sampled(of_a, b)]
        terms += [] if of_b is None else [sampled(a, of_b)]
        return sum(terms[1:], terms[0])


# (Classes of a single level: what a Function does beyond, a test for functorch, is done here, by the kernels below.)
_apply_mm, _apply_sampled = _Mm.apply, _Sampled.apply


def _recorded(apply, *args):
    if _functorch():
        with enable_single_level_autograd_function():
            return apply(*args)
    return apply(*args)


def _mm_autograd(values, index, layout, x, transpose, left):
    return _recorded(_apply_mm, values, x, None, _Arrays(index, layout, values.shape[0]), transpose, left)


def _sampled_autograd(a, b, index, layout, size):
    return _recorded(_apply_sampled, a, b, _Arrays(index, layout, size))


def _mm_kernel(values, index, layout, x, transpose, left):
    groups, layout = _groups_of(layout)
    pattern, values = pattern_of(layout, index), _plainly(values)
    if groups:
        known = unfolded(pattern, groups)
        pattern, values = known.matrix, known.values(values)
    return _kernels.mm(pattern, values, _plainly(x), transpose, left)


def _sampled_kernel(a, b, index, layout, size):
    groups, layout = _groups_of(layout)
    pattern = pattern_of(layout, index)
    if not groups:
        return _kernels.sampled(pattern, _plainly(a), _plainly(b))
    known = unfolded(pattern, groups)
    return known.back(_kernels.sampled(known.matrix, _plainly(a), _plainly(b)), size)


def unfolded_layout(layout, groups):
    """What the operators take as the layout of a convolution's weight where they are to see it as a matrix (see _unfolded)."""
    return f"{groups}|{layout}"


def _groups_of(layout):
    """(groups of the convolution, or 0, the layout of the pattern)"""
    groups, _, layout = layout.rpartition("|")
    return int(groups or 0), layout


def _plainly(x):
    return x.detach().resolve_neg().resolve_conj()


@functools.lru_cache(maxsize=256)
def _shape_of(layout):
    groups, layout = _groups_of(layout)
    shape = numbers_of(layout.partition(" ")[0])
    return extents(shape, groups) if groups else shape


def _mm_fake(values, index, layout, x, transpose, left):
    rows, columns = _shape_of(layout)
    outer = columns if transpose else rows
    if left:
        outer = rows if transpose else columns
        return x.new_empty((*x.shape[:-1], outer))
    return x.new_empty((outer, *x.shape[1:]))


def _sampled_fake(a, b, index, layout, size):
    return a.new_empty(size)


def register(schema, kernel, fake, autograd, vmap):
    """An operator of torch.ops.strata that `autograd` differentiates; below it, with "_" before its name, the kernel alone."""
    name = schema.partition("(")[0]
    for each in (name, "_" + name):
        _library.define(each + schema[len(name) :])
        _library.impl(each, as_written(kernel), "CPU")
        torch.library.register_fake(f"strata::{each}", fake, lib=_library)
    _library.impl(name, as_written(autograd), "Autograd")
    torch.library.register_vmap(f"strata::{name}", vmap, lib=_library)


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


register(_MM, _mm_kernel, _mm_fake, _mm_autograd, _mm_vmap)
register(_SAMPLED, _sampled_kernel, _sampled_fake, _sampled_autograd, _sampled_vmap)
