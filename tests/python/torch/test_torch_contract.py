"""Products of any tensors, sparse and dense, against the dense computation: results, gradients, gradients of gradients."""

import pytest

torch = pytest.importorskip("torch")
from test_torch_tensor import FORMATS, random, sample, stored  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch._contract import contract  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore::strata.torch.DensifiedWarning")

CUBES = [
    *("COO(3)", "CSF(3)", "dense(3)", "(b, i, j) -> (b: dense, i: dense, j: compressed)"),
    "(b, i, j) -> (b: batch, i: dense, j: compressed)",
    "(b, i, j) -> (b: dense, i / 2: dense, j / 3: compressed, i % 2: dense, j % 3: dense)",
]


def agree(f, *operands, kind=torch.Tensor):
    """f of operands, of which pairs (dense tensor, format) become sparse, is what it is of dense ones, and so are gradients."""
    ours, dense = [], []
    for x in operands:
        x, text = x if isinstance(x, tuple) else (x, None)
        ours.append((stt.from_torch(x, text) if text else x.clone()).requires_grad_())
        dense.append(x.clone().requires_grad_())
    before = sum(stt.densified.values())
    got, want = f(*ours), f(*dense)
    assert sum(stt.densified.values()) == before and type(got) is kind
    g = torch.randn(want.shape, dtype=want.dtype, generator=torch.Generator().manual_seed(7))
    if kind is stt.Tensor:
        g = torch.where(stored(got.pattern), g, 0)
        got = got.to_dense()
    torch.testing.assert_close(got, want)
    got.backward(g)
    want.backward(g)
    for a, b in zip(ours, dense):
        if not isinstance(a, stt.Tensor):
            torch.testing.assert_close(a.grad, b.grad)
        elif a.pattern.once:
            torch.testing.assert_close(a.grad.to_dense(), torch.where(stored(a.pattern), b.grad, 0))


def einsum(text):
    return lambda *operands: torch.einsum(text, *operands)


EINSUMS = {  # the sparse operand has the letters ij
    "ij,bjk->bik": [(2, 8, 3)],
    "bki,ij->bkj": [(2, 3, 6)],
    "ij->j": [],
    "ij,jj,ik->k": [(8, 8), (6, 3)],
}
MORE_EINSUMS = {
    "ij->": [],
    "ij,kl->ikjl": [(2, 3)],
    "ij,jk,kl->il": [(8, 3), (3, 2)],
    "ij,ji": [(8, 6)],
    "ij,...j->...i": [(2, 3, 8)],
    "ij,kj->ik": [(4, 1)],
    "ij,jab,b->ia": [(8, 2, 3), (3,)],
}


@pytest.mark.parametrize(
    "spec, text",
    [
        *((spec, text) for spec in EINSUMS for text in FORMATS),
        *((spec, text) for spec in MORE_EINSUMS for text in ("CSR", "BSR(4, 3)")),
    ],
)
def test_einsum(spec, text):
    operands = [random(*shape) for shape in (EINSUMS | MORE_EINSUMS)[spec]]
    operands.insert(spec.partition("->")[0].split(",").index("ij"), (sample(), text))
    agree(einsum(spec), *operands)


@pytest.mark.parametrize("text", FORMATS)
def test_einsum_with_the_letters_of_a_sparse_operand_is_sparse(text):
    A = (sample(), text)
    agree(einsum("ij,ik,jk->ij"), A, random(6, 3), random(8, 3), kind=stt.Tensor)
    agree(einsum("ij,i->ji"), A, random(6), kind=stt.Tensor)
    agree(einsum("ij,->ij"), A, random(), kind=stt.Tensor)


@pytest.mark.parametrize("text", FORMATS)
def test_einsum_of_diagonals(text):
    A = (sample((6, 6)), text)
    agree(einsum("ii->i"), A)
    agree(einsum("ii"), A)
    agree(einsum("ii,ik->k"), A, random(6, 2))


@pytest.mark.parametrize("text", FORMATS)
def test_einsum_of_several_sparse(text):
    """Elements that meet nothing have the gradient 0; a row of the second one is empty."""
    A, B, C = sample(), sample((8, 5), 1), sample((5, 6), 2)
    B[3] = 0
    product = torch.Tensor if text == "dense" else stt.Tensor
    agree(einsum("ij,jk->ik"), (A, text), (B, "CSR"), kind=product)
    agree(lambda B, A: torch.matmul(B.T, A.T), (B, "COO"), (A, text), kind=product)
    agree(einsum("ij,jk,ki->"), (A, text), (B, "CSC"), (C, "COO"))
    agree(einsum("ij,jk,kl->il"), (A, text), (B, "CSR"), random(5, 2))
    if text != "dense":
        agree(einsum("ij,ij->ij"), (A, text), (sample(seed=3), "CSR"), kind=stt.Tensor)


@pytest.mark.parametrize("text", CUBES)
def test_batches(text):
    A = sample((3, 4, 6))
    A[1] = 0
    for f, *operands in (
        (torch.bmm, (A, text), random(3, 6, 2)),
        (torch.bmm, random(3, 2, 4), (A, text)),
        (torch.matmul, (A, text), random(2, 3, 6, 2)),
        (torch.matmul, (A, text), random(2, 1, 6, 2)),
        (torch.matmul, (A[:1], text), random(2, 3, 6, 2)),
        (torch.matmul, (A, text), random(6)),
        (torch.matmul, random(4), (A, text)),
        (lambda a, b: a @ b, random(2, 4), (A, text)),
        (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), random(3, 4, 2), (A, text), random(3, 6, 2)),
        (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5), (A, text), random(3, 4, 2), random(3, 2, 6)),
        (lambda c, a, b: torch.addbmm(c, a, b, alpha=2), random(4, 2), (A, text), random(3, 6, 2)),
        (torch.addbmm, (A[0].clone(), "CSR"), random(3, 4, 2), random(3, 2, 6)),
        (lambda a, b: torch.tensordot(a, b, 1), (A, text), random(6, 2, 2)),
        (lambda a, b: torch.tensordot(a, b, ([0, -1], [1, 0])), (A, text), random(6, 3, 2)),
        (torch.inner, random(2, 6), (A, text)),
        (torch.linalg.vecdot, (A, text), random(3, 4, 6)),
        (torch.nn.functional.linear, (A, text), random(2, 6), random(2)),
    ):
        agree(f, *operands)


@pytest.mark.parametrize("text", CUBES)
def test_sparse_batches(text):
    A, B = sample((3, 4, 6)), sample((3, 6, 5), 1)
    kind = torch.Tensor if text == "dense(3)" else stt.Tensor
    agree(torch.bmm, (A, text), (B, "COO(3)"), kind=kind)
    agree(torch.matmul, (A, text), (B[0].clone(), "CSR"), kind=kind)
    agree(torch.kron, (A, text), (B, "CSF(3)"), kind=stt.Tensor)
    agree(torch.kron, random(2, 2, 2), (A, text), kind=stt.Tensor)


@pytest.mark.parametrize("text", ["COO(1)", "dense(1)", "(i) -> (i: compressed)"])
def test_vectors(text):
    a = sample((9,))
    for f in (torch.dot, torch.inner, torch.vdot, torch.outer, torch.matmul, torch.ger):
        agree(f, (a, text), random(9))
        agree(f, random(9), (a, text))
        agree(f, (a, text), (sample((9,), 1), "COO(1)"))
    agree(torch.mv, random(4, 9), (a, text))
    agree(lambda *x: torch.linalg.multi_dot(x), (a, text), (sample((9, 4)), "CSR"), random(4, 2))
    agree(lambda a, b: a.__rmatmul__(b), (a, text), random(4, 9))


def test_explained():
    A = stt.from_torch(sample((2, 3, 4)), "COO(3)")
    (weight,) = stt.explain(lambda x: torch.bmm(A, x), random(2, 4, 2)).weights
    (site,) = weight.sites
    assert site.sparse and (site.operator, site.why) == ("bmm", "aij,ajk->aik")


def test_beta_0_reads_nothing():
    A, nan = stt.from_torch(sample((2, 3, 4)), "COO(3)"), torch.full((2, 3, 2), torch.nan, dtype=torch.float64)
    assert torch.equal(torch.baddbmm(nan, A, random(2, 4, 2), beta=0), A @ random(2, 4, 2))


def test_absent_elements_annihilate():
    A = stt.from_torch(torch.eye(3), "CSR")
    x = torch.tensor([[1.0, torch.inf], [torch.nan, 2.0], [3.0, 4.0]])
    want = torch.stack([x, 2 * x])
    torch.testing.assert_close(torch.einsum("ij,bjk->bik", A, want), want, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex128, torch.int64])
def test_dtypes(dtype):
    A, x = sample((2, 6, 8)).to(dtype), random(2, 8, 3).to(dtype)
    if dtype.is_complex:
        A, x = A * (1 + 2j), x * 1j + random(3, 8)[..., None].sum(0)
    got = torch.bmm(stt.from_torch(A, "COO(3)"), x)
    assert got.dtype == dtype
    close = {"rtol": 2e-2, "atol": 1e-1} if dtype == torch.bfloat16 else {}
    torch.testing.assert_close(got, torch.bmm(A, x), **close)
    if dtype.is_complex:
        agree(torch.bmm, (A, "COO(3)"), x)


def test_autocast():
    A, x = stt.from_torch(sample((2, 6, 8)).float(), "COO(3)").requires_grad_(), random(2, 8, 3).float()
    with torch.autocast("cpu", torch.bfloat16):
        y = torch.bmm(A, x)
    y.float().sum().backward()
    assert y.dtype == torch.bfloat16 and A.grad.dtype == torch.float32


def test_what_does_not_fit_is_an_error():
    A = stt.from_torch(sample((2, 3, 4)), "COO(3)")
    for wrong in (
        lambda: torch.bmm(A, random(1, 4, 2)),
        lambda: A @ random(2, 3, 2),
        lambda: torch.einsum("bij,bjk->bik", A, random(3, 4, 2)),
        lambda: torch.einsum("ij->j", A),
        lambda: torch.tensordot(A, random(3, 2), 1),
        lambda: torch.tensordot(A, random(3, 2), ([0], [1, 0])),
        lambda: torch.dot(stt.from_torch(sample((9,))), random(8)),
    ):
        with pytest.raises(st.TensorError):
            wrong()
    with pytest.raises(st.DTypeError, match="one dtype"):
        torch.bmm(A, random(2, 4, 2).float())


# The operator itself.


def operands(kind, text):
    """spec, operands, patterns and the pattern of the result."""
    A, B = stt.from_torch(sample((4, 5)), text), stt.from_torch(sample((5, 3), 1), "CSR")
    C = A @ B
    return {
        "contract": ("ij,bjk->bik", [A.values(), random(2, 5, 2)], [A.pattern, None], None),
        "sampled": ("bik,bjk->ij", [random(2, 4, 2), random(2, 5, 2)], [None, None], A.pattern),
        "repeated": ("i->ij", [random(4)], [None], A.pattern),
        "sparse": ("ij,jk->ik", [A.values(), B.values()], [A.pattern, B.pattern], C.pattern),
    }[kind]


def on_dense(spec, tensors, patterns, out):
    dense = [x if p is None else p.scatter(x) for x, p in zip(tensors, patterns)]
    if out is None:
        return torch.einsum(spec, *dense)
    inputs, result = spec.split("->")
    ones = torch.ones(out.shape, dtype=dense[0].dtype)
    return out.gather(torch.einsum(f"{inputs},{result}->{result}", *dense, ones))


KINDS = ["contract", "sampled", "repeated", "sparse"]


@pytest.mark.parametrize("text", ["CSR", "BSR(2, 2) + COO"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_any_order(kind, text):
    spec, tensors, patterns, out = operands(kind, text)
    tensors = [x.clone().requires_grad_() for x in tensors]
    f = lambda *tensors: contract(spec, tensors, patterns, out)  # noqa: E731
    torch.testing.assert_close(f(*tensors), on_dense(spec, tensors, patterns, out))
    assert torch.autograd.gradcheck(f, tensors, fast_mode=True)
    assert torch.autograd.gradgradcheck(f, tensors, fast_mode=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_operator_is_what_torch_wants(kind):
    spec, tensors, patterns, out = operands(kind, "BSR(2, 2) + COO" if kind == "sampled" else "CSR")
    places = (*patterns, out)
    index = [array for p in places if p is not None for array in p.index]
    layouts = "; ".join("" if p is None else p.layout for p in places)
    tensors = [x.clone().requires_grad_() for x in tensors]
    torch.library.opcheck(torch.ops.strata.contract_v1.default, (tensors, index, layouts, spec))


TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(f)(*x),
    "hessian": lambda f, x: torch.func.hessian(f)(*x),
    "jvp": lambda f, x: torch.func.jvp(f, tuple(x), tuple(x))[1],
    "vmap": lambda f, x: torch.vmap(f, (0, *[None] * (len(x) - 1)))(torch.stack([x[0], 2 * x[0]]), *x[1:]),
    "vmap of grad of the last": lambda f, x: torch.vmap(torch.func.grad(f), (*[None] * (len(x) - 1), 0))(
        *x[:-1], torch.stack([x[-1], 2 * x[-1]])
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_func(name, kind):
    spec, tensors, patterns, out = operands(kind, "CSR")
    ours = lambda *x: contract(spec, x, patterns, out).square().sum()  # noqa: E731
    dense = lambda *x: on_dense(spec, x, patterns, out).square().sum()  # noqa: E731
    run = TRANSFORMS[name]
    torch.testing.assert_close(run(ours, tensors), run(dense, tensors))


def test_func_of_sparse_products():
    A, B = stt.from_torch(sample(), "CSR"), stt.from_torch(sample((8, 5), 1), "CSR")
    f = lambda v: (stt.Tensor(v, A.pattern) @ B).values().square().sum()  # noqa: E731
    dense = lambda v: (A.pattern.scatter(v) @ B.to_dense()).square().sum()  # noqa: E731
    torch.testing.assert_close(torch.func.grad(f)(A.values()), torch.func.grad(dense)(A.values()))


def test_compiled():
    spec, tensors, patterns, out = operands("contract", "CSR")
    f = lambda *x: contract(spec, x, patterns, out).square().sum()  # noqa: E731
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    ours, dense = ([x.clone().requires_grad_() for x in tensors] for _ in range(2))
    compiled(*ours).backward()
    on_dense(spec, dense, patterns, out).square().sum().backward()
    for a, b in zip(ours, dense):
        torch.testing.assert_close(a.grad, b.grad)
