"""One call for what others do with a trained model: Apex's ASP, TVM's BSR."""

import copy

from ..errors import ArgumentError
from ._channels import permute_channels_
from ._sparsifiers import NM
from ._weights import sparsify_


def prune_trained_model(model, optimizer=None, sparsifier=None, filter=None, permute=False, inputs=None):
    """Prunes a trained model to 2:4, in place, and returns it: weights store two of each four elements and 2 bits for each. The
    optimizer goes on with them, so that what was pruned stays so.

        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        stt.prune_trained_model(model, optimizer, permute=True)

    sparsifier : another one of n of m (stt.NM, stt.GroupedNM, stt.Wanda(n=2, m=4), stt.SparseGPT(n=2, m=4)).
    filter : which weights, as in stt.sparsify_. inputs : a batch, for the last two.
    permute : first looks for an order of the channels in which less is lost; see stt.permute_channels_.
    """
    sparsifier = sparsifier or NM(2, 4)
    n, m = getattr(sparsifier, "n", None), getattr(sparsifier, "m", None)
    if n is None or m is None:
        raise ArgumentError("a sparsifier of n of m", expected="stt.NM(2, 4) or its kin", got=repr(sparsifier))
    if permute:
        permute_channels_(model, sparsifier)
    return sparsify_(model, None, sparsifier, filter, inputs=inputs, optimizer=optimizer)


def convert(model, blocksize, sparsity_threshold=0.8, filter=None):
    """A copy of the model whose weights are stored in blocks (BSR) where at least the share `sparsity_threshold` of blocks is zero; the
    others stay dense, and stt.explain says why.

        model = stt.convert(torch.nn.Sequential(torch.nn.Linear(32, 32)), (16, 1), sparsity_threshold=0.8)

    filter : which weights, as in stt.sparsify_: those of nn.Linear without one."""
    r, c = blocksize
    return sparsify_(copy.deepcopy(model), f"BSR({r}, {c})", filter=filter, min_sparsity=sparsity_threshold)
