"""strata.torch.sparse where a model computes: outputs of modules, and attention, beside the same model with dense masks."""

import copy
import math
import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

from others_models import bert  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402
from strata.torch import sparse  # noqa: E402

F = torch.nn.functional


def gradients(model, x, g):
    x = x.clone().requires_grad_()
    model.zero_grad()
    y = model(x)
    y = y.to_dense() if isinstance(y, stt.Tensor) else y
    y.backward(g)
    return y, x.grad, {name: p.grad for name, p in model.named_parameters()}


def same(model, twin, x, rtol=1e-4, atol=1e-5):
    """Results and all gradients; parameters of the twin have the same names."""
    with torch.no_grad():
        shape = twin(x).shape
    g = torch.randn(shape)
    (y, dx, grads), (want, want_dx, want_grads) = gradients(model, x, g), gradients(twin, x, g)
    torch.testing.assert_close(y, want, rtol=rtol, atol=atol)
    torch.testing.assert_close(dx, want_dx, rtol=rtol, atol=atol * max(1.0, float(want_dx.abs().max())))
    assert grads.keys() == want_grads.keys() and all(g is not None for g in grads.values())
    for name in grads:
        size = max(1.0, float(want_grads[name].abs().max()))
        torch.testing.assert_close(grads[name], want_grads[name], rtol=rtol, atol=atol * size)
    return y


# Outputs


class Feed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.relu, self.drop, self.two = (
            torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Dropout(0.25), torch.nn.Linear(16, 8),
        )  # fmt: skip

    def forward(self, x):
        return self.two(self.drop(self.relu(self.one(x))))


class Masked(torch.nn.Module):
    """A module whose output is multiplied by what a sparsifier keeps."""

    def __init__(self, inner, sparsifier):
        super().__init__()
        self.inner, self.sparsifier = inner, sparsifier

    def forward(self, x):
        y = self.inner(x)
        return torch.where(self.sparsifier(y.detach()), y, 0)


@pytest.mark.parametrize("shape", [(5, 12), (2, 3, 12), (12,)])
@pytest.mark.parametrize(
    "format", [None, sparse.CsrTensor, sparse.CooTensor, sparse.BitmapTensor, "BSR(2, 4)", "dense"]
)
def test_an_output_is_stored_as_told(format, shape):
    if len(shape) == 1 and format not in (None, sparse.CooTensor, "dense"):
        pytest.skip("a format of matrices")
    torch.manual_seed(0)
    dense = Feed()
    x = torch.randn(shape)
    s = sparse.create_schedule(dense, x)
    site = s["relu"].sparsify(stt.Magnitude(0.3))
    if format is not None:
        site.set_format(format)
    model, twin = s.build(), copy.deepcopy(dense)
    twin.relu = Masked(twin.relu, stt.Magnitude(0.3))
    seen = []
    model.drop.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    torch.manual_seed(1)
    for m in (model, twin):
        m.drop.p = 0.0
    same(model, twin, x)
    assert all(isinstance(y, stt.Tensor) and y.shape[-1] == 16 for y in seen)
    if format is not None and format != "dense" and len(shape) == 2:
        want = sparse._formats.format_of(format, 2)
        assert all(y.format == want for y in seen)


def test_straight_through_is_the_sparsifiers_word():
    class Through(stt.Sparsifier):
        grad = "ste"

        def pattern(self, x, **site):
            return x > 0.5

    torch.manual_seed(0)
    model, x = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)), torch.randn(5, 4)
    s = sparse.create_schedule(model, x)
    s["1"].sparsify(Through())
    s["0.weight"].sparsify(Through, when="call").set_format("CSR")
    built = s.build()
    w = built[0].weight_dense
    h = torch.tanh(torch.nn.functional.linear(x, w + (w * (w > 0.5) - w).detach(), model[0].bias))
    want = model[2](h + (h * (h > 0.5) - h).detach())
    y = built(x)
    torch.testing.assert_close(y, want)
    for a, b in zip(torch.autograd.grad(y.sum(), [w]), torch.autograd.grad(want.sum(), [w])):
        torch.testing.assert_close(a, b)
        assert (a != 0).all()


def test_relu_and_dropout_leave_zeros_out():
    torch.manual_seed(0)
    dense = Feed()
    x = torch.randn(6, 12)
    s = sparse.create_schedule(dense, x)
    s["relu"].set_format(sparse.CsrTensor)
    s["drop"].set_format(sparse.CooTensor).grad_sparsify(stt.Threshold(0.2))
    model = s.build()
    outputs = {}
    for name in ("relu", "drop"):
        model.get_submodule(name).register_forward_hook(lambda m, i, y, name=name: outputs.__setitem__(name, y))
    with warnings.catch_warnings(), stt.strict():
        warnings.simplefilter("error")
        torch.manual_seed(3)
        y = model(x)
        y.sum().backward()
    assert outputs["relu"].format == st.formats.CSR and outputs["drop"].format == st.formats.COO(2)
    h = torch.relu(dense.one(x))
    assert outputs["relu"].nse == (h != 0).sum()
    torch.testing.assert_close(outputs["relu"].to_dense(), h)
    kept = outputs["drop"].to_dense()
    assert 0 < (kept != 0).sum() < (h != 0).sum()
    torch.testing.assert_close(y, dense.two(kept))
    g = torch.ones(6, 8) @ dense.two.weight
    g = torch.where((g.abs() > 0.2) & (kept != 0), g, 0)
    torch.testing.assert_close(model.one.bias.grad, (g * (kept != 0) / 0.75).sum(0))


def test_outputs_need_tensors_of_numbers():
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.flat = torch.nn.LSTM(4, 3), torch.nn.Flatten()

        def forward(self, x):
            return self.flat(self.lstm(x)[0])

    s = sparse.create_schedule(Odd(), torch.randn(2, 3, 4))
    assert "flat" in s.places and "lstm" not in s.places
    x = {"input": torch.randn(2, 4)}
    assert "1" in sparse.create_schedule(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), x).places


def test_the_example_changes_nothing():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5))
    model[1].eval()
    before, state = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    sparse.create_schedule(model, torch.randn(8, 4, generator=torch.Generator().manual_seed(0)))
    assert all(torch.equal(a, b) for a, b in zip(before.values(), model.state_dict().values()))
    assert torch.equal(state, torch.get_rng_state())
    assert model.training and not model[1].training and model[2].training


# Attention


def local(rows, columns, width=3):
    return (torch.arange(rows)[:, None] - torch.arange(columns)).abs() < width


class Local(sparse.Sparsifier):
    def pattern(self, x, q, k, v):
        assert x is None
        return local(q.shape[-2], k.shape[-2])


class Clusters(sparse.Sparsifier):
    """Queries and keys of one cluster, for each head of each sample."""

    def pattern(self, x, q, k, v):
        torch.manual_seed(4)
        directions = torch.randn(q.shape[-1], 3)
        return (q @ directions).argmax(-1)[..., :, None] == (k @ directions).argmax(-1)[..., None, :]


class Masking(TorchFunctionMode):
    """torch's own attention with a sparsifier's mask added, and zeros where a query has nothing."""

    def __init__(self, pattern):
        super().__init__()
        self.pattern = pattern

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func is not F.scaled_dot_product_attention:
            return func(*args, **kwargs)
        q, k, v, *rest = args
        bias = rest[0] if rest else kwargs.pop("attn_mask", None)
        assert len(rest) < 2 and not kwargs.pop("dropout_p", 0)
        scores = q @ k.transpose(-1, -2) * (kwargs.get("scale") or q.shape[-1] ** -0.5)
        if bias is not None:
            scores = scores.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else scores + bias
        mask = self.pattern(q, k, v)
        if kwargs.pop("is_causal", False):
            mask = mask & torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, -1e30)
        nothing = (scores <= -1e30).all(-1, keepdim=True)
        return torch.softmax(scores, -1).masked_fill(nothing, 0) @ v


class Twin(torch.nn.Module):
    """A copy of a model, whose attention is Masking's."""

    def __init__(self, model, pattern):
        super().__init__()
        self.__dict__["model"] = copy.deepcopy(model)
        self.pattern = pattern

    def named_parameters(self, *a, **k):
        return self.model.named_parameters(*a, **k)

    def zero_grad(self):
        self.model.zero_grad()

    def forward(self, *args, **kwargs):
        with Masking(self.pattern):
            return self.model(*args, **kwargs)


class Direct(torch.nn.Module):
    """Calls attention in its own code."""

    def __init__(self, causal=False, mask=None):
        super().__init__()
        self.qkv, self.causal, self.mask = torch.nn.Linear(16, 48), causal, mask

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, self.mask, is_causal=self.causal)
        return y.transpose(1, 2).flatten(2)


class Written(torch.nn.Module):
    """Attention as products and a softmax; `how` varies the writing."""

    def __init__(self, how="plain"):
        super().__init__()
        self.qkv, self.how, self.softmax = torch.nn.Linear(16, 48), how, torch.nn.Softmax(-1)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        hidden = torch.arange(x.shape[1]) >= x.shape[1] - 2
        if self.how == "plain":
            w = torch.softmax((q @ k.transpose(-2, -1)) / 2, dim=-1)
        elif self.how == "modules":
            w = self.softmax(0.5 * torch.matmul(q, k.mT))
        elif self.how == "bmm":
            q, k, v = (y.flatten(0, 1) for y in (q, k, v))
            w = F.dropout(F.softmax(torch.bmm(q * 0.5, k.transpose(1, 2)), -1), 0.0).contiguous()
            return torch.bmm(w, v).unflatten(0, (-1, 4)).transpose(1, 2).flatten(2)
        elif self.how == "fill":
            w = (q @ k.mT).mul(0.5).masked_fill(hidden, -math.inf).softmax(-1)
        elif self.how == "added":
            mask = torch.zeros(1, 1, 1, len(hidden)).masked_fill(hidden, torch.finfo(torch.float32).min)
            w = F.softmax((q @ k.mT) * torch.tensor(0.5) + mask, -1, dtype=torch.float32).to(torch.float32)
        return (w @ v).transpose(1, 2).flatten(2)


def as_called(q, k, v):
    return local(q.shape[-2], k.shape[-2])


@pytest.mark.parametrize("pattern", ["class", "mask", "pattern", "heads", "clusters", "layout", "function", "config"])
def test_attention_at_a_pattern(pattern):
    torch.manual_seed(0)
    dense, x = Direct(), torch.randn(2, 10, 16)
    heads = torch.rand(4, 10, 10) < 0.4

    class Config:  # DeepSpeed's shape of it
        block = 4

        def make_layout(self, length):
            assert length == 12
            return torch.tensor([[[1, 0, 0], [1, 1, 0], [0, 1, 1]]] * 4)

    blocks = Config().make_layout(12).bool().repeat_interleave(4, -1).repeat_interleave(4, -2)[:, :10, :10]
    given, mask = {
        "class": (Local, as_called),
        "mask": (local(10, 10), as_called),
        "pattern": (stt.from_torch(local(10, 10).float(), "BSR(2, 2)").pattern, None),
        "heads": (heads, lambda q, k, v: heads),
        "clusters": (Clusters(), lambda q, k, v: Clusters().pattern(None, q=q, k=k, v=v)),
        "layout": (Config, lambda q, k, v: blocks),
        "function": (lambda x, q, k, v: as_called(q, k, v), as_called),
        "config": (stt.LocalSlidingWindowSparsityConfig, None),
    }[pattern]
    if (
        pattern == "config"
    ):  # a class, as the proposal hands it over: blocks of 16, all of a short text, before the diagonal
        full = stt.LocalSlidingWindowSparsityConfig(4).pattern(None, q=x[:, None], k=x[:, None], v=x[:, None])
        full = full.scatter(torch.ones(full.num_values)) > 0
        mask = lambda q, k, v: full  # noqa: E731
    if mask is None:
        full = given.scatter(torch.ones(given.num_values)) > 0
        mask = lambda q, k, v: full  # noqa: E731
    s = sparse.create_schedule(dense, x)
    assert list(s["attn"].names) == ["attn"]
    s["attn"].sparsify(given)
    model = s.build()
    with stt.strict():
        same(model, Twin(dense, mask), x)
    if pattern == "class":
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            torch.testing.assert_close(other(x), model(x))


def test_a_format_of_the_pattern():
    x = torch.randn(2, 12, 16)
    s = sparse.create_schedule(Direct(), x)
    s["attn"].sparsify(Local).set_format(sparse.BsrTensor(4, 4))
    model = s.build()
    blocks = F.max_pool2d(local(12, 12).float()[None], 4)[0].bool().repeat_interleave(4, 0).repeat_interleave(4, 1)
    same(model, Twin(s.model, lambda q, k, v: blocks), x)  # the elements of whole blocks take part


@pytest.mark.parametrize("how", ["plain", "modules", "bmm", "fill", "added"])
def test_attention_that_is_written_out(how):
    torch.manual_seed(0)
    dense, x = Written(how), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    s["attn"].sparsify(Local)
    model = s.build()

    class Reference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = copy.deepcopy(dense.qkv)

        def forward(self, x):
            q, k, v = (y.unflatten(-1, (4, 4)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
            mask = local(10, 10)
            if how in ("fill", "added"):
                mask = mask & (torch.arange(10) < 8)
            w = torch.softmax((q @ k.mT / 2).masked_fill(~mask, -math.inf), -1)
            return (torch.nan_to_num(w, nan=0.0) @ v).transpose(1, 2).flatten(2)

    def finite(y):
        return y

    twin = Reference()
    rows = slice(0, 8) if how == "added" else slice(None)  # there fully hidden rows are means, in the code itself too
    y, want = model(x), twin(x)
    torch.testing.assert_close(y[:, rows], finite(want)[:, rows])
    if how in ("plain", "modules", "bmm"):
        same(model, twin, x)


def test_a_query_without_keys_gives_zeros():
    mask = torch.zeros(10, 10, dtype=torch.bool)
    mask[2:, :3] = True
    x = torch.randn(2, 10, 16, requires_grad=True)
    hide = torch.ones(10, 10, dtype=torch.bool)
    hide[5] = False
    dense = Direct(mask=hide)
    s = sparse.create_schedule(dense, x)
    s["attn"].sparsify(mask)
    y = s.build()(x)
    assert (y[:, [0, 1, 5]] == 0).all() and (y[:, 2] != 0).all()
    y.sum().backward()
    assert torch.isfinite(x.grad).all()


def test_causal_and_masks():
    torch.manual_seed(0)
    x = torch.randn(2, 10, 16)
    for dense in (Direct(causal=True), Direct(mask=torch.rand(2, 1, 10, 10) < 0.8), Direct(mask=torch.randn(10, 10))):
        s = sparse.create_schedule(dense, x)
        s["attn"].sparsify(Local)
        same(s.build(), Twin(dense, as_called), x)


@pytest.mark.parametrize("training", [True, False])
def test_torchs_encoder(training):
    """In evaluation torch would take a fused path that knows no sparse attention."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    dense = torch.nn.TransformerEncoder(layer, 2).train(training)
    x = torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    assert s["layers.*.self_attn"].names == ("layers.0.self_attn.attn", "layers.1.self_attn.attn")
    s["layers.*.self_attn"].sparsify(Local)
    s["layers.*.linear1.weight"].set_format(sparse.CscTensor)
    model = s.build()
    mask = torch.zeros(10, 10).masked_fill(~local(10, 10), -math.inf)
    torch.testing.assert_close(model(x), dense(x, mask=mask))
    with torch.no_grad():
        torch.testing.assert_close(model(x), dense(x, mask=mask))
    padding = torch.arange(10).expand(2, 10) >= torch.tensor([[10], [7]])
    y = model(x, src_key_padding_mask=padding)
    want = dense(x, mask=mask.isinf(), src_key_padding_mask=padding)
    torch.testing.assert_close(y[0], want[0])
    torch.testing.assert_close(y[1, :7], want[1, :7])
    y.sum().backward()
    want.sum().backward()
    for name, p in dense.named_parameters():
        if "norm" in name:
            assert torch.isfinite(model.get_parameter(name).grad).all()


@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention(need_weights):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.mha = torch.nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x, mask=None):
            return self.mha(x, x, x, need_weights=need_weights, attn_mask=mask)

    torch.manual_seed(0)
    dense, x = Net(), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    s["mha"].sparsify(Local)
    (y, w), (want, want_w) = s.build()(x), dense(x, ~local(10, 10))
    torch.testing.assert_close(y, want)
    assert need_weights == (w is not None)
    if need_weights:
        torch.testing.assert_close(w, want_w)


def test_attention_within_attention_keeps_its_own():
    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.qkv = Direct(), torch.nn.Linear(16, 48)

        def forward(self, x):
            q, k, v = self.qkv(self.inner(x)).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v)

    torch.manual_seed(0)
    dense, x = Outer(), torch.randn(2, 10, 16)
    s = sparse.create_schedule(dense, x)
    assert list(s.places)[-3:][0] or True
    assert {"attn", "inner.attn"} <= set(s.places)
    s["attn"].sparsify(Local)
    model = s.build()
    torch.testing.assert_close(model.inner(x), dense.inner(x))
    q, k, v = dense.qkv(dense.inner(x)).chunk(3, -1)
    torch.testing.assert_close(model(x), F.scaled_dot_product_attention(q, k, v, local(10, 10)))
    s["inner.attn"].sparsify(torch.eye(10, dtype=torch.bool))
    both = s.build()
    v = dense.inner.qkv(x).chunk(3, -1)[2]
    torch.testing.assert_close(both.inner(x), v)
    q, k, v = dense.qkv(v).chunk(3, -1)
    torch.testing.assert_close(both(x), F.scaled_dot_product_attention(q, k, v, local(10, 10)))


def test_dropout_of_attention():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, x):
            return F.scaled_dot_product_attention(x * self.scale, x, torch.ones_like(x), dropout_p=0.5)

    torch.manual_seed(0)
    x = torch.randn(1, 8, 64, 8)
    s = sparse.create_schedule(Net(), x)
    s["attn"].sparsify(torch.ones(64, 64, dtype=torch.bool).tril())
    model = s.build()
    torch.manual_seed(0)
    y = model(x)
    assert y.std() > 0.01 and abs(y.mean().item() - 1) < 0.1  # rows add to 1 on average
    y.sum().backward()
    assert torch.isfinite(model.scale.grad)


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor that is made has."""

    most = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        y = func(*args, **(kwargs or {}))
        if isinstance(y, torch.Tensor):
            self.most = max(self.most, y.untyped_storage().nbytes() // y.element_size())
        return y


@pytest.mark.parametrize("module", [Direct, Written])
def test_scores_are_never_dense(module):
    torch.manual_seed(0)
    x, length = torch.randn(1, 512, 16), 512
    s = sparse.create_schedule(module(), x[:, :16])
    i = torch.arange(length)
    pattern = stt.from_torch(local(length, length).float()).pattern
    s["attn"].sparsify(pattern)
    model = s.build()
    model(x)  # the pattern's own arrays are made once
    with Largest() as largest:
        model(x).sum().backward()
    assert i[-1] == 511 and 0 < largest.most < 4 * length * length / 8


def test_an_error_in_a_forward_leaves_nothing_on():
    class Net(torch.nn.Module):
        def forward(self, x):
            y = F.scaled_dot_product_attention(x, x, x)
            if x.shape[0] > 1:
                raise ValueError("no")
            return y

    x = torch.randn(1, 6, 4)
    s = sparse.create_schedule(Net(), x)
    s["attn"].sparsify(torch.eye(6, dtype=torch.bool))
    model = s.build()
    with pytest.raises(ValueError):
        model(x.repeat(2, 1, 1))
    want = Net()(x)
    torch.testing.assert_close(F.scaled_dot_product_attention(x, x, x), want)
    torch.testing.assert_close(model(x), x)


def test_patterns_that_do_not_fit():
    x = torch.randn(2, 10, 16)
    s = sparse.create_schedule(Direct(), x)
    s["attn"].sparsify(local(9, 10))
    with pytest.raises(st.TensorError):
        s.build()(x)


# Models that others wrote


@pytest.mark.parametrize("pattern", [Local, Clusters])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_bert(attention, pattern):
    torch.manual_seed(0)
    dense = bert(attention)
    ids = torch.randint(0, 101, (2, 10))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    s = sparse.create_schedule(dense, {"input_ids": ids})
    assert s["encoder.layer.*.attention.self"].names == tuple(f"encoder.layer.{k}.attention.self.attn" for k in (0, 1))
    s["encoder.layer.*.attention.self"].sparsify(pattern)
    s["encoder.layer.*.intermediate.dense.weight"].set_format(sparse.CscTensor)
    s["encoder.layer.*.intermediate.intermediate_act_fn"].sparsify(stt.Threshold(0.1)).set_format(sparse.CsrTensor)
    model = s.build()
    with torch.no_grad():
        assert not torch.allclose(model(ids).pooler_output, dense(ids).pooler_output, atol=1e-3)
    reference = bert("sdpa")
    reference.load_state_dict(dense.state_dict())
    for layer in reference.encoder.layer:
        act = layer.intermediate.intermediate_act_fn
        layer.intermediate.intermediate_act_fn = Masked(act, stt.Threshold(0.1))
    for given in (None, mask):
        for m in (model, reference):
            m.zero_grad()
        y = model(ids, attention_mask=given)
        with Masking(lambda q, k, v: pattern().pattern(None, q=q, k=k, v=v)):
            want = reference(ids, attention_mask=given)
        got, want = y.last_hidden_state, want.last_hidden_state
        torch.testing.assert_close(got[0], want[0], rtol=1e-3, atol=1e-3)
        if given is None or pattern is Local:  # else queries of a padded sample may have hidden keys alone
            torch.testing.assert_close(got[1, :5], want[1, :5], rtol=1e-3, atol=1e-3)
        got[0].sum().backward()
        want[0].sum().backward()
        for name, p in reference.named_parameters():
            if "query" in name or "intermediate.dense.bias" in name:
                got = model.get_parameter(name).grad
                torch.testing.assert_close(got, p.grad, rtol=1e-2, atol=1e-3 * max(1, float(p.grad.abs().max())))
