"""What sparsifiers keep, with which gradient, in how many passes and how much memory: beside masks made by NumPy and torch."""

import numpy as np
import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

import strata.torch as stt  # noqa: E402
from strata.torch._streams import STRETCH, Stretches, stored  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
FORMATS = ["CSR", "CSC", "COO", "DCSR", "ELL", "delta(4)", "bitmap", "dense"]
BLOCKED = ["BSR(2, 2)", "BSR(2, 3)", "DIA", "BSR(4, 4) + COO"]  # which store more than what is kept
SPARSIFIERS = {
    "all": stt.KeepAll(),
    "threshold": stt.Threshold(1.0),
    "magnitude": stt.Magnitude(0.2),
    "blocks": stt.Magnitude(0.3, (2, 3)),
    "2:4": stt.NM(2, 4),
    "1:4:3": stt.GroupedNM(1, 4, 3),
    "function": lambda x: x > 0.5,
}


def by_hand(name, x):
    """The mask that a sparsifier should give."""
    size = x.detach().abs().numpy()
    rows, columns = size.shape
    mask = np.zeros(size.shape, bool)
    if name == "all":
        mask = x.detach().numpy() != 0
    elif name == "threshold":
        mask = size > 1
    elif name == "magnitude":
        mask.reshape(-1)[np.argsort(-size.reshape(-1), kind="stable")[: round(0.2 * size.size)]] = True
    elif name == "blocks":
        norms = {
            (i, j): np.sqrt((size[i : i + 2, j : j + 3] ** 2).sum())
            for i in range(0, rows, 2)
            for j in range(0, columns, 3)
        }
        for i, j in sorted(norms, key=norms.get)[::-1][: round(0.3 * len(norms))]:
            mask[i : i + 2, j : j + 3] = True
    elif name in ("2:4", "1:4:3"):
        n, g = (2, 1) if name == "2:4" else (1, 3)
        for i in range(0, rows, g):
            for j in range(0, columns, 4):
                best = np.argsort(-size[i : i + g, j : j + 4].sum(0))[:n]
                mask[i : i + g, j + best] = True
    else:
        mask = x.detach().numpy() > 0.5
    return torch.from_numpy(mask)


def some(*shape, dtype=torch.float32, seed=0):
    x = torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)
    x[torch.rand(shape, generator=torch.Generator().manual_seed(seed + 1)) < 0.1] = 0
    return x


@pytest.mark.parametrize("format", [None, *FORMATS, *BLOCKED])
@pytest.mark.parametrize("name", SPARSIFIERS)
def test_what_stays_and_its_gradient(name, format):
    x = some(13, 22).requires_grad_()
    mask = by_hand(name, x)
    assert torch.equal(stt._sparsifiers.as_sparsifier(SPARSIFIERS[name])(x.detach()), mask)
    y = stt.sparsify(x, SPARSIFIERS[name], format)
    assert torch.equal(y.detach().to_dense(), torch.where(mask, x.detach(), 0))
    stored_there = mask
    if format is not None:
        assert y.format == st.Format(f"ELL({mask.sum(1).max()})" if format == "ELL" else format, 2)
        stored_there = y.pattern.scatter(torch.ones(y.pattern.num_values)) > 0
        assert (stored_there & mask).sum() == mask.sum()
        if format in FORMATS[:4]:
            assert y.nse == mask.sum()
    a, g = torch.randn(5, 22, requires_grad=True), torch.randn(5, 13)
    F.linear(a, y).backward(g)
    dense = torch.where(mask, x.detach(), 0).requires_grad_()
    b = a.detach().clone().requires_grad_()
    F.linear(b, dense).backward(g)
    torch.testing.assert_close(a.grad, b.grad)
    torch.testing.assert_close(x.grad, torch.where(stored_there, dense.grad, 0))


@pytest.mark.parametrize("format", [None, "CSR", "BSR(2, 2)", "bitmap"])
@pytest.mark.parametrize(
    "grad", ["stored", "ste", (2.0, 0.0), (1.0, 0.5), stt.Gradient(1.0, 1.0, 0.25), stt.Gradient(0.5, 0.0, 0.25)]
)
def test_gradients_of_kept_and_pruned(format, grad):
    x = some(12, 16).requires_grad_()
    y = stt.sparsify(x, stt.Magnitude(0.25), format, grad=grad)
    mask = stt.Magnitude(0.25)(x.detach())
    there = mask if format is None else y.pattern.scatter(torch.ones(y.pattern.num_values)) > 0
    for apply in (
        lambda w, a: F.linear(a, w),
        lambda w, a: a @ w.t(),
        lambda w, a: torch.relu(w).sum() + (w * w).sum() + a.sum(),
        lambda w, a: w @ a.t(),
        lambda w, a: a @ w.to_dense().t(),
    ):
        x.grad = None
        a = torch.randn(3, 16, requires_grad=True)
        apply(stt.sparsify(x, stt.Magnitude(0.25), format, grad=grad), a).square().sum().backward()
        dense, b = torch.where(mask, x.detach(), 0).requires_grad_(), a.detach().clone().requires_grad_()
        apply(dense, b).square().sum().backward()
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)
        how = stt._gradients.as_gradient(grad)
        wanted = dense.grad * torch.where(there, how.kept, how.pruned)
        wanted = wanted + how.decay * torch.where(there, 0, x.detach())
        torch.testing.assert_close(x.grad, wanted, rtol=1e-4, atol=1e-3)


def test_straight_through_has_second_derivatives():
    x = some(4, 8, dtype=torch.float64).requires_grad_()
    mask = stt.Magnitude(0.3)(x.detach())

    def hessian(weight):
        a = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(3, 8).requires_grad_()
        (of_a,) = torch.autograd.grad(F.linear(a, weight).pow(3).sum(), a, create_graph=True)
        return torch.autograd.grad(of_a.square().sum(), x)[0]

    ours = hessian(stt.sparsify(x, stt.Magnitude(0.3), "CSR", grad="ste"))
    dense = x + (torch.where(mask, x, 0) - x).detach()
    torch.testing.assert_close(ours, hessian(dense))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.complex64]
)
def test_dtypes(dtype):
    x = (some(9, 10) * 5).to(dtype)
    for sparsifier in (stt.KeepAll(), stt.Threshold(2), stt.Magnitude(0.2), stt.NM(2, 4), stt.Random(0.3)):
        y = stt.sparsify(x, sparsifier, "CSR")
        mask = y.pattern.scatter(torch.ones(y.nse)) > 0
        assert y.dtype == dtype and torch.equal(y.to_dense(), torch.where(mask, x, 0))
        if not isinstance(sparsifier, stt.Random):
            assert torch.equal(mask, sparsifier(x))


@pytest.mark.parametrize("shape", [(0, 7), (3, 0), (1, 1), (5,), (0,), (2, 3, 9), (4, 5, 2, 2)])
def test_shapes(shape):
    x = some(*shape)
    for sparsifier in (stt.KeepAll(), stt.Random(0.5), stt.Magnitude(0.5), stt.NM(1, 2)):
        for format in (None, f"COO({len(shape)})"):
            y = stt.sparsify(x, sparsifier, format)
            if isinstance(sparsifier, stt.Random):
                assert (y.to_dense() != 0).sum() <= round(0.5 * x.numel())
            else:
                assert torch.equal(y.to_dense(), torch.where(sparsifier(x), x, 0))


def test_strides():
    x = some(30, 44)
    for view in (x.t(), x[:, ::2], x[3:, 1:], x[:1].expand(20, 44)):
        for sparsifier in SPARSIFIERS.values():
            y = stt.sparsify(view, sparsifier, "CSR")
            assert torch.equal(y.to_dense(), stt.sparsify(view.contiguous(), sparsifier))
        assert stt.sparsify(view, stt.Random(0.5), "CSR").nse == round(0.5 * view.numel())


def test_what_is_kept_is_stored_whatever_it_is():
    x = torch.tensor([[0.0, -0.0, torch.nan, 1.0], [torch.inf, 0.0, 0.0, 0.0]])
    y = stt.sparsify(x, lambda x: torch.ones_like(x, dtype=torch.bool), "CSR")
    assert y.nse == 8 and torch.equal(y.values().view(torch.int32), x.reshape(-1).view(torch.int32))
    assert stt.sparsify(x, None, "CSR").nse == 3
    assert stt.sparsify(x, stt.Magnitude(0.25), "CSR").to_dense()[0, 2].isnan()


def test_magnitudes_of_several_stretches():
    """More elements than a stretch holds, equal ones among them."""
    x = some(150, 701)
    for density in (0.0, 0.001, 0.3, 0.97, 1.0):
        y = stt.sparsify(x, stt.Magnitude(density), "CSR")
        assert y.nse == round(density * x.numel())
        kept = y.pattern.scatter(torch.ones(y.nse)) > 0
        if 0 < density < 1:
            assert x.abs()[kept].min() >= x.abs()[~kept].max()
    equal = torch.ones(150, 701)
    assert stt.sparsify(equal, stt.Magnitude(0.25), "CSR").nse == round(0.25 * equal.numel())
    blocks = stt.sparsify(x, stt.Magnitude(0.1, (16, 32)), "CSR")
    assert torch.equal(blocks.to_dense(), torch.where(stt.Magnitude(0.1, (16, 32))(x), x, 0))


def test_random_fractions():
    x = torch.ones(400, 500)
    one, two = (stt.sparsify(x, stt.Random(0.1, (), torch.Generator().manual_seed(s)), "CSR") for s in (1, 1))
    assert one.pattern == two.pattern and one.nse == 20_000
    assert one.pattern != stt.sparsify(x, stt.Random(0.1), "CSR").pattern
    counts = one.to_dense()
    assert 25 < counts.sum(1).min() and counts.sum(1).max() < 80 and counts.sum(0).max() < 80
    assert torch.equal(
        stt.Random(0.5, (4, 4))(torch.ones(8, 8)).reshape(2, 4, 2, 4).float().mean((1, 3)).unique(),
        torch.tensor([0.0, 1.0]),
    )


def test_global_magnitude():
    """The threshold is that of all weights together."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Linear(30, 10), torch.nn.Linear(10, 3))
    with torch.no_grad():
        model[1].weight *= 3
    weights = [m.weight.detach().clone() for m in model]
    stt.sparsify_(model, "CSR", stt.Magnitude(0.25, scope="global"))
    bound = torch.cat([w.abs().reshape(-1) for w in weights]).sort(descending=True).values
    bound = bound[round(0.25 * len(bound)) - 1]
    for module, weight in zip(model, weights):
        assert torch.equal(module.weight.detach().to_dense(), torch.where(weight.abs() >= bound, weight, 0))
    again = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    w = [m.weight.detach().clone() for m in again]
    stt.sparsify_(again, "BSR(2, 2)", stt.Magnitude(0.5, (2, 2), "global"))
    norms = torch.cat([x.reshape(4, 2, 4, 2).square().sum((1, 3)).reshape(-1) for x in w])
    kept = torch.cat([m.weight.detach().to_dense().reshape(4, 2, 4, 2).square().sum((1, 3)).reshape(-1) for m in again])
    assert (kept > 0).sum() == 16 and torch.equal(kept > 0, norms >= norms.sort(descending=True).values[15])


def test_of_sparse_tensors():
    x = some(20, 30)
    A = stt.from_torch(x, "COO").requires_grad_()
    with stt.strict():
        for sparsifier, wanted in (
            (stt.Threshold(1.0), torch.where(x.abs() > 1, x, 0)),
            (stt.Magnitude(0.1), torch.where(stt.Magnitude(0.1)(x), x, 0)),
            (None, x),
        ):
            y = stt.sparsify(A, sparsifier, "CSR")
            assert torch.equal(y.detach().to_dense(), wanted) and y.format == "CSR"
            A.grad = None
            (y * y).sum().backward()
            torch.testing.assert_close(A.grad.to_dense(), 2 * wanted)
    y = stt.sparsify(A, stt.NM(1, 3), "CSC")
    assert torch.equal(y.detach().to_dense(), torch.where(stt.NM(1, 3)(x), x, 0))


class Half(stt.Sparsifier):
    """Every second element, or as the site says."""

    def pattern(self, x, step=2, **site):
        mask = torch.zeros(x.shape, dtype=torch.bool)
        mask.view(-1)[::step] = True
        return mask


def test_own_sparsifiers():
    x = torch.ones(4, 6)
    for given in (Half, Half(), lambda x: Half()(x)):
        assert stt.sparsify(x, given, "CSR").nse == 12
    assert stt.sparsify(x, Half, "CSR", step=3).nse == 8
    pattern = stt.sparsify(x, Half, "CSR").pattern
    assert stt.sparsify(x, lambda x: pattern.scatter(torch.ones(12)) > 0, "COO").nse == 12

    class ByPattern(stt.Sparsifier):
        def pattern(self, x, **site):
            return pattern

    assert stt.sparsify(x, ByPattern, "BSR(2, 2)").nse == 24
    layer = stt.sparsify_(torch.nn.Sequential(torch.nn.Linear(6, 4)), "CSR", Half)[0]
    assert layer.weight.nse == 12
    with pytest.raises(stt.Unsupported, match="Sparsifier does not say what stays"):
        stt.sparsify(x, stt.Sparsifier(), "CSR")
    with pytest.raises(st.ArgumentError, match="Magnitude needs arguments"):
        stt.sparsify(x, stt.Magnitude)
    with pytest.raises(st.ArgumentError, match="grad= of another kind"):
        stt.sparsify(x, Half, grad="all")
    with pytest.raises(st.ArgumentError, match="a density is a share"):
        stt.sparsify(x, stt.Magnitude(1.5), "CSR")
    with pytest.raises(st.ArgumentError, match="n of m are chosen"):
        stt.NM(5, 4)
    with pytest.raises(st.ArgumentError, match="scope= of another kind"):
        stt.Magnitude(0.5, scope="row")


def test_registered():
    class Odd:
        def __init__(self, n):
            self.n = n

    x = some(6, 8).requires_grad_()
    with pytest.raises(st.ArgumentError, match="Odd does not say what stays of torch.Tensor in CSR"):
        stt.sparsify(x, Odd(1), "CSR")

    @stt.register_sparsifier(Odd, torch.Tensor, "CSR")
    def to_csr(sparsifier, tensor, grad_fmt=None):
        return tensor > sparsifier.n

    @stt.register_sparsifier(Odd, "CSR", "COO")
    def between(sparsifier, tensor, grad_fmt=None):
        return tensor.to("COO") * 2

    try:
        y = stt.sparsify(x, Odd(0.5), "CSR")
        assert torch.equal(y.detach().to_dense(), torch.where(x > 0.5, x, 0).detach())
        y.sum().backward()
        assert torch.equal(x.grad, (x > 0.5).float())
        assert torch.equal(stt.sparsify(y.detach(), Odd(1), "COO").to_dense(), 2 * y.detach().to_dense())
        with pytest.raises(st.ArgumentError, match="from torch.Tensor to CSR"):
            stt.sparsify(x, Odd(1), "BSR(2, 2)")
        assert stt.sparsify_(torch.nn.Sequential(torch.nn.Linear(4, 4)), "CSR", Odd(0.0))[0].weight.nse < 16
    finally:
        assert stt.unregister_sparsifier(Odd, torch.Tensor, "CSR") and stt.unregister_sparsifier(Odd, "CSR", "COO")
    assert not stt.unregister_sparsifier(Odd, torch.Tensor, "CSR")


@pytest.mark.parametrize("grad", ["stored", "ste"])
def test_in_place_keeps_the_format(grad):
    x = some(6, 8)
    mask = stt.Magnitude(0.3)(x)
    y, dense = stt.sparsify(x, stt.Magnitude(0.3), "CSR", grad=grad), torch.where(mask, x, 0)
    kept = y.pattern

    def same(change):
        change(y)
        nonlocal dense
        dense = dense.clone()
        change(dense)
        dense = torch.where(mask, dense, 0)
        assert y.pattern is kept and torch.equal(y.to_dense(), dense)

    same(lambda t: t.add_(1))
    same(lambda t: t.mul_(2))
    same(lambda t: t.__isub__(torch.ones(6, 8)))
    same(lambda t: t.__setitem__(2, 5.0))
    same(lambda t: torch.relu_(t))
    same(lambda t: t.zero_())
    w = x.clone().requires_grad_()
    z = stt.sparsify(w, stt.Magnitude(0.3), "CSR", grad=grad)
    z.mul_(3)
    (z * z).sum().backward()
    torch.testing.assert_close(w.grad, torch.where(mask, 18 * x, 0))
    A = stt.from_torch(x, "CSR")
    with pytest.raises(stt.Unsupported, match="would change a dense copy"):
        A.add_(1)
    assert torch.equal(stt.SameFormat(y)(x), mask) and torch.equal(stt.SameFormat(dense)(x), dense != 0)


# Passes and memory


class Counted(Stretches):
    """A tensor that is computed where it is read; counts the elements that were."""

    known = {}

    def __init__(self, rows, columns):
        self.read = self.largest = 0
        super().__init__((rows, columns), self.make)

    def make(self, a, b):
        self.read += (b - a) * self.shape[1]
        self.largest = max(self.largest, (b - a) * self.shape[1])
        if self.shape[1] not in self.known:
            whole = torch.randn(STRETCH // self.shape[1], self.shape[1], generator=torch.Generator().manual_seed(0))
            self.known[self.shape[1]] = whole
        return self.known[self.shape[1]][: b - a] + 1e-6 * a


PASSES = {
    "streaming": [(stt.KeepAll(), 1), (stt.Threshold(2.5), 1), (stt.Random(0.01), 1)],
    "blocking": [(stt.NM(1, 64), 1), (stt.GroupedNM(1, 64, 8), 1)],
    "materializing": [(stt.Magnitude(0.01), 2), (stt.Magnitude(0.01, (8, 8)), 2)],
}


@pytest.mark.parametrize("kind", PASSES)
def test_passes(kind):
    for sparsifier, passes in PASSES[kind]:
        assert sparsifier.kind == kind
        x = Counted(1024, 256)
        y = stored(sparsifier.stream(x), x.shape, torch.float32)
        assert x.read == passes * x.numel() and x.largest <= STRETCH
        if isinstance(sparsifier, stt.Random):
            assert y.nse == round(0.01 * x.numel())
        else:
            whole = torch.cat([x.make(a, a + STRETCH // 256) for a in range(0, 1024, STRETCH // 256)])
            if kind != "materializing":  # by the same stretches
                assert torch.equal(y.to_dense(), torch.where(sparsifier(whole), whole, 0))


def peak(f):
    """(result, bytes that the process had at most while f ran, beyond those before), as Linux counts pages."""
    status = lambda key: int(next(line for line in open("/proc/self/status") if line.startswith(key)).split()[1]) * 1024  # noqa: E731
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = status("VmRSS")
    result = f()
    return result, status("VmHWM") - before


@pytest.mark.parametrize("kind", PASSES)
def test_memory(kind, request):
    """Beside the result there is little, however large the tensor: the dense one has 48 MB, its mask 12 MB."""
    try:
        peak(lambda: None)
    except OSError:
        pytest.skip("the system does not tell the most memory that was used")
    threads = torch.get_num_threads()
    request.addfinalizer(lambda: torch.set_num_threads(threads))
    torch.set_num_threads(1)
    for sparsifier, _ in PASSES[kind]:
        if isinstance(sparsifier, stt.KeepAll):
            continue
        run = lambda rows: peak(lambda: stored(sparsifier.stream(x := Counted(rows, 4096)), x.shape, torch.float32))  # noqa: E731, B023
        run(64)
        y, used = run(3072)
        result = sum(a.numel() * a.element_size() for a in (y.values(), *y.pattern.index))
        assert used < result + (5 << 20) + (12 * result if kind == "materializing" else 0), (sparsifier, used, result)
