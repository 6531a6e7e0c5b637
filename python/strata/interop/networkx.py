"""networkx: graphs as adjacency matrices. They have no arrays to share."""

from ..errors import Unsupported, warn
from .scipy import from_scipy


def from_networkx(graph, *, weight="weight", dtype=None):
    """The adjacency matrix of a networkx graph as CSR, nodes in the order of `list(graph)`: copied, with a CopyWarning.

    weight : the attribute of edges that gives the values, 1 where an edge has none; parallel edges are added
    """
    import networkx

    warn("a networkx graph was copied: it has no arrays to share, and became CSR")
    if len(graph) == 0:
        from .._core import from_coo

        return from_coo(([], []), [] if dtype is None else [], (0, 0), "CSR")
    return from_scipy(networkx.to_scipy_sparse_array(graph, weight=weight, dtype=dtype, format="csr"))


def to_networkx(t):
    """A graph whose adjacency matrix this is: a DiGraph, nodes numbered from 0, values as `weight`. Unsupported without
    networkx, and where the matrix is not square."""
    try:
        import networkx
    except ImportError:
        raise Unsupported("networkx is needed here and is not installed", fix="pip install networkx") from None
    if t.ndim != 2 or t.shape[0] != t.shape[1]:
        raise Unsupported("a graph's matrix is square", expected="as many rows as columns", got=str(t.shape))
    return networkx.from_scipy_sparse_array(t.to("CSR").to_scipy(), create_using=networkx.DiGraph)
