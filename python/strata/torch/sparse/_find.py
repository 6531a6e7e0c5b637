"""Where sparsity can be told: weights, outputs of modules, attention."""

import dataclasses

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from .._weights import read_densely, weights_of
from ._hooks import as_it_was
from ._rewrite import Attention


@dataclasses.dataclass(frozen=True)
class Place:
    """`kind`: "weight", "output" or "attention"; `path`: of the module; `leaf`: of the weight in it; shape, None where it varies."""

    kind: str
    path: str
    leaf: str = ""
    shape: tuple = None

    @property
    def name(self):
        """What s[name] finds."""
        last = {"weight": self.leaf, "output": "", "attention": "attn"}[self.kind]
        return ".".join(filter(None, (self.path, last)))


def weights(model):
    """Of every parameter of two or more dimensions, and every weight that is sparse already."""
    for path, module in model.named_modules():
        for name in read_densely(module):
            yield Place("weight", path, name, tuple(module._parameters[f"{name}_dense"].shape))
        read = {f"{name}_dense" for name in read_densely(module)}
        for name, p in module._parameters.items():
            if p is not None and p.dim() > 1 and name not in read:
                yield Place("weight", path, name, tuple(p.shape))
        for name, weight in weights_of(module).items():
            yield Place("weight", path, name, tuple(weight.shape))


def computed(model, args, kwargs):
    """Of the outputs of modules that are tensors, and of attention, in the order in which they are computed in one run, without
    gradients, in evaluation mode. Random numbers and modes stay as they were."""
    names = {id(module): path for path, module in model.named_modules()}
    stack, outputs, attentions = [], {}, {}

    def leave(module, _, output):
        stack.pop()
        if id(module) in names and isinstance(output, torch.Tensor) and output.is_floating_point():
            path = names[id(module)]
            outputs.setdefault(path, Place("output", path, "", tuple(output.shape)))

    def attend(q, k, v, *, bias, dropout_p, scale, is_causal):
        path = next((names[id(m)] for m in reversed(stack) if id(m) in names), "")
        attentions.setdefault(path, Place("attention", path))
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=bias, dropout_p=dropout_p, is_causal=is_causal, scale=scale
        )

    hooks = [
        register_module_forward_pre_hook(lambda module, _: stack.append(module)),
        register_module_forward_hook(leave),
    ]
    training = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), as_it_was(model), Attention(attend):
            model(*args, **kwargs)
    finally:
        for module, mode in training:
            module.training = mode
        for hook in hooks:
            hook.remove()
    yield from attentions.values()
    yield from (place for path, place in outputs.items() if path and path not in attentions)
