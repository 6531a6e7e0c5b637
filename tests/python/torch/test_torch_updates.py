"""Patterns that change while training: what goes, what grows, and that optimizers follow."""

import copy
import math
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402


def model(density=0.3, format="CSR", **how):
    torch.manual_seed(0)
    return nn.Sequential(stt.nn.Linear(16, 24, density=density, format=format, **how), nn.ReLU(), nn.Linear(24, 4))


def train(net, optimizer, updater, steps, seed=1):
    changed = 0
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        x, y = torch.randn(8, 16, generator=draw), torch.randn(8, 4, generator=draw)
        optimizer.zero_grad()
        (net(x) - y).square().mean().backward()
        optimizer.step()
        changed += updater.step()
    return changed


def mask(layer):
    return layer.weight.pattern.scatter(torch.ones(layer.weight.pattern.num_values)) > 0


@pytest.mark.parametrize("grow", ["random", "gradient"])
@pytest.mark.parametrize("format", ["CSR", "COO", "CSC", "ELL", "bitmap"])
def test_as_many_weights_go_as_grow(grow, format):
    net = model(format=format)
    optimizer = torch.optim.Adam(net.parameters())
    updater = stt.PatternUpdater(net, optimizer, grow=grow, every=3, drop_fraction=0.4)
    before, parameter = mask(net[0]), net[0].weight_values
    assert train(net, optimizer, updater, 3) == 1
    after = mask(net[0])
    assert (
        after.sum() == before.sum()
        and net[0].weight_values is parameter
        and (format == "ELL" or net[0].weight.format == format)
    )
    assert (before & ~after).sum() == (~before & after).sum() > 0
    assert (net[0].weight.detach().to_dense()[~before & after] == 0).all()
    train(net, optimizer, updater, 6)


def test_what_goes_is_smallest_and_what_grows_has_the_largest_gradient():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    updater = stt.PatternUpdater(net, optimizer, grow="gradient", every=1, drop_fraction=0.5)
    before, weight = mask(net[0]), net[0].weight.detach().to_dense()
    dense = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
    dense[0].weight.data, dense[0].bias, dense[2] = weight.clone(), net[0].bias, net[2]
    x = torch.randn(8, 16)
    net(x).square().sum().backward()
    updater.step()
    dense(x).square().sum().backward()
    after, n = mask(net[0]), int(before.sum())
    kept = torch.zeros_like(before).view(-1)
    kept[(weight.abs() + before).view(-1).topk(n - round(0.5 * n)).indices] = True
    kept = kept.view_as(before)
    assert (after & kept).sum() == kept.sum()
    grown = after & ~kept
    rest = torch.where(kept, -1, dense[0].weight.grad.abs())
    assert rest[grown].min() >= rest[~grown & ~kept].max()


def test_momentum_stays_with_its_weight():
    """Of another library 1,122 of 1,614 went to a neighbour."""
    net = model()
    optimizer = torch.optim.Adam(net.parameters())
    updater = stt.PatternUpdater(net, optimizer, every=5, drop_fraction=0.3)
    train(net, optimizer, updater, 4)
    pattern, state = net[0].weight.pattern, optimizer.state[net[0].weight_values]
    old = {k: pattern.scatter(state[k]) for k in ("exp_avg", "exp_avg_sq")}
    weight = net[0].weight.detach().to_dense()
    there = mask(net[0])
    updater.steps = 4
    updater.step()
    stays = there & mask(net[0])
    for k, before in old.items():
        now = net[0].weight.pattern.scatter(state[k])
        assert torch.equal(now[stays], before[stays]) and (now[mask(net[0]) & ~there] == 0).all()
    assert torch.equal(net[0].weight.detach().to_dense()[stays], weight[stays])


def test_density_follows_its_schedule():
    net = model(density=1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    updater = stt.PatternUpdater(net, optimizer, density=stt.cubic_density(1.0, 0.1, 20), grow=None, every=5)
    seen = []
    for _ in range(5):
        train(net, optimizer, updater, 5)
        seen.append(net[0].weight.nse / 384)
    want = [stt.cubic_density(1.0, 0.1, 20)(s) for s in (5, 10, 15, 20, 25)]
    assert seen == pytest.approx(want, abs=2 / 384) and seen[-1] == pytest.approx(0.1, abs=2 / 384)
    assert stt.linear_density(1, 0, 4)(1) == 0.75 and stt.constant_density(0.5)(9) == 0.5


def test_blocks_go_and_grow_whole():
    net = model(density=0.25, format=None, block_shape=(4, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    updater = stt.PatternUpdater(net, optimizer, every=1, drop_fraction=0.5)
    n = net[0].weight.nse
    train(net, optimizer, updater, 4)
    blocks = mask(net[0]).view(6, 4, 4, 4).permute(0, 2, 1, 3).reshape(24, 16).sum(1)
    assert net[0].weight.nse == n and set(blocks.tolist()) == {0, 16}


def in_groups(mask, dim, m):
    return mask.movedim(dim, -1).unflatten(-1, (-1, m)).sum(-1)


@pytest.mark.parametrize("grow", ["random", "gradient"])
@pytest.mark.parametrize("sparsifier", [stt.NM(2, 4), stt.NM(1, 8), stt.GroupedNM(1, 4, 8)])
def test_n_of_m_stay_n_of_m(grow, sparsifier):
    torch.manual_seed(0)
    net = stt.sparsify_(nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4)), None, sparsifier, filter="0")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0, momentum=0.9)
    updater = stt.PatternUpdater(net, optimizer, grow=grow, every=1, drop_fraction=0.25)
    before, weight, format = mask(net[0]), net[0].weight.detach().to_dense(), net[0].weight.format
    dense = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 4))
    dense[0].weight.data, dense[0].bias, dense[2] = weight.clone(), net[0].bias, net[2]
    draw = torch.Generator().manual_seed(1)
    x, y = torch.randn(8, 16, generator=draw), torch.randn(8, 4, generator=draw)
    (dense(x) - y).square().mean().backward()
    assert train(net, optimizer, updater, 1) == 1
    after, rows = mask(net[0]), getattr(sparsifier, "g", 1)
    assert net[0].weight.format == format and (in_groups(after, 1, sparsifier.m) == sparsifier.n).all()
    assert torch.equal(after, after.view(-1, rows, 16)[:, :1].expand(-1, rows, -1).reshape(24, 16))  # groups alike
    gone, grown = before & ~after, after & ~before
    assert gone.sum() == grown.sum() > 0 and (net[0].weight.detach().to_dense()[grown] == 0).all()
    size = weight.abs().view(-1, rows, 16).sum(1)
    gone, before, grown, after = (x.view(-1, rows, 16)[:, 0] for x in (gone, before, grown, after))
    assert gone.sum() <= 0.25 * before.sum() + 1
    if grow == "gradient":
        rest = dense[0].weight.grad.abs().view(-1, rows, 16).sum(1)
        smallest = torch.where(grown, rest, torch.inf).unflatten(1, (-1, sparsifier.m)).amin(-1)
        largest = torch.where(after, -torch.inf, rest).unflatten(1, (-1, sparsifier.m)).amax(-1)
        assert (smallest >= largest).all()
    # what stays is larger than what went, but for what came back
    assert size[gone].max() <= size[before].quantile(0.3)


def test_n_of_m_of_a_convolution_and_of_a_ragged_weight():
    torch.manual_seed(0)
    for module, x in ((nn.Conv2d(6, 4, 3), torch.randn(2, 6, 5, 5)), (nn.Linear(10, 6), torch.randn(3, 10))):
        net = stt.sparsify_(nn.Sequential(module), None, stt.NM(2, 4), filter="weight")
        updater = stt.PatternUpdater(net, torch.optim.SGD(net.parameters(), 0.1), grow="gradient", every=1)
        stored, pattern = net[0].weight.nse, net[0].weight.pattern
        for _ in range(3):
            net(x).square().sum().backward()
            updater.optimizer.step()
            updater.step()
            whole = mask(net[0])
            extent = whole.shape[1] // 4 * 4
            assert (in_groups(whole[:, :extent], 1, 4) == 2).all() and (whole[:, extent:].sum(1) == 2).all()
        assert net[0].weight.nse == stored and net[0].weight.pattern != pattern


@pytest.mark.parametrize("how", [dict(grow=None), dict(density=0.25)])
def test_n_of_m_neither_grows_nor_shrinks(how):
    net = stt.sparsify_(nn.Sequential(nn.Linear(16, 24)), None, stt.NM(2, 4))
    with pytest.raises(st.ArgumentError, match="n of each m"):
        stt.PatternUpdater(net, None, every=1, **how).step()


class MaskedRigL:
    """RigL as its paper has it, over dense weights and masks: Evci, Gale, Menick, Castro, Elsen, ICML 2020."""

    def __init__(self, net, masks, share, every, stop):
        self.net, self.masks, self.share, self.every, self.stop, self.t = net, masks, share, every, stop, 0

    def hide(self):
        """Weights, gradients and momentum where nothing is stored."""
        for layer, there in self.masks.items():
            layer.weight.data *= there
            if layer.weight.grad is not None:
                layer.weight.grad *= there

    def step(self, optimizer):
        gradients = {layer: layer.weight.grad.clone() for layer in self.masks}
        self.hide()
        optimizer.step()
        self.t += 1
        if self.t % self.every or self.t >= self.stop:
            return
        share = self.share / 2 * (1 + math.cos(math.pi * self.t / self.stop))
        for layer, there in self.masks.items():
            weight, momentum = layer.weight.data, optimizer.state[layer.weight]["momentum_buffer"]
            n = int(there.sum())
            kept = n - round(share * n)
            stays = torch.zeros_like(there).view(-1)
            stays[torch.where(there, weight.abs(), -1).view(-1).topk(kept).indices] = True
            new = stays.clone()
            new[torch.where(stays, -1, gradients[layer].abs().view(-1)).topk(n - kept).indices] = True
            new = new.view_as(there)
            weight[~(new & there)] = 0
            momentum[~(new & there)] = 0
            self.masks[layer] = new


def test_rigl_is_that_of_the_paper():
    """Step for step: weights, momentum, patterns, over updates whose share falls."""
    torch.manual_seed(0)
    net = nn.Sequential(
        stt.nn.Linear(16, 24, density=0.3), nn.Tanh(), stt.nn.Linear(24, 12, density=0.2), nn.Tanh(), nn.Linear(12, 4)
    ).double()
    dense = nn.Sequential(nn.Linear(16, 24), nn.Tanh(), nn.Linear(24, 12), nn.Tanh(), nn.Linear(12, 4)).double()
    with torch.no_grad():
        for a, b in zip(net, dense):
            if isinstance(a, nn.Linear):
                b.weight.copy_(a.weight.to_dense() if isinstance(a.weight, stt.Tensor) else a.weight)
                b.bias.copy_(a.bias)
    theirs = MaskedRigL(dense, {dense[k]: mask(net[k]) for k in (0, 2)}, share=0.3, every=4, stop=21)
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9) for m in (net, dense)]
    updater = stt.PatternUpdater(net, optimizers[0], grow="gradient", drop_fraction=0.3, every=4, stop=21)
    draw, patterns = torch.Generator().manual_seed(1), set()
    for _ in range(30):
        x, y = (torch.randn(8, n, generator=draw, dtype=torch.float64) for n in (16, 4))
        losses = []
        for m, optimizer in zip((net, dense), optimizers):
            optimizer.zero_grad()
            losses.append((m(x) - y).square().mean())
            losses[-1].backward()
        optimizers[0].step()
        updater.step()
        theirs.step(optimizers[1])
        torch.testing.assert_close(*losses)
        for k in (0, 2):
            assert torch.equal(mask(net[k]), theirs.masks[dense[k]])
            torch.testing.assert_close(net[k].weight.detach().to_dense(), dense[k].weight.detach())
            patterns.add(net[k].weight.pattern)
    assert len(patterns) >= 2 * 4  # most updates change something


def test_goes_on_after_saving():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    updater = stt.PatternUpdater(net, optimizer, every=2, drop_fraction=0.5, seed=3)
    train(net, optimizer, updater, 3)
    saved = copy.deepcopy((net.state_dict(), optimizer.state_dict(), updater.state_dict()))
    train(net, optimizer, updater, 3, seed=2)
    other = model(density=0.5)
    again = torch.optim.SGD(other.parameters(), lr=0.1, momentum=0.9)
    other.load_state_dict(saved[0])
    again.load_state_dict(saved[1])
    updates = stt.PatternUpdater(other, again, every=2, drop_fraction=0.5)
    updates.load_state_dict(saved[2])
    train(other, again, updates, 3, seed=2)
    assert other[0].weight.pattern == net[0].weight.pattern and torch.equal(
        other[0].weight_values, net[0].weight_values
    )


def test_a_graph_from_before_is_an_error():
    """Of another library the gradients were silently wrong."""
    net = model()
    updater = stt.PatternUpdater(net, None, every=1)
    y = net(torch.randn(2, 16))
    updater.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_evaluation_is_not_listened_to():
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    updater = stt.PatternUpdater(net, optimizer, grow="gradient", every=1)
    net.eval()
    net(torch.randn(2, 16)).sum().backward()
    before = net[0].weight.pattern
    updater.step()
    assert net[0].weight.pattern == before


def test_a_copied_model_knows_no_updater():
    net = model()
    updater = stt.PatternUpdater(net, torch.optim.SGD(net.parameters(), lr=0.1), grow="gradient", every=1)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        other(torch.randn(2, 16)).sum().backward()
        assert isinstance(other[0].weight, stt.Tensor) and other[0].weight_values.grad is not None
    assert not updater._gradients


def test_what_is_meant_otherwise():
    with pytest.raises(st.Error, match="grow"):
        stt.PatternUpdater(model(), None, grow="rigl")
