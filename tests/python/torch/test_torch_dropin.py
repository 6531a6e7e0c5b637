"""strata.torch.dropin: torch's names, with sparse tensors through our compiler; rearrange; einsums that wait until they are read."""

import copy
import pickle
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
import strata.torch.dropin as dropin  # noqa: E402
from strata.torch._deferred import Deferred  # noqa: E402
from strata.torch.dropin.nn import functional as F  # noqa: E402


def sparse(*shape, density=0.3):
    torch.manual_seed(len(shape))
    return torch.randn(shape) * (torch.rand(shape) < density)


# torch's names


def test_names_are_torchs():
    import strata.torch.dropin.linalg
    import strata.torch.dropin.nn.functional
    import strata.torch.dropin.optim as optim
    import strata.torch.dropin.utils.data as data

    assert dropin.Tensor is torch.Tensor and dropin.float32 is torch.float32 and dropin.nn.Linear is torch.nn.Linear
    assert optim is torch.optim and data is torch.utils.data and dropin.optim is torch.optim
    assert dropin.nn.functional is F is strata.torch.dropin.nn.functional
    assert dropin.linalg is strata.torch.dropin.linalg and dropin.no_grad is torch.no_grad
    assert set(dir(torch)) <= set(dir(dropin)) and "rearrange" in dir(dropin)
    assert torch.optim.__spec__.name == "torch.optim" and "strata" not in torch.nn.__name__
    with pytest.raises(AttributeError, match="nonsense"):
        dropin.nonsense  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        import strata.torch.dropin.nonsense  # noqa: F401
    names = "relu softmax matmul einsum arange full zeros".split()
    for name in names:
        assert callable(getattr(dropin, name))
    assert pickle.loads(pickle.dumps(dropin.relu)).__wrapped__ is torch.relu


def test_settings_reach_torch():
    before = torch.get_num_threads()
    dropin.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    dropin.a_name_of_mine = 3
    assert torch.a_name_of_mine == 3
    del torch.a_name_of_mine


def test_dense_tensors_are_torchs():
    x = dropin.randn(3, 4)
    assert type(x) is torch.Tensor and type(dropin.matmul(x, x.T)) is torch.Tensor
    assert type(F.relu(x)) is torch.Tensor
    model = dropin.nn.Sequential(dropin.nn.Linear(4, 2), dropin.nn.ReLU())
    optimizer = dropin.optim.SGD(model.parameters(), 0.1)
    model(x).sum().backward()
    optimizer.step()
    assert torch.equal(copy.deepcopy(model)(x), model(x))


LAYOUTS = [
    lambda x: x.to_sparse(),
    lambda x: x.to_sparse_csr(),
    lambda x: x.to_sparse_csc(),
    lambda x: x.to_sparse_bsr((2, 2)),
    lambda x: stt.from_torch(x, "BSR(2, 3)"),
    lambda x: stt.from_torch(x, "DIA"),
]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_tensors_go_through_our_compiler(layout):
    a, b, w = sparse(6, 6), torch.randn(6, 5), torch.randn(4, 6)
    A = layout(a)
    calls = [
        (lambda t, A: t.matmul(A, b), a @ b),
        (lambda t, A: t.mm(A, b), a @ b),
        (lambda t, A: t.nn.functional.linear(A, w), a @ w.T),
        (lambda t, A: t.nn.functional.linear(b.T, A), b.T @ a.T),
        (lambda t, A: t.einsum("ij,jk->ki", A, b), (a @ b).T),
        (lambda t, A: t.sum(A, 0), a.sum(0)),
        (lambda t, A: t.tensordot(A, b, 1), a @ b),
        (lambda t, A: t.nn.functional.relu(A), a.relu()),
        (lambda t, A: t.mul(A, 2.0), a * 2),
        (lambda t, A: t.cat([A, A]), torch.cat([a, a])),
        (lambda t, A: t.sparse.mm(A, b), a @ b),
        (lambda t, A: t.transpose(A, 0, 1), a.T),
    ]
    with stt.strict():
        for call, want in calls:
            got = call(dropin, A)
            assert isinstance(got, (stt.Tensor, torch.Tensor)) and got.layout == torch.strided
            got = got.to_dense() if isinstance(got, stt.Tensor) else got
            torch.testing.assert_close(got, want)
    assert isinstance(dropin.nn.functional.relu(A), stt.Tensor)


@pytest.mark.filterwarnings("ignore:Sparse")
def test_what_is_made_sparse_is_ours():
    A = dropin.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3))
    assert isinstance(A, stt.Tensor) and A.nse == 2 and A.to_dense().tolist() == [[0, 0, 1], [5, 0, 0]]
    B = dropin.sparse_csr_tensor([0, 1, 2], [2, 0], [1.0, 5.0], (2, 3))
    assert isinstance(B, stt.Tensor) and B.format == st.formats.CSR and dropin.equal(A, B)
    assert (A @ torch.ones(3)).tolist() == [1, 5]


# rearrange


@pytest.mark.parametrize("shape, equation, sizes, want", [
    ((2, 3), "bd->bnd", dict(n=4), lambda x: x[:, None].expand(2, 4, 3)),
    ((2, 3), "bd -> db", {}, lambda x: x.T),
    ((2, 3), "b d -> n b d m", dict(n=2, m=3), lambda x: x[None, :, :, None].expand(2, 2, 3, 3)),
    ((2, 6), "b (h d) -> b h d", dict(h=2), lambda x: x.reshape(2, 2, 3)),
    ((2, 6), "b (h d) -> (b h) d", dict(d=3), lambda x: x.reshape(4, 3)),
    ((4, 6), "(a b) (c d) -> a c (b d)", dict(a=2, d=2), lambda x: x.reshape(2, 2, 3, 2).permute(0, 2, 1, 3).reshape(2, 3, 4)),
    ((2, 3, 4), "bhw->b(hw)", {}, None),
    ((2, 3, 4), "b h w -> b (w h)", {}, lambda x: x.permute(0, 2, 1).reshape(2, 12)),
    ((3,), "i->ij", dict(j=2), lambda x: x[:, None].expand(3, 2)),
    ((0, 3), "bd->bnd", dict(n=2), lambda x: x[:, None].expand(0, 2, 3)),
])  # fmt: skip
def test_rearrange(shape, equation, sizes, want):
    x = sparse(*shape, density=0.5)
    if want is None:
        with pytest.raises(st.ExpressionError):
            dropin.rearrange(x, equation, **sizes)
        return
    y = dropin.rearrange(x, equation, **sizes)
    assert torch.equal(y, want(x))
    if y.numel() and "(" not in equation:
        assert y.data_ptr() == x.data_ptr()  # a view, new axes too
    with stt.strict():
        for format in ("COO", "CSF"):
            A = stt.from_torch(x, st.Format(format, x.dim())).requires_grad_()
            B = dropin.rearrange(A, equation, **sizes)
            assert isinstance(B, stt.Tensor) and torch.equal(B.detach().to_dense(), want(x))
            B.values().sum().backward()
            if A.nse:
                assert float(A.grad.values()[0]) == y.numel() / x.numel()
        for theirs in (x.to_sparse(), x.to_sparse_csr() if x.dim() == 2 else x.to_sparse()):
            B = dropin.rearrange(theirs, equation, **sizes)
            assert isinstance(B, stt.Tensor) and torch.equal(B.to_dense(), want(x))


@pytest.mark.parametrize("equation, sizes, says", [
    ("bd", {}, "two sides"),
    ("bd->b", {}, "keeps each axis"),
    ("bd->bbd", {}, "keeps each axis"),
    ("bd->bnd", {}, "the new axis n has no size"),
    ("bd->bnd", dict(n=2, k=3), "a size for no axis"),
    ("b(hd)->bhd", {}, "b"),
    ("b (h d) -> b h d", {}, "does not come to 6"),
    ("b (h d) -> b h d", dict(h=4), "does not come to 6"),
    ("b d -> b d", dict(d=5), "does not come to 6"),
    ("bcd->bcd", {}, "2 axes"),
    ("b-d->bd", {}, "rearrange"),
    ("b ((h) d) -> b h d", {}, "does not read"),
])  # fmt: skip
def test_rearrange_refuses(equation, sizes, says):
    with pytest.raises(st.Error, match=says):
        dropin.rearrange(torch.randn(2, 6), equation, **sizes)


# Einsums that wait


def experts(batch=6, count=4, inner=5, outer=3, seed=0):
    torch.manual_seed(seed)
    x, E = torch.randn(batch, inner), torch.randn(count, inner, outer)
    gates = torch.nn.functional.one_hot(torch.rand(batch, count).argmax(1), count)
    return x, E, gates


def plain(x, E, gates):
    y = torch.einsum("bnd,ndh->bnh", x[:, None].expand(-1, len(E), -1), E)
    return torch.einsum("bnd,bn->bd", y, gates.to(E.dtype))


def written(x, E, gates):
    y = dropin.einsum("bnd,ndh->bnh", dropin.rearrange(x, "bd->bnd", n=len(E)), E)
    return y, dropin.einsum("bnd,bn->bd", y, gates)


@pytest.mark.parametrize("kind", ["int64", "float", "bool", "to_sparse", "CSC", "CSR of two"])
def test_only_the_chosen_experts_are_computed(kind):
    x, E, gates = experts()
    want = plain(x, E, gates)
    given = {
        "int64": gates,
        "float": gates.float(),
        "bool": gates.bool(),
        "to_sparse": gates.to_sparse(),
        "CSC": stt.from_torch(gates.float(), "CSC"),
        "CSR of two": stt.from_torch(gates.float(), "CSR"),
    }[kind]
    x.requires_grad_(), E.requires_grad_()
    with dropin.watch_einsum() as work:
        _, y = written(x, E, given)
        assert (not work) == (type(y) is Deferred)
        torch.testing.assert_close(y + 0, want)
    # 6 of the 24 pairs: a quarter of the products
    assert [w.products * 4 for w in work] == [w.dense for w in work] == [2 * 6 * 4 * 5 * 3]
    g = torch.randn(6, 3)
    found = torch.autograd.grad(y, (x, E), g)
    for a, b in zip(found, torch.autograd.grad(plain(x, E, gates), (x, E), g)):
        torch.testing.assert_close(a, b)


def test_on_one_line():
    x, E, gates = experts()
    for g in (gates, gates.to_sparse()):
        with dropin.watch_einsum() as work:
            y = dropin.einsum("bd,ndh,bn->bh", x, E, g) + 0
        torch.testing.assert_close(y, plain(x, E, gates))
        assert work[0].products * 4 == work[0].dense


def test_sparse_gates_learn_at_their_elements():
    x, E, gates = experts()
    G = stt.from_torch(gates.float()).requires_grad_()
    dense = gates.float().requires_grad_()
    written(x, E, G)[1].square().sum().backward()
    plain(x, E, dense).square().sum().backward()
    torch.testing.assert_close(G.grad.to_dense(), dense.grad * gates)


def test_dense_gates_that_learn_are_computed_everywhere():
    x, E, gates = experts()
    g = gates.float().requires_grad_()
    with dropin.watch_einsum() as work:
        written(x, E, g)[1].square().sum().backward()
    assert all(w.products == w.dense for w in work) and len(work) == 2
    other = gates.float().requires_grad_()
    plain(x, E, other).square().sum().backward()
    torch.testing.assert_close(g.grad, other.grad)
    assert (g.grad != 0).all()  # at the zeros, too


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_what_is_not_finite_stays_so(number):
    x, E, gates = experts()
    E[0, 1, 2] = number  # and 0 times it is NaN
    y = written(x, E, gates)[1] + 0
    torch.testing.assert_close(y, plain(x, E, gates), equal_nan=True)
    assert y.isnan().any()


def test_the_first_einsum_can_be_read_too():
    x, E, gates = experts()
    inner, y = written(x, E, gates)
    want = torch.einsum("bd,ndh->bnh", x, E)
    torch.testing.assert_close(inner + 0, want)
    torch.testing.assert_close(y + 0, plain(x, E, gates))
    inner.mul_(2)  # what is read afterwards has been changed
    torch.testing.assert_close(dropin.einsum("bnd,bn->bd", inner, gates) + 0, 2 * plain(x, E, gates))


CHAINS = [
    (("ij,jk->ik", "ik,kl->il"), [(3, 4), (4, 5), (5, 2)]),
    (("ij,jk->ik", "kl,ik->li"), [(3, 4), (4, 5), (5, 2)]),
    (("ij,jk->ki", "ki,kl->"), [(3, 4), (4, 5), (5, 2)]),
    (("ii->i", "i,ij->j"), [(4, 4), (4, 3)]),
    (("ij->ji", "ab,bc->ac"), [(4, 3), (4, 2)]),
    (("i,j->ij", "aa,a->a"), [(4,), (4,), (4,)]),
    (("...ij,...jk->...ik", "...ik,kl->...il"), [(2, 3, 4), (2, 4, 5), (5, 2)]),
    (("ij,jk", "ik,kl"), [(3, 4), (4, 5), (5, 2)]),
]


@pytest.mark.parametrize("equations, shapes", CHAINS)
@pytest.mark.parametrize("density", [1.0, 0.2])
def test_chains(equations, shapes, density):
    torch.manual_seed(0)
    operands = [torch.randn(s) for s in shapes]
    operands[-1] = operands[-1] * (torch.rand(shapes[-1]) < density)
    count = equations[0].partition("->")[0].count(",") + 1
    rest = operands[count:]

    def run(einsum):
        first = einsum(equations[0], *operands[:count])
        ordered = [rest[0], first] if equations[1].startswith("kl,") else [first, *rest]
        return einsum(equations[1], *ordered)

    y = run(dropin.einsum)
    assert type(y) is Deferred and y.shape == run(torch.einsum).shape
    torch.testing.assert_close(y + 0, run(torch.einsum))


def test_a_waiting_tensor_behaves_as_one():
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    want = torch.einsum("ij,jk->ik", x, w)

    def y():
        return dropin.einsum("ij,jk->ik", x, w)

    t = y()
    assert isinstance(t, torch.Tensor) and t.shape == (3, 5) and t.dtype == torch.float32 and t.requires_grad
    assert t.dim() == 2 and len(t) == 3 and t.size(1) == 5 and t.how is not None  # nothing has been read
    assert torch.equal(t.detach(), want) and t.how is None
    assert y().tolist() == want.tolist() and torch.equal(y()[1], want[1]) and torch.equal(y().T, want.T)
    assert np.array_equal(np.asarray(y().detach()), want.detach().numpy()) and repr(y()).startswith("tensor([[")
    assert [row.sum().item() for row in y()] == [row.sum().item() for row in want]
    assert torch.equal(torch.stack([y(), y()]), torch.stack([want, want]))
    assert type(pickle.loads(pickle.dumps(y().detach()))) is torch.Tensor
    assert torch.equal(copy.deepcopy(dropin.einsum("ij,jk->ik", x.detach(), w.detach())), want)
    t = y()
    t += 1
    assert torch.equal(t, want + 1)
    with torch.no_grad():
        t = y()
    assert not t.requires_grad and not (t * 2).requires_grad
    (y() ** 2).sum().backward()
    torch.testing.assert_close(x.grad, 2 * want.detach() @ w.detach().T)


def test_code_that_takes_it_unread_keeps_its_gradient():
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
    Triple.apply(dropin.einsum("ij,jk->ik", x, w)).sum().backward()
    torch.testing.assert_close(x.grad, (3 * w.sum(1)).expand(3, 4))


def test_operands_must_not_change_before():
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    y = dropin.einsum("ij,jk->ik", x, w)
    x.add_(1)
    with pytest.raises(
        st.Unsupported, match=r"an operand changed in place[\s\S]*Einsum of \(3, 4\), \(4, 5\)[\s\S]*clone"
    ):
        y + 0
    y = dropin.einsum("ij,jk->ik", x, w).clone()
    x.add_(1)
    torch.testing.assert_close(y, (x - 1) @ w)


def test_errors_come_at_once():
    with pytest.raises(RuntimeError):
        dropin.einsum("ij,jk->ik", torch.randn(3, 4), torch.randn(5, 2))
    with pytest.raises(st.TensorError):
        dropin.einsum("ij,jk->ik", stt.from_torch(torch.eye(3)), torch.randn(5, 2))


def test_where_nothing_waits():
    x, w = torch.randn(3, 4), torch.randn(4, 5)
    with torch.autocast("cpu", torch.bfloat16):
        assert dropin.einsum("ij,jk->ik", x, w).dtype == torch.bfloat16
    torch.testing.assert_close(dropin.einsum(x, [0, 1], w, [1, 2], [0, 2]), x @ w)
    torch.testing.assert_close(dropin.einsum("ij,jk->ik", [x, w]) + 0, x @ w)
    found = torch.func.vmap(lambda x: dropin.einsum("j,jk->k", x, w))(x)
    torch.testing.assert_close(found, x @ w)
    assert "strata.torch.dropin" in sys.modules
