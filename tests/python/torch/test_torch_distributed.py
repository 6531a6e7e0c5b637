"""Two processes with half of each batch train as one does with the whole: values, gradients and patterns."""

import subprocess
import sys
import textwrap

import pytest

torch = pytest.importorskip("torch")

TRAIN = textwrap.dedent("""
    import torch
    from torch import nn
    import strata.torch as stt

    def train(rank, world, wrap):
        torch.manual_seed(0)
        net = nn.Sequential(stt.nn.Linear(16, 24, density=0.3), nn.ReLU(), nn.Linear(24, 4)).double()
        model = wrap(net)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        updater = stt.PatternUpdater(net, optimizer, grow="gradient", every=2, drop_fraction=0.4)
        draw = torch.Generator().manual_seed(1)
        for _ in range(5):
            x = torch.randn(8, 16, generator=draw, dtype=torch.float64).chunk(world)[rank]
            y = torch.randn(8, 4, generator=draw, dtype=torch.float64).chunk(world)[rank]
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
            updater.step()
        return net[0].weight.detach().to_dense()
""")
WORKER = TRAIN + textwrap.dedent("""
    import os, sys
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rank, file, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.distributed.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
    torch.save(train(rank, 2, nn.parallel.DistributedDataParallel), f"{out}{rank}")
    torch.distributed.destroy_process_group()
""")


SHARDED = textwrap.dedent("""
    import torch
    from torch import nn
    import strata.torch as stt

    def network(seed):
        torch.manual_seed(seed)
        net = nn.Sequential(nn.TransformerEncoderLayer(16, 2, 9, dropout=0.0, batch_first=True), nn.Linear(16, 3)).double()
        stt.sparsify_(net, "CSR", stt.Random(0.3), filter="in_proj_weight|out_proj.weight|linear1.weight|^1")
        return net

    def train(net, rank, world, steps):
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
        draw = torch.Generator().manual_seed(1)
        for _ in range(steps):
            x = torch.randn(4, 3, 16, generator=draw, dtype=torch.float64).chunk(world)[rank]
            optimizer.zero_grad()
            net(x).square().mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
            optimizer.step()
        return net
""")
SHARD = SHARDED + textwrap.dedent("""
    import os, sys
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    rank, file, out = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.distributed.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)

    def sharded(seed):
        net = network(seed)
        mesh = init_device_mesh("cpu", (2,))
        for module in (*net, net):
            fully_shard(module, mesh=mesh)
        return net

    def whole(net):
        full = lambda x: x.full_tensor() if isinstance(x, torch.distributed.tensor.DTensor) else x
        return {name: full(x) for name, x in net.state_dict().items()}

    net = train(sharded(0), rank, 2, 3)
    sizes = [(len(p), len(p.to_local())) for name, p in net.named_parameters() if name.endswith("_values")]
    dcp.save(net.state_dict(), checkpoint_id=out + "checkpoint")
    again = sharded(0)
    state = again.state_dict()
    dcp.load(state, checkpoint_id=out + "checkpoint")
    again.load_state_dict(state)
    torch.save((sizes, whole(net), whole(again)), f"{out}{rank}")
    torch.distributed.destroy_process_group()
""")
pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch.distributed is not there")


def both(worker, folder):
    """What two processes have saved."""
    out = str(folder / "saved")
    processes = [
        subprocess.Popen([sys.executable, "-c", worker, str(rank), str(folder / "meet"), out], stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    for p in processes:
        _, said = p.communicate(timeout=600)
        assert p.returncode == 0, said.decode()[-2000:]
    return [torch.load(f"{out}{rank}") for rank in range(2)]


def test_data_parallel(tmp_path):
    one, two = both(WORKER, tmp_path)
    scope = {}
    exec(TRAIN, scope)
    want = scope["train"](0, 1, lambda net: net)
    assert torch.equal(one, two) and torch.equal(one != 0, want != 0)
    torch.testing.assert_close(one, want)


def test_fully_sharded(tmp_path):
    """FSDP2: each process keeps half of the stored values, also of an odd number of them."""
    scope = {}
    exec(SHARDED, scope)
    net = scope["train"](scope["network"](0), 0, 1, 3)
    parameters = {n: p for n, p in net.named_parameters() if n.endswith("_values")}
    total = [len(p) for p in parameters.values()]
    assert any(n % 2 for n in total)
    (sizes, one, again), (other, two, _) = both(SHARD, tmp_path)
    assert [n for n, _ in sizes] == total and [a[1] + b[1] for a, b in zip(sizes, other)] == total
    assert max(a[1] for a in sizes + other) <= (max(total) + 1) // 2
    for name, x in net.state_dict().items():
        torch.testing.assert_close(one[name], x)
        assert torch.equal(one[name], two[name]) and torch.equal(one[name], again[name])
