"""What the originals do for PyTorch models, over strata.torch."""

import torch

import strata.torch as stt


class TorchUST:
    """A torch.Tensor over a sparse tensor of any format: what `from_torch` gives is a strata.torch.Tensor."""

    @staticmethod
    def from_torch(tensor):
        """Of a dense or torch.sparse tensor, or of a strata.ust.Tensor, whose format it keeps."""
        inner = getattr(tensor, "tensor", None)
        if not isinstance(tensor, torch.Tensor) and inner is not None:
            return stt.from_strata(inner)
        return stt.from_torch(tensor)


def reformat_model(model, *, func=None):
    """Calls func(weight) for the weight of every nn.Linear, in place. What it returns, of TorchUST.from_torch or of torch.sparse,
    is the new weight; None leaves the old one. Without func the weights become COO."""
    func = func or (lambda weight: stt.from_torch(weight.detach(), "COO"))
    linear = {
        f"{path}.weight" if path else "weight"
        for path, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    stt.reformat_(model, lambda name, weight: func(weight) if name in linear else None)


def prune_model(model, *, local=True, amount=0.5):
    """Sets the share `amount` of the weights of all nn.Linear to zero, those of least magnitude: of each layer, or with
    local=False of all layers together. In place."""
    weights = [m.weight for m in model.modules() if isinstance(m, torch.nn.Linear)]
    with torch.no_grad():
        kept = [stt.Magnitude(1 - amount)(w) for w in weights]
        if not local and weights:
            joined = stt.Magnitude(1 - amount)(torch.cat([w.reshape(-1) for w in weights]))
            kept = [k.reshape(w.shape) for k, w in zip(joined.split([w.numel() for w in weights]), weights)]
        for weight, mask in zip(weights, kept):
            weight.mul_(mask)
