"""Every type of level: its arrays, who its children are, what it is for, and a matrix stored so."""

import strata as st

from . import example
from .markdown import fence

#: type: (arrays, children of the parent's position p, what it is for, a format that has it, origin)
TYPES = {
    "dense": (
        "none",
        "`p * size + (c - lo)`: every coordinate has a position",
        "An index whose coordinates nearly all have something below them: the rows of CSR, the inside of a block.",
        "(i, j) -> (j : dense, i : dense)",
        "everybody",
    ),
    "batch": (
        "none, and no positions either: the arrays below are laid one behind the other, a batch each",
        "an outer loop over tensors of one shape, each as the levels behind it say",
        "Stacks of matrices as PyTorch's batched layouts keep them. Batch levels lead; batches may differ in stored elements: the largest decides the capacity.",
        "(b, i, j) -> (b : batch, i : dense, j : compressed)",
        "universal sparse tensors; PyTorch",
    ),
    "compressed": (
        "`pos`, `crd`",
        "`pos[p]` to `pos[p + 1] - 1`, at the coordinates `crd`",
        "An index few of whose coordinates are stored. As the first level its `pos` has two entries: 0, and how many there are.",
        "(i, j) -> (i : dense, j : compressed)",
        "Chou, Kjolstad, Amarasinghe: Format abstraction for sparse tensor algebra compilers (2018)",
    ),
    "singleton": (
        "`crd`",
        "exactly `p`",
        "A further coordinate of elements that an earlier level lists: the columns of COO. It cannot be the first level.",
        "(i, j) -> (i : compressed(nonunique), j : singleton)",
        "Chou, Kjolstad, Amarasinghe (2018)",
    ),
    "range": (
        "none",
        "`p * extent + c`, of which the part inside the matrix counts",
        "The dimension beside an earlier `a + b` or `a - b`: where along its diagonal an element lies.",
        "(i, j) -> (j - i : compressed, i : range)",
        "universal sparse tensors",
    ),
    "delta": (
        "`pos`, packed `crd` of `b` bits",
        "`pos[p]` to `pos[p + 1] - 1`; `crd` is the column less the previous column less 1, at most `2^b - 1`",
        "Rows whose neighbours lie close: pruned weights. A wider gap is bridged by slots that hold the fill, only in front of a stored element. `b` is 1 to 32; coordinates are not found by search.",
        "(i, j) -> (i : dense, j : delta(2))",
        "universal sparse tensors; MACKO (2025)",
    ),
    "structured": (
        "packed `crd` of as many bits as `m` needs",
        "exactly `n` of the `m` coordinates of `i % m`",
        "n:m sparsity, as tensor cores take it. A group with fewer elements is filled up with the fill; one with more does not fit, and converting says so.",
        "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))",
        "universal sparse tensors; 2:4 sparsity",
    ),
    "padded": (
        "`crd`",
        "`k` slots; unused ones come last, with every bit of `crd` set",
        "Rows of about the same length: no `pos`, one stride. `padded` alone takes the longest row when a tensor is converted to it, `padded(k)` refuses longer ones.",
        "(i, j) -> (i : dense, j : padded)",
        "ELLPACK",
    ),
    "bitmap": (
        "`pos`, one bit a coordinate",
        "the bits set in the words of `p`; how many are set before a coordinate gives its position",
        "Rows of which more than a coordinate in 32 is stored: a bit costs less than an index.",
        "(i, j) -> (i : dense, j : bitmap)",
        "bit vectors with popcount",
    ),
}


def drawn(format):
    format = st.Format(format)
    return str(st.from_dense(example.of_rank(format.rank), format).draw_storage())


def text():
    out = []
    for name, (arrays, children, use, format, origin) in TYPES.items():
        out += [
            f"### {name}\n",
            f"{use}\n",
            f"Arrays\n: {arrays}\n",
            f"Children of position `p`\n: {children}\n",
            f"Source\n: {origin}\n",
            f"`{st.Format(format)}`\n",
            fence(drawn(format)),
        ]
    return "\n".join(out)
