"""torch in and out: dense of any strides, every sparse layout, batched and hybrid, and the dtypes that only torch
has."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import dtypes  # noqa: E402

import strata as st  # noqa: E402

warnings.filterwarnings("ignore", message="Sparse .* tensor support is in beta")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

DTYPES = [getattr(torch, name) for name in dtypes.TORCH]
LAYOUTS = ["coo", "csr", "csc", "bsr", "bsc"]


def sample(shape=(6, 9), dtype=torch.float64, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.where(torch.rand(shape, generator=g) < 0.4, torch.randint(1, 5, shape, generator=g), 0).to(dtype)


def sparse(x, layout, **options):
    if layout == "coo":
        return x.to_sparse(**options).coalesce()
    if layout in ("bsr", "bsc"):
        return getattr(x, f"to_sparse_{layout}")((2, 3), **options)
    return getattr(x, f"to_sparse_{layout}")(**options)


def parts(x):
    if x.layout == torch.sparse_coo:
        return [x._indices(), x._values()]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [x.crow_indices(), x.col_indices(), x.values()]
    return [x.ccol_indices(), x.row_indices(), x.values()]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip_shares_memory(layout, dtype, no_copies):
    dense = sample(dtype=dtype)
    x = sparse(dense, layout)
    t = st.from_torch(x)
    assert t.shape == tuple(x.shape) and t.dtype == str(dtype).removeprefix("torch.")
    back = t.to_torch()
    assert back.layout == x.layout and back.dtype == dtype
    assert [p.data_ptr() for p in parts(back)] == [p.data_ptr() for p in parts(x)]
    assert same(back.to_dense(), dense)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense_values(layout):
    dense = sample()
    assert (st.from_torch(sparse(dense, layout)).to_dense() == dense.numpy()).all()


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_index_dtypes(index, no_copies):
    x = sample().to_sparse_csr()
    x = torch.sparse_csr_tensor(x.crow_indices().to(index), x.col_indices().to(index), x.values(), x.shape)
    t = st.from_torch(x)
    assert t.crd_dtype == str(index).removeprefix("torch.") and t.to_torch().col_indices().dtype == index


def test_uncoalesced(no_copies):
    i = torch.tensor([[0, 1, 0, 0], [1, 0, 1, 0]])
    x = torch.sparse_coo_tensor(i, torch.tensor([1.0, 2.0, 3.0, 4.0]), (2, 3))
    t = st.from_torch(x)
    assert t.nse == 4 and not t.format.is_ordered and t[0, 1] == 4.0
    assert torch.equal(torch.from_numpy(t.to_dense()), x.to_dense())
    back = t.to_torch()
    assert not back.is_coalesced() and torch.equal(back.to_dense(), x.to_dense())


def test_unsorted_csr(no_copies):
    x = torch.sparse_csr_tensor(
        torch.tensor([0, 2, 3]), torch.tensor([2, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), (2, 3), check_invariants=False
    )
    t = st.from_torch(x)
    assert not t.format.is_ordered and t.to_dense().tolist() == [[2, 0, 1], [0, 3, 0]]
    assert t.to(
        "delta(2)" if "delta" in str(st.formats.names()) else "(i, j) -> (i: dense, j: delta(2))"
    ).to_dense().tolist() == [[2, 0, 1], [0, 3, 0]]


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("batch", [(2,), (2, 3)])
def test_batched(layout, batch, no_copies):
    one = sample((4, 6))
    dense = torch.stack(
        [one.roll(k, 1) if layout in ("csr", "csc") else one * (k + 1) for k in range(int(np.prod(batch)))]
    ).reshape(*batch, 4, 6)
    if layout == "csc":
        dense = torch.stack([one * (k + 1) for k in range(int(np.prod(batch)))]).reshape(*batch, 4, 6)
    x = sparse(dense, layout)
    t = st.from_torch(x)
    assert t.shape == tuple(dense.shape) and t.format.num_batch_levels == len(batch)
    assert (t.to_dense() == dense.numpy()).all()
    back = t.to_torch()
    assert back.layout == x.layout and torch.equal(back.to_dense(), dense)
    assert [p.data_ptr() for p in parts(back)] == [p.data_ptr() for p in parts(x)]


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_dense_dimensions_behind(layout, no_copies):
    dense = sample((4, 6, 1)) * torch.tensor([1.0, 2.0])
    x = sparse(dense, layout, dense_dim=1)
    t = st.from_torch(x)
    assert t.shape == (4, 6, 2) and (t.to_dense() == dense.numpy()).all()
    back = t.to_torch()
    assert back.layout == x.layout and torch.equal(back.to_dense(), dense)


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_hybrid_coo(sparse_dim, no_copies):
    dense = sample((3, 4, 2))
    x = dense.to_sparse(sparse_dim)
    t = st.from_torch(x)
    assert t.format.num_levels == 3 and (t.to_dense() == dense.numpy()).all()
    back = t.to_torch()
    assert (
        back.sparse_dim() == sparse_dim
        and torch.equal(back.to_dense(), dense)
        and back._values().data_ptr() == x._values().data_ptr()
    )


@pytest.mark.parametrize("view", ["plain", "transposed", "stepped", "expanded", "row", "scalar", "3-d", "empty"])
def test_dense_of_any_strides(view, no_copies):
    base = torch.arange(24.0).reshape(4, 6)
    x = {
        "plain": base,
        "transposed": base.t(),
        "stepped": base[:, ::2],
        "expanded": base[:1].expand(5, 6),
        "row": base[2],
        "scalar": base[1, 2],
        "3-d": base.reshape(2, 2, 6).permute(2, 0, 1),
        "empty": base[:0],
    }[view]
    t = st.from_torch(x)
    assert t.shape == tuple(x.shape) and t.format.is_all_dense
    back = t.to_torch()
    assert torch.equal(back, x)
    if x.numel():
        assert back.data_ptr() == x.data_ptr()


def test_lazy_conjugate_is_resolved():
    x = torch.tensor([1 + 2j, 3 - 1j]).conj()
    with pytest.warns(st.CopyWarning, match="conjugate"):
        t = st.from_torch(x)
    assert t.to_dense().tolist() == [1 - 2j, 3 + 1j]


def operand_calls():
    """Every way in, by name."""
    a = torch.eye(4, dtype=torch.float64)
    A = st.from_torch(a.to_sparse_csr())
    out = np.zeros((4, 4))
    return {
        "from_torch": st.from_torch,
        "from_package": st.from_package,
        "A @ x": lambda x: A @ x,
        "x @ A": lambda x: x @ A,
        "matmul": lambda x: st.matmul(A, x),
        "Matmul": lambda x: st.Matmul(A, x),
        "matmul out": lambda x: st.matmul(A, x, out),
        "einsum": lambda x: st.einsum("ij,jk->ik", A, x),
        "evaluate": lambda x: st.evaluate("R(i,k) = A(i,j) * X(j,k)", A=A, X=x),
        "plan": lambda x: st.plan("ij,jk->ik", A, x),
        "run": lambda x: st.plan("ij,jk->ik", A, a).run(A, x),
        "explain": lambda x: st.explain("R(i,k) = A(i,j) * X(j,k)", A=A, X=x),
        "A + x": lambda x: A + x,
        "x - A": lambda x: x - A,
        "A * x": lambda x: A * x,
        "A == x": lambda x: A == x,
        "equal": lambda x: st.equal(A, x),
        "matvec": lambda x: A.matvec(x),
    }


@pytest.mark.parametrize("name", operand_calls())
def test_operands_that_require_gradients_are_refused(name):
    call = operand_calls()[name]
    for leaf in (True, False):
        for layout in ("dense", "coo", "csr", "csc") if name != "run" else ("dense",):
            x = torch.eye(4, dtype=torch.float64)
            x = (x if layout == "dense" else sparse(x, layout)).requires_grad_()
            x = x if leaf else x * 2
            with pytest.raises(st.Unsupported, match=r"\.detach\(\)"):
                call(x)
            call(x.detach())
            with torch.no_grad():  # where torch records nothing, nothing is lost
                call(x)
            with torch.inference_mode():
                call(x)


def test_values_that_require_gradients_are_refused():
    v = torch.ones(2, dtype=torch.float64, requires_grad=True)
    A = st.from_dense(np.eye(2), "CSR")
    for call in (
        lambda v: st.from_dense(v, "COO"),
        lambda v: st.from_coo(([0, 1], [1, 0]), v, (2, 2)),
        lambda v: st.Tensor("CSR", (2, 2), pos={1: [0, 1, 2]}, crd={1: [0, 1]}, values=v),
        lambda v: st.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(2), out=v * 1),
        lambda v: st.matmul(A, np.ones(2), v * 1),
    ):
        with pytest.raises(st.Unsupported, match=r"detach\(\)"):
            call(v)
        call(v.detach())


def test_no_gradient_is_lost():
    """The case of the report: the part of a loss that went through Strata was silently missing."""
    A = st.from_dense(np.eye(3, 4), "CSR")
    X = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(st.Unsupported):
        (((A @ X) ** 2).sum() + 0.1 * (X**2).sum()).backward()
    assert X.grad is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_dtypes_that_only_torch_has(dtype):
    dense = sample(dtype=torch.float32).to(dtype)
    t = st.from_dense(dense, "CSR")
    name = str(dtype).removeprefix("torch.")
    assert t.dtype == name and str(t.dtype) == name and isinstance(t.dtype, st.DType)
    assert isinstance(t.values, torch.Tensor) and t.values.dtype == dtype
    assert torch.equal(t.to("COO").to("dense").to_torch().to(torch.float32), dense.to(torch.float32))
    assert (t.to("float32").to_dense() == dense.to(torch.float32).numpy()).all()
    with pytest.raises(st.Unsupported, match=name):
        t.to_scipy()


def test_products_come_back_as_torch():
    dense = sample(dtype=torch.float32)
    for layout in LAYOUTS:
        A = st.from_torch(sparse(dense, layout))
        x = torch.arange(9, dtype=torch.float32)
        X = torch.arange(18, dtype=torch.float32).reshape(2, 9).t()
        y = A @ x
        assert isinstance(y, torch.Tensor) and torch.equal(y, dense @ x), layout
        assert torch.equal(A @ X, dense @ X), layout
        assert torch.equal(torch.ones(6) @ A, torch.ones(6) @ dense), layout
    c = torch.ones(6)
    assert st.matmul(A, x, c) is c and torch.equal(c, dense @ x + 1)


def test_operator_of_torch_gives_way():
    A = st.from_torch(sample().to_sparse_csr())
    v = torch.ones(6, dtype=torch.float64)
    assert torch.equal(v @ A, v @ sample())


def test_formats_that_torch_lacks_leave_as_csr_and_say_so():
    dense = sample()
    t = st.from_dense(dense, "DCSR")
    with pytest.warns(st.CopyWarning, match="CSR"):
        back = t.to_torch()
    assert back.layout == torch.sparse_csr and torch.equal(back.to_dense(), dense)


def test_read_only_memory_is_copied_for_torch():
    a = np.arange(4.0)
    a.flags.writeable = False
    with pytest.warns(st.CopyWarning, match="read-only"):
        x = st.from_numpy(a).to_torch()
    x[0] = 7
    assert a[0] == 0


def test_refusals():
    with pytest.raises(st.TensorError, match="from_torch needs"):
        st.from_torch(np.ones(3))
    with pytest.raises(st.Unsupported, match="meta"):
        st.from_torch(torch.ones(3, device="meta"))
    with pytest.raises(st.DTypeError, match="complex32"):
        st.from_torch(torch.ones(3, dtype=torch.complex32))
    bad = torch.sparse_csr_tensor(
        torch.tensor([0, 2, 3]), torch.tensor([2, 0, 9]), torch.ones(3), (2, 3), check_invariants=False
    )
    with pytest.raises(st.TensorError, match="level 1"):
        st.from_torch(bad)


def test_no_batches_at_all(no_copies):
    none = torch.zeros(0, 3, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.int64), torch.zeros(0, 0)
    for make, shape in ((torch.sparse_csr_tensor, (0, 2, 5)), (torch.sparse_csc_tensor, (0, 5, 2))):
        x = make(*none, shape)
        back = st.from_torch(x).to_torch()
        assert back.layout == x.layout and back.shape == x.shape and back._nnz() == x._nnz()


def test_nested_tensors_are_refused():
    with pytest.raises(st.Unsupported, match="nested"):
        st.from_torch(torch.nested.nested_tensor([torch.rand(2), torch.rand(3)]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_one_value_for_all_slots(dtype):
    value = torch.full((1,), 2.0, dtype=dtype)
    dense = np.array([[0, 0, 2], [2, 2, 0]])
    csr = dict(pos={1: np.array([0, 1, 3])}, crd={1: np.array([2, 0, 1])})
    coo = dict(crd={0: np.array([0, 1, 1]), 1: np.array([2, 0, 1])})
    for name, arrays in (("CSR", csr), ("COO", coo)):
        t = st.Tensor(name, (2, 3), values=value.expand(3), **arrays)
        assert len(t.values) == 3 and (t.to_torch().to_dense().double().numpy() == dense).all()
    batched = st.Tensor(
        "(b, i, j) -> (b: batch, i: dense, j: compressed)",
        (2, 2, 3),
        pos={2: np.array([0, 1, 3] * 2)},
        crd={2: np.array([2, 0, 1] * 2)},
        values=value.expand(6),
    )
    assert (batched.to_torch().to_dense().double().numpy() == [dense, dense]).all()


@pytest.mark.parametrize("name", ["CSR", "COO", "bitmap"])
def test_numpy_lacks_the_dtype(name):
    t = st.from_torch(torch.ones(2, 3, dtype=torch.bfloat16)).to(name)
    with pytest.raises(st.Unsupported, match="NumPy has no dtype bfloat16"):
        t.to_numpy()


def test_a_result_is_not_written_into_shared_elements():
    a = st.from_dense(np.eye(2), "CSR")
    for out in (
        torch.zeros(1, dtype=torch.float64).expand(2),
        np.lib.stride_tricks.as_strided(np.zeros(1), (2,), (0,)),
    ):
        with pytest.raises(st.TensorError, match="share memory"):
            st.einsum("ij,j->i", a, np.ones(2), out=out)
    window = np.lib.stride_tricks.as_strided(np.zeros(3), (2, 2), (8, 8))
    with pytest.raises(st.TensorError, match="share memory"):
        st.einsum("ij,jk->ik", a, np.ones((2, 2)), out=window)
    every_other = np.zeros((4, 6))[::-2, ::3]
    st.einsum("ij,jk->ik", a, np.ones((2, 2)), out=every_other)
    assert (every_other == 1).all()
