"""stt.Tensor in every kind of format against the dense tensor: results and gradients, import and export, saving."""

import copy
import io
import pickle

import numpy as np
import pytest

import strata as st

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402

import strata.torch as stt  # noqa: E402

FORMATS = [
    *("CSR", "CSC", "COO", "DCSR", "DIA", "ELL", "bitmap", "dense", "delta(3)", "structured(4, 4)"),
    *("BSR(2, 2)", "BSR(4, 3)", "BSR(4, 4) + COO", "(i, j) -> (j / 3: compressed, i: dense, j % 3: dense)"),
]
pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore::strata.torch.DensifiedWarning")


def sample(shape=(6, 8), seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy((rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)).astype(float))


def random(*shape):
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def stored(pattern):
    return pattern.scatter(torch.ones(pattern.num_values)).bool()


SPARSE = {  # results in stt.Tensor
    "gram": (lambda A: A @ A.T,),
    "scaled": (lambda A: 3 * A - A / 2,),
    "negative": (lambda A: -A,),
    "union": (lambda A: A + 2 * A,),
    "times row": (lambda A, d: A * d, random(8)),
    "by column": (lambda A, d: A / d, random(6, 1)),
    "tanh": (lambda A: torch.tanh(A),),
    "relu": (lambda A: F.relu(A),),
    "gelu": (lambda A: F.gelu(A),),
    "power": (lambda A: A**2,),
    "permute": (lambda A: A.permute(1, 0),),
    "absolute": (lambda A: (-A).abs().sin(),),
    "cast": (lambda A: A.float().double(),),
    "cat": (lambda A: torch.cat([A, A]),),
    "rows": (lambda A: A[1:3],),
}
DENSE = {
    "mm": (lambda A, x: A @ x, random(8, 3)),
    "x mm": (lambda A, x: x @ A, random(5, 6)),
    "mv": (lambda A, x: A.mv(x), random(8)),
    "batched": (lambda A, x: torch.matmul(A, x), random(2, 3, 8, 4)),
    "x batched": (lambda A, x: x @ A.T, random(2, 3, 4, 8)),
    "addmm": (lambda A, c, x: torch.addmm(c, A, x, beta=0.5, alpha=2), random(6, 3), random(8, 3)),
    "linear": (lambda A, x, b: F.linear(x, A, b), random(4, 5, 8), random(6)),
    "linear of sparse": (lambda A, w, b: F.linear(A, w, b), random(3, 8), random(3)),
    "plus dense": (lambda A, d: A + d, random(6, 8)),
    "dense minus": (lambda A, d: d - A, random(6, 8)),
    "sum": (lambda A: A.sum(),),
    "sum rows": (lambda A: A.sum(1, keepdim=True),),
    "sum columns": (lambda A: A.sum(0),),
    "mean": (lambda A: A.mean(dim=1),),
    "exp, on a dense copy": (lambda A: torch.exp(A),),
    "amax": (lambda A: A.amax(1),),
    "amin": (lambda A: torch.amin(A - 3 * A, (0, 1)),),
    "amax of columns": (lambda A: (-A).amax(0, keepdim=True),),
}


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", [*SPARSE, *DENSE])
def test_as_dense(name, text):
    """Elements, the gradient of stored elements, and gradients of dense operands."""
    f, *operands = (SPARSE | DENSE)[name]
    dense = sample().requires_grad_()
    A = stt.from_torch(sample(), text).requires_grad_()
    with_sparse, with_dense = ([x.clone().requires_grad_() for x in operands] for _ in range(2))
    got, want = f(A, *with_sparse), f(dense, *with_dense)
    assert isinstance(got, stt.Tensor) == (name in SPARSE and not (text == "dense" and name == "gram"))
    g = torch.randn_like(want)
    if isinstance(got, stt.Tensor):
        g = g * stored(got.pattern)
        got = got.to_dense()
    torch.testing.assert_close(got, want)
    got.backward(g)
    want.backward(g)
    for a, b in zip(with_sparse, with_dense):
        torch.testing.assert_close(a.grad, b.grad)
    assert isinstance(A.grad, stt.Tensor) and A.grad.pattern is A.pattern
    if A.pattern.once:
        torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("target", ["COO", "CSC", "BSR(2, 2)", "delta(2)"])
def test_conversions_carry_gradients(text, target):
    A = stt.from_torch(sample(), text).requires_grad_()
    if not A.pattern.once:
        pytest.skip("parts of the sum overlap")
    B = A.to(target)
    assert B.format == st.Format(target) and torch.equal(B.to_dense(), sample())
    weights = random(6, 8)
    (B.to_dense() * weights).sum().backward()
    torch.testing.assert_close(A.grad.to_dense()[sample() != 0], weights[sample() != 0])


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"])
def test_torchs_own_layouts_share_their_memory(layout):
    blocks = ((2, 2),) if "bs" in layout else ()
    x = getattr(sample(), layout)(*blocks)
    A = stt.from_torch(x)
    assert torch.equal(A.to_dense(), sample()) and A.values().data_ptr() == x.values().data_ptr()
    back = A.to_torch()
    assert back.layout == x.layout and torch.equal(back.to_dense(), sample())
    if layout in ("to_sparse", "to_sparse_csr"):
        leaf = getattr(sample(), layout)().requires_grad_()
        (stt.from_torch(leaf) @ random(8)).sum().backward()
        assert torch.equal(leaf.grad.to_dense(), torch.where(sample() != 0, random(8), 0))
    else:
        with pytest.raises(st.Unsupported, match="gradients"):
            stt.from_torch(getattr(sample(), layout)(*blocks).requires_grad_())


def test_dense_tensors_share_their_memory():
    for x in (random(6, 8), random(2, 3, 4), random(5)):
        A = stt.from_torch(x, "dense" if x.dim() == 2 else f"dense({x.dim()})")
        dense = A.to_dense()
        assert A.values().data_ptr() == x.data_ptr() == dense.data_ptr() and torch.equal(dense, x)
    x = random(6, 8).requires_grad_()
    A = stt.from_torch(x, "dense")
    (A.to_dense() * sample()).sum().backward()
    assert torch.equal(x.grad, sample())
    other = stt.from_torch(x, "(i, j) -> (j: dense, i: dense)")
    assert other.values().data_ptr() != x.data_ptr() and torch.equal(other.to_dense(), x)
    assert torch.equal(stt.from_torch(x.detach().t(), "dense").to_dense(), x.detach().t())


def test_twice_stored_elements_are_added():
    x = torch.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 2), requires_grad=True)
    A = stt.from_torch(x)
    assert A.to_dense().tolist() == [[0, 3], [3, 0]]
    A.sum().backward()
    assert x.grad.to_dense().tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("text", FORMATS)
def test_saved_copied_and_pickled(text):
    A = stt.from_torch(sample(), text)
    file = io.BytesIO()
    torch.save({"A": A}, file)
    file.seek(0)
    for B in (torch.load(file, weights_only=True)["A"], pickle.loads(pickle.dumps(A)), copy.deepcopy(A), copy.copy(A)):
        assert type(B) is stt.Tensor and B.format == A.format and torch.equal(B.to_dense(), sample())
    assert copy.deepcopy(A).pattern is A.pattern and hash(pickle.loads(pickle.dumps(A)).pattern) == hash(A.pattern)


@pytest.mark.parametrize("text", [f for f in FORMATS if f != "BSR(4, 4) + COO"])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("f", [torch.softmax, torch.log_softmax])
def test_softmax_of_stored_elements(f, dim, text):
    A, dense = stt.from_torch(sample(), text).requires_grad_(), sample().requires_grad_()
    there = stored(A.pattern)
    want = torch.where(there, f(torch.where(there, dense, -torch.inf), dim), 0)
    got = f(A, dim)
    assert got.pattern is A.pattern
    torch.testing.assert_close(got.to_dense(), torch.nan_to_num(want, nan=0.0))
    g = random(6, 8)
    torch.where(there, got.to_dense() * g, 0).sum().backward()
    torch.where(there, torch.nan_to_num(want) * g, 0).sum().backward()
    torch.testing.assert_close(A.grad.to_dense(), torch.where(there, torch.nan_to_num(dense.grad), 0))


def test_patterns_are_equal_by_content():
    A, B = stt.from_torch(sample(), "CSR"), stt.from_torch(2 * sample(), "CSR")
    C = stt.from_torch(sample(seed=1), "CSR")
    assert A.pattern == B.pattern and len({A.pattern, B.pattern, C.pattern}) == 2 and A.pattern != C.pattern
    assert (A + B).pattern is A.pattern and torch.equal((A * C).to_dense(), sample() * sample(seed=1))
    assert torch.equal((A + C).to_dense(), sample() + sample(seed=1))


def test_strict_and_the_count_of_dense_copies():
    A = stt.from_torch(sample(), "CSR")
    before = stt.densified["exp"]
    torch.exp(A)
    assert stt.densified["exp"] == before + 1
    with stt.strict(), pytest.raises(st.Unsupported, match="exp has no sparse form"):
        torch.exp(A)
    torch.exp(A)


def test_changes_that_would_be_lost_are_refused():
    A = stt.from_torch(sample(), "CSR")
    for change in (
        lambda: A.zero_(),
        lambda: A.add_(1),
        lambda: A.__setitem__((0, 0), 1.0),
        lambda: torch.nn.init.zeros_(A),
    ):
        with pytest.raises(st.Unsupported, match="change a dense copy"):
            change()
    assert torch.equal(A.to_dense(), sample())


def test_what_does_not_fit_is_an_error():
    A = stt.from_torch(sample(), "CSR")
    with pytest.raises(st.TensorError, match="shapes of a product"):
        A @ torch.ones(7, dtype=torch.float64)
    with pytest.raises(st.DTypeError, match="one dtype"):
        A @ torch.ones(8)
    with pytest.raises(st.TensorError, match="values do not fit"):
        stt.Tensor(torch.ones(3), A.pattern)


def test_printed():
    A = stt.from_torch(sample(), "CSR")
    assert repr(A) == repr(st.from_dense(sample().numpy(), "CSR"))
    assert repr(A.requires_grad_()).endswith("requires_grad=True")
    assert (A.shape, A.dtype, A.device, A.dim(), len(A)) == ((6, 8), torch.float64, torch.device("cpu"), 2, 6)
