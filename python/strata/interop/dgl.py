"""DGL: the adjacency matrix of a graph with one type of edges, on the CPU."""

from .. import _core
from .._core import Tensor
from ..errors import Unsupported
from ._layouts import coo_format
from .scipy import _borrow


def from_dgl(graph, *, weight=None):
    """The adjacency matrix of a DGL graph: an edge from i to j is an element in row i and column j. CSR or CSC over the
    graph's memory where it holds such arrays, otherwise COO over the lists that DGL gives.

    weight : the name of the edges' data (`graph.edata`) that gives the values; without it one 1.0 of float32 stands for all

    Unsupported on a device, and of a graph with several types of edges.
    """
    if len(graph.canonical_etypes) != 1:
        raise Unsupported(
            "this graph has several types of edges",
            expected="one",
            got=", ".join(edge for _, edge, _ in graph.canonical_etypes),
            fix="graph['name of one']",
        )
    if graph.device.type != "cpu":
        raise Unsupported(
            f"this graph lives on {graph.device}", expected="memory of the CPU", fix="call graph.cpu() first"
        )
    import torch

    (source, _, target) = graph.canonical_etypes[0]
    shape, n = (graph.num_nodes(source), graph.num_nodes(target)), graph.num_edges()
    created = graph.formats()["created"]
    layout = next((name for name in ("csr", "csc") if name in created), "coo")
    first, second, *order = graph.adj_tensors(layout)
    if weight is None:
        values = torch.ones(1).expand(n) if n > 1 else torch.ones(n)
    else:
        values = graph.edata[weight]
        if order and len(order[0]) and not torch.equal(order[0], torch.arange(n, dtype=order[0].dtype)):
            values = values[order[0].long()]  # by the numbers of the edges; without any they are in order
    if layout == "coo":
        crd = [_core.memory_to_numpy(_core.memory(x.contiguous())) for x in (first, second)]
        pos, crd = {0: torch.tensor([0, n])}, dict(enumerate(crd))
        return Tensor(coo_format(2, *_core.scan_lists(list(crd.values()))), shape, pos=pos, crd=crd, values=values)
    pos, crd = first.numpy(), second.numpy()
    outer, inner = ("i", "j") if layout == "csr" else ("j", "i")
    template, extent = f"(i, j) -> ({outer}: dense, {inner}: compressed{{}})", shape[1 if layout == "csr" else 0]
    return _borrow(template, shape, {1: pos}, {1: crd}, values, lambda: _core.scan_segments(pos, crd, extent))


def to_dgl(t):
    """A graph of DGL whose adjacency matrix this is, values as `edata["weight"]`. Unsupported without DGL, and where the
    matrix is not square."""
    try:
        import dgl
    except ImportError:
        raise Unsupported("DGL is needed here and is not installed", fix="pip install dgl") from None
    if t.ndim != 2 or t.shape[0] != t.shape[1]:
        raise Unsupported("a graph's matrix is square", expected="as many rows as columns", got=str(t.shape))
    csr = t.to("CSR").to_torch()
    graph = dgl.graph(("csr", (csr.crow_indices(), csr.col_indices(), [])), num_nodes=t.shape[0])
    graph.edata["weight"] = csr.values()
    return graph
