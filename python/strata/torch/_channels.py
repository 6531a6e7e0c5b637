"""An order of a model's channels in which n:m pruning keeps more (Pool and Yu, Channel Permutations for N:M Sparsity, 2021)."""

import functools
import itertools

import torch

from ..errors import ArgumentError
from ._elements import named
from ._sparsifiers import NM

#: what may stand between two layers: it treats all channels alike
_BETWEEN = (
    torch.nn.ReLU,
    torch.nn.ReLU6,
    torch.nn.LeakyReLU,
    torch.nn.GELU,
    torch.nn.SiLU,
    torch.nn.Mish,
    torch.nn.ELU,
    torch.nn.CELU,
    torch.nn.SELU,
    torch.nn.Tanh,
    torch.nn.Sigmoid,
    torch.nn.Hardswish,
    torch.nn.Softplus,
    torch.nn.Dropout,
    torch.nn.Identity,
)
_FUNCTIONS = set(
    named(*"relu relu6 leaky_relu gelu silu mish elu celu selu tanh sigmoid hardswish softplus dropout".split())
)


#: rows that the search looks at, and rows times pairs at once
ROWS, PAIRS = 256, 1 << 16


def permute_channels_(model, sparsifier, pairs=None, rounds=64):
    """Puts the channels between two linear layers in an order in which the sparsifier, an stt.NM or stt.GroupedNM, keeps more: the
    rows of one weight, its bias, and the columns of the next. What the model computes does not change. Returns the model.

        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
        stt.permute_channels_(model, stt.NM(2, 4))

    pairs : names of layers, [("0", "2")]; without them those that torch.fx finds with nothing but functions of elements between them, and
        linear1 and linear2 of torch's transformer layers.
    rounds : of the search, in each of which groups of m channels are dealt anew, two by two (m at most 4). It looks at 256 rows.
    """
    modules = dict(model.named_modules())
    for first, second in _pairs(model) if pairs is None else pairs:
        one, two = modules.get(first), modules.get(second)
        fits = isinstance(one, torch.nn.Linear) and isinstance(two, torch.nn.Linear)
        if not fits or one.out_features != two.in_features:
            raise ArgumentError(
                "channels stand between two linear layers",
                expected="names of nn.Linear, of which one reads what the other gives",
                got=f"{first!r}: {one}, {second!r}: {two}",
            )
        if "weight" not in one._parameters or "weight" not in two._parameters:
            continue  # sparse already
        with torch.no_grad():
            order = _order(one.weight.detach(), two.weight.detach(), sparsifier, rounds)
            one.weight.copy_(one.weight[order])
            if one.bias is not None:
                one.bias.copy_(one.bias[order])
            two.weight.copy_(two.weight[:, order])
    return model


def _pairs(model):
    found = []
    for path, module in model.named_modules():
        if isinstance(module, (torch.nn.TransformerEncoderLayer, torch.nn.TransformerDecoderLayer)):
            found.append((f"{path}.linear1".lstrip("."), f"{path}.linear2".lstrip(".")))
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Sequential):
            inside = [(f"{path}.{name}".lstrip("."), m) for name, m in module.named_children()]
            found += _in_a_row(inside)
    try:
        found += _traced(model)
    except Exception:  # noqa: BLE001, S110 - whatever a model does that fx cannot follow
        pass
    shared = {}
    for name, module in model.named_modules(remove_duplicate=False):
        shared.setdefault(id(module), []).append(name)
    once = {name for names in shared.values() if len(names) == 1 for name in names}
    return [pair for pair in dict.fromkeys(found) if set(pair) <= once]


def _in_a_row(named_modules):
    before = None
    for name, module in named_modules:
        if isinstance(module, torch.nn.Linear):
            if before is not None:
                yield before, name
            before = name
        elif not isinstance(module, _BETWEEN):
            before = None


def _traced(model):
    modules = dict(model.named_modules())
    for node in torch.fx.symbolic_trace(model).graph.nodes:
        if node.op != "call_module" or not isinstance(modules[node.target], torch.nn.Linear):
            continue
        at = node.args[0]
        while isinstance(at, torch.fx.Node) and len(at.users) == 1:
            module = modules.get(at.target) if at.op == "call_module" else None
            if isinstance(module, torch.nn.Linear):
                yield at.target, node.target
                break
            if not (isinstance(module, _BETWEEN) or at.op == "call_function" and at.target in _FUNCTIONS):
                break
            at = at.args[0]


def _order(one, two, sparsifier, rounds):
    order = torch.arange(len(one))
    if hasattr(sparsifier, "g"):
        return _alike(one, sparsifier, order)
    return _swapped(two.abs(), sparsifier, order, rounds)


def _alike(one, sparsifier, order):
    """Rows that want the same inputs come together: to the heaviest row that is left, those which lose least by its mask. The order
    as it was, where that keeps more."""
    alone = NM(sparsifier.n, sparsifier.m)(one)
    size = one.abs()
    share = size @ alone.to(size.dtype).t() / size.sum(1, keepdim=True).clamp(min=1e-30)  # of a row, by another's mask
    left, found = torch.ones(len(one), dtype=torch.bool), []
    for seed in (size * alone).sum(1).argsort(descending=True).tolist():
        if left[seed]:
            gain = torch.where(left, share[:, seed], -1)
            gain[seed] = 2
            group = gain.topk(min(sparsifier.g, int(left.sum()))).indices
            left[group] = False
            found.append(group)
    found = torch.cat(found)
    keeps = lambda o: float((size[o] * sparsifier(one[o])).sum())  # noqa: E731
    return found if keeps(found) > keeps(order) else order


def _swapped(size, sparsifier, order, rounds):
    """Pairs of groups of m columns are dealt anew, each in the best of all ways. In a round each group has another partner, as in a
    tournament."""
    n, m = sparsifier.n, sparsifier.m
    if size.shape[1] % m or m > 4:
        return order
    groups, ways = order.reshape(-1, m).clone(), _ways(m)
    columns = size[:: -(-len(size) // ROWS)].t().contiguous()
    turn = [*range(len(groups)), *[-1] * (len(groups) % 2)]
    for _ in range(min(rounds, len(turn) - 1)):
        pairs = torch.tensor([p for p in zip(turn[: len(turn) // 2], reversed(turn)) if -1 not in p])
        for some in pairs.split(max(PAIRS // columns.shape[1], 1)):
            both = groups[some].reshape(len(some), 2 * m)
            worth = _worth(columns[both.t()], n, ways)
            best = worth.argmax(0)
            best = torch.where(worth.amax(0) > worth[0] * (1 + 1e-6), best, 0)
            groups[some] = both[torch.arange(len(some))[:, None], torch.tensor(ways)[best].flatten(1)].reshape(-1, 2, m)
        turn = [turn[0], turn[-1], *turn[1:-1]]
    return groups.reshape(-1)


def _worth(columns, n, ways):
    """What is kept of pairs of groups by each way of dealing them. columns: (2 m, pairs, rows). The n largest of a group are those of
    its subsets of n whose sum is largest: whole arrays are compared, and nothing is sorted."""
    sums = {c: sum(columns[k] for k in c) for c in itertools.combinations(range(len(columns)), n)}
    kept = lambda half: functools.reduce(torch.maximum, [sums[c] for c in itertools.combinations(half, n)]).sum(-1)  # noqa: E731
    return torch.stack([kept(one) + kept(two) for one, two in ways])


def _ways(m):
    """All ways to deal 2 m things into two halves, the one that they are in first."""
    every = range(2 * m)
    first = [(0, *rest) for rest in itertools.combinations(every[1:], m - 1)]
    return [(one, tuple(k for k in every if k not in one)) for one in first]
