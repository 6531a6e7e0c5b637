"""What runs beside a model's own code: hooks that make outputs of modules sparse, and their attention."""

import contextlib

import torch

from ...errors import Unsupported
from .._attention import attention
from .._attention_inputs import Found, causal_pattern, resolved
from .._attention_rows import fixed
from .._frames import as_written
from .._pattern import Once, Pattern
from .._sparsifiers import as_sparsifier
from .._sparsify import kept
from .._sparsity_configs import SparsityConfig
from .._tensor import Tensor
from ..patterns import from_block_mask
from ._formats import format_of
from ._loops import masked_gradient
from ._rewrite import Attention, Uncompiled


class Output:
    """A hook: what a module gives is sparse, and its gradient perhaps less."""

    def __init__(self, setting, place):
        self.setting, self.place = setting, place
        self.sparsifier = None if setting.sparsifier is None else as_sparsifier(setting.sparsifier)
        self.grad_sparsifier = None if setting.grad_sparsifier is None else as_sparsifier(setting.grad_sparsifier)

    def __call__(self, module, inputs, output):
        output = output.to_dense() if isinstance(output, Tensor) else output
        if self.grad_sparsifier is not None:
            output = masked_gradient(output, self.grad_sparsifier)
        if self.sparsifier is None and self.setting.format is None:
            return output
        return kept(output, self.sparsifier, None if torch.compiler.is_compiling() else self.format(output))

    @as_written
    def format(self, output):
        """That of this output, whose shape may be another one than that of the example."""
        told = self.setting.whole_format(type(self.place)("output", self.place.path, "", tuple(output.shape)))
        return told or ("CSR" if output.dim() == 2 else f"COO({output.dim()})")

    def install(self, module):
        """In the place of the hooks of an earlier schedule."""
        _forget(module, Output)
        module.register_forward_hook(self)


class At(Once):
    """Attention of a module at a pattern: a mode that is on while the module runs."""

    def __init__(self, setting, name):
        self.name = name
        self.pattern, self.format = setting.sparsifier, setting.format
        self.modes, self.rests = [], False
        if isinstance(self.pattern, torch.Tensor):
            self.pattern = resolved(self.pattern, None, None, None)
        elif isinstance(self.pattern, type) and _is_of_lengths(self.pattern) and not hasattr(self.pattern, "pattern"):
            self.pattern = self.pattern()
        elif isinstance(self.pattern, type) and getattr(self.pattern, "in_graph", False):
            self.pattern = self.pattern()
        if isinstance(self.pattern, Pattern):
            self.pattern = self._in_format(self.pattern)

    def install(self, module, inside):
        """`inside`: modules of it whose attention is another place."""
        module.register_forward_pre_hook(_Step(self, "enter"))
        module.register_forward_hook(_Step(self, "leave"), always_call=True)
        for other in inside:
            other.register_forward_pre_hook(_Step(self, "pause"))
            other.register_forward_hook(_Step(self, "resume"), always_call=True)

    def enter(self, _):
        if not self.rests:
            mode = (Attention if self.is_in_graph() else Uncompiled)(self.attention)
            mode.__enter__()
            self.modes.append(mode)

    def leave(self, output):
        if not self.rests:
            mode = self.modes.pop()
            mode.__exit__(None, None, None)
            if output is not None and not mode.seen:  # None: an error is on its way
                raise Unsupported(
                    f"the attention of {self.name} was computed in another way than with the example",
                    expected="scaled_dot_product_attention, or a product, scale, mask, softmax, dropout and a product",
                    got="neither, so that no pattern was applied",
                )

    def pause(self, _):
        for mode in self.modes:
            mode.off += 1

    def resume(self, _):
        for mode in self.modes:
            mode.off -= 1

    def attention(self, q, k, v, *, bias, dropout_p, scale, is_causal):
        pattern = self.pattern_for(q, k, v)
        if is_causal:
            pattern = pattern.causal() if isinstance(pattern, Found) else pattern.derived("causal", causal_pattern)
        return attention(q, k, v, pattern, bias=bias, dropout_p=dropout_p, scale=scale)

    def is_in_graph(self):
        """Is the pattern there before torch.compile makes a graph, or found by code that it can follow?"""
        return (
            isinstance(self.pattern, Pattern)
            or _is_of_lengths(self.pattern)
            or getattr(self.pattern, "in_graph", False)
        )

    def pattern_for(self, q, k, v):
        """The Pattern of this call; what is made of it is kept."""
        if isinstance(self.pattern, Pattern):
            return self.pattern
        if _is_of_lengths(self.pattern):
            lengths = fixed(q.shape[-3] if q.dim() > 2 else 1, q.shape[-2], k.shape[-2])
            return self.known("_find_of_lengths", *lengths)
        return self._in_format(resolved(self.pattern, q.detach(), k.detach(), v.detach()))

    def _find_of_lengths(self, heads, rows, columns):
        if callable(getattr(self.pattern, "pattern", None)):
            q, k = torch.empty(heads, rows, 0), torch.empty(heads, columns, 0)
            return self._in_format(resolved(self.pattern, q, k, k))
        block = self.pattern.block  # of DeepSpeed's shape, and no more
        layout = self.pattern.make_layout(-(-max(rows, columns) // block) * block)
        layout = layout[..., : -(-rows // block), : -(-columns // block)]
        return self._in_format(from_block_mask(layout, block, (rows, columns)))

    def _in_format(self, pattern):
        if self.format is None or len(pattern.shape) != 2 or isinstance(pattern, Found):
            return pattern
        return pattern.derived(str(format_of(self.format, 2)), self._formatted)

    def _formatted(self, pattern):
        return Tensor(torch.ones(pattern.num_values), pattern).to(format_of(self.format, 2)).pattern

    def __getstate__(self):
        return {**super().__getstate__(), "modes": [], "rests": False}


def _is_of_lengths(pattern):
    """Is it a configuration of blocks, whose pattern nothing but lengths decide?"""
    cls = pattern if isinstance(pattern, type) else type(pattern)
    found = getattr(cls, "pattern", None)
    return hasattr(cls, "make_layout") and (found is None or found is SparsityConfig.pattern)


class _Step:
    """A hook that calls a method of an At."""

    def __init__(self, at, method):
        self.at, self.method = at, method

    def __call__(self, module, inputs, output=None):
        getattr(self.at, self.method)(output)


def _forget(module, kind):
    """Takes an earlier schedule's hooks off a module."""
    for key in [key for key, hook in module._forward_hooks.items() if isinstance(hook, kind)]:
        del module._forward_hooks[key]


def _attentions(model):
    """{module: At} of those that schedules installed."""
    steps = ((m, hook) for m in model.modules() for hook in m._forward_hooks.values())
    return {m: step.at for m, step in steps if isinstance(step, _Step) and step.method == "leave"}


@contextlib.contextmanager
def as_it_was(model):
    """The attention of an earlier schedule rests: for a look at the model's own code."""
    found = list(_attentions(model).values())
    for at in found:
        at.rests = True
    try:
        yield
    finally:
        for at in found:
            at.rests = False


def install_attention(model, told, places):
    """told: [(path, Setting)] of attention; places: the paths of all modules that have some. What an earlier schedule said of the same
    ones is forgotten."""
    modules = dict(model.named_modules())
    before = _attentions(model)
    gone = [before[modules[path]] for path, _ in told if modules[path] in before]
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key in [key for key, hook in hooks.items() if isinstance(hook, _Step) and hook.at in gone]:
                del hooks[key]
    for path, setting in told:
        inside = [modules[p] for p in places if p != path and p.startswith(path and f"{path}.")]
        At(setting, path or "the model").install(modules[path], inside)
