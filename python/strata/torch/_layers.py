"""What sparsifiers want to know of a model's layers, and weights that are chosen anew in each forward pass."""

import torch

from ..errors import ArgumentError, Unsupported
from ._sparsifiers import Sparsifier
from ._sparsify import kept


def own(model, weights, sparsifier, inputs):
    """[(sparsifier, site)] for each of [(module, weight)] that one sparsifier prunes: where its scope is global they are compared, and
    the site tells what the layer reads, where it wants to know. inputs: see arguments()."""
    if not isinstance(sparsifier, Sparsifier):
        return [(sparsifier, {})] * len(weights)
    sites = grams(model, {module for module, _ in weights}, inputs) if "gram" in sparsifier.wants else {}
    each = sparsifier.over([weight.detach() for _, weight in weights])
    return [(one, sites.get(module, {})) for one, (module, _) in zip(each, weights)]


def arguments(inputs):
    """(args, kwargs) of a call of a model: of a tensor, a tuple of arguments or a dictionary of keywords."""
    if isinstance(inputs, dict):
        return (), inputs
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def grams(model, modules, inputs):
    """{module: {"gram": the inputs' products with each other, summed over all rows}} of the linear layers among `modules`, from one
    run of the model. ArgumentError without inputs, Unsupported for other layers."""
    if inputs is None:
        raise ArgumentError(
            "the sparsifier wants to know what the layers read",
            expected="sparsify_(..., inputs=a batch of the model's inputs), create_schedule(model, inputs)",
            got="none",
        )
    for module in modules:
        if not isinstance(module, torch.nn.Linear):
            raise Unsupported(
                "of this layer nobody knows which input meets which weight",
                expected="weights of nn.Linear",
                got=type(module).__name__,
                fix="filter=, or stt.sparsify(weight, sparsifier, inputs=...)",
            )
    found, hooks = {}, []

    def listen(module, args, kwargs):
        x = (*args, *kwargs.values())[0].detach()
        x = x.to_dense().reshape(-1, x.shape[-1])
        x = x if x.dtype == torch.float64 else x.float()
        gram = x.t() @ x
        before = found.setdefault(module, {"gram": torch.zeros_like(gram)})
        before["gram"] += gram

    for module in modules:
        hooks.append(module.register_forward_pre_hook(listen, with_kwargs=True))
    training = [(module, module.training) for module in model.modules()]
    args, kwargs = arguments(inputs)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            model.eval()(*args, **kwargs)
    finally:
        for module, mode in training:
            module.training = mode
        for hook in hooks:
            hook.remove()
    for module in modules:
        if module not in found:
            raise ArgumentError(
                "a layer was not called", expected="inputs that reach every layer", got=f"none for {module}"
            )
    return found


class Chosen:
    """What a module reads in the place of a dense weight: what a sparsifier keeps of it now."""

    def __init__(self, sparsifier, format, grad=None):
        self.sparsifier, self.format, self.grad = sparsifier, format, grad

    def __call__(self, weight):
        return kept(weight, self.sparsifier, self.format, self.grad)

    def unchosen(self):
        """What stays to be done with the weight where it is chosen no longer: nothing."""
        return None
