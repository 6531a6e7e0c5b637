"""What loops of training do with a model: every optimizer, averages of weights, activations computed again, sums of
gradients. Each beside the masked dense model."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn  # noqa: E402
from torch.utils.checkpoint import checkpoint, checkpoint_sequential  # noqa: E402

import strata.torch as stt  # noqa: E402

OPTIMIZERS = {
    "ASGD": dict(lr=0.1, t0=1),
    "Adadelta": dict(),
    "Adafactor": dict(lr=0.01, eps=(0.0, 1e-3), d=1e9),
    "Adagrad": dict(lr=0.01, fused=True),
    "Adam": dict(lr=0.01, amsgrad=True),
    "AdamW": dict(lr=0.01, foreach=True),
    "Adamax": dict(lr=0.01),
    "LBFGS": dict(lr=0.1, history_size=3, max_iter=4),
    "NAdam": dict(lr=0.01),
    "RAdam": dict(lr=0.01, decoupled_weight_decay=True, weight_decay=0.1),
    "RMSprop": dict(lr=0.01, centered=True, momentum=0.5),
    "Rprop": dict(lr=0.01),
    "SGD": dict(lr=0.1, fused=True),
}
NOT_FOR_VALUES = {"SparseAdam", "Muon"}  # for torch.sparse gradients; for matrices alone, as torch says itself


def pair(format="CSR", sparsifier=None):
    """A model with sparse weights, the dense one with the same elements, and the masks of its weights."""
    torch.manual_seed(0)
    # (A bias before a batch norm would have gradients of rounding errors alone.)
    make = lambda: nn.Sequential(nn.Linear(32, 48, bias=False), nn.BatchNorm1d(48), nn.GELU(), nn.Linear(48, 16))  # noqa: E731
    dense = make()
    sparse = make()
    sparse.load_state_dict(dense.state_dict())
    stt.sparsify_(sparse, format, sparsifier or stt.Magnitude(0.3), filter=r"[03]\.weight")
    masks = {}
    for k in (0, 3):
        masks[k] = sparse[k].weight.pattern.scatter(torch.ones(sparse[k].weight.pattern.num_values)).bool()
        dense[k].weight.data *= masks[k]
    return sparse, dense, masks


def mask_gradients(model, masks):
    for k, mask in masks.items():
        model[k].weight.grad *= mask


def assert_same(sparse, dense, masks, atol=1e-5):
    for k, mask in masks.items():
        torch.testing.assert_close(
            sparse[k].weight.detach().to_dense(), dense[k].weight.detach() * mask, rtol=1e-4, atol=atol
        )
    for ours, theirs in ((sparse[1].weight, dense[1].weight), (sparse[3].bias, dense[3].bias)):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=atol)


def train(sparse, dense, masks, make, steps=3, after=lambda: None):
    generator = torch.Generator().manual_seed(1)
    optimizers = make(sparse.parameters()), make(dense.parameters())
    for _ in range(steps):
        x, y = torch.randn(8, 32, generator=generator), torch.randn(8, 16, generator=generator)
        for model, optimizer in zip((sparse, dense), optimizers):

            def closure():
                optimizer.zero_grad()
                loss = (model(x) - y).square().mean()
                loss.backward()
                if model is dense:
                    mask_gradients(model, masks)
                return loss

            optimizer.step(closure)
        after()


def test_no_optimizer_is_left_out():
    known = {n for n in vars(torch.optim) if isinstance(getattr(torch.optim, n), type)} - {"Optimizer"}
    assert known == set(OPTIMIZERS) | NOT_FOR_VALUES


@pytest.mark.parametrize("name", sorted(set(OPTIMIZERS) - {"Adafactor"}))
def test_every_optimizer(name):
    sparse, dense, masks = pair()
    train(sparse, dense, masks, lambda p: getattr(torch.optim, name)(p, **OPTIMIZERS[name]))
    # (LBFGS divides by differences of gradients, which have few digits left.)
    assert_same(sparse, dense, masks, atol=1e-4 if name == "LBFGS" else 1e-5)


def test_adafactor():
    """It scales by all elements of a weight and factors matrices: to it, stored values are one vector."""
    sparse, _, _ = pair()
    values = sparse[0].weight_values
    alone = nn.Parameter(values.detach().clone())
    ours, theirs = (torch.optim.Adafactor([p], **OPTIMIZERS["Adafactor"]) for p in (values, alone))
    for _ in range(3):
        sparse.zero_grad()
        sparse(torch.randn(8, 32)).square().sum().backward()
        alone.grad = values.grad.clone()
        ours.step(), theirs.step()
    assert torch.equal(values, alone)


@pytest.mark.parametrize("format", ["CSR", "BSR(4, 4)", "delta(4)"])
def test_averages_of_weights(format):
    """Exponential averages, and the one of SWA, whose batch norms are worked out again."""
    sparsifier = stt.Magnitude(0.3, (4, 4)) if format == "BSR(4, 4)" else None
    for how in (dict(multi_avg_fn=get_ema_multi_avg_fn(0.5)), dict(use_buffers=True), dict()):
        sparse, dense, masks = pair(format, sparsifier)
        averages = [AveragedModel(m, **how) for m in (sparse, dense)]
        adam = lambda p: torch.optim.Adam(p, lr=0.01)  # noqa: E731
        train(
            sparse,
            dense,
            masks,
            adam,
            after=lambda: [a.update_parameters(a_of) for a, a_of in zip(averages, (sparse, dense))],
        )
        ours, theirs = averages
        assert (
            isinstance(ours.module[0].weight, stt.Tensor)
            and ours.module[0].weight_values is not sparse[0].weight_values
        )
        assert not torch.equal(ours.module[0].weight_values, sparse[0].weight_values)
        assert_same(ours.module, theirs.module, masks)
        loader = [torch.randn(8, 32) for _ in range(2)]
        for average in averages:
            update_bn(loader, average)
        x = torch.randn(4, 32)
        torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-4, atol=1e-5)
        again = AveragedModel(pair(format, sparsifier)[0], **how)
        again.load_state_dict(ours.state_dict())
        assert torch.equal(again.eval()(x), ours(x)) and again.n_averaged == 3


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("format", ["CSR", "structured(2, 4)"])
def test_activations_are_computed_again(format, reentrant):
    sparse, _, _ = pair(format, stt.NM(2, 4))
    sparse = nn.Sequential(sparse[0], sparse[2], sparse[3])
    x = torch.randn(8, 32, requires_grad=True)
    results = []
    for run in (
        sparse,
        lambda x: checkpoint(sparse, x, use_reentrant=reentrant),
        lambda x: checkpoint_sequential(sparse, 2, x, use_reentrant=reentrant),
    ):
        sparse.zero_grad()
        x.grad = None
        y = run(x)
        y.square().sum().backward()
        results.append([y.detach(), x.grad] + [p.grad.clone() for p in sparse.parameters()])
    for one in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(one, results[0], strict=True))


def test_gradients_of_several_batches_add_up():
    sparse, dense, masks = pair()
    x = torch.randn(3, 8, 32)
    for model in (sparse, dense):
        for batch in x:
            (model.eval()(batch).square().mean() / 3).backward()
    mask_gradients(dense, masks)
    for k in masks:
        torch.testing.assert_close(sparse[k].weight.grad.to_dense(), dense[k].weight.grad)
    norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1) for m in (sparse, dense)]
    torch.testing.assert_close(*norms)
    for k in masks:
        torch.testing.assert_close(sparse[k].weight_values.grad, sparse[k].weight.pattern.gather(dense[k].weight.grad))


def test_autocast_and_scaled_losses():
    sparse, dense, masks = pair()
    for model in (sparse, dense):
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        torch.manual_seed(4)
        for _ in range(2):
            x = torch.randn(8, 32)
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(x).float().square().mean()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            if model is dense:
                mask_gradients(model, masks)
            scaler.step(optimizer)
            scaler.update()
    for k, mask in masks.items():
        assert sparse[k].weight_values.dtype == torch.float32
        torch.testing.assert_close(
            sparse[k].weight.detach().to_dense(), dense[k].weight.detach() * mask, rtol=2e-2, atol=2e-3
        )


def test_blocks_of_any_rectangle():
    """`min_sparsity` counts the blocks that the format would leave out."""
    weight = torch.ones(32, 8)
    weight[:16, :3] = 0  # three of sixteen blocks of 16 x 1
    weight[16:, 3] = 0  # and one
    for bound, there in ((0.25, True), (0.26, False)):
        model = nn.Sequential(nn.Linear(8, 32))
        model[0].weight.data = weight.clone()
        stt.sparsify_(model, "BSR(16, 1)", stt.KeepAll(), filter=r"0\.weight", min_sparsity=bound)
        assert isinstance(model[0].weight, stt.Tensor) == there
    model = nn.Sequential(nn.Linear(8, 32))
    x = torch.randn(4, 8)
    stt.sparsify_(model, "BSR(16, 1)", stt.Magnitude(0.5, (16, 1)), min_sparsity=0.5)
    assert model[0].weight.pattern.num_values == 128
    torch.testing.assert_close(model(x), nn.functional.linear(x, model[0].weight.to_dense(), model[0].bias))
