"""Indexing and other shapes of stt.Tensor against the dense tensor, results and gradients, without a dense copy."""

import pytest

torch = pytest.importorskip("torch")
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import _elements, _shapes  # noqa: E402

T = torch.tensor
MASK = sample(seed=3) > 0
ODD, EVEN = T([True, False] * 3), T([False, True] * 4)

PARTS = {  # sparse results
    "row": lambda A: A[1],
    "last row": lambda A: A[-1],
    "row by a tensor": lambda A: A[T(2)],
    "column": lambda A: A[..., 2],
    "steps": lambda A: A[1:5:2, ::3],
    "new dimensions": lambda A: A[None, 1:3, None],
    "everything": lambda A: A[()],
    "no rows": lambda A: A[3:3],
    "list": lambda A: A[[1, 0, 1, -1]],
    "empty list": lambda A: A[[]],
    "matrix of columns": lambda A: A[:, T([[1, 0], [3, -4]])],
    "list of a row": lambda A: A[0, [1, 2]],
    "mask of rows": lambda A: A[ODD],
    "mask of columns": lambda A: A[1:, EVEN],
    "mask of rows, steps": lambda A: A[ODD, 1:5:2],
    "pairs, apart": lambda A: A.reshape(2, 3, 8)[[0, 1], :, [1, 2]],
    "pairs, side by side": lambda A: A.reshape(2, 3, 8)[:, [0, 1], [1, 2]],
    "pairs, first": lambda A: A.reshape(2, 3, 8)[[0, 1], [-1, 2]],
    "pairs, a new dimension between": lambda A: A.reshape(2, 3, 8)[[0, 1], None, [1, 2]],
    "a number beside a list": lambda A: A.reshape(2, 3, 8)[0, :, [1, 2]],
    "mask of two dimensions": lambda A: A.reshape(2, 3, 8)[T([[True, False, True]] * 2)],
    "select": lambda A: A.select(-1, -2),
    "narrow": lambda A: A.narrow(0, -3, 2),
    "index_select": lambda A: torch.index_select(A, 1, T([1, 1, 0])),
    "reshape": lambda A: A.reshape(4, -1),
    "view": lambda A: A.view(48),
    "flatten": lambda A: A.flatten(),
    "unflatten": lambda A: A.unflatten(1, (2, 4)),
    "unsqueeze": lambda A: A.unsqueeze(-1),
    "squeeze": lambda A: A[None].squeeze(0),
    "expand": lambda A: A.expand(2, -1, -1),
    "expand a row": lambda A: A[1:2].expand(4, 8),
    "broadcast_to": lambda A: torch.broadcast_to(A, (2, 6, 8)),
    "flip": lambda A: A.flip(0, 1),
    "fliplr": lambda A: A.fliplr(),
    "flipud": lambda A: torch.flipud(A),
    "roll": lambda A: A.roll((1, 2), (0, 1)),
    "roll all": lambda A: torch.roll(A, 5),
    "rot90": lambda A: torch.rot90(A),
    "rot90 back": lambda A: torch.rot90(A, -1),
    "repeat": lambda A: A.repeat(2, 1, 2),
    "tile": lambda A: A.tile(2),
    "repeat_interleave": lambda A: A.repeat_interleave(2, 1),
    "tril": lambda A: A.tril(),
    "triu": lambda A: torch.triu(A, 1),
    "linalg.diagonal": lambda A: torch.linalg.diagonal(A.expand(2, 6, 8), offset=1),
    "broadcast_tensors": lambda A: torch.broadcast_tensors(A, A[:, 1:2])[1],
    "diagonals": lambda A: A.expand(2, 6, 8).diagonal(0, 1, 2),
    "diag of a row": lambda A: A[1].diag(),
    "movedim": lambda A: A.reshape(2, 3, 8).movedim(0, -1),
    "adjoint": lambda A: A.reshape(2, 3, 8).adjoint(),
    "cat": lambda A: torch.cat([A, 2 * A], -1),
    "cat of dtypes": lambda A: torch.cat([A, A.float()]),
    "stack": lambda A: torch.stack([A, A], 1),
    "hstack": lambda A: torch.hstack([A, A[:, :1]]),
    "vstack": lambda A: torch.vstack([A, A[1]]),
    "dstack": lambda A: torch.dstack([A, A]),
    "column_stack": lambda A: torch.column_stack([A, A[:, 0]]),
    "block_diag": lambda A: torch.block_diag(A, A),
}
PIECES = {  # several
    "chunk": lambda A: A.chunk(3, 1),
    "split": lambda A: torch.split(A, 4),
    "split of sizes": lambda A: torch.split(A, [1, 0, 5]),
    "tensor_split": lambda A: torch.tensor_split(A, (3, 1), 1),
    "hsplit": lambda A: torch.hsplit(A, 2),
    "vsplit": lambda A: A.vsplit([2]),
    "unbind": lambda A: A.unbind(1),
    "iteration": lambda A: tuple(A),
}
ELEMENTS = {  # dense results
    "element": lambda A: A[1, 2],
    "element of a row": lambda A: A[1][2],
    "pairs": lambda A: A[[1, 0], [2, -3]],
    "pairs, broadcast": lambda A: A[T([1, 0]), T([[2], [-3]])],
    "mask": lambda A: A[MASK],
    "own mask": lambda A: A[A > 3],
    "masked_select": lambda A: A.masked_select(EVEN),
    "take": lambda A: A.take(T([[0, 40], [-1, 3]])),
    "gather": lambda A: torch.gather(A, 1, T([[0, 1], [2, 3]])),
    "take_along_dim": lambda A: torch.take_along_dim(A, T([[1, 0], [3, 3], [7, 5], [1, 0], [2, 0], [2, 1]]), 1),
    "take_along_dim, broadcast": lambda A: A.take_along_dim(T([[0], [5]]), 0),
    "take_along_dim of all": lambda A: torch.take_along_dim(A, T([3, 40, 3])),
    "diagonal": lambda A: A.diagonal(1),
    "diag": lambda A: torch.diag(A, -2),
    "trace": lambda A: A.trace(),
    "nonzero": lambda A: A.nonzero(),
    "argwhere": lambda A: torch.argwhere(A),
    "columns of nonzero": lambda A: torch.nonzero(A, as_tuple=True)[1],
}


def same_as_dense(f, text, sparse):
    """Results of one kind, equal to the dense ones, with equal gradients at what is stored, and all that under strict()."""
    dense, A = sample().requires_grad_(), stt.from_torch(sample(), text).requires_grad_()
    with stt.strict():
        got = f(A)
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, f(dense)))
    assert len(got) == len(want) and {type(x) for x in got} == {stt.Tensor if sparse else torch.Tensor}
    losses = []
    for a, b in zip(got, want):
        a = a.to_dense() if sparse else a
        assert a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)
        g = random(*b.shape) if b.dtype.is_floating_point else None
        losses += [((a * g).sum(), (b * g).sum())] if g is not None else []
    if losses:
        sum(a for a, _ in losses).backward()
        sum(b for _, b in losses).backward()
        have = torch.zeros(6, 8) if A.grad is None else A.grad.to_dense()
        torch.testing.assert_close(have.double(), torch.where(stored(A.pattern), dense.grad, 0))


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", [*PARTS, *PIECES])
def test_parts(name, text):
    same_as_dense((PARTS | PIECES)[name], text, True)


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements(name, text):
    same_as_dense(ELEMENTS[name], text, False)


def test_formats_stay_where_they_can():
    A = stt.from_torch(sample(), "BSR(2, 2)")
    assert A[1:3].format == A.format == torch.cat([A, A]).format and A.reshape(4, 12).format == st.Format("CSR")


def test_a_dense_tensor_and_a_sparse_mask():
    A, D = stt.from_torch(sample(), "CSR"), random(6, 8)
    assert torch.equal(D[A > 3], D[sample() > 3]) and torch.equal(D[:, A[0] > 0], D[:, sample()[0] > 0])


@pytest.mark.parametrize(
    "f", [lambda A: A[1:, [0, 2]], lambda A: A.flatten()[:9], lambda A: torch.cat([A, A.flip(0)])[2:8] @ A.t()]
)
def test_gradients_of_any_order(f):
    A = stt.from_torch(sample(), "CSR")
    g = lambda v: f(stt.Tensor(v, A.pattern)).square().to_dense()
    values = A.values().clone().requires_grad_()
    assert torch.autograd.gradcheck(g, values) and (f(A).dim() == 2 or torch.autograd.gradgradcheck(g, values))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_what_the_user_stored_survives():
    values = T([0.0, -0.0, float("nan"), 1.0])
    A = stt.from_torch(torch.sparse_csr_tensor(T([0, 2, 4]), T([0, 2, 1, 2]), values, (2, 3)))
    for B in (A[[1, 0]].flip(0), A.reshape(3, 2).reshape(2, 3).to("CSR"), torch.cat([A[:1], A[1:]])):
        assert B.values().isnan().tolist() == [False, False, True, False]
        assert B.values().signbit()[:2].tolist() == [False, True]


def test_the_second_call_works_nothing_out(monkeypatch):
    A = stt.from_torch(sample(), "CSR")
    first = [A[1:3], A.reshape(-1), A.chunk(2)[1]]
    monkeypatch.setattr("strata.torch._shapes._plan", None)
    for a, b in zip(first, [A[1:3], A.reshape(-1), A.chunk(2)[1]]):
        assert a.pattern is b.pattern and torch.equal(a.to_dense(), b.to_dense())
    monkeypatch.undo()
    for k in range(40):
        A[k % 6, : k % 8]
    assert len(A.pattern._derived) <= 16


KEPT = {  # f(A, B), and from which call on nothing is worked out anew
    "cat": (lambda A, B: torch.cat([A, B, A], 1), 2),
    "stack": (lambda A, B: torch.stack([A, B]), 2),
    "block_diag": (lambda A, B: torch.block_diag(A, B), 2),
    "part": (lambda A, B: A[1:4, ::2], 2),
    "list": (lambda A, B: A[[3, 0, 3]], 3),
    "list of columns": (lambda A, B: A[:, T([[0, 2]])], 3),
    "mask": (lambda A, B: A[ODD], 3),
    "index_select": (lambda A, B: torch.index_select(A, 1, T([4, 4])), 3),
    "sum": (lambda A, B: A + B, 2),
    "product": (lambda A, B: A * B, 2),
    "larger": (lambda A, B: torch.maximum(A, B) + torch.where(B > 1, A, 0), 2),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_was_worked_out_is_kept(name, monkeypatch):
    """Also beside another pattern that is equal; a list is kept when it comes a second time."""
    f, last = KEPT[name]
    made, plan, union, slots = [], _shapes._plan, _elements._combined, _elements.slots_of
    monkeypatch.setattr(_shapes, "_plan", lambda *args: made.append(1) or plan(*args))
    monkeypatch.setattr(_elements, "_combined", lambda *args: made.append(1) or union(*args))
    monkeypatch.setattr(_elements, "slots_of", lambda *args: made.append(1) or slots(*args))
    first, second = stt.from_torch(sample(), "CSR"), stt.from_torch(sample(seed=1), "BSR(2, 2)")
    for call in range(1, 5):
        A = stt.Tensor(call * first.values(), first.pattern).requires_grad_()
        B = stt.from_torch(sample(seed=1), "BSR(2, 2)") if name in ("cat", "block_diag") else second
        dense = A.to_dense().detach().requires_grad_()
        made.clear()
        got, want = f(A, B), f(dense, B.to_dense())
        assert bool(made) == (call < last)
        torch.testing.assert_close(got.to_dense(), want)
        (got * got).sum().backward()
        (want * want).sum().backward()
        torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))


def test_what_is_kept_is_told_apart_and_bounded():
    A = stt.from_torch(sample(), "CSR")
    B, C = (stt.from_torch(sample(seed=k), "CSR") for k in (1, 2))
    for _ in range(3):
        for other in (B, C, A, B.t().reshape(6, 8)):
            assert torch.equal(torch.cat([A, other]).to_dense(), torch.cat([sample(), other.to_dense()]))
            assert torch.equal((A + other).to_dense(), sample() + other.to_dense())
        for at in ([0, 1], [1, 0], [0], T([[0, 1]]), T([[0], [1]])):
            assert torch.equal(A[at].to_dense(), sample()[at])
    for k in range(100):
        A[k % 6 :, k % 8]
        A[[k % 6, k % 5]]
    assert len(A.pattern._derived) <= 16


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("few", [True, False])
def test_elements_that_are_sought(text, few, monkeypatch):
    """In a table of all elements, or among those stored."""
    monkeypatch.setattr(_elements, "_TABLE", 0 if few else 1000)
    A = stt.from_torch(sample(), text).requires_grad_()
    dense = sample().requires_grad_()
    rows, columns = T([[5, 0, -1], [0, 0, 3]]), T([[1], [-8]])
    for f in (
        lambda A: A.gather(1, T([[7, 0, 0], [1, 2, 3]])),
        lambda A: A[rows, columns],
        lambda A: A[rows, None, columns],
        lambda A: A.take(T([0, 47, 13, 13])),
        lambda A: A[MASK],
    ):
        A.grad = dense.grad = None
        got, want = f(A), f(dense)
        torch.testing.assert_close(got, want)
        g = torch.linspace(1, 2, want.numel(), dtype=want.dtype).reshape(want.shape)
        got.backward(g)
        want.backward(g)
        torch.testing.assert_close(A.grad.to_dense(), torch.where(stored(A.pattern), dense.grad, 0))
    flags = stt.from_torch(sample() > 3, text)
    assert torch.equal(flags[rows, columns], (sample() > 3)[rows, columns])


def test_a_first_call_under_inference_mode():
    A = stt.from_torch(sample(), "CSR").requires_grad_()
    with torch.inference_mode():
        A[1:3], A.sum(0)
    A[1:3].sum().backward()
    assert A.grad.sum() == A[1:3].nse


@pytest.mark.filterwarnings("ignore::strata.torch.DensifiedWarning")
def test_elements_that_are_stored_twice_go_dense():
    t = st.from_torch(sample().to_sparse_csr())
    A = stt.from_strata(st._core.make_sum([t, t]))
    with pytest.raises(st.Unsupported, match="no sparse form"), stt.strict():
        A[1:3]
    assert torch.equal(A[1:3], 2 * sample()[1:3])


def test_wrong_keys_and_arguments():
    A = stt.from_torch(sample(), "CSR")
    for wrong, error, match in (
        (lambda: A[6], IndexError, "out of bounds"),
        (lambda: A[::-1], ValueError, "step"),
        (lambda: A[0, 0, 0], IndexError, "too many indices"),
        (lambda: A[[0, 6]], st.IndexError, "dimension 0 is out of range"),
        (lambda: A[:, EVEN[:6]], st.IndexError, "mask does not fit"),
        (lambda: A[MASK[:, :3]], st.IndexError, "mask does not fit"),
        (lambda: A.take(T([48])), st.IndexError, "out of range"),
        (lambda: A.gather(1, T([[8]])), st.IndexError, "out of range"),
        (lambda: A.reshape(7, 7), RuntimeError, "invalid for input of size"),
        (lambda: A.select(2, 0), IndexError, "Dimension out of range"),
        (lambda: A.narrow(0, 5, 2), (RuntimeError, IndexError), "start"),
        (lambda: torch.cat([A, A[:, 1:]]), RuntimeError, "Sizes of tensors must match"),
        (lambda: torch.stack([A, A[1:]]), RuntimeError, "equal size"),
        (lambda: len(A[0, 0]), TypeError, "0-d"),
    ):
        with pytest.raises(error, match=match):
            wrong()
    assert len(A[:4]) == 4
