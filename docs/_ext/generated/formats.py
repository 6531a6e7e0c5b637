"""Every named format: its text, its names, an example drawn, its bytes as a formula that is checked, and when to use it."""

import re

import numpy as np

import strata as st

from . import example
from .markdown import fence, table

#: heading: {name: (numbers of the example, bytes, when)}. Bytes are Python over what counts() gives.
GROUPS = {
    "Vectors and scalars": {
        "Scalar": ("", "v", "A single value."),
        "DenseVector": ("", "I * v", "A vector of which nearly everything is stored."),
        "SparseVector": (
            "",
            "2 * p + nse * (c + v)",
            "A vector with few elements: a frontier of a graph, one row of a matrix.",
        ),
        "BlockVector": ("2", "2 * p + blocks * (c + n * v)", "A vector whose elements come in runs."),
    },
    "Dense": {
        "dense": (
            "",
            "I * J * v",
            "Row-major. Fewer bytes than CSR from half (float32) or two thirds (float64) of all elements on.",
        ),
        "DenseLeft": ("", "I * J * v", "Column-major: what Fortran and BLAS hand over."),
    },
    "Coordinates": {
        "COO": (
            "",
            "2 * p + nse * (2 * c + v)",
            "What files and assembly give: one line an element, any rank. Sorted here; `unordered` and `nonunique` lists are borrowed as they come. Products read more than those of CSR.",
        ),
        "COOd": (
            "2, 1",
            None,
            "Coordinates for the first dimensions, dense ones behind: PyTorch's hybrid COO, embeddings.",
        ),
    },
    "Compressed rows and columns": {
        "CSR": (
            "",
            "(I + 1) * p + nse * (c + v)",
            "The usual choice where rows hold a few to many elements and nothing more is known. SciPy and PyTorch share its arrays.",
        ),
        "CSC": (
            "",
            "(J + 1) * p + nse * (c + v)",
            "By columns: products with the transposed matrix, slices of columns, what direct solvers want.",
        ),
        "DCSR": (
            "",
            "(rows + 3) * p + rows * c + nse * (c + v)",
            "Most rows are empty: parts of sums, one rank's share of a graph, frontiers.",
        ),
        "DCSC": ("", "(columns + 3) * p + columns * c + nse * (c + v)", "As DCSR, by columns."),
        "CROW": (
            "",
            "2 * p + rows * c + rows * J * v",
            "Some rows are full, the others empty: gradients of embeddings.",
        ),
        "CCOL": ("", "2 * p + columns * c + columns * I * v", "As CROW, by columns."),
        "CSF": (
            "3",
            None,
            "A tree of compressed levels, any rank; CSF of rank 2 is DCSR. Tensors of data: a prefix is stored once.",
        ),
    },
    "Diagonals": {
        "DIAI": (
            "",
            "2 * p + diagonals * (c + I * v)",
            "Stencils: no index an element. The slots of a diagonal are counted by rows.",
        ),
        "DIAJ": (
            "",
            "2 * p + diagonals * (c + J * v)",
            "The same by columns: the layout of SciPy's `dia_array`, which is shared. Also called DIA.",
        ),
        "SkewDIAI": ("", "2 * p + antidiagonals * (c + I * v)", "Antidiagonals, `i + j`: Hankel matrices, wavefronts."),
        "SkewDIAJ": ("", "2 * p + antidiagonals * (c + J * v)", "The same by columns."),
    },
    "Blocks": {
        "BSR": (
            "3, 2",
            "(ceil(I / m) + 1) * p + blocks * (c + m * n * v)",
            "Several unknowns a node, as in elasticity; block-pruned weights. One index a block, and a block in registers. Fewer bytes than CSR where blocks are half (float32) or two thirds (float64) full.",
        ),
        "BSRLeft": ("3, 2", "(ceil(I / m) + 1) * p + blocks * (c + m * n * v)", "Blocks that lie column-major inside."),
        "BSC": (
            "3, 2",
            "(ceil(J / n) + 1) * p + blocks * (c + m * n * v)",
            "Blocks by columns of blocks: the transpose of BSR.",
        ),
        "BSCLeft": (
            "3, 2",
            "(ceil(J / n) + 1) * p + blocks * (c + m * n * v)",
            "Both: by columns of blocks, column-major inside.",
        ),
        "BSR3": ("2, 3, 2", None, "Blocks of a tensor of rank 3."),
        "BlockedELL": (
            "3, 2",
            "ceil(I / m) * longest * (c + m * n * v)",
            "Blocks, as many in each row of blocks: the layout that vendors' block kernels take.",
        ),
        "NestedBSR": (
            "3, 4, 1, 2",
            None,
            "Blocks in blocks: large sparse tiles that fit a cache, small dense ones that fit registers.",
        ),
        "TiledCSR": (
            "3, 4",
            "(tiles * m + 1) * p + nse * (c + v)",
            'CSR in tiles, so that the part of the operand that a tile reads stays in the cache; columns within a tile fit 8 or 16 bits (`crd_dtype="uint8"`).',
        ),
    },
    "Packed and padded": {
        "delta": (
            "2",
            "(I + 1) * p + ceil(slots * bits / 8) + slots * v",
            "Distances instead of columns. Pruned weights of 10 to 40 % density with 16-bit values: 4 bits replace 16 or 32.",
        ),
        "structured": (
            "2, 4",
            "ceil(slots * bits / 8) + slots * v",
            "n of each m elements (2:4): exactly half of the values and 2 bits each.",
        ),
        "ELL": (
            "",
            "I * longest * (c + v)",
            "Rows of nearly the same length: no `pos`. One long row makes all of them long.",
        ),
        "bitmap": (
            "",
            "(I + 1) * p + I * ceil(J / 64) * 8 + nse * v",
            "One bit an element of the whole matrix: from about 3 % density on it takes less than a 32-bit index an element.",
        ),
    },
    "Batches": {
        "BatchedCSR": (
            "",
            None,
            "A stack of matrices as one tensor: one `pos` through all of them. (`CSR(1)` is PyTorch's batched layout instead, a `batch` level in front.)",
        ),
        "BatchedDIAINonUniform": ("", None, "Each matrix of the stack has diagonals of its own."),
        "BatchedDIAJNonUniform": ("", None, "The same by columns."),
        "BatchedDIAIUniform": ("", None, "All matrices of the stack have the same diagonals, which are stored once."),
        "BatchedDIAJUniform": ("", None, "The same by columns."),
    },
}


def families():
    """{name of a family: every name of it}, as the library lists them; fixed ranks (COO3, Dn4) go with their family."""
    out, by_pattern = {}, {}
    fixed = re.compile(r"^(COO|CSF|Dn)\d$")
    for name, pattern in st.formats.names().items():
        plain, _, numbers = name.partition("(")
        if fixed.match(plain):
            family = {"COO": "COO", "CSF": "CSF", "Dn": "dense"}[fixed.match(plain)[1]]
        elif plain in ("CSFd",):
            family = "CSF"
        else:
            family = by_pattern.setdefault((pattern, plain == "CSF"), plain)
        out.setdefault(family, []).append(name)
    return out


def example_of(name, numbers):
    format = st.Format(f"{name}({numbers})" if numbers else name)
    return format, st.from_dense(example.of_rank(format.rank), format)


def counts(t, numbers):
    """What formulas count: extents I and J, the numbers of the name, bytes of a value, a position and a coordinate, and
    what is stored of rows, columns, diagonals, blocks."""
    a = t.to_dense()
    ceil = lambda x: int(np.ceil(x))
    out = dict(
        ceil=ceil, v=t.dtype.itemsize, p=t.pos_dtype.itemsize, c=t.crd_dtype.itemsize, nse=t.nse, slots=t.values.size
    )
    out |= zip(("m", "n"), numbers) if len(numbers) > 1 else zip(("n",), numbers)
    out["bits"] = (
        int(numbers[-1] - 1).bit_length() if t.format.name.startswith("structured") else numbers[-1] if numbers else 0
    )
    out |= zip("IJ", a.shape)
    if a.ndim == 1 and numbers:
        out["blocks"] = len(set(np.nonzero(a)[0] // numbers[0]))
    if a.ndim == 2:
        i, j = np.nonzero(a)
        m, n = numbers if len(numbers) == 2 else (1, 1)
        blocks = set(zip(i // m, j // n))
        out |= dict(
            rows=len(set(i)),
            columns=len(set(j)),
            diagonals=len(set(j - i)),
            antidiagonals=len(set(i + j)),
            blocks=len(blocks),
            longest=max(sum(row == r for r, _ in blocks) for row in range(ceil(a.shape[0] / m))),
            tiles=ceil(a.shape[0] / m) * ceil(a.shape[1] / n),
        )
    return out


def check(name, numbers, formula):
    """A formula on the page is right for the example, or the site is not built."""
    t = example_of(name, numbers)[1]
    value = eval(formula, {}, counts(t, [int(x) for x in numbers.split(",")] if numbers else []))
    if value != t.nbytes:
        raise AssertionError(f"{name}: {formula} = {value}, but it takes {t.nbytes} bytes")


def arrays(t):
    """'level 1: pos, crd; values'"""
    if len(t.parts) > 1:
        return "; ".join(f"part {k}: {arrays(p)}" for k, p in enumerate(t.parts))
    found = []
    for k, level in enumerate(t.format.levels):
        have = [name for name in ("pos", "crd") if _has(getattr(t, name), k)]
        if have:
            found.append(f"`{level.expr}`: " + ", ".join(have))
    return "; ".join([*found, "values"])


def _has(get, level):
    try:
        get(level)
    except st.TensorError:
        return False
    return True


def _section(name, numbers, formula, when, names):
    format, t = example_of(name, numbers)
    others = [n for n in names if n.partition("(")[0] != name]
    own = next(n for n in names if n.partition("(")[0] == name)
    out = [
        f"### {name}\n",
        f"{when}\n",
        f"Text\n: `{st.formats.names()[own]}`\n",
        f"Written\n: `{own}`" + (", also " + ", ".join(f"`{n}`" for n in others) if others else "") + "\n",
        f"Arrays\n: {arrays(t)}\n",
    ]
    if formula:
        check(name, numbers, formula)
        out.append(f"Bytes\n: `{formula.replace(' * ', '·').replace('·', ' · ')}`\n")
    if numbers:
        out.append(f"Drawn: `{name}({numbers})`, which is `{format}`\n")
    out.append(fence(str(t.draw_storage())))
    return "\n".join(out)


def text():
    known = families()
    out = []
    for heading, group in GROUPS.items():
        out.append(f"## {heading}\n")
        out += [_section(name, *facts, known[name]) for name, facts in group.items()]
    return "\n".join(out)


# ----------------------------------------------------------------------------------------------- bytes an element


def _typical():
    """{what it is: (rows, columns) of its elements, and the extent}: small, and the same every time."""
    rng = np.random.default_rng(0)
    n = 2000
    grid = 45
    cells = np.arange(grid * grid).reshape(grid, grid)
    pairs = [(cells.ravel(), cells.ravel())]
    for a, b in ((cells[:, 1:], cells[:, :-1]), (cells[1:], cells[:-1])):
        pairs += [(a.ravel(), b.ravel()), (b.ravel(), a.ravel())]
    stencil = np.unique(np.concatenate([i * grid * grid + j for i, j in pairs]))
    block = np.unique(rng.integers(0, (n // 4) ** 2, 4000))
    bi, bj = np.divmod(block, n // 4)
    inside = np.indices((4, 4)).reshape(2, 16)
    blocked = (bi[:, None] * 4 + inside[0]).ravel(), (bj[:, None] * 4 + inside[1]).ravel()
    return {
        "uniform, 1 %": (np.divmod(np.unique(rng.integers(0, n * n, n * n // 100)), n), n),
        "five-point stencil": (np.divmod(stencil, grid * grid), grid * grid),
        "blocks of 4 x 4, 1.6 %": (blocked, n),
        "pruned to 20 %": (np.nonzero(rng.random((512, 512)) < 0.2), 512),
        "2 of each 4": (np.nonzero(np.tile([[1, 0, 1, 0], [0, 1, 1, 0]], (256, 128))), 512),
    }


#: format, crd dtype
_COMPARED = [
    ("COO", None),
    ("CSR", None),
    ("CSR", "uint16"),
    ("DIAI", None),
    ("BSR(4, 4)", None),
    ("TiledCSR(256, 256)", "uint8"),
    ("ELL", "uint16"),
    ("delta(4)", None),
    ("delta(8)", None),
    ("bitmap", None),
    ("structured(2, 4)", None),
    ("dense", None),
]


def bytes_text():
    """Bytes a nonzero element of float32 values, pos and crd included."""
    matrices = {
        name: st.from_coo([np.ascontiguousarray(i) for i in coords], np.ones(len(coords[0]), np.float32), (n, n), "CSR")
        for name, (coords, n) in _typical().items()
    }
    rows = []
    for format, crd in _COMPARED:
        row = [f"`{format}`" + (f", {crd} crd" if crd else "")]
        for a in matrices.values():
            try:
                t = a.to(format, crd_dtype=crd)
            except st.TensorError:  # more than n of a group
                row.append("-")
                continue
            each = t.nbytes / a.nse
            row.append(f"{each:.1f}" if each < 100 else f"{each:.0f}")
        rows.append(row)
    return table(["", *matrices], rows)
