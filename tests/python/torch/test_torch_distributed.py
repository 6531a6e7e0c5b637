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


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch.distributed is not there")
def test_data_parallel(tmp_path):
    out = str(tmp_path / "weight")
    processes = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(rank), str(tmp_path / "meet"), out], stderr=subprocess.PIPE)
        for rank in range(2)
    ]
    for p in processes:
        _, said = p.communicate(timeout=120)
        assert p.returncode == 0, said.decode()[-2000:]
    one, two = (torch.load(f"{out}{rank}") for rank in range(2))
    scope = {}
    exec(TRAIN, scope)
    want = scope["train"](0, 1, lambda net: net)
    assert torch.equal(one, two) and torch.equal(one != 0, want != 0)
    torch.testing.assert_close(one, want)
