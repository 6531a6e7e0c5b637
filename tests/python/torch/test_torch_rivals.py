"""Faults that were seen in other libraries of sparse training, each as a test that passes here.

SparseLab 0.2.2, TorchUST of nvmath-python 1.0 and STen 0.0.4, on torch 2.13. What other files test stands in ELSEWHERE.
"""

import copy
import io
import pathlib

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402
from test_torch_updates import model, train  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore::strata.CopyWarning")
ELSEWHERE = {
    "SparseLab: the momentum of a moved weight goes to another one": "updates: test_momentum_stays_with_its_weight",
    "SparseLab: a product, a new pattern, then backward is silently wrong": "updates: test_a_graph_from_before_is_an_error",
    "SparseLab: RigL takes the x of an evaluation": "updates: test_evaluation_is_not_listened_to",
    "SparseLab: what updates have seen is not saved": "updates: test_goes_on_after_saving",
    "SparseLab: connections differ between the ranks of RigL": "distributed: test_data_parallel",
    "SparseLab: no double backward": "operators: test_gradients_of_any_order",
    "SparseLab: no vmap, no func.grad": "operators: test_func",
    "SparseLab: autocast is a TypeError": "operators: test_autocast_and_inference",
    "SparseLab: no deepcopy, no torch.save": "weights: test_sparse_from_the_start",
    "SparseLab, STen: no compile, no export": "weights: test_compile_and_export",
    "TorchUST: SGD, Adam and AdamW raise": "weights: test_optimizers_see_values",
    "TorchUST: addmm takes no notice of alpha and beta": "tensor: test_as_dense",
    "TorchUST: no deepcopy, no torch.save": "tensor: test_saved_copied_and_pickled",
    "STen: weights_only=True refuses what was saved": "weights: test_state_dict_brings_its_pattern",
}


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_elsewhere(fault):
    file, name = ELSEWHERE[fault].split(": ")
    assert f"def {name}(" in (pathlib.Path(__file__).parent / f"test_torch_{file}.py").read_text()


def layer(format="CSR", seed=0):
    """A sparse nn.Linear of float64 without bias, which takes 8 features to 6."""
    return stt.nn.Linear.from_dense(_with_weight(sample(seed=seed)), format)


def _with_weight(weight):
    dense = nn.Linear(*reversed(weight.shape), bias=False, dtype=weight.dtype)
    dense.weight.data = weight
    return dense


# SparseLab


def test_gradients_of_layers_that_come_and_go():
    """A cache of transposed weights was keyed by id(): 21 of 100 wrong, 17 IndexErrors."""
    x = random(3, 8).requires_grad_()
    for seed in range(100):
        net = layer(seed=seed)
        (of_x,) = torch.autograd.grad(net(x).sum(), x)
        torch.testing.assert_close(of_x, sample(seed=seed).sum(0).expand(3, 8))


def test_what_changes_parameters_changes_products():
    """Old weights went on being used."""
    x = random(3, 8)

    def check(net, weight, x=x):
        torch.testing.assert_close(net(x), x @ weight.T)
        torch.testing.assert_close(net.weight.to_dense(), weight)

    net = layer()
    check(net.float(), sample().float(), x.float())
    check(net.double(), sample())
    check(net.share_memory(), sample())
    assert net.weight.is_shared() and net.weight_values.is_shared()
    nn.utils.vector_to_parameters(2 * nn.utils.parameters_to_vector(net.parameters()), net.parameters())
    check(net, 2 * sample())
    y = torch.func.functional_call(net, {"weight_values": 3 * net.weight_values.detach()}, x)
    torch.testing.assert_close(y, x @ (6 * sample()).T)
    check(net, 2 * sample())
    with torch.no_grad():
        net.weight_values.mul_(2)
    check(net, 4 * sample())
    net.weight_values.data = net.weight_values.data / 4
    check(net, sample())


@pytest.mark.parametrize("grow", ["random", "gradient"])
def test_a_state_dict_from_after_an_update(grow):
    """It loaded, matched, and gave other outputs."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    train(net, optimizer, stt.PatternUpdater(net, optimizer, grow=grow, every=1), 3)
    other, x = model(), random(3, 16).float()
    assert other.load_state_dict(net.state_dict()).missing_keys == []
    assert torch.equal(other(x), net(x)) and other[0].weight.pattern == net[0].weight.pattern


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_dtype_stays(dtype):
    """Whatever it was became float32."""
    net, x = layer().to(dtype), random(3, 8).to(dtype)
    y = net(x)
    y.sum().backward()
    assert y.dtype == net.weight.dtype == net.weight.grad.dtype == dtype
    torch.testing.assert_close(y, x @ sample().to(dtype).T)
    with pytest.raises(st.Error, match="dtype"):
        net(x.long())


def test_gradients_nobody_asked_for_are_not_made(monkeypatch):
    """That of the input always was."""
    from strata.torch import _ops

    calls, mm = [], _ops.mm_at_once
    monkeypatch.setattr(_ops, "mm_at_once", lambda *args: calls.append(args) or mm(*args))
    net, x = layer(), random(3, 8)
    net(x).sum().backward()
    assert len(calls) == 1 and net.weight_values.grad is not None
    net.requires_grad_(False)
    net(x.requires_grad_()).sum().backward()
    assert len(calls) == 3 and x.grad is not None


# TorchUST


def test_every_product_has_memory_of_its_own():
    """A second one wrote over the first; two layers alike had one result, k and v of an attention too."""
    k, v, x = layer(), layer(), random(3, 8)
    with torch.no_grad():
        v.weight_values.mul_(2)
    for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with context():
            first, again, other = k(x), k(2 * x), v(3 * x)
            results = [first, again, other, k.weight @ x.T, k.weight @ (2 * x.T)]
            assert len({y.untyped_storage().data_ptr() for y in results}) == len(results)
            for y, scale in zip((first, again, other), (1, 2, 6)):
                torch.testing.assert_close(y, scale * x @ sample().T)


def test_a_plan_holds_for_any_number_of_stored_elements():
    """Plans went by formats and shapes, and were run with what they knew of another matrix."""
    for density in (0.1, 0.9, 0.0, 1.0, 0.5):
        weight = random(6, 8) * (torch.rand(6, 8, generator=torch.Generator().manual_seed(1)) < density)
        for format in ("CSR", "COO", "BSR(2, 2)"):
            W = stt.from_torch(weight, format)
            torch.testing.assert_close(W @ random(8, 3), weight @ random(8, 3))


@pytest.mark.parametrize("format", FORMATS)
def test_to_another_dtype(format):
    """half() and to(float64) did nothing."""
    A = stt.from_torch(sample(), format)
    for B, dtype in ((A.half(), torch.float16), (A.to(torch.float32), torch.float32), (A.float().double(), A.dtype)):
        assert B.dtype == B.values().dtype == dtype and torch.equal(B.to_dense(), sample().to(dtype))


def test_printed():
    A = stt.from_torch(sample(), "CSR")
    assert "nse" in repr(A) and "CSR" in repr(layer()) and repr(A) == str(A)


@pytest.mark.parametrize("format", FORMATS)
def test_gradients_that_are_expanded(format):
    """Of sum() the gradient is one number, expanded: it was refused."""
    W, x = stt.from_torch(sample(), format).requires_grad_(), random(3, 8).requires_grad_()
    F.linear(x, W).sum().backward()
    torch.testing.assert_close(x.grad, sample().sum(0).expand(3, 8))
    want = x.detach().sum(0).expand(6, 8)
    assert isinstance(W.grad, stt.Tensor)
    if W.pattern.once:
        torch.testing.assert_close(W.grad.to_dense(), torch.where(stored(W.pattern), want, 0))


def test_a_step_of_a_sparse_tensor():
    """Optimizers raised. They take its values; the tensor itself is refused with a word on what to do."""
    for make in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        W = stt.from_torch(sample(), "CSR").requires_grad_()
        D = sample().requires_grad_()
        one, two = make([W.values()], lr=0.1), make([D], lr=0.1)
        for _ in range(3):
            F.linear(random(3, 8), W).square().sum().backward()
            F.linear(random(3, 8), D).square().sum().backward()
            D.grad *= sample() != 0
            one.step(), two.step()
            one.zero_grad(), two.zero_grad()
        torch.testing.assert_close(W.detach().to_dense(), D.detach() * (sample() != 0))
        W.sum().backward()
        with pytest.raises(st.Unsupported, match=r"x\.values\(\)"):
            make([W], lr=0.1).step()


def test_what_is_stored_stays():
    """Conversions dropped zeros; converted tensors could not leave."""
    values = torch.tensor([0.0, -0.0, float("nan"), 3.0])
    A = stt.from_torch(torch.sparse_csr_tensor([0, 2, 4], [0, 1, 0, 1], values))
    for format in ("COO", "CSC", "DCSR", "ELL", "bitmap"):  # (blocks hold zeros of their own)
        B = A.to(format)
        assert B.nse == 4 and torch.equal(B.to("CSR").values().signbit(), values.signbit())
    for format, layout in (("COO", torch.sparse_coo), ("CSC", torch.sparse_csc), ("BSR(2, 2)", torch.sparse_bsr)):
        B = stt.from_torch(sample(), "CSR").to(format).to_torch()
        assert B.layout == layout and torch.equal(B.to_dense(), sample())


def test_a_format_is_what_it_says_not_what_it_is_called():
    """A nameless CSR missed the kernels; nameless formats were taken for one another."""
    rows = st.Format("(r, c) -> (r : dense, c : compressed)")
    columns = st.Format("(r, c) -> (c : dense, r : compressed)")
    A = stt.from_torch(sample(), rows)
    B = A.to(columns)
    assert A.to_torch().layout == torch.sparse_csr and B.to_torch().layout == torch.sparse_csc
    assert A.pattern != B.pattern and not torch.equal(A.values(), B.values())
    torch.testing.assert_close(B @ random(8, 3), sample() @ random(8, 3))


# STen


@pytest.mark.parametrize("format", FORMATS)
def test_a_gradient_is_there(format):
    """That of CSR and CSC weights stayed None, without a word."""
    net = nn.Sequential(_with_weight(sample()), nn.Tanh(), nn.Linear(6, 2, dtype=torch.float64))
    stt.sparsify_(net, format, filter="^0")
    dense = copy.deepcopy(net)
    dense[0].weight = nn.Parameter(sample())
    for each in (net, dense):
        each(random(3, 8)).square().sum().backward()
    assert net[0].weight_values.grad is not None
    torch.testing.assert_close(net[2].weight.grad, dense[2].weight.grad)
    W = net[0].weight
    if W.pattern.once:
        torch.testing.assert_close(W.grad.to_dense(), torch.where(stored(W.pattern), dense[0].weight.grad, 0))


@pytest.mark.parametrize("format", ["CSC", "BSR(4, 4) + COO"])
def test_compiled(format):
    """It crashed."""
    net, x = layer(format), random(3, 8)
    compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), net(x))
    compiled(x).sum().backward()
    got = net.weight_values.grad.clone()
    net.zero_grad()
    net(x).sum().backward()
    torch.testing.assert_close(got, net.weight_values.grad)


@pytest.mark.parametrize("format", FORMATS)
def test_a_saved_tensor_is_loaded_as_weights_only(format):
    file = io.BytesIO()
    torch.save(layer(format).state_dict(), file)
    file.seek(0)
    other = layer("COO", seed=1)
    state = torch.load(file, weights_only=True)
    other.load_state_dict(dict(state))
    assert torch.equal(other.weight.to_dense(), sample())
    state["weight.values"] = torch.ones(5)
    with pytest.raises(RuntimeError, match="weight: the values do not fit"):
        other.load_state_dict(state)
