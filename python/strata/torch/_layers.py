"""What a sparsifier wants to know of a layer, and weights that are chosen anew in each forward pass."""

import torch
from torch.nn.utils import parametrize

from ..errors import ArgumentError
from ._sparsify import sparsify


def grams(model, modules, inputs):
    """{module: {"gram": the inputs' products with each other, summed over all rows}} of the linear layers among `modules`, from one
    run of the model. ArgumentError without inputs."""
    if inputs is None:
        raise ArgumentError(
            "the sparsifier wants to know what the layers read",
            expected="sparsify_(..., inputs=a batch of the model's inputs)",
            got="none",
        )
    found, hooks = {}, []

    def listen(module, args):
        x = args[0].detach().reshape(-1, args[0].shape[-1])
        x = x if x.dtype == torch.float64 else x.float()
        gram = x.t() @ x
        before = found.setdefault(module, {"gram": torch.zeros_like(gram)})
        before["gram"] += gram

    for module in modules:
        hooks.append(module.register_forward_pre_hook(listen))
    training = model.training
    try:
        with torch.no_grad():
            model.eval()(*inputs if isinstance(inputs, tuple) else (inputs,))
    finally:
        model.train(training)
        for hook in hooks:
            hook.remove()
    for module in modules:
        if module not in found:
            raise ArgumentError(
                "a layer was not called", expected="inputs that reach every layer", got=f"none for {module}"
            )
    return found


class Recomputed(torch.nn.Module):
    """A parametrization: of a dense weight, what a sparsifier keeps now."""

    def __init__(self, sparsifier, format, grad):
        super().__init__()
        self.sparsifier, self.format, self.grad = sparsifier, format, grad

    def forward(self, weight):
        """The sparse weight; while torch.compile looks on, a dense one with zeros."""
        format = None if torch.compiler.is_compiling() else self.format
        return sparsify(weight, self.sparsifier, format, grad=self.grad)


def recomputed_(module, name, sparsifier, format, grad):
    """From here on module.<name> is computed from the dense Parameter whenever it is read."""
    parametrize.register_parametrization(module, name, Recomputed(sparsifier, format, grad), unsafe=True)


def settled_(model, wanted):
    """Weights that were recomputed are dense Parameters again, where wanted(name, module)."""
    for path, module in list(model.named_modules()):
        for name, steps in dict(getattr(module, "parametrizations", {})).items():
            full = f"{path}.{name}" if path else name
            if any(isinstance(step, Recomputed) for step in steps) and wanted(full, module):
                parametrize.remove_parametrizations(module, name, leave_parametrized=False)
