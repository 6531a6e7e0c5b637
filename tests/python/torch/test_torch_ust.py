"""The blog's way to sparse models: its snippet runs with only the import changed."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.ust import Tensor, TorchUST, prune_model, reformat_model  # noqa: E402


class Network(nn.Module):
    """Linear layers, attention and a convolution, as in the models of the blog."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, 4)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)
        self.head = nn.Linear(32, 10)

    def forward(self, images):
        return self.head(self.block(self.patches(images).flatten(2).transpose(1, 2)).mean(1))


@pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning", "ignore:Sparse")
def test_reformat_model():
    torch.manual_seed(0)
    model = Network().eval()
    prune_model(model, local=True, amount=0.8)
    dense, batch = copy.deepcopy(model), torch.randn(2, 3, 16, 16)

    def reformat(weight):
        if weight.numel() < 1000:
            return None
        return TorchUST.from_torch(weight.to_sparse_csr())

    reformat_model(model, func=reformat)
    with torch.inference_mode():
        prediction = model(batch)
    torch.testing.assert_close(prediction, dense(batch))
    assert isinstance(model.block.linear1.weight, stt.Tensor) and isinstance(model.head.weight, nn.Parameter)
    assert model.block.linear1.weight.nse == round(0.2 * 32 * 64)
    reformat_model(model := copy.deepcopy(dense))
    assert model.head.weight.format == "COO"
    torch.testing.assert_close(model(batch), dense(batch))


def test_prune_model_over_all_layers():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[1].weight.data *= 1000
    prune_model(model, local=False, amount=0.5)
    assert model[0].weight.count_nonzero() == 0 and model[1].weight.count_nonzero() == 64


def test_universal_sparse_tensors_become_torchs():
    A = np.diag([1.0, 2, 3])
    U = Tensor.from_package(torch.from_numpy(A))
    assert torch.equal(TorchUST.from_torch(U) @ torch.ones(3, dtype=torch.float64), torch.tensor([1.0, 2, 3]).double())
