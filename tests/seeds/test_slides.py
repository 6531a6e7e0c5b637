"""The slides of Scorch: the mixture of experts as printed, in its three forms, mended as README.md lists."""

import pytest

torch = pytest.importorskip("torch")

import strata.torch as stt  # noqa: E402
import strata.torch.dropin  # noqa: E402, F401

DENSE_WEIGHTS = """
import scorch as torch
from scorch.nn import functional as F

# Inputs, (B, D_in)
x = torch.randn(B, D_in)
# Expert embeddings, (N_experts, D_in, D_out)
E = torch.randn(N_experts, D_in, D_out)
# Sparse gating function, (B, N_experts)
gates = torch.rand(B, N_experts)
# Select one expert per input
gates = F.one_hot(gates.argmax(1), N_experts)
# Dispatch inputs to experts, (B, N_experts, D_in)
x_dispatch = torch.rearrange(x, "bd->bnd", n=N_experts)
# Apply experts, (B, N_experts, D_out)
y_experts = torch_einsum("bnd,ndh->bnh", x_dispatch, E)
# Combine expert outputs, (B, D_out)
y = torch.einsum("bnd,bn->bd", y_experts, gates)
"""
SPARSE_GATES = DENSE_WEIGHTS.replace("argmax(1), N_experts)", "argmax(1), N_experts).to_sparse()")
#: the same beside it, with `import torch`: there is neither torch.rearrange, nor an einsum of int64 and float32
PLAIN = DENSE_WEIGHTS.replace("import scorch as torch\nfrom scorch.nn", "import torch\nfrom torch.nn")

TYPO = {"torch_einsum": "torch.einsum"}
OURS = {
    "import scorch as torch": "import strata.torch.dropin as torch",
    "from scorch.nn": "from strata.torch.dropin.nn",
    **TYPO,
}
TORCHS = {**TYPO, 'torch.rearrange(x, "bd->bnd", n=N_experts)': "x[:, None].expand(-1, N_experts, -1)", "y_experts, gates)": "y_experts, gates.float())"}  # fmt: skip


def run(text, mended):
    for printed, here in mended.items():
        assert printed in text, printed
        text = text.replace(printed, here)
    space = dict(B=32, D_in=24, D_out=16, N_experts=8)
    torch.manual_seed(0)
    exec(text, space)
    return space


@pytest.mark.parametrize("text", [DENSE_WEIGHTS, SPARSE_GATES], ids=["sparse activation, dense weights", "to_sparse"])
def test_the_mixture_of_experts(text):
    want = run(PLAIN, TORCHS)
    with strata.torch.dropin.watch_einsum() as work, stt.strict():
        got = run(text, OURS)
        y = got["y"] + 0  # the value is read
    torch.testing.assert_close(y, want["y"])
    assert got["gates"].dtype == torch.int64 and torch.equal(got["x"], want["x"]) and torch.equal(got["E"], want["E"])
    # one expert of eight for each input, in both products
    assert [(w.products, w.dense) for w in work] == [(2 * 32 * 24 * 16, 2 * 32 * 8 * 24 * 16)]
    torch.testing.assert_close(
        got["y_experts"] + 0, want["y_experts"]
    )  # what was not computed is still there to be read


def test_import_as_torch():
    """ "Do everything you're doing with dense tensors. Now with sparse tensors, too.\""""
    space = {}
    exec(
        "import strata.torch.dropin as torch\nx = torch.eye(3)\ny = torch.mm(x.to_sparse(), x)\nz = torch.relu(x.to_sparse())",
        space,
    )
    assert torch.equal(space["y"], torch.eye(3)) and isinstance(space["z"], stt.Tensor)
