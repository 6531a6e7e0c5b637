"""explain: which way each weight of a model went."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(8, 16)
        self.odd = nn.Linear(16, 16)
        self.unused = nn.Linear(16, 4)
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        x = self.first(x)
        return self.last(x @ self.odd.weight.t() + torch.logcumsumexp(self.odd.weight, 0).sum())


def model():
    m = stt.sparsify_(Model(), "BSR(4, 4)", stt.Magnitude(0.25, (4, 4)), filter="first.weight")
    stt.sparsify_(m, "CSR", stt.Magnitude(0.5), filter="odd|unused")
    return stt.sparsify_(m, "CSR", stt.Magnitude(0.5), filter="last", min_sparsity=0.9)


@pytest.mark.parametrize("train", [True, False])
def test_a_model(train):
    m, x = model().train(train), torch.randn(3, 8)
    found = stt.explain(m, x)
    weights = {w.name: w for w in found.weights}
    assert list(weights) == ["first.weight", "odd.weight", "unused.weight", "last.weight"]
    (site,) = weights["first.weight"].sites
    assert (site.module, site.sparse, site.why) == ("first", True, "generated code")
    assert (weights["first.weight"].format, weights["first.weight"].stored) == ("BSR(4, 4)", 0.25)
    assert [(s.operator, s.sparse) for s in weights["odd.weight"].sites] == [("matmul", True), ("logcumsumexp", False)]
    assert weights["unused.weight"].sites == () and weights["last.weight"].format is None
    text = str(found)
    assert "0.5 asks" not in text and "stays dense: 50.0 % would be absent, min_sparsity=0.9 asks for more" in text
    assert "logcumsumexp: on a dense copy (no sparse form)" in text and "not used" in text and repr(found) == text


def test_nothing_is_left_behind():
    """Products go the short way again, and the result and the counts are those of an ordinary call."""
    m, x = model(), torch.randn(3, 8)
    want, before = m(x), stt.densified["logcumsumexp"]
    seen = []
    m.register_forward_hook(lambda module, inputs, y: seen.append(y))
    stt.explain(m, x)
    assert torch.equal(seen[0], want) and stt.densified["logcumsumexp"] == before + 1
    assert not torch.nn.modules.module._global_forward_hooks and not torch._C._len_torch_dispatch_stack()
    with pytest.raises(RuntimeError):
        stt.explain(m, torch.randn(3, 9).unsqueeze(0) @ torch.ones(2, 2))
    assert not torch.nn.modules.module._global_forward_hooks and not torch._C._len_torch_dispatch_stack()


def test_any_function_of_sparse_tensors():
    A = stt.from_torch(torch.eye(4))
    found = stt.explain(lambda x: torch.tanh(A) @ x + torch.logcumsumexp(A, 0), torch.ones(4, 4))
    assert [str(s) for w in found.weights for s in w.sites] == [
        "tanh: sparse",
        "matmul: sparse (csr_product)",
        "logcumsumexp: on a dense copy (no sparse form)",
    ]


def test_weights_that_share_a_pattern_or_are_tied():
    m = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4))
    m[2].weight = m[0].weight
    eye = stt.from_torch(torch.eye(4))
    stt.reformat_(m, lambda name, w: stt.Tensor(w.diagonal().clone(), eye.pattern))
    assert m[2].weight_values is m[0].weight_values and m[1].weight.pattern is m[0].weight.pattern
    assert [len(w.sites) for w in stt.explain(m, torch.ones(1, 4)).weights] == [1, 1, 1]
