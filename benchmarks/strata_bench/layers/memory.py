"""How much memory training a layer takes, by a process that does nothing else."""

import gc
import pathlib
import re

from strata._timing.matrices import load

from .cases import QUICK, _dense, folder_of
from .peers import PEERS

#: what is trained: nine tenths are zeros; with AdamW, whose state is as large as two weights
WEIGHT, BATCH, STEPS = "4096-90", 256, 3


def peak(name, threads):
    """{"peak": bytes}: the most that the process had during some steps of AdamW, less what it had before the layer was made.
    A first small layer, which compiles what is compiled, does not count."""
    peer = PEERS[name][0](threads)
    _train(peer, folder_of(next(iter(QUICK)), quick=True), 1)
    gc.collect()
    before = _status("VmRSS")
    steps = _train(peer, folder_of(WEIGHT), 0)
    gc.collect()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew: making the layer does not count
    steps(STEPS)
    return {"peak": _status("VmHWM") - before}


def _train(peer, folder, now):
    a = load(folder)
    layer = peer.layer(a, peer.of_weight(a)[0])
    optimizer = peer.torch.optim.AdamW([layer.parameter])
    x, g = peer.tensor(_dense(BATCH, a.shape[1])).requires_grad_(), peer.tensor(_dense(BATCH, a.shape[0]))
    del a

    def steps(count):
        for _ in range(count):
            x.grad = None
            optimizer.zero_grad()
            layer.call(x).backward(g)
            optimizer.step()

    steps(now)
    return steps


def _status(field):
    """Of what Linux says of this process, in bytes."""
    text = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"{field}:\s+(\d+)", text)[1])
