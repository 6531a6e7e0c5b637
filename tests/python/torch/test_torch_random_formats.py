"""Formats drawn at random in the operators of stt.Tensor, beside the dense tensor: results and gradients."""

import numpy as np
import pytest
from differential import random_format

torch = pytest.importorskip("torch")
import test_torch_compare as compare  # noqa: E402
import test_torch_contract as contract  # noqa: E402
import test_torch_convolution as convolution  # noqa: E402
import test_torch_embedding as embedding  # noqa: E402
import test_torch_reductions as reductions  # noqa: E402
import test_torch_shapes as shapes  # noqa: E402
import test_torch_tensor as tensor  # noqa: E402

import strata as st  # noqa: E402
import strata.torch as stt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse", "ignore::strata.torch.DensifiedWarning")


def drawn(rank, count, first=0):
    """Texts of formats that store something, but not everything, and each element once in one part."""
    found = []
    while len(found) < count:
        text = random_format(np.random.default_rng(first), rank)
        first += 1
        format = st.Format(text)
        if format.num_parts == 1 and not format.is_all_dense and format.is_unique:
            found.append(text)
    return found


@pytest.mark.parametrize("text", drawn(2, 5))
def test_matrices(text):
    everything = stt.from_torch(torch.ones(6, 8, dtype=torch.float64) * tensor.sample(), text).nse == 48
    for name in (*tensor.SPARSE, *tensor.DENSE):
        if not (everything and name == "gram"):
            tensor.test_as_dense(name, text)
    for name in (*reductions.REDUCTIONS, *reductions.FINITE):
        reductions.test_as_dense(name, text)
    for name in (*shapes.PARTS, *shapes.PIECES):
        shapes.test_parts(name, text)
    for name in shapes.ELEMENTS:
        shapes.test_elements(name, text)
    for name in compare.SPARSE:
        compare.compare(compare.SPARSE[name], text)
    for name in embedding.CALLS:
        embedding.test_as_dense(name, text)
    for reduce in ("sum", "mean", "max", "min"):
        reductions.test_spmm(reduce, text)
    contract.test_einsum_of_several_sparse(text)
    tensor.test_saved_copied_and_pickled(text)


@pytest.mark.parametrize("text", drawn(3, 3))
def test_batches(text):
    contract.test_batches(text)
    contract.test_sparse_batches(text)


@pytest.mark.parametrize("text", drawn(4, 3))
def test_weights_of_convolutions(text):
    W = stt.from_torch(tensor.sample((6, 4, 3, 2)), text).requires_grad_()
    convolution.check(W, tensor.random(2, 8, 7, 8), groups=2, stride=(1, 2), padding=(2, 1))
