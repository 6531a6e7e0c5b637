"""PyTorch Geometric: EdgeIndex, the pattern of a graph's adjacency matrix."""

from .. import _core
from .._core import Tensor
from ..errors import TensorError, Unsupported
from ._layouts import coo_format


def from_edge_index(x):
    """The adjacency matrix of an EdgeIndex over its memory: an edge (i, j) is an element 1.0 of float32 in row i and
    column j; one value stands for all of them. `sparse_size` must be known. Edges that come twice count twice.
    """
    rows, columns = x.sparse_size()
    if rows is None or columns is None:
        raise TensorError(
            "this EdgeIndex does not know how many nodes there are",
            expected="sparse_size=(rows, columns)",
            got=f"sparse_size={(rows, columns)}",
            fix="EdgeIndex(edges, sparse_size=(n, n))",
        )
    import torch

    lists = x.as_tensor() if hasattr(x, "as_tensor") else x.as_subclass(torch.Tensor)
    if lists.device.type != "cpu":
        raise Unsupported(
            f"this EdgeIndex lives on {lists.device}", expected="memory of the CPU", fix="call .cpu() first"
        )
    n = lists.shape[1]
    crd = [_core.memory_to_numpy(_core.memory(row)) for row in (lists[0].contiguous(), lists[1].contiguous())]
    ordered, unique = _core.scan_lists(crd)
    ones = torch.ones(1).expand(n) if n > 1 else torch.ones(n)
    return Tensor(
        coo_format(2, ordered, unique),
        (rows, columns),
        pos={0: torch.tensor([0, n])},
        crd={0: crd[0], 1: crd[1]},
        values=ones,
    )


def to_edge_index(t):
    """The coordinates of a matrix's stored elements as an EdgeIndex; their values stay behind. Unsupported without
    PyTorch Geometric."""
    try:
        from torch_geometric import EdgeIndex
    except ImportError:
        raise Unsupported(
            "PyTorch Geometric is needed here and is not installed", fix="pip install torch_geometric"
        ) from None
    import torch

    if t.ndim != 2:
        raise Unsupported("an EdgeIndex is a matrix", expected="two dimensions", got=str(t.ndim))
    coo = t.to("COO")
    lists = [torch.from_numpy(coo._array("crd", k)[: coo.nse].astype("int64")) for k in range(2)]
    return EdgeIndex(torch.stack(lists), sparse_size=t.shape, sort_order="row")
