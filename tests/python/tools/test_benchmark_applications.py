"""benchmarks/applications.py: all that is timed computes the same, at small sizes."""

import pathlib
import runpy

import pytest

torch = pytest.importorskip("torch")
SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "applications.py"
SMALL = {
    "graph": dict(nodes=60, edges=200, features=8),
    "layer": dict(inputs=24, outputs=16, batch=5),
    "recommender": dict(users=30, items=20, width=4, density=0.2),
    "pruned": dict(rows=40, columns=30),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("job", ["graph", "layer, forward", "layer, trained", "recommender", "pruned"])
def test_peers_agree(job, monkeypatch):
    script = runpy.run_path(str(SCRIPT))
    script["graph"].__globals__["optional"] = lambda name: None  # torch alone
    name = job.partition(",")[0]
    given = (job.endswith("trained"),) if name == "layer" else ()
    torch.manual_seed(0)
    entries = dict(script[name](*given, **SMALL[name]))
    want = entries.pop("strata")().detach().to_dense()
    assert want.numel() and len(entries) >= 2
    for f in entries.values():
        torch.testing.assert_close(f().detach().to_dense(), want, rtol=1e-4, atol=1e-4)
