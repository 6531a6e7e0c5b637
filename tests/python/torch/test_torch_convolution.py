"""Convolutions with sparse weights against dense ones: results, gradients, every option, modules."""

import copy
import pickle

import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from test_torch_tensor import random, sample, stored  # noqa: E402
from torch import nn  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.torch._unfolded import unfolded  # noqa: E402
from strata.torch._weights import weight_format  # noqa: E402

FORMATS = [
    *("CSR", "CSC", "COO", "DCSR", "DIA", "ELL", "bitmap", "dense", "CSF", "delta(4)", "structured(4, 4)"),
    *("BSR(2, 2)", "BSR(3, 2)", "BSR(4, 3)", "BSR(2, 2) + COO"),
    "(o, i, y, x) -> (o: dense, i: compressed, y: dense, x: dense)",  # whole kernels
    "(o, i, y, x) -> (x: compressed, i / 2: compressed, y: dense, o: dense, i % 2: dense)",
]
CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
OPTIONS = [
    (1, (6, 4, 3), (2, 4, 9), dict(stride=2, padding=1)),
    (1, (6, 2, 2), (2, 4, 9), dict(groups=2, padding="same", dilation=2)),
    (2, (6, 4, 3, 2), (2, 4, 7, 8), {}),
    (2, (6, 4, 3, 2), (2, 4, 7, 8), dict(stride=(1, 2), padding=(2, 1), dilation=(2, 1))),
    (2, (6, 4, 3, 3), (1, 4, 7, 8), dict(padding="same")),
    (2, (6, 4, 2, 4), (2, 4, 7, 8), dict(padding="same", dilation=(1, 3))),
    (2, (6, 4, 3, 3), (2, 4, 7, 8), dict(padding="valid", stride=3)),
    (2, (6, 4, 1, 1), (2, 4, 7, 8), dict(stride=2)),
    (2, (6, 4, 1, 1), (1, 4, 7, 8), {}),
    (2, (6, 4, 7, 8), (3, 4, 7, 8), {}),
    (2, (6, 1, 3, 3), (2, 6, 5, 5), dict(groups=6, padding=[1])),
    (2, (6, 1, 3, 3), (2, 2, 5, 5), dict(groups=2)),
    (2, (6, 4, 3, 3), (0, 4, 5, 5), {}),
    (2, (6, 4, 3, 3), (4, 5, 5), dict(padding=1)),
    (3, (6, 4, 2, 3, 1), (2, 4, 4, 5, 3), dict(stride=(1, 2, 1), padding=(0, 1, 0))),
    (3, (6, 2, 2, 2, 2), (4, 4, 5, 3), dict(groups=2, padding="same")),
]


@pytest.fixture(autouse=True)
def nothing_densified(request):
    before = stt.densified.copy()
    yield
    assert stt.densified == before or "dense_copies" in request.node.name


def check(W, x, **options):
    """Results and gradients of a convolution with W, beside the dense one."""
    conv, bias = CONV[W.dim() - 2], random(W.shape[0])
    dense = W.detach().to_dense().requires_grad_()
    operands = [(t.clone().requires_grad_(), bias.clone().requires_grad_()) for t in (x, x)]
    got, want = (conv(t, w, b, **options) for (t, b), w in zip(operands, (W, dense)))
    torch.testing.assert_close(got, want)
    assert got.is_contiguous()
    g = torch.randn_like(want)
    got.backward(g)
    want.backward(g)
    for a, b in zip(*operands):
        torch.testing.assert_close(a.grad, b.grad)
    if W.pattern.once:
        torch.testing.assert_close(W.grad.to_dense(), torch.where(stored(W.pattern), dense.grad, 0))
    else:
        torch.testing.assert_close(W.grad.values(), W.pattern.gather(dense.grad))


@pytest.mark.parametrize("text", FORMATS)
def test_formats(text):
    W = stt.from_torch(sample((6, 4, 3, 2)), weight_format(text, 4)).requires_grad_()
    check(W, random(2, 8, 7, 8), groups=2, stride=(1, 2), padding=(2, 1), dilation=(2, 1))


@pytest.mark.filterwarnings("ignore:Using padding")
@pytest.mark.parametrize("rank, weight, x, options", OPTIONS)
def test_options(rank, weight, x, options):
    W = stt.from_torch(sample(weight), weight_format("CSR", rank + 2)).requires_grad_()
    check(W, random(*x), **options)


def test_elements_that_two_parts_store():
    blocks, rest = (
        stt.from_torch(sample((6, 4, 3, 2), seed), weight_format(text, 4))
        for seed, text in enumerate(("BSR(4, 3)", "COO"))
    )
    both = blocks.pattern.with_values(blocks.values()), rest.pattern.with_values(rest.values())
    W = stt.from_strata(st._core.make_sum(list(both))).requires_grad_()
    assert not W.pattern.once
    check(W, random(2, 4, 7, 8), padding=1)


@pytest.mark.parametrize(
    "text, groups, kept", [("BSR(3, 2)", 1, "BSR(3, 2)"), ("BSR(3, 2)", 3, "CSR"), ("COO", 1, "CSR")]
)
def test_the_matrix_keeps_blocks(text, groups, kept):
    pattern = stt.from_torch(sample((6, 4, 3, 2)), weight_format(text, 4)).pattern
    matrix = unfolded(pattern, groups).matrix
    assert matrix.format == st.Format(kept) and matrix.nse == pattern.nse
    assert unfolded(pattern, groups).matrix is matrix


def test_values_in_the_matrixs_order_stay_where_they_are():
    values = stt.from_torch(sample((6, 4, 1, 1)), weight_format("CSR", 4)).values()
    pattern = stt.from_torch(sample((6, 4, 1, 1)), weight_format("CSR", 4)).pattern
    assert unfolded(pattern, 1).values(values) is values


def test_gradients_of_any_order():
    W = stt.from_torch(sample((4, 2, 2, 2)), "COO")
    f = lambda v, x, b: F.conv2d(x, stt.Tensor(v, W.pattern), b, 2, 1, groups=2)  # noqa: E731
    operands = [t.clone().requires_grad_() for t in (W.values(), random(2, 4, 3, 3), random(4))]
    assert torch.autograd.gradcheck(f, operands) and torch.autograd.gradgradcheck(f, operands)


def test_func():
    W = stt.from_torch(sample((4, 2, 2, 2)), "COO")
    sparse = lambda v, x: F.conv2d(x, stt.Tensor(v, W.pattern)).square().sum()  # noqa: E731
    dense = lambda v, x: F.conv2d(x, W.pattern.scatter(v)).square().sum()  # noqa: E731
    v, x = W.values(), random(2, 2, 3, 4)
    for run in (
        lambda f: torch.func.grad(f, 1)(v, x),
        lambda f: torch.func.jvp(lambda x: f(v, x), (x,), (x,))[1],
        lambda f: torch.func.hessian(f)(v, x),
        lambda f: torch.vmap(f, (None, 0))(v, torch.stack([x, 2 * x])),
    ):
        torch.testing.assert_close(run(sparse), run(dense))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_first_call_under_inference_mode_spoils_nothing():
    W = stt.from_torch(sample((6, 4, 3, 2)), weight_format("CSC", 4))
    with torch.inference_mode():
        first = F.conv2d(random(2, 4, 5, 5), W)
    W.requires_grad_()
    check(W, random(2, 4, 5, 5))
    assert torch.equal(first, F.conv2d(random(2, 4, 5, 5), W))
    for first in (torch.inference_mode()(lambda f, v: f(v)), lambda f, v: torch.func.grad(f)(v)):
        A = stt.from_torch(sample().to_sparse_csr())
        first(lambda v: A.pattern.scatter(v).sum(), A.values())
        A.requires_grad_().to_dense().sum().backward()
        assert A.grad.values().eq(1).all()


def test_dtypes():
    W, x = sample((6, 4, 3, 2)), random(2, 4, 5, 5)
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.complex128):
        y = F.conv2d(x.to(dtype), stt.from_torch(W.to(dtype), "COO"))
        exact = F.conv2d(x.to(dtype).to(torch.complex128), W.to(torch.complex128))
        assert y.dtype == dtype
        # Sums of rounded inputs, in float32 at least, are rounded once more.
        terms = F.conv2d(x.to(dtype).to(torch.complex128).abs(), W.to(torch.complex128).abs())
        eps = torch.finfo(dtype).eps
        bound = eps * exact.abs() + 0.5 * min(eps, torch.finfo(torch.float32).eps) * terms
        assert ((y.to(torch.complex128) - exact).abs() <= bound).all()
    with torch.autocast("cpu", torch.bfloat16):
        got = F.conv2d(x.float(), stt.from_torch(W.float(), "COO"), torch.ones(6))
        want = F.conv2d(x.float(), W.float(), torch.ones(6))
    assert got.dtype == want.dtype == torch.bfloat16
    torch.testing.assert_close(got, want, rtol=2e-2, atol=0.2)
    with pytest.raises(st.Error, match="one dtype"):
        F.conv2d(x.float(), stt.from_torch(W, "COO"))


def test_what_does_not_fit():
    W, x = stt.from_torch(sample((6, 4, 3, 2)), "COO"), random(2, 4, 7, 8)
    for message, options in {
        "needs a stride of 1": dict(padding="same", stride=2),
        "channels of a convolution": dict(groups=2),
        "larger than the padded input": dict(dilation=4),
        "one for each dimension": dict(stride=(1, 2, 3)),
        "no padding": dict(padding="most"),
        "none below 0": dict(padding=-1),
        "none below 1": dict(dilation=0),
    }.items():
        with pytest.raises(st.Error, match=message):
            F.conv2d(input=x, weight=W, **options)
    with pytest.raises(st.Error, match="conv1d takes weights of 3"):
        F.conv1d(x, W)
    with pytest.raises(st.Error, match="conv2d takes"):
        F.conv2d(x[0, 0], W)


@pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
def test_dense_copies_of_the_others():
    W, x = sample((4, 6, 3, 2)), random(2, 4, 5, 5)
    torch.testing.assert_close(F.conv_transpose2d(x, stt.from_torch(W, "COO")), F.conv_transpose2d(x, W))
    torch.testing.assert_close(F.conv2d(stt.from_torch(x, "COO"), random(3, 4, 2, 2)), F.conv2d(x, random(3, 4, 2, 2)))
    assert stt.densified["conv_transpose2d"] and stt.densified["conv2d"]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 16, 3, padding=1, padding_mode="reflect")
        self.second = nn.Conv2d(16, 16, 3, stride=2, groups=2, bias=False)
        self.last = nn.Linear(16, 4)

    def forward(self, x):
        return self.last(self.second(F.relu(self.first(x))).mean((2, 3)))


SPARSIFIERS = {
    "CSR": stt.Magnitude(0.3),
    "COO": stt.Magnitude(0.3),
    "BSR(4, 4)": stt.Magnitude(0.5, (4, 4)),
    "structured(2, 4)": stt.NM(2, 4),
    "delta(4)": stt.Magnitude(0.2),
}


@pytest.mark.parametrize("text", SPARSIFIERS)
def test_weights_of_a_model(text):
    """Chosen by a filter; without one convolutions stay as they are."""
    dense, x = Net(), torch.randn(2, 3, 8, 8)
    assert type(stt.sparsify_(copy.deepcopy(dense), text, SPARSIFIERS[text]).second) is nn.Conv2d
    model = stt.sparsify_(copy.deepcopy(dense), text, SPARSIFIERS[text], filter=r"(second|last)\.weight")
    assert isinstance(model.second.weight, stt.Tensor) and model.second.weight.shape == dense.second.weight.shape
    for layer in ("second", "last"):
        weight = getattr(model, layer).weight
        getattr(dense, layer).weight.data = weight.detach().to_dense()
        assert text != "structured(2, 4)" or weight.nse * 2 == weight.numel()
    for again in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(again(x), dense(x))
    model(x).square().sum().backward()
    dense(x).square().sum().backward()
    kept = stored(model.second.weight.pattern)
    torch.testing.assert_close(
        model.second.weight.grad.to_dense(), torch.where(kept, dense.second.weight.grad, 0), rtol=1e-4, atol=1e-4
    )
    other = stt.sparsify_(Net(), "CSR", stt.Random(0.1), filter=r"(second|last)\.weight")
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(x), model(x))
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), model(x))


def test_sparsity_that_is_too_small():
    mask = lambda w: torch.ones_like(w, dtype=torch.bool).index_fill_(1, torch.tensor([0, 1]), False)  # noqa: E731
    for format, enough in {"CSR": 0.25, "BSR(4, 4)": 0, "BSR(4, 2)": 0.25}.items():
        for bound in (enough, enough + 0.01):
            model = stt.sparsify_(Net(), format, mask, filter=r"second\.weight", min_sparsity=bound)
            assert isinstance(model.second.weight, stt.Tensor) == (bound == enough), format


def test_formats_of_matrices_for_weights():
    assert weight_format("CSR", 2) == st.Format("CSR") and weight_format("COO", 4) == st.Format("COO", 4)
    assert weight_format("CSR", 4) == st.Format("(o, i, y, x) -> (y: dense, x: dense, o: dense, i: compressed)")
    assert weight_format(st.Format("BSR(2, 3) + CSC"), 3).num_parts == 2
    with pytest.raises(st.Error, match="another number of dimensions"):
        stt.sparsify_(Net(), "COO(3)", filter="second")
    w = torch.arange(1.0, 4 * 4 * 3 + 1).reshape(4, 4, 3)
    assert stt.NM(2, 4)(w).sum(1).eq(2).all() and stt.NM(2, 4)(w)[:, 2:].all()
    assert stt.Magnitude(1 / 4, (2, 4))(w).sum((0, 1)).tolist() == [0, 4, 8] or stt.Magnitude(0.5, (2, 4))(w)[2:].all()


@pytest.mark.parametrize(
    "how", [dict(density=0.3), dict(density=0.5, block_shape=(2, 2)), dict(density=0.3, format="COO"), "mask"]
)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_sparse_from_the_start(rank, how):
    torch.manual_seed(0)
    cls, dense = getattr(stt.nn, f"Conv{rank}d"), getattr(nn, f"Conv{rank}d")(8, 6, 3, padding=1, groups=2)
    if how == "mask":
        how = dict(pattern=torch.rand(dense.weight.shape) < 0.3)
    layer = cls(8, 6, 3, padding=1, groups=2, **how)
    assert layer.weight_values.abs().max() <= (6 / layer.weight.nse) ** 0.5 and layer.weight_values.any()
    assert abs(layer.weight.nse / dense.weight.numel() - how.get("density", 0.3)) < 0.1
    x = torch.randn(2, 8, *(4,) * rank)
    dense.weight.data, dense.bias.data = layer.weight.detach().to_dense(), layer.bias.data
    torch.testing.assert_close(layer(x), dense(x))
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), cls.from_dense(dense, "COO")):
        assert type(again) is cls
        torch.testing.assert_close(again(x), layer(x))
    with pytest.raises(st.Error, match="told once"):
        cls(8, 6, 3)
    with pytest.raises(st.Error, match="another shape"):
        cls(8, 6, 2, pattern=layer.weight.pattern)
