"""Sparse tensors in files, in shared memory, and in batches of a DataLoader."""

import multiprocessing

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Dataset, default_collate  # noqa: E402

import strata.torch as stt  # noqa: E402

FORMATS = ["CSR", "CSC", "COO", "DCSR", "ELL", "delta(4)", "bitmap", "DIA", "dense", "BSR(2, 2)", "BSR(3, 4)"]


class Samples(Dataset):
    """Sample k stores k + 1 elements."""

    def __init__(self, text="CSR"):
        self.text = text

    def __len__(self):
        return 5

    def __getitem__(self, k):
        return {"x": stt.from_torch(torch.diag((torch.arange(6) <= k) * (k + 2.0)), self.text), "y": k}


def batches(**options):
    with stt.strict():
        return [(b["x"], b["y"]) for b in DataLoader(Samples(), 2, **options)]


@pytest.mark.parametrize("text", FORMATS)
def test_samples_of_unequal_size_make_a_batch(text):
    batch = default_collate([Samples(text)[k] for k in range(4)])["x"]
    assert isinstance(batch, stt.Tensor) and batch.shape == (4, 6, 6)
    for k in range(4):
        assert torch.equal(batch.to_dense()[k], Samples()[k]["x"].to_dense())


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_workers(context):
    workers = {} if context is None else {"num_workers": 1 + (context == "fork"), "multiprocessing_context": context}
    got = batches(**workers)
    assert [y.tolist() for _, y in got] == [[0, 1], [2, 3], [4]] and [x.nse for x, _ in got] == [3, 7, 5]
    for x, y in got:
        assert isinstance(x, stt.Tensor) and x.is_shared() == (context is not None)
        for one, k in zip(x.to_dense(), y):
            assert torch.equal(one, Samples()[k]["x"].to_dense())
        torch.testing.assert_close(x[0] @ torch.ones(6), x.to_dense()[0].sum(1))


def zero(A):
    A.values().zero_()


def test_shared_memory():
    A = stt.from_torch(torch.eye(3), "CSR")
    assert not A.is_shared() and A.share_memory_() is A and A.is_shared()
    torch.testing.assert_close(A @ torch.ones(3), torch.ones(3))
    process = multiprocessing.get_context("fork").Process(target=zero, args=(A,))
    process.start()
    process.join(60)
    assert process.exitcode == 0 and not (A @ torch.ones(3)).any()
    model = stt.sparsify_(nn.Sequential(nn.Linear(4, 4)), "CSR", stt.Magnitude(0.5)).share_memory()
    assert model[0].weight.is_shared()
    torch.testing.assert_close(model(torch.eye(4)), model[0].weight.to_dense().t() + model[0].bias)


def test_pinned_memory():
    """As torch's own tensors: where there is no accelerator nothing can be pinned, and a DataLoader goes on without."""
    A = stt.from_torch(torch.eye(3), "CSR")
    assert not A.is_pinned()
    if torch.accelerator.is_available():
        assert A.pin_memory().is_pinned() and A.pin_memory().pattern is A.pattern
    else:
        with pytest.raises(RuntimeError, match="accelerator|NVIDIA"):
            A.pin_memory()
        with pytest.warns(UserWarning, match="no accelerator"):
            got = batches(pin_memory=True)
        assert [x.nse for x, _ in got] == [3, 7, 5]


@pytest.mark.parametrize("text", FORMATS)
def test_files(tmp_path, text):
    """torch.save, read with weights_only, of a tensor and of a state dict."""
    A = Samples(text)[3]["x"]
    model = stt.sparsify_(nn.Sequential(nn.Linear(6, 6)), text, stt.Random(0.4))
    torch.save((A, model.state_dict()), tmp_path / "file")
    B, state = torch.load(tmp_path / "file", weights_only=True)
    assert B.pattern == A.pattern and torch.equal(B.values(), A.values())
    other = stt.sparsify_(nn.Sequential(nn.Linear(6, 6)), "COO", stt.Random(0.4))
    other.load_state_dict(state)
    assert other[0].weight.pattern == model[0].weight.pattern and torch.equal(other(torch.eye(6)), model(torch.eye(6)))
    torch.save(B, tmp_path / "mapped")
    C = torch.load(tmp_path / "mapped", weights_only=True, mmap=True)
    assert torch.equal(C @ torch.ones(6), A @ torch.ones(6))


@pytest.mark.parametrize("text", FORMATS)
def test_safetensors(tmp_path, text):
    safetensors = pytest.importorskip("safetensors.torch")
    model = stt.sparsify_(nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 2)), text, stt.Random(0.4)).bfloat16()
    safetensors.save_file(model.state_dict(), tmp_path / "file")
    other = stt.sparsify_(nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 2)), "COO", stt.Random(0.1)).bfloat16()
    other.load_state_dict(safetensors.load_file(tmp_path / "file"))
    x = torch.eye(6, dtype=torch.bfloat16)
    assert other[0].weight.pattern == model[0].weight.pattern and torch.equal(other(x), model(x))


def test_a_state_dict_is_a_copy_of_the_pattern():
    """Who reads a checkpoint into its tensors changes no pattern that lives."""
    model = stt.sparsify_(nn.Sequential(nn.Linear(6, 6)), "CSR", stt.Random(0.4))
    want = model(torch.eye(6))
    for name, x in model.state_dict().items():
        if "index" in name:
            x.zero_()
    assert torch.equal(model(torch.eye(6)), want)
